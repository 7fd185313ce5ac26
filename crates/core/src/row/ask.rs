//! Asks, the asker's own record of a task it gave away, and the outbox of what is to be told to
//! other machines.

use serde::{Deserialize, Serialize};

use crate::id::{AskNo, DeliveryNo, OutboxNo, SessionUid, TaskNo};
use crate::text::TextRef;
use crate::time::{Boot, Stamp};

/// A task that was given away, as this side knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub no: AskNo,
    /// The message id that it is sent under; the same on every try.
    pub mid: String,
    pub by: AskBy,
    pub to: AskTo,
    /// As people write it: `homeserver/tests`.
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub text: TextRef,
    pub state: AskState,
    /// The task's id on the worker's machine, once that has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// Sending, looking, cancelling: which try, in which boot, and whether it is under way.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub trying: bool,
    /// Tries in a row that gave no answer.
    #[serde(default)]
    pub fails: u32,
    #[serde(default)]
    pub boot: Boot,
    /// No try before this served time (ms).
    #[serde(default)]
    pub not_before: i64,
    /// Bytes of an earlier try may have arrived: only the same message id may be sent again.
    #[serde(default)]
    pub unsure: bool,
    /// Sent along with the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<crate::row::Proof>,
    /// Fail instead of waiting for a machine that is away.
    #[serde(default)]
    pub now_only: bool,
    /// The asker wants it ended, and the worker's machine has not been told yet.
    #[serde(default)]
    pub cancel: bool,
    /// Whoever asked has the outcome.
    #[serde(default)]
    pub told: bool,
    /// The task that the asking turn worked on; the outcome is news for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskNo>,
    /// The outcome was given as the return of a tool call of the asking session, which has not
    /// shown yet that it has read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<Offer>,
    /// The delivery that brings the outcome to the asking session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telling: Option<DeliveryNo>,
    pub made: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Stamp>,
}

/// An outcome on its way through a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The harness's id of the call.
    pub call: String,
    /// The change of the task that was offered.
    pub seq: u32,
    /// The harness has shown the return. It is told with the end of that turn: what is shown is not
    /// on the harness's disk yet.
    #[serde(default)]
    pub seen: bool,
}

/// Who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskBy {
    Owner,
    Session(SessionUid),
}

/// Whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskTo {
    /// A session of this machine.
    Here { task: TaskNo },
    /// A session on another device, by the device's stable identity.
    Device { id: String, machine: String, session: String },
}

/// How far an ask is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskState {
    /// Kept here; whether it arrived anywhere is not known before an answer.
    Unsent,
    /// The worker's machine has it.
    Open,
    /// Over, one way or another.
    Ended,
}

/// What the worker's machine last said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The task's change number there; a smaller one is old news.
    pub seq: u32,
    /// The state's word: `working`, `completed`, `input-required` …; `refused` or `unsent` where
    /// there is no task.
    pub state: String,
    /// The result, the question, or why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRef>,
}

/// What is to be told to another machine, until that has confirmed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    pub no: OutboxNo,
    /// The device's stable identity.
    pub device: String,
    pub report: Report,
    pub tries: u32,
    /// No try before this served time (ms).
    pub not_before: i64,
    pub made: Stamp,
}

/// A change of a task that its asker is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The ask's message id, as the asker's machine knows it.
    pub ask: String,
    pub task: TaskNo,
    pub task_id: String,
    pub seq: u32,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRef>,
}

impl Ask {
    /// The session that asked.
    pub fn asker(&self) -> Option<SessionUid> {
        match self.by {
            AskBy::Owner => None,
            AskBy::Session(uid) => Some(uid),
        }
    }

    /// The task that it is for, where that is on this machine.
    pub fn task_here(&self) -> Option<TaskNo> {
        match self.to {
            AskTo::Here { task } => Some(task),
            AskTo::Device { .. } => None,
        }
    }

    /// Not over.
    pub fn open(&self) -> bool {
        self.state != AskState::Ended
    }

    /// The desk still has something to do for it: send, hear of its end, or tell it.
    pub fn live(&self) -> bool {
        self.open() || self.telling.is_some() || self.offered.is_some()
    }
}
