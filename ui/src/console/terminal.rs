//! Takes the terminal over and gives it back, whatever happens in between.

use std::io::{self, Stdout, Write as _};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{clipboard::CopyToClipboard, cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// The terminal while the console has it. Gives it back when dropped.
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
    _taken: Taken,
}

/// Gives the terminal back when dropped, also where taking it has failed half way.
struct Taken(Arc<AtomicBool>);

impl Drop for Taken {
    fn drop(&mut self) {
        give_back(&self.0);
    }
}

impl Screen {
    /// Raw mode, the alternate screen, bracketed paste. The thread that calls this is the
    /// console's: only its panic gives the terminal back from the hook. A tool that panics on
    /// another thread is caught there and must leave the screen alone.
    pub(super) fn take() -> io::Result<Self> {
        let taken = Taken(Arc::new(AtomicBool::new(true)));
        hook(thread::current().id(), Arc::clone(&taken.0));
        enable_raw_mode()?;
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            cursor::Hide
        )?;
        Ok(Self {
            terminal: Terminal::new(CrosstermBackend::new(io::stdout()))?,
            _taken: taken,
        })
    }

    /// Puts text on the terminal's clipboard (OSC 52).
    pub(super) fn copy(text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Rings the terminal's bell, which shows or sounds as the operator has set it.
    pub(super) fn bell() {
        let mut out = io::stdout();
        // A terminal that is gone is noticed by the next frame.
        let _ = out.write_all(b"\x07").and_then(|()| out.flush());
    }

    /// Switches mouse reports.
    pub(super) fn mouse(on: bool) -> io::Result<()> {
        match on {
            true => execute!(io::stdout(), EnableMouseCapture),
            false => execute!(io::stdout(), DisableMouseCapture),
        }
    }
}

/// Gives the terminal back, once.
fn give_back(taken: &AtomicBool) {
    if taken.swap(false, Ordering::SeqCst) {
        // Nothing can be done about a terminal that is gone.
        let _ = execute!(
            io::stdout(),
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            cursor::Show
        );
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// While the screen is taken a panic of another thread goes to the log, not to the screen.
fn hook(own: ThreadId, taken: Arc<AtomicBool>) {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !taken.load(Ordering::SeqCst) {
            before(info);
        } else if thread::current().id() == own {
            give_back(&taken);
            before(info);
        } else {
            tracing::error!(target: "panic", "{info}");
        }
    }));
}
