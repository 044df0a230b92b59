//! What stands above the panes of a session: how full budget and pool are, how it goes on, and how
//! its scenario stands.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::session::{PlayRow, PlayState, SessionKind, SessionRow, SessionStatus};

use super::list::{fullness, health, state_word};
use super::looked::Looked;
use crate::console::figures;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text;

/// How many lines the head of a session has. They depend on what kind it is alone, so that nothing
/// jumps while it goes on.
pub(super) fn height(row: &SessionRow) -> u16 {
    match row.kind {
        SessionKind::Scenario => 5,
        _ => 3,
    }
}

/// A bar of so many cells. Something that is there is never drawn as nothing, and only what is
/// full as full.
pub(super) fn gauge(part: usize, whole: usize, cells: usize, theme: Theme) -> String {
    let mut filled = match whole {
        0 => 0,
        whole => part.min(whole).saturating_mul(cells) / whole,
    };
    if part > 0 && filled == 0 {
        filled = cells.min(1);
    }
    let full = theme.pick("▓", "#").repeat(filled);
    let empty = theme.pick("░", ".").repeat(cells - filled);
    full + &empty
}

/// The lines of the head.
pub(super) fn lines(looked: &Looked, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let record = looked.record();
    let (visible, pool) = (&record.visible, &record.pool);
    let budget = visible.budget;
    let mut lines = vec![
        fill_line(
            &Fill {
                label: "visible",
                unit: "definitions",
                count: visible.sent.len(),
                most: budget.map(|budget| budget.max_definitions),
                bytes: visible.bytes,
                most_bytes: budget.map(|budget| budget.max_bytes),
            },
            width,
            shared.theme,
        ),
        fill_line(
            &Fill {
                label: "pool",
                unit: "tools",
                count: pool.entries.len(),
                most: pool.bounds.map(|bounds| bounds.max_tools),
                bytes: pool.bytes,
                most_bytes: pool.bounds.map(|bounds| bounds.max_bytes),
            },
            width,
            shared.theme,
        ),
        state_line(looked, shared),
    ];
    let row = looked.row();
    if row.kind == SessionKind::Scenario {
        match &row.play {
            Some(play) => lines.extend(play_lines(play, looked, shared.theme)),
            None => lines.extend([Line::default(), Line::default()]),
        }
    }
    lines
}

/// Something with a count and bytes, each within a bound.
struct Fill {
    label: &'static str,
    unit: &'static str,
    count: usize,
    most: Option<usize>,
    bytes: usize,
    most_bytes: Option<usize>,
}

fn percent(part: usize, whole: usize) -> usize {
    part.saturating_mul(100) / whole.max(1)
}

fn fill_line(fill: &Fill, width: usize, theme: Theme) -> Line<'static> {
    let label = Span::styled(format!("{:<8}", fill.label), theme.dim());
    let bytes = figures::bytes(fill.bytes as u64);
    let (Some(most), Some(most_bytes)) = (fill.most, fill.most_bytes) else {
        let count = figures::count(fill.count as u64);
        let words = match fill.label {
            "pool" => "none: without dynamic injection every tool is sent".to_owned(),
            _ => format!("{count} {}, {bytes}, no bounds", fill.unit),
        };
        return Line::from(vec![label, Span::raw(words)]);
    };
    let of_count = percent(fill.count, most);
    let of_bytes = percent(fill.bytes, most_bytes);
    let most_bytes_words = figures::bytes(most_bytes as u64);
    if width < 72 {
        let words = format!(
            "{}/{most} {}  {bytes}/{most_bytes_words}",
            fill.count, fill.unit
        );
        return Line::from(vec![
            label,
            Span::raw(words),
            Span::styled(
                format!("  {} %", of_count.max(of_bytes)),
                fullness(of_count.max(of_bytes), theme),
            ),
        ]);
    }
    let cells = ((width - 70) / 2).min(24);
    let bar = |part: usize, whole: usize, percent: usize| {
        let bar = gauge(part, whole, cells, theme);
        let blank = if cells > 0 { " " } else { "" };
        Span::styled(
            format!("{bar}{blank}{percent:>3} %"),
            fullness(percent, theme),
        )
    };
    let count = match most {
        0..1_000 => format!("{} of {most} {}", fill.count, fill.unit),
        _ => format!("{} of {most}", fill.count),
    };
    let size = format!("{bytes} of {most_bytes_words}");
    Line::from(vec![
        label,
        Span::raw(text::fit(&count, 24, theme.marks)),
        bar(fill.count, most, of_count),
        Span::raw("   "),
        Span::raw(text::fit(&size, 22, theme.marks)),
        bar(fill.bytes, most_bytes, of_bytes),
    ])
}

fn state_line(looked: &Looked, shared: &Shared) -> Line<'static> {
    let theme = shared.theme;
    let row = looked.row();
    let health = health(row);
    let mut spans = vec![Span::styled(
        format!("{} {}", theme.mark(health), state_word(row)),
        theme.health(health),
    )];
    // Warnings speak of the round that goes on now.
    if let Some((first, more)) = row.warnings.split_first() {
        let more = match more.len() {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        let warning = format!("  {} {first}{more}", theme.mark(Health::Warning));
        spans.push(Span::styled(warning, theme.health(Health::Warning)));
        return Line::from(spans);
    }
    let dot = theme.pick(" · ", " - ");
    let model = match (row.kind, row.status) {
        (_, SessionStatus::Ended) => "kept for a while to be looked at",
        (SessionKind::Operator, SessionStatus::Running) => "your call runs",
        (SessionKind::Operator, SessionStatus::Open) => "you are the model",
        (SessionKind::Scenario, _) => "a scenario on a stage of its own",
        (SessionKind::Client, _) => "a client of the gateway",
        (SessionKind::Agent, _) => "a model loop",
    };
    let age = figures::age(row.active.age(shared.now().at));
    let tokens = figures::count((looked.record().visible.bytes / 4) as u64);
    let words = format!("{dot}{model}{dot}~{tokens} tokens of definitions{dot}active {age} ago");
    spans.push(Span::styled(words, theme.dim()));
    Line::from(spans)
}

fn play_lines(play: &PlayRow, looked: &Looked, theme: Theme) -> [Line<'static>; 2] {
    let (sign, health, word) = match &play.state {
        PlayState::Starting => (
            theme.mark(Health::Busy),
            Health::Busy,
            "the stage is being set".to_owned(),
        ),
        PlayState::Paused => (theme.pick("⏸", "||"), Health::Warning, "paused".to_owned()),
        PlayState::Playing => {
            let seconds = play.interval.as_secs_f64();
            (
                theme.pick("▶", ">"),
                Health::Good,
                format!("playing, a round every {seconds} s"),
            )
        }
        PlayState::Over => (theme.pick("■", "#"), Health::Off, "over".to_owned()),
        PlayState::Failed { cause } => (
            theme.mark(Health::Bad),
            Health::Bad,
            format!("failed: {cause}"),
        ),
    };
    let (met, missed) = play.results();
    let results = match (met, missed) {
        (0, 0) => Span::styled("nothing expected yet", theme.dim()),
        (met, 0) => Span::styled(
            format!("{} {} as expected", theme.mark(Health::Good), checks(met)),
            theme.health(Health::Good),
        ),
        (met, missed) => Span::styled(
            format!(
                "{} {} missed, {met} as expected",
                theme.mark(Health::Bad),
                checks(missed)
            ),
            theme.health(Health::Bad),
        ),
    };
    let first = Line::from(vec![
        Span::styled(format!("{sign} {word}"), theme.health(health)),
        Span::raw(format!(
            "   {} of {} rounds played   ",
            play.played.len(),
            play.total
        )),
        results,
    ]);
    let shown = looked.record().round;
    let played = play.round_at(shown);
    let note = match (
        played.and_then(|round| round.note.as_ref()),
        &play.next_note,
    ) {
        (Some(note), _) => Line::from(vec![
            Span::styled(format!("round {shown}: "), theme.dim()),
            Span::styled(note.to_string(), theme.strong()),
        ]),
        (None, Some(next)) if shown as usize == play.played.len() => Line::from(vec![
            Span::styled("next: ", theme.dim()),
            Span::styled(next.to_string(), Style::new()),
        ]),
        _ => Line::styled("no note for this round", theme.dim()),
    };
    [first, note]
}

/// Expectations that were compared.
fn checks(count: usize) -> String {
    match count {
        1 => "1 check".to_owned(),
        count => format!("{count} checks"),
    }
}
