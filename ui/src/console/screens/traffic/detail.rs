//! One frame: what is known of it, and its message as a tree or as text.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;
use toolcrib::observe::TrafficFrame;
use toolcrib::source::mcp::FrameKind;

use super::list;
use crate::console::figures;
use crate::console::keymap::Action;
use crate::console::shared::Shared;
use crate::console::theme::Theme;
use crate::console::tree::Tree;
use crate::console::viewer::{Document, Json, Pager, Trunk};
use crate::text::clean_name;

/// How many rows of a tree are open at first.
const OPEN: usize = 60;

/// How many lines of facts stand above the message.
const FACTS: u16 = 3;

#[derive(Debug)]
enum Sight {
    Tree(Trunk<Json>),
    Text(Pager),
}

/// The frame that is looked at.
#[derive(Debug)]
pub(super) struct Detail {
    pub(super) row: Arc<TrafficFrame>,
    sight: Sight,
    /// A long text out of the tree, opened on its own.
    opened: Option<Pager>,
    search: String,
}

impl Detail {
    pub(super) fn new(row: Arc<TrafficFrame>, theme: Theme) -> Self {
        let text = &row.frame.text;
        let sight = match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() || value.is_array() => {
                Sight::Tree(Trunk::new(Tree::new(Json::new(value, theme.marks), OPEN)))
            }
            _ if row.frame.kind == FrameKind::Stray => {
                let shown = list::escaped(text).into_owned();
                Sight::Text(Pager::new(Document::new(shown)))
            }
            _ => Sight::Text(Pager::new(Document::new(Arc::clone(text)))),
        };
        Self {
            row,
            sight,
            opened: None,
            search: String::new(),
        }
    }

    fn pager(&self) -> Option<&Pager> {
        match (&self.opened, &self.sight) {
            (Some(pager), _) | (None, Sight::Text(pager)) => Some(pager),
            _ => None,
        }
    }

    fn pager_mut(&mut self) -> Option<&mut Pager> {
        match (&mut self.opened, &mut self.sight) {
            (Some(pager), _) | (None, Sight::Text(pager)) => Some(pager),
            _ => None,
        }
    }

    fn trunk(&self) -> Option<&Trunk<Json>> {
        match (&self.opened, &self.sight) {
            (None, Sight::Tree(trunk)) => Some(trunk),
            _ => None,
        }
    }

    pub(super) fn has_text(&self) -> bool {
        self.pager().is_some()
    }

    pub(super) fn has_tree(&self) -> bool {
        self.trunk().is_some()
    }

    pub(super) fn has_opened(&self) -> bool {
        self.opened.is_some()
    }

    /// Closes the text out of the tree.
    pub(super) fn close(&mut self) {
        self.opened = None;
        self.search.clear();
    }

    /// Opens or closes the row of the tree; a long text opens on its own.
    pub(super) fn open(&mut self) {
        let Sight::Tree(trunk) = &mut self.sight else {
            return;
        };
        let selected = trunk.tree.selected().filter(|row| row.more.is_none());
        let text = selected.and_then(|row| trunk.tree.branches().at(&row.path)?.as_str());
        match text {
            Some(text) => self.opened = Some(Pager::new(Document::new(text))),
            None => {
                trunk.tree.toggle();
            }
        }
    }

    /// From tree to text, or back; `false` where there is only one way to look at it.
    pub(super) fn reshape(&mut self, theme: Theme) -> bool {
        if self.opened.is_some() {
            return false;
        }
        let Ok(value) = serde_json::from_str::<Value>(&self.row.frame.text) else {
            return false;
        };
        self.sight = match &self.sight {
            Sight::Tree(_) => {
                let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
                Sight::Text(Pager::new(Document::new(pretty)))
            }
            Sight::Text(_) => {
                Sight::Tree(Trunk::new(Tree::new(Json::new(value, theme.marks), OPEN)))
            }
        };
        true
    }

    pub(super) fn move_by(&mut self, action: Action) {
        let half = match (self.pager(), self.trunk()) {
            (Some(pager), _) => pager.half_page(),
            (None, Some(trunk)) => trunk.half_page(),
            (None, None) => 1,
        };
        let rows = match action {
            Action::Down => 1,
            Action::Up => -1,
            Action::First => isize::MIN,
            Action::Last => isize::MAX,
            Action::HalfDown => half,
            Action::HalfUp => -half,
            _ => return,
        };
        if let Some(pager) = self.pager_mut() {
            pager.scroll(rows);
        } else if let Sight::Tree(trunk) = &mut self.sight {
            trunk.tree.step(rows);
        }
    }

    pub(super) fn toggle_wrap(&mut self) {
        if let Some(pager) = self.pager_mut() {
            pager.toggle_wrap();
        }
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    pub(super) fn set_search(&mut self, words: &str) {
        words.clone_into(&mut self.search);
        if let Some(pager) = self.pager_mut() {
            pager.set_search(words);
        }
    }

    pub(super) fn step_hit(&mut self, forward: bool) {
        if let Some(pager) = self.pager_mut() {
            pager.step_hit(forward);
        }
    }

    /// What `y` copies here: the row of the tree, or the whole text.
    pub(super) fn copied(&self) -> Option<(String, String)> {
        if let Some(pager) = self.pager() {
            return Some(("the text".into(), pager.document().text().to_owned()));
        }
        let trunk = self.trunk()?;
        let value = trunk.tree.branches().at(&trunk.tree.selected()?.path)?;
        let text = match value {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        Some(("the value".into(), text))
    }

    pub(super) fn settle(&mut self, area: Rect, theme: Theme) {
        let [_, body] = areas(area);
        if let Some(pager) = self.pager_mut() {
            pager.settle(body, theme);
        } else if let Sight::Tree(trunk) = &mut self.sight {
            trunk.settle(usize::from(body.height));
        }
    }

    pub(super) fn view(
        &self,
        other: Option<&Arc<TrafficFrame>>,
        focused: bool,
        shared: &Shared,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        let theme = shared.theme;
        let [head, body] = areas(area);
        frame.render_widget(Paragraph::new(self.facts(other, shared)), head);
        if let Some(pager) = self.pager() {
            pager.view(theme, frame, body);
        } else if let Some(trunk) = self.trunk() {
            trunk.view(focused, theme, frame, body);
        }
    }

    /// `other` is the other half of the pair, while it is kept.
    fn facts(&self, other: Option<&Arc<TrafficFrame>>, shared: &Shared) -> Vec<Line<'static>> {
        let theme = shared.theme;
        let frame = &self.row.frame;
        let name = |name: &str| clean_name(name, theme.marks).into_owned();
        let health = list::health(&self.row);
        let dim = |text: String| Span::styled(text, theme.dim());
        let mut first = vec![
            Span::styled(
                format!(
                    "{} {} ",
                    list::way(frame.direction, theme),
                    frame.kind.as_str()
                ),
                theme.health(health),
            ),
            Span::styled(list::what(&self.row, theme), theme.strong()),
        ];
        if let Some(status) = frame.status {
            first.push(Span::styled(
                format!("  HTTP {status}"),
                theme.health(health),
            ));
        }
        let kept = match frame.text.len() < frame.bytes {
            true => " (its beginning is kept)",
            false => "",
        };
        let second = dim(format!(
            "{} at {}, {}{kept}, id {}, connection {}",
            name(&format!("{}/{}", frame.source, frame.server)),
            list::time(shared, &self.row),
            figures::bytes(frame.bytes as u64),
            frame
                .id
                .as_deref()
                .map_or_else(|| theme.none().into(), name),
            frame.epoch,
        ));
        let third = match (self.row.latency, other) {
            (Some(took), _) => {
                let asked = self.row.answers.unwrap_or_default();
                format!("answers frame {asked} after {}", figures::latency(took))
            }
            (None, Some(answer)) => format!(
                "answered by frame {} after {}",
                answer.number,
                answer.latency.map_or_else(String::new, figures::latency)
            ),
            (None, None) if frame.kind == FrameKind::Request => {
                let age = figures::age(frame.at.age(shared.now().at));
                format!("not answered so far, {age} after it was sent")
            }
            _ => format!("frame {}", self.row.number),
        };
        vec![
            Line::from(first),
            Line::from(second),
            Line::from(dim(third)),
        ]
    }
}

/// Facts and message.
fn areas(area: Rect) -> [Rect; 2] {
    // In a low pane the message matters more.
    let head = FACTS.min(area.height / 2);
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
