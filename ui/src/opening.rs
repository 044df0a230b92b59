//! Which deployment is meant, and reading it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib::deployment::{
    Deployment, Input, Loaded, Problem, ProcessEnvironment, Supplied, import::Note, load_inputs,
};
use toolcrib::runtime::Reload;
use toolcrib::scenario::{self, Scenario};
use toolcrib::secrets::Secrets;

use crate::cli::Global;
use crate::commands::Failure;
use crate::demo;

/// The file that is taken from the working directory.
const LOCAL: &str = "toolcrib.yaml";

/// The file that is taken from the config directory.
const PERSONAL: &str = "toolcrib/config.yaml";

/// The variable that names a file.
const VARIABLE: &str = "TOOLCRIB_CONFIG";

/// A valid deployment, ready to be started.
pub(crate) struct Opened {
    /// What it says.
    pub(crate) deployment: Deployment,
    /// What is probably not meant.
    pub(crate) warnings: Vec<Problem>,
    /// What is worth knowing of files of other clients.
    pub(crate) notes: Vec<Note>,
    /// The values to mask.
    pub(crate) secrets: Secrets,
    /// What the demo needs while it runs, embedded or as a file.
    pub(crate) host: Option<demo::Host>,
    /// How it is read again, where it stands on files.
    pub(crate) reload: Option<Reload>,
}

impl Opened {
    fn new(loaded: Loaded, host: Option<demo::Host>) -> Self {
        Self {
            deployment: loaded.deployment,
            warnings: loaded.warnings,
            notes: loaded.notes,
            secrets: loaded.secrets,
            host,
            reload: None,
        }
    }
}

/// Reads what is named, and without that the first that is there: `$TOOLCRIB_CONFIG`,
/// `./toolcrib.yaml`, the config directory's file, the embedded demo.
pub(crate) fn open(global: &Global, server: &[String]) -> Result<Opened, Failure> {
    let mut inputs = named(global, server);
    if inputs.is_empty() {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        // A link that leads nowhere is there as well: reading it tells what is wrong.
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        match found(variable, exists) {
            Some(path) => inputs.push(Input::File(path)),
            None => return open_demo(),
        }
    }
    // The demo's file, or a copy of it, may be named like any other.
    let environment = demo::OnDemand::over(&ProcessEnvironment);
    let loaded = load_inputs(&inputs, &environment)?;
    let supplied = environment.supplied();
    let reload = (!loaded.files.is_empty()).then(|| Reload {
        files: loaded.files.clone(),
        load: Arc::new(move || {
            let supplied = supplied.iter().cloned();
            load_inputs(&inputs, &Supplied::over(supplied, &ProcessEnvironment))
        }),
    });
    Ok(Opened {
        reload,
        ..Opened::new(loaded, environment.into_host())
    })
}

/// Reads a scenario with the deployment that it names or holds. The sources of other options would
/// have no place in it.
pub(crate) fn open_scenario(
    global: &Global,
    server: &[String],
    file: &Path,
) -> Result<(Opened, Scenario), Failure> {
    if !named(global, server).is_empty() {
        return Err(Failure::Usage(
            "a scenario names its own deployment; leave `-c`, `--mcp`, `--url` and `--` out".into(),
        ));
    }
    let environment = demo::OnDemand::over(&ProcessEnvironment);
    let loaded = scenario::load_file(file, &environment)?;
    let opened = Opened {
        deployment: loaded.deployment,
        warnings: loaded.warnings,
        notes: Vec::new(),
        secrets: loaded.secrets,
        host: environment.into_host(),
        reload: None,
    };
    Ok((opened, loaded.scenario))
}

/// What the options name, in the order in which sources hold contested names.
fn named(global: &Global, server: &[String]) -> Vec<Input> {
    let mut inputs: Vec<Input> = global.config.iter().cloned().map(Input::File).collect();
    inputs.extend(global.mcp.iter().cloned().map(Input::Mcp));
    inputs.extend(global.url.iter().cloned().map(Input::Url));
    if !server.is_empty() {
        inputs.push(Input::Command(server.to_vec()));
    }
    inputs
}

fn open_demo() -> Result<Opened, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Failed(format!("cannot prepare the embedded demo: {error}"))
    };
    let host = demo::Host::new().map_err(|error| failed(&error))?;
    let base_dir = std::env::current_dir().map_err(|error| failed(&error))?;
    let environment = host.environment(&base_dir);
    let demo = Input::Text {
        name: "demo".into(),
        text: demo::DEPLOYMENT.into(),
        base_dir,
    };
    let mut loaded = load_inputs(&[demo], &environment)?;
    // Whatever else is installed under this name: the demo's servers are those of this program.
    demo::use_own_binary(&mut loaded.deployment).map_err(|error| failed(&error))?;
    Ok(Opened::new(loaded, Some(host)))
}

/// The deployment file that is taken when none is named; `None` means the demo.
fn found(
    variable: impl Fn(&str) -> Option<OsString>,
    exists: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    // A variable that names a missing file is a mistake to be told, not to be passed over.
    if let Some(path) = variable(VARIABLE) {
        return Some(path.into());
    }
    let mut places = vec![PathBuf::from(LOCAL)];
    places.extend(config_dir(&variable).map(|dir| dir.join(PERSONAL)));
    places.into_iter().find(|path| exists(path))
}

/// Where programs keep a person's configuration. A relative `XDG_CONFIG_HOME` has to be ignored.
fn config_dir(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if cfg!(windows) {
        return variable("APPDATA").map(PathBuf::from);
    }
    let named = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    named
        .filter(|dir| dir.is_absolute())
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))
}

/// Where programs keep what they remember of a person. A relative `XDG_STATE_HOME` has to be
/// ignored.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if cfg!(windows) {
        return variable("LOCALAPPDATA").map(PathBuf::from);
    }
    let named = variable("XDG_STATE_HOME").map(PathBuf::from);
    named
        .filter(|dir| dir.is_absolute())
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)], there: &[&str]) -> Option<PathBuf> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        found(variable, |path| {
            there.iter().any(|known| path == Path::new(known))
        })
    }

    #[cfg(unix)]
    #[test]
    fn without_anything_named_the_first_deployment_that_is_there_is_taken() {
        let home = ("HOME", "/h");
        let xdg = ("XDG_CONFIG_HOME", "/x");
        let relative = ("XDG_CONFIG_HOME", "x");
        let set = (VARIABLE, "set.yaml");
        let of_home = "/h/.config/toolcrib/config.yaml";
        let of_xdg = "/x/toolcrib/config.yaml";
        let rows: [(&str, &[_], &[&str], Option<&str>); 7] = [
            (
                "the variable, even if missing",
                &[set, home],
                &[LOCAL],
                Some("set.yaml"),
            ),
            (
                "the working directory",
                &[home],
                &[LOCAL, of_home],
                Some(LOCAL),
            ),
            ("the home directory", &[home], &[of_home], Some(of_home)),
            (
                "the config directory",
                &[home, xdg],
                &[of_home, of_xdg],
                Some(of_xdg),
            ),
            (
                "a relative config directory",
                &[home, relative],
                &[of_home],
                Some(of_home),
            ),
            ("nothing is there", &[home], &[], None),
            ("not even a home", &[], &[of_home], None),
        ];
        for (name, variables, there, expected) in rows {
            assert_eq!(
                chosen(variables, there),
                expected.map(PathBuf::from),
                "{name}"
            );
        }
    }

    #[test]
    fn everything_that_is_named_is_put_together_in_a_fixed_order() {
        let global = Global {
            config: Some("a.yaml".into()),
            mcp: vec!["b.json".into(), "c.toml".into()],
            url: vec!["http://d".into()],
            ..Global::default()
        };
        assert_eq!(
            named(&global, &["e".into(), "f".into()]),
            [
                Input::File("a.yaml".into()),
                Input::Mcp("b.json".into()),
                Input::Mcp("c.toml".into()),
                Input::Url("http://d".into()),
                Input::Command(vec!["e".into(), "f".into()]),
            ]
        );
    }
}
