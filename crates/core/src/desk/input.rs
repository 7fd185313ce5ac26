//! What comes to the desk and what it answers: requests (may be refused), observations (never),
//! ticks; and what the engine reads from the store beforehand.

use std::sync::Arc;

use crate::digest::Digest;
use crate::id::{AskNo, DeliveryNo, OutboxNo, PromptNo, SessionUid, TaskNo};
use crate::principal::{Ns, Principal};
use crate::refusal::Refusal;
use crate::rights::{Action, OnMesh};
use crate::row::{
    Account, Answered, Ask, AskKey, Device, Fence, Harness, Lane, Message, Prompt, PromptAnswer, Proof, Question,
    Session, SessionSet, Spent, Task, ToolUse, Used, Worktree,
};
use crate::text::Text;

/// One thing for the desk to decide.
#[derive(Clone, Debug)]
pub enum Input {
    /// May be refused.
    Request(Box<Request>, Box<Loaded>),
    /// A word from a harness, or about one.
    Turn(Fence, TurnFact),
    /// How a try to send, look at or cancel an ask came out.
    Ask(AskNo, u32, AskFact),
    /// How a try to tell another machine came out.
    Outbox(OutboxNo, OutboxFact),
    /// This machine is called otherwise on its mesh now.
    Machine(String),
    /// Time has passed.
    Tick,
}

/// What somebody wants.
#[derive(Clone, Debug)]
pub enum Request {
    Send(SendReq),
    /// The worker's word, or the owner's in its place.
    Update {
        by: Principal,
        task: String,
        word: Word,
        summary: Text,
        /// What it made beside the summary.
        made: Vec<NewMade>,
    },
    Cancel {
        by: Principal,
        task: String,
        why: Option<String>,
    },
    Ack {
        by: Principal,
        task: String,
    },
    Ask(AskReq),
    CancelAsk {
        no: AskNo,
    },
    Report(ReportReq),
    /// Whoever asked has the outcome; `seen` where it was read from the worker's machine, perhaps
    /// before its report came.
    Told {
        no: AskNo,
        seen: Option<Seen>,
    },
    /// The outcome of an ask goes out as the return of this tool call of the asking session; told
    /// once the session has shown that it read it, else it comes as a turn.
    Offer {
        by: Principal,
        no: AskNo,
        call: String,
        seen: Option<Seen>,
    },
    /// A person's own message to a session; not a task.
    Say {
        by: Principal,
        session: String,
        mid: String,
        text: Text,
    },
    AnswerPrompt {
        by: Principal,
        no: PromptNo,
        answer: PromptAnswer,
    },
    AddSession {
        by: Principal,
        new: Box<NewSession>,
    },
    StopSession {
        by: Principal,
        name: String,
    },
    /// Ends its program and starts it anew, in the same conversation.
    RestartSession {
        by: Principal,
        name: String,
    },
    /// Hands its conversation to a terminal of this machine.
    Attach {
        by: Principal,
        name: String,
    },
    /// The terminal is done with it.
    Detach {
        by: Principal,
        name: String,
    },
    StartSession {
        by: Principal,
        name: String,
    },
    /// The owner's hand on a task that waits.
    Queue {
        by: Principal,
        task: String,
        hand: Hand,
    },
    /// Nothing new is begun on this machine.
    Pause {
        by: Principal,
    },
    Resume {
        by: Principal,
    },
    RenameSession {
        by: Principal,
        name: String,
        to: String,
    },
    SetSession {
        by: Principal,
        name: String,
        set: SessionSet,
    },
    /// A session that was removed is brought back.
    UndoRemove {
        by: Principal,
        name: String,
    },
    /// A session goes on in a new conversation; open tasks refuse it unless they are to be cancelled.
    NewConversation {
        by: Principal,
        name: String,
        cancel: bool,
    },
    /// Cut the turn that runs short; reminders for what it worked on wait.
    Interrupt {
        by: Principal,
        name: String,
    },
    RemoveSession {
        by: Principal,
        name: String,
    },
    /// Something that is refused for want of the right to it, so that it is in the log.
    Attempt {
        by: Principal,
        action: Action,
        /// Method and path.
        what: String,
    },
    /// What somebody here did on another machine, for the log.
    Elsewhere {
        by: Principal,
        what: &'static str,
        about: String,
        /// Why not, if it was not done.
        failed: Option<String>,
    },
    /// A device of the mesh called, or answered.
    Met(Device),
    /// The devices that are on the mesh now.
    Mesh {
        devices: Vec<OnMesh>,
    },
}

/// A session to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    pub name: String,
    pub harness: Harness,
    /// Absolute path of the directory that it works in.
    pub dir: String,
    /// What is set of it from the beginning.
    pub set: SessionSet,
    /// A conversation that began elsewhere, to go on in.
    pub conversation: Option<String>,
    pub worktree: Option<Worktree>,
}

impl NewSession {
    /// One with nothing but these.
    pub fn new(name: impl Into<String>, harness: Harness, dir: impl Into<String>) -> NewSession {
        let (name, dir) = (name.into(), dir.into());
        NewSession { name, harness, dir, set: SessionSet::default(), conversation: None, worktree: None }
    }
}

/// What the owner does with a task that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    /// To this place in its queue, from 1.
    Move { place: u32 },
    /// Set aside: it is not started, and keeps its place.
    Park,
    /// Take it up again.
    Release,
}

/// A message to a session: a new task, or more on one.
#[derive(Clone, Debug)]
pub struct SendReq {
    pub by: Principal,
    /// `MACHINE/SESSION` as the message or the sender's daemon says.
    pub claim: Option<String>,
    pub session: String,
    pub mid: String,
    /// The task that it is more on.
    pub task: Option<String>,
    pub text: Text,
    /// Its parts as the wire has them, where they are not that one text.
    pub parts: Option<Text>,
    /// Over the parts as they came.
    pub digest: Digest,
    pub title: Option<String>,
    /// The caller's own context; absent = one is made from `random`.
    pub context: Option<String>,
    pub refs: Vec<String>,
    pub fresh: bool,
    /// What a `done` must prove.
    pub require: Vec<Proof>,
    /// The asker's daemon established the claim itself.
    pub vouched: bool,
    /// The asker's daemon wants to be told, under this id of its ask.
    pub ask: Option<String>,
    /// The asker does not want it any more: it is not begun, and ended if it was.
    pub canceled: bool,
    /// Random, for ids.
    pub random: u64,
}

impl SendReq {
    /// A new task with nothing but this; its digest is the text's.
    pub fn new(by: Principal, session: impl Into<String>, mid: impl Into<String>, text: Text) -> SendReq {
        SendReq {
            by,
            claim: None,
            session: session.into(),
            mid: mid.into(),
            task: None,
            digest: text.sha(),
            text,
            parts: None,
            title: None,
            context: None,
            refs: Vec::new(),
            fresh: false,
            require: Vec::new(),
            vouched: false,
            ask: None,
            canceled: false,
            random: 0,
        }
    }

    /// The ask of another device that it is sent for.
    pub fn ask_key(&self) -> Option<AskKey> {
        match (&self.by, &self.ask) {
            (Principal::Device { id, .. }, Some(ask)) => Some(AskKey { device: id.clone(), ask: ask.clone() }),
            _ => None,
        }
    }
}

/// A task to give away.
#[derive(Clone, Debug)]
pub struct AskReq {
    pub by: Principal,
    pub to: Target,
    /// As people write it: `homeserver/tests`.
    pub agent: String,
    pub mid: String,
    pub text: Text,
    pub digest: Digest,
    pub title: Option<String>,
    pub context: Option<String>,
    pub refs: Vec<String>,
    pub fresh: bool,
    pub require: Vec<Proof>,
    /// Fail instead of waiting for a machine that is away.
    pub now_only: bool,
    pub random: u64,
}

/// Where an ask goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Here { session: String },
    Device { id: String, machine: String, session: String },
}

/// A task as the worker's machine showed it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub task_id: String,
    pub seq: u32,
    /// The state's word.
    pub state: String,
    pub text: Option<Text>,
}

/// Word of a task from the device that works on it.
#[derive(Clone, Debug)]
pub struct ReportReq {
    /// Stable identity of the device that says so.
    pub device: String,
    /// The ask's id as this machine gave it.
    pub ask: String,
    pub task_id: String,
    pub seq: u32,
    pub state: String,
    pub text: Option<Text>,
}

/// Something that a worker made for a task, as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMade {
    pub name: Option<String>,
    /// Its parts as the wire has them.
    pub parts: Text,
}

/// How a worker says that a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Done,
    Blocked,
    Failed,
    /// Of the scripted harness alone, as are the two below: it works, and says something meanwhile.
    Working,
    /// It will not do it.
    Rejected,
    /// It answers with a message, and wants no task to be shown for it.
    Direct,
}

impl Word {
    /// Reads the words of `task_update`, with the synonyms of the original.
    pub fn parse(word: &str) -> Result<Word, Refusal> {
        match word {
            "done" | "completed" => Ok(Word::Done),
            "blocked" | "input-required" | "input_required" => Ok(Word::Blocked),
            "failed" => Ok(Word::Failed),
            "working" => Ok(Word::Working),
            "rejected" => Ok(Word::Rejected),
            "direct" => Ok(Word::Direct),
            _ => Err(Refusal::BadWord { word: crate::text::cut(word, 40) }),
        }
    }

    /// The word itself, where it is of the scripted harness alone.
    pub(super) fn scripted(self) -> Option<&'static str> {
        match self {
            Word::Done | Word::Blocked | Word::Failed => None,
            Word::Working => Some("working"),
            Word::Rejected => Some("rejected"),
            Word::Direct => Some("direct"),
        }
    }
}

/// What became of an attempt, as the runner saw it.
#[derive(Clone, Debug)]
pub enum TurnFact {
    /// The harness has what was written.
    Began,
    /// It ended, and left its exit.
    Ended(Exit),
    /// It was never begun.
    NeverBegan { why: String, retry: Retry },
    /// Its process is gone without a word.
    Lost,
    /// A program that stays: it has a message that was written.
    Taken { delivery: DeliveryNo, attempt: u32 },
    /// It will not give a message to its model.
    NotRun { delivery: DeliveryNo, attempt: u32 },
    /// There was nothing to say after all.
    NotNeeded { delivery: DeliveryNo, attempt: u32 },
    /// It waits for a person.
    Prompted { key: String, about: Asked },
    /// It waits for a person no longer.
    PromptGone { key: String },
    /// It has the return of a tool call.
    Seen { call: String },
    /// Something goes on beside its turns, or has ended.
    Background { id: String, what: String, on: bool },
    /// Its account is at its limit, until then (wall, ms).
    Limit { until: i64, text: String },
    /// A tool call of it runs for long.
    LongCall { name: String },
    /// The beginning of its conversation was replaced by a summary.
    Compacted,
    /// Its last turn failed, and why; `None`: it did not.
    Failed { why: Option<String> },
    /// It works; also when nobody asked it to.
    Busy,
    /// Its turn is over, with what it said last, and what it cost.
    Idle { words: Text, spent: Spent },
    /// What it had used when it ended, and no turn's end told; comes before that end. Counted once,
    /// however often it is told.
    Left { used: Vec<Used> },
    /// A model has answered, in mid-turn; so many tokens of its conversation the request held, where it was
    /// in the conversation itself.
    Answered { answer: Answered, context: Option<u64> },
    /// What it says of its account's limits.
    Account(Account),
    /// A call of a tool has ended.
    Tool(ToolUse),
    /// It says which conversation this is.
    Conversation {
        id: String,
        /// A digest of what it was begun with about itself, where this run began it.
        noted: Option<String>,
    },
    /// What was found afterwards, with every process of it ended.
    Trace {
        began: bool,
        exit: Option<Exit>,
        /// Of a program that stays: what its conversation says of each message that was written.
        landed: Vec<(DeliveryNo, Landed)>,
    },
}

/// What a harness asks a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Permission { tool: String, input: Text, why: String, suggestions: Vec<String>, needs_person: bool },
    Questions(Vec<Question>),
}

/// Whether a message is in the conversation that the harness kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    Yes,
    No,
    /// It cannot be said.
    Unknown,
}

/// How soon an attempt that never began may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Something of an earlier run is still there.
    Soon,
    /// The disk is full.
    Disk,
    /// It failed by itself; three of these in ten minutes and it is given up.
    Counted,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// It could not be started at all, and why.
    pub spawn_error: Option<String>,
    /// Ended by our own stop.
    pub stopped: bool,
    /// Its result, or its last lines.
    pub words: Text,
}

/// What a try about an ask gave.
#[derive(Clone, Debug)]
pub enum AskFact {
    /// The worker's machine answered with the task as it stands.
    Task { task_id: String, seq: u32, state: String, text: Option<Text> },
    /// It refused, for good.
    Refused { why: Text },
    /// It does not know the task (any more).
    Gone { why: Text },
    /// It could not be reached: nothing has left.
    Away { why: String },
    /// Bytes left, and no answer came.
    Unsure { why: String },
}

/// What a try to tell another machine gave.
#[derive(Clone, Debug)]
pub enum OutboxFact {
    /// It has it, or does not want it any more.
    Confirmed,
    /// Not now.
    Failed { why: String },
}

/// What was read from the store for a request, of what the desk does not hold.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The message that was received under the same key before.
    pub message: Option<Message>,
    /// The one that was received for the same ask.
    pub of_ask: Option<Message>,
    /// The ended task that the request, or that message, names.
    pub task: Option<Arc<Task>>,
    /// The session of that task, or of that prompt.
    pub session: Option<Session>,
    /// The id that a new task would have is taken by one that has ended.
    pub id_taken: bool,
    /// The ask that the request names.
    pub ask: Option<Ask>,
    /// The prompt that the request names.
    pub prompt: Option<Prompt>,
    /// The removed session that the request names, the newest of its name, and its lane.
    pub removed: Option<(Session, Lane)>,
}

/// What to read from the store before a request is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    pub message: Option<MessageKey>,
    /// The ask that a message is sent for.
    pub of_ask: Option<AskKey>,
    /// Task named in the request.
    pub task: Option<String>,
    /// Follow-ups: the message's key inside that task.
    pub in_task: Option<(Ns, String)>,
    /// An id that must be free.
    pub free_id: Option<String>,
    pub ask: Option<AskNo>,
    pub prompt: Option<PromptNo>,
    /// The newest removed session of this name.
    pub removed: Option<String>,
    pub ask_mid: Option<(String, String)>,
}

/// What makes two messages the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageKey {
    pub session: SessionUid,
    pub ns: Ns,
    pub mid: String,
    pub in_task: Option<TaskNo>,
}

impl MessageKey {
    /// The key of a stored message.
    pub fn of(m: &Message) -> MessageKey {
        MessageKey { session: m.session, ns: m.ns.clone(), mid: m.mid.clone(), in_task: m.in_task }
    }
}

/// A request's outcome. Never given to anybody before its commit.
#[derive(Clone, Debug)]
pub enum Done {
    Nothing,
    /// The task as it stands; `made` if this very request made it.
    Task {
        task: Arc<Task>,
        made: bool,
    },
    Ask {
        ask: Arc<Ask>,
        task: Option<Arc<Task>>,
        made: bool,
    },
    Session(Arc<Session>),
    Prompt(Arc<Prompt>),
    /// A person's message; `made` if this very request brought it.
    Said {
        made: bool,
    },
}
