//! No command: the console.

use std::io::{self, IsTerminal as _};

use super::Failure;
use super::headless::{start_to_stay, stop};
use super::output::colours_wanted;
use super::{export, metrics};
use toolcrib::source::mcp::Questions;

use crate::cli::Global;
use crate::console::{self, Options};
use crate::{logging, opening};

/// Shows the console until the operator quits.
pub(crate) fn run(global: &Global, server: &[String]) -> Result<(), Failure> {
    // Before anything is started: without a terminal nothing could be shown.
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "the console needs a terminal; name a command, or `view SCREEN` to print a screen \
             without one"
                .into(),
        ));
    }
    let opened = opening::open(global, server)?;
    let (layer, logs) = console::log_layer(opened.secrets.clone(), global.ascii);
    logging::start_console(global, &opened.secrets, layer)?;
    let runtime = super::threads()?;
    let result = runtime.block_on(async {
        // Before the first server connects: it is told then whether it may ask. A console that may
        // not answer leaves everything declined.
        let questions = Questions::default();
        let _seat = (!global.read_only).then(|| questions.attach());
        let (runtime, host) = start_to_stay(&opened, global.assembly.as_deref(), questions).await?;
        let options = Options {
            read_only: global.read_only,
            ascii: global.ascii,
            colour: colours_wanted(),
            logs: Some(logs),
            ..Options::default()
        };
        let metrics = match metrics::serve(global.metrics, &runtime).await {
            Ok(metrics) => metrics,
            Err(failure) => {
                runtime.shutdown().await;
                stop(host).await;
                return Err(failure);
            }
        };
        let shown = console::run(runtime, options).await;
        drop(metrics);
        stop(host).await;
        export::flush().await;
        match shown {
            Ok(failures) => {
                for failure in failures {
                    eprintln!("{failure}");
                }
                Ok(())
            }
            Err(error) => Err(Failure::Usage(error.to_string())),
        }
    });
    runtime.shutdown_timeout(super::LAST_WORDS);
    result.map_err(|failure| failure.masked(&opened.secrets))
}
