//! The discovery pool of one session: admission, eviction, re-fit, and a report of every change
//! (rules 6.1 to 6.8). Knows sizes and names, not definitions.

mod entry;

use std::sync::Arc;

pub use entry::{EvictReason, PoolChange, PoolEntry, Touch};

use super::PoolSettings;

/// A tool does not fit in the pool; nothing was evicted for its sake (rule 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the definition does not fit in the discovery pool")]
pub struct OverBudget;

/// What the registry says of a pooled tool now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The size of its definition.
    pub bytes: usize,
    /// Whether it is direct; otherwise it is deferred.
    pub direct: bool,
}

/// Tells the standing of a tool; `None` when it does not exist or may not be in a pool.
pub type Standings<'a> = &'a dyn Fn(&str) -> Option<Standing>;

/// The pool. Entries stand in the order of the admission that brought them in; there are never
/// more than `max_tools` of them, nor more than `max_bytes` in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    bounds: PoolSettings,
    entries: Vec<PoolEntry>,
    bytes: usize,
}

impl Pool {
    /// An empty pool.
    pub fn new(bounds: PoolSettings) -> Self {
        Self {
            bounds,
            entries: Vec::new(),
            bytes: 0,
        }
    }

    /// A pool as it was recorded, under bounds that it may exceed until it is reconciled.
    pub(super) fn recorded(bounds: PoolSettings, entries: Vec<PoolEntry>) -> Self {
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        Self {
            bounds,
            entries,
            bytes,
        }
    }

    /// The bounds in force.
    pub fn bounds(&self) -> PoolSettings {
        self.bounds
    }

    /// The entries in the order of admission.
    pub fn entries(&self) -> &[PoolEntry] {
        &self.entries
    }

    /// The bytes of all entries.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The entry of that name.
    pub fn get(&self, name: &str) -> Option<&PoolEntry> {
        self.entries.iter().find(|entry| &*entry.name == name)
    }

    /// Lets the idle entries go, the worst first (rule 6.5).
    pub fn evict_idle(&mut self, round: u32, standings: Standings<'_>) -> Vec<PoolChange> {
        let idle_rounds = self.bounds.idle_rounds;
        self.worst_first(standings)
            .into_iter()
            .filter(|entry| entry.is_idle(round, idle_rounds))
            .map(|entry| self.evict(entry, EvictReason::Idle))
            .collect()
    }

    /// Refreshes the entry of that name, or admits it. To make room, entries that were not touched
    /// in this round leave, the worst first, as far as needed (rule 6.2).
    ///
    /// # Errors
    /// When it cannot fit; the pool is as before then.
    pub fn admit(
        &mut self,
        name: &Arc<str>,
        bytes: usize,
        touch: Touch,
        standings: Standings<'_>,
    ) -> Result<Vec<PoolChange>, OverBudget> {
        let known = self.entries.iter_mut().find(|entry| entry.name == *name);
        if let Some(entry) = known {
            (entry.last_used, entry.rank) = (touch.round, touch.rank);
            entry.sequence = touch.sequence;
            return Ok(vec![PoolChange::Refreshed(entry.clone())]);
        }
        let leaving = self.room_for(bytes, touch.round, standings)?;
        let mut changes: Vec<_> = leaving
            .into_iter()
            .map(|entry| self.evict(entry, EvictReason::Crowded))
            .collect();
        let entry = PoolEntry {
            name: Arc::clone(name),
            bytes,
            last_used: touch.round,
            rank: touch.rank,
            sequence: touch.sequence,
        };
        self.bytes += bytes;
        self.entries.push(entry.clone());
        changes.push(PoolChange::Admitted(entry));
        Ok(changes)
    }

    /// Brings the pool in line with the registry and the bounds: entries whose tool is gone leave,
    /// changed sizes are taken over, then the pool is re-fitted, worst first even among entries
    /// touched in this round (rule 6.6).
    pub fn reconcile(&mut self, bounds: PoolSettings, standings: Standings<'_>) -> Vec<PoolChange> {
        self.bounds = bounds;
        let mut changes = Vec::new();
        let gone: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| standings(&entry.name).is_none())
            .cloned()
            .collect();
        for entry in gone {
            changes.push(self.evict(entry, EvictReason::Removed));
        }
        for entry in &mut self.entries {
            let Some(standing) = standings(&entry.name) else {
                continue;
            };
            if standing.bytes != entry.bytes {
                let from = std::mem::replace(&mut entry.bytes, standing.bytes);
                self.bytes = self.bytes - from + entry.bytes;
                changes.push(PoolChange::Resized {
                    name: Arc::clone(&entry.name),
                    from,
                    bytes: entry.bytes,
                });
            }
        }
        if !self.is_within_bounds() {
            for entry in self.worst_first(standings) {
                changes.push(self.evict(entry, EvictReason::Crowded));
                if self.is_within_bounds() {
                    break;
                }
            }
        }
        changes
    }

    /// Makes one reported change; a pool that replays all changes of another equals it.
    pub fn replay(&mut self, change: &PoolChange) {
        match change {
            PoolChange::Admitted(entry) => {
                self.bytes += entry.bytes;
                self.entries.push(entry.clone());
            }
            PoolChange::Refreshed(entry) => {
                if let Some(known) = self.entry_mut(&entry.name) {
                    *known = entry.clone();
                }
            }
            PoolChange::Resized { name, bytes, .. } => {
                if let Some(known) = self.entry_mut(name) {
                    let from = std::mem::replace(&mut known.bytes, *bytes);
                    self.bytes = self.bytes - from + bytes;
                }
            }
            PoolChange::Evicted { entry, reason } => {
                self.evict(entry.clone(), *reason);
            }
        }
    }

    fn entry_mut(&mut self, name: &str) -> Option<&mut PoolEntry> {
        self.entries.iter_mut().find(|entry| &*entry.name == name)
    }

    fn is_within_bounds(&self) -> bool {
        self.entries.len() <= self.bounds.max_tools && self.bytes <= self.bounds.max_bytes
    }

    fn fits(&self, tools: usize, bytes: usize) -> bool {
        tools <= self.bounds.max_tools && bytes <= self.bounds.max_bytes
    }

    /// The entries that have to leave so that `bytes` fit.
    fn room_for(
        &self,
        bytes: usize,
        round: u32,
        standings: Standings<'_>,
    ) -> Result<Vec<PoolEntry>, OverBudget> {
        let mut tools = self.entries.len() + 1;
        let mut total = self.bytes.saturating_add(bytes);
        if self.fits(tools, total) {
            return Ok(Vec::new());
        }
        if bytes > self.bounds.max_bytes {
            return Err(OverBudget);
        }
        let mut leaving = Vec::new();
        let untouched = self.worst_first(standings);
        for entry in untouched.into_iter().filter(|e| e.last_used != round) {
            tools -= 1;
            total -= entry.bytes;
            leaving.push(entry);
            if self.fits(tools, total) {
                return Ok(leaving);
            }
        }
        Err(OverBudget)
    }

    fn worst_first(&self, standings: Standings<'_>) -> Vec<PoolEntry> {
        let mut entries: Vec<_> = self
            .entries
            .iter()
            .map(|entry| (standings(&entry.name).is_some_and(|s| s.direct), entry))
            .collect();
        entries.sort_by(|(a_direct, a), (b_direct, b)| b.cmp_best_first(*b_direct, a, *a_direct));
        entries
            .into_iter()
            .map(|(_, entry)| entry.clone())
            .collect()
    }

    fn evict(&mut self, entry: PoolEntry, reason: EvictReason) -> PoolChange {
        if let Some(place) = self.entries.iter().position(|e| e.name == entry.name) {
            self.bytes -= self.entries.remove(place).bytes;
        }
        PoolChange::Evicted { entry, reason }
    }
}

#[cfg(test)]
mod tests;
