//! Sessions and lanes: which program works where, and one queue for each conversation of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{LaneNo, SessionUid, TaskNo, TurnNo};
use crate::name::FilesFrom;
use crate::row::Context;
use crate::time::Stamp;

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
    /// Served times (ms) of the last hour's tasks of agents, by the device that they came from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<Stamp>,
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

/// What the owner may set about a session; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSet {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_by_agents: Option<bool>,
    /// The whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_files_from: Option<Vec<FilesFrom>>,
    /// Empty = by the harness's own settings; for its next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// 0 = no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_micros: Option<u64>,
}

impl SessionSet {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == SessionSet::default()
    }

    /// The settings that it changes, by name.
    pub(crate) fn named(&self) -> Vec<&'static str> {
        let all = [
            ("auto_approve", self.auto_approve.is_some()),
            ("fresh_by_agents", self.fresh_by_agents.is_some()),
            ("accept_files_from", self.accept_files_from.is_some()),
            ("model", self.model.is_some()),
            ("daily_usd", self.daily_micros.is_some()),
        ];
        all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }

    pub(crate) fn apply(&self, session: &mut Session) {
        session.fresh_by_agents = self.fresh_by_agents.unwrap_or(session.fresh_by_agents);
        if let Some(senders) = &self.accept_files_from {
            session.accept_files_from = senders.iter().map(ToString::to_string).collect();
        }
        session.daily_micros = self.daily_micros.unwrap_or(session.daily_micros);
        if let Harness::Claude { model, auto_approve } = &mut session.harness {
            *auto_approve = self.auto_approve.unwrap_or(*auto_approve);
            if let Some(given) = &self.model {
                *model = Some(given.trim().to_string()).filter(|m| !m.is_empty());
            }
        }
    }

    /// What it changes, for people.
    pub(crate) fn shown(&self) -> String {
        let flag = |name: &str, on: Option<bool>| on.map(|on| format!("{name} {}", if on { "on" } else { "off" }));
        let model = self.model.as_ref().map(|m| format!("model {m}"));
        let cap = self.daily_micros.map(|micros| format!("daily cap {:.2} USD", micros as f64 / 1e6));
        let fresh = flag("fresh by agents", self.fresh_by_agents);
        let files = self.accept_files_from.as_ref().map(|from| match from.is_empty() {
            true => "files from nobody".to_string(),
            false => format!("files from {}", from.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        });
        let all = [flag("auto-approve", self.auto_approve), fresh, model, cap, files];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
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
    /// Why it waits, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub waits_for: String,
}

impl Lane {
    /// From here on another conversation.
    pub(crate) fn begin_anew(&mut self) {
        self.generation += 1;
        self.conversation = None;
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
