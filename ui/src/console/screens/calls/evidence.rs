//! What is known of one call: how it fared, and its result part by part. Of a result of any size
//! only what is on the screen is laid out.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use serde_json::Value;
use toolcrib::observe::CallRecord;
use toolcrib::tool::Part;

use super::facts;
use crate::console::figures;
use crate::console::shared::Shared;
use crate::console::subtabs;
use crate::console::theme::{Health, Theme};
use crate::console::tree::Tree;
use crate::console::viewer::{Document, Json, Pager, Trunk};
use crate::text::{Lines, clean};

/// How many rows of a JSON tree are open at first.
const OPEN: usize = 40;

/// Texts up to this size are read as JSON when a tree is asked for.
const READ: usize = 4 * 1024 * 1024;

/// How many lines an error's message takes at most above the result.
const ERROR_LINES: u16 = 4;

/// How many warnings stand above the result at most.
const WARNINGS: u16 = 3;

/// One way to look at a part.
#[derive(Debug)]
enum Sight {
    Text(Pager),
    Tree(Trunk<Json>),
    /// A few facts.
    Facts(Vec<Line<'static>>),
}

/// A sub-tab: a part of the result, or the arguments.
#[derive(Debug)]
struct Tab {
    title: String,
    sight: Sight,
}

/// The evidence of a call that ended.
#[derive(Debug)]
pub(super) struct Evidence {
    record: Arc<CallRecord>,
    tabs: Vec<Tab>,
    tab: usize,
    /// A long text out of a tree, opened on its own.
    opened: Option<Pager>,
    search: String,
}

impl Evidence {
    /// The evidence of a record as it came.
    pub(super) fn new(record: Arc<CallRecord>, theme: Theme) -> Self {
        let mut tabs = Vec::new();
        match &record.parts {
            None => {
                let words = "The history has let go of this result: it keeps 32 MiB of results in all and \
                     drops the oldest first. What is known of the call stays.";
                tabs.push(Tab::facts("Result", vec![Line::raw(words)]));
            }
            Some(parts) if parts.is_empty() => {
                tabs.push(Tab::facts(
                    "Result",
                    vec![Line::raw("The result has no parts.")],
                ));
            }
            Some(parts) => {
                let alone = parts.len() == 1;
                let each = parts.iter().enumerate();
                tabs.extend(each.map(|(number, part)| {
                    let title = match alone {
                        true => format!("Result: {}", part.kind()),
                        false => format!("{} {}", number + 1, part.kind()),
                    };
                    Tab {
                        title,
                        sight: sight(parts, number, part, theme),
                    }
                }));
            }
        }
        let arguments = Json::arguments(&record, theme.marks);
        tabs.push(Tab {
            title: "Arguments".into(),
            sight: Sight::Tree(Trunk::new(Tree::new(arguments, OPEN))),
        });
        Self {
            record,
            tabs,
            tab: 0,
            opened: None,
            search: String::new(),
        }
    }

    /// Whether it is about this very record.
    pub(super) fn is_of(&self, record: &Arc<CallRecord>) -> bool {
        Arc::ptr_eq(&self.record, record)
    }

    /// The record as it came.
    pub(super) fn record(&self) -> &Arc<CallRecord> {
        &self.record
    }

    /// The parts, if they are still there and there are any.
    pub(super) fn parts(&self) -> Option<&Arc<[Part]>> {
        self.record.parts.as_ref().filter(|parts| !parts.is_empty())
    }

    pub(super) fn step_tab(&mut self, forward: bool) {
        let count = self.tabs.len();
        let by = if forward { 1 } else { count - 1 };
        self.tab = (self.tab + by) % count;
        self.opened = None;
        self.search.clear();
    }

    pub(super) fn has_tabs(&self) -> bool {
        self.tabs.len() > 1
    }

    /// The text that is read now, if it is one.
    pub(super) fn pager(&self) -> Option<&Pager> {
        match (&self.opened, &self.tabs.get(self.tab)?.sight) {
            (Some(pager), _) | (None, Sight::Text(pager)) => Some(pager),
            _ => None,
        }
    }

    pub(super) fn pager_mut(&mut self) -> Option<&mut Pager> {
        match (&mut self.opened, &mut self.tabs.get_mut(self.tab)?.sight) {
            (Some(pager), _) | (None, Sight::Text(pager)) => Some(pager),
            _ => None,
        }
    }

    fn trunk_mut(&mut self) -> Option<&mut Trunk<Json>> {
        match (&self.opened, &mut self.tabs.get_mut(self.tab)?.sight) {
            (None, Sight::Tree(trunk)) => Some(trunk),
            _ => None,
        }
    }

    fn trunk(&self) -> Option<&Trunk<Json>> {
        match (&self.opened, &self.tabs.get(self.tab)?.sight) {
            (None, Sight::Tree(trunk)) => Some(trunk),
            _ => None,
        }
    }

    /// Whether there is a tree to open rows of.
    pub(super) fn has_tree(&self) -> bool {
        self.trunk().is_some()
    }

    /// Whether a text out of a tree is open.
    pub(super) fn has_opened(&self) -> bool {
        self.opened.is_some()
    }

    /// Closes the text out of a tree.
    pub(super) fn close(&mut self) {
        self.opened = None;
        self.search.clear();
    }

    /// Opens or closes the row of the tree; a long text opens on its own.
    pub(super) fn open(&mut self) {
        let Some(trunk) = self.trunk_mut() else {
            return;
        };
        let text = trunk.tree.selected().and_then(|row| match row.more {
            None => trunk.tree.branches().at(&row.path)?.as_str(),
            Some(_) => None,
        });
        match text {
            Some(text) => self.opened = Some(Pager::new(Document::new(text))),
            None => {
                trunk.tree.toggle();
            }
        }
    }

    /// Scrolls by so many rows.
    pub(super) fn scroll(&mut self, rows: isize) {
        if let Some(pager) = self.pager_mut() {
            pager.scroll(rows);
        } else if let Some(trunk) = self.trunk_mut() {
            trunk.tree.step(rows);
        }
    }

    pub(super) fn half_page(&self) -> isize {
        match (self.pager(), self.trunk()) {
            (Some(pager), _) => pager.half_page(),
            (None, Some(trunk)) => trunk.half_page(),
            _ => 1,
        }
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    pub(super) fn set_search(&mut self, words: &str) {
        words.clone_into(&mut self.search);
        let words = self.search.clone();
        if let Some(pager) = self.pager_mut() {
            pager.set_search(&words);
        }
    }

    /// Whether the part can be shown both as a tree and as text.
    pub(super) fn has_shapes(&self) -> bool {
        self.opened.is_none()
            && match self.tabs.get(self.tab).map(|tab| &tab.sight) {
                Some(Sight::Tree(_)) => true,
                Some(Sight::Text(pager)) => {
                    let text = pager.document().text();
                    text.len() <= READ && text.trim_start().starts_with(['{', '['])
                }
                _ => false,
            }
    }

    /// From tree to text, or back; `false` when the text is no JSON.
    pub(super) fn reshape(&mut self, theme: Theme) -> bool {
        let Some(tab) = self.tabs.get_mut(self.tab) else {
            return false;
        };
        tab.sight = match &tab.sight {
            Sight::Tree(trunk) => {
                let whole = trunk.tree.branches().whole();
                let pretty = serde_json::to_string_pretty(whole).unwrap_or_default();
                Sight::Text(Pager::new(Document::new(pretty)))
            }
            Sight::Text(pager) => match serde_json::from_str::<Value>(pager.document().text()) {
                Ok(value) => {
                    let json = Json::new(value, theme.marks);
                    Sight::Tree(Trunk::new(Tree::new(json, OPEN)))
                }
                Err(_) => return false,
            },
            Sight::Facts(_) => return false,
        };
        true
    }

    /// What `y` copies: the row of a tree, or the whole of what is shown.
    pub(super) fn copied(&self) -> Option<(String, String)> {
        if let Some(pager) = self.pager() {
            return Some(("the text".into(), pager.document().text().to_owned()));
        }
        if let Some(trunk) = self.trunk() {
            let row = trunk.tree.selected()?;
            let value = trunk.tree.branches().at(&row.path)?;
            let text = match value {
                Value::String(text) => text.clone(),
                other => serde_json::to_string_pretty(other).unwrap_or_default(),
            };
            return Some(("the value".into(), text));
        }
        let part = self.parts()?.get(self.tab)?;
        match part {
            Part::File { uri, .. } => Some(("the address".into(), uri.clone())),
            _ => None,
        }
    }

    /// Takes over the room there is.
    pub(super) fn settle(&mut self, area: Rect, theme: Theme) {
        let body = subtabs::below(self.areas(area)[1]);
        if let Some(pager) = self.pager_mut() {
            pager.settle(body, theme);
        } else if let Some(trunk) = self.trunk_mut() {
            trunk.settle(usize::from(body.height));
        }
    }

    /// Head and body.
    fn areas(&self, area: Rect) -> [Rect; 2] {
        let error = match (&self.record.error, self.record.error_kind) {
            (Some(text), Some(_)) => {
                let cells = crate::text::width(text);
                let rows = cells.div_ceil(usize::from(area.width.max(1)));
                u16::try_from(rows)
                    .unwrap_or(ERROR_LINES)
                    .clamp(1, ERROR_LINES)
            }
            _ => 0,
        };
        let warnings = u16::try_from(self.record.warnings.len()).unwrap_or(WARNINGS);
        // In a low pane the result matters more than what stands above it.
        let head = (2 + error + warnings.min(WARNINGS)).min(area.height / 2);
        [
            Rect {
                height: head,
                ..area
            },
            Rect {
                y: area.y + head,
                height: area.height - head,
                ..area
            },
        ]
    }

    pub(super) fn view(&self, focused: bool, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let [head, body] = self.areas(area);
        self.view_head(shared, frame, head);
        let titles: Vec<&str> = self.tabs.iter().map(|tab| tab.title.as_str()).collect();
        let Some(tab) = self.tabs.get(self.tab) else {
            return;
        };
        let place = self.pager().and_then(Pager::place);
        let place = match (&self.opened, place) {
            (Some(_), place) => Some(format!("one text {}", place.unwrap_or_default())),
            (None, place) => place,
        };
        let width = usize::from(body.width);
        let line = subtabs::line(&titles, &tab.title, place.as_deref(), width, theme);
        frame.render_widget(
            line,
            Rect {
                height: body.height.min(1),
                ..body
            },
        );
        let body = subtabs::below(body);
        if let Some(pager) = self.pager() {
            pager.view(theme, frame, body);
            return;
        }
        match &tab.sight {
            Sight::Tree(trunk) => trunk.view(focused, theme, frame, body),
            Sight::Facts(lines) => {
                let text = Paragraph::new(lines.clone()).wrap(Wrap { trim: true });
                frame.render_widget(text, body);
            }
            Sight::Text(_) => {}
        }
    }

    fn view_head(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let record = &self.record;
        let name = |text: &str| clean(text, Lines::One, theme.marks).into_owned();
        let mut lines = vec![
            facts::ending(record, theme),
            Line::styled(facts::known(record, shared), theme.dim()),
        ];
        if let (Some(text), Some(_)) = (&record.error, record.error_kind) {
            let text = name(text);
            lines.insert(1, Line::styled(text, theme.strong()));
        }
        for warning in record.warnings.iter().take(usize::from(WARNINGS)).rev() {
            let mark = theme.mark(Health::Warning);
            let words = format!("{mark} {}", name(warning));
            // One row each: the end of a long one is in the log.
            let words = crate::text::truncate(&words, usize::from(area.width), theme.marks);
            lines.insert(
                1,
                Line::styled(words.into_owned(), theme.health(Health::Warning)),
            );
        }
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), area);
    }
}

impl Tab {
    fn facts(title: &str, lines: Vec<Line<'static>>) -> Self {
        Self {
            title: title.to_owned(),
            sight: Sight::Facts(lines),
        }
    }
}

fn sight(parts: &Arc<[Part]>, number: usize, part: &Part, theme: Theme) -> Sight {
    let shown = |text: &str| clean(text, Lines::One, theme.marks).into_owned();
    let fact = |label: &str, value: String| {
        Line::from(vec![
            Span::styled(format!("{label:<12}"), theme.dim()),
            Span::raw(value),
        ])
    };
    let media = |kind: &str, media_type: &str, bytes: usize| {
        vec![
            fact("kind", kind.to_owned()),
            fact("media type", shown(media_type)),
            fact("size", figures::bytes(bytes as u64)),
            Line::default(),
            Line::styled("S writes it to a file", theme.dim()),
        ]
    };
    match part {
        Part::Text(_) => Sight::Text(Pager::new(Document::part(parts, number))),
        Part::Data { .. } => {
            let json = Json::part(parts, number, theme.marks);
            Sight::Tree(Trunk::new(Tree::new(json, OPEN)))
        }
        Part::Image { bytes, media_type } => {
            Sight::Facts(media("picture", media_type, bytes.len()))
        }
        Part::Audio { bytes, media_type } => Sight::Facts(media("sound", media_type, bytes.len())),
        Part::File {
            uri,
            media_type,
            name,
        } => {
            let mut lines = vec![fact("address", shown(uri))];
            lines.extend(name.as_ref().map(|name| fact("name", shown(name))));
            lines.extend(
                media_type
                    .as_ref()
                    .map(|kind| fact("media type", shown(kind))),
            );
            lines.push(Line::default());
            lines.push(Line::styled(
                "a reference: its content is not in the result; y copies the address",
                theme.dim(),
            ));
            Sight::Facts(lines)
        }
    }
}
