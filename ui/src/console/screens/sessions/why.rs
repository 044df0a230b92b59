//! The pane that tells why a tool is sent in the shown round, or why it is not: the causal chain
//! from its source to the budget, and the one thing that would help. Works on what is published.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use toolcrib::discovery::Exposures;
use toolcrib::discovery::session::RoundRecord;
use toolcrib::discovery::why::{Chain, Evidence, Verdict, why};
use toolcrib::observe::ToolRow;
use toolcrib::session::{SessionKind, SessionRow};

use super::lens::{Lens, Sight};
use super::prose::{Item, Prose};
use crate::console::input::Input;
use crate::console::keymap::{Action, Press};
use crate::console::roster::Roster;
use crate::console::screens::Copied;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{self, Lines};

/// How many names are offered for what is typed.
const OFFERED: usize = 200;

/// What an answer holds for: it is worked out anew when one of these changes.
#[derive(Debug)]
struct Asked {
    tool: Arc<str>,
    row: Arc<SessionRow>,
    record: Arc<RoundRecord>,
    exposures: Arc<Exposures>,
    tools: Arc<[ToolRow]>,
    area: Rect,
    servers: toolcrib::source::ServerRows,
}

/// A name being typed, with the names that fit.
#[derive(Debug, Default)]
struct Typing {
    input: Input,
    found: Roster<Arc<str>>,
    stale: bool,
}

/// The pane.
#[derive(Debug, Default)]
pub(super) struct Why {
    /// The tool that was asked for by name; otherwise the selected one is told of.
    named: Option<Arc<str>>,
    typing: Option<Typing>,
    asked: Option<Asked>,
    chain: Option<Chain>,
    prose: Prose,
}

impl Why {
    /// Tells of a tool by its name.
    pub(super) fn of(tool: Arc<str>) -> Self {
        Self {
            named: Some(tool),
            ..Self::default()
        }
    }

    fn tool(&self) -> Option<&Arc<str>> {
        let asked = self.asked.as_ref().map(|asked| &asked.tool);
        self.named.as_ref().or(asked)
    }

    fn items(&self, chain: &Chain, shared: &Shared) -> Vec<Item> {
        let theme = shared.theme;
        let clean = |text: &str| text::clean(text, Lines::One, theme.marks).into_owned();
        let (health, verdict) = match chain.visible {
            true => (Health::Good, "sent"),
            false => (Health::Bad, "not sent"),
        };
        let mark = |health| Span::styled(format!("{} ", theme.mark(health)), theme.health(health));
        let name = text::clean_name(&chain.tool, theme.marks);
        let mut items = vec![Item::new(
            vec![mark(health)],
            format!("{name} is {verdict} in round {}", chain.round),
            theme.strong(),
        )];
        for link in &chain.links {
            let (health, word) = match link.verdict {
                Verdict::Ok => (Health::Good, "ok"),
                Verdict::Noted => (Health::Warning, "note"),
                Verdict::Broken => (Health::Bad, "no"),
            };
            let stage = format!("{:<11} {word:<5}", link.stage.as_str());
            let style = match link.verdict {
                Verdict::Broken => theme.strong(),
                _ => theme.text(),
            };
            let head = vec![
                Span::raw("  "),
                mark(health),
                Span::styled(stage, theme.dim()),
            ];
            items.push(Item::new(head, clean(&link.fact.to_string()), style));
        }
        if let Some(remedy) = &chain.remedy {
            let arrow = theme.pick("→ ", "-> ");
            items.push(Item::default());
            items.push(Item::new(
                vec![Span::styled(arrow, theme.key())],
                clean(remedy),
                theme.text(),
            ));
        }
        items.push(Item::default());
        items.push(Item::plain(
            "enter asks about another tool by its name",
            theme.dim(),
        ));
        items
    }

    fn fill(&mut self, asked: &Asked, shared: &Shared) {
        let chain = explain(asked, shared);
        let items = self.items(&chain, shared);
        self.prose.set(&items, asked.area);
        self.chain = Some(chain);
    }
}

/// Works the chain out. A scenario runs on a stage of its own, of which the registry and the
/// servers of this deployment tell nothing; what its rounds saw does.
fn explain(asked: &Asked, shared: &Shared) -> Chain {
    let snapshot = shared.snapshot();
    let on_stage = asked.row.kind == SessionKind::Scenario;
    let rounds: Vec<_> = asked.row.rounds().cloned().collect();
    let shown = text::clean_name(&asked.tool, shared.theme.marks);
    let row = tool_row(&asked.tools, &shown).filter(|_| !on_stage);
    let mapped = asked
        .tools
        .iter()
        .find(|tool| tool.original_name.as_deref() == Some(&*asked.tool));
    let evidence = Evidence {
        owner: row.map(|row| &row.owner),
        refusals: if on_stage { &[] } else { &snapshot.refusals },
        mapped: mapped
            .filter(|_| !on_stage)
            .map(|row| row.definition.name()),
        exposures: &asked.exposures,
        servers: if on_stage { &[] } else { &asked.servers },
        rounds: &rounds,
        ranker: match on_stage {
            true => None,
            false => Some(&*snapshot.view.index),
        },
    };
    why(&asked.tool, asked.record.round, &evidence)
}

fn tool_row<'t>(tools: &'t [ToolRow], shown: &str) -> Option<&'t ToolRow> {
    let at = tools.binary_search_by(|tool| tool.definition.name().cmp(shown));
    match at {
        Ok(at) => tools.get(at),
        // Names that had to be cleaned may stand out of order.
        Err(_) => tools.iter().find(|tool| tool.definition.name() == shown),
    }
}

/// The registry that a session runs over, as it is now or was last seen.
pub(super) fn exposures(row: &SessionRow, shared: &Shared) -> Arc<Exposures> {
    let last = row.rounds().rev().find_map(|record| record.seen.as_ref());
    match (row.kind, last) {
        (SessionKind::Scenario, Some(seen)) => Arc::clone(&seen.opened),
        _ => Arc::clone(&shared.snapshot().view.exposures),
    }
}

/// The names that hold all words, those that begin with the first of them first.
fn offered(exposures: &Exposures, typed: &str) -> Vec<Arc<str>> {
    let typed = typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let mut found: Vec<(bool, Arc<str>)> = exposures
        .tools()
        .map(|tool| tool.definition.shared_name())
        .filter_map(|name| {
            let low = name.to_lowercase();
            let begins = words.first().is_none_or(|word| low.starts_with(word));
            let holds = words.iter().all(|word| low.contains(word));
            holds.then_some((!begins, name))
        })
        .collect();
    found.sort_unstable();
    let names = found.into_iter().map(|(_, name)| name);
    names.take(OFFERED).collect()
}

impl Lens for Why {
    fn title(&self) -> String {
        match (self.tool(), &self.chain) {
            (Some(tool), Some(chain)) => {
                let word = if chain.visible { "Why" } else { "Why not" };
                format!("{word}: {}", text::one_line(tool))
            }
            _ => "Why, why not".to_owned(),
        }
    }

    fn refresh(&mut self, sight: &Sight<'_>, area: Rect) {
        let exposures = exposures(sight.row, sight.shared);
        if self.named.is_none() && sight.tool.is_none() && self.typing.is_none() {
            self.typing = Some(Typing {
                stale: true,
                ..Typing::default()
            });
        }
        if let Some(typing) = &mut self.typing {
            if std::mem::take(&mut typing.stale) {
                typing
                    .found
                    .set_keys(offered(&exposures, typing.input.text()));
                typing.found.first();
            }
            typing
                .found
                .settle(usize::from(area.height.saturating_sub(1)));
            return;
        }
        let Some(tool) = self.named.as_ref().or(sight.tool) else {
            return;
        };
        let snapshot = sight.shared.snapshot();
        let same = self.asked.as_ref().is_some_and(|asked| {
            asked.tool == *tool
                && asked.area == area
                && Arc::ptr_eq(&asked.row, sight.row)
                && Arc::ptr_eq(&asked.record, sight.record)
                && Arc::ptr_eq(&asked.exposures, &exposures)
                && Arc::ptr_eq(&asked.tools, &snapshot.tools)
                && Arc::ptr_eq(&asked.servers, &snapshot.servers)
        });
        if same {
            return;
        }
        if self.asked.as_ref().is_none_or(|asked| asked.tool != *tool) {
            self.prose.rewind();
        }
        let asked = Asked {
            tool: Arc::clone(tool),
            row: Arc::clone(sight.row),
            record: Arc::clone(sight.record),
            exposures,
            tools: Arc::clone(&snapshot.tools),
            area,
            servers: Arc::clone(&snapshot.servers),
        };
        self.fill(&asked, sight.shared);
        self.asked = Some(asked);
    }

    fn can(&self, action: Action) -> bool {
        action == Action::Open || self.prose.can(action)
    }

    fn act(&mut self, action: Action, _: &mut Shared) {
        match action {
            Action::Open => {
                self.typing = Some(Typing {
                    stale: true,
                    ..Typing::default()
                });
            }
            action => self.prose.travel(action),
        }
    }

    fn view(&self, focused: bool, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let Some(typing) = &self.typing else {
            self.prose.view(frame, area);
            return;
        };
        let theme = shared.theme;
        let row = |y| Rect {
            y,
            height: 1,
            ..area
        };
        if area.is_empty() {
            return;
        }
        let prompt = Span::styled("tool: ", theme.dim());
        frame.render_widget(typing.input.line(prompt, theme), row(area.y));
        if typing.found.keys().is_empty() {
            let words = "no tool of that name; enter tells of it all the same";
            frame.render_widget(
                Span::styled(words, theme.dim()),
                row(area.y.saturating_add(1)).intersection(area),
            );
        }
        let names = typing.found.window();
        for (y, number) in (area.top() + 1..area.bottom()).zip(names) {
            let Some(name) = typing.found.keys().get(number) else {
                break;
            };
            let style = match number == typing.found.position() {
                true => theme.selection(focused),
                false => theme.text(),
            };
            let name = text::clean_name(name, theme.marks);
            let name = text::fit(&name, usize::from(area.width), theme.marks);
            frame.render_widget(Span::styled(name, style), row(y));
        }
    }

    fn takes_keys(&self) -> bool {
        self.typing.is_some()
    }

    fn key(&mut self, key: KeyEvent, _: &mut Shared) -> bool {
        let Some(typing) = &mut self.typing else {
            return false;
        };
        match Press::of(key) {
            Some(Press::Named(KeyCode::Esc)) => {
                if self.named.is_none() && self.asked.is_none() {
                    return false; // nothing to go back to: the pane closes
                }
                self.typing = None;
            }
            Some(Press::Named(KeyCode::Enter)) => {
                let typed = typing.input.text().trim();
                let name = typing.found.selected().cloned();
                let name = name.or_else(|| (!typed.is_empty()).then(|| typed.into()));
                if name.is_some() {
                    self.named = name;
                    self.typing = None;
                }
            }
            Some(Press::Named(KeyCode::Tab)) => {
                if let Some(name) = typing.found.selected() {
                    typing.input = Input::with(name);
                    typing.stale = true;
                }
            }
            Some(Press::Named(KeyCode::Down) | Press::Ctrl('n')) => typing.found.step(1),
            Some(Press::Named(KeyCode::Up) | Press::Ctrl('p')) => typing.found.step(-1),
            Some(Press::Named(KeyCode::PageDown)) => typing.found.step(typing.found.half_page()),
            Some(Press::Named(KeyCode::PageUp)) => typing.found.step(-typing.found.half_page()),
            _ => {
                if !typing.input.key(key) {
                    return false;
                }
                typing.stale = true;
            }
        }
        true
    }

    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        match self.typing {
            Some(_) => &[
                ("enter", "tell"),
                ("tab", "complete"),
                ("up down", "choose"),
                ("esc", "back"),
            ],
            None => &[],
        }
    }

    fn copy(&self, _: &Shared) -> Option<Copied> {
        let chain = self.chain.as_ref()?;
        let word = if chain.visible { "sent" } else { "not sent" };
        let mut text = format!("{} is {word} in round {}\n", chain.tool, chain.round);
        for link in &chain.links {
            let verdict = match link.verdict {
                Verdict::Ok => "ok",
                Verdict::Noted => "note",
                Verdict::Broken => "no",
            };
            text.push_str(&format!(
                "  {} {verdict}: {}\n",
                link.stage.as_str(),
                link.fact
            ));
        }
        if let Some(remedy) = &chain.remedy {
            text.push_str(&format!("-> {remedy}\n"));
        }
        Some(Copied {
            what: format!("the chain of {}", text::one_line(&chain.tool)),
            text,
        })
    }
}
