//! What changed between two rounds: what is sent, what is withheld, what is pooled. Pure.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratatui::text::{Line, Span};
use toolcrib::discovery::Why;
use toolcrib::discovery::session::RoundRecord;

use crate::console::theme::{Health, Theme};
use crate::text;

/// Where something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Sent,
    Withheld,
    Pool,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) place: Place,
    pub(super) name: Arc<str>,
    /// What it was before; `None` for what was not there.
    pub(super) before: Option<String>,
    /// What it is; `None` for what is not there any more.
    pub(super) after: Option<String>,
}

/// Every difference: in the order of the later round, and what is gone behind that.
pub(super) fn between(before: &RoundRecord, after: &RoundRecord) -> Vec<Difference> {
    let mut all = compare(Place::Sent, &sent(before), &sent(after));
    all.extend(compare(
        Place::Withheld,
        &withheld(before),
        &withheld(after),
    ));
    all.extend(compare(Place::Pool, &pool(before), &pool(after)));
    all
}

type Facts = Vec<(Arc<str>, String)>;

fn sent(record: &RoundRecord) -> Facts {
    let words = |why: Why, bytes: usize| format!("{}, {bytes} bytes", why.as_str());
    let sent = record.visible.sent.iter();
    sent.map(|sent| (sent.definition.shared_name(), words(sent.why, sent.bytes())))
        .collect()
}

fn withheld(record: &RoundRecord) -> Facts {
    let withheld = record.visible.withheld.iter();
    withheld
        .map(|tool| {
            let words = format!("{}, {} bytes", tool.reason.as_str(), tool.bytes);
            (Arc::clone(&tool.name), words)
        })
        .collect()
}

/// When an entry was last used is no difference: it would be one with every call.
fn pool(record: &RoundRecord) -> Facts {
    let entries = record.pool.entries.iter();
    entries
        .map(|entry| (Arc::clone(&entry.name), format!("{} bytes", entry.bytes)))
        .collect()
}

fn compare(place: Place, before: &Facts, after: &Facts) -> Vec<Difference> {
    let was: HashMap<&str, &str> = before
        .iter()
        .map(|(name, words)| (&**name, words.as_str()))
        .collect();
    let is: HashSet<&str> = after.iter().map(|(name, _)| &**name).collect();
    let changed = after.iter().filter_map(|(name, words)| {
        let known = was.get(&**name);
        (known != Some(&words.as_str())).then(|| Difference {
            place,
            name: Arc::clone(name),
            before: known.map(|words| (*words).to_owned()),
            after: Some(words.clone()),
        })
    });
    let gone = before.iter().filter(|(name, _)| !is.contains(&**name));
    let gone = gone.map(|(name, words)| Difference {
        place,
        name: Arc::clone(name),
        before: Some(words.clone()),
        after: None,
    });
    changed.chain(gone).collect()
}

/// One difference on a line.
pub(super) fn line(difference: &Difference, room: usize, theme: Theme) -> Line<'static> {
    let (sign, style, words) = match (&difference.before, &difference.after) {
        (None, Some(after)) => ("+", theme.health(Health::Good), after.clone()),
        (Some(before), None) => (
            theme.pick("−", "-"),
            theme.health(Health::Bad),
            format!("was {before}"),
        ),
        (before, after) => {
            let of = |words: &Option<String>| words.clone().unwrap_or_default();
            let arrow = theme.pick("→", "->");
            (
                "~",
                theme.health(Health::Warning),
                format!("{} {arrow} {}", of(before), of(after)),
            )
        }
    };
    let place = match difference.place {
        Place::Sent => "sent",
        Place::Withheld => "withheld",
        Place::Pool => "pool",
    };
    let name = text::clean_name(&difference.name, theme.marks);
    let cells = room.saturating_sub(12).min(28);
    Line::from(vec![
        Span::styled(format!("{sign} "), style),
        Span::styled(format!("{place:<9} "), theme.dim()),
        Span::styled(text::fit(&name, cells, theme.marks), theme.strong()),
        Span::raw(" "),
        Span::raw(words),
    ])
}
