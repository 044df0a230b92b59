//! The settings of dynamic injection, as the deployment file gives them (rules 4.1 to 4.6).

use serde::{Deserialize, Serialize};

use crate::registry::GlobMap;

/// How a tool comes into view (rule 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In every round that it fits.
    Always,
    /// By search; wins ties against deferred.
    Direct,
    /// By search.
    #[default]
    Deferred,
    /// Only when required.
    Hidden,
}

impl Mode {
    /// The fixed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Direct => "direct",
            Self::Deferred => "deferred",
            Self::Hidden => "hidden",
        }
    }
}

/// `settings.dynamic` of an assembly. Zero has been resolved to "default" already (rule 4.6).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DynamicSettings {
    /// The mode of tools that no entry names.
    pub default: Mode,
    /// Modes by name or glob.
    pub exposures: GlobMap<Mode>,
    /// The bounds of one round.
    pub budget: BudgetSettings,
    /// The bounds of one session's pool.
    pub discovery: PoolSettings,
}

/// The bounds of the visible set (rule 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetSettings {
    /// Most definitions in one round.
    pub max_definitions: usize,
    /// Most bytes in one round.
    pub max_bytes: usize,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Self {
            max_definitions: 32,
            max_bytes: 16384,
        }
    }
}

/// The bounds of the discovery pool (rule 4.5). The default follows the default budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PoolSettings {
    /// Most tools in the pool.
    pub max_tools: usize,
    /// Most bytes in the pool.
    pub max_bytes: usize,
    /// Rounds without use after which an entry leaves.
    pub idle_rounds: u32,
}

impl Default for PoolSettings {
    fn default() -> Self {
        let budget = BudgetSettings::default();
        Self {
            max_tools: budget.max_definitions,
            max_bytes: budget.max_bytes,
            idle_rounds: 10,
        }
    }
}
