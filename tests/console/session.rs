//! A console on a pseudo-terminal. Everything waits for a state of the screen or of the process.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use portable_pty::{CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Long enough for a machine that does much else at the same time.
const PATIENCE: Duration = Duration::from_secs(60);

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

type Shared = Arc<(Mutex<vt100::Parser>, Condvar)>;

pub(crate) struct Session {
    /// The other side of the terminal; `None` once it is closed.
    terminal: Option<(Box<dyn MasterPty + Send>, Box<dyn Write + Send>)>,
    shown: Shared,
    ended: Receiver<ExitStatus>,
    /// Whether the program has been waited for.
    over: bool,
    pid: u32,
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn at_least_one(value: u16) -> NonZeroU16 {
    NonZeroU16::new(value).unwrap_or(NonZeroU16::MIN)
}

impl Session {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    pub(crate) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::begin(arguments, environment, None)
    }

    /// Reads what is shown until a text comes and no further, so that nothing but this value holds
    /// the terminal open.
    pub(crate) fn start_until(arguments: &[&str], last: &'static str) -> Self {
        Self::begin(arguments, &[], Some(last))
    }

    fn begin(arguments: &[&str], environment: &[(&str, &str)], last: Option<&'static str>) -> Self {
        let pair = native_pty_system().openpty(size(COLUMNS, ROWS)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_toolcrib"));
        command.args(arguments);
        command.cwd(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
        command.env("TERM", "xterm-256color");
        // Whatever the person who runs the tests has set up.
        command.env_remove("TOOLCRIB_CONFIG");
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        command.env_remove("NO_COLOR");
        for (name, value) in environment {
            command.env(name, value);
        }
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let pid = child.process_id().unwrap();
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let _ = sender.send(child.wait().unwrap());
        });
        let parser = vt100::Parser::new(at_least_one(ROWS), at_least_one(COLUMNS), 0);
        let shown: Shared = Arc::new((Mutex::new(parser), Condvar::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let sink = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 8_192];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let mut parser = sink.0.lock().unwrap();
                parser.process(&buffer[..count]);
                sink.1.notify_all();
                if last.is_some_and(|last| parser.screen().contents().contains(last)) {
                    return;
                }
            }
        });
        Self {
            terminal: Some((pair.master, writer)),
            shown,
            ended,
            over: false,
            pid,
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        let (_, writer) = self.terminal.as_mut().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Closes the terminal.
    pub(crate) fn close(&mut self) {
        self.terminal = None;
    }

    /// Whether the terminal shows what is typed and gives whole lines, as a shell wants it.
    pub(crate) fn echoes(&self) -> String {
        let (master, _) = self.terminal.as_ref().unwrap();
        format!("{:?}", master.get_termios().unwrap().local_flags)
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let (columns_, rows_) = (at_least_one(columns), at_least_one(rows));
        self.shown
            .0
            .lock()
            .unwrap()
            .screen_mut()
            .set_size(rows_, columns_);
        let (master, _) = self.terminal.as_ref().unwrap();
        master.resize(size(columns, rows)).unwrap();
    }

    pub(crate) fn screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shown.0.lock().unwrap().screen())
    }

    pub(crate) fn wait_for(&self, what: &str, is: impl Fn(&vt100::Screen) -> bool) {
        let parser = self.shown.0.lock().unwrap();
        let waited = self
            .shown
            .1
            .wait_timeout_while(parser, PATIENCE, |parser| !is(parser.screen()));
        let (parser, timeout) = waited.unwrap();
        let contents = parser.screen().contents();
        assert!(
            !timeout.timed_out(),
            "no sign of {what}; shown is:\n{contents}"
        );
    }

    /// Waits until the terminal is as a shell wants it back. What a program wrote last may still be
    /// on its way here when it has ended.
    pub(crate) fn is_given_back(&self) {
        self.wait_for("the terminal", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
        });
    }

    /// Waits for the end and gives the exit code.
    pub(crate) fn exit(&mut self) -> u32 {
        let status = self.ended.recv_timeout(PATIENCE);
        self.over = status.is_ok();
        let status = status.unwrap_or_else(|_| {
            let contents = self.screen(|screen| screen.contents());
            panic!("it does not end; shown is:\n{contents}")
        });
        status.exit_code()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid.to_string();
        let status = std::process::Command::new("kill")
            .args(["-s", name, &pid])
            .status();
        assert!(status.unwrap().success());
    }

    /// The processes that it has started.
    pub(crate) fn children(&self) -> Vec<u32> {
        let is_child = |pid: u32| parent(pid) == Some(self.pid);
        let entries = std::fs::read_dir("/proc").unwrap();
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid| is_child(*pid))
            .collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After a failed assertion: nothing may outlive the test.
        if !self.over && self.ended.try_recv().is_err() {
            let pid = self.pid.to_string();
            let _ = std::process::Command::new("kill")
                .args(["-s", "TERM", &pid])
                .status();
        }
    }
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold blanks.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The children were waited for before the program ended: they are gone at once.
pub(crate) fn assert_gone(pids: &[u32]) {
    for pid in pids {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains("demo-server"), "{pid} still runs: {line}");
    }
}
