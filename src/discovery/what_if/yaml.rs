//! Dynamic settings as they stand in a deployment file.

use std::fmt::Write as _;

use crate::discovery::DynamicSettings;

/// The key `dynamic` with everything below it, ready to stand under `settings:`; every bound is
/// said, so that nothing depends on a default.
pub fn yaml(settings: &DynamicSettings) -> String {
    let (budget, pool) = (settings.budget, settings.discovery);
    let mut text = format!(
        "dynamic:\n  default: {}\n  budget: {{max_definitions: {}, max_bytes: {}}}\n  \
         discovery: {{max_tools: {}, max_bytes: {}, idle_rounds: {}}}\n",
        settings.default.as_str(),
        budget.max_definitions,
        budget.max_bytes,
        pool.max_tools,
        pool.max_bytes,
        pool.idle_rounds,
    );
    if !settings.exposures.is_empty() {
        text.push_str("  exposures:\n");
    }
    for (pattern, mode) in settings.exposures.iter() {
        // A JSON string is one in YAML too, whatever is in it; and a pattern never names a
        // variable: keys are not expanded.
        let key = serde_json::Value::from(pattern);
        let _ = writeln!(text, "    {key}: {}", mode.as_str());
    }
    text
}
