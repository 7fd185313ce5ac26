//! Tasks, messages, deliveries and turns. The A2A state is a view of a task's facts (`view`); no
//! rule asks for it.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{AskNo, DeliveryNo, LaneNo, MessageNo, SessionUid, TaskNo, TurnNo};
use crate::principal::{Ns, Sender};
use crate::row::evidence::{Evidence, Proof};
use crate::row::usage::{Answered, Cause, Mark, RunOf};
use crate::text::TextRef;
use crate::time::{Boot, Stamp};

/// A message as received; when its task is gone, the tombstone that keeps its id from running
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub no: MessageNo,
    pub session: SessionUid,
    pub ns: Ns,
    /// As the sender chose it.
    pub mid: String,
    /// The task that it is a follow-up to; absent = it asked for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_task: Option<TaskNo>,
    /// The device and its ask that sent it: the same again is the same task, whatever its session is
    /// called by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskKey>,
    /// Over the parts, not the metadata.
    pub digest: Digest,
    pub task: TaskNo,
    pub task_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRef>,
    /// Its parts as the wire has them, where they are not that one text; nothing here reads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<TextRef>,
    pub at: Stamp,
    /// When its task had ended, once that is no longer kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Stamp>,
    /// Since when its task is no longer kept; of a person's message, which is no task, from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Stamp>,
}

/// An ask of another device, by the device's stable identity and the ask's id there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AskKey {
    pub device: String,
    pub ask: String,
}

/// What one message asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub no: TaskNo,
    /// Never changes, whatever happens to the session's name.
    pub id: String,
    pub session: SessionUid,
    pub lane: LaneNo,
    pub sender: Sender,
    pub ns: Ns,
    pub mid: String,
    pub ends_by: EndsBy,
    pub gate: Gate,
    /// Its place in the lane's queue: smaller goes first.
    pub position: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub request: TextRef,
    pub context: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// To be begun on a fresh conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// A delivery for it exists: it is no longer in the queue.
    #[serde(default)]
    pub dispatched: bool,
    /// The worker said that it needs something from the asker.
    #[serde(default)]
    pub blocked: bool,
    /// What it needs, kept after the answer for the worker's next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<TextRef>,
    /// All that its worker asked, in order, the open question too: they are part of what was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<TextRef>,
    /// Messages from the asker that the worker has not read yet.
    #[serde(default)]
    pub pending: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// Its turn waits for a person, who answers so many prompts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompts: u32,
    /// What was seen of the work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub evidence: Evidence,
    /// What the asker requires of a `done`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Proof>,
    /// A `done` without that was given back once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given_back: bool,
    /// It is done without what was required.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
    /// Reminders that its worker was sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nudges: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_nudge: Option<Stamp>,
    /// All reminders were in vain. Not an end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stalled: bool,
    /// The owner interrupted it: until this served time (ms) it has no lane and gets no reminder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hushed: Option<i64>,
    /// Its time is over, and its turn is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overdue: bool,
    /// It was ended because its time was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// Its turn is over and it waits for an ask of its own: others may have the lane meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// What the worker said last, where it says things before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<TextRef>,
    /// What its worker made beside the summary, in the order in which it came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Made>,
    /// It is answered by a message of its worker's and not shown as a task. Of the scripted harness
    /// alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// The summary, or why it ended as it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TextRef>,
    pub stored: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Stamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Stamp>,
    /// The last change that others can see.
    pub changed: Stamp,
    /// Counts those changes: what a report is numbered with.
    pub seq: u32,
    /// The change with which its outcome came, if it has one: what else changes then is no news for
    /// whoever asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outcome: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acked: Option<Stamp>,
    /// Who is told of what matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<AskedBy>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// Something that a worker made for a task: an artifact on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Unique in its task.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its parts as the wire has them; nothing here reads them.
    pub parts: TextRef,
}

/// Where word of a task goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    /// An ask of this same machine: told in the same commit.
    Here(AskNo),
    /// A daemon on another device, by the device's stable identity and the ask's id there.
    Device { id: String, ask: String },
}

/// How a task comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndsBy {
    /// By the worker's word.
    Word,
    /// By its turn (rounds, guests).
    Turn,
    /// By the program's exit.
    Exit,
}

/// What keeps a waiting task from being started, besides the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    Open,
    /// From a cage that the owner has not allowed.
    Held,
    /// Set aside by the owner.
    Parked,
}

/// The four final states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Completed,
    Failed,
    Rejected,
    Canceled,
}

impl Ending {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Ending::Completed => "completed",
            Ending::Failed => "failed",
            Ending::Rejected => "rejected",
            Ending::Canceled => "canceled",
        }
    }
}

/// One thing written to a harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub no: DeliveryNo,
    pub session: SessionUid,
    pub lane: LaneNo,
    pub kind: DeliveryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskNo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRef>,
    /// The run of a program that stays in which it is attempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<TurnNo>,
    /// Who says it, where that is not who asked: the owner may answer in the asker's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// More from the asker that goes along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<TextRef>,
    pub state: DeliveryState,
    /// How often it was attempted, over all boots.
    pub attempt: u32,
    /// Served times (ms) of attempts that never started, the newest three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<i64>,
    /// The tasks that a reminder names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<TaskNo>,
    /// Perhaps a repeat: an earlier attempt was cut off and may have been read.
    #[serde(default)]
    pub repeat: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryKind {
    Task,
    /// The first word to a blocked task.
    Answer,
    /// More on a task that was not blocked, or was answered already.
    Correction,
    /// How an ask of this session's own came out.
    Result,
    /// That a crash cut the work on a task off, with the request in short.
    Recover,
    /// A person's own message; not a task.
    Say,
    /// That a worker went quiet.
    Reminder,
    /// What the session owes and has asked, after its conversation was shortened or cut off.
    Recap,
    /// Nothing: that its program runs is all that is wanted.
    Wake,
}

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Planned,
    /// Committed as attempted; its first byte may have been written.
    Attempting,
    /// The harness has it.
    Taken,
    /// Over: read and worked on, or never to be written any more.
    Ended,
}

/// One run of the harness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub no: TurnNo,
    pub session: SessionUid,
    pub lane: LaneNo,
    /// The boot that may start it; an earlier boot's is never started, only asked about.
    pub boot: Boot,
    pub attempt: u32,
    /// What it was started for.
    pub cause: DeliveryNo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNo>,
    pub state: TurnState,
    /// A program that stays for several turns; `busy` while it works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
    /// Whose program stays, for its records: a session that is removed leaves before its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<RunOf>,
    /// Since when it works (served, ms), and whose the turn is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<Cause>,
    /// Up to where its use is in the records; absent before its first turn's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// The newest answers since its last turn's end: a harness writes its file a moment later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answered>,
    /// All that it used is in the records: it has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counted: bool,
    /// What goes on beside its turns, as the harness says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Background>,
    /// How often its turn was to be cut short.
    #[serde(default)]
    pub interrupts: u32,
    /// Its end was asked for, whatever became of it since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopping: bool,
    /// How it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<TurnHow>,
    pub begun: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Stamp>,
}

/// A command or a helper that goes on beside the turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// The harness's own id of it.
    pub id: String,
    pub what: String,
    /// Served time (ms).
    pub since: i64,
    /// It runs for so long that the owner was told; it is no sign of life any more.
    #[serde(default)]
    pub long: bool,
}

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    Running,
    /// To be ended: its task was cancelled, its session stopped or removed.
    Stopping,
    /// Its process was lost: what became of it must be found out before anything else runs.
    Lost,
    Ended,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnHow {
    /// By itself, with this exit code (absent: by a signal).
    Exit(Option<i32>),
    /// By our stop.
    Stopped,
    /// Cut off by a crash after it had begun.
    Interrupted,
    /// It never began.
    NeverBegan,
}

impl Delivery {
    /// One that is planned, and about nothing yet.
    pub fn planned(no: DeliveryNo, session: SessionUid, lane: LaneNo, kind: DeliveryKind) -> Delivery {
        Delivery {
            no,
            session,
            lane,
            kind,
            task: None,
            ask: None,
            text: None,
            run: None,
            from: None,
            extra: Vec::new(),
            state: DeliveryState::Planned,
            attempt: 0,
            misses: Vec::new(),
            about: Vec::new(),
            repeat: false,
        }
    }
}

impl Task {
    /// Not ended.
    pub fn open(&self) -> bool {
        self.ending.is_none()
    }

    /// It is the asker's turn: the worker asked, and no answer is on its way.
    pub fn awaits_asker(&self) -> bool {
        self.open() && self.blocked && self.pending == 0
    }

    /// Its worker has said something of it, or it will not any more.
    pub fn has_spoken(&self) -> bool {
        self.has_outcome() || self.last_words.is_some() || !self.made.is_empty()
    }

    /// Something that a waiting asker would want to know has happened.
    pub fn has_outcome(&self) -> bool {
        !self.open() || self.awaits_asker() || self.gate == Gate::Held
    }
}
