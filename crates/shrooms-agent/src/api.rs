//! The answers of the daemon's API as values; the one place of this program that reads their shapes.
//! Lenient: what is not known is passed over, what may be absent may be absent.
//! Must not know how they are shown. (Tasks are A2A's own: `task`.)

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::report::Failure;

/// A session of a machine.
#[derive(Debug, Deserialize)]
pub struct Session {
    pub name: String,
    #[serde(default)]
    pub harness: String,
    pub state: String,
    #[serde(default)]
    pub why: Option<String>,
    #[serde(default)]
    pub dir: String,
    #[serde(default)]
    pub warning: Option<String>,
    /// Of one that was just added.
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub starred: bool,
    #[serde(default)]
    pub skills: Vec<Skill>,
    #[serde(default)]
    pub responsibilities: Vec<String>,
    /// Settings that its running program takes with its next start.
    #[serde(default)]
    pub from_next_start: Vec<String>,
    #[serde(default)]
    pub context_used: u64,
    #[serde(default)]
    pub context_window: u64,
    #[serde(default)]
    pub tasks_open: u64,
    #[serde(default)]
    pub tasks_waiting: u64,
}

/// Something that a session is good at.
#[derive(Debug, Deserialize)]
pub struct Skill {
    pub name: String,
    #[serde(default)]
    pub description: String,
}

/// `GET /v1/sessions`.
#[derive(Debug, Deserialize)]
pub struct Sessions {
    pub sessions: Vec<Session>,
}

/// A conversation that began in a terminal.
#[derive(Debug, Deserialize)]
pub struct Conversation {
    pub id: String,
    #[serde(default)]
    pub dir: String,
    #[serde(default)]
    pub title: String,
    pub last: String,
}

/// `GET /v1/conversations`.
#[derive(Debug, Deserialize)]
pub struct Conversations {
    pub conversations: Vec<Conversation>,
}

/// `POST /v1/sessions/NAME/attach`: how a conversation goes on in this terminal.
#[derive(Debug, Deserialize)]
pub struct Attach {
    pub program: Vec<String>,
    pub dir: String,
    pub env_remove: Vec<String>,
    pub config_dir: String,
    pub lock: String,
}

/// A line of the audit log.
#[derive(Debug, Deserialize)]
pub struct AuditLine {
    pub at: String,
    pub who: String,
    pub from: String,
    pub what: String,
    pub about: String,
    pub outcome: String,
}

/// `GET /v1/audit`.
#[derive(Debug, Deserialize)]
pub struct AuditPage {
    pub lines: Vec<AuditLine>,
    #[serde(default)]
    pub next: Option<i64>,
}

/// A machine of the mesh.
#[derive(Debug, Deserialize)]
pub struct Machine {
    pub machine: String,
    #[serde(default)]
    pub mesh: Option<String>,
    #[serde(default)]
    pub reachable: bool,
    #[serde(default)]
    pub why: Option<String>,
    #[serde(default)]
    pub last_seen: Option<String>,
    #[serde(default)]
    pub sessions: Vec<Session>,
}

/// `GET /v1/fleet`.
#[derive(Debug, Deserialize)]
pub struct Fleet {
    pub machines: Vec<Machine>,
}

/// What was asked of an agent from this machine.
#[derive(Debug, Deserialize)]
pub struct Ask {
    /// The agent.
    pub to: String,
    /// The task's full reference, once the worker's machine has taken it.
    #[serde(default)]
    pub task: Option<String>,
    pub message_id: String,
    pub state: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub by: String,
    #[serde(default)]
    pub made: String,
}

impl Ask {
    /// The task's reference, or what it will most likely be.
    pub fn reference(&self) -> String {
        self.task.clone().unwrap_or_else(|| format!("{}:{}", self.to, self.message_id))
    }

    /// The machine that was asked.
    pub fn machine(&self) -> &str {
        self.to.split_once('/').map_or("this machine", |(machine, _)| machine)
    }
}

/// `POST /v1/asks`, beside the task.
#[derive(Debug, Deserialize)]
pub struct Asked {
    pub ask: Ask,
}

/// `GET /v1/asks`.
#[derive(Debug, Deserialize)]
pub struct Asks {
    pub asks: Vec<Ask>,
}

/// A permission or question that waits for a person.
#[derive(Debug, Deserialize)]
pub struct Prompt {
    pub id: i64,
    pub session: String,
    #[serde(default)]
    pub task: Option<String>,
    pub state: String,
    #[serde(default)]
    pub tool: String,
    #[serde(default)]
    pub input: String,
    #[serde(default)]
    pub why: String,
    #[serde(default)]
    pub suggestions: Vec<String>,
    #[serde(default)]
    pub questions: Vec<shrooms_core::row::Question>,
}

/// `GET /v1/prompts`.
#[derive(Debug, Deserialize)]
pub struct Prompts {
    pub prompts: Vec<Prompt>,
}

/// A line of a session's log.
#[derive(Debug, Deserialize)]
pub struct LogLine {
    pub seq: i64,
    pub at: String,
    pub kind: String,
    #[serde(default)]
    pub task: Option<String>,
    pub text: String,
}

/// `GET /v1/sessions/NAME/log`.
#[derive(Debug, Deserialize)]
pub struct Log {
    pub lines: Vec<LogLine>,
}

/// A line that a search found.
#[derive(Debug, Deserialize)]
pub struct Hit {
    /// Where several were searched.
    #[serde(default)]
    pub session: Option<String>,
    pub seq: i64,
    pub at: String,
    pub kind: String,
    pub snippet: String,
}

/// `GET /v1/sessions/NAME/search`, `GET /v1/search`.
#[derive(Debug, Deserialize)]
pub struct Hits {
    pub found: Vec<Hit>,
}

/// What somebody said in a conversation.
#[derive(Debug, Deserialize)]
pub struct Words {
    pub time: String,
    pub role: String,
    pub text: String,
}

/// `GET /v1/sessions/NAME/history`.
#[derive(Debug, Deserialize)]
pub struct History {
    pub history: Vec<Words>,
    #[serde(default)]
    pub next: Option<String>,
}

/// An event of `GET /v1/events`.
#[derive(Debug, Deserialize)]
pub struct Event {
    #[serde(default)]
    pub seq: Option<i64>,
    #[serde(default)]
    pub at: String,
    pub kind: String,
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub summary: Option<String>,
}

/// `GET /v1/status`.
#[derive(Debug, Deserialize)]
pub struct Status {
    pub version: String,
    pub machine: String,
    #[serde(default)]
    pub mesh: String,
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Every address of this machine on its meshes.
    #[serde(default)]
    pub listening: Vec<Heard>,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub pid: u32,
    /// Who paused everything.
    #[serde(default)]
    pub paused: Option<String>,
    /// The session that this process belongs to, by its present name.
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub notice: Option<String>,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Why no mesh is served, or why its names are old.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// An address of this machine, and why nothing arrives there.
#[derive(Debug, Deserialize)]
pub struct Heard {
    pub address: String,
    #[serde(default)]
    pub why_not: Option<String>,
}

/// An answer as a value.
///
/// # Errors
/// It is not what the API says: the daemon is of another version.
pub fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    T::deserialize(answer).map_err(|error| unread(&error.to_string()))
}

/// The error for an answer that cannot be read.
pub fn unread(why: &str) -> Failure {
    Failure::new(format!("the daemon's answer cannot be read: {why}"))
        .hint("it may be of another version than this program: restart it")
}
