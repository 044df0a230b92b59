//! What can be typed: options, commands and their help. Nothing is decided here.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use toolcrib::deployment::document::parse_duration;

use crate::console::ScreenId;
use crate::demo::DemoServer;

/// The text after the options of `--help`.
const AFTER_HELP: &str = "\
Without a command the console opens. Sources that are named (`-c`, `--mcp`, `--url`, `-- COMMAND`) \
are put together. Without any, the first of these is taken: `$TOOLCRIB_CONFIG`, `./toolcrib.yaml`, \
`toolcrib/config.yaml` in the config directory, and else an embedded demo that needs no network.

Exit codes: 0 done; 1 the operation failed; 2 usage or configuration.";

/// A tool system for language models: registry, executor, MCP servers and tools that are
/// discovered when they are needed, with a console to see and operate it.
#[derive(Debug, Parser)]
#[command(
    name = "toolcrib",
    version,
    after_help = AFTER_HELP,
    override_usage = "toolcrib [OPTIONS] [COMMAND]\n       toolcrib [OPTIONS] -- COMMAND ARG…"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// Options that every command takes, before or after its name.
#[derive(Debug, Default, Args)]
pub(crate) struct Global {
    /// The deployment file, YAML or JSON
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Servers from another client's file: `mcpServers` or `servers` maps, Codex' `config.toml`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) mcp: Vec<PathBuf>,
    /// A server that is reached over streamable HTTP
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// The assembly to serve, where the deployment has several
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) assembly: Option<String>,
    /// How long to wait for servers [default: 10s, and 60s for required ones]
    #[arg(long, global = true, value_name = "DURATION", value_parser = positive)]
    pub(crate) wait: Option<Duration>,
    /// Serve metrics for Prometheus at this address while the console or `play` runs; a port alone
    /// is one of the loopback address
    #[arg(long, global = true, value_name = "ADDR", value_parser = crate::commands::metrics::address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Refuse calls and changes
    #[arg(long, global = true)]
    pub(crate) read_only: bool,
    /// Draw with ASCII characters alone
    #[arg(long, global = true)]
    pub(crate) ascii: bool,
    /// Write the log to a file instead of stderr
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,
    /// Log more; twice for details, three times for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,
    /// Log errors alone
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// A server that is started for this run.
#[derive(Debug, Default, Args)]
pub(crate) struct Stdio {
    /// A server to start that speaks MCP over stdin and stdout
    #[arg(last = true, value_names = ["COMMAND", "ARG"])]
    pub(crate) server: Vec<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Validate the deployment without connecting to anything
    Check(Check),
    /// Start, and show how each server fares
    Servers(List),
    /// Show the tools by name
    Tools(List),
    /// Call a tool through the chain, whatever its exposure
    Call(Box<Call>),
    /// Rank the searchable tools for a query
    Search(Search),
    /// Measure the ranking on labelled queries
    Recall(Recall),
    /// Play a scenario and compare it with what it expects
    Play(Play),
    /// Print a screen of the console once, without a terminal
    View(View),
    /// Print the deployment that another client's file amounts to
    Import {
        /// A file with servers: `mcpServers` or `servers` maps, Codex' `config.toml`
        file: PathBuf,
    },
    /// Print the JSON Schema of the deployment file, for editors
    Schema,
    /// Print a completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page
    Man,
    /// Be one of the demo's MCP servers
    #[command(hide = true)]
    DemoServer(DemoServer),
}

impl Command {
    /// Whether it keeps running, so that it takes `--metrics`.
    pub(crate) fn runs_on(&self) -> bool {
        matches!(self, Self::Play(_))
    }

    /// The server after `--`, where the command takes one.
    pub(crate) fn stdio(&self) -> &[String] {
        match self {
            Self::Check(check) => &check.stdio.server,
            Self::Servers(list) | Self::Tools(list) => &list.stdio.server,
            Self::Call(call) => &call.stdio.server,
            Self::Search(search) => &search.stdio.server,
            Self::Recall(recall) => &recall.stdio.server,
            Self::View(view) => &view.stdio.server,
            Self::Import { .. }
            | Self::Schema
            | Self::Completions { .. }
            | Self::Man
            | Self::Play(_)
            | Self::DemoServer(_) => &[],
        }
    }
}

/// `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Warnings fail too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// A command that lists something.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// `call`.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The tool's name
    pub(crate) tool: String,
    /// The arguments as a JSON object, `@FILE` to read them from a file, `-` from stdin
    #[arg(value_name = "JSON|@FILE|-", allow_negative_numbers = true)]
    pub(crate) arguments: Option<String>,
    /// One argument; a string unless the tool's schema names another type
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) arg: Vec<(String, String)>,
    /// How long the call may take
    #[arg(long, value_name = "DURATION", value_parser = positive)]
    pub(crate) timeout: Option<Duration>,
    /// Write images and sound into files of this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// `search`.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What the tool should do
    pub(crate) query: Option<String>,
    /// The most hits
    #[arg(long, value_name = "N", default_value = "10", value_parser = count)]
    pub(crate) limit: usize,
    /// Show what matched, where, and what it added to the score
    #[arg(long)]
    pub(crate) explain: bool,
    /// One query on each line of a file (`-` is stdin); prints a line of JSON for each
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pub(crate) batch: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// `recall`.
#[derive(Debug, Args)]
pub(crate) struct Recall {
    /// Lines of `{"id", "query", "relevant": [names], "groups": [[names]]?}`
    pub(crate) file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// `play`.
#[derive(Debug, Args)]
pub(crate) struct Play {
    /// The scenario, with its deployment or the name of one
    #[arg(value_name = "SCENARIO")]
    pub(crate) file: PathBuf,
    /// Print the trace as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `view`.
#[derive(Debug, Args)]
pub(crate) struct View {
    /// The screen
    #[arg(value_name = "SCREEN", value_parser = screens())]
    pub(crate) screen: ScreenId,
    /// Print when that much time has passed, instead of when the servers have settled
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) after: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) stdio: Stdio,
}

/// The screens by name, so that a wrong one is answered with all of them.
fn screens() -> impl TypedValueParser<Value = ScreenId> {
    let names = ScreenId::ALL.map(|screen| screen.title().to_ascii_lowercase());
    PossibleValuesParser::new(names)
        .try_map(|name| ScreenId::named(&name).ok_or("there is no such screen"))
}

/// A duration.
fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

/// A duration above zero.
fn positive(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration.is_zero() {
        return Err("it must be longer than nothing".into());
    }
    Ok(duration)
}

/// A number of 1 or more.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more".into()),
        Ok(count) => Ok(count),
        Err(_) => Err("write a whole number".into()),
    }
}

/// `KEY=VALUE`, split at the first `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some(("", _)) => Err("there is no key before the `=`".into()),
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err("write it as `key=value`".into()),
    }
}
