//! The one table of keys: input, footer, help and palette read it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screens::ScreenId;

/// A key as a person presses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Press {
    /// A character, with shift already applied.
    Char(char),
    /// The same character twice in a row.
    Twice(char),
    /// A character with `ctrl`.
    Ctrl(char),
    /// A key with a name.
    Named(KeyCode),
}

impl Press {
    /// How it is written in the footer and the help.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Char(' ') => "space".into(),
            Self::Char(char) => char.to_string(),
            Self::Twice(char) => format!("{char} {char}"),
            Self::Ctrl(char) => format!("ctrl-{char}"),
            Self::Named(code) => match code {
                KeyCode::Enter => "enter".into(),
                KeyCode::Esc => "esc".into(),
                KeyCode::Tab => "tab".into(),
                KeyCode::BackTab => "shift-tab".into(),
                KeyCode::Up => "up".into(),
                KeyCode::Down => "down".into(),
                KeyCode::Left => "left".into(),
                KeyCode::Right => "right".into(),
                KeyCode::PageUp => "page-up".into(),
                KeyCode::PageDown => "page-down".into(),
                KeyCode::Home => "home".into(),
                KeyCode::End => "end".into(),
                other => format!("{other:?}").to_lowercase(),
            },
        }
    }

    /// The press that a key event is; `None` for keys the console has no use for.
    pub(crate) fn of(key: KeyEvent) -> Option<Self> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if key.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        match key.code {
            KeyCode::Char(char) if ctrl => Some(Self::Ctrl(char.to_ascii_lowercase())),
            KeyCode::Char(char) => Some(Self::Char(char)),
            KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => {
                Some(Self::Named(KeyCode::BackTab))
            }
            code => Some(Self::Named(code)),
        }
    }
}

/// Something an operator can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Show a screen.
    Go(ScreenId),
    /// Select the next row, or scroll down.
    Down,
    /// Select the previous row, or scroll up.
    Up,
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// Half a page down.
    HalfDown,
    /// Half a page up.
    HalfUp,
    /// The next pane.
    NextPane,
    /// The previous pane.
    PreviousPane,
    /// The next sub-tab.
    NextTab,
    /// The previous sub-tab.
    PreviousTab,
    /// Open what is selected.
    Open,
    /// Describe what is selected.
    Describe,
    /// One level back.
    Back,
    /// Filter or search.
    Filter,
    /// The next hit.
    NextHit,
    /// The previous hit.
    PreviousHit,
    /// Sort by the next column.
    Sort,
    /// Invert the order.
    Invert,
    /// Freeze and thaw the view.
    Freeze,
    /// Follow the newest.
    Follow,
    /// Zoom the pane.
    Zoom,
    /// Copy what is selected.
    Copy,
    /// Wrap long lines.
    Wrap,
    /// To the logs of what is selected.
    Logs,
    /// Write the screen as text.
    Save,
    /// Mouse on and off.
    Mouse,
    /// The help.
    Help,
    /// The palette.
    Palette,
    /// Put the newcomer's hint away.
    DismissHint,
    /// Read the deployment again.
    Reload,
    /// Show what there is to say of the deployment.
    Report,
    /// Answer what a server asks.
    AnswerServer,
    /// Authorize a server that refused us.
    Authorize,
    /// Accept the definitions that a server's pin file holds back.
    Accept,
    /// Reconnect a server now.
    Reconnect,
    /// Probe a server now.
    Probe,
    /// Disable or enable a server.
    Toggle,
    /// Open the call form of a tool.
    Call,
    /// Change the exposure of a tool.
    Exposure,
    /// Cancel a running call.
    Cancel,
    /// Repeat a call.
    Repeat,
    /// Let a call run that waits for an approval.
    Approve,
    /// Do not let it run.
    Deny,
    /// Let it run, and all later ones of its tool in its session.
    ApproveAlways,
    /// JSON as a tree or as text.
    Shape,
    /// Write the parts of a result to files.
    SaveParts,
    /// Go to the round before the one that is shown.
    RoundBack,
    /// Go to the round after it.
    RoundOn,
    /// Compare two rounds.
    Diff,
    /// Why a tool is sent, or is not.
    Why,
    /// How a search ranked what it found.
    ExplainSearch,
    /// What other settings would have sent.
    WhatIf,
    /// Open a session in which the operator is the model.
    NewSession,
    /// Find tools in a session of the operator.
    FindTools,
    /// Let a session go on by one round.
    NextRound,
    /// Let a session go on by several rounds.
    ManyRounds,
    /// Require the selected tool in a session, or stop that.
    Require,
    /// Require a tool by its name.
    RequireName,
    /// Play a scenario, and pause it.
    Play,
    /// Play one that is shipped, by its number.
    PlayShipped(usize),
    /// Play one from a file.
    PlayFile,
    /// Play slower.
    Slower,
    /// Play faster.
    Faster,
    /// Close a session.
    CloseSession,
    /// Write what is listed to a file.
    Export,
    /// Let calls go past a layer of the chain, or through it again.
    Pause,
    /// Change the settings of a layer.
    Settings,
    /// Begin or end a fault drill.
    Drill,
    /// How far back is counted.
    Window,
    /// The way of a call through the layers.
    Trace,
    /// To what waits for an approval.
    Approvals,
    /// Fewer levels of the log.
    LessLog,
    /// More levels of the log.
    MoreLog,
    /// Show or hide the log's targets.
    LogTargets,
    /// End the console.
    Quit,
    /// End the console whatever runs.
    QuitNow,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Binding {
    /// The keys, the one that is shown first; none for what the palette alone does.
    pub(crate) keys: &'static [Press],
    /// What they do.
    pub(crate) action: Action,
    /// Its name in the palette.
    pub(crate) name: &'static str,
    /// The word in the footer; `None` keeps it out of there.
    pub(crate) footer: Option<&'static str>,
    /// What it does, in a sentence.
    pub(crate) about: &'static str,
    /// Whether it changes something and is refused by `--read-only`.
    pub(crate) changes: bool,
}

const fn row(
    keys: &'static [Press],
    action: Action,
    name: &'static str,
    footer: Option<&'static str>,
    about: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        name,
        footer,
        about,
        changes: false,
    }
}

const fn change(
    keys: &'static [Press],
    action: Action,
    name: &'static str,
    footer: Option<&'static str>,
    about: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        name,
        footer,
        about,
        changes: true,
    }
}

use KeyCode as K;
use Press::{Char, Ctrl, Named, Twice};

/// Every key. What comes first is shown first in the footer.
#[rustfmt::skip]
pub(crate) const KEYMAP: &[Binding] = &[
    row(&[Named(K::Enter)], Action::Open, "open", Some("open"), "open what is selected"),
    row(&[Char('d')], Action::Describe, "describe", Some("describe"), "describe what is selected"),
    change(&[Char('c')], Action::Call, "call", Some("call"), "open the form that calls the selected tool"),
    change(&[Char('r')], Action::Reconnect, "reconnect", Some("reconnect"), "drop the connection of the selected server, if any, and connect now"),
    change(&[Char('p')], Action::Probe, "probe", Some("probe"), "prove now that the selected server answers"),
    change(&[Char('D')], Action::Toggle, "disable or enable", Some("disable/enable"), "disconnect the selected server until you enable it again; asks first"),
    change(&[Char('O')], Action::Authorize, "authorize", Some("authorize"), "show where to authorize the selected server, which refused us, in a browser"),
    change(&[Char('A')], Action::Accept, "accept definitions", Some("accept"), "accept the definitions of the selected server that its pin file holds back; asks first"),
    change(&[Char('b')], Action::AnswerServer, "answer a server", Some("answer"), "answer or decline what a server asks, the oldest question first"),
    change(&[Char('e')], Action::Exposure, "exposure", Some("exposure"), "change how the selected tool comes into view, in this process only"),
    change(&[Char('r')], Action::Repeat, "repeat the call", Some("repeat"), "open the form with the arguments of the selected call"),
    change(&[Char('X')], Action::Cancel, "cancel the call", Some("cancel"), "ask the selected running call to stop; asks first"),
    change(&[Char('a')], Action::Approve, "approve the call", Some("approve"), "let the selected call run, which waits for your approval"),
    change(&[Char('x')], Action::Deny, "deny the call", Some("deny"), "do not let the selected call run, which waits for your approval"),
    change(&[Char('A')], Action::ApproveAlways, "approve always", Some("always"), "let the selected call run, and every later one of its tool in its session; asks first"),
    change(&[Char('u')], Action::FindTools, "search in the session", Some("tool_search"), "call tool_search in your session: what it finds can be called from the next round on"),
    change(&[Char('.')], Action::NextRound, "step", Some("one round"), "let the session go on by one round: the next of its scenario, or one without calls"),
    change(&[Char('p')], Action::Play, "play or pause", Some("play/pause"), "play the scenario of the selected session on, or pause it; elsewhere choose one to play"),
    row(&[Char('o')], Action::Why, "why", Some("why"), "tell why the selected tool is sent, or why it is not"),
    row(&[Char('x')], Action::ExplainSearch, "explain the search", Some("explain"), "tell how the selected search ranked what it found"),
    row(&[Char('t')], Action::WhatIf, "what if", Some("what if"), "tell what other settings would have sent"),
    change(&[Char('>')], Action::ManyRounds, "advance", None, "let your session go on by several rounds without calls"),
    change(&[Char('r')], Action::Require, "require or release", Some("require"), "always send the selected tool in your session, or no longer"),
    change(&[], Action::RequireName, "require a tool", None, "always send a tool in your session, by its name"),
    change(&[Char('a')], Action::NewSession, "new session", Some("new session"), "open a session in which you are the model"),
    change(&[Char('+'), Char('=')], Action::Faster, "speed up", Some("faster"), "play the scenario faster"),
    change(&[Char('-')], Action::Slower, "speed down", Some("slower"), "play the scenario slower"),
    row(&[Named(K::Left)], Action::RoundBack, "round before", Some("round before"), "show the round before: exactly what the model saw then"),
    row(&[Named(K::Right)], Action::RoundOn, "round after", Some("after"), "show the round after"),
    row(&[Char('D')], Action::Diff, "compare rounds", Some("diff"), "compare the round with the one before; once more with the one that is shown now; once more not at all"),
    change(&[Char('X')], Action::CloseSession, "close the session", Some("close"), "close the selected session, which ends what runs in it; asks first"),
    change(&[], Action::PlayShipped(0), "play first-discovery", None, "play the lesson on finding a tool and calling it"),
    change(&[], Action::PlayShipped(1), "play idling-out", None, "play the lesson on tools that leave because nobody uses them"),
    change(&[], Action::PlayShipped(2), "play a-budget-that-cuts", None, "play the lesson on a budget that withholds tools"),
    change(&[], Action::PlayShipped(3), "play a-cache-that-costs-nothing", None, "play the lesson on a pool that is larger than the budget"),
    change(&[], Action::PlayShipped(4), "play a-source-that-goes-away", None, "play the lesson on tools that are removed"),
    change(&[], Action::PlayFile, "play a file", None, "play a scenario from a file of yours"),
    change(&[Char('P')], Action::Pause, "pause the layer", Some("pause"), "let calls go past the selected layer, or through it again; asks first"),
    change(&[Char('C')], Action::Settings, "change the settings", Some("settings"), "change the settings of the selected layer, for this process only; asks first"),
    change(&[Char('F')], Action::Drill, "fault drill", Some("drill"), "inject latency, errors or silence for some time, or end that; asks first"),
    row(&[Char('t')], Action::Window, "time window", Some("window"), "count the last minute, five minutes, hour, or everything since the start"),
    row(&[Char('t')], Action::Trace, "waterfall of the call", Some("waterfall"), "show the way of the selected call through the layers"),
    row(&[Char('!')], Action::Approvals, "what waits for approval", None, "show the calls that wait for your approval"),
    row(&[Char('v')], Action::Shape, "text or tree", Some("text/tree"), "show JSON as a tree, or as text"),
    row(&[Char('S')], Action::SaveParts, "save the parts", Some("save parts"), "write each part of the result to a new file in the working directory"),
    row(&[Char('E')], Action::Export, "export", Some("export"), "write what is listed, or the record of a session, to new files in the working directory, for other programs"),
    row(&[Char('l')], Action::Logs, "logs of the selection", Some("logs"), "show the logs of what is selected"),
    row(&[Char('/')], Action::Filter, "filter", Some("filter"), "filter the list, or search in the text pane"),
    row(&[Char('n')], Action::NextHit, "next hit", Some("next"), "to the next hit of the search"),
    row(&[Char('N')], Action::PreviousHit, "previous hit", None, "to the previous hit of the search"),
    row(&[Char('-')], Action::LessLog, "fewer log levels", Some("less"), "show fewer levels of the log"),
    row(&[Char('+'), Char('=')], Action::MoreLog, "more log levels", Some("more"), "show more levels of the log"),
    row(&[Char('t')], Action::LogTargets, "log targets", Some("targets"), "show or hide the list of the log's targets"),
    row(&[Char('s')], Action::Sort, "sort", Some("sort"), "sort the list by its next column"),
    row(&[Char('i')], Action::Invert, "invert", None, "invert the order of the list"),
    row(&[Named(K::Tab)], Action::NextPane, "next pane", Some("pane"), "give the focus to the next pane"),
    row(&[Named(K::BackTab)], Action::PreviousPane, "previous pane", None, "give the focus to the previous pane"),
    row(&[Char(']')], Action::NextTab, "next sub-tab", Some("sub-tab"), "show the next sub-tab of the evidence"),
    row(&[Char('[')], Action::PreviousTab, "previous sub-tab", None, "show the previous sub-tab of the evidence"),
    row(&[Char('j'), Named(K::Down)], Action::Down, "down", None, "select the next row, or scroll down"),
    row(&[Char('k'), Named(K::Up)], Action::Up, "up", None, "select the previous row, or scroll up"),
    row(&[Twice('g'), Named(K::Home)], Action::First, "first", None, "to the first row"),
    row(&[Char('G'), Named(K::End)], Action::Last, "last", None, "to the last row"),
    row(&[Ctrl('d'), Named(K::PageDown)], Action::HalfDown, "half a page down", None, "half a page down"),
    row(&[Ctrl('u'), Named(K::PageUp)], Action::HalfUp, "half a page up", None, "half a page up"),
    row(&[Char('f')], Action::Follow, "follow", Some("follow"), "follow the newest line, and stop following"),
    row(&[Char('w')], Action::Wrap, "wrap", Some("wrap"), "wrap long lines, or cut them"),
    row(&[Char('z')], Action::Zoom, "zoom", Some("zoom"), "give the whole screen to the pane, without borders, for copying"),
    row(&[Char('y')], Action::Copy, "copy", Some("copy"), "copy what is selected to the clipboard (OSC 52)"),
    row(&[Char(' ')], Action::Freeze, "freeze", Some("freeze"), "freeze the view, and let it move on"),
    row(&[Ctrl('s')], Action::Save, "save the screen", None, "write the screen as text to a file in the working directory"),
    row(&[Char('m')], Action::Mouse, "mouse", None, "switch the mouse on or off; off leaves selecting to the terminal"),
    row(&[Char('x')], Action::DismissHint, "dismiss the hint", Some("hide hint"), "put the hint for newcomers away"),
    row(&[Named(K::Esc)], Action::Back, "back", Some("back"), "one level back; never quits"),
    row(&[Char('1')], Action::Go(ScreenId::Overview), "overview", None, "show what needs attention, the servers and how calls fare"),
    row(&[Char('2')], Action::Go(ScreenId::Sources), "sources", None, "show the sources and servers with the evidence of their health"),
    row(&[Char('3')], Action::Go(ScreenId::Tools), "tools", None, "show the tools of the registry"),
    row(&[Char('4')], Action::Go(ScreenId::Sessions), "sessions", None, "show what each session sees and why"),
    row(&[Char('5')], Action::Go(ScreenId::Telemetry), "telemetry", None, "show counts and latencies"),
    row(&[Char('6')], Action::Go(ScreenId::Calls), "calls", None, "show the calls that run and those that ended"),
    row(&[Char('7')], Action::Go(ScreenId::Traffic), "traffic", None, "show the messages on the wire"),
    row(&[Char('8')], Action::Go(ScreenId::Logs), "logs", None, "show the log"),
    row(&[Char('9')], Action::Go(ScreenId::Chat), "chat", None, "talk to a model that uses the tools"),
    row(&[Char(':'), Ctrl('p')], Action::Palette, "palette", Some("palette"), "every action by its name"),
    change(&[Ctrl('r')], Action::Reload, "reload", None, "read the deployment again and take over what has changed; the rest goes on"),
    row(&[Char('!')], Action::Report, "deployment", None, "show the deployment's problems, warnings, and what the last reload did"),
    row(&[Char('?')], Action::Help, "help", Some("help"), "the keys that work here, searchable"),
    row(&[Char('q')], Action::Quit, "quit", Some("quit"), "end, or one level back where something is open; asks while calls that you fired still run"),
    row(&[Ctrl('c')], Action::QuitNow, "quit now", None, "end, whatever runs"),
];

/// What a press means to the table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// It is bound.
    Bound(&'static Binding),
    /// It is the first half of a double press.
    Half(char),
    /// Nothing.
    Nothing,
}

/// Looks a press up, after `half` has been pressed already. A key may stand in several rows; the
/// first whose action works now counts, and if none does, the first.
pub(crate) fn look_up(press: Press, half: Option<char>, works: impl Fn(Action) -> bool) -> Meaning {
    let find = |wanted: Press| {
        let mut rows = KEYMAP.iter().filter(|row| row.keys.contains(&wanted));
        let first = rows.clone().next();
        rows.find(|row| works(row.action)).or(first)
    };
    if let Press::Char(char) = press
        && let Some(row) = find(Press::Twice(char))
    {
        return match half == Some(char) {
            true => Meaning::Bound(row),
            false => Meaning::Half(char),
        };
    }
    find(press).map_or(Meaning::Nothing, Meaning::Bound)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_has_a_sentence_and_a_name_and_an_action_of_its_own() {
        let mut names = HashSet::new();
        let mut actions = HashSet::new();
        for row in KEYMAP {
            assert!(!row.about.is_empty(), "{}", row.name);
            assert!(names.insert(row.name), "{} stands there twice", row.name);
            assert!(actions.insert(row.action), "{} has two rows", row.name);
        }
    }

    #[test]
    fn g_needs_a_second_g_and_another_key_breaks_the_pair() {
        let action = |press, half| match look_up(press, half, |_| true) {
            Meaning::Bound(row) => Ok(row.action),
            Meaning::Half(char) => Err(Some(char)),
            Meaning::Nothing => Err(None),
        };
        assert_eq!(action(Press::Char('g'), None), Err(Some('g')));
        assert_eq!(action(Press::Char('g'), Some('g')), Ok(Action::First));
        assert_eq!(action(Press::Char('j'), Some('g')), Ok(Action::Down));
        assert_eq!(action(Press::Char('Q'), None), Err(None));
    }
}
