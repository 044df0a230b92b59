//! Standard output: results alone, coloured on a terminal alone, and quiet when the reader has gone.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use serde::Serialize;

use super::failure::Failure;
use crate::text::{Lines, Marks, clean, one_line};

/// What a piece of text means; its colour comes from the terminal's own palette.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Headings.
    Strong,
    /// Less important than the rest.
    Quiet,
    /// As it should be.
    Good,
    /// Worth a look.
    Warn,
    /// Broken.
    Bad,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Quiet => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }
}

/// How a stream takes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether a person reads it at a terminal.
    pub(crate) terminal: bool,
    /// Whether colours are wanted.
    pub(crate) colour: bool,
    /// Whether anything beyond ASCII is unwelcome.
    pub(crate) ascii: bool,
    /// Columns and rows of the terminal, where there is one.
    pub(crate) size: Option<(u16, u16)>,
}

impl Look {
    /// How this process' stdout takes text.
    pub(crate) fn of_stdout(ascii: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let size = terminal
            .then(crossterm::terminal::size)
            .and_then(Result::ok);
        Self {
            terminal,
            colour: terminal && colours_wanted(),
            ascii,
            size,
        }
    }

    /// How this process' stderr takes text.
    pub(crate) fn of_stderr(ascii: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            terminal,
            colour: terminal && colours_wanted(),
            ascii,
            size: None,
        }
    }

    /// Which characters stand for what cannot be shown.
    pub(crate) fn marks(&self) -> Marks {
        if self.ascii {
            Marks::Ascii
        } else {
            Marks::Unicode
        }
    }

    /// Text from elsewhere on one line, with nothing in it that a terminal would obey.
    pub(crate) fn line(&self, text: &str) -> String {
        one_line(&clean(text, Lines::Many, self.marks())).into_owned()
    }

    /// The same on as many lines as it has.
    pub(crate) fn block(&self, text: &str) -> String {
        clean(text, Lines::Many, self.marks()).into_owned()
    }

    /// The text in its tone.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        match (self.colour, tone.code()) {
            (true, code) if !code.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

/// <https://no-color.org>: any value but an empty one; and a terminal that cannot.
pub(crate) fn colours_wanted() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Where results go.
pub(crate) struct Out<W: Write> {
    writer: W,
    look: Look,
    failed: Option<io::Error>,
}

impl Out<BufWriter<io::StdoutLock<'static>>> {
    /// This process' stdout.
    pub(crate) fn stdout(ascii: bool) -> Self {
        Self::new(BufWriter::new(io::stdout().lock()), Look::of_stdout(ascii))
    }
}

impl<W: Write> Out<W> {
    /// Results into a writer.
    pub(crate) fn new(writer: W, look: Look) -> Self {
        Self {
            writer,
            look,
            failed: None,
        }
    }

    /// How the reader takes text.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Writes text as it is. After a failure nothing is written any more; [`Out::finish`] tells.
    pub(crate) fn text(&mut self, text: &str) {
        if self.failed.is_none()
            && let Err(error) = self.writer.write_all(text.as_bytes())
        {
            self.failed = Some(error);
        }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.text(line);
        self.text("\n");
    }

    /// Writes one JSON document: on one line for programs, indented for people.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        let text = if self.look.terminal {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        match text {
            Ok(text) => self.line(&text),
            Err(error) => self.failed = Some(error.into()),
        }
    }

    /// Flushes. A reader that has gone is no failure: it has seen what it wanted.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let result = match self.failed {
            Some(error) => Err(error),
            None => self.writer.flush(),
        };
        match result {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::Failed(format!("cannot write to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Look = Look {
        terminal: false,
        colour: false,
        ascii: false,
        size: None,
    };

    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is() {
        let written = |kind| {
            let mut out = Out::new(Failing(kind), PIPE);
            out.line("a");
            out.line("b");
            out.finish().map_err(|failure| failure.code())
        };
        assert_eq!(written(io::ErrorKind::BrokenPipe), Ok(()));
        assert_eq!(written(io::ErrorKind::StorageFull), Err(1));
    }

    #[test]
    fn programs_get_json_on_one_line_and_people_get_it_indented() {
        let written = |terminal| {
            let mut bytes = Vec::new();
            let mut out = Out::new(&mut bytes, Look { terminal, ..PIPE });
            out.json(&serde_json::json!({"a": 1}));
            out.finish().unwrap();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(written(false), "{\"a\":1}\n");
        assert_eq!(written(true), "{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn colours_are_only_written_where_they_are_wanted() {
        let look = Look {
            colour: true,
            ..PIPE
        };
        assert_eq!(look.paint(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(look.paint(Tone::Plain, "x"), "x");
        assert_eq!(PIPE.paint(Tone::Bad, "x"), "x");
    }
}
