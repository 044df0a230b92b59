//! Finds the tool to call by a few of its letters.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use toolcrib::observe::ToolRow;

use crate::console::frame::centered;
use crate::console::input::Input;
use crate::console::keymap::Press;
use crate::console::pane;
use crate::console::roster::Roster;
use crate::console::shared::Shared;
use crate::text;

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Picked {
    /// It goes on.
    Goes,
    /// This tool.
    Tool(Arc<str>),
    /// None.
    Closed,
    /// The key means nothing here.
    Passed,
}

/// The picker.
#[derive(Debug, Default)]
pub(super) struct Picker {
    input: Input,
    found: Roster<Arc<str>>,
    seen: Option<Arc<[ToolRow]>>,
}

impl Picker {
    /// A picker that begins with this tool.
    pub(super) fn new(begin: Option<&Arc<str>>, shared: &Shared) -> Self {
        let mut picker = Self::default();
        picker.find(shared);
        if let Some(name) = begin {
            picker.found.select(name);
        }
        picker
    }

    /// Takes over what changed.
    pub(super) fn refresh(&mut self, shared: &Shared, area: Rect) {
        let tools = &shared.snapshot().tools;
        if self
            .seen
            .as_ref()
            .is_none_or(|seen| !Arc::ptr_eq(seen, tools))
        {
            self.find(shared);
        }
        let rows = inner_height(area).saturating_sub(2);
        self.found.settle(usize::from(rows));
    }

    /// The tools that fit, the best first; by name while nothing is typed.
    fn find(&mut self, shared: &Shared) {
        let tools = &shared.snapshot().tools;
        let names = tools.iter().map(|tool| tool.definition.shared_name());
        let wanted = self.input.text().trim();
        let keys = if wanted.is_empty() {
            names.collect()
        } else {
            let pattern = Pattern::parse(wanted, CaseMatching::Ignore, Normalization::Smart);
            let mut matcher = Matcher::new(Config::DEFAULT);
            let mut buffer = Vec::new();
            let mut hits: Vec<(u32, Arc<str>)> = names
                .filter_map(|name| {
                    let score = pattern.score(Utf32Str::new(&name, &mut buffer), &mut matcher)?;
                    Some((score, name))
                })
                .collect();
            hits.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            hits.into_iter().map(|(_, name)| name).collect()
        };
        self.found.set_keys(keys);
        self.seen = Some(Arc::clone(tools));
    }

    /// Takes a key in.
    pub(super) fn key(&mut self, key: KeyEvent, shared: &Shared) -> Picked {
        match Press::of(key) {
            Some(Press::Named(KeyCode::Esc)) => return Picked::Closed,
            Some(Press::Named(KeyCode::Enter)) => {
                return match self.found.selected() {
                    Some(name) => Picked::Tool(Arc::clone(name)),
                    None => Picked::Goes,
                };
            }
            Some(Press::Named(KeyCode::Down) | Press::Ctrl('n')) => self.found.step(1),
            Some(Press::Named(KeyCode::Up) | Press::Ctrl('p')) => self.found.step(-1),
            Some(Press::Named(KeyCode::PageDown) | Press::Ctrl('d')) => {
                self.found.step(self.found.half_page());
            }
            Some(Press::Named(KeyCode::PageUp)) => self.found.step(-self.found.half_page()),
            _ => {
                if !self.input.key(key) {
                    return Picked::Passed;
                }
                self.search(shared);
            }
        }
        Picked::Goes
    }

    /// Takes pasted text in.
    pub(super) fn paste(&mut self, text: &str, shared: &Shared) {
        self.input.insert(text);
        self.search(shared);
    }

    fn search(&mut self, shared: &Shared) {
        self.find(shared);
        self.found.first();
    }

    pub(super) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let tools = &shared.snapshot().tools;
        let area = centered(area, 76, area.height.saturating_sub(2).min(22));
        frame.render_widget(Clear, area);
        let title = format!(
            "Call which tool? {} of {}",
            self.found.keys().len(),
            tools.len()
        );
        let inner = pane::frame_always(shared, frame, area, &title);
        let line = self.input.line(Span::styled("> ", theme.key()), theme);
        frame.render_widget(
            line,
            Rect {
                height: inner.height.min(1),
                ..inner
            },
        );
        if self.found.keys().is_empty() && inner.height > 2 {
            let words = match tools.is_empty() {
                true => "no tool is registered",
                false => "no tool has these letters in this order",
            };
            let place = Rect {
                y: inner.y + 2,
                height: 1,
                ..inner
            };
            frame.render_widget(Line::styled(words, theme.dim()), place);
        }
        let width = usize::from(inner.width);
        let names = (width / 2).clamp(10, 34);
        for (y, number) in (inner.top() + 2..inner.bottom()).zip(self.found.window()) {
            let Some(name) = self.found.keys().get(number) else {
                break;
            };
            // Tools are sorted by their real names, which cleaning can change; mostly this finds it.
            let found = tools.binary_search_by(|tool| tool.definition.name().cmp(name));
            let tool = found.ok().and_then(|at| tools.get(at));
            let about = tool.map_or("", |tool| tool.definition.description());
            let about = about.lines().next().unwrap_or_default();
            let mut line = Line::from(vec![
                Span::styled(text::fit(name, names, theme.marks), theme.strong()),
                Span::raw(" "),
                Span::styled(
                    text::truncate(about, width.saturating_sub(names + 1), theme.marks)
                        .into_owned(),
                    theme.dim(),
                ),
            ]);
            if number == self.found.position() {
                line = line.patch_style(theme.selected());
            }
            frame.render_widget(
                line,
                Rect {
                    y,
                    height: 1,
                    ..inner
                },
            );
        }
    }
}

fn inner_height(area: Rect) -> u16 {
    area.height.saturating_sub(2).min(22).saturating_sub(2)
}
