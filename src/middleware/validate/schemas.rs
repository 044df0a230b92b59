//! Compiled input schemas, by the hash of the definition they belong to.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use parking_lot::Mutex;

use crate::tool::Definition;

/// Most compiled schemas that are kept. Past that the oldest is let go of and compiled again when
/// it is needed, which takes some 25 µs.
const SCHEMAS: usize = 2_048;

/// A schema that was looked at.
#[derive(Debug)]
pub(super) enum Schema {
    /// It can be checked against.
    Usable(Validator),
    /// It cannot: it is broken, refers to something outside itself, or is of an unknown dialect.
    Unusable,
}

/// The cache.
#[derive(Debug, Default)]
pub(super) struct Schemas(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_hash: HashMap<Arc<str>, Arc<Schema>>,
    /// The oldest first.
    order: VecDeque<Arc<str>>,
}

impl Schemas {
    /// The schema of a definition. One that cannot be used is logged when it is compiled, which
    /// is once as long as it is kept.
    pub(super) fn get(&self, definition: &Definition) -> Arc<Schema> {
        if let Some(known) = self.0.lock().by_hash.get(definition.hash()) {
            return Arc::clone(known);
        }
        let schema = Arc::new(compile(definition));
        let hash: Arc<str> = definition.hash().into();
        let mut kept = self.0.lock();
        // Two calls may compile the same schema at once; one of them is kept.
        if kept
            .by_hash
            .insert(Arc::clone(&hash), Arc::clone(&schema))
            .is_none()
        {
            kept.order.push_back(hash);
        }
        if kept.order.len() > SCHEMAS
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.by_hash.remove(&oldest);
        }
        schema
    }
}

/// Compiles without fetching anything: the crate is built without its resolvers, so that a `$ref`
/// to the outside is an error. The linear-time engine keeps a hostile pattern from taking time.
fn compile(definition: &Definition) -> Schema {
    let built = jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .build(definition.input_schema());
    match built {
        Ok(validator) => Schema::Usable(validator),
        Err(error) => {
            tracing::warn!(
                tool = definition.name(),
                "the input schema of `{}` cannot be used, its arguments are not checked: {} (at `{}`)",
                definition.name(),
                error.masked(),
                error.instance_path(),
            );
            Schema::Unusable
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(name: &str, schema: serde_json::Value) -> Definition {
        Definition::new(name, "", schema).unwrap()
    }

    #[test]
    fn a_schema_is_compiled_once_and_the_cache_has_a_bound() {
        let schemas = Schemas::default();
        let first = definition("t0", json!({"type": "object"}));
        let compiled = schemas.get(&first);
        assert!(Arc::ptr_eq(&compiled, &schemas.get(&first)));
        for number in 1..=SCHEMAS {
            schemas.get(&definition(&format!("t{number}"), json!({})));
        }
        assert_eq!(schemas.0.lock().by_hash.len(), SCHEMAS);
        assert!(
            !Arc::ptr_eq(&compiled, &schemas.get(&first)),
            "it was the oldest"
        );
    }

    #[test]
    fn schemas_that_cannot_be_used_are_known_as_such() {
        for (claim, schema) in [
            ("broken", json!({"type": 5})),
            (
                "a reference to the network",
                json!({"$ref": "http://127.0.0.1:9/s.json"}),
            ),
            (
                "a reference to a file",
                json!({"$ref": "file:///etc/passwd"}),
            ),
            ("an unknown dialect", json!({"$schema": "urn:none"})),
            (
                "a pattern that needs backtracking",
                json!({"pattern": "(?=a)b"}),
            ),
        ] {
            let schema = Schemas::default().get(&definition("t", schema));
            assert!(matches!(*schema, Schema::Unusable), "{claim}");
        }
    }
}
