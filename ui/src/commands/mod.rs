//! The commands: each reads its arguments, does one thing, and prints one result.

mod arguments;
mod call;
mod check;
mod console;
pub(crate) mod export;
mod failure;
mod headless;
pub(crate) mod media;
pub(crate) mod metrics;
mod output;
mod panics;
mod play;
mod recall;
mod reference;
mod search;
mod servers;
mod signals;
mod table;
mod tools;
mod view;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

pub(crate) use failure::Failure;

use crate::cli::{Cli, Command, Global};
use crate::opening::{self, Opened};
use crate::{demo, logging};
use arguments::Typed;
use output::{Look, Tone};

/// How long work that nobody waits for any more may hold up the end of the program.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Does what was typed, says on stderr what went wrong, and answers with the exit code.
pub(crate) fn main(cli: Cli) -> ExitCode {
    let failure = match cli.command {
        Some(Command::DemoServer(server)) => return demo::run(server),
        Some(command) => run(command, &cli.global, &cli.stdio.server),
        None => console::run(&cli.global, &cli.stdio.server),
    };
    match failure {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure, &cli.global);
            ExitCode::from(failure.code())
        }
    }
}

/// Tells a failure on stderr.
fn report(failure: &Failure, global: &Global) {
    let text = failure.to_string();
    if text.is_empty() {
        return;
    }
    let look = Look::of_stderr(global.ascii);
    let painted = look.paint(Tone::Bad, &look.block(&text));
    // Nobody is left to be told that stderr is closed.
    let _ = writeln!(io::stderr(), "{painted}");
}

fn run(command: Command, global: &Global, server: &[String]) -> Result<(), Failure> {
    let server = match command.stdio() {
        [] => server,
        named => named,
    };
    if global.metrics.is_some() && !command.runs_on() {
        return Err(Failure::Usage(
            "`--metrics` is for what keeps running: the console and `play`".into(),
        ));
    }
    match &command {
        Command::Check(args) => check::run(
            opening::open(global, server),
            global,
            args.strict,
            args.json,
        ),
        Command::Servers(args) => with_deployment(global, server, async |opened| {
            servers::run(opened, global, args.json).await
        }),
        Command::Tools(args) => with_deployment(global, server, async |opened| {
            tools::run(opened, global, args.json).await
        }),
        Command::Call(args) => {
            // Before anything is started: what was typed wrong is told at once.
            let typed = Typed::read(args.arguments.as_deref(), &args.arg)?;
            with_deployment(global, server, async |opened| {
                call::run(opened, global, args, &typed).await
            })
        }
        Command::Search(args) => {
            let queries = search::Queries::read(args)?;
            with_deployment(global, server, async |opened| {
                search::run(opened, global, args, &queries).await
            })
        }
        Command::Recall(args) => {
            let queries = recall::read(&args.file)?;
            with_deployment(global, server, async |opened| {
                recall::run(opened, global, args, &queries).await
            })
        }
        Command::Play(args) => {
            let (opened, scenario) = opening::open_scenario(global, server, &args.file)?;
            with_opened(opened, global, async |opened| {
                play::run(opened, global, args, scenario).await
            })
        }
        Command::View(args) => with_deployment(global, server, async |opened| {
            view::run(opened, global, args).await
        }),
        Command::Import { file } => reference::import(file, global),
        Command::Schema => reference::schema(global),
        Command::Completions { shell } => reference::completions(*shell, global),
        Command::Man => reference::man(global),
        // `main` has taken it.
        Command::DemoServer(_) => Ok(()),
    }
}

/// Reads the deployment that is meant, and does the work on it.
fn with_deployment(
    global: &Global,
    server: &[String],
    work: impl AsyncFnOnce(&Opened) -> Result<(), Failure>,
) -> Result<(), Failure> {
    with_opened(opening::open(global, server)?, global, work)
}

/// Starts the log, and does the work within a tokio runtime. No secret of the deployment is in
/// what this fails with.
fn with_opened(
    opened: Opened,
    global: &Global,
    work: impl AsyncFnOnce(&Opened) -> Result<(), Failure>,
) -> Result<(), Failure> {
    logging::start(global, &opened.secrets)?;
    tracing::info!("the deployment is `{}`", opened.deployment.origin.name);
    for note in &opened.notes {
        tracing::info!("{note}");
    }
    for warning in &opened.warnings {
        tracing::warn!("{warning}");
    }
    panics::to_the_log();
    let runtime = threads()?;
    let result = runtime.block_on(work(&opened));
    runtime.shutdown_timeout(LAST_WORDS);
    result.map_err(|failure| failure.masked(&opened.secrets))
}

/// The threads that everything asynchronous runs on.
fn threads() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Runtime::new()
        .map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))
}
