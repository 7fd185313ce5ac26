//! A session as the API shows it. One of this machine is made of its rows; one of another is what that
//! machine shows.

use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::refusal;
use shrooms_core::row::{Harness, SessionState, Skill};
use shrooms_engine::SessionRow;

use crate::app::App;

/// A session as everybody is shown it, and as other machines' daemons show theirs.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::v1) struct Session {
    pub(in crate::v1) name: String,
    #[serde(default)]
    harness: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    dir: String,
    #[serde(default)]
    pub(in crate::v1) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Permissions are answered by the daemon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    auto_approve: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The harness's own id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// Agents may have a task begun on a fresh conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fresh_by_agents: bool,
    /// Whose files it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accept_files_from: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::v1) skills: Vec<Skill>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    responsibilities: Vec<String>,
    /// Not in lists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    role: String,
    /// Not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    starred: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keep_running: bool,
    /// Those that it is there for; absent: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    meshes: Vec<String>,
    /// Seconds; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt_timeout: Option<u32>,
    /// Settings that were just given and that its program, which runs, takes with its next start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::v1) from_next_start: Vec<String>,
    /// What it has spent today, in US dollars, and what it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    daily_usd: Option<f64>,
    /// Tokens that its conversation holds, and that fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
    /// Its program is there, at work or not.
    #[serde(default)]
    running: bool,
    /// The branch of the worktree that was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// What its owner should know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(default)]
    tasks_open: u32,
    #[serde(default)]
    tasks_waiting: u32,
    #[serde(default)]
    created: String,
}

impl Session {
    pub(in crate::v1) fn of(app: &App, row: SessionRow) -> Session {
        let limits = &app.engine.settings().limits;
        Session::at(row, app.engine.wall(), limits.daily_micros)
    }

    /// As it is at this wall time; `machine_micros` is what the machine may spend a day.
    fn at(row: SessionRow, wall: i64, machine_micros: u64) -> Session {
        let today = wall.div_euclid(86_400_000);
        let spent = |(day, micros): (i64, u64)| if day == today { micros } else { 0 };
        let cap = row.session.daily_micros;
        let over = cap > 0 && spent(row.session.spent) >= cap;
        let machine_over = machine_micros > 0 && spent(row.machine_spent) >= machine_micros;
        let held = match (&row.paused, row.lane.limited) {
            (Some(by), _) => Some(format!("everything is paused, by {by}")),
            (_, Some(until)) => Some(format!("its account is at its limit until {}", refusal::when(until))),
            _ if over => Some("its daily spend cap is reached".to_string()),
            _ if machine_over => Some("the machine's daily spend cap is reached".to_string()),
            _ if !row.lane.waits_for.is_empty() => Some(row.lane.waits_for.clone()),
            _ => row.lane.failed.as_ref().map(|why| format!("its last turn failed: {why}")),
        };
        let since = |wall| format!("to a terminal since {}", refusal::when(wall));
        let attached = row.session.attached.as_ref().map(|a| since(a.since.wall));
        let (state, why) = match &row.session.state {
            SessionState::Stopped { why } => ("stopped", Some(why.clone())),
            SessionState::Removed => ("stopped", Some("removed".to_string())),
            SessionState::Ready if attached.is_some() => ("attached", attached),
            SessionState::Ready if row.prompts > 0 => ("waiting", Some("for an answer: prompt list".to_string())),
            SessionState::Ready if row.works => ("working", held),
            SessionState::Ready => ("idle", held),
        };
        let harness = row.session.harness.name().to_string();
        let (command, model, auto_approve) = match row.session.harness {
            Harness::Command { argv, .. } => (argv, None, false),
            Harness::Claude { model, auto_approve } => (Vec::new(), model, auto_approve),
        };
        Session {
            name: row.session.name,
            harness,
            command,
            dir: row.session.dir,
            state: state.to_string(),
            why,
            auto_approve,
            model,
            conversation: row.lane.conversation,
            fresh_by_agents: row.session.fresh_by_agents,
            accept_files_from: row.session.accept_files_from,
            skills: row.session.skills,
            responsibilities: row.session.responsibilities,
            role: row.session.role,
            args: row.session.args,
            starred: row.session.starred,
            keep_running: row.session.keep_running,
            meshes: row.session.meshes,
            prompt_timeout: Some(row.session.prompt_timeout).filter(|secs| *secs > 0),
            from_next_start: Vec::new(),
            spent_usd: Some(spent(row.session.spent)).filter(|m| *m > 0).map(|m| m as f64 / 1e6),
            daily_usd: (cap > 0).then_some(cap as f64 / 1e6),
            context_used: Some(row.lane.context.used).filter(|n| *n > 0),
            context_window: Some(row.lane.context.window).filter(|n| *n > 0),
            running: row.lane.turn.is_some(),
            branch: row.session.worktree.map(|w| w.branch),
            warning: None,
            tasks_open: u32::try_from(row.open).unwrap_or(u32::MAX),
            tasks_waiting: u32::try_from(row.waiting).unwrap_or(u32::MAX),
            created: Timestamp(row.session.created.wall).to_string(),
        }
    }

    /// With what its owner should know of it.
    pub(super) fn warned(self, warning: Option<String>) -> Session {
        Session { warning, ..self }
    }

    /// As lists show it: without what is long and nobody chooses by.
    pub(in crate::v1) fn in_list(self) -> Session {
        Session { role: String::new(), args: Vec::new(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shrooms_core::Stamp;
    use shrooms_core::id::{LaneNo, SessionUid, TurnNo};
    use shrooms_core::row::{Lane, LaneKind};

    use super::*;

    #[test]
    fn a_session_is_shown_with_what_it_does() {
        let made = || {
            let argv = vec!["/bin/true".into()];
            let harness = Harness::Command { argv, framed: false, rerun_on_crash: false, takes_turns: false };
            let created = Stamp { wall: 1_800_000_000_000, served: 0 };
            shrooms_core::row::Session::new(SessionUid(1), "tests".into(), harness, "/srv".into(), LaneNo(2), created)
        };
        let shown = |state: SessionState, turn: Option<i64>, waits_for: &str| {
            let row = SessionRow {
                session: shrooms_core::row::Session { state, ..made() },
                lane: Lane {
                    no: LaneNo(2),
                    session: SessionUid(1),
                    kind: LaneKind::Main,
                    generation: 0,
                    conversation: None,
                    adopted: None,
                    noted: None,
                    failed: None,
                    used: false,
                    renew: false,
                    limited: None,
                    resumed: false,
                    context: Default::default(),
                    quiet_since: 0,
                    reminded: Vec::new(),
                    recap: false,
                    crashes: Vec::new(),
                    turn: turn.map(TurnNo),
                    holder: None,
                    not_before: None,
                    waits_for: waits_for.into(),
                },
                paused: None,
                machine_spent: (0, 0),
                works: turn.is_some(),
                prompts: 0,
                open: 2,
                waiting: 1,
            };
            serde_json::to_value(Session::at(row, 1_800_000_000_000, 0)).unwrap()
        };
        let stopped = || SessionState::Stopped { why: "by the owner".into() };
        assert_eq!(
            shown(SessionState::Ready, None, ""),
            json!({"name": "tests", "harness": "command", "command": ["/bin/true"], "dir": "/srv", "state": "idle",
                   "running": false, "tasks_open": 2, "tasks_waiting": 1, "created": "2027-01-15T08:00:00.000Z"})
        );
        for (state, turn, waits_for, word, why) in [
            (SessionState::Ready, Some(3), "", "working", None),
            (SessionState::Ready, None, "the disk is full", "idle", Some("the disk is full")),
            (stopped(), None, "", "stopped", Some("by the owner")),
            (stopped(), Some(3), "", "stopped", Some("by the owner")),
        ] {
            let shown = shown(state, turn, waits_for);
            assert_eq!((shown["state"].as_str(), shown["why"].as_str()), (Some(word), why));
        }
    }
}
