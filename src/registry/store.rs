//! The write side of the registry.
//!
//! Every owner *offers* tools. An offer that cannot have its name waits as a refusal, and gets the
//! name when the holder takes its own offer back. The lock is held only while maps are edited;
//! tools are closed after it is released.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

use super::{Catalog, CatalogDiff, DefinitionChange, Entry, Owner, Refusal};
use crate::tool::SharedTool;

/// How many diffs a slow subscriber may fall behind; past that it is told how many it missed.
const DIFFS: usize = 256;

/// A tool that could not be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot close `{tool}` of {owner}: {reason}")]
pub struct CloseFailure {
    /// The tool.
    pub tool: Arc<str>,
    /// Whose it is.
    pub owner: Owner,
    /// The cause in words.
    pub reason: String,
}

/// The registry of one assembly.
pub struct Registry {
    state: Mutex<State>,
    catalog: watch::Sender<Arc<Catalog>>,
    diffs: broadcast::Sender<Arc<CatalogDiff>>,
}

#[derive(Default)]
struct State {
    /// Per name all offers; the holder is the first of the list.
    offers: BTreeMap<Arc<str>, Vec<Arc<Entry>>>,
    /// Hash at first sight, kept when a tool comes and goes.
    first_seen: HashMap<(Owner, Arc<str>), Arc<str>>,
    settled: bool,
    closed: bool,
    next_sequence: u64,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            catalog: watch::Sender::new(Arc::default()),
            diffs: broadcast::Sender::new(DIFFS),
        }
    }

    /// The newest version.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.borrow())
    }

    /// Follows the versions; only the newest counts.
    pub fn watch(&self) -> watch::Receiver<Arc<Catalog>> {
        self.catalog.subscribe()
    }

    /// Follows the differences.
    pub fn diffs(&self) -> broadcast::Receiver<Arc<CatalogDiff>> {
        self.diffs.subscribe()
    }

    /// From now on a name stays with its holder, whoever comes (rule 2.1).
    pub fn settle(&self) {
        self.state.lock().settled = true;
    }

    /// Replaces everything that `owner` offers by `tools`. Of two tools with one name the first
    /// counts. After [`Registry::close`] nothing is registered and the tools are closed.
    pub async fn publish(
        &self,
        owner: &Owner,
        tools: Vec<SharedTool>,
    ) -> (Arc<CatalogDiff>, Vec<CloseFailure>) {
        self.publish_groups(owner, vec![(owner.clone(), tools)])
            .await
    }

    /// As [`Registry::publish`], for several owners at once: readers see one change, which `by`
    /// is named for.
    pub async fn publish_groups(
        &self,
        by: &Owner,
        groups: Vec<(Owner, Vec<SharedTool>)>,
    ) -> (Arc<CatalogDiff>, Vec<CloseFailure>) {
        self.edit(by, |state, retired| {
            let mut offered: BTreeMap<Owner, BTreeMap<Arc<str>, SharedTool>> = BTreeMap::new();
            for (owner, tools) in groups {
                for tool in tools {
                    let name = tool.definition().shared_name();
                    if offered
                        .get(&owner)
                        .is_some_and(|own| own.contains_key(&name))
                    {
                        retired.push(state.entry(&owner, tool));
                    } else {
                        offered.entry(owner.clone()).or_default().insert(name, tool);
                    }
                }
                offered.entry(owner).or_default();
            }
            state.withdraw(
                |owner, name| {
                    offered
                        .get(owner)
                        .is_some_and(|own| !own.contains_key(name))
                },
                retired,
            );
            for (owner, tools) in offered {
                for tool in tools.into_values() {
                    state.offer(&owner, tool, retired);
                }
            }
        })
        .await
    }

    /// Adds one tool to what `owner` offers, or replaces its tool of that name.
    pub async fn add(&self, owner: &Owner, tool: SharedTool) -> Arc<CatalogDiff> {
        self.edit(owner, |state, retired| state.offer(owner, tool, retired))
            .await
            .0
    }

    /// Takes back tools of `owner`; names that it does not own are left alone.
    pub async fn remove(
        &self,
        owner: &Owner,
        names: &[&str],
    ) -> (Arc<CatalogDiff>, Vec<CloseFailure>) {
        self.edit(owner, |state, retired| {
            state.withdraw(|of, name| of == owner && names.contains(&name), retired);
        })
        .await
    }

    /// Reads the definition of a tool again, after a lazy one was loaded (rule 1.5).
    pub async fn refresh(&self, name: &str) -> Option<Arc<CatalogDiff>> {
        let entry = self.catalog().get(name).cloned()?;
        Some(self.add(&entry.owner, Arc::clone(&entry.tool)).await)
    }

    /// Closes every tool, the last registered first, and reports every failure. A second call
    /// does nothing.
    pub async fn close(&self) -> Vec<CloseFailure> {
        let mut entries: Vec<Arc<Entry>> = {
            let mut state = self.state.lock();
            if std::mem::replace(&mut state.closed, true) {
                return Vec::new();
            }
            std::mem::take(&mut state.offers)
                .into_values()
                .flatten()
                .collect()
        };
        self.catalog.send_modify(|catalog| {
            *catalog = Arc::new(Catalog {
                version: catalog.version + 1,
                ..Catalog::default()
            });
        });
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.sequence));
        close_all(entries).await
    }

    /// Edits the offers under the lock, publishes a new version if a reader could see a
    /// difference, then closes what was retired.
    async fn edit(
        &self,
        owner: &Owner,
        change: impl FnOnce(&mut State, &mut Vec<Arc<Entry>>),
    ) -> (Arc<CatalogDiff>, Vec<CloseFailure>) {
        let mut retired = Vec::new();
        let diff = {
            let mut state = self.state.lock();
            change(&mut state, &mut retired);
            if state.closed {
                retired.extend(std::mem::take(&mut state.offers).into_values().flatten());
            }
            self.publish_version(&state, owner)
        };
        if !diff.is_empty() {
            // Nobody listening is no error.
            let _ = self.diffs.send(Arc::clone(&diff));
        }
        (diff, close_all(retired).await)
    }

    fn publish_version(&self, state: &State, owner: &Owner) -> Arc<CatalogDiff> {
        let before = self.catalog();
        let (entries, refusals) = state.view();
        let mut diff = CatalogDiff {
            version: before.version + 1,
            owner: owner.clone(),
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            refused: refusals
                .iter()
                .filter(|refusal| !before.refusals.contains(refusal))
                .cloned()
                .collect(),
        };
        for (name, entry) in &entries {
            match before.entries.get(name) {
                None => diff.added.push(Arc::clone(name)),
                Some(old) if Arc::ptr_eq(old, entry) => {}
                Some(old) if old.definition != entry.definition => {
                    diff.changed.push(DefinitionChange {
                        name: Arc::clone(name),
                        before: old.definition.clone(),
                        after: entry.definition.clone(),
                    });
                }
                Some(_) => {}
            }
        }
        diff.removed.extend(
            before
                .entries
                .keys()
                .filter(|name| !entries.contains_key(*name))
                .cloned(),
        );
        let same_tools = entries.len() == before.entries.len()
            && entries
                .iter()
                .all(|(name, entry)| before.get(name).is_some_and(|old| Arc::ptr_eq(old, entry)));
        if !same_tools || *refusals != *before.refusals {
            self.catalog.send_replace(Arc::new(Catalog {
                version: diff.version,
                entries,
                refusals: refusals.into(),
            }));
        } else {
            diff.version = before.version;
        }
        Arc::new(diff)
    }
}

impl State {
    fn entry(&mut self, owner: &Owner, tool: SharedTool) -> Arc<Entry> {
        let definition = tool.definition();
        let hash: Arc<str> = definition.hash().into();
        let key = (owner.clone(), definition.shared_name());
        let unloaded = tool
            .loader()
            .is_some_and(|loader| loader.loaded().is_none());
        let first_hash = if unloaded {
            hash // a placeholder is not what the operator will trust
        } else {
            Arc::clone(self.first_seen.entry(key).or_insert(hash))
        };
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        Arc::new(Entry {
            definition,
            tool,
            owner: owner.clone(),
            first_hash,
            sequence,
        })
    }

    fn offer(&mut self, owner: &Owner, tool: SharedTool, retired: &mut Vec<Arc<Entry>>) {
        let entry = self.entry(owner, tool);
        let settled = self.settled;
        let offers = self
            .offers
            .entry(entry.definition.shared_name())
            .or_default();
        if let Some(own) = offers.iter_mut().find(|other| other.owner == *owner) {
            let same_tool = Arc::ptr_eq(&own.tool, &entry.tool);
            if same_tool && own.definition == entry.definition {
                return;
            }
            let old = std::mem::replace(own, entry);
            if !same_tool {
                retired.push(old);
            }
            return;
        }
        // The holder stands first and is only displaced before everything has settled.
        let from = usize::from(settled).min(offers.len());
        let place = offers[from..]
            .iter()
            .position(|other| other.owner > entry.owner)
            .map_or(offers.len(), |index| from + index);
        offers.insert(place, entry);
    }

    fn withdraw(&mut self, gone: impl Fn(&Owner, &str) -> bool, retired: &mut Vec<Arc<Entry>>) {
        self.offers.retain(|name, offers| {
            retired.extend(offers.extract_if(.., |entry| gone(&entry.owner, name)));
            !offers.is_empty()
        });
    }

    fn view(&self) -> (BTreeMap<Arc<str>, Arc<Entry>>, Vec<Refusal>) {
        let mut entries = BTreeMap::new();
        let mut refusals = Vec::new();
        for (name, offers) in &self.offers {
            let Some((holder, others)) = offers.split_first() else {
                continue;
            };
            entries.insert(Arc::clone(name), Arc::clone(holder));
            refusals.extend(others.iter().map(|other| Refusal {
                name: Arc::clone(name),
                refused: other.owner.clone(),
                holder: holder.owner.clone(),
            }));
        }
        (entries, refusals)
    }
}

async fn close_all(entries: Vec<Arc<Entry>>) -> Vec<CloseFailure> {
    let mut failures = Vec::new();
    for entry in entries {
        if let Err(reason) = entry.tool.close().await {
            failures.push(CloseFailure {
                tool: entry.definition.shared_name(),
                owner: entry.owner.clone(),
                reason,
            });
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::tool::{Definition, Invocation, Tool, ToolResult};

    struct Fixed(Definition, Option<&'static str>, Arc<Mutex<Vec<String>>>);

    impl Tool for Fixed {
        fn definition(&self) -> Definition {
            self.0.clone()
        }
        fn execute(&self, _: Invocation) -> BoxFuture<'_, ToolResult> {
            Box::pin(async { ToolResult::text("") })
        }
        fn close(&self) -> BoxFuture<'_, Result<(), String>> {
            self.2.lock().push(self.0.name().to_owned());
            Box::pin(async { self.1.map_or(Ok(()), |reason| Err(reason.to_owned())) })
        }
    }

    #[derive(Default)]
    struct Bench {
        registry: Registry,
        closed: Arc<Mutex<Vec<String>>>,
    }

    impl Bench {
        fn tool(&self, name: &str, description: &str) -> SharedTool {
            self.failing(name, description, None)
        }
        fn failing(
            &self,
            name: &str,
            description: &str,
            fails: Option<&'static str>,
        ) -> SharedTool {
            let definition = Definition::new(name, description, json!({})).unwrap();
            Arc::new(Fixed(definition, fails, Arc::clone(&self.closed)))
        }
        fn holder(&self, name: &str) -> String {
            self.registry.catalog().get(name).unwrap().owner.to_string()
        }
    }

    fn owner(name: &str, place: u32) -> Owner {
        Owner::source(name, place)
    }

    #[tokio::test]
    async fn before_settling_the_earlier_source_takes_the_name_whatever_the_timing() {
        let bench = Bench::default();
        let (late, early) = (owner("late", 2), owner("early", 1));
        bench
            .registry
            .publish(&late, vec![bench.tool("x", "l")])
            .await;
        let (diff, _) = bench
            .registry
            .publish(&early, vec![bench.tool("x", "e")])
            .await;
        assert_eq!(bench.holder("x"), "early");
        assert_eq!(diff.refused[0].refused, late);
        assert_eq!(
            diff.changed.len(),
            1,
            "the definition behind the name changed"
        );
    }

    #[tokio::test]
    async fn after_settling_the_holder_stays_and_the_newcomer_is_refused_until_the_holder_leaves() {
        let bench = Bench::default();
        let (late, early) = (owner("late", 2), owner("early", 1));
        bench
            .registry
            .publish(&late, vec![bench.tool("x", "l")])
            .await;
        bench.registry.settle();
        bench
            .registry
            .publish(&early, vec![bench.tool("x", "e")])
            .await;
        assert_eq!(bench.holder("x"), "late");
        assert_eq!(
            bench.registry.catalog().refusals()[0].to_string(),
            "conflict: `x` of early is refused, late has that name already"
        );
        bench.registry.publish(&late, vec![]).await;
        assert_eq!(bench.holder("x"), "early");
    }

    #[tokio::test]
    async fn a_source_removes_only_what_it_owns() {
        let bench = Bench::default();
        bench
            .registry
            .publish(&owner("a", 1), vec![bench.tool("x", "")])
            .await;
        let (diff, _) = bench.registry.remove(&owner("b", 2), &["x"]).await;
        assert!(diff.is_empty());
        assert_eq!(bench.registry.catalog().len(), 1);
    }

    #[tokio::test]
    async fn a_changed_description_is_a_diff_and_is_remembered_against_the_first_sight() {
        let bench = Bench::default();
        let a = owner("a", 1);
        bench
            .registry
            .publish(&a, vec![bench.tool("x", "one")])
            .await;
        bench.registry.publish(&a, vec![]).await;
        let (diff, _) = bench
            .registry
            .publish(&a, vec![bench.tool("x", "two")])
            .await;
        assert_eq!(diff.added.len(), 1);
        let entry = Arc::clone(bench.registry.catalog().get("x").unwrap());
        assert!(entry.changed_since_first_seen());
        let (diff, _) = bench
            .registry
            .publish(&a, vec![bench.tool("x", "three")])
            .await;
        assert_eq!(diff.changed[0].what(), ["description"]);
    }

    #[tokio::test]
    async fn publishing_the_same_again_keeps_the_version() {
        let bench = Bench::default();
        let a = owner("a", 1);
        let tool = bench.tool("x", "one");
        bench.registry.publish(&a, vec![Arc::clone(&tool)]).await;
        let version = bench.registry.catalog().version;
        bench.registry.publish(&a, vec![tool]).await;
        assert_eq!(bench.registry.catalog().version, version);
        assert!(bench.closed.lock().is_empty());
    }

    #[tokio::test]
    async fn closing_goes_backwards_reports_every_failure_and_happens_once() {
        let bench = Bench::default();
        let tools = vec![
            bench.failing("a", "", Some("stuck")),
            bench.tool("b", ""),
            bench.failing("c", "", Some("broken")),
        ];
        bench.registry.publish(&owner("s", 1), tools).await;
        let failures = bench.registry.close().await;
        assert_eq!(*bench.closed.lock(), ["c", "b", "a"]);
        let reasons: Vec<_> = failures
            .iter()
            .map(|failure| failure.reason.as_str())
            .collect();
        assert_eq!(reasons, ["broken", "stuck"]);
        assert!(bench.registry.close().await.is_empty());
    }

    #[tokio::test]
    async fn what_arrives_after_closing_is_closed_and_not_registered() {
        let bench = Bench::default();
        bench.registry.close().await;
        bench
            .registry
            .publish(&owner("s", 1), vec![bench.tool("a", "")])
            .await;
        assert!(bench.registry.catalog().is_empty());
        assert_eq!(*bench.closed.lock(), ["a"]);
    }
}
