//! Panics while a command runs. On the thread of the command itself one is a bug of this program
//! and is told as Rust tells it. On any other thread it ends a task whose owner learns of it, such
//! as the call of a tool, which becomes an error result: one line in the log is enough, and there
//! secrets are masked and `--quiet` and `--log-file` count.

use std::any::Any;
use std::panic::{self, PanicHookInfo};
use std::thread;

/// From now on panics of other threads than this one go to the log.
pub(super) fn to_the_log() {
    let own = thread::current().id();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| match thread::current().id() == own {
        true => before(info),
        false => log(info),
    }));
}

fn log(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    let place = place.as_deref().unwrap_or("a place that is not known");
    tracing::error!(target: "panic", "panic at {place}: {}", words(info.payload()));
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value that is no text")
}
