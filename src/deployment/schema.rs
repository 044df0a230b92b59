//! The JSON Schema of the deployment file, for editors: made from the tables that the reader checks
//! with, and the few rules between keys that a table cannot say.

use serde_json::{Map, Value as Json, json};

use super::document::{Schemas, Shape};
use super::kinds::{Kind, ROWS, Row, impls};
use super::load::DEPLOYMENT;
use super::mcp::{HTTP_KEYS, STDIO_KEYS};
use super::names::TOOL_SEARCH;
use super::sim::OUTCOMES;

/// The schema, in the dialect of 2020-12. What needs another file, the environment or the whole of
/// the file to be judged (dangling names, cycles, sizes) is not in it.
pub fn schema() -> Json {
    let mut schemas = Schemas::default();
    let mut root = schemas.table(&DEPLOYMENT);
    let resource = resource(&mut schemas);
    root["properties"]["resources"] = json!({
        "type": "object",
        "description": "What is built, by name.",
        "minProperties": 1,
        "propertyNames": {"minLength": 1},
        "additionalProperties": {"$ref": "#/$defs/resource"},
    });
    schemas.define("resource", resource);
    let mut defs = schemas.into_defs();
    between_keys(&mut defs);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "toolcrib deployment",
    });
    if let (Json::Object(schema), Json::Object(root)) = (&mut schema, root) {
        schema.extend(root);
        schema.insert("$defs".into(), defs);
    }
    schema
}

fn resource(schemas: &mut Schemas) -> Json {
    let mut schema = schemas.table(&super::kinds::RESOURCE);
    let properties = &mut schema["properties"];
    properties["kind"] = schemas.of(&Shape::Elsewhere);
    properties["kind"]["enum"] = json!(Kind::ALL.map(Kind::as_str));
    properties["impl"]["enum"] = ROWS.iter().map(|row| row.name).collect();
    properties["deps"]["type"] = json!("object");
    properties["settings"]["type"] = json!("object");
    let mut rules = Vec::new();
    for kind in Kind::ALL {
        let names: Vec<&str> = impls(kind).map(|row| row.name).collect();
        rules.push(json!({
            "if": {"properties": {"kind": {"const": kind.as_str()}}, "required": ["kind"]},
            "then": {"properties": {"impl": {"enum": names}}},
        }));
    }
    for row in &ROWS {
        rules.push(json!({
            "if": {
                "properties": {
                    "kind": {"const": row.kind.as_str()},
                    "impl": {"const": row.name},
                },
                "required": ["kind", "impl"],
            },
            "then": of_row(schemas, row),
        }));
    }
    schema["allOf"] = Json::Array(rules);
    schema
}

/// What holds for one kind and impl.
fn of_row(schemas: &mut Schemas, row: &Row) -> Json {
    let names = schemas.of(&Shape::OneOrMany(&Shape::Name));
    let mut properties = Map::new();
    let mut patterns = Map::new();
    for dep in row.deps {
        for key in dep.keys {
            properties.insert((*key).to_owned(), names.clone());
            if dep.many {
                patterns.insert(format!("^{key}\\.."), names.clone());
            }
        }
    }
    let mut deps = json!({
        "properties": properties,
        "patternProperties": patterns,
        "additionalProperties": false,
    });
    let mut required = Vec::new();
    if row.needs_settings {
        required.push("settings");
    }
    if row.kind == Kind::Assembly {
        required.push("deps");
        deps["minProperties"] = json!(1);
    }
    json!({
        "properties": {"deps": deps, "settings": schemas.reference(row.settings)},
        "required": required,
    })
}

/// The rules that hold between the keys of one table.
fn between_keys(defs: &mut Json) {
    let without = |keys: &[&str]| -> Json {
        keys.iter()
            .map(|key| ((*key).to_owned(), json!(false)))
            .collect::<Map<_, _>>()
            .into()
    };
    let transport = |name: &str, needs: &str, other: &[&str]| {
        json!({
            "if": {"properties": {"transport": {"const": name}}, "required": ["transport"]},
            "then": {"required": [needs], "properties": without(other)},
        })
    };
    defs["server"]["allOf"] = json!([
        transport("stdio", "command", &HTTP_KEYS),
        transport("http", "url", &STDIO_KEYS),
    ]);
    defs["mcp"]["properties"]["servers"]["minItems"] = json!(1);
    let one = |keys: &[&str]| -> Vec<Json> {
        keys.iter().map(|key| json!({"required": [key]})).collect()
    };
    let mut ends = one(&OUTCOMES);
    ends.push(json!({"not": {"anyOf": one(&OUTCOMES)}}));
    defs["behavior"]["oneOf"] = Json::Array(ends);
    defs["scripted"]["oneOf"] = Json::Array(one(&["file", "replies"]));
    defs["dynamic"]["properties"]["exposures"]["properties"] =
        json!({TOOL_SEARCH: {"const": "always"}});
}
