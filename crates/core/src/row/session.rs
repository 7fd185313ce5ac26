//! Sessions and lanes: which program works where, and one queue for each conversation of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{LaneNo, SessionUid, TaskNo, TurnNo};
use crate::row::Context;
use crate::time::{Now, Stamp};

use super::session_set::Skill;

/// A removed session can be brought back for so long.
const UNDO_MS: i64 = 7 * 86_400_000;

/// One named agent: one harness in one directory on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub uid: SessionUid,
    /// Unique among the sessions that are not removed.
    pub name: String,
    pub harness: Harness,
    /// Absolute path of the directory that it works in.
    pub dir: String,
    pub state: SessionState,
    /// Its main lane.
    pub lane: LaneNo,
    pub created: Stamp,
    /// What it may spend on a day, in millionths of a US dollar; 0 = no cap of its own.
    #[serde(default)]
    pub daily_micros: u64,
    /// What it has spent, and on which day (of UTC, since 1970).
    #[serde(default)]
    pub spent: (i64, u64),
    /// Tasks of agents may begin on a fresh conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_by_agents: bool,
    /// Whose files it takes: [`crate::name::FilesFrom`] as text each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_files_from: Vec<String>,
    /// What it is good at, as others see it. Nothing is routed by it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    /// What it is there for, a line each, as others see it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responsibilities: Vec<String>,
    /// The owner's own words in its system prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The owner's own arguments for its program, where that stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The owner wants it at the top of lists.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starred: bool,
    /// Its program is not stopped when it rests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_running: bool,
    /// Labels of the meshes that it is there for; empty = all. See [`crate::Principal::sees`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meshes: Vec<String>,
    /// Served seconds after which a prompt of it is denied; 0 = never.
    #[serde(default)]
    pub prompt_timeout: u32,
    /// Served times (ms) of the last hour's tasks of agents, by the device that they came from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, Vec<i64>>,
    /// A terminal has its conversation; nothing is written to it meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// Its directory was made for it, as a worktree of this repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<Stamp>,
}

/// Who has a session's conversation in a terminal, and since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    pub by: String,
    pub since: Stamp,
}

/// A git worktree that was made for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Absolute path of the repository that it is of.
    pub repo: String,
    /// The branch that was made with it.
    pub branch: String,
}

impl Session {
    /// A new one, with nothing set.
    pub fn new(uid: SessionUid, name: String, harness: Harness, dir: String, lane: LaneNo, created: Stamp) -> Session {
        Session {
            uid,
            name,
            harness,
            dir,
            state: SessionState::Ready,
            lane,
            created,
            daily_micros: 0,
            spent: (0, 0),
            fresh_by_agents: false,
            accept_files_from: Vec::new(),
            skills: Vec::new(),
            responsibilities: Vec::new(),
            role: String::new(),
            args: Vec::new(),
            starred: false,
            keep_running: false,
            meshes: Vec::new(),
            prompt_timeout: 0,
            asked: BTreeMap::new(),
            attached: None,
            worktree: None,
            removed: None,
        }
    }

    /// Whether it is there, or was removed so recently, by either clock, that it can be brought back.
    pub fn may_come_back(&self, now: &Now) -> bool {
        self.removed.is_none_or(|at| now.wall - at.wall < UNDO_MS || now.served - at.served < UNDO_MS)
    }
}

/// The program behind a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Harness {
    /// A program of the owner's, run once for each task.
    Command {
        argv: Vec<String>,
        /// Its stdin has all that a worker reads, not the request alone.
        #[serde(default)]
        framed: bool,
        /// A run that a crash cut off is run again instead of failed.
        #[serde(default)]
        rerun_on_crash: bool,
        /// It takes turns: results of its own asks run it too. For the scripted harness of the
        /// tests alone; a command of the owner's is never run by a result.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        takes_turns: bool,
    },
    /// Claude Code, kept running over several turns.
    Claude {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Permissions are answered by the daemon; questions are not.
        #[serde(default)]
        auto_approve: bool,
    },
}

impl Harness {
    /// Its name on the wire and in lists.
    pub fn name(&self) -> &'static str {
        match self {
            Harness::Command { takes_turns: true, .. } => "scripted",
            Harness::Command { .. } => "command",
            Harness::Claude { .. } => "claude",
        }
    }

    /// Whether it is the tests' own: some words of a worker are its alone.
    pub fn is_scripted(&self) -> bool {
        matches!(self, Harness::Command { takes_turns: true, .. })
    }

    /// Whether results of its own asks reach it as turns.
    pub fn takes_turns(&self) -> bool {
        matches!(self, Harness::Command { takes_turns: true, .. } | Harness::Claude { .. })
    }

    /// Whether its program stays for several turns.
    pub fn stays(&self) -> bool {
        matches!(self, Harness::Claude { .. })
    }

    /// Whether a run that a crash cut off is run again.
    pub fn reruns(&self) -> bool {
        matches!(self, Harness::Command { rerun_on_crash: true, .. })
    }
}

/// Whether a session's lanes are served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Takes work.
    Ready,
    /// Keeps its queue, starts nothing, until it is started again.
    Stopped { why: String },
    /// Gone for others; kept for what refers to it.
    Removed,
}

/// One conversation of a session, and its queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    pub no: LaneNo,
    pub session: SessionUid,
    pub kind: LaneKind,
    /// Counts fresh starts; a word from an earlier conversation does not fit.
    #[serde(default)]
    pub generation: u32,
    /// The harness's own id of the conversation, once it has said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// The conversation is one that began elsewhere, in a terminal: its id, instead of one of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<String>,
    /// What the conversation was begun with about itself, as a digest: a harness may go on with that
    /// whatever a later start says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<String>,
    /// Something was written in this conversation, or may have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub used: bool,
    /// When the run that is being ended has ended, a new conversation begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renew: bool,
    /// Until when (wall, ms) the account is at its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<i64>,
    /// It went on after a limit, and no turn of it has ended well since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// The turn that runs, or that may still run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// The one task that has the lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<TaskNo>,
    /// Nothing is started before this served time (ms), after a start that could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<i64>,
    /// What it was told may be gone from its conversation: what it owes and has asked is said again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recap: bool,
    /// How full its conversation is.
    #[serde(default)]
    pub context: Context,
    /// Since when (served, ms) nothing has happened in it.
    #[serde(default)]
    pub quiet_since: i64,
    /// Served times (ms) of reminders, the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminded: Vec<i64>,
    /// Served times (ms) at which its program ended by itself, the newest three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<i64>,
    /// Why its last turn failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Why it waits, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub waits_for: String,
}

impl Lane {
    /// The id under which its harness is started with its conversation, on a machine of this
    /// incarnation.
    pub fn conversation_id(&self, incarnation: &str) -> String {
        let ours = || crate::id::conversation_id(incarnation, self.no, self.generation);
        self.adopted.clone().unwrap_or_else(ours)
    }

    /// From here on another conversation.
    pub(crate) fn begin_anew(&mut self) {
        self.generation += 1;
        self.conversation = None;
        self.adopted = None;
        self.noted = None;
        self.failed = None;
        self.used = false;
        self.context = Context::default();
        self.renew = false;
        self.recap = false;
    }
}

/// Whose conversation a lane is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// The session's own.
    Main,
}
