//! The pane that explains a search while it is typed: what would be found now, what each word added
//! through which field, and what came just below the limit.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use toolcrib::discovery::search::{
    Document, Explained, Index, IndexChange, MatchKind, Ranker as _, tokens,
};
use toolcrib::discovery::{Exposures, Mode, TOOL_SEARCH};
use toolcrib::session::SessionKind;

use super::lens::{Lens, Sight};
use super::prose::{Item, Prose};
use super::why::exposures;
use crate::console::input::Input;
use crate::console::keymap::{Action, Press};
use crate::console::screens::Copied;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{self, Lines};

/// How many hits a search lists unless it was made with another limit.
const LIMIT: usize = toolcrib::discovery::tool_search::DEFAULT_LIMIT;

/// How many hits below the limit are shown.
const NEAR: usize = 4;

/// The largest catalog of a scenario's stage that is indexed here and now.
const STAGE: usize = 2_000;

/// What the hits were made for.
#[derive(Debug)]
struct Made {
    query: String,
    index: Arc<Index>,
    exposures: Arc<Exposures>,
    area: Rect,
    typing: bool,
}

/// The pane.
#[derive(Debug)]
pub(super) struct Explain {
    input: Input,
    typing: bool,
    /// How many hits are asked for.
    asked: usize,
    /// How many are listed: no more than the pool holds (rule 7.1).
    limit: usize,
    /// What the recorded search listed, if the pane began with one.
    recorded: Option<(String, Vec<Arc<str>>)>,
    /// The index of a scenario's stage, and what it holds.
    stage: Option<(Arc<Exposures>, Arc<Index>)>,
    made: Option<Made>,
    hits: Vec<Explained>,
    prose: Prose,
}

impl Explain {
    /// Begins with the selected search, or with an empty query.
    pub(super) fn new(sight: &Sight<'_>) -> Self {
        let answer = sight.search.and_then(|(round, at)| {
            let record = sight.row.round_at(round)?;
            record.searches.get(at)
        });
        let query = answer.map_or("", |answer| &*answer.query);
        let asked = answer.map_or(LIMIT, |answer| answer.asked.clamp(1, 64));
        Self {
            input: Input::with(query),
            typing: answer.is_none(),
            asked,
            limit: asked,
            recorded: answer.map(|answer| (query.to_owned(), answer.ranked.clone())),
            stage: None,
            made: None,
            hits: Vec::new(),
            prose: Prose::default(),
        }
    }

    /// The index that the session is searched with; `None` where it would take too long to make.
    fn index(&mut self, sight: &Sight<'_>) -> Option<Arc<Index>> {
        if sight.row.kind != SessionKind::Scenario {
            return Some(Arc::clone(&sight.shared.snapshot().view.index));
        }
        let exposures = exposures(sight.row, sight.shared);
        if let Some((holds, index)) = &self.stage
            && Arc::ptr_eq(holds, &exposures)
        {
            return Some(Arc::clone(index));
        }
        if exposures.tools().count() > STAGE {
            return None;
        }
        let mut index = Index::default();
        IndexChange::between(&Exposures::default(), &exposures).apply(&mut index);
        let index = Arc::new(index);
        self.stage = Some((exposures, Arc::clone(&index)));
        Some(index)
    }

    fn items(&self, exposures: &Exposures, shared: &Shared) -> Vec<Item> {
        let theme = shared.theme;
        let mut items = Vec::new();
        if let Some(warning) = self.exact_name_that_is_not_first() {
            let mark = format!("{} ", theme.mark(Health::Warning));
            let mark = Span::styled(mark, theme.health(Health::Warning));
            items.push(Item::new(vec![mark], warning, theme.strong()));
        }
        if let Some(words) = unsearchable(self.input.text(), exposures) {
            let words = text::clean(&words, Lines::One, theme.marks).into_owned();
            items.push(Item::plain(words, theme.strong()));
        }
        if self.hits.is_empty() {
            let words = nothing_found(self.input.text());
            let words = text::clean(&words, Lines::One, theme.marks).into_owned();
            items.push(Item::plain(words, theme.dim()));
        }
        for (place, hit) in self.hits.iter().enumerate() {
            if place == self.limit {
                let words = format!("below the limit of {}", self.limit);
                items.push(Item::plain(words, theme.title()));
            }
            items.extend(self.hit(place, hit, shared));
        }
        if !self.typing {
            items.push(Item::plain("enter edits the query", theme.dim()));
        }
        items
    }

    fn hit(&self, place: usize, hit: &Explained, shared: &Shared) -> [Item; 2] {
        let theme = shared.theme;
        let name = text::clean_name(&hit.name, theme.marks).into_owned();
        let number = Span::styled(format!("{:>2} ", place + 1), theme.dim());
        let score = Span::styled(format!("{:>6.2}  ", hit.score), theme.strong());
        let was = match &self.recorded {
            Some((query, ranked)) if *query == self.input.text() => {
                match ranked.iter().position(|name| **name == *hit.name) {
                    Some(then) if then == place => String::new(),
                    Some(then) => format!("  (place {} then)", then + 1),
                    None if place < self.limit => "  (not listed then)".to_owned(),
                    None => String::new(),
                }
            }
            _ => String::new(),
        };
        let style = match place < self.limit {
            true => theme.text(),
            false => theme.dim(),
        };
        let title = Item::new(vec![number, score], format!("{name}{was}"), style);
        let parts: Vec<String> = hit
            .matches
            .iter()
            .map(|one| {
                let kind = match one.kind {
                    MatchKind::Exact => "",
                    MatchKind::Prefix => " (start)",
                    MatchKind::Synonym => " (synonym)",
                };
                let word = text::clean(&one.word, Lines::One, theme.marks);
                format!("{word} in {} {:.2}{kind}", one.field.as_str(), one.score)
            })
            .collect();
        let dot = theme.pick(" · ", ", ");
        let parts = Item::new(
            vec![Span::raw(" ".repeat(11))],
            parts.join(dot),
            theme.dim(),
        );
        [title, parts]
    }

    /// Who asks for a tool by its name should get it first.
    fn exact_name_that_is_not_first(&self) -> Option<String> {
        let typed = folded(self.input.text());
        if typed.is_empty() {
            return None;
        }
        let is_exact = |hit: &Explained| {
            let rest = hit.name.split_once("__").map(|(_, rest)| rest);
            folded(&hit.name) == typed || rest.is_some_and(|rest| folded(rest) == typed)
        };
        if self.hits.first().is_none_or(is_exact) {
            return None;
        }
        let place = self.hits.iter().position(is_exact)?;
        let (first, exact) = (&self.hits[0].name, &self.hits[place].name);
        Some(format!(
            "{} has exactly this name, but is at place {}, behind {}",
            text::one_line(exact),
            place + 1,
            text::one_line(first)
        ))
    }
}

/// What is said of a tool of exactly this name that no search finds.
fn unsearchable(query: &str, exposures: &Exposures) -> Option<String> {
    let name = query.trim();
    let tool = exposures.get(name)?;
    match tool.mode {
        Mode::Hidden => Some(format!(
            "`{name}` exists, but is hidden: tool_search does not find it"
        )),
        Mode::Always => Some(format!(
            "`{name}` exists and is sent always: tool_search does not find it"
        )),
        Mode::Direct | Mode::Deferred => None,
    }
}

/// Why there is no hit.
fn nothing_found(query: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    tokens(query, &mut |word| {
        if words.iter().all(|known| known != word) {
            words.push(word.to_owned());
        }
    });
    let (searched, mute): (Vec<_>, Vec<_>) = words.iter().partition(|word| is_searched(word));
    let mute = match mute.as_slice() {
        [] => String::new(),
        [one] => format!("`{one}` says nothing and is not searched"),
        many => {
            let many: Vec<&str> = many.iter().map(|word| word.as_str()).collect();
            format!("`{}` say nothing and are not searched", many.join("`, `"))
        }
    };
    let nothing = "No tool has any of these words, nor one that begins with them";
    match (
        query.trim().is_empty(),
        searched.is_empty(),
        mute.is_empty(),
    ) {
        (true, ..) => "Type what a model would ask for: a verb and an object.".to_owned(),
        (_, true, true) => "There is no word in this to search for.".to_owned(),
        (_, true, false) => format!("{mute}."),
        (_, false, true) => format!("{nothing}."),
        (_, false, false) => format!("{nothing}; {mute}."),
    }
}

/// Whether a word counts: a search for it alone finds a text that is this word alone.
fn is_searched(word: &str) -> bool {
    let mut index = Index::default();
    let schema = serde_json::Value::Null;
    index.update(
        [],
        [Document {
            name: "probe",
            server: None,
            title: None,
            description: word,
            schema: &schema,
        }],
    );
    !index.rank(word, 1, &|_| true).is_empty()
}

/// Letters and digits alone, small.
fn folded(text: &str) -> String {
    let chars = text.chars().filter(|char| char.is_alphanumeric());
    chars.flat_map(char::to_lowercase).collect()
}

impl Lens for Explain {
    fn title(&self) -> String {
        match self.hits.len().min(self.limit) {
            1 => "Explain a search, 1 hit".to_owned(),
            hits => format!("Explain a search, {hits} hits"),
        }
    }

    fn refresh(&mut self, sight: &Sight<'_>, area: Rect) {
        let below = Rect {
            y: area.y.saturating_add(1),
            height: area.height.saturating_sub(1),
            ..area
        };
        let Some(index) = self.index(sight) else {
            let words = "The stage of this scenario has too many tools to be searched here.";
            let style = sight.shared.theme.dim();
            self.prose.set(&[Item::plain(words, style)], below);
            return;
        };
        let exposures = exposures(sight.row, sight.shared);
        let query = self.input.text();
        let same = self.made.as_ref().is_some_and(|made| {
            made.query == query
                && Arc::ptr_eq(&made.index, &index)
                && Arc::ptr_eq(&made.exposures, &exposures)
                && made.area == area
                && made.typing == self.typing
        });
        if same {
            return;
        }
        if self.made.as_ref().is_none_or(|made| made.query != query) {
            self.prose.rewind();
        }
        let pool = exposures.settings().map(|now| now.discovery.max_tools);
        self.limit = self.asked.min(pool.unwrap_or(usize::MAX));
        let most = self.limit + NEAR;
        self.hits = index.rank_explained(query, most, &|name| name != TOOL_SEARCH);
        let items = self.items(&exposures, sight.shared);
        self.made = Some(Made {
            query: query.to_owned(),
            index,
            exposures,
            area,
            typing: self.typing,
        });
        self.prose.set(&items, below);
    }

    fn can(&self, action: Action) -> bool {
        action == Action::Open || self.prose.can(action)
    }

    fn act(&mut self, action: Action, _: &mut Shared) {
        match action {
            Action::Open => self.typing = true,
            action => self.prose.travel(action),
        }
    }

    fn view(&self, _: bool, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        if area.is_empty() {
            return;
        }
        let theme = shared.theme;
        let [line, below] = ratatui::layout::Layout::vertical([
            ratatui::layout::Constraint::Length(1),
            ratatui::layout::Constraint::Min(0),
        ])
        .areas(area);
        let prompt = Span::styled("query: ", theme.dim());
        if self.typing {
            frame.render_widget(self.input.line(prompt, theme), line);
        } else {
            let query = text::clean(self.input.text(), Lines::One, theme.marks).into_owned();
            let spans = vec![prompt, Span::styled(query, theme.strong())];
            frame.render_widget(ratatui::text::Line::from(spans), line);
        }
        self.prose.view(frame, below);
    }

    fn takes_keys(&self) -> bool {
        self.typing
    }

    fn key(&mut self, key: KeyEvent, _: &mut Shared) -> bool {
        match Press::of(key) {
            Some(Press::Named(KeyCode::Enter)) => self.typing = false,
            Some(Press::Named(KeyCode::Esc)) => {
                if self.input.text().is_empty() {
                    return false; // nothing to look at: the pane closes
                }
                self.typing = false;
            }
            Some(Press::Named(KeyCode::Down)) => self.prose.travel(Action::Down),
            Some(Press::Named(KeyCode::Up)) => self.prose.travel(Action::Up),
            Some(Press::Named(KeyCode::PageDown)) => self.prose.travel(Action::HalfDown),
            Some(Press::Named(KeyCode::PageUp)) => self.prose.travel(Action::HalfUp),
            _ => return self.input.key(key),
        }
        true
    }

    fn form_keys(&self) -> &[(&'static str, &'static str)] {
        match self.typing {
            true => &[("enter", "done"), ("up down", "scroll"), ("esc", "back")],
            false => &[],
        }
    }

    fn copy(&self, _: &Shared) -> Option<Copied> {
        if self.hits.is_empty() {
            return None;
        }
        let mut text = format!("{}\n", self.input.text());
        for (place, hit) in self.hits.iter().enumerate() {
            text.push_str(&format!("{}\t{:.4}\t{}\n", place + 1, hit.score, hit.name));
            for one in &hit.matches {
                text.push_str(&format!(
                    "\t{:.4}\t{} = {} in {}\n",
                    one.score,
                    one.word,
                    one.term,
                    one.field.as_str()
                ));
            }
        }
        Some(Copied {
            what: "the ranking".to_owned(),
            text,
        })
    }
}
