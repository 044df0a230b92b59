//! The pane that tries other settings on the recorded rounds: what each round would have sent, and
//! which calls would have found their tool missing. Playing the rounds again is work for a task;
//! the pane shows the newest answer and says when it is behind.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::discovery::what_if::{Changes, RoundPair, WhatIf as Played, WhatIfError};
use toolcrib::discovery::{DynamicSettings, Mode, TOOL_SEARCH};
use toolcrib::session::SessionRow;

use super::lens::{Lens, Sight};
use crate::console::command::{Answer, OrderId};
use crate::console::figures;
use crate::console::input::Input;
use crate::console::keymap::{Action, Press};
use crate::console::roster::Roster;
use crate::console::screens::Copied;
use crate::console::shared::Shared;
use crate::text;

/// A setting that can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Definitions,
    Bytes,
    PoolTools,
    PoolBytes,
    IdleRounds,
    Exposure,
}

impl Field {
    const ALL: [Self; 6] = [
        Self::Definitions,
        Self::Bytes,
        Self::PoolTools,
        Self::PoolBytes,
        Self::IdleRounds,
        Self::Exposure,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Definitions => "budget.max_definitions",
            Self::Bytes => "budget.max_bytes",
            Self::PoolTools => "discovery.max_tools",
            Self::PoolBytes => "discovery.max_bytes",
            Self::IdleRounds => "discovery.idle_rounds",
            Self::Exposure => "exposure",
        }
    }

    /// By how much one press of `+` or `-` changes it.
    fn step(self) -> usize {
        match self {
            Self::Bytes | Self::PoolBytes => 1_024,
            _ => 1,
        }
    }

    fn was(self, settings: &DynamicSettings) -> usize {
        match self {
            Self::Definitions => settings.budget.max_definitions,
            Self::Bytes => settings.budget.max_bytes,
            Self::PoolTools => settings.discovery.max_tools,
            Self::PoolBytes => settings.discovery.max_bytes,
            Self::IdleRounds => settings.discovery.idle_rounds as usize,
            Self::Exposure => 0,
        }
    }
}

/// A row of the pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Field(usize),
    Round(u32),
}

/// The pane.
#[derive(Debug)]
pub(super) struct WhatIf {
    row: Arc<SessionRow>,
    /// The tool whose exposure can be changed: the one that is selected elsewhere.
    tool: Option<Arc<str>>,
    changes: Changes,
    settings: Option<Arc<DynamicSettings>>,
    rows: Roster<Row>,
    typing: Option<Input>,
    waits: Option<OrderId>,
    /// What was played last, and of which state of the session.
    played: Option<(Result<Box<Played>, WhatIfError>, Arc<SessionRow>)>,
    ordered: Option<Arc<SessionRow>>,
}

impl WhatIf {
    pub(super) fn new(sight: &Sight<'_>) -> Self {
        let mut pane = Self {
            row: Arc::clone(sight.row),
            tool: None,
            changes: Changes::default(),
            settings: None,
            rows: Roster::default(),
            typing: None,
            waits: None,
            played: None,
            ordered: None,
        };
        pane.look(sight);
        pane
    }

    fn look(&mut self, sight: &Sight<'_>) {
        self.row = Arc::clone(sight.row);
        let tool = sight.tool.filter(|tool| ***tool != *TOOL_SEARCH);
        if let Some(tool) = tool.or(self.tool.as_ref()) {
            self.tool = Some(Arc::clone(tool));
        }
        let seen = sight
            .row
            .rounds()
            .rev()
            .find_map(|record| record.seen.as_ref());
        self.settings = seen.and_then(|seen| seen.opened.settings().cloned());
    }

    fn played(&self) -> Option<&Played> {
        let (played, _) = self.played.as_ref()?;
        played.as_deref().ok()
    }

    fn set_rows(&mut self) {
        let fields = (0..Field::ALL.len()).map(Row::Field);
        let rounds = self.played().map_or(&[][..], |played| &played.rounds);
        // The newest round first: that is where an operator is.
        let rounds = rounds.iter().rev().map(|pair| Row::Round(pair.round));
        let rows = fields.chain(rounds).collect();
        self.rows.set_keys(rows);
    }

    fn field(&self) -> Option<Field> {
        match self.rows.selected()? {
            Row::Field(at) => Field::ALL.get(*at).copied(),
            Row::Round(_) => None,
        }
    }

    fn value(&self, field: Field) -> Option<usize> {
        let changes = &self.changes;
        match field {
            Field::Definitions => changes.max_definitions,
            Field::Bytes => changes.max_bytes,
            Field::PoolTools => changes.pool_tools,
            Field::PoolBytes => changes.pool_bytes,
            Field::IdleRounds => changes.idle_rounds.map(|rounds| rounds as usize),
            Field::Exposure => None,
        }
    }

    fn set_value(&mut self, field: Field, value: Option<usize>) {
        // What is as it was is no change; zero stands for the default (rule 4.6).
        let was = self.settings.as_ref().map(|settings| field.was(settings));
        let value = value.filter(|value| Some(*value) != was);
        let changes = &mut self.changes;
        match field {
            Field::Definitions => changes.max_definitions = value,
            Field::Bytes => changes.max_bytes = value,
            Field::PoolTools => changes.pool_tools = value,
            Field::PoolBytes => changes.pool_bytes = value,
            Field::IdleRounds => {
                changes.idle_rounds = value.map(|value| u32::try_from(value).unwrap_or(u32::MAX));
            }
            Field::Exposure => {}
        }
    }

    fn step(&mut self, field: Field, up: bool, shared: &mut Shared) {
        let Some(settings) = self.settings.clone() else {
            return;
        };
        let now = match self.value(field) {
            Some(_) => self.tried(field, &settings),
            None => field.was(&settings),
        };
        let next = match up {
            true => now.saturating_add(field.step()),
            false => now.saturating_sub(field.step()),
        };
        self.set_value(field, Some(next.max(1)));
        self.order(shared);
    }

    /// What the field comes to with all changes: of a zero the default.
    fn tried(&self, field: Field, settings: &DynamicSettings) -> usize {
        let applied = self.changes.apply(settings);
        applied.map_or(field.was(settings), |applied| field.was(&applied))
    }

    /// The mode that is tried for the tool; `None` leaves it as it is.
    fn mode(&self) -> Option<Mode> {
        let tool = self.tool.as_ref()?;
        let modes = self.changes.modes.iter();
        modes
            .filter(|(name, _)| name == tool)
            .map(|(_, mode)| *mode)
            .next()
    }

    fn next_mode(&mut self, shared: &mut Shared) {
        let Some(tool) = self.tool.clone() else {
            shared.say("select a tool in the other pane first");
            return;
        };
        let at = Field::ALL
            .iter()
            .position(|field| *field == Field::Exposure);
        self.rows.select(&Row::Field(at.unwrap_or_default()));
        let next = match self.mode() {
            None => Some(Mode::Always),
            Some(Mode::Always) => Some(Mode::Direct),
            Some(Mode::Direct) => Some(Mode::Deferred),
            Some(Mode::Deferred) => Some(Mode::Hidden),
            Some(Mode::Hidden) => None,
        };
        self.changes.modes.retain(|(name, _)| *name != tool);
        self.changes.modes.extend(next.map(|mode| (tool, mode)));
        self.order(shared);
    }

    /// Has the rounds played again as they are now.
    fn order(&mut self, shared: &mut Shared) {
        let rounds = self.row.rounds().cloned().collect();
        self.waits = Some(shared.order_what_if(rounds, self.changes.clone()));
        self.ordered = Some(Arc::clone(&self.row));
    }

    fn field_line(&self, field: Field, width: usize, shared: &Shared) -> Line<'static> {
        let theme = shared.theme;
        let Some(settings) = &self.settings else {
            return Line::styled("dynamic injection is off", theme.dim());
        };
        let arrow = theme.pick(" → ", " -> ");
        let (name, was, now) = match field {
            Field::Exposure => match &self.tool {
                None => ("exposure".to_owned(), "select a tool".to_owned(), None),
                Some(tool) => {
                    let shown = text::clean_name(tool, theme.marks).into_owned();
                    let seen = self.row.rounds().rev().find_map(|r| r.seen.as_ref());
                    let known = seen.and_then(|seen| seen.opened.get(tool));
                    let was = known.map_or("not registered", |tool| tool.mode.as_str());
                    let now = self.mode().map(|mode| mode.as_str().to_owned());
                    (format!("exposure of {shown}"), was.to_owned(), now)
                }
            },
            field => (
                field.name().to_owned(),
                figures::count(field.was(settings) as u64),
                self.value(field).map(|value| {
                    let note = if value == 0 { " (default)" } else { "" };
                    format!(
                        "{}{note}",
                        figures::count(self.tried(field, settings) as u64)
                    )
                }),
            ),
        };
        let room = width.saturating_sub(28).clamp(12, 40);
        let mut spans = vec![Span::raw(text::fit(&name, room, theme.marks))];
        spans.push(Span::styled(format!(" {was:>10}"), theme.dim()));
        if let Some(input) = self.typing.as_ref().filter(|_| self.field() == Some(field)) {
            spans.extend(
                input
                    .line(Span::raw(arrow), theme)
                    .spans
                    .into_iter()
                    .map(owned),
            );
        } else if let Some(now) = now {
            spans.push(Span::styled(format!("{arrow}{now}"), theme.strong()));
        }
        Line::from(spans)
    }

    fn round_line(&self, pair: &RoundPair, width: usize, shared: &Shared) -> Line<'static> {
        let theme = shared.theme;
        let arrow = theme.pick("→", "->");
        let figures = format!(
            "{:>5}  {:>3}{arrow}{:<3} {:>7}{arrow}{:<7} ",
            pair.round,
            pair.was.sent.len(),
            pair.would.sent.len(),
            figures::count(pair.was.bytes as u64),
            figures::count(pair.would.bytes as u64),
        );
        let mut words: Vec<(String, Style)> = Vec::new();
        let name = |name: &Arc<str>| text::clean_name(name, theme.marks).into_owned();
        let bad = theme.health(crate::console::theme::Health::Bad);
        let good = theme.health(crate::console::theme::Health::Good);
        for missed in &pair.missed {
            words.push((format!("missed {}", name(missed)), bad));
        }
        for regained in &pair.regained {
            words.push((format!("found {}", name(regained)), good));
        }
        let minus = theme.pick("−", "-");
        for gone in pair.gone().filter(|gone| !pair.missed.contains(gone)) {
            words.push((format!("{minus}{}", name(gone)), theme.text()));
        }
        for added in pair.added().filter(|added| !pair.regained.contains(added)) {
            words.push((format!("+{}", name(added)), theme.text()));
        }
        if words.is_empty() {
            words.push(("the same".to_owned(), theme.dim()));
        }
        let mut used = text::width(&figures);
        let mut spans = vec![Span::raw(figures)];
        for (word, style) in words {
            let left = width.saturating_sub(used);
            if left < 4 {
                break;
            }
            let word = text::truncate(&word, left, theme.marks).into_owned();
            used += text::width(&word) + 1;
            spans.push(Span::styled(word, style));
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    }

    /// What all rounds come to, in two lines.
    fn summary(&self, shared: &Shared) -> [(String, Style); 2] {
        let theme = shared.theme;
        let dim = |words: &str| (words.to_owned(), theme.dim());
        if self.waits.is_some() {
            return [dim("plays the rounds again"), dim("")];
        }
        let (played, of) = match &self.played {
            None => {
                return [
                    dim("change a setting, and see what each round would have sent"),
                    dim("y copies the settings as YAML"),
                ];
            }
            Some((Err(error), _)) => {
                let bad = theme.health(crate::console::theme::Health::Bad);
                return [(error.to_string(), bad), dim("")];
            }
            Some((Ok(played), of)) => (played, of),
        };
        let (was, would) = played.bytes();
        let (missed, regained) = played.calls();
        let changed = played.rounds.iter().filter(|pair| !pair.is_same()).count();
        let arrow = theme.pick("→", "->");
        let first = format!(
            "{changed} of {} rounds differ; calls missed {missed}, found {regained}",
            played.rounds.len(),
        );
        let mut second = format!(
            "{}{arrow}{} sent in all",
            figures::bytes(was as u64),
            figures::bytes(would as u64),
        );
        if !Arc::ptr_eq(of, &self.row) {
            second.push_str("; it has gone on since, f plays again");
        } else if played.skipped > 0 {
            let rounds = match played.skipped {
                1 => "1 older round is".to_owned(),
                count => format!("{} older rounds are", figures::count(count as u64)),
            };
            second.push_str(&format!("; {rounds} not kept"));
        }
        [(first, theme.strong()), (second, theme.text())]
    }
}

fn owned(span: Span<'_>) -> Span<'static> {
    Span::styled(span.content.into_owned(), span.style)
}

impl Lens for WhatIf {
    fn title(&self) -> String {
        "What if: other settings".to_owned()
    }

    fn refresh(&mut self, sight: &Sight<'_>, area: Rect) {
        self.look(sight);
        self.set_rows();
        // Two lines of summary, and the heads of the rounds.
        self.rows.settle(usize::from(area.height.saturating_sub(3)));
    }

    fn can(&self, action: Action) -> bool {
        let tried = self.settings.is_some();
        match action {
            Action::Down | Action::Up | Action::First | Action::Last => true,
            Action::HalfDown | Action::HalfUp => true,
            Action::Open => tried && self.field().is_some(),
            Action::Exposure => tried && self.tool.is_some(),
            Action::Follow => self.played.is_some(),
            _ => false,
        }
    }

    fn act(&mut self, action: Action, shared: &mut Shared) {
        match (action, self.field()) {
            (Action::Open, Some(Field::Exposure)) | (Action::Exposure, _) => self.next_mode(shared),
            (Action::Open, Some(field)) => {
                let value = self.value(field).map(|value| value.to_string());
                self.typing = Some(Input::with(&value.unwrap_or_default()));
            }
            (Action::Follow, _) => self.order(shared),
            (action, _) => self.rows.move_by(action),
        }
    }

    fn view(&self, focused: bool, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        if area.is_empty() {
            return;
        }
        let theme = shared.theme;
        let width = usize::from(area.width);
        let row = |y| Rect {
            y,
            height: 1,
            ..area
        };
        for (y, (words, style)) in (area.top()..area.bottom()).zip(self.summary(shared)) {
            let cut = text::truncate(&words, width, theme.marks).into_owned();
            frame.render_widget(Line::styled(cut, style), row(y));
        }
        let heads = "ROUND  TOOLS   BYTES           WHAT WOULD BE OTHERWISE";
        let tables = self.rows.window();
        let mut y = area.top().saturating_add(2);
        for number in tables {
            let Some(key) = self.rows.keys().get(number) else {
                break;
            };
            if number == Field::ALL.len() && y < area.bottom() {
                let heads = text::truncate(heads, width, theme.marks).into_owned();
                frame.render_widget(Line::styled(heads, theme.title()), row(y));
                y += 1;
            }
            if y >= area.bottom() {
                break;
            }
            let line = match key {
                Row::Field(at) => Field::ALL
                    .get(*at)
                    .map(|field| self.field_line(*field, width, shared)),
                Row::Round(round) => self
                    .played()
                    .and_then(|played| played.rounds.iter().find(|pair| pair.round == *round))
                    .map(|pair| self.round_line(pair, width, shared)),
            };
            frame.render_widget(line.unwrap_or_default(), row(y));
            if number == self.rows.position() {
                frame
                    .buffer_mut()
                    .set_style(row(y), theme.selection(focused));
            }
            y += 1;
        }
    }

    fn takes_keys(&self) -> bool {
        self.settings.is_some()
    }

    fn key(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let Some(field) = self.field() else {
            return false;
        };
        let Some(input) = &mut self.typing else {
            let up = match Press::of(key) {
                Some(Press::Char('+' | '=')) => true,
                Some(Press::Char('-')) => false,
                _ => return false,
            };
            if field != Field::Exposure {
                self.step(field, up, shared);
            }
            return true;
        };
        match Press::of(key) {
            Some(Press::Named(KeyCode::Esc)) => self.typing = None,
            Some(Press::Named(KeyCode::Enter)) => {
                let typed = input.text().trim().replace([',', '_'], "");
                match typed.as_str() {
                    "" => {
                        self.typing = None;
                        self.set_value(field, None);
                        self.order(shared);
                    }
                    number => match number.parse() {
                        Ok(value) => {
                            self.typing = None;
                            self.set_value(field, Some(value));
                            self.order(shared);
                        }
                        Err(_) => shared.complain("a whole number, or nothing for as it was"),
                    },
                }
            }
            _ => return input.key(key),
        }
        true
    }

    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        match self.typing {
            Some(_) => &[("enter", "try"), ("esc", "back")],
            None => &[
                ("+ -", "change"),
                ("enter", "type, choose"),
                ("e", "exposure"),
                ("y", "copy as YAML"),
                ("tab", "pane"),
                ("esc", "back"),
                ("?", "help"),
            ],
        }
    }

    fn answered(&mut self, id: OrderId, answer: &Answer) {
        let Answer::WhatIf(answer) = answer else {
            return;
        };
        if self.waits != Some(id) {
            return; // of settings that were changed since
        }
        self.waits = None;
        if let Some(of) = self.ordered.take() {
            self.played = Some((answer.clone(), of));
        }
        self.set_rows();
    }

    fn copy(&self, _: &Shared) -> Option<Copied> {
        let settings = self.settings.as_ref()?;
        let settings = self.changes.apply(settings).ok()?;
        Some(Copied {
            what: "the settings, to stand below `settings:` of the assembly".to_owned(),
            text: toolcrib::discovery::what_if::yaml(&settings),
        })
    }
}
