//! The one place where a stored task becomes the A2A task that others see: both bindings, streams
//! and `/v1` all show this.

use serde_json::{Map, Value, json};
use shrooms_a2a::shrooms as keys;
use shrooms_a2a::types::TaskStatus;
use shrooms_a2a::{Artifact, Message, Part, Role, Task, TaskState, Timestamp, decode};
use shrooms_core::Stamp;
use shrooms_core::row::{self, Ending, Evidence, Gate};
use shrooms_core::text::cut;
use shrooms_core::view::{self, State};
use shrooms_engine::EngineError;
use shrooms_engine::TaskTexts;

use crate::app::{App, ServerConfig};

/// Characters of the worker's last words that every view of a task holds (seed).
const LAST_WORDS: usize = 600;

/// How much of a task is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// The newest so many messages; `None` = all, 0 = no history at all.
    pub(crate) history: Option<u32>,
    pub(crate) artifacts: bool,
}

impl Shown {
    pub(crate) const ALL: Shown = Shown { history: None, artifacts: true };
}

/// Reads a task's texts and shows it.
pub(crate) async fn show(app: &App, task: row::Task, shown: Shown) -> Result<Task, EngineError> {
    let shown = show_all(app, vec![task], shown).await?;
    shown.into_iter().next().ok_or(EngineError::Stopping)
}

/// Shows several, in one read.
pub(crate) async fn show_all(app: &App, tasks: Vec<row::Task>, shown: Shown) -> Result<Vec<Task>, EngineError> {
    let (config, machine) = (app.config.clone(), app.engine.machine());
    app.engine
        .read(move |r| {
            let mut out = Vec::with_capacity(tasks.len());
            for task in tasks {
                let texts = r.texts(&task, shown.history != Some(0), shown.artifacts)?;
                let session = r.session(task.session)?.map(|s| s.name);
                out.push(to_a2a(&config, &machine, session.as_deref().unwrap_or(""), &task, texts, shown));
            }
            Ok(out)
        })
        .await
}

/// The A2A state of a view.
pub(crate) fn state(state: State) -> TaskState {
    match state {
        State::Submitted => TaskState::Submitted,
        State::Working => TaskState::Working,
        State::InputRequired => TaskState::InputRequired,
        State::AuthRequired => TaskState::AuthRequired,
        State::Completed => TaskState::Completed,
        State::Failed => TaskState::Failed,
        State::Rejected => TaskState::Rejected,
        State::Canceled => TaskState::Canceled,
    }
}

/// Its turn waits for an answer, and not of whoever asked.
fn waits_for_a_person(task: &row::Task) -> bool {
    view::state(task) == State::InputRequired && !task.awaits_asker()
}

/// The artifact that a task's result is.
pub(crate) fn result_artifact(config: &ServerConfig, task: &row::Task, parts: Vec<Part>) -> Artifact {
    artifact(format!("{}-result", config.sent_id(&task.mid)), Some("result".into()), parts)
}

fn artifact(artifact_id: String, name: Option<String>, parts: Vec<Part>) -> Artifact {
    Artifact { artifact_id, name, description: None, parts, metadata: None, extensions: Vec::new() }
}

/// The message that stands for a task whose worker wants none to be shown.
pub(crate) fn direct(task: Task) -> Message {
    let empty = || Message::text(format!("{}-status", task.id), Role::Agent, "");
    Message { task_id: None, ..task.status.message.unwrap_or_else(empty) }
}

/// Parts that were kept as JSON; what cannot be read any more is said, and hides nothing else.
fn kept_parts(json: &str) -> Vec<Part> {
    let read = serde_json::from_str(json).ok().and_then(|value| decode::<Vec<Part>>(value).ok());
    read.filter(|parts| !parts.is_empty())
        .unwrap_or_else(|| vec![Part::text("(this part was kept in a form that this version cannot read)")])
}

fn to_a2a(
    config: &ServerConfig,
    machine: &str,
    session: &str,
    task: &row::Task,
    texts: TaskTexts,
    shown: Shown,
) -> Task {
    let words = match waits_for_a_person(task) {
        true => Some(format!("waits for a person on {machine}; there is nothing for you to answer")),
        false => texts.words.filter(|w| !w.is_empty()),
    };
    let message = |message_id: String, role: Role, parts: Vec<Part>| Message {
        message_id,
        context_id: Some(task.context.clone()),
        task_id: Some(task.id.clone()),
        role,
        parts,
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    let said = words
        .clone()
        .map(|text| message(format!("{}-status", config.sent_id(&task.mid)), Role::Agent, vec![Part::text(text)]));
    let result = words.filter(|_| task.ending == Some(Ending::Completed));
    let result = result.map(|text| result_artifact(config, task, vec![Part::text(text)]));
    let made = task.made.iter().zip(texts.made);
    let made = made.map(|(made, parts)| artifact(made.id.clone(), made.name.clone(), kept_parts(&parts)));
    let mut questions = 0;
    let asked = texts.asked.into_iter().map(|asked| {
        let parts = asked.parts.map_or_else(|| vec![Part::text(asked.text)], |parts| kept_parts(&parts));
        match asked.mid {
            Some(mid) => message(config.sent_id(&mid).to_string(), Role::User, parts),
            None => {
                questions += 1;
                message(format!("{}-question-{questions}", config.sent_id(&task.mid)), Role::Agent, parts)
            }
        }
    });
    let mut history: Vec<Message> = asked.collect();
    if let Some(newest) = shown.history {
        let drop = history.len().saturating_sub(newest as usize);
        history.drain(..drop);
    }
    Task {
        id: task.id.clone(),
        context_id: Some(task.context.clone()),
        status: TaskStatus {
            state: state(view::state(task)),
            message: said,
            timestamp: Some(Timestamp(task.changed.wall)),
        },
        // In the order in which a stream tells them.
        artifacts: shown.artifacts.then(|| made.chain(result).collect()),
        history: (shown.history != Some(0)).then_some(history),
        metadata: Some(metadata(task, texts.place, texts.last.as_deref(), session, config.profile.is_none())),
    }
}

/// What the daemon saw of the work; names as in the rest of A2A's JSON.
fn evidence(seen: &Evidence) -> Value {
    let mut shown = json!({
        "turns": seen.turns,
        "toolCalls": seen.tool_calls,
        "failed": seen.failed,
        "tokens": seen.tokens,
    });
    let mut put = |key: &str, value: Value| shown[key] = value;
    if !seen.tools.is_empty() {
        put("tools", json!(seen.tools));
    }
    if !seen.files_changed.is_empty() {
        put("filesChanged", json!(seen.files_changed));
    }
    if !seen.commands.is_empty() {
        put("commands", json!(seen.commands));
    }
    if let Some(code) = seen.exit_code {
        put("exitCode", json!(code));
    } else if seen.tool_calls == 0 {
        put("noToolCalls", json!(true));
    }
    shown
}

/// `with_seen`: also what the daemon saw of the work.
fn metadata(task: &row::Task, place: i64, last: Option<&str>, session: &str, with_seen: bool) -> Map<String, Value> {
    let at = |stamp: Option<Stamp>| stamp.map(|s| Value::String(Timestamp(s.wall).to_string()));
    let mut receipt = Map::new();
    for (key, stamp) in
        [("stored", Some(task.stored)), ("delivered", task.delivered), ("started", task.started), ("ended", task.ended)]
    {
        if let Some(at) = at(stamp) {
            receipt.insert(key.into(), at);
        }
    }
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_string(), value);
    };
    put(keys::SESSION, json!(session));
    put(keys::FROM, json!(task.sender.label));
    put(keys::QUEUED, json!(view::state(task) == State::Submitted));
    put(keys::POSITION, json!(place));
    put("shrooms/seq", json!(task.seq));
    if task.has_outcome() {
        put("shrooms/outcome", json!(view::known(task).seq));
    }
    put(keys::ACKNOWLEDGED, json!(task.acked.is_some()));
    put(keys::NUDGES, json!(task.nudges));
    put(keys::STALLED, json!(task.stalled));
    put(keys::EXPIRED, json!(task.expired));
    if let Some(at) = at(task.last_nudge) {
        put(keys::LAST_NUDGE, at);
    }
    for (key, on) in [
        (keys::PARKED, task.gate == Gate::Parked),
        (keys::OVERDUE, task.overdue),
        (keys::GIVEN_BACK, task.given_back),
        (keys::UNPROVEN, task.unproven),
        (keys::FRESH, task.fresh),
    ] {
        if on {
            put(key, json!(true));
        }
    }
    if !task.require.is_empty() {
        put(keys::REQUIRE, json!(task.require));
    }
    if with_seen && task.evidence != Evidence::default() {
        put(keys::EVIDENCE, evidence(&task.evidence));
        if task.evidence.cost_micros > 0 {
            put(keys::COST_USD, json!(task.evidence.cost_micros as f64 / 1e6));
        }
    }
    put(keys::CAGED, json!(false));
    if let Some(last) = last {
        put(keys::LAST_WORKER_LINE, json!(cut(last.trim(), LAST_WORDS)));
    }
    if waits_for_a_person(task) {
        put(keys::PROMPT, json!(true));
    }
    if task.waiting {
        put(keys::WAITING, json!(true));
    }
    put(keys::RECEIPT, Value::Object(receipt));
    if let Some(title) = &task.title {
        put(keys::TITLE, json!(title));
    }
    out
}
