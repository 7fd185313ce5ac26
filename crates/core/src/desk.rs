//! The desk: all that must be consistent on this machine, as plain data, and the rules of how it
//! changes. Synchronous and deterministic: the time, ids' random part and what was read from the
//! store are inputs. It holds open rows without their texts; ended ones leave after their commit.

mod advance;
mod asks;
mod attach;
mod audit;
#[cfg(feature = "simulation")]
mod check;
mod due;
mod hidden;
mod input;
mod limits;
mod lines;
mod load;
mod mutant;
mod observe;
mod owner;
mod patience;
mod prompts;
mod rest;
mod results;
mod say;
mod send;
mod sessions;
mod settle;
mod stream;
mod table;
mod tasks;
mod usage;
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use asks::ask_id;
pub use audit::{MAX_DEVICES, NOTED_EVERY_MS};
pub use due::{Effect, EffectKey, EffectKind};
pub use input::{
    AskFact, AskReq, Asked, Done, Exit, Hand, Input, Landed, Loaded, MessageKey, NewMade, NewSession, OutboxFact,
    ReportReq, Request, Retry, Seen, SendReq, Target, TurnFact, Wants, Word,
};
pub use lines::LogNote;
pub use mutant::Mutant;
pub use prompts::{MAX_ANSWER, MAX_PROMPTS};
pub use say::MAX_SAID;
pub use tasks::{MAX_MADE, MAX_MADE_BYTES};

use crate::id::{AskNo, DeliveryNo, LaneNo, MessageNo, OutboxNo, PromptNo, SessionUid, TaskNo, TurnNo};
use crate::refusal::Refusal;
use crate::row::{
    Ask, AskKey, Audit, Change, Delivery, Device, Event, EventKind, Lane, Message, Meta, Outbox, Prompt, Session, Task,
    Turn, Usage,
};
use crate::settings::Settings;
use crate::text::{Text, TextRef};
use crate::time::Now;
use audit::Deed;
use table::Table;

/// Messages from the asker that may wait for one task's worker.
pub const MAX_PENDING: u32 = 100;
/// Sessions on one machine.
pub const MAX_SESSIONS: usize = 1_000;
/// Asks that may be open on one machine.
pub const MAX_ASKS: usize = 10_000;

/// What the desk is told at the start.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// This machine's mesh name; a mesh may give it another later ([`Input::Machine`]).
    pub machine: String,
    pub settings: Settings,
    /// The rule that this desk breaks, to show that the simulation finds it.
    #[cfg(feature = "simulation")]
    pub mutant: Option<Mutant>,
}

impl Place {
    /// A machine of this name.
    pub fn new(machine: String, settings: Settings) -> Place {
        Place {
            machine,
            settings,
            #[cfg(feature = "simulation")]
            mutant: None,
        }
    }
}

/// All open rows of this machine, and the rules that change them.
pub struct Desk {
    place: Place,
    meta: Meta,
    meta_dirty: bool,
    sessions: Table<SessionUid, Session>,
    lanes: Table<LaneNo, Lane>,
    messages: Table<MessageNo, Message>,
    tasks: Table<TaskNo, Task>,
    deliveries: Table<DeliveryNo, Delivery>,
    turns: Table<TurnNo, Turn>,
    prompts: Table<PromptNo, Prompt>,
    asks: Table<AskNo, Ask>,
    outbox: Table<OutboxNo, Outbox>,
    gone: BTreeSet<OutboxNo>,
    blobs: Vec<(i64, Text)>,
    events: Vec<Arc<Event>>,
    audits: Vec<Arc<Audit>>,
    lines: Vec<LogNote>,
    /// Those of the mesh that this machine has met, by identity.
    devices: BTreeMap<String, Device>,
    met: Vec<Arc<Device>>,
    usages: Vec<Arc<Usage>>,
    /// Lines of the audit log whose number in an hour is bounded: since when (served), and how many.
    noted: BTreeMap<String, (i64, u32)>,
    index: Index,
    effects: BTreeMap<EffectKey, Effect>,
    fresh: Vec<Effect>,
    /// When the watchdog last looked (served, ms).
    watched: i64,
    /// The day (of UTC) on which it last did.
    day: i64,
}

/// What rules look things up by. Kept by the `edit_*` functions alone.
#[derive(Default)]
struct Index {
    names: BTreeMap<String, SessionUid>,
    task_ids: BTreeMap<String, TaskNo>,
    messages: BTreeMap<MessageKey, MessageNo>,
    /// Those that were sent for an ask of another device.
    of_ask: BTreeMap<AskKey, MessageNo>,
    /// Messages of a task.
    by_task: BTreeMap<TaskNo, Vec<MessageNo>>,
    /// Tasks that wait for their first delivery, by place.
    queue: BTreeMap<LaneNo, BTreeSet<(i64, TaskNo)>>,
    /// Open tasks of a lane.
    open: BTreeMap<LaneNo, BTreeSet<TaskNo>>,
    /// Deliveries that are planned, in the order in which they were.
    planned: BTreeMap<LaneNo, BTreeSet<DeliveryNo>>,
    /// What was written in a run of a program that stays, or is to be written again.
    written: BTreeMap<TurnNo, BTreeSet<DeliveryNo>>,
    /// Prompts of a run.
    prompts: BTreeMap<TurnNo, BTreeSet<PromptNo>>,
    /// Live asks of a session.
    asked: BTreeMap<SessionUid, BTreeSet<AskNo>>,
    /// Live asks that a task of this machine is for.
    asked_here: BTreeMap<TaskNo, BTreeSet<AskNo>>,
    /// Turns that work.
    working: BTreeSet<TurnNo>,
    /// Lanes that wait for one of those to end.
    capped: BTreeSet<LaneNo>,
    /// Asks by agent and message id.
    asks: BTreeMap<(String, String), AskNo>,
    /// Reports of a task that wait to be told.
    reports: BTreeMap<TaskNo, BTreeSet<OutboxNo>>,
    /// Served times at which something is to be looked at again.
    wakes: BTreeSet<(i64, Wake)>,
}

/// What a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    Lane(LaneNo),
    Ask(AskNo),
    Outbox(OutboxNo),
    Prompt(PromptNo),
}

impl Desk {
    /// What to do about an input, on the state as the inputs before left it.
    ///
    /// A refused request changes nothing. An observation or a tick is never refused: one that
    /// fits nothing any more is late, and changes nothing either.
    pub fn handle(&mut self, now: Now, input: Input) -> Result<Done, Refusal> {
        let now = self.clock(&now);
        self.meta.served = now.served;
        self.meta_dirty = true;
        let answer = match input {
            Input::Request(request, loaded) => {
                let deed = Deed::of(&request).map(|deed| deed.of_sessions(self.sessions_of(&request, &loaded)));
                let answer = self.request(&now, *request, *loaded);
                if let Some(deed) = deed {
                    self.audit(&now, deed, &answer);
                }
                answer
            }
            Input::Turn(fence, fact) => {
                self.observe_turn(&now, fence, fact);
                Ok(Done::Nothing)
            }
            Input::Ask(no, attempt, fact) => {
                self.observe_ask(&now, no, attempt, fact);
                Ok(Done::Nothing)
            }
            Input::Outbox(no, fact) => {
                self.observe_outbox(&now, no, fact);
                Ok(Done::Nothing)
            }
            Input::Machine(name) => {
                self.place.machine = name;
                Ok(Done::Nothing)
            }
            Input::Tick => {
                self.watch(&now);
                Ok(Done::Nothing)
            }
        };
        self.wake_up(&now);
        answer
    }

    fn request(&mut self, now: &Now, request: Request, loaded: Loaded) -> Result<Done, Refusal> {
        self.adopt(&loaded);
        self.conceal(&request, &loaded)?;
        match request {
            Request::Send(send) => self.send(now, send, &loaded),
            Request::Update { by, task, word, summary, made } => self.update(now, &by, &task, word, summary, &made),
            Request::Cancel { by, task, why } => self.cancel(now, &by, &task, why),
            Request::Ack { by, task } => self.ack(now, &by, &task),
            Request::Ask(ask) => self.ask(now, ask, &loaded),
            Request::CancelAsk { no } => self.cancel_ask(now, no),
            Request::Report(report) => self.report(now, report, &loaded),
            Request::Told { no, seen } => Ok(self.told(now, no, seen)),
            Request::Offer { by, no, call, seen } => self.offer(now, &by, no, call, seen),
            Request::Say { by, session, mid, text } => self.say(now, &by, &session, mid, text, &loaded),
            Request::AnswerPrompt { by, no, answer } => self.answer_prompt(now, &by, no, answer, &loaded),
            Request::AddSession { by, new } => self.add_session(now, &by, *new),
            Request::StopSession { by, name } => self.stop_session(now, &by, &name),
            Request::StartSession { by, name } => self.start_session(now, &by, &name),
            Request::RestartSession { by, name } => self.restart_session(now, &by, &name),
            Request::Attach { by, name } => self.attach(now, &by, &name),
            Request::Detach { by, name } => self.detach(now, &by, &name),
            Request::Queue { by, task, hand } => self.queue(now, &by, &task, hand),
            Request::Pause { by } => self.pause(now, &by),
            Request::Resume { by } => self.resume(now, &by),
            Request::RenameSession { by, name, to } => self.rename(now, &by, &name, to),
            Request::SetSession { by, name, set } => self.set_session(now, &by, &name, set),
            Request::UndoRemove { by, name } => self.undo_remove(now, &by, &name, &loaded),
            Request::NewConversation { by, name, cancel } => self.new_conversation(now, &by, &name, cancel),
            Request::Interrupt { by, name } => self.interrupt(now, &by, &name),
            Request::RemoveSession { by, name } => self.remove_session(now, &by, &name),
            Request::Attempt { by, action, .. } => self.allowed(&by, action).map(|()| Done::Nothing),
            Request::Elsewhere { .. } => Ok(Done::Nothing),
            Request::Met(device) => Ok(self.met(now, device)),
            Request::Mesh { devices } => Ok(self.mesh(now, &devices)),
        }
    }

    /// The rows to commit since the last call: each once, as it is now.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let mut out = Vec::new();
        for (no, text) in self.blobs.drain(..) {
            out.push(Change::Blob(no, text));
        }
        self.sessions.drain(|r| out.push(Change::Session(r)));
        self.lanes.drain(|r| out.push(Change::Lane(r)));
        self.messages.drain(|r| out.push(Change::Message(r)));
        self.tasks.drain(|r| out.push(Change::Task(r)));
        self.deliveries.drain(|r| out.push(Change::Delivery(r)));
        self.turns.drain(|r| out.push(Change::Turn(r)));
        self.prompts.drain(|r| out.push(Change::Prompt(r)));
        self.asks.drain(|r| out.push(Change::Ask(r)));
        self.outbox.drain(|r| out.push(Change::Outbox(r)));
        for no in std::mem::take(&mut self.gone) {
            out.push(Change::OutboxGone(no));
        }
        for event in self.events.drain(..) {
            out.push(Change::Event(event));
        }
        out.extend(self.audits.drain(..).map(Change::Audit));
        out.extend(self.met.drain(..).map(Change::Device));
        out.extend(self.usages.drain(..).map(Change::Usage));
        if std::mem::take(&mut self.meta_dirty) {
            out.push(Change::Meta(self.meta.clone()));
        }
        out
    }

    /// Lets go of what has ended, after its commit: from here on it is read from the store.
    pub fn settled(&mut self) {
        for turn in self.turns.remove_touched(|t| t.ended.is_some()) {
            self.drop_effects(turn.no.0);
            self.index.working.remove(&turn.no);
        }
        for delivery in self.deliveries.remove_touched(|d| d.state == crate::row::DeliveryState::Ended) {
            self.drop_effects(delivery.no.0);
            drop_from(&mut self.index.written, delivery.run, delivery.no);
        }
        for prompt in self.prompts.remove_touched(|p| p.ended.is_some()) {
            self.drop_effects(prompt.no.0);
            drop_from(&mut self.index.prompts, Some(prompt.run), prompt.no);
        }
        for ask in self.asks.remove_touched(|a| !a.live()) {
            self.index.asks.remove(&(ask.agent.clone(), ask.mid.clone()));
            drop_from(&mut self.index.asked, ask.asker(), ask.no);
            drop_from(&mut self.index.asked_here, ask.task_here(), ask.no);
        }
        for task in self.tasks.remove_touched(|t| !t.open()) {
            self.index.task_ids.remove(&task.id);
            for no in self.index.by_task.remove(&task.no).unwrap_or_default() {
                if let Some(m) = self.messages.remove(no) {
                    self.index.messages.remove(&MessageKey::of(&m));
                    m.ask.as_ref().map(|key| self.index.of_ask.remove(key));
                }
            }
        }
        self.sessions.remove_touched(|s| s.removed.is_some());
        self.lanes.clear_touched();
        for said in self.messages.remove_touched(|m| m.task == say::NO_TASK) {
            self.index.messages.remove(&MessageKey::of(&said));
            self.index.by_task.remove(&said.task);
        }
        self.outbox.clear_touched();
    }

    /// The incarnation, boot and counters.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The open task with this id.
    pub fn task_by_id(&self, id: &str) -> Option<&Arc<Task>> {
        self.index.task_ids.get(id).and_then(|no| self.tasks.get(*no))
    }

    /// The session of this name.
    pub fn session_by_name(&self, name: &str) -> Option<&Arc<Session>> {
        self.index.names.get(name).and_then(|uid| self.sessions.get(*uid))
    }

    /// An open delivery.
    pub fn delivery(&self, no: DeliveryNo) -> Option<&Arc<Delivery>> {
        self.deliveries.get(no)
    }

    /// An open task's row.
    pub fn task(&self, no: TaskNo) -> Option<&Arc<Task>> {
        self.tasks.get(no)
    }

    /// A session's row.
    pub fn session(&self, uid: SessionUid) -> Option<&Arc<Session>> {
        self.sessions.get(uid)
    }

    /// A prompt that is open, or whose answer is on its way.
    pub fn prompt(&self, no: PromptNo) -> Option<&Arc<Prompt>> {
        self.prompts.get(no)
    }

    /// What was written, or is to be, in a run of a program that stays, in order.
    pub fn written_in(&self, run: TurnNo) -> Vec<Arc<Delivery>> {
        self.of_run(run).into_iter().filter_map(|no| self.deliveries.get(no).cloned()).collect()
    }

    /// A turn's row, while it is not over.
    pub fn turn(&self, no: TurnNo) -> Option<&Arc<Turn>> {
        self.turns.get(no)
    }

    /// A lane's row.
    pub fn lane(&self, no: LaneNo) -> Option<&Arc<Lane>> {
        self.lanes.get(no)
    }

    /// The id of a lane's conversation; empty for a lane that is not there.
    pub fn conversation_id(&self, no: LaneNo) -> String {
        self.lanes.get(no).map(|l| l.conversation_id(&self.meta.incarnation)).unwrap_or_default()
    }

    /// A live ask's row.
    pub fn ask_row(&self, no: AskNo) -> Option<&Arc<Ask>> {
        self.asks.get(no)
    }

    /// A row of the outbox.
    pub fn outbox_row(&self, no: OutboxNo) -> Option<&Arc<Outbox>> {
        self.outbox.get(no)
    }

    /// Place of a waiting task in its lane's queue, from 1; 0 for one that does not wait.
    pub fn place_in_queue(&self, task: &Task) -> usize {
        let Some(queue) = self.index.queue.get(&task.lane) else {
            return 0;
        };
        if !queue.contains(&(task.position, task.no)) {
            return 0;
        }
        queue.range(..=(task.position, task.no)).count()
    }

    /// The time as this desk takes it: served time never goes back, and its boot is its own.
    fn clock(&self, now: &Now) -> Now {
        Now { served: self.meta.served.max(now.served), boot: self.meta.boot, ..*now }
    }

    fn next(&mut self) -> i64 {
        let no = self.meta.next;
        self.meta.next += 1;
        no
    }

    fn keep(&mut self, text: &Text) -> TextRef {
        let no = self.next();
        self.blobs.push((no, text.clone()));
        TextRef { no, len: text.len() as u64, sha: text.sha() }
    }

    fn event(
        &mut self,
        now: &Now,
        kind: EventKind,
        session: Option<&str>,
        task: Option<&str>,
        state: &str,
        summary: &str,
    ) {
        self.meta.last_event += 1;
        self.events.push(Arc::new(Event {
            seq: self.meta.last_event,
            at: now.wall,
            kind,
            session: session.map(str::to_string),
            of: self.event_of(session, task),
            task: task.map(str::to_string),
            state: state.to_string(),
            summary: crate::text::first_line(summary, 200),
        }));
    }

    /// The session behind a name of now, or behind a task.
    fn event_of(&self, session: Option<&str>, task: Option<&str>) -> Option<SessionUid> {
        let of_name = session.and_then(|name| self.index.names.get(name)).copied();
        let of_task = || task.and_then(|id| self.task_by_id(id)).map(|t| t.session);
        // One that is being removed has lost its name already.
        let going = || self.sessions.iter().find(|(_, s)| Some(s.name.as_str()) == session).map(|(uid, _)| *uid);
        of_name.or_else(of_task).or_else(going)
    }

    fn session_name(&self, uid: SessionUid) -> String {
        self.sessions.get(uid).map_or_else(String::new, |s| s.name.clone())
    }
}

/// Takes a row out of the set it is found by; an empty set goes, too.
fn drop_from<K: Ord, V: Ord>(index: &mut BTreeMap<K, BTreeSet<V>>, key: Option<K>, row: V) {
    let Some(key) = key else { return };
    if let Some(set) = index.get_mut(&key) {
        set.remove(&row);
        if set.is_empty() {
            index.remove(&key);
        }
    }
}
