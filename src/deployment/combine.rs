//! Deployments from several things that an operator names at once:
//! `[-c FILE] [--mcp FILE]… [--url URL]…` or one command.
//!
//! The first of them is the base. Each further one adds its sources, under a free name, to every
//! assembly of the base, so that whichever assembly is used has their tools; a base without an
//! assembly gets one with all sources. Sources that were added stand after those of the base, which therefore
//! hold contested names (rule 2.1).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::import::{self, ASSEMBLY, SOURCE};
use super::load::{Loaded, load_file_with, load_text_with};
use super::{
    AssemblyImpl, AssemblySpec, Deployment, Environment, Origin, Place, Problem, Problems,
    Severity, SourceSettings, SourceSpec,
};
use crate::secrets::Secrets;
use crate::source::mcp::{McpSettings, Protocol, ServerSettings, TransportSettings};

/// Something that an operator names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// `-c FILE`: a deployment.
    File(PathBuf),
    /// A deployment that is part of the program.
    Text {
        /// What stands for the file in messages.
        name: String,
        /// The deployment.
        text: String,
        /// What relative files start at.
        base_dir: PathBuf,
    },
    /// `--mcp FILE`: a file of another client.
    Mcp(PathBuf),
    /// `--url URL`: a server.
    Url(String),
    /// `-- COMMAND ARG…`: a server.
    Command(Vec<String>),
}

/// Reads all inputs and combines them, in their order. The one server of a single `--url` or
/// command gives its tools their own names; beside anything else it has a prefix.
///
/// # Errors
/// All problems of all inputs.
pub fn load_inputs(inputs: &[Input], environment: &dyn Environment) -> Result<Loaded, Problems> {
    let secrets = Secrets::default();
    let alone = inputs.len() == 1;
    let mut loaded = Vec::new();
    let mut problems = Vec::new();
    for input in inputs {
        let read = match input {
            Input::File(path) => load_file_with(path, environment, &secrets),
            Input::Text {
                name,
                text,
                base_dir,
            } => load_text_with(name, text, base_dir, environment, &secrets),
            Input::Mcp(path) => import::import_file(path, environment)
                .and_then(|imported| imported.load_with(environment, &secrets)),
            Input::Url(url) => from_url(url, alone),
            Input::Command(words) => from_command(words, alone),
        };
        match read {
            Ok(read) => loaded.push(read),
            Err(found) => problems.extend(found.0),
        }
    }
    if problems.is_empty() {
        let combined = combine(loaded);
        let combined = combined.map(|loaded| Loaded { secrets, ..loaded });
        combined.ok_or_else(|| usage("the command line", "no deployment is named"))
    } else {
        problems.extend(loaded.into_iter().flat_map(|loaded| loaded.warnings));
        Err(Problems(problems))
    }
}

/// A deployment with one server that is reached by HTTP. `alone` leaves its tools their own names.
///
/// # Errors
/// When it is no address.
pub fn from_url(url: &str, alone: bool) -> Result<Loaded, Problems> {
    let parsed = match url::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => parsed,
        _ => {
            let message = format!("`{url}` is no address that starts with http:// or https://");
            return Err(usage("--url", &message));
        }
    };
    let host = parsed.host_str().unwrap_or("server");
    let name = match parsed.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let transport = TransportSettings::Http {
        url: url.to_owned(),
        headers: Vec::new(),
        http_timeout: None,
    };
    Ok(single(url, &name, transport, alone))
}

/// A deployment with one server that is a command. `alone` leaves its tools their own names.
///
/// # Errors
/// When there is no command.
pub fn from_command(words: &[String], alone: bool) -> Result<Loaded, Problems> {
    let Some((command, args)) = words.split_first().filter(|(first, _)| !first.is_empty()) else {
        return Err(usage("--", "a command is needed after `--`"));
    };
    let transport = TransportSettings::Stdio {
        command: command.clone(),
        args: args.to_vec(),
        env: Vec::new(),
        cwd: None,
    };
    let name = command_name(command, args);
    Ok(single(&words.join(" "), &name, transport, alone))
}

fn usage(what: &str, message: &str) -> Problems {
    Problems(vec![Problem {
        severity: Severity::Error,
        file: what.into(),
        line: 1,
        column: 1,
        path: String::new(),
        message: message.to_owned(),
        suggestion: None,
    }])
}

/// What a server is called that is started by a command: the program, or what a runner runs, as in
/// `npx -y @modelcontextprotocol/server-filesystem /tmp`.
fn command_name(command: &str, args: &[String]) -> String {
    const RUNNERS: [&str; 9] = [
        "npx", "bunx", "uvx", "pnpx", "node", "bun", "deno", "python", "python3",
    ];
    let program = base_name(command);
    if RUNNERS.contains(&program) {
        let run = args
            .iter()
            .find(|arg| !arg.starts_with('-') && !matches!(arg.as_str(), "run" | "x"));
        if let Some(run) = run {
            let name = base_name(run);
            // `server@1.2` is the server; a scope such as `@org/server` is gone already.
            let name = name
                .split('@')
                .find(|part| !part.is_empty())
                .unwrap_or(name);
            return name.to_owned();
        }
    }
    program.to_owned()
}

fn base_name(path: &str) -> &str {
    let name = Path::new(path).file_stem().and_then(|name| name.to_str());
    name.filter(|name| !name.is_empty()).unwrap_or(path)
}

fn single(origin: &str, name: &str, transport: TransportSettings, alone: bool) -> Loaded {
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let prefix = if alone {
        String::new()
    } else {
        format!("{}__", name.chars().map(legal).collect::<String>())
    };
    let server = ServerSettings {
        name: name.to_owned(),
        transport,
        protocol: Protocol::Auto,
        pin: None,
        prefix: Some(prefix),
        resources: false,
        required: false,
        liveness: None,
    };
    let settings = McpSettings {
        servers: vec![server],
        ..McpSettings::default()
    };
    Loaded {
        deployment: Deployment {
            origin: Origin {
                name: origin.into(),
                text: "".into(),
                base_dir: PathBuf::from("."),
            },
            sources: vec![SourceSpec {
                name: SOURCE.to_owned(),
                place: 0,
                at: Place::START,
                settings: SourceSettings::Mcp(settings),
                deps: Vec::new(),
            }],
            assemblies: vec![AssemblySpec {
                name: ASSEMBLY.to_owned(),
                place: 1,
                at: Place::START,
                implementation: AssemblyImpl::Memory,
                sources: vec![SOURCE.to_owned()],
                dynamic: None,
                middlewares: None,
            }],
            models: Vec::new(),
            loops: Vec::new(),
        },
        warnings: Vec::new(),
        notes: Vec::new(),
        secrets: Secrets::default(),
        files: Vec::new(),
    }
}

/// Combines deployments that are valid; `None` if there are none. The secrets of the first have to
/// be those of all, as they are when [`load_inputs`] reads them.
pub fn combine(all: impl IntoIterator<Item = Loaded>) -> Option<Loaded> {
    let mut all = all.into_iter();
    let mut base = all.next()?;
    for added in all {
        join(&mut base, added);
    }
    Some(base)
}

fn join(base: &mut Loaded, added: Loaded) {
    let deployment = &mut base.deployment;
    let mut taken: HashSet<String> = deployment
        .sources
        .iter()
        .map(|source| source.name.clone())
        .chain(deployment.assemblies.iter().map(|spec| spec.name.clone()))
        .chain(deployment.models.iter().map(|spec| spec.name.clone()))
        .chain(deployment.loops.iter().map(|spec| spec.name.clone()))
        .collect();
    let mut place = deployment
        .sources
        .iter()
        .map(|source| source.place)
        .chain(deployment.assemblies.iter().map(|spec| spec.place))
        .max()
        .map_or(0, |last| last.saturating_add(1));
    let mut names = Vec::new();
    for mut source in added.deployment.sources {
        source.name = free(&source.name, &mut taken);
        source.place = place;
        place = place.saturating_add(1);
        names.push(source.name.clone());
        deployment.sources.push(source);
    }
    if deployment.assemblies.is_empty() {
        deployment.assemblies.push(AssemblySpec {
            name: free(ASSEMBLY, &mut taken),
            place,
            at: Place::START,
            implementation: AssemblyImpl::Memory,
            sources: deployment
                .sources
                .iter()
                .map(|source| source.name.clone())
                .collect(),
            dynamic: None,
            middlewares: None,
        });
    } else {
        for assembly in &mut deployment.assemblies {
            assembly.sources.extend(names.iter().cloned());
        }
    }
    let name = format!(
        "{} + {}",
        deployment.origin.name, added.deployment.origin.name
    );
    deployment.origin.name = name.into();
    base.warnings.extend(added.warnings);
    base.notes.extend(added.notes);
    base.files.extend(added.files);
}

/// A name that is not taken yet: `mcp`, `mcp-2`, `mcp-3`.
fn free(name: &str, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2_u32;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}-{number}");
        number += 1;
    }
    candidate
}
