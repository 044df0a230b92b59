//! One line being typed: the settings of a layer, or a fault drill. What it comes to is asked about
//! before it is done. Pure.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};
use toolcrib::control::LayerOrder;
use toolcrib::deployment::document::parse_duration;
use toolcrib::deployment::read_layer;
use toolcrib::middleware::Drill;
use toolcrib::middleware::settings::FaultSettings;
use toolcrib::registry::glob_matches;

use super::chain::faults;
use crate::console::figures;
use crate::console::form::Edit;
use crate::console::frame::centered;
use crate::console::pane;
use crate::console::shared::Shared;
use crate::console::theme::Health;
use crate::text::{Lines, clean, truncate};

/// How long a drill may last: one that is forgotten must not outlive a working day.
const LONGEST: Duration = Duration::from_secs(8 * 3_600);

/// What the line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The settings of a layer; `sources` are those that they may name.
    Settings { layer: String, sources: Vec<String> },
    /// A fault drill; `names` are those of the tools that it may strike.
    Drill { names: Vec<Arc<str>> },
}

/// The line, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Prompt {
    what: What,
    input: Edit,
    wrong: Option<String>,
}

/// What a finished line asks for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) question: String,
    pub(super) layer: String,
    pub(super) order: LayerOrder,
}

/// What a key came to.
#[derive(Debug)]
pub(super) enum Typed {
    /// The line goes on.
    Goes,
    /// It was given up.
    Left,
    /// It is finished.
    Done(Box<Wanted>),
}

impl Prompt {
    /// A line that begins with the settings in force.
    pub(super) fn settings(layer: &str, written: &str, sources: Vec<String>) -> Self {
        Self {
            what: What::Settings {
                layer: layer.to_owned(),
                sources,
            },
            input: Edit::with(written),
            wrong: None,
        }
    }

    /// A line that begins with a mild drill on this tool.
    pub(super) fn drill(tools: &str, names: Vec<Arc<str>>) -> Self {
        Self {
            what: What::Drill { names },
            input: Edit::with(&format!(
                "tools={tools} latency=1s errors=10% drop=0% for=2m"
            )),
            wrong: None,
        }
    }

    /// Takes a key in.
    pub(super) fn key(&mut self, key: KeyEvent) -> Typed {
        match key.code {
            KeyCode::Esc => return Typed::Left,
            KeyCode::Enter => match self.wanted() {
                Ok(wanted) => return Typed::Done(Box::new(wanted)),
                Err(wrong) => self.wrong = Some(wrong),
            },
            _ => {
                self.input.key(key);
                self.wrong = None;
            }
        }
        Typed::Goes
    }

    /// Takes pasted text in.
    pub(super) fn paste(&mut self, text: &str) {
        let kept: String = text.chars().filter(|char| !char.is_control()).collect();
        self.input.insert(&kept);
        self.wrong = None;
    }

    fn wanted(&self) -> Result<Wanted, String> {
        let text = self.input.text();
        match &self.what {
            What::Settings { layer, sources } => {
                if text.contains(toolcrib::secrets::MASK) && layer != "redact" {
                    return Err("a secret is masked in it; write the value out".into());
                }
                let settings = read_layer(layer, text, sources)
                    .map_err(|problems| first_problem(&problems))?;
                Ok(Wanted {
                    question: format!("set `{layer}` to {text} until this process ends?"),
                    layer: layer.clone(),
                    order: LayerOrder::Change(Box::new(settings)),
                })
            }
            What::Drill { names } => {
                let drill = read_drill(text)?;
                let what = &drill.faults;
                let struck = |name: &&Arc<str>| {
                    let mut globs = what.tools.iter();
                    globs.any(|glob| glob_matches(glob, name))
                };
                let struck = match names.iter().filter(struck).count() {
                    0 => "no tool is named so now".to_owned(),
                    some => format!("{some} of {} tools", names.len()),
                };
                Ok(Wanted {
                    question: format!(
                        "inject {} into {} ({struck}) for {}? it ends by itself",
                        faults(what.latency, what.error_rate, what.drop),
                        what.tools.join(", "),
                        figures::age(drill.lasts)
                    ),
                    layer: "fault".into(),
                    order: LayerOrder::Drill(Box::new(drill)),
                })
            }
        }
    }

    /// Draws it over the screen.
    pub(super) fn view(&self, shared: &Shared, frame: &mut Frame<'_>, area: Rect) {
        let theme = shared.theme;
        let width = area.width.saturating_sub(4).clamp(1, 100);
        let area = centered(area, width, 9);
        frame.render_widget(Clear, area);
        let (title, about) = match &self.what {
            What::Settings { layer, .. } => (
                format!("Settings of {layer}"),
                "as in the deployment file; for this process only, the file stays as it is",
            ),
            What::Drill { .. } => (
                "Fault drill".to_owned(),
                "tools: names or globs, with commas; errors and drop: a share of the calls; for: how long",
            ),
        };
        let inner = pane::frame_always(shared, frame, area, &title);
        let (before, after) = self.input.split();
        let mut lines = vec![
            Line::styled(about, theme.dim()),
            Line::default(),
            Line::from(vec![
                Span::raw(clean(before, Lines::One, theme.marks)),
                Span::styled(theme.pick("▏", "|"), theme.key()),
                Span::raw(clean(after, Lines::One, theme.marks)),
            ]),
            Line::default(),
        ];
        if let Some(wrong) = &self.wrong {
            let wrong = clean(wrong, Lines::One, theme.marks);
            lines.push(Line::from(vec![
                Span::styled(theme.mark(Health::Bad), theme.health(Health::Bad)),
                Span::raw(" "),
                Span::raw(truncate(&wrong, 160, theme.marks).into_owned()),
            ]));
        }
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), inner);
    }
}

/// The first problem without the name of a file: there is none.
fn first_problem(problems: &toolcrib::deployment::Problems) -> String {
    problems
        .0
        .first()
        .map_or_else(String::new, |problem| match &problem.suggestion {
            Some(suggestion) => format!("{}; {suggestion}", problem.message),
            None => problem.message.clone(),
        })
}

/// Reads `tools=mail_*,web__* latency=2s errors=20% drop=0.05 for=2m`. What is left out does not
/// act; `tools` left out means all.
fn read_drill(text: &str) -> Result<Drill, String> {
    let mut tools = vec!["*".to_owned()];
    let (mut latency, mut error_rate, mut drop, mut lasts) = (Duration::ZERO, 0.0, 0.0, None);
    for word in text.split_whitespace() {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("write `{word}` as key=value"))?;
        match key {
            "tools" => {
                let globs = value.split(',').filter(|glob| !glob.is_empty());
                tools = globs.map(ToOwned::to_owned).collect();
                if tools.is_empty() {
                    return Err("`tools` names no tool; `*` means all".into());
                }
            }
            "latency" => latency = duration(key, value)?,
            "errors" => error_rate = share(key, value)?,
            "drop" => drop = share(key, value)?,
            "for" => lasts = Some(duration(key, value)?),
            _ => {
                return Err(format!(
                    "`{key}` is none of tools, latency, errors, drop, for"
                ));
            }
        }
    }
    let lasts = lasts.ok_or("say how long it lasts, such as for=2m")?;
    if lasts.is_zero() || lasts > LONGEST {
        return Err("a drill lasts more than nothing and at most 8h".into());
    }
    if latency.is_zero() && error_rate == 0.0 && drop == 0.0 {
        return Err("it would inject nothing: give latency, errors or drop".into());
    }
    Ok(Drill {
        faults: FaultSettings {
            tools,
            latency,
            error_rate,
            drop,
        },
        lasts,
    })
}

fn duration(key: &str, value: &str) -> Result<Duration, String> {
    parse_duration(value).map_err(|error| format!("`{key}`: {error}"))
}

/// `20%` or `0.2`.
fn share(key: &str, value: &str) -> Result<f64, String> {
    let number = match value.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
        None => value.parse::<f64>(),
    };
    number
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("`{key}` is a share from 0% to 100%, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_is_read_and_what_is_wrong_with_it_is_told() {
        let drill = read_drill("tools=mail_*,web__* latency=2s errors=20% drop=0.05 for=2m");
        let expected = Drill {
            faults: FaultSettings {
                tools: vec!["mail_*".into(), "web__*".into()],
                latency: Duration::from_secs(2),
                error_rate: 0.2,
                drop: 0.05,
            },
            lasts: Duration::from_secs(120),
        };
        assert_eq!(drill, Ok(expected));
        for (text, part) in [
            ("errors=20%", "for=2m"),
            ("for=2m", "inject nothing"),
            ("errors=120% for=1m", "`errors`"),
            ("latency=2 for=1m", "`latency`"),
            ("latency=1s for=9h", "8h"),
            ("lateny=1s for=1m", "`lateny`"),
            ("tools=, latency=1s for=1m", "`tools`"),
            ("quick", "key=value"),
        ] {
            let wrong = read_drill(text).unwrap_err();
            assert!(wrong.contains(part), "{text}: {wrong}");
        }
    }
}
