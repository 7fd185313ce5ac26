//! What others see of a task: the A2A state as a view of its facts. Pure, so that the desk, the
//! readers and the tests show the same.

use crate::row::{Ending, Gate, Known, Task};

/// The states of A2A 1.0 that a task of ours can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Submitted,
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Rejected,
    Canceled,
}

impl State {
    /// The word that people read: `input-required`.
    pub fn word(self) -> &'static str {
        match self {
            State::Submitted => "submitted",
            State::Working => "working",
            State::InputRequired => "input-required",
            State::AuthRequired => "auth-required",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Rejected => "rejected",
            State::Canceled => "canceled",
        }
    }

    /// Nothing changes it any more.
    pub fn is_final(word: &str) -> bool {
        matches!(word, "completed" | "failed" | "rejected" | "canceled" | "refused")
    }
}

/// Where a task stands, as A2A says it.
pub fn state(task: &Task) -> State {
    match task.ending {
        Some(Ending::Completed) => State::Completed,
        Some(Ending::Failed) => State::Failed,
        Some(Ending::Rejected) => State::Rejected,
        Some(Ending::Canceled) => State::Canceled,
        None if task.gate == Gate::Held => State::AuthRequired,
        None if task.awaits_asker() => State::InputRequired,
        // Answered, and the answer waits for the lane: nobody works on it.
        None if task.blocked => State::Submitted,
        None if task.delivered.is_some() => State::Working,
        None => State::Submitted,
    }
}

/// The text beside the state: the result, or the question while it is open.
pub fn words(task: &Task) -> Option<crate::TextRef> {
    if !task.open() {
        task.result
    } else if task.awaits_asker() {
        task.question
    } else {
        None
    }
}

/// What an asker is told of a task.
pub fn known(task: &Task) -> Known {
    Known { seq: task.seq, state: state(task).word().to_string(), text: words(task) }
}
