//! Colours and signs. Colours are the sixteen of the terminal's own palette; every sign has a form
//! in ASCII, and no meaning hangs on a colour alone.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

use crate::text::Marks;

/// How things look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    /// Whether colours may be used (`NO_COLOR`).
    pub(crate) colour: bool,
    /// Which signs may be used (`--ascii`).
    pub(crate) marks: Marks,
}

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Health {
    /// Works.
    Good,
    /// On its way.
    Busy,
    /// May stop working, or wants a decision.
    Warning,
    /// Does not work.
    Bad,
    /// Not there on purpose, or not known.
    Off,
}

impl Theme {
    /// Whether only ASCII may be drawn.
    pub(crate) fn ascii(self) -> bool {
        self.marks == Marks::Ascii
    }

    fn fg(self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    /// Plain text.
    pub(crate) fn text(self) -> Style {
        Style::new()
    }

    /// Text of less weight: labels, units.
    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Text of more weight: numbers, names.
    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Column heads and section titles.
    pub(crate) fn title(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// A key that can be pressed.
    pub(crate) fn key(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The selected row of the pane that has the focus.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The selected row, as the focus of its pane makes it.
    pub(crate) fn selection(self, focused: bool) -> Style {
        match focused {
            true => self.selected(),
            false => self.selected_elsewhere(),
        }
    }

    /// The selected row of a pane without the focus.
    pub(crate) fn selected_elsewhere(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// What a search found.
    pub(crate) fn found(self) -> Style {
        self.fg(Color::Yellow)
            .add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// The border of a pane.
    pub(crate) fn border(self, focused: bool) -> Style {
        if focused {
            self.fg(Color::Cyan)
        } else {
            self.dim()
        }
    }

    /// Bars and charts.
    pub(crate) fn bar(self) -> Style {
        self.fg(Color::Blue)
    }

    /// The style of a health.
    pub(crate) fn health(self, health: Health) -> Style {
        match health {
            Health::Good => self.fg(Color::Green),
            Health::Busy => self.fg(Color::Cyan),
            Health::Warning => self.fg(Color::Yellow),
            Health::Bad => self.fg(Color::Red).add_modifier(Modifier::BOLD),
            Health::Off => self.dim(),
        }
    }

    /// The sign of a health, one cell wide.
    pub(crate) fn mark(self, health: Health) -> &'static str {
        match (health, self.marks) {
            (Health::Good, Marks::Unicode) => "●",
            (Health::Busy, Marks::Unicode) => "◌",
            (Health::Warning, Marks::Unicode) => "▲",
            (Health::Bad, Marks::Unicode) => "✖",
            (Health::Off, Marks::Unicode) => "○",
            (Health::Good, Marks::Ascii) => "+",
            (Health::Busy, Marks::Ascii) => "~",
            (Health::Warning, Marks::Ascii) => "!",
            (Health::Bad, Marks::Ascii) => "x",
            (Health::Off, Marks::Ascii) => "-",
        }
    }

    /// The sign for a value that does not exist.
    pub(crate) fn none(self) -> &'static str {
        self.pick("–", "-")
    }

    /// One of two signs.
    pub(crate) fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self.marks {
            Marks::Unicode => unicode,
            Marks::Ascii => ascii,
        }
    }

    /// The signs of bars, from empty to full.
    pub(crate) fn levels(self) -> &'static [&'static str] {
        match self.marks {
            Marks::Unicode => &[" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
            Marks::Ascii => &[" ", ".", ":", "|", "#"],
        }
    }

    /// The signs of borders.
    pub(crate) fn border_set(self) -> border::Set<'static> {
        match self.marks {
            Marks::Unicode => border::PLAIN,
            Marks::Ascii => border::Set {
                top_left: "+",
                top_right: "+",
                bottom_left: "+",
                bottom_right: "+",
                vertical_left: "|",
                vertical_right: "|",
                horizontal_top: "-",
                horizontal_bottom: "-",
            },
        }
    }
}
