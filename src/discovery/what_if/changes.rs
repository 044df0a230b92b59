//! The settings that are tried, as changes of those that were in force.

use std::sync::Arc;

use crate::discovery::{BudgetSettings, DynamicSettings, FixedExposure, Mode, PoolSettings};

/// Other settings; what is `None` stays as it was in each round. Zero means "default", as in the
/// file (rule 4.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// `budget.max_definitions`.
    pub max_definitions: Option<usize>,
    /// `budget.max_bytes`.
    pub max_bytes: Option<usize>,
    /// `discovery.max_tools`.
    pub pool_tools: Option<usize>,
    /// `discovery.max_bytes`.
    pub pool_bytes: Option<usize>,
    /// `discovery.idle_rounds`.
    pub idle_rounds: Option<u32>,
    /// Modes of single tools, by exact name; of several for one tool the last counts.
    pub modes: Vec<(Arc<str>, Mode)>,
}

impl Changes {
    /// Whether everything stays as it was.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The settings with the changes.
    ///
    /// # Errors
    /// For a mode of `tool_search`, which has one only.
    pub fn apply(&self, settings: &DynamicSettings) -> Result<DynamicSettings, FixedExposure> {
        let mut next = settings.clone();
        for (tool, mode) in &self.modes {
            next = next.with_mode(tool, *mode)?;
        }
        let defaults = BudgetSettings::default();
        set(
            &mut next.budget.max_definitions,
            self.max_definitions,
            defaults.max_definitions,
        );
        set(
            &mut next.budget.max_bytes,
            self.max_bytes,
            defaults.max_bytes,
        );
        let (tools, bytes) = (next.budget.max_definitions, next.budget.max_bytes);
        set(&mut next.discovery.max_tools, self.pool_tools, tools);
        set(&mut next.discovery.max_bytes, self.pool_bytes, bytes);
        let idle_rounds = PoolSettings::default().idle_rounds;
        set(
            &mut next.discovery.idle_rounds,
            self.idle_rounds,
            idle_rounds,
        );
        Ok(next)
    }
}

fn set<T: Default + PartialEq>(place: &mut T, value: Option<T>, default: T) {
    if let Some(value) = value {
        *place = if value == T::default() {
            default
        } else {
            value
        };
    }
}
