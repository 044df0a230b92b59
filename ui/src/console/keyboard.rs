//! Reads the terminal on a thread of its own. `crossterm` never returns once its terminal has hung
//! up, so the thread asks the kernel first and reads only when there is something to read; if it
//! is caught in between all the same, only this thread hangs and the process still ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use crossterm::event;
use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc;

use super::event::Event;

/// How many keys may wait; beyond that the terminal keeps them.
const WAITING: usize = 256;

/// How long `crossterm` is asked to look for a key. Its source for `use-dev-tty` finds nothing in no
/// time at all. That source is used because the other one forgets keys that come together with a
/// new size until the next key is pressed.
const SHORTEST: Duration = Duration::from_millis(1);

/// What came from the terminal.
pub(super) enum Typed {
    /// Somebody did something.
    Event(Event),
    /// There is no terminal any more.
    Gone,
}

/// Starts reading. The thread ends when the receiver is dropped or the terminal is gone.
pub(super) fn start() -> io::Result<mpsc::Receiver<Typed>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let terminal = Terminal::open()?;
    std::thread::Builder::new()
        .name("keyboard".into())
        .spawn(move || {
            while !sender.is_closed() {
                match terminal.read(&sender) {
                    Ok(true) => {}
                    Ok(false) | Err(_) => {
                        let _ = sender.blocking_send(Typed::Gone);
                        return;
                    }
                }
            }
        })?;
    Ok(receiver)
}

/// The file that `crossterm` reads from, by its own rule.
enum Terminal {
    Stdin(io::Stdin),
    Tty(File),
}

impl Terminal {
    fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if io::IsTerminal::is_terminal(&stdin) {
            Ok(Self::Stdin(stdin))
        } else {
            File::open("/dev/tty").map(Self::Tty)
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stdin(stdin) => stdin.as_fd(),
            Self::Tty(tty) => tty.as_fd(),
        }
    }

    /// Waits a little and passes on what came; `false` when the terminal is gone.
    fn read(&self, sender: &mpsc::Sender<Typed>) -> io::Result<bool> {
        let fd = self.fd();
        let mut polled = [PollFd::new(&fd, PollFlags::IN)];
        // The wait is bounded so that a dropped receiver is noticed.
        let wait = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 200_000_000,
        };
        match poll(&mut polled, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(true),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let seen = polled[0].revents();
        if seen.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Ok(false);
        }
        while event::poll(SHORTEST)? {
            let event = match event::read()? {
                event::Event::Key(key) => Event::Key(key),
                event::Event::Mouse(mouse) => Event::Mouse(mouse),
                event::Event::Paste(text) => Event::Paste(text),
                event::Event::Resize(columns, rows) => Event::Resize(columns, rows),
                event::Event::FocusGained | event::Event::FocusLost => continue,
            };
            if sender.blocking_send(Typed::Event(event)).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
