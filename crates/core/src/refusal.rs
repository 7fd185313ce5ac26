//! What the desk refuses, each with its kind and a message that says what to do next. The wire's
//! codes are chosen from these at one place each (`server`), never from the text.

use thiserror::Error;

use crate::Kind;
use crate::principal::Principal;
use crate::rights::{Action, Right};

/// A request that changes nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "'{name}' cannot be a session's name: begin with a letter or digit, then letters, digits, '.', '_' or '-', at most 64 characters"
    )]
    BadName { name: String },
    #[error("the name '{name}' is reserved: choose another")]
    ReservedName { name: String },
    #[error("'{text}' is not an agent: write MACHINE/SESSION, for example homeserver/review")]
    BadAgent { text: String },
    #[error("'{text}' is not a task: write MACHINE/SESSION:MESSAGE-ID, or SESSION:MESSAGE-ID for one on this machine")]
    BadTaskRef { text: String },
    #[error(
        "there is already a session '{name}' on this machine: choose another name, or remove it with: session remove {name}"
    )]
    NameTaken { name: String },
    #[error(
        "there is a session '{name}' now: give it another name first (session rename {name} OTHER), then bring the old one back"
    )]
    NameInUse { name: String },
    #[error("no session '{name}' on {machine}{hint}")]
    NoSession { name: String, machine: String, hint: String },
    #[error("no task '{id}' here")]
    NoTask { id: String },
    #[error("no ask '{id}' here")]
    NoAsk { id: String },
    #[error("no prompt '{id}' here; those that wait are shown by: prompt list")]
    NoPrompt { id: i64 },
    #[error("prompt {id} {how}; it takes no other answer")]
    PromptOver { id: i64, how: String },
    #[error("prompt {id}: {why}")]
    WrongAnswer { id: i64, why: String },
    #[error("session '{name}' has {waiting} messages of a person waiting, the limit: wait until they are read")]
    TooManySaid { name: String, waiting: usize },
    #[error("the message has no text")]
    EmptyText,
    #[error("the message has no id: give one, fresh for each new request")]
    NoMessageId,
    #[error("the {what} is {len} bytes; at most {max} are taken")]
    TooLong { what: &'static str, len: usize, max: usize },
    #[error("the message refers to {refs} tasks; at most {max} are taken")]
    TooManyRefs { refs: usize, max: usize },
    #[error(
        "task {id} would have {made} files; at most {max} are kept with one task: name fewer, or pack them into one"
    )]
    TooManyMade { id: String, made: usize, max: usize },
    #[error("message id '{mid}' is that of an ask of {by}: use one of your own")]
    IdOfAnother { mid: String, by: String },
    #[error(
        "message id '{mid}' was used for another text on {when} (task {task}): use a fresh message id for a new request"
    )]
    OtherText { mid: String, when: String, task: String },
    #[error(
        "message id '{mid}' was task {task}, which ended on {when} and is no longer kept: use a fresh message id for a new request"
    )]
    LongGone { mid: String, task: String, when: String },
    #[error("task {id} is already {state} since {when}; a final state does not change{hint}")]
    Ended { id: String, state: &'static str, when: String, hint: &'static str },
    #[error("task {id} belongs to the session '{owner}': only it, or the owner on this machine, may say how it ended")]
    NotYourTask { id: String, owner: String },
    #[error("task {id} has not begun: its worker has not read it, and can need nothing yet")]
    NotBegun { id: String },
    #[error(
        "task {id} was asked by {asker}: the session '{session}' has no say in it, only whoever asked, or the owner"
    )]
    NotYourAsk { id: String, asker: String, session: String },
    #[error(
        "how a task ended is said on the worker's own machine: run it there, or ask for it to be cancelled with: a2a cancel"
    )]
    UpdateFromAway,
    #[error("'{word}' is not done, blocked or failed")]
    BadWord { word: String },
    #[error("session '{name}' has {waiting} tasks waiting, the limit: wait, cancel some, or ask another agent")]
    QueueFull { name: String, waiting: usize },
    #[error(
        "agents of your machine have given session '{name}' {limit} tasks within an hour, the limit that keeps loops from running on: wait, or have the owner send it"
    )]
    LoopGuard { name: String, limit: u32 },
    #[error("task {id} does not wait in a queue: there is nothing to move, park or release")]
    NotWaiting { id: String },
    #[error(
        "session '{name}' has open tasks ({tasks}): finish or cancel them first, or say that they are to be cancelled"
    )]
    OpenTasks { name: String, tasks: String },
    #[error("session '{name}' has no turn that could be interrupted")]
    NothingRuns { name: String },
    #[error("task {id} has {waiting} messages waiting, the limit: wait until the worker has read them")]
    TooManyAnswers { id: String, waiting: usize },
    #[error("{asks} asks are open on this machine, the limit: cancel some with: a2a cancel")]
    TooManyAsks { asks: usize },
    #[error("this machine has {sessions} sessions, the limit: remove some first")]
    TooManySessions { sessions: usize },
    #[error(
        "session '{name}' runs a command for each task and has no conversation: give it a task with: a2a send {name} TEXT"
    )]
    NoConversation { name: String },
    #[error(
        "session '{name}' is at work: wait until its turn is over and no prompt of it waits, or cut it short with: session interrupt {name}"
    )]
    AtWork { name: String },
    #[error("a terminal has the conversation of '{name}' ({by}, since {since}): end it there first")]
    Attached { name: String, by: String, since: String },
    #[error("session '{name}' is not attached to a terminal")]
    NotAttached { name: String },
    #[error("the session '{name}' has the conversation {id}: give that one its work, or remove it first")]
    ConversationTaken { id: String, name: String },
    #[error("attaching is done in a terminal of the machine that the session is on")]
    NotInTerminal,
    #[error("a report about ask '{ask}' came from a device that was not asked")]
    WrongReporter { ask: String },
    #[error("{what} is the owner's to do, not a session's")]
    OwnersOnly { what: &'static str },
    #[error(
        "the device {device} may not do this on {machine}: its right there is '{right}' (the owner of {machine} gives rights with mesh_devices in the config there)"
    )]
    DeviceMayNot { device: String, machine: String, right: Right },
    #[error("{setting}: {what}")]
    BadSetting { setting: &'static str, what: String },
    #[error(
        "meshes: your own device is on {of}, and the session would not be there for it any more: set this on {machine} itself"
    )]
    HidesFromYou { of: String, machine: String },
    #[error("'shrooms/fresh' is not possible here: the owner of '{name}' has not allowed it")]
    FreshImpossible { name: String },
}

/// Whether something is this principal's to do on this machine; `what` is how it reads.
///
/// # Errors
/// It is not, and whose it is.
pub fn allows(by: &Principal, action: Action, machine: &str, what: &'static str) -> Result<(), Refusal> {
    match by {
        by if by.may(action) => Ok(()),
        Principal::Device { label, right, .. } => {
            Err(Refusal::DeviceMayNot { device: label.clone(), machine: machine.to_string(), right: *right })
        }
        Principal::Owner | Principal::Session(_) => Err(Refusal::OwnersOnly { what }),
    }
}

impl Refusal {
    /// What kind of refusal this is.
    pub fn kind(&self) -> Kind {
        use Refusal::*;
        match self {
            BadName { .. }
            | ReservedName { .. }
            | BadAgent { .. }
            | BadTaskRef { .. }
            | EmptyText
            | NoMessageId
            | TooLong { .. }
            | TooManyRefs { .. }
            | TooManyMade { .. }
            | WrongAnswer { .. }
            | BadSetting { .. }
            | HidesFromYou { .. }
            | BadWord { .. } => Kind::User,
            NoSession { .. } | NoTask { .. } | NoAsk { .. } | NoPrompt { .. } => Kind::NotFound,
            NameTaken { .. }
            | NameInUse { .. }
            | OtherText { .. }
            | IdOfAnother { .. }
            | LongGone { .. }
            | Ended { .. }
            | NoConversation { .. }
            | PromptOver { .. }
            | NothingRuns { .. }
            | AtWork { .. }
            | Attached { .. }
            | NotAttached { .. }
            | ConversationTaken { .. }
            | NotWaiting { .. }
            | OpenTasks { .. }
            | NotBegun { .. } => Kind::Conflict,
            NotYourTask { .. }
            | NotYourAsk { .. }
            | UpdateFromAway
            | NotInTerminal
            | WrongReporter { .. }
            | OwnersOnly { .. }
            | DeviceMayNot { .. }
            | FreshImpossible { .. } => Kind::Refused,
            QueueFull { .. }
            | TooManyAnswers { .. }
            | TooManySaid { .. }
            | LoopGuard { .. }
            | TooManyAsks { .. }
            | TooManySessions { .. } => Kind::Unavailable,
        }
    }
}

/// A wall time as errors show it (UTC, seconds).
pub fn when(wall_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(wall_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}
