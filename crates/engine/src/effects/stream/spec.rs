//! How a session's program that stays is started: its command line, its environment, its
//! conversation. Blocking; must not start anything.

use std::collections::BTreeMap;

use serde_json::json;
use shrooms_core::desk::Retry;
use shrooms_core::digest::Digest;
use shrooms_core::row::{Fence, Harness, Lane, Session};
use shrooms_core::words;
use shrooms_runner::claude::{self, ClaudeSpec, Conversation, PermissionMode};
use shrooms_runner::{Input as Stdin, RunSpec};

use super::super::run::{OURS, is_full};
use crate::engine::Inner;

/// What the tools of ours are called in Claude Code: `mcp__shrooms__ask_agent`.
const TOOLS: &str = "mcp__shrooms__";
/// They speak of this session's own tasks alone, or only read: asked about, an unattended worker
/// would hang on its own report (ADR 0007).
const UNASKED: [&str; 4] = ["list_agents", "task_status", "task_update", "task_ack"];
/// Tools of Claude Code's own that a model takes for ours, or that would wake it without work.
const COMPETING: [&str; 9] = [
    "CronCreate",
    "CronDelete",
    "CronList",
    "ListAgents",
    "ScheduleWakeup",
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskUpdate",
];
/// How long a call of a tool may take (milliseconds): the longest wait of `ask_agent`, 10 minutes, and
/// one more.
const TOOL_TIMEOUT_MS: u32 = 660_000;

/// A start of it.
pub(super) struct Made {
    pub(super) spec: RunSpec,
    /// A digest of what it is told about itself, where it begins its conversation with that.
    pub(super) noted: Option<String>,
    /// Its conversation was begun with something else: it is to be told anew.
    pub(super) afresh: bool,
}

pub(super) fn of(inner: &Inner, fence: Fence, session: &Session, lane: &Lane) -> Result<Made, (String, Retry)> {
    let counted = |why: String| (why, Retry::Counted);
    let Harness::Claude { model, .. } = &session.harness else {
        return Err(counted("its harness is not in this version".into()));
    };
    let conversation = lane.conversation_id(&inner.incarnation);
    let dir = inner.harnesses.claude_dir.as_ref();
    let dir = dir.ok_or_else(|| counted("set HOME: Claude Code keeps its conversations there".into()))?;
    let file = claude::conversation_file(dir, &conversation)
        .map_err(|e| counted(format!("the conversations in {} cannot be read: {e}", dir.display())))?;
    let conversation = match file {
        Some(_) => Conversation::Resume(conversation),
        None => Conversation::New(conversation),
    };
    let note = words::with_role(words::note(&inner.machine(), &session.name), &session.role);
    let digest = Digest::of([note.as_bytes()]).short(16);
    // Of one that was begun before this was written down, it is taken for the same.
    let afresh = file.is_some() && lane.noted.as_ref().map_or(lane.adopted.is_some(), |noted| *noted != digest);
    let noted = file.is_none().then_some(digest);
    let spec = ClaudeSpec {
        append_system_prompt: Some(note),
        mcp_config: Some(mcp(inner, session)),
        allowed_tools: UNASKED.iter().map(|tool| format!("{TOOLS}{tool}")).collect(),
        disallowed_tools: COMPETING.iter().map(ToString::to_string).collect(),
        ..plain(inner, model.clone(), session.args.clone(), conversation)
    };
    let program = claude::arguments(&spec).map_err(|e| counted(e.to_string()))?;
    let dir = super::super::run_dir(inner, fence.lane, fence.turn);
    super::super::make_dir(&dir).map_err(|e| {
        let retry = if is_full(&e) { Retry::Disk } else { Retry::Counted };
        (format!("cannot make {}: {e}", dir.display()), retry)
    })?;
    let spec = RunSpec {
        dir,
        lock: super::super::lock_file(inner, fence.lane),
        mark: super::super::run_mark(inner, &fence),
        program,
        cwd: session.dir.clone().into(),
        env: BTreeMap::from([
            ("SHROOMS_AGENT_SESSION".to_string(), session.name.clone()),
            ("SHROOMS_AGENT_STATE".to_string(), inner.state.display().to_string()),
            ("MCP_TOOL_TIMEOUT".to_string(), TOOL_TIMEOUT_MS.to_string()),
        ]),
        env_remove: not_inherited(),
        stdin: Stdin::Stream,
        grace_ms: u64::try_from(inner.grace.as_millis()).unwrap_or(shrooms_runner::DEFAULT_GRACE_MS),
    };
    Ok(Made { spec, noted, afresh })
}

/// Claude Code in a conversation, with what is the session's own and nothing of ours.
pub(crate) fn plain(inner: &Inner, model: Option<String>, args: Vec<String>, conversation: Conversation) -> ClaudeSpec {
    ClaudeSpec {
        program: inner.harnesses.claude.clone(),
        conversation,
        model,
        append_system_prompt: None,
        mcp_config: None,
        allowed_tools: Vec::new(),
        disallowed_tools: Vec::new(),
        permission_mode: Some(PermissionMode::Ask),
        extra: args,
    }
}

/// Variables of the daemon's that no program of a session is given.
pub(crate) fn not_inherited() -> Vec<String> {
    OURS.iter().chain(&claude::NOT_INHERITED).map(ToString::to_string).collect()
}

/// The server of our tools. It knows its session by its ancestry; nothing secret is in here.
fn mcp(inner: &Inner, session: &Session) -> String {
    let state = inner.state.display().to_string();
    let server = json!({
        "type": "stdio",
        "command": inner.launcher.display().to_string(),
        "args": ["--state", state, "mcp"],
        "env": {"SHROOMS_AGENT_SESSION": session.name, "SHROOMS_AGENT_STATE": state},
        "alwaysLoad": true,
    });
    json!({"mcpServers": {"shrooms": server}}).to_string()
}
