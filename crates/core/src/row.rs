//! The rows that the desk holds and the store keeps: sessions, lanes, messages, tasks,
//! deliveries, turns, asks, the outbox, the event feed. They are data; the rules are in `desk`.

mod ask;
mod audit;
mod evidence;
mod prompt;
mod session;
mod session_set;
mod task;
mod usage;

pub use ask::{Ask, AskBy, AskState, AskTo, Known, Offer, Outbox, Report};
pub use audit::{Audit, Device, Given};
pub use evidence::{Evidence, Proof, ToolUse};
pub use prompt::{About, Choice, Prompt, PromptAnswer, PromptState, Question};
pub use session::{Attached, Harness, Lane, LaneKind, Session, SessionState, Worktree};
pub use session_set::{
    MAX_ARGS, MAX_ARGS_BYTES, MAX_LINE, MAX_MESHES, MAX_PROMPT_TIMEOUT, MAX_ROLE, MAX_SKILL_NAME, MAX_SKILLS,
    SessionSet, Skill,
};
pub use task::{
    AskKey, AskedBy, Background, Delivery, DeliveryKind, DeliveryState, Ending, EndsBy, Gate, Made, Message, Task,
    Turn, TurnHow, TurnState,
};
pub use usage::{
    Account, Answered, BY_OWNER, BY_SHROOMS, Cause, Context, CostFrom, MAX_WINDOWS, Mark, Price, RunOf, Spent, Tokens,
    Total, Totals, Usage, Used, Window, goes_on, price, rise,
};

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{AskNo, OutboxNo, SessionUid, TaskNo};
use crate::text::Text;
use crate::time::{Boot, Now};

/// The store's one row about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Random, made with the state; part of every mark that a process of ours bears.
    pub incarnation: String,
    /// How often the daemon has started on this state.
    pub boot: Boot,
    /// Served time, milliseconds.
    pub served: i64,
    /// The next free row number, one counter for all tables.
    pub next: i64,
    /// The last number of the event feed.
    pub last_event: i64,
    /// What was spent on this machine, and on which day (of UTC, since 1970).
    #[serde(default)]
    pub spent: (i64, u64),
    /// Who paused everything, if it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// The last number of the audit log.
    #[serde(default)]
    pub last_audit: i64,
    /// What was given to devices of the mesh.
    #[serde(default)]
    pub given: Given,
    /// What each harness last said of its account's limits, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<String, Account>,
}

impl Meta {
    /// The meta row of a new state.
    pub fn new(incarnation: String) -> Meta {
        Meta {
            incarnation,
            boot: Boot(0),
            served: 0,
            next: 1,
            last_event: 0,
            spent: (0, 0),
            paused: None,
            last_audit: 0,
            given: Given::default(),
            accounts: BTreeMap::new(),
        }
    }
}

/// One line of the event feed: that something changed, and which row to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Number in the feed: 1, 2, 3 … without a gap.
    pub seq: i64,
    /// Wall time, milliseconds.
    pub at: i64,
    /// `task`, `session`, `ask`, `prompt` or `machine`.
    pub kind: EventKind,
    /// The session it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session itself, whatever it is called; nobody is shown this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<SessionUid>,
    /// The task's id, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What it is now, in one word: `submitted`, `working`, `completed`, `added` …
    pub state: String,
    /// A line for people, at most 200 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    Task,
    Session,
    Ask,
    Prompt,
    /// The whole machine.
    Machine,
}

/// A committed change: a row as it is now, or one that is gone.
#[derive(Clone, Debug)]
pub enum Change {
    Meta(Meta),
    Blob(i64, Text),
    Session(Arc<Session>),
    Lane(Arc<Lane>),
    Message(Arc<Message>),
    Task(Arc<Task>),
    Delivery(Arc<Delivery>),
    Turn(Arc<Turn>),
    Prompt(Arc<Prompt>),
    Ask(Arc<Ask>),
    Outbox(Arc<Outbox>),
    OutboxGone(OutboxNo),
    Event(Arc<Event>),
    Audit(Arc<Audit>),
    Device(Arc<Device>),
    Usage(Arc<Usage>),
}

/// All rows that the desk needs at the start: everything open, nothing ended.
#[derive(Clone, Debug, Default)]
pub struct Open {
    pub sessions: Vec<Session>,
    pub lanes: Vec<Lane>,
    pub messages: Vec<Message>,
    pub tasks: Vec<Task>,
    pub deliveries: Vec<Delivery>,
    pub turns: Vec<Turn>,
    pub prompts: Vec<Prompt>,
    pub asks: Vec<Ask>,
    pub outbox: Vec<Outbox>,
    pub devices: Vec<Device>,
}

/// Which attempt a word from the harness belongs to. A word whose fence does not fit what the
/// desk holds is late, and changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fence {
    pub session: SessionUid,
    pub lane: crate::id::LaneNo,
    pub turn: crate::id::TurnNo,
    pub boot: Boot,
    pub attempt: u32,
}

/// What a row is about, for those who wait for a change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Task(TaskNo),
    Ask(AskNo),
}

impl Change {
    /// What somebody may be waiting for in this change.
    pub fn subject(&self) -> Option<Subject> {
        match self {
            Change::Task(t) => Some(Subject::Task(t.no)),
            Change::Ask(a) => Some(Subject::Ask(a.no)),
            _ => None,
        }
    }
}

/// Ages, in milliseconds of `now`, that views print.
pub fn age(now: &Now, wall: i64) -> i64 {
    (now.wall - wall).max(0)
}
