//! The scenarios that are shipped inside the program, and reading one to play it in the console.

use std::path::{Path, PathBuf};

use toolcrib::deployment::{Problems, ProcessEnvironment};
use toolcrib::scenario::{LoadedScenario, load_file, load_text};

use crate::demo;

/// Name and text of each, in the order in which they teach.
pub(crate) const SHIPPED: [(&str, &str); 5] = [
    (
        "first-discovery",
        include_str!("../../config/scenarios/first-discovery.yaml"),
    ),
    (
        "idling-out",
        include_str!("../../config/scenarios/idling-out.yaml"),
    ),
    (
        "a-budget-that-cuts",
        include_str!("../../config/scenarios/a-budget-that-cuts.yaml"),
    ),
    (
        "a-cache-that-costs-nothing",
        include_str!("../../config/scenarios/a-cache-that-costs-nothing.yaml"),
    ),
    (
        "a-source-that-goes-away",
        include_str!("../../config/scenarios/a-source-that-goes-away.yaml"),
    ),
];

/// Which scenario is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// One that is shipped, by its number.
    Shipped(usize),
    /// A file.
    File(PathBuf),
}

/// Reads it, with what its deployment needs while it plays if that is the demo's.
///
/// # Errors
/// With all problems of the file.
pub(crate) fn read(script: &Script) -> Result<(LoadedScenario, Option<demo::Host>), Problems> {
    let environment = demo::OnDemand::over(&ProcessEnvironment);
    let loaded = match script {
        Script::Shipped(number) => {
            // The table of keys has one row for each; the last stands for a number beyond.
            let (name, text) = SHIPPED[(*number).min(SHIPPED.len() - 1)];
            load_text(&format!("{name}.yaml"), text, Path::new("."), &environment)
        }
        Script::File(path) => load_file(path, &environment),
    };
    Ok((loaded?, environment.into_host()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_scenario_can_be_read_and_none_is_left_out() {
        for (number, (name, _)) in SHIPPED.iter().enumerate() {
            let read = read(&Script::Shipped(number));
            assert!(read.is_ok(), "{name}: {:?}", read.err());
        }
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/scenarios");
        let files = std::fs::read_dir(config).unwrap();
        let mut files: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut names = SHIPPED.map(|(name, _)| format!("{name}.yaml"));
        files.sort();
        names.sort();
        assert_eq!(files, names);
    }

    #[test]
    fn a_file_that_is_no_scenario_tells_why() {
        let read = read(&Script::File("/no/such/file.yaml".into()));
        assert!(
            read.err()
                .unwrap()
                .to_string()
                .contains("/no/such/file.yaml")
        );
    }
}
