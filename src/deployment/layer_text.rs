//! The settings of one layer as an operator types them while it runs: one value, as it would stand
//! in the file behind the layer's name.

use super::document::{self, Budget, Reading, Shape, Syntax, Value};
use super::layers::{self, LAYERS};
use super::{Problems, Supplied};
use crate::middleware::settings::MiddlewareSettings;
use crate::secrets::Secrets;

/// Reads the settings of `layer` from a text such as `{limit: 8}`, by the same rules as the
/// deployment file (rule 9.9). `sources` are those of the assembly. Variables are not expanded: what
/// is typed here is seen anyway.
///
/// # Errors
/// Everything that is wrong with it; columns are those of the text.
pub fn read_layer(
    layer: &str,
    text: &str,
    sources: &[String],
) -> Result<MiddlewareSettings, Problems> {
    // The text stays on a line of its own, so that places in it are true.
    let whole = format!("{layer}:\n {text}\n");
    let none = Supplied::only::<String, String>([]);
    let reading = Reading::new("settings", ".", &none, Secrets::default());
    let root = match document::parse(&whole, Syntax::Yaml, Budget::default()) {
        Ok(root) => root,
        Err(error) => return Err(reading.unreadable(error)),
    };
    let root = reading.open(root, "nothing was typed", "settings are a map");
    let settings = root.map(|root| {
        let root = Value::root(&root);
        reading.check(&root, &Shape::Fields(&LAYERS));
        layers::read(&reading, &root, sources)
    });
    Ok(reading.finish(settings)?.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::middleware::settings::ConcurrencySettings;

    #[test]
    fn what_is_typed_is_read_by_the_rules_of_the_file() {
        let sources = ["web".to_owned()];
        let read = |text: &str| read_layer("concurrency", text, &sources);
        let settings = read("{limit: 8, per_source: {web: 2}}").unwrap();
        let expected = ConcurrencySettings {
            limit: Some(8),
            per_source: vec![("web".into(), 2)],
        };
        assert_eq!(settings.concurrency, Some(expected));
        for (text, part) in [
            ("{limit: -1}", "limit"),
            ("{limt: 8}", "limt"),
            ("{per_source: {wab: 2}}", "wab"),
            ("{limit: ", ""),
            ("8", "map"),
        ] {
            let problems = read(text).unwrap_err().to_string();
            assert!(problems.contains(part), "{text}: {problems}");
        }
    }
}
