//! What every screen may read, and the ways in which a screen asks for something.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use toolcrib::clock::Stamp;
use toolcrib::control::{LayerOrder, SessionOrder};
use toolcrib::discovery::session::RoundRecord;
use toolcrib::discovery::what_if::Changes;
use toolcrib::middleware::Decision;
use toolcrib::observe::{CallRecord, Snapshot, Subject, ToolRow, TrafficFrame};
use toolcrib::session::SessionId;
use toolcrib::source::ServerOrder;
use toolcrib::tool::{Call, CallId, Part};

use super::clean::Cleaner;
use super::command::{Command, OrderId, SessionCommand};
use super::keymap::Action;
use super::log::LogTap;
use super::screens::ScreenId;
use super::theme::Theme;

/// How long a notice stays, unless a key puts it away earlier.
const NOTICE: Duration = Duration::from_secs(6);

/// How the console is to behave.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Refuse calls and changes.
    pub(crate) read_only: bool,
    /// Draw with ASCII alone.
    pub(crate) ascii: bool,
    /// Draw with the colours of the terminal.
    pub(crate) colour: bool,
    /// The zone in which times are shown.
    pub(crate) zone: TimeZone,
    /// Which screen comes first.
    pub(crate) screen: ScreenId,
    /// Where the lines of the program's own log come from.
    pub(crate) logs: Option<LogTap>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            read_only: false,
            ascii: false,
            colour: true,
            zone: TimeZone::system(),
            screen: ScreenId::Overview,
            logs: None,
        }
    }
}

/// An order whose answer is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// To a server, as `source/server`.
    Server(Arc<str>, Arc<str>),
    /// A call that the operator fired.
    Call(CallId),
    /// To read the deployment again.
    Reload,
    /// To tell what a call would send.
    Preview,
    /// To cancel a call.
    Cancel(CallId),
    /// To let a call run, or not, by the number of the question.
    Decide(u64),
    /// That concerns sessions.
    Session,
    /// To a layer of the chain, with the sentence that tells of its success.
    Layer(String),
    /// To write files, with what is said behind their names.
    Save(String),
    /// To play recorded rounds again with other settings.
    WhatIf,
}

/// A sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The sentence.
    pub(crate) text: String,
    /// Whether it reports a failure.
    pub(crate) failed: bool,
    /// When it was said.
    pub(crate) at: Stamp,
}

/// Something that a screen asks of the shell.
#[derive(Debug)]
pub(crate) enum Request {
    /// Go to what a subject is about.
    Visit(Subject),
    /// Show a screen.
    Go(ScreenId),
    /// Open the form that calls a tool, by the name that is shown.
    Call(Arc<str>),
    /// Open the form that calls a tool in a session, by the names that are shown.
    CallIn(SessionId, Arc<str>, Arc<str>),
    /// Back to the screen that the last jump left.
    Return,
    /// Open the palette with this typed and without this action, which asked for it.
    Palette(&'static str, Action),
    /// Ask for a line: title, hint, what is typed already, and what it is for.
    Prompt(String, &'static str, String, Prompted),
    /// Let one of these deeds be chosen: title, and key, words and deed of each.
    Choose(String, Vec<(char, String, Deed)>),
    /// Tell why a tool is shown in a session, or why not, by the name that is shown.
    Why(Arc<str>),
    /// To the logs of a source, or of one of its servers: `source` or `source/server`.
    Logs(Arc<str>),
    /// Show the way of a call through the layers.
    Trace(CallId),
    /// Show what waits for an approval.
    Approvals,
    /// Ask, and carry the deed out after a yes.
    Ask(String, Deed),
}

/// What a line that was asked for is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompted {
    /// The query of `tool_search` in a session.
    Query(SessionId),
    /// The number of rounds that pass in a session.
    Rounds(SessionId),
    /// The name that a session requires.
    Require(SessionId),
    /// The file of a scenario.
    Scenario,
}

/// What a confirmed question does.
#[derive(Debug)]
pub(crate) enum Deed {
    /// Give an order to a server.
    Server(Arc<str>, Arc<str>, ServerOrder),
    /// Accept what the pin file of a server holds back: one tool, or all.
    Accept(Arc<str>, Arc<str>, Option<Arc<str>>),
    /// Cancel a running call.
    Cancel(CallId),
    /// Answer a question of the layer `approval`.
    Decide(u64, Decision),
    /// Give an order to a layer of the chain, with the sentence that tells of its success.
    Layer(String, LayerOrder, String),
    /// Run a call.
    Call(Box<Call>),
    /// Give an order that concerns sessions.
    Session(SessionCommand),
    /// End the console.
    Quit,
}

/// How the screens lay themselves out (sizes are those of the whole terminal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breadth {
    /// From 120 columns: list left, evidence right.
    Wide,
    /// From 80 columns and 24 rows: list above evidence.
    Stacked,
    /// Less: one pane at a time.
    Small,
}

/// What every screen may read.
#[derive(Debug)]
pub(crate) struct Shared {
    /// How the console is to behave.
    pub(crate) options: Options,
    /// How things look.
    pub(crate) theme: Theme,
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    /// Whether the focused pane has the whole screen.
    pub(crate) zoomed: bool,
    /// The newest notice.
    pub(crate) notice: Option<Notice>,
    cleaner: Cleaner,
    newest: Arc<Snapshot>,
    shown: Arc<Snapshot>,
    frozen: Option<Stamp>,
    now: Stamp,
    pending: BTreeMap<OrderId, Pending>,
    next_order: u64,
    commands: Vec<Command>,
    requests: Vec<Request>,
}

impl Shared {
    /// Starts with a first snapshot.
    pub(crate) fn new(options: Options, snapshot: &Arc<Snapshot>, size: (u16, u16)) -> Self {
        let theme = Theme {
            colour: options.colour,
            marks: match options.ascii {
                true => crate::text::Marks::Ascii,
                false => crate::text::Marks::Unicode,
            },
        };
        let mut cleaner = Cleaner::new(theme.marks);
        let newest = cleaner.clean(snapshot);
        Self {
            options,
            theme,
            size,
            zoomed: false,
            notice: None,
            cleaner,
            shown: Arc::clone(&newest),
            frozen: None,
            now: snapshot.taken,
            newest,
            pending: BTreeMap::new(),
            next_order: 0,
            commands: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// What is shown: the newest snapshot, or the one that the view was frozen with. All text in
    /// it has been cleaned; line breaks in longer texts are still there.
    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.shown
    }

    /// What the newest snapshot holds even while the view is frozen.
    pub(crate) fn newest(&self) -> &Arc<Snapshot> {
        &self.newest
    }

    /// The moment for which the view is true: ages are counted up to it.
    pub(crate) fn now(&self) -> Stamp {
        self.frozen.unwrap_or(self.now)
    }

    /// This moment, frozen or not.
    pub(crate) fn real_now(&self) -> Stamp {
        self.now
    }

    /// This moment as a part of a file's name.
    pub(crate) fn file_stamp(&self) -> String {
        let zoned = self.now.wall.to_zoned(self.options.zone.clone());
        zoned.strftime("%Y%m%d-%H%M%S").to_string()
    }

    /// Since when the view is frozen.
    pub(crate) fn frozen(&self) -> Option<Stamp> {
        self.frozen
    }

    /// The layout that the size asks for.
    pub(crate) fn breadth(&self) -> Breadth {
        match self.size {
            (columns, rows) if columns < 80 || rows < 24 => Breadth::Small,
            (columns, _) if columns < 120 => Breadth::Stacked,
            _ => Breadth::Wide,
        }
    }

    /// The name that a tool really has; [`Shared::snapshot`] holds it cleaned.
    pub(crate) fn real_tool_name(&self, shown: &Arc<str>) -> Arc<str> {
        self.cleaner.original(shown)
    }

    /// The tool as it came, for what is sent or copied instead of shown.
    pub(crate) fn tool_as_it_came(&self, shown: &ToolRow) -> ToolRow {
        self.cleaner.tool_as_it_came(shown)
    }

    /// The record as it came, for what is sent again instead of shown.
    pub(crate) fn record_as_it_came(&self, shown: &Arc<CallRecord>) -> Arc<CallRecord> {
        self.cleaner.record_as_it_came(shown)
    }

    /// Has the parts of a result written to new files.
    pub(crate) fn order_save_parts(&mut self, tool: Arc<str>, parts: Arc<[Part]>) {
        let id = self.expect(Pending::Save(String::new()));
        self.commands.push(Command::SaveParts { id, tool, parts });
    }

    /// The calls that the operator fired and that still run.
    pub(crate) fn own_calls(&self) -> impl Iterator<Item = (OrderId, &CallId)> {
        self.pending
            .iter()
            .filter_map(|(id, pending)| match pending {
                Pending::Call(call) => Some((*id, call)),
                _ => None,
            })
    }

    /// Says something to the operator.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            failed: false,
            at: self.now,
        });
    }

    /// Tells the operator that something did not work.
    pub(crate) fn complain(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            failed: true,
            at: self.now,
        });
    }

    /// Asks the shell for something.
    pub(crate) fn request(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// Has a command without an answer carried out.
    pub(crate) fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Gives an order to a server. An earlier order to it is no longer waited for: its answer
    /// would speak of a state that the new order has changed.
    pub(crate) fn order_server(&mut self, source: Arc<str>, server: Arc<str>, order: ServerOrder) {
        let pending = Pending::Server(Arc::clone(&source), Arc::clone(&server));
        self.pending.retain(|_, known| *known != pending);
        let id = self.expect(pending);
        let source = self.cleaner.original(&source);
        let server = self.cleaner.original(&server);
        self.commands.push(Command::Server {
            id,
            source,
            server,
            order,
        });
    }

    /// Fires a call; the answer comes back under the id.
    pub(crate) fn order_call(&mut self, call: Call) -> OrderId {
        let id = self.expect(Pending::Call(call.id.clone()));
        self.commands.push(Command::Call {
            id,
            call: Box::new(call),
        });
        id
    }

    /// Begins the authorization of a server.
    pub(crate) fn order_authorize(&mut self, source: &Arc<str>, server: &Arc<str>) {
        let id = self.expect(Pending::Server(Arc::clone(source), Arc::clone(server)));
        let source = self.cleaner.original(source);
        let server = self.cleaner.original(server);
        self.commands
            .push(Command::Authorize { id, source, server });
    }

    /// Accepts what the pin file of a server holds back: one tool, or all.
    pub(crate) fn order_accept(
        &mut self,
        source: &Arc<str>,
        server: &Arc<str>,
        tool: Option<&Arc<str>>,
    ) {
        let id = self.expect(Pending::Server(Arc::clone(source), Arc::clone(server)));
        let source = self.cleaner.original(source);
        let server = self.cleaner.original(server);
        let tool = tool.map(|tool| self.cleaner.original(tool));
        self.commands.push(Command::Accept {
            id,
            source,
            server,
            tool,
        });
    }

    /// Answers what a server asked.
    pub(crate) fn order_reply(&mut self, question: u64, answer: toolcrib::source::mcp::Answer) {
        let id = self.expect(Pending::Decide(question));
        self.commands.push(Command::Reply {
            id,
            question,
            answer,
        });
    }

    /// Has the deployment read again. While that is under way, asking again does nothing.
    pub(crate) fn order_reload(&mut self) {
        if self.pending.values().any(|known| *known == Pending::Reload) {
            return;
        }
        self.say("reading the deployment again");
        let id = self.expect(Pending::Reload);
        self.commands.push(Command::Reload { id });
    }

    /// Gives an order that concerns sessions. A call counts as one that the operator fired.
    pub(crate) fn order_session(&mut self, order: SessionCommand) -> OrderId {
        let call = match &order {
            SessionCommand::Order(_, SessionOrder::Batch(calls)) => calls.first(),
            _ => None,
        };
        let id = self.expect(match call {
            Some(call) => Pending::Call(call.id.clone()),
            None => Pending::Session,
        });
        self.commands.push(Command::Session { id, order });
        id
    }

    /// Asks what a call would send. An earlier question is no longer waited for: the arguments are
    /// others now.
    pub(crate) fn order_preview(
        &mut self,
        tool: Arc<str>,
        arguments: Map<String, Value>,
    ) -> OrderId {
        self.pending.retain(|_, known| *known != Pending::Preview);
        let id = self.expect(Pending::Preview);
        self.commands.push(Command::Preview {
            id,
            tool,
            arguments,
        });
        id
    }

    /// Asks a running call to stop.
    pub(crate) fn order_cancel(&mut self, call: CallId) -> OrderId {
        let id = self.expect(Pending::Cancel(call.clone()));
        self.commands.push(Command::Cancel { id, call });
        id
    }

    /// Answers a question of the layer `approval`.
    pub(crate) fn order_decide(&mut self, question: u64, decision: Decision) {
        let id = self.expect(Pending::Decide(question));
        self.commands.push(Command::Decide {
            id,
            question,
            decision,
        });
    }

    /// Gives an order to a layer of the chain; `done` tells of its success.
    pub(crate) fn order_layer(&mut self, layer: String, order: LayerOrder, done: String) {
        let id = self.expect(Pending::Layer(done));
        self.commands.push(Command::Layer { id, layer, order });
    }

    /// Has texts written to new files; `more` is said behind their names.
    pub(crate) fn order_save_files(&mut self, files: Vec<(String, String)>, more: Option<String>) {
        let id = self.expect(Pending::Save(more.unwrap_or_default()));
        self.commands.push(Command::SaveFiles { id, files });
    }

    /// Has recorded rounds played again with other settings. An earlier such order is no longer
    /// waited for.
    pub(crate) fn order_what_if(
        &mut self,
        rounds: Vec<Arc<RoundRecord>>,
        changes: Changes,
    ) -> OrderId {
        self.pending.retain(|_, known| *known != Pending::WhatIf);
        let id = self.expect(Pending::WhatIf);
        self.commands.push(Command::WhatIf {
            id,
            rounds,
            changes,
        });
        id
    }

    /// Has a text written to a new file.
    pub(crate) fn order_save(&mut self, name: String, text: String) {
        let id = self.expect(Pending::Save(String::new()));
        self.commands.push(Command::Save { id, name, text });
    }

    /// Has frames written to a new file.
    pub(crate) fn order_save_frames(&mut self, name: String, frames: Vec<Arc<TrafficFrame>>) {
        let id = self.expect(Pending::Save(String::new()));
        self.commands.push(Command::SaveFrames { id, name, frames });
    }

    fn expect(&mut self, pending: Pending) -> OrderId {
        self.next_order += 1;
        let id = OrderId(self.next_order);
        self.pending.insert(id, pending);
        id
    }

    /// The order was answered; `None` when nobody waits for it any more.
    pub(super) fn answered(&mut self, id: OrderId) -> Option<Pending> {
        self.pending.remove(&id)
    }

    /// Takes a snapshot in; `true` when what is shown has changed.
    pub(super) fn take_snapshot(&mut self, snapshot: &Arc<Snapshot>) -> bool {
        let asked = self.newest.approvals.last().map(|asked| asked.id);
        self.newest = self.cleaner.clean(snapshot);
        // Questions are numbered: a higher number is a new one.
        if self.newest.approvals.last().map(|asked| asked.id) > asked {
            self.commands.push(Command::Bell);
        }
        self.take_time(snapshot.taken);
        if self.frozen.is_none() {
            self.shown = Arc::clone(&self.newest);
        }
        self.frozen.is_none()
    }

    /// Takes the time in; it never goes back.
    pub(super) fn take_time(&mut self, now: Stamp) {
        if now.at > self.now.at {
            self.now = now;
        }
        if let Some(notice) = &self.notice
            && notice.at.age(self.now.at) > NOTICE
        {
            self.notice = None;
        }
    }

    /// Freezes the view, or lets it move on.
    pub(super) fn toggle_freeze(&mut self) {
        if self.frozen.take().is_some() {
            self.shown = Arc::clone(&self.newest);
        } else {
            self.frozen = Some(self.now);
        }
    }

    pub(super) fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }
}
