//! Models and the loop that lets them use tools (section 11).

mod settings;

pub use settings::{
    ModelSettings, OpenAiSettings, RecoverySettings, RoundsSettings, Script, ScriptedSettings,
};
