//! The loop: keys, snapshots, answers and time become events; commands become tasks; the pacer
//! says when to draw. Nothing here waits for a command.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ratatui::layout::Rect;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolcrib::clock::Stamp;
use toolcrib::control::{Control, Pace, SessionAnswer};
use toolcrib::discovery::what_if::{WhatIfError, what_if};
use toolcrib::registry::CloseFailure;
use toolcrib::runtime::Runtime;
use toolcrib::tool::Part;

use super::command::{Answer, Command, NotDone, OrderId, SessionCommand, SessionDone};
use super::event::Event;
use super::keyboard::{self, Typed};
use super::log::{LogRecord, LogTap};
use super::pacer::FramePacer;
use super::screens::traffic;
use super::shared::Options;
use super::signals::{End, HangUps, Resizes};
use super::state::State;
use super::terminal::Screen;
use super::update::update;
use super::view::view;
use crate::commands::media;
use crate::{demo, scenarios};

/// How often time is taken in: ages are shown in whole seconds.
const TICK: Duration = Duration::from_secs(1);

/// The pause between two rounds of a scenario until the operator changes it: enough to read a note.
const PLAY: Duration = Duration::from_secs(2);

/// Why the console could not be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsoleError {
    /// The terminal refuses.
    #[error(
        "the console needs a terminal: {0}; `toolcrib view SCREEN` prints a screen without one"
    )]
    Terminal(#[source] io::Error),
}

/// Shows the console until the operator quits, a signal comes or the terminal goes away; then
/// gives the terminal back and shuts the runtime down. Gives what could not be closed.
pub(crate) async fn run(
    runtime: Runtime,
    options: Options,
) -> Result<Vec<CloseFailure>, ConsoleError> {
    let shown = show(&runtime, options).await;
    let failures = runtime.shutdown().await;
    shown.map_err(ConsoleError::Terminal)?;
    Ok(failures)
}

async fn show(runtime: &Runtime, options: Options) -> io::Result<()> {
    let mut end = End::new()?;
    let mut hang_ups = HangUps::new()?;
    let mut resizes = Resizes::new()?;
    // From here on calls that need an approval are asked for here instead of denied; a console
    // that may not answer leaves them denied.
    let _desk = (!options.read_only).then(|| runtime.approvals().attach());
    let mut snapshots = runtime.snapshot();
    let first = Arc::clone(&snapshots.borrow_and_update());
    let mut screen = Screen::take()?;
    let mut keys = keyboard::start()?;
    let (columns, rows) = crossterm::terminal::size()?;
    let logs = options.logs.clone();
    let mut state = State::new(options, &first, (columns, rows));
    let mut work = Work::new(runtime.control());
    let mut pacer = FramePacer::default();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    pacer.request();
    loop {
        let now = Instant::now();
        if pacer.take(now) {
            // A terminal that is gone ends the console; there is nobody to show the error to.
            if screen.terminal.draw(|frame| view(&state, frame)).is_err() {
                return Ok(());
            }
        }
        let frame = pacer.deadline(Instant::now());
        let event = tokio::select! {
            biased;
            () = end.wait() => return Ok(()),
            // A terminal that went away is seen by its keys.
            () = hang_ups.wait() => Event::HangUp,
            typed = keys.recv() => match typed {
                Some(Typed::Event(event)) => event,
                Some(Typed::Gone) | None => return Ok(()),
            },
            (columns, rows) = resizes.wait() => {
                // The size may have changed and changed back, and what was cut off in between is
                // lost: only drawing everything anew makes sure of the screen. (`clear` would ask
                // the terminal for its cursor, and read keys for the answer.)
                let area = Rect::new(0, 0, columns, rows);
                if screen.terminal.resize(area).is_err() {
                    return Ok(());
                }
                Event::Resize(columns, rows)
            }
            Some((id, answer)) = work.answers.recv() => Event::Answered(id, answer),
            () = sleep_until(frame) => continue,
            Ok(()) = snapshots.changed() => {
                Event::Snapshot(Arc::clone(&snapshots.borrow_and_update()))
            }
            lines = new_lines(logs.as_ref()) => Event::Logs(lines),
            _ = tick.tick() => Event::Tick(Stamp::now()),
        };
        for command in update(&mut state, event) {
            if work.perform(command).is_break() {
                return Ok(());
            }
        }
        pacer.request();
    }
}

/// Waits for the deadline, or for ever where there is none.
async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for lines of the log and takes them; for ever where there is no log.
async fn new_lines(logs: Option<&LogTap>) -> Vec<Arc<LogRecord>> {
    match logs {
        Some(logs) => {
            logs.more().await;
            // `tui-logger` shows only what was moved out of the place where it is written to.
            tui_logger::move_events();
            logs.take()
        }
        None => std::future::pending().await,
    }
}

/// The tasks that commands became. They end with it.
struct Work {
    control: Control,
    tasks: JoinSet<()>,
    sender: mpsc::Sender<(OrderId, Answer)>,
    answers: mpsc::Receiver<(OrderId, Answer)>,
    /// What scenarios on the demo's deployment need while they play. As many as were played; they
    /// end with the console.
    hosts: Arc<Mutex<Vec<demo::Running>>>,
}

impl Work {
    fn new(control: Control) -> Self {
        // A task whose answer finds no room waits; nobody else does.
        let (sender, answers) = mpsc::channel(64);
        Self {
            control,
            tasks: JoinSet::new(),
            sender,
            answers,
            hosts: Arc::default(),
        }
    }

    fn perform(&mut self, command: Command) -> std::ops::ControlFlow<()> {
        while self.tasks.try_join_next().is_some() {}
        let control = self.control.clone();
        match command {
            Command::Server {
                id,
                source,
                server,
                order,
            } => self.spawn(id, async move {
                Answer::Server(control.server(&source, &server, order).await)
            }),
            Command::Authorize { id, source, server } => self.spawn(id, async move {
                Answer::Authorize(control.authorize(&source, &server).await)
            }),
            Command::Accept {
                id,
                source,
                server,
                tool,
            } => self.spawn(id, async move {
                Answer::Server(control.accept(&source, &server, tool.as_deref()).await)
            }),
            Command::Reply {
                id,
                question,
                answer,
            } => self.spawn(id, async move {
                Answer::Decided(control.reply(question, answer).await)
            }),
            Command::Reload { id } => {
                self.spawn(id, async move { Answer::Server(control.reload().await) });
            }
            Command::Call { id, call } => self.spawn(id, async move {
                Answer::Called(Box::new(control.call(*call).await))
            }),
            Command::Preview {
                id,
                tool,
                arguments,
            } => self.spawn(id, async move {
                Answer::Previewed(control.preview(&tool, arguments).await)
            }),
            Command::Decide {
                id,
                question,
                decision,
            } => self.spawn(id, async move {
                Answer::Decided(control.answer(question, decision).await)
            }),
            Command::Cancel { id, call } => {
                self.spawn(
                    id,
                    async move { Answer::Cancelled(control.cancel(call).await) },
                )
            }
            Command::Layer { id, layer, order } => self.spawn(id, async move {
                Answer::Layer(control.layer(&layer, order).await)
            }),
            Command::SaveFiles { id, files } => self.spawn(id, async move {
                let mut written = Vec::new();
                for (name, text) in files {
                    match save(&name, text).await {
                        Ok(place) => written.push(place),
                        Err(error) => return Answer::Saved(Err(error)),
                    }
                }
                Answer::Saved(Ok(written.join(" and ")))
            }),
            Command::Session { id, order } => {
                let hosts = Arc::clone(&self.hosts);
                self.spawn(id, async move {
                    Answer::Session(session(control, hosts, order).await)
                });
            }
            Command::WhatIf {
                id,
                rounds,
                changes,
            } => self.spawn(id, async move {
                // Hundreds of rounds take a while, and may have to be ranked anew.
                let play = move || what_if(&rounds, &changes).map(Box::new);
                let played = tokio::task::spawn_blocking(play).await;
                Answer::WhatIf(played.unwrap_or(Err(WhatIfError::BrokenOff)))
            }),
            Command::Save { id, name, text } => {
                self.spawn(id, async move { Answer::Saved(save(&name, text).await) });
            }
            Command::SaveParts { id, tool, parts } => {
                self.spawn(
                    id,
                    async move { Answer::Saved(save_parts(tool, parts).await) },
                )
            }
            Command::SaveFrames { id, name, frames } => self.spawn(id, async move {
                // Thousands of messages: not on a thread that others wait for.
                let text = tokio::task::spawn_blocking(move || {
                    traffic::lines(frames.iter().map(|frame| &**frame))
                });
                Answer::Saved(match text.await {
                    Ok(text) => save(&name, text).await,
                    Err(error) => Err(error.to_string()),
                })
            }),
            Command::Copy(text) => {
                let _ = Screen::copy(&text);
            }
            Command::Bell => Screen::bell(),
            Command::Mouse(on) => {
                let _ = Screen::mouse(on);
            }
            Command::Quit => return std::ops::ControlFlow::Break(()),
        }
        std::ops::ControlFlow::Continue(())
    }

    fn spawn(&mut self, id: OrderId, work: impl Future<Output = Answer> + Send + 'static) {
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            let answer = work.await;
            // The console has gone: nobody waits.
            let _ = sender.send((id, answer)).await;
        });
    }
}

/// Gives an order that concerns sessions.
async fn session(
    control: Control,
    hosts: Arc<Mutex<Vec<demo::Running>>>,
    order: SessionCommand,
) -> Result<SessionDone, NotDone> {
    let answer = match order {
        SessionCommand::Open => {
            let opened = control.open_session(None, Vec::new()).await;
            opened.map(SessionDone::Opened)
        }
        SessionCommand::Play(script) => {
            let read = tokio::task::spawn_blocking(move || scenarios::read(&script)).await;
            let read = read.map_err(|error| NotDone::Said(error.to_string()))?;
            let (scenario, host) = read.map_err(NotDone::Unreadable)?;
            if let Some(host) = host {
                let running = host.start().await;
                hosts.lock().push(running);
            }
            let opened = control.play(scenario, Pace::Play, PLAY).await;
            opened.map(SessionDone::Opened)
        }
        SessionCommand::Order(id, order) => {
            let answer = control.session(id, order).await;
            answer.map(|answer| match answer {
                SessionAnswer::Ran(report) => SessionDone::Ran(report),
                SessionAnswer::Done(done) => SessionDone::Said(done),
            })
        }
        SessionCommand::Expose(tool, mode) => {
            let back = mode.is_none();
            control.expose(&tool, mode).await.map(|mode| {
                let mode = mode.as_str();
                SessionDone::Said(match back {
                    true => format!("`{tool}` is {mode} again, as the deployment says"),
                    false => format!(
                        "`{tool}` is {mode} in this process; sessions see it in their next round"
                    ),
                })
            })
        }
    };
    answer.map_err(|error| NotDone::Said(error.to_string()))
}

/// Writes the parts of a result to new files in the working directory.
async fn save_parts(tool: Arc<str>, parts: Arc<[Part]>) -> Result<String, String> {
    let dir = std::env::current_dir().map_err(|error| error.to_string())?;
    let written = tokio::task::spawn_blocking(move || media::save_all(&dir, &tool, &parts)).await;
    match written {
        Ok(Ok(files)) => {
            let names: Vec<String> = files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            Ok(names.join(", "))
        }
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes a new file in the working directory; an existing one is never overwritten.
async fn save(name: &str, text: String) -> Result<String, String> {
    let place: PathBuf = std::env::current_dir()
        .map_err(|error| error.to_string())?
        .join(name);
    let shown = place.display().to_string();
    let written = tokio::task::spawn_blocking(move || {
        use std::io::Write as _;
        std::fs::File::create_new(&place)?.write_all(text.as_bytes())
    });
    match written.await {
        Ok(Ok(())) => Ok(shown),
        Ok(Err(error)) => Err(format!("{shown}: {error}")),
        Err(error) => Err(error.to_string()),
    }
}
