//! What happens in a harness, in one shape for all of them, and the trait that each harness's wire
//! is read and written through. Pure: text in, events out. It must not know how lines travel, what
//! a session or a task is, or which harness it is.

use std::collections::BTreeMap;

/// Summaries of what tools are given and give back: what a person reads of it in a log.
pub const MAX_SUMMARY: usize = 2_000;

/// Something that happened in a harness.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// It has answered [`Codec::hello`]: it is up.
    Ready,
    /// Which login it has found, by its own word before [`Event::Ready`]; none: it has none, and no turn
    /// of it can succeed. Whether a login is accepted shows with the first turn.
    Login(Option<String>),
    /// A turn begins. `asked` is false for a turn that no message of ours began, as when a command
    /// in the background has ended.
    Started {
        conversation: String,
        model: String,
        asked: bool,
    },
    /// What became of a message of ours.
    Lifecycle {
        id: String,
        state: State,
    },
    /// A piece of the worker's words, as it is written. Nothing is lost without it.
    Delta(String),
    /// A whole piece of the worker's words. Those of its helpers are not among them.
    Words(String),
    /// A tool begins. `by`: the tool call of the helper that uses it, none for the worker itself.
    ToolStarted {
        id: String,
        name: String,
        input: String,
        by: Option<String>,
    },
    ToolEnded {
        id: String,
        is_error: bool,
        output: String,
    },
    /// It waits for an answer, by [`Codec::allow`], [`Codec::deny`] or [`Codec::answer`].
    Prompt {
        id: String,
        prompt: Prompt,
    },
    /// It waits no longer; an answer would be refused.
    PromptWithdrawn {
        id: String,
    },
    TurnEnded(TurnEnd),
    /// Work goes on beside the turns; the process must not be stopped as idle.
    BackgroundStarted {
        id: String,
        what: String,
    },
    BackgroundEnded {
        id: String,
        is_error: bool,
        what: String,
    },
    /// The account's limit: until when (Unix milliseconds), where it was said.
    Limit {
        until: Option<i64>,
        text: String,
    },
    /// What it says of its account's limits, reached or not.
    Account(Account),
    /// An answer of a model begins or ends; its figures are final when the next begins. Not every one
    /// is told, and of a helper's not the end.
    Answer(Answer),
    /// The beginning of the conversation was replaced by a summary.
    Compacted,
    /// The model could not be reached; it will be tried again.
    Retry {
        attempt: u64,
        of: u64,
        why: String,
    },
    /// The harness asks for what we do not have: write this line, or it waits for ever.
    Reply(String),
    /// A sign of life and nothing else.
    Other,
}

/// What became of a message of ours, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The harness has it in memory; a killed one has not.
    Queued,
    /// A turn has it. A killed harness may still have lost it: ask whether it landed.
    Started,
    /// The turn that had it ended well.
    Completed,
    /// The turn that had it was interrupted, or failed.
    Cut,
    /// It will not be given to the model.
    NotRun,
    /// It was there already: no turn comes of it, and no end of one.
    Repeated,
}

/// A question of the harness to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    Permission {
        tool: String,
        /// What the tool would be given, whole, as JSON.
        input: String,
        /// Why it asks, where it says so.
        why: String,
        /// What may be allowed for good with the answer, by its place in this list.
        suggestions: Vec<String>,
        /// Only a person may answer, no rule.
        needs_person: bool,
    },
    Question(Vec<Question>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub question: String,
    pub header: String,
    pub choices: Vec<Choice>,
    /// Several choices may be given, joined by `, `. Words of one's own always may.
    pub several: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub description: String,
}

/// How a turn ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEnd {
    pub ok: bool,
    /// By us: then it is not `ok`, but nothing failed.
    pub interrupted: bool,
    /// Why it is not `ok`.
    pub why: Option<String>,
    /// The worker's last words.
    pub text: String,
    /// Our messages that were in it; none in a turn nobody asked for.
    pub messages: Vec<String>,
    /// What was used so far, by model: of all turns of this process, and of what it says it knows of
    /// earlier ones. Of helpers and side requests, too.
    pub totals: BTreeMap<String, Total>,
    /// Tokens of the conversation that the last request to the model held.
    pub context_used: Option<u64>,
    /// Tokens that fit.
    pub context_window: Option<u64>,
}

/// What was used of one model, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    pub usage: Usage,
    pub cost_usd: f64,
    /// The harness does not know what the model costs: `cost_usd` is a guess of its.
    pub guessed: bool,
}

/// An answer of a model, as far as it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub id: String,
    pub model: String,
    pub usage: Usage,
    /// In the conversation itself, not of a helper.
    pub own: bool,
}

/// What the harness says of its account's limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    pub status: String,
    /// The window that decides now.
    pub window: String,
    /// Whether more than the limits may be used for money.
    pub overage: String,
    /// By name: the fraction that is used, and when it begins anew (Unix milliseconds).
    pub windows: BTreeMap<String, (Option<f64>, Option<i64>)>,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Usage {
    /// The larger of each figure: while an answer is given, they only grow.
    pub fn max(self, other: Usage) -> Usage {
        Usage {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }
}

/// One process of a harness. Everything it returns as text is a line to be written to it.
pub trait Codec: Send {
    /// Take in one line that it printed; unknown ones are [`Event::Other`].
    fn feed(&mut self, line: &str, events: &mut Vec<Event>);
    /// Ask it whether it is up; answered with [`Event::Ready`].
    fn hello(&mut self) -> Option<String>;
    /// A message, under an id that is the same however often it is written.
    fn message(&mut self, id: &str, text: &str) -> String;
    /// Allow what a prompt asks, and for good those of its suggestions; `None` when the prompt does
    /// not wait for this (any more).
    fn allow(&mut self, prompt: &str, suggestions: &[usize]) -> Option<String>;
    /// Refuse what a prompt asks, or to answer it; `None` when it does not wait (any more).
    fn deny(&mut self, prompt: &str, why: &str) -> Option<String>;
    /// Answer a question, by the question's text; `None` when the prompt does not wait for this.
    fn answer(&mut self, prompt: &str, answers: &BTreeMap<String, String>) -> Option<String>;
    /// Interrupt the turn that runs; without one nothing happens.
    fn interrupt(&mut self) -> String;
}

/// The first [`MAX_SUMMARY`] characters.
pub(crate) fn summary(text: &str) -> String {
    match text.char_indices().nth(MAX_SUMMARY) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
