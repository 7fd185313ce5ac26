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
        // Its turn waits for a person on its own machine.
        None if task.prompts > 0 => State::InputRequired,
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

/// What an asker is told of a task. That a person is asked on the worker's machine is nothing for it
/// to answer: the worker works.
pub fn known(task: &Task) -> Known {
    let state = match state(task) {
        State::InputRequired if !task.awaits_asker() => State::Working,
        state => state,
    };
    let seq = if task.has_outcome() && task.outcome > 0 { task.outcome } else { task.seq };
    Known { seq, state: state.word().to_string(), text: words(task) }
}

/// A task's row as the store has it, for tests: a waiting task of a command.
#[doc(hidden)]
pub const EXAMPLE: &str = r#"{"no":1,"id":"r:1","session":1,"lane":2,"sender":{"principal":"owner","label":"the owner"},
    "ns":"","mid":"1","ends_by":"exit","gate":"open","position":1,
    "request":{"no":1,"len":1,"sha":"0000000000000000000000000000000000000000000000000000000000000000"},
    "context":"c","stored":[1,1],"changed":[1,1],"seq":1}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_what_the_facts_say_and_an_end_outweighs_all() {
        let stamp = crate::Stamp { wall: 1, served: 1 };
        for (facts, want) in [
            ("", "submitted"),
            ("dispatched", "submitted"),
            ("dispatched delivered", "working"),
            ("dispatched delivered blocked", "input-required"),
            ("dispatched delivered blocked pending", "submitted"),
            ("dispatched delivered pending", "working"),
            ("dispatched delivered prompt", "input-required"),
            ("dispatched delivered waiting", "working"),
            ("held", "auth-required"),
            ("held completed", "completed"),
            ("dispatched delivered blocked failed", "failed"),
            ("blocked pending canceled", "canceled"),
            ("rejected", "rejected"),
        ] {
            let mut task: Task = serde_json::from_str(EXAMPLE).unwrap();
            for fact in facts.split_whitespace() {
                match fact {
                    "dispatched" => task.dispatched = true,
                    "delivered" => task.delivered = Some(stamp),
                    "blocked" => task.blocked = true,
                    "pending" => task.pending = 1,
                    "prompt" => task.prompts = 1,
                    "waiting" => task.waiting = true,
                    "held" => task.gate = Gate::Held,
                    "completed" => task.ending = Some(Ending::Completed),
                    "failed" => task.ending = Some(Ending::Failed),
                    "canceled" => task.ending = Some(Ending::Canceled),
                    "rejected" => task.ending = Some(Ending::Rejected),
                    other => panic!("no such fact: {other}"),
                }
            }
            assert_eq!(state(&task).word(), want, "{facts}");
            let told = if facts.contains("prompt") { "working" } else { want };
            assert_eq!(known(&task).state, told, "{facts}");
            assert_eq!(State::is_final(want), !task.open(), "{facts}");
        }
    }
}
