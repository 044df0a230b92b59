//! Values by name, in the order of the names, in a table that is cheap to share and cheap to change
//! while it is shared: it is cut into short runs, and a change copies one of them and the list of
//! them, never the whole. Snapshots hold a table while calls go on changing it. Pure.

use std::ops::Index;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// Most names of a run; a fuller one is halved.
const RUN: usize = 64;

type Run<V> = Vec<(Arc<str>, V)>;

/// Values by name. A clone shares everything with its original until one of them is changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<V> {
    /// The runs in order, none of them empty.
    runs: Arc<Vec<Arc<Run<V>>>>,
    len: usize,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self {
            runs: Arc::default(),
            len: 0,
        }
    }
}

impl<V> Table<V> {
    /// How many names it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &V)> {
        let entries = self.runs.iter().flat_map(|run| run.iter());
        entries.map(|(name, value)| (name, value))
    }

    /// The names in order.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.iter().map(|(name, _)| name)
    }

    /// The values in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&V> {
        let (run, at) = self.find(name).ok()?;
        let (_, value) = self.runs.get(run)?.get(at)?;
        Some(value)
    }

    /// Whether it has a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Whether both are one and the same, neither changed since one was cloned of the other. Says no
    /// of equal tables that are not.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.runs, &other.runs)
    }

    /// Run and place of a name, or where it would stand.
    fn find(&self, name: &str) -> Result<(usize, usize), (usize, usize)> {
        // The run that begins behind the name is the first that cannot hold it.
        let behind = self.runs.partition_point(|run| {
            let first = run.first();
            first.is_some_and(|(first, _)| **first <= *name)
        });
        let run = behind.saturating_sub(1);
        let Some(entries) = self.runs.get(run) else {
            return Err((0, 0));
        };
        match entries.binary_search_by(|(known, _)| (**known).cmp(name)) {
            Ok(at) => Ok((run, at)),
            Err(at) => Err((run, at)),
        }
    }
}

impl<V: Clone> Table<V> {
    /// Changes the value of a name, which is `V::default()` where the name is new.
    pub fn edit(&mut self, name: &Arc<str>, edit: impl FnOnce(&mut V))
    where
        V: Default,
    {
        let found = self.find(name);
        let runs = Arc::make_mut(&mut self.runs);
        let (run, at) = match found {
            Ok(place) => place,
            Err((run, at)) => {
                if runs.is_empty() {
                    runs.push(Arc::default());
                }
                let Some(entries) = runs.get_mut(run) else {
                    return;
                };
                Arc::make_mut(entries).insert(at, (Arc::clone(name), V::default()));
                self.len += 1;
                (run, at)
            }
        };
        let Some(shared) = runs.get_mut(run) else {
            return;
        };
        let entries = Arc::make_mut(shared);
        if let Some((_, value)) = entries.get_mut(at) {
            edit(value);
        }
        if entries.len() > RUN {
            let rest = entries.split_off(RUN / 2);
            runs.insert(run + 1, Arc::new(rest));
        }
    }

    /// Forgets the names of which `keep` says no.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        if self.keys().all(|name| keep(name)) {
            return;
        }
        let kept = self.iter().filter(|(name, _)| keep(name));
        *self = kept
            .map(|(name, value)| (Arc::clone(name), value.clone()))
            .collect();
    }
}

impl<V> FromIterator<(Arc<str>, V)> for Table<V> {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, V)>>(entries: I) -> Self {
        // Of equal names the last one counts.
        let entries: std::collections::BTreeMap<_, _> = entries.into_iter().collect();
        let len = entries.len();
        let mut entries = entries.into_iter().peekable();
        let mut runs = Vec::new();
        while entries.peek().is_some() {
            runs.push(Arc::new(entries.by_ref().take(RUN / 2).collect()));
        }
        Self {
            runs: Arc::new(runs),
            len,
        }
    }
}

impl<V> Index<&str> for Table<V> {
    type Output = V;

    /// The value of a name that is known to be there.
    #[expect(clippy::panic, reason = "as for any index")]
    fn index(&self, name: &str) -> &V {
        match self.get(name) {
            Some(value) => value,
            None => panic!("no value of `{name}`"),
        }
    }
}

impl<V: Serialize> Serialize for Table<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn entries(table: &Table<u32>) -> Vec<(String, u32)> {
        let entries = table.iter();
        entries
            .map(|(name, value)| (name.to_string(), *value))
            .collect()
    }

    proptest! {
        #[test]
        fn it_holds_what_an_ordered_map_holds_and_a_clone_stays_as_it_was(
            changes in prop::collection::vec((0_u16..400, 0_u8..10), 0..900),
        ) {
            let mut table = Table::default();
            let mut map: BTreeMap<Arc<str>, u32> = BTreeMap::new();
            let mut kept = Vec::new();
            for (name, what) in changes {
                let name: Arc<str> = format!("n{name}").into();
                match what {
                    0 => kept.push((table.clone(), map.clone())),
                    1 => {
                        table.retain(|known| *known != *name);
                        map.remove(&name);
                    }
                    _ => {
                        table.edit(&name, |value| *value += 1);
                        *map.entry(name).or_default() += 1;
                    }
                }
            }
            kept.push((table, map));
            for (table, map) in kept {
                let expected: Vec<_> = map.iter().map(|(name, value)| (name.to_string(), *value)).collect();
                prop_assert_eq!(entries(&table), expected);
                prop_assert_eq!(table.len(), map.len());
                prop_assert!(table.runs.iter().all(|run| !run.is_empty() && run.len() <= RUN));
                for number in 0..400 {
                    let name = format!("n{number}");
                    prop_assert_eq!(table.get(&name), map.get(&*name));
                }
                prop_assert_eq!(&map.into_iter().collect::<Table<_>>().iter().count(), &table.len());
            }
        }
    }

    #[test]
    fn a_change_copies_one_run_and_shares_the_rest() {
        let names = (0..10_000).map(|number| (format!("t{number}").into(), 0_u32));
        let mut table: Table<u32> = names.collect();
        let before = table.clone();
        assert!(table.is(&before));
        table.edit(&"t4711".into(), |value| *value = 1);
        assert!(!table.is(&before));
        let shared = std::iter::zip(&*table.runs, &*before.runs);
        let copied = shared.filter(|(now, then)| !Arc::ptr_eq(now, then));
        assert_eq!(copied.count(), 1);
        assert_eq!((table["t4711"], before["t4711"]), (1, 0));
        assert_eq!(
            serde_json::to_value(&table).unwrap()["t4711"],
            serde_json::json!(1)
        );
    }
}
