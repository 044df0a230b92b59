//! The other two lists of the screen: skills and toolsets, as the files of the deployment define
//! them, with everything that stands in them.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toolcrib::observe::Snapshot;
use toolcrib::source::skills::{FileToolRow, Shelf, SkillRow, ToolsetRow};

use crate::console::figures;
use crate::console::grid::{Column, Table};
use crate::console::reader::Reader;
use crate::console::roster::Roster;
use crate::console::shared::Shared;
use crate::console::subtabs;
use crate::console::theme::{Health, Theme};
use crate::text::{Lines, clean};

/// How many characters of a prompt are laid out.
const PROMPT: usize = 64 * 1024;

/// Which list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    #[default]
    Tools,
    Skills,
    Toolsets,
}

impl List {
    const ALL: [Self; 3] = [Self::Tools, Self::Skills, Self::Toolsets];

    pub(super) fn step(self, forward: bool) -> Self {
        let count = Self::ALL.len();
        let at = Self::ALL.iter().position(|list| *list == self).unwrap_or(0);
        let by = if forward { 1 } else { count - 1 };
        Self::ALL[(at + by) % count]
    }

    fn title(self, snapshot: &Snapshot) -> String {
        let (word, count) = match self {
            Self::Tools => ("Tools", snapshot.tools.len()),
            Self::Skills => (
                "Skills",
                snapshot
                    .shelves
                    .iter()
                    .map(|shelf| shelf.skills.len())
                    .sum(),
            ),
            Self::Toolsets => (
                "Toolsets",
                snapshot
                    .shelves
                    .iter()
                    .map(|shelf| shelf.toolsets.len())
                    .sum(),
            ),
        };
        format!("{word} {}", figures::count(count as u64))
    }
}

/// The line that names the three lists.
pub(super) fn tabs(list: List, snapshot: &Snapshot, width: usize, theme: Theme) -> Line<'static> {
    let titles = List::ALL.map(|list| list.title(snapshot));
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    subtabs::line(&titles, &list.title(snapshot), None, width, theme)
}

/// Source and name.
type Key = (Arc<str>, Arc<str>);

const SKILLS: [Column; 5] = [
    Column::words("SKILL", 16, 0),
    Column::number("TOOLS", 5, 1),
    Column::number("PROMPT", 8, 3),
    Column::words("SOURCE", 10, 4),
    Column::words("DEFINED AT", 30, 2),
];

const TOOLSETS: [Column; 4] = [
    Column::words("TOOLSET", 16, 0),
    Column::number("TOOLS", 5, 1),
    Column::words("SOURCE", 10, 3),
    Column::words("DEFINED AT", 30, 2),
];

/// The list of skills or of toolsets, and what the selected one says.
#[derive(Debug, Default)]
pub(super) struct Shelves {
    list: List,
    /// Shelf and number in it.
    rows: Vec<(usize, usize)>,
    roster: Roster<Key>,
    filter: String,
    /// What `rows` was worked out from.
    seen: Arc<[Arc<Shelf>]>,
    reader: Reader,
    lines: Vec<Line<'static>>,
    /// What `lines` tells of.
    told: Option<(Key, Arc<Shelf>)>,
}

/// The row that is selected.
enum Selected<'s> {
    Skill(&'s Shelf, &'s SkillRow),
    Toolset(&'s Shelf, &'s ToolsetRow),
}

impl Shelves {
    /// Takes over which list is shown, what came, and the room there is.
    pub(super) fn refresh(&mut self, list: List, shared: &Shared, rows: u16, evidence: Rect) {
        let shelves = &shared.snapshot().shelves;
        let is_same = self.list == list
            && self.seen.len() == shelves.len()
            && self
                .seen
                .iter()
                .zip(shelves.iter())
                .all(|(a, b)| Arc::ptr_eq(a, b));
        if !is_same {
            self.list = list;
            self.seen = Arc::clone(shelves);
            self.sift();
        }
        self.roster.settle(usize::from(rows));
        let theme = shared.theme;
        let told = self.roster.selected().cloned().and_then(|key| {
            let (shelf, _) = self.rows.get(self.roster.position())?;
            Some((key, Arc::clone(self.seen.get(*shelf)?)))
        });
        let fresh = match (&told, &self.told) {
            (Some((a, x)), Some((b, y))) => a != b || !Arc::ptr_eq(x, y) || !is_same,
            (None, None) => false,
            _ => true,
        };
        if fresh {
            self.lines = match self.selected() {
                Some(Selected::Skill(shelf, skill)) => about_skill(shelf, skill, theme),
                Some(Selected::Toolset(shelf, set)) => about_toolset(shelf, set, theme),
                None => Vec::new(),
            };
            self.reader = Reader::wrapping();
            self.told = told;
        }
        self.reader.settle(&self.lines, evidence, theme);
    }

    fn sift(&mut self) {
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let holds = |texts: [&str; 3]| {
            let whole = texts.join(" ").to_lowercase();
            words.iter().all(|word| whole.contains(word))
        };
        let mut rows = Vec::new();
        let mut keys: Vec<Key> = Vec::new();
        for (at, shelf) in self.seen.iter().enumerate() {
            let names: Vec<(&Arc<str>, &str)> = match self.list {
                List::Toolsets => shelf
                    .toolsets
                    .iter()
                    .map(|set| (&set.name, set.description.as_str()))
                    .collect(),
                _ => shelf
                    .skills
                    .iter()
                    .map(|skill| (&skill.name, skill.description.as_str()))
                    .collect(),
            };
            for (number, (name, description)) in names.into_iter().enumerate() {
                if holds([name, description, &shelf.source]) {
                    rows.push((at, number));
                    keys.push((Arc::clone(&shelf.source), Arc::clone(name)));
                }
            }
        }
        self.rows = rows;
        self.roster.set_keys(keys);
    }

    fn selected(&self) -> Option<Selected<'_>> {
        let (shelf, number) = self.rows.get(self.roster.position())?;
        let shelf = self.seen.get(*shelf)?;
        match self.list {
            List::Toolsets => Some(Selected::Toolset(shelf, shelf.toolsets.get(*number)?)),
            _ => Some(Selected::Skill(shelf, shelf.skills.get(*number)?)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn roster(&mut self) -> &mut Roster<Key> {
        &mut self.roster
    }

    pub(super) fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// The search of the text.
    pub(super) fn search(&self) -> &str {
        self.reader.search()
    }

    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    pub(super) fn set_filter(&mut self, text: &str) {
        if self.filter != text {
            text.clone_into(&mut self.filter);
            self.sift();
        }
    }

    /// The owner whose log lines belong to the selected one.
    pub(super) fn owner(&self) -> Option<Arc<str>> {
        let (source, _) = self.roster.selected()?;
        Some(Arc::clone(source))
    }

    /// What `y` copies: the name, or of an open skill its prompt.
    pub(super) fn copied(&self, inside: bool) -> Option<(String, String)> {
        match self.selected()? {
            Selected::Skill(_, skill) => match &skill.append {
                Some(append) if inside => {
                    Some((format!("the prompt of {}", skill.name), append.clone()))
                }
                _ => Some(("the name".into(), skill.name.to_string())),
            },
            Selected::Toolset(_, set) => Some(("the name".into(), set.name.to_string())),
        }
    }

    /// The title of the evidence.
    pub(super) fn title(&self, theme: Theme) -> String {
        match self.roster.selected() {
            Some((_, name)) => one(name, theme),
            None if self.list == List::Toolsets => "no toolset".to_owned(),
            None => "no skill".to_owned(),
        }
    }

    pub(super) fn view_list(&self, focused: bool, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
        let (columns, empty): (&[Column], _) = match (self.list, self.filter.is_empty()) {
            (_, false) => (&SKILLS, "Nothing fits the filter. esc takes it away."),
            (List::Toolsets, true) => (
                &TOOLSETS,
                "The files define no toolset. A file that ends in .toolset.yaml names tools of \
                 the skills beside it: `name: …` and `tools: [ … ]`.",
            ),
            (_, true) => (
                &SKILLS,
                "The files define no skill. A file that ends in .skill.yaml brings one.",
            ),
        };
        let columns = match self.list {
            List::Toolsets => &TOOLSETS,
            _ => columns,
        };
        let table = Table {
            columns,
            sorted: None,
            empty,
            rows: self.rows.len(),
            window: self.roster.window(),
            selected: Some((self.roster.position(), focused)),
        };
        table.view(theme, frame, area, |number, _| {
            let (shelf, at) = self.rows.get(number)?;
            let shelf = self.seen.get(*shelf)?;
            match self.list {
                List::Toolsets => Some(toolset_cells(shelf, shelf.toolsets.get(*at)?, theme)),
                _ => Some(skill_cells(shelf, shelf.skills.get(*at)?, theme)),
            }
        });
    }

    pub(super) fn view_evidence(&self, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
        self.reader.view(&self.lines, theme, frame, area);
    }

    /// Where in its text the evidence stands.
    pub(super) fn place(&self) -> Option<String> {
        self.reader.place()
    }
}

fn one(text: &str, theme: Theme) -> String {
    clean(text, Lines::One, theme.marks).into_owned()
}

fn skill_cells(shelf: &Shelf, skill: &SkillRow, theme: Theme) -> Vec<(String, Style)> {
    let prompt = match &skill.append {
        Some(append) => figures::bytes(append.len() as u64),
        None => theme.none().to_owned(),
    };
    vec![
        (one(&skill.name, theme), theme.strong()),
        (figures::count(skill.tools.len() as u64), theme.text()),
        (prompt, theme.text()),
        (one(&shelf.source, theme), theme.text()),
        (one(&skill.defined_at, theme), theme.dim()),
    ]
}

fn toolset_cells(shelf: &Shelf, set: &ToolsetRow, theme: Theme) -> Vec<(String, Style)> {
    vec![
        (one(&set.name, theme), theme.strong()),
        (figures::count(set.tools.len() as u64), theme.text()),
        (one(&shelf.source, theme), theme.text()),
        (one(&set.defined_at, theme), theme.dim()),
    ]
}

fn fact(label: &str, value: &str, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{label:<12}"), theme.dim()),
        Span::raw(one(value, theme)),
    ])
}

fn heading(words: String, theme: Theme) -> [Line<'static>; 2] {
    [Line::default(), Line::styled(words, theme.title())]
}

fn described(description: &str, theme: Theme) -> Line<'static> {
    match description.trim() {
        "" => Line::styled("no description", theme.dim()),
        words => Line::styled(one(words, theme), theme.strong()),
    }
}

fn about_skill(shelf: &Shelf, skill: &SkillRow, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![described(&skill.description, theme), Line::default()];
    lines.push(fact("defined at", &skill.defined_at, theme));
    if let Some(version) = &skill.version {
        lines.push(fact("version", version, theme));
    }
    lines.push(fact("source", &shelf.source, theme));
    lines.push(fact("directory", &shelf.dir, theme));
    let variables = match &skill.required_env {
        Some(names) if names.is_empty() => "none may be read".to_owned(),
        Some(names) => format!("only {}; each has to be set", names.join(", ")),
        None => "those that its templates mention".to_owned(),
    };
    lines.push(fact("variables", &variables, theme));
    for (name, default) in &skill.parameters {
        let value = match default.as_str() {
            "" => format!("{name}: asked for, it has no default"),
            default => format!("{name} = {default}"),
        };
        lines.push(fact("parameter", &value, theme));
    }
    for (tool, pattern, store) in &skill.extract {
        let rule = format!("after {tool}, `{pattern}` sets {store}");
        lines.push(fact("extract", &rule, theme));
    }
    lines.extend(heading(format!("Tools {}", skill.tools.len()), theme));
    if skill.tools.is_empty() {
        lines.push(Line::styled(
            "none: the skill is its prompt alone",
            theme.dim(),
        ));
    }
    for tool in &skill.tools {
        lines.extend(tool_lines(tool, theme));
    }
    let size = skill.append.as_ref().map_or(0, String::len);
    let title = match size {
        0 => "Added to the system prompt: nothing".to_owned(),
        size => format!(
            "Added to the system prompt: {}",
            figures::bytes(size as u64)
        ),
    };
    lines.extend(heading(title, theme));
    if let Some(append) = &skill.append {
        let end = append
            .char_indices()
            .nth(PROMPT)
            .map_or(append.len(), |(at, _)| at);
        let text = clean(&append[..end], Lines::Many, theme.marks);
        lines.extend(text.lines().map(|line| Line::raw(line.to_owned())));
        if end < append.len() {
            lines.push(Line::styled("and more: y copies all of it", theme.dim()));
        }
    }
    lines
}

/// A tool in two lines: name and place, and what it sends.
fn tool_lines(tool: &FileToolRow, theme: Theme) -> [Line<'static>; 2] {
    let mut first = vec![
        Span::styled(one(&tool.name, theme), theme.strong()),
        Span::styled(format!("  {}  ", tool.kind), theme.dim()),
        Span::styled(one(&tool.defined_at, theme), theme.dim()),
    ];
    if !tool.brought {
        let mark = theme.mark(Health::Off);
        first.push(Span::styled(
            format!("  {mark} not chosen by the deployment"),
            theme.health(Health::Off),
        ));
    }
    let sent = tool.request.lines().next().unwrap_or_default();
    [
        Line::from(first),
        Line::styled(format!("  {}", one(sent, theme)), theme.dim()),
    ]
}

fn about_toolset(shelf: &Shelf, set: &ToolsetRow, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![described(&set.description, theme), Line::default()];
    lines.push(fact("defined at", &set.defined_at, theme));
    lines.push(fact("source", &shelf.source, theme));
    lines.extend(heading(
        format!("Tools {}, in this order", set.tools.len()),
        theme,
    ));
    for name in &set.tools {
        if let Some((skill, tool)) = shelf.tool(name) {
            let [mut first, second] = tool_lines(tool, theme);
            let of = format!("  of {}", one(&skill.name, theme));
            first.spans.insert(1, Span::styled(of, theme.dim()));
            lines.extend([first, second]);
        }
    }
    lines
}

/// What the files say of a tool: its request with placeholders, and how it is called. `None` for
/// tools that come from elsewhere.
pub(super) fn request(name: &str, source: &str, shared: &Shared) -> Option<Vec<Line<'static>>> {
    let theme = shared.theme;
    let shelves = &shared.snapshot().shelves;
    let shelf = shelves.iter().find(|shelf| *shelf.source == *source)?;
    let (skill, tool) = shelf.tool(name)?;
    let mut lines = vec![
        fact("skill", &skill.name, theme),
        fact("defined at", &tool.defined_at, theme),
    ];
    let sets: Vec<&str> = shelf
        .toolsets
        .iter()
        .filter(|set| set.tools.iter().any(|listed| **listed == *tool.name))
        .map(|set| &*set.name)
        .collect();
    if !sets.is_empty() {
        lines.push(fact("toolsets", &sets.join(", "), theme));
    }
    if tool.kind == "http" {
        let retry = match tool.retry {
            Some(retry) => format!(
                "{} attempts in all, pauses from {:?} to {:?}",
                retry.max_attempts, retry.base_delay, retry.max_delay
            ),
            None => "none, but a rate limit is waited for once".to_owned(),
        };
        lines.push(fact("retry", &retry, theme));
        let bound = format!("{:?} for each attempt", tool.timeout);
        lines.push(fact("timeout", &bound, theme));
    }
    let repeats = match tool.max_repeats {
        Some(-1) => "any number of times".to_owned(),
        Some(count @ 2..) => format!("{count} times in a session, then replayed"),
        None if tool.hints.read_only == Some(true) => "any number of times: it reads only".into(),
        _ => "once in a session, then replayed".to_owned(),
    };
    lines.push(fact("same call", &repeats, theme));
    if let Some(file) = &tool.output_file {
        lines.push(fact("written to", file, theme));
    }
    lines.extend(heading("As the file has it".to_owned(), theme));
    let text = clean(&tool.request, Lines::Many, theme.marks);
    lines.extend(text.lines().map(|line| Line::raw(line.to_owned())));
    lines.push(Line::default());
    lines.push(Line::styled(
        "c opens the form, which shows what a call would send",
        theme.dim(),
    ));
    Some(lines)
}
