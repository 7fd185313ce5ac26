//! What the daemon's API is told about tasks, as values. What is not said is not sent.
//! Must not know who says it.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// `POST /v1/asks`: a new task for an agent.
#[derive(Debug, Default, Serialize)]
pub struct NewAsk<'a> {
    pub to: &'a str,
    pub text: &'a str,
    pub id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// What a `done` must prove: `tool_calls`, `files_changed`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub require: &'a [String],
}

/// `POST /v1/tasks/REF/answer`: more on a task, or the answer that it waits for.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    pub text: &'a str,
    pub id: &'a str,
}

/// `POST /v1/tasks/REF`: the worker's word on a task.
#[derive(Debug, Serialize)]
pub struct Update<'a> {
    pub state: Word,
    pub summary: &'a str,
    /// Paths inside of the session's directory.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub files: &'a [String],
}

/// How a task ended, or that it needs something from its asker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    Done,
    Blocked,
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_said_is_not_sent() {
        let bare = NewAsk { to: "a/b", text: "x", id: "m", ..NewAsk::default() };
        assert_eq!(serde_json::to_value(bare).unwrap(), json!({"to": "a/b", "text": "x", "id": "m"}));
        let word = Update { state: Word::Blocked, summary: "which?", files: &[] };
        assert_eq!(serde_json::to_value(word).unwrap(), json!({"state": "blocked", "summary": "which?"}));
    }
}
