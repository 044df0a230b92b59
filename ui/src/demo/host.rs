//! Keeps the demo's HTTP server running while the demo deployment runs, and gives the deployment
//! the variables it names. The embedded demo reads its skill files from memory: [`Host::environment`]
//! tells why.

use std::cell::{Cell, OnceCell};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use toolcrib::clock::Stamp;
use toolcrib::deployment::{Deployment, EnvValue, Environment, SourceSettings, Supplied};
use toolcrib::source::mcp::{TransportSettings, spawn_bound};

use super::web;

/// The command in a deployment that stands for this binary, wherever it is.
const OWN_NAME: &str = "toolcrib";

/// The pauses before a dead server is started again: doubling, and the last one from then on.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// A server that lived this long was healthy, and is started again with the first pause.
const HEALTHY: Duration = Duration::from_secs(10);

/// How long a server may take to end after its stdin was closed.
const GRACE: Duration = Duration::from_secs(2);

/// How often a starting server is tried, and how long it is waited for.
const KNOCK: Duration = Duration::from_millis(10);
const LONGEST_START: Duration = Duration::from_secs(5);

/// The variables that a deployment may name.
const URL: &str = "TOOLCRIB_DEMO_URL";
const API: &str = "TOOLCRIB_DEMO_API";
const API_KEY: &str = "TOOLCRIB_DEMO_KEY";
const STARTED: &str = "TOOLCRIB_DEMO_STARTED";

/// Those that are of use only while the server runs.
const OF_THE_SERVER: [&str; 2] = [URL, API];

/// The skill files of the demo, which need no checkout: see [`Host::environment`].
const SKILLS: [(&str, &str); 3] = [
    (
        "day-trip.toolset.yaml",
        include_str!("../../../config/skills/day-trip.toolset.yaml"),
    ),
    (
        "harbour.skill.yaml",
        include_str!("../../../config/skills/harbour.skill.yaml"),
    ),
    (
        "measuring.skill.yaml",
        include_str!("../../../config/skills/measuring.skill.yaml"),
    ),
];

/// What the demo deployment needs from this process. Making one starts nothing.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    program: PathBuf,
    address: SocketAddr,
    began: i64,
}

impl Host {
    /// Chooses a free loopback port.
    pub(crate) fn new() -> std::io::Result<Self> {
        // The port is free again when this returns. Should something else take it before the
        // server starts, the server says so in the log and is tried again.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        Ok(Self {
            program: std::env::current_exe()?,
            address,
            began: Stamp::now().wall.as_second(),
        })
    }

    /// The variables that the demo deployment expands. They are no secrets.
    pub(crate) fn variables(&self) -> [(&'static str, String); 4] {
        let at = |path: &str| format!("http://{}{path}", self.address);
        [
            (URL, at(web::PATH)),
            (API, at(web::API_PATH)),
            (API_KEY, web::API_KEY.to_owned()),
            (STARTED, self.began.to_string()),
        ]
    }

    /// What the embedded demo is read in: the variables, and the directory `skills` below
    /// `base_dir` as it was when the program was built. The files are read from memory and never
    /// written anywhere: a copy on disk would have to be cleaned away even after SIGKILL, and an
    /// operator who finds one would edit it in vain.
    pub(crate) fn environment(&self, base_dir: &Path) -> Supplied<'static> {
        Supplied::only(self.variables()).with_directory(base_dir.join("skills"), SKILLS)
    }

    /// Starts the server, keeps it running, and returns when it can be reached or some time has
    /// passed: a deployment that came first would count its first attempt as failed. Its lines on
    /// stderr become log events, so that they never touch the terminal.
    pub(crate) async fn start(&self) -> Running {
        let stop = CancellationToken::new();
        let (program, address) = (self.program.clone(), self.address.to_string());
        let command = move || {
            let mut command = Command::new(&program);
            command
                .args(["demo-server", "web", "--listen", &address])
                // The server ends when this pipe closes, even if this process is killed.
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                // A group of its own: ctrl-c in the terminal is ours to answer.
                .process_group(0)
                .kill_on_drop(true);
            command
        };
        let task = tokio::spawn(supervise(command, stop.clone()));
        let running = Running {
            stop,
            task: AbortOnDropHandle::new(task),
        };
        let reached = async {
            while TcpStream::connect(self.address).await.is_err() {
                tokio::time::sleep(KNOCK).await;
            }
        };
        // What is wrong when it stays unreachable is in the log and in the state of the server.
        let _ = tokio::time::timeout(LONGEST_START, reached).await;
        running
    }
}

/// The environment for files that may be copies of the demo: its variables are supplied when a
/// file asks for them and they are not set. They are no secrets.
pub(crate) struct OnDemand<'e> {
    otherwise: &'e dyn Environment,
    host: OnceCell<Option<Host>>,
    needs_server: Cell<bool>,
}

impl<'e> OnDemand<'e> {
    /// What `otherwise` has set counts.
    pub(crate) fn over(otherwise: &'e dyn Environment) -> Self {
        Self {
            otherwise,
            host: OnceCell::new(),
            needs_server: Cell::new(false),
        }
    }

    /// What files were given, so that they mean the same when they are read again.
    pub(crate) fn supplied(&self) -> Vec<(&'static str, String)> {
        let host = self.host.get().and_then(Option::as_ref);
        let values = host.map(Host::variables).into_iter().flatten();
        values
            .filter(|(name, _)| self.otherwise.get(name).is_none())
            .collect()
    }

    /// The host, if a file asked for its server.
    pub(crate) fn into_host(self) -> Option<Host> {
        let host = self.host.into_inner().flatten();
        host.filter(|_| self.needs_server.get())
    }
}

impl Environment for OnDemand<'_> {
    fn get(&self, name: &str) -> Option<EnvValue> {
        if let Some(value) = self.otherwise.get(name) {
            return Some(value);
        }
        if ![URL, API, API_KEY, STARTED].contains(&name) {
            return None;
        }
        // Without a free port the variable is unset, which the file's reader reports.
        let host = self.host.get_or_init(|| Host::new().ok()).as_ref()?;
        self.needs_server
            .set(self.needs_server.get() || OF_THE_SERVER.contains(&name));
        let (_, value) = host
            .variables()
            .into_iter()
            .find(|(known, _)| *known == name)?;
        Some(EnvValue {
            value,
            secret: false,
        })
    }
}

/// A server that is kept running. Dropping it kills the server.
pub(crate) struct Running {
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Running {
    /// Ends the server in order and waits until it is gone.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A panic of the task has been reported where it happened; the server is gone either way.
        let _ = self.task.await;
    }
}

/// `command` makes the command, for one that was started is used up.
async fn supervise(command: impl Fn() -> Command, stop: CancellationToken) {
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = tokio::time::Instant::now();
        // Its stdin closes when this process ends, and on Linux the kernel kills it then, should
        // it be too busy to notice.
        match spawn_bound(command()).await {
            Ok(child) => {
                if watch(child, &stop).await {
                    return;
                }
            }
            Err(error) => tracing::warn!(%error, "cannot start the demo's web server"),
        }
        if begun.elapsed() >= HEALTHY {
            pause = FIRST_PAUSE;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
}

/// Follows one child to its end; whether that was ordered.
async fn watch(mut child: Child, stop: &CancellationToken) -> bool {
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(async move {
            let mut lines = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                tracing::info!(server = "web", "{line}");
            }
        });
    }
    // `Child::wait` would close the pipe, and the server with it.
    let lifeline = child.stdin.take();
    tokio::select! {
        ended = child.wait() => {
            match ended {
                Ok(status) => tracing::warn!(%status, "the demo's web server died"),
                Err(error) => tracing::warn!(%error, "lost track of the demo's web server"),
            }
            false
        }
        () = stop.cancelled() => {
            drop(lifeline);
            if tokio::time::timeout(GRACE, child.wait()).await.is_err()
                && let Err(error) = child.kill().await
            {
                tracing::warn!(%error, "cannot kill the demo's web server");
            }
            true
        }
    }
}

/// Replaces the command `toolcrib` of stdio servers by the path of this binary, which need not be
/// installed anywhere.
pub(crate) fn use_own_binary(deployment: &mut Deployment) -> std::io::Result<()> {
    let program = std::env::current_exe()?;
    let program = program.to_string_lossy();
    for source in &mut deployment.sources {
        use_own_binary_in(&mut source.settings, &program);
    }
    Ok(())
}

fn use_own_binary_in(source: &mut SourceSettings, program: &str) {
    let SourceSettings::Mcp(settings) = source else {
        return;
    };
    for server in &mut settings.servers {
        if let TransportSettings::Stdio { command, .. } = &mut server.transport
            && command == OWN_NAME
        {
            *command = program.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use toolcrib::source::mcp::{McpSettings, Protocol, ServerSettings};

    use super::*;

    fn shell(script: String) -> impl Fn() -> Command {
        move || {
            let mut command = Command::new("sh");
            command
                .args(["-c", &script])
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            command
        }
    }

    async fn until(file: &std::path::Path, lines: usize) {
        while std::fs::read_to_string(file).map_or(0, |text| text.lines().count()) < lines {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_server_that_dies_is_started_again_and_stopping_ends_that() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("starts");
        let script = format!("echo started >> '{}'; exit 3", file.display());
        let stop = CancellationToken::new();
        let task = tokio::spawn(supervise(shell(script), stop.clone()));
        until(&file, 2).await;
        stop.cancel();
        task.await.unwrap();
    }

    #[tokio::test]
    async fn stopping_closes_stdin_and_waits_until_the_server_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lines");
        let path = file.display();
        let script = format!("echo up >> '{path}'; cat; echo gone >> '{path}'");
        let stop = CancellationToken::new();
        let task = tokio::spawn(supervise(shell(script), stop.clone()));
        until(&file, 1).await;
        stop.cancel();
        task.await.unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "up\ngone\n");
    }

    #[test]
    fn the_variables_are_addresses_on_loopback_a_key_and_a_time() {
        let host = Host::new().unwrap();
        let variables: HashMap<_, _> = host.variables().into_iter().collect();
        for (name, path) in [("TOOLCRIB_DEMO_URL", "/mcp"), ("TOOLCRIB_DEMO_API", "/api")] {
            let address = &variables[name];
            assert!(address.starts_with("http://127.0.0.1:") && address.ends_with(path));
        }
        assert_eq!(variables["TOOLCRIB_DEMO_KEY"], web::API_KEY);
        let seconds: i64 = variables["TOOLCRIB_DEMO_STARTED"].parse().unwrap();
        assert!(seconds > 1_700_000_000);
    }

    #[test]
    fn every_file_of_the_skills_directory_is_embedded() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/skills");
        let mut there: Vec<(String, String)> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect();
        there.sort();
        let embedded = SKILLS.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(there, embedded);
    }

    #[test]
    fn a_file_that_asks_for_the_server_gets_one_and_others_do_not() {
        let mut set = HashMap::new();
        let nothing = HashMap::new();
        let asked = |set: &HashMap<String, EnvValue>, names: &[&str]| {
            let environment = OnDemand::over(set);
            let found: Vec<bool> = names
                .iter()
                .map(|name| environment.get(name).is_some_and(|value| !value.secret))
                .collect();
            (found, environment.into_host().is_some())
        };
        assert_eq!(
            asked(&nothing, &[STARTED, "HOME"]),
            (vec![true, false], false)
        );
        assert_eq!(asked(&nothing, &[URL, STARTED]), (vec![true, true], true));
        assert_eq!(asked(&nothing, &[API]), (vec![true], true));
        let own = EnvValue {
            value: "http://own".into(),
            secret: true,
        };
        set.insert(URL.to_owned(), own);
        assert_eq!(asked(&set, &[URL, STARTED]), (vec![false, true], false));
    }

    #[test]
    fn only_the_own_name_is_replaced() {
        let server = |command: &str| ServerSettings {
            name: command.into(),
            transport: TransportSettings::Stdio {
                command: command.into(),
                args: vec!["toolcrib".into()],
                env: Vec::new(),
                cwd: None,
            },
            protocol: Protocol::Auto,
            pin: None,
            prefix: None,
            resources: false,
            required: false,
            liveness: None,
        };
        let settings = McpSettings {
            servers: vec![server("toolcrib"), server("npx")],
            ..McpSettings::default()
        };
        let mut settings = SourceSettings::Mcp(settings);
        use_own_binary_in(&mut settings, "/opt/toolcrib");
        let SourceSettings::Mcp(settings) = settings else {
            unreachable!("it was made as one")
        };
        let commands: Vec<_> = settings
            .servers
            .iter()
            .map(|server| match &server.transport {
                TransportSettings::Stdio { command, args, .. } => (&**command, &*args[0]),
                TransportSettings::Http { .. } => unreachable!("both are stdio"),
            })
            .collect();
        assert_eq!(
            commands,
            [("/opt/toolcrib", "toolcrib"), ("npx", "toolcrib")]
        );
    }
}
