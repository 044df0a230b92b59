//! Everything about one tool: what it says of itself, its schema, what a model is sent, how it
//! changed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use serde_json::json;
use toolcrib::observe::{Tally, ToolRow};
use toolcrib::registry::Refusal;

use super::changes::changes;
use super::list::marks;
use super::shelves::request;
use crate::console::figures;
use crate::console::reader::Reader;
use crate::console::schema::Outline;
use crate::console::shared::Shared;
use crate::console::theme::{Health, Theme};
use crate::console::tree::Tree;
use crate::console::viewer::{Document, Pager, Trunk};

/// How much of a description is laid out; the whole of it is in what the model sees.
const DESCRIPTION: usize = 8 * 1024;

/// How many rows of a schema are open at first.
const OPEN: usize = 60;

/// The sub-tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    About,
    /// Only of tools that come from files.
    Request,
    Schema,
    Wire,
    Changes,
}

impl Tab {
    /// Those of a tool.
    pub(super) fn all(has_request: bool) -> Vec<Self> {
        let all = [
            Self::About,
            Self::Request,
            Self::Schema,
            Self::Wire,
            Self::Changes,
        ];
        let all = all.into_iter();
        all.filter(|tab| has_request || *tab != Self::Request)
            .collect()
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::About => "About",
            Self::Request => "Request",
            Self::Schema => "Schema",
            Self::Wire => "As the model sees it",
            Self::Changes => "Changes",
        }
    }

    pub(super) fn step(self, forward: bool, has_request: bool) -> Self {
        let all = Self::all(has_request);
        let at = all.iter().position(|tab| *tab == self).unwrap_or(0);
        let by = if forward { 1 } else { all.len() - 1 };
        all[(at + by) % all.len()]
    }
}

/// The detail of one definition.
#[derive(Debug)]
pub(super) struct Detail {
    /// The tool as it came.
    tool: ToolRow,
    pub(super) schema: Trunk<Outline>,
    pub(super) wire: Pager,
    pub(super) reader: Reader,
    lines: Vec<Line<'static>>,
    /// Whether it comes from a file.
    has_request: bool,
}

impl Detail {
    /// The detail of a tool as it came.
    pub(super) fn new(tool: ToolRow, shared: &Shared) -> Self {
        let theme = shared.theme;
        let (name, source) = (tool.definition.name(), &tool.owner.source);
        let has_request = request(name, source, shared).is_some();
        let definition = tool.definition.clone();
        let wire = json!({
            "name": definition.name(),
            "description": definition.description(),
            "inputSchema": definition.input_schema(),
        });
        let pretty = serde_json::to_string_pretty(&wire).unwrap_or_default();
        Self {
            schema: Trunk::new(Tree::new(Outline::new(definition, theme.marks), OPEN)),
            wire: Pager::new(Document::new(pretty)),
            reader: Reader::wrapping(),
            lines: Vec::new(),
            has_request,
            tool,
        }
    }

    /// Whether the tool comes from a file.
    pub(super) fn has_request(&self) -> bool {
        self.has_request
    }

    /// Whether it still shows this very definition with these facts.
    pub(super) fn is_of(&self, tool: &ToolRow) -> bool {
        self.tool == *tool
    }

    /// The tool as it came.
    pub(super) fn tool(&self) -> &ToolRow {
        &self.tool
    }

    /// What the model sees, compact.
    pub(super) fn wire_json(&self) -> &str {
        self.wire.document().text()
    }

    /// Takes over what changed and the room there is.
    pub(super) fn settle(&mut self, shown: &ToolRow, tab: Tab, shared: &Shared, area: Rect) {
        let theme = shared.theme;
        match tab {
            Tab::About => self.lines = about(shown, shared),
            Tab::Request => {
                let (name, source) = (self.tool.definition.name(), &self.tool.owner.source);
                self.lines = request(name, source, shared).unwrap_or_default();
            }
            Tab::Changes => self.lines = changes(shared.snapshot(), &self.tool, shared),
            Tab::Schema => {
                let [tree, _] = schema_areas(area);
                self.schema.settle(usize::from(tree.height));
            }
            Tab::Wire => self.wire.settle(body(area), theme),
        }
        if matches!(tab, Tab::About | Tab::Request | Tab::Changes) {
            self.reader.settle(&self.lines, area, theme);
        }
    }

    pub(super) fn view(
        &self,
        tab: Tab,
        focused: bool,
        theme: Theme,
        frame: &mut Frame<'_>,
        area: Rect,
    ) {
        match tab {
            Tab::About | Tab::Request | Tab::Changes => {
                self.reader.view(&self.lines, theme, frame, area)
            }
            Tab::Schema => self.view_schema(focused, theme, frame, area),
            Tab::Wire => {
                let head = Line::from(vec![
                    Span::styled(size(self.tool.bytes, theme), theme.strong()),
                    Span::styled(" as compact JSON, shown with line breaks", theme.dim()),
                ]);
                frame.render_widget(
                    head,
                    Rect {
                        height: area.height.min(1),
                        ..area
                    },
                );
                self.wire.view(theme, frame, body(area));
            }
        }
    }

    fn view_schema(&self, focused: bool, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
        let [tree, help] = schema_areas(area);
        if self.schema.tree.rows().is_empty() {
            let line = Line::styled("the schema names no arguments: {} is a call", theme.dim());
            frame.render_widget(line, tree);
            return;
        }
        self.schema.view(focused, theme, frame, tree);
        let text = self.schema.tree.selected().and_then(|row| {
            let outline = self.schema.tree.branches();
            outline.description(&row.path)
        });
        if let Some(text) = text {
            let text: String = text.chars().take(2_000).collect();
            let words = ratatui::widgets::Paragraph::new(text)
                .style(theme.dim())
                .wrap(ratatui::widgets::Wrap { trim: true });
            frame.render_widget(words, help);
        }
    }
}

/// The tree, and below it the description of what is under the cursor.
fn schema_areas(area: Rect) -> [Rect; 2] {
    let help = if area.height >= 10 { 3 } else { 0 };
    ratatui::layout::Layout::vertical([
        ratatui::layout::Constraint::Min(1),
        ratatui::layout::Constraint::Length(help),
    ])
    .areas(area)
}

/// What is left below one line of head.
fn body(area: Rect) -> Rect {
    let head = area.height.min(1);
    Rect {
        y: area.y + head,
        height: area.height - head,
        ..area
    }
}

/// `734 B, ~184 tokens`.
pub(super) fn size(bytes: usize, _theme: Theme) -> String {
    format!(
        "{}, ~{} tokens",
        figures::bytes(bytes as u64),
        figures::count((bytes / 4) as u64)
    )
}

fn fact(label: &str, value: impl Into<String>, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{label:<12}"), theme.dim()),
        Span::raw(value.into()),
    ])
}

fn about(tool: &ToolRow, shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = Vec::new();
    if let Some(title) = &tool.title {
        lines.push(Line::styled(title.to_string(), theme.strong()));
    }
    let description = tool.definition.description();
    if description.trim().is_empty() {
        lines.push(Line::styled(
            "no description: a model can only guess from the name",
            theme.dim(),
        ));
    }
    let end = description
        .char_indices()
        .nth(DESCRIPTION)
        .map_or(description.len(), |(at, _)| at);
    lines.extend(
        description[..end]
            .lines()
            .map(|line| Line::raw(line.to_owned())),
    );
    if end < description.len() {
        let words = format!(
            "{} goes on: ] shows all of it",
            crate::text::ellipsis(theme.marks)
        );
        lines.push(Line::styled(words, theme.dim()));
    }
    lines.push(Line::default());
    lines.push(fact("owner", tool.owner.to_string(), theme));
    let exposure = match tool.exposure_overruled {
        Some(stated) => format!(
            "{} in this process; the deployment says {}",
            tool.exposure.as_str(),
            stated.as_str()
        ),
        None => tool.exposure.as_str().to_owned(),
    };
    lines.push(fact("exposure", exposure, theme));
    lines.push(fact("size", size(tool.bytes, theme), theme));
    lines.push(fact("effects", effects(tool), theme));
    let signs = marks(tool);
    if !signs.is_empty() {
        let words: Vec<String> = signs
            .iter()
            .map(|(letter, word)| format!("{letter} {word}"))
            .collect();
        lines.push(fact("marks", words.join(", "), theme));
    }
    if tool.placeholder {
        let words = "this is its placeholder: the definition is loaded on first use";
        lines.push(fact("lazy", words, theme));
    }
    if tool.changed {
        lines.push(Line::from(vec![
            Span::styled(format!("{:<12}", "changed"), theme.dim()),
            Span::styled(theme.mark(Health::Warning), theme.health(Health::Warning)),
            Span::raw(" differs from the definition that was first seen; ] shows how"),
        ]));
    }
    if let Some(name) = &tool.original_name {
        lines.push(fact("at origin", name.to_string(), theme));
    }
    if let Some(place) = &tool.defined_at {
        lines.push(fact("defined at", place.to_string(), theme));
    }
    lines.push(fact("hash", tool.definition_hash.to_string(), theme));
    let snapshot = shared.snapshot();
    lines.push(Line::default());
    lines.extend(traffic(
        snapshot.stats.tools.get(tool.definition.name()),
        shared,
    ));
    let rivals = snapshot
        .refusals
        .iter()
        .filter(|refusal| *refusal.name == *tool.definition.name());
    for rival in rivals {
        lines.push(Line::default());
        lines.push(Line::from(vec![
            Span::styled(theme.mark(Health::Warning), theme.health(Health::Warning)),
            Span::raw(format!(
                " {} brings a tool of this name too and was refused",
                rival.refused
            )),
        ]));
    }
    lines
}

fn effects(tool: &ToolRow) -> String {
    let hints = tool.hints;
    let told = [
        (hints.read_only, "changes nothing", "may change things"),
        (hints.destructive, "may destroy", "destroys nothing"),
        (hints.idempotent, "twice is as once", "twice is not as once"),
        (
            hints.open_world,
            "reaches outside",
            "stays inside its system",
        ),
    ];
    let words: Vec<&str> = told
        .into_iter()
        .filter_map(|(hint, yes, no)| hint.map(|hint| if hint { yes } else { no }))
        .collect();
    match words.is_empty() {
        true => "undeclared: it may change the world".into(),
        false => format!("{} (as declared)", words.join(", ")),
    }
}

fn traffic(tally: Option<&Tally>, shared: &Shared) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(tally) = tally.filter(|tally| tally.calls > 0) else {
        return vec![Line::styled(
            "never called since start; c calls it",
            theme.dim(),
        )];
    };
    let mut lines = vec![fact(
        "calls",
        format!(
            "{}, {}",
            figures::count(tally.calls),
            figures::failed(tally.errors, tally.calls, theme)
        ),
        theme,
    )];
    if !tally.by_kind.is_empty() {
        let kinds: Vec<String> = tally
            .by_kind
            .iter()
            .map(|count| format!("{} {}", count.count, count.kind))
            .collect();
        lines.push(fact("failures", kinds.join(", "), theme));
    }
    lines.push(fact("latency", figures::quantiles(&tally.latency), theme));
    lines.push(fact("bytes", figures::in_and_out(tally), theme));
    if let Some(last) = tally.last {
        let age = figures::age(last.age(shared.now().at));
        lines.push(fact("last call", format!("{age} ago"), theme));
    }
    lines
}

/// What is said of a tool that was refused.
pub(super) fn refused(refusal: &Refusal, theme: Theme) -> Vec<Line<'static>> {
    vec![
        Line::from(vec![
            Span::styled(theme.mark(Health::Bad), theme.health(Health::Bad)),
            Span::raw(" refused: the name is taken"),
        ]),
        Line::default(),
        fact("name", refusal.name.to_string(), theme),
        fact("refused", refusal.refused.to_string(), theme),
        fact("held by", refusal.holder.to_string(), theme),
        Line::default(),
        Line::raw(
            "Names are one flat space: who has a name keeps it, and a newcomer is refused. \
             Models and callers reach the holder's tool alone.",
        ),
        Line::raw(
            "To have both, give one of the two servers a prefix of its own in the deployment \
             file, or let its `tools` leave this one out.",
        ),
    ]
}

/// The words of the marks, for the list.
pub(super) fn mark_words(tool: &ToolRow, cells: usize) -> String {
    let marks = marks(tool);
    let words: Vec<&str> = marks.iter().map(|(_, word)| *word).collect();
    let words = words.join(" ");
    if words.len() <= cells {
        return words;
    }
    marks.iter().map(|(letter, _)| *letter).collect()
}
