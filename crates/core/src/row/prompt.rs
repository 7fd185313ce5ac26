//! Prompts: permissions and questions that a harness waits with for a person.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{LaneNo, PromptNo, SessionUid, TaskNo, TurnNo};
use crate::text::TextRef;
use crate::time::Stamp;

/// A permission or a question, from when a harness asked until it is answered or withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    pub no: PromptNo,
    pub session: SessionUid,
    pub lane: LaneNo,
    /// The run that asks; with it the prompt is over.
    pub run: TurnNo,
    /// The task that the asking turn works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNo>,
    /// The harness's own id of it.
    pub key: String,
    pub about: About,
    pub state: PromptState,
    pub made: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Stamp>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    Permission {
        tool: String,
        /// What the tool would be given, as JSON.
        input: TextRef,
        /// Why it asks, where it says so.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// What may be allowed for good along with it; an answer names them by their place here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        suggestions: Vec<String>,
        /// No rule answers it, only a person.
        #[serde(default)]
        needs_person: bool,
    },
    Questions(Vec<Question>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub question: String,
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Several choices may be given, joined by `, `.
    #[serde(default)]
    pub several: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    #[serde(default)]
    pub description: String,
}

/// How far a prompt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptState {
    Open,
    Answered {
        answer: PromptAnswer,
        /// Who, as people read it.
        by: String,
    },
    /// Nobody waits for an answer any more, and why.
    Withdrawn {
        why: String,
    },
}

/// What is said to a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptAnswer {
    /// And for good what these suggestions say.
    Allow {
        always: Vec<usize>,
    },
    Deny {
        why: String,
    },
    /// By the question's text.
    Answers(BTreeMap<String, String>),
}

impl Prompt {
    /// Somebody may still answer it.
    pub fn open(&self) -> bool {
        self.state == PromptState::Open && self.ended.is_none()
    }
}

impl PromptState {
    /// The word that people read.
    pub fn word(&self) -> &'static str {
        match self {
            PromptState::Open => "open",
            PromptState::Answered { answer: PromptAnswer::Allow { .. }, .. } => "allowed",
            PromptState::Answered { answer: PromptAnswer::Deny { .. }, .. } => "denied",
            PromptState::Answered { answer: PromptAnswer::Answers(_), .. } => "answered",
            PromptState::Withdrawn { .. } => "withdrawn",
        }
    }
}
