//! What is said of a call that ended in a line or two, wherever one is shown. Pure.

use ratatui::text::{Line, Span};
use toolcrib::observe::CallRecord;

use crate::console::figures;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::text::clean_name;

/// How a call ended, as health and word.
pub(super) fn outcome(record: &CallRecord) -> (Health, &'static str) {
    match record.error_kind {
        None => (Health::Good, "ok"),
        Some(kind) => (Health::Bad, kind.as_str()),
    }
}

/// How it ended, after how long, and what went in and came out.
pub(in crate::console) fn ending(record: &CallRecord, theme: Theme) -> Line<'static> {
    let (health, word) = outcome(record);
    let warned = theme.health(Health::Warning);
    let mut words = vec![
        Span::styled(theme.mark(health), theme.health(health)),
        Span::raw(" "),
        Span::styled(word, theme.health(health)),
        Span::raw(format!(
            " in {}, {} in, {} out",
            figures::latency(record.duration),
            figures::bytes(record.bytes_in as u64),
            figures::bytes(record.bytes_out as u64),
        )),
    ];
    if record.truncated {
        let mark = theme.mark(Health::Warning);
        words.push(Span::styled(
            format!("  {mark} truncated by a limit"),
            warned,
        ));
    }
    if record.replayed {
        let replay = "  replay of an equal call: nothing ran";
        words.push(Span::styled(replay, warned));
    }
    Line::from(words)
}

/// Which call it is, when it began, and whose it was.
pub(in crate::console) fn known(record: &CallRecord, shared: &Shared) -> String {
    let name = |text: &str| clean_name(text, shared.theme.marks).into_owned();
    let age = figures::age(record.started.age(shared.now().at));
    let zone = shared.options.zone.clone();
    let time = record.started.wall.to_zoned(zone).strftime("%H:%M:%S");
    let id = name(record.id.as_str());
    let mut facts = vec![format!("{id} at {time} ({age} ago)")];
    if !record.reached_tool {
        facts.push("never reached the tool".to_owned());
    }
    let owner = record.owner.as_ref();
    facts.extend(owner.map(|owner| format!("owner {}", name(owner))));
    let session = record.session.as_ref();
    facts.extend(session.map(|session| format!("session {}", name(session))));
    facts.join(", ")
}
