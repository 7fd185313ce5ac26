//! `/v1/tasks`: where a task stands, the worker's word on it, and what its asker says: on this
//! machine here, on another through `remote`.

use std::time::Duration;

use axum::Json;
use axum::extract::Extension;
use serde::{Deserialize, Serialize};
use shrooms_a2a::{Task, TaskState};
use shrooms_core::desk::{Done, Hand, Request, SendReq, Word};
use shrooms_core::name::TaskRef;
use shrooms_core::rights::Action;
use shrooms_core::row;
use shrooms_core::{Kind, Principal, Refusal, Text, text};
use shrooms_engine::TaskFilter;

use super::input::{Asked, Body, Nothing, Part, message_id, within};
use super::made;
use super::remote::{self, There};
use super::sessions;
use crate::a2a::digest_of_text;
use crate::app::{App, Caller, State};
use crate::problem::Problem;
use crate::task_json::{self, Shown};
use crate::wait;

/// Tasks on a page, as A2A has it.
const PAGE: usize = 50;
/// The most: each may have a text of a megabyte beside it.
const PAGE_MAX: usize = 100;
/// In a list neither the request nor the artifacts are repeated; a task's own address has all.
const IN_LIST: Shown = Shown { history: Some(0), artifacts: false };

/// Where a task is.
enum Place {
    Here(String),
    There(There),
}

async fn place(app: &App, reference: &str) -> Result<Place, Problem> {
    let TaskRef { machine, id } = TaskRef::parse(reference)?;
    let Some(name) = machine else { return Ok(Place::Here(id)) };
    let machine = remote::find(app, &name).await?;
    match machine.id == app.engine.mesh().me().id {
        true => Ok(Place::Here(id)),
        false => Ok(Place::There(There { machine, id })),
    }
}

#[derive(Serialize)]
pub(super) struct One {
    task: Task,
}

fn one(task: Task) -> Json<One> {
    Json(One { task })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    session: Option<String>,
    state: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Page {
    tasks: Vec<Task>,
    next: Option<String>,
}

pub(super) async fn list(State(app): State<App>, Asked(query): Asked<ListQuery>) -> Result<Json<Page>, Problem> {
    let mut filter =
        TaskFilter { limit: within("limit", query.limit.unwrap_or(PAGE), 1, PAGE_MAX)?, ..Default::default() };
    filter.state = query.state.as_deref().map(state_word).transpose()?;
    filter.after = query.cursor.as_deref().map(cursor).transpose()?;
    if let Some(name) = &query.session {
        filter.session = Some(sessions::row(&app, name).await?.session.uid);
    }
    let page = app.engine.read(move |r| r.tasks(&filter)).await?;
    let mut tasks = Vec::with_capacity(page.tasks.len());
    for task in page.tasks {
        tasks.push(task_json::show(&app, task, IN_LIST).await?);
    }
    Ok(Json(Page { tasks, next: page.next.map(|(changed, no)| format!("{changed}.{no}")) }))
}

fn state_word(state: &str) -> Result<String, Problem> {
    let known = TaskState::parse(state).map(|s| s.word().to_string());
    known.ok_or_else(|| {
        let words: Vec<_> = TaskState::all().map(TaskState::word).collect();
        Problem::bad(format!("state: must be one of {}, not '{}'", words.join(", "), text::cut(state, 40)))
    })
}

fn cursor(cursor: &str) -> Result<(i64, i64), Problem> {
    let parts = cursor.split_once('.').and_then(|(changed, no)| Some((changed.parse().ok()?, no.parse().ok()?)));
    parts.ok_or_else(|| Problem::bad("cursor: must be the `next` of the page before, as it was given"))
}

/// What this machine asks of others is asked in its own name: by its own processes alone. A device asks
/// from its own daemon, or has a request handed on, which names it.
pub(super) fn elsewhere(by: &Principal) -> Result<(), Problem> {
    match by {
        Principal::Owner | Principal::Session(_) => Ok(()),
        Principal::Device { .. } => Err(Problem::refused(
            "this machine does not speak to others in your name: ask from your own machine's daemon, or through /v1/machines/MACHINE",
        )),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GetQuery {
    /// Seconds.
    wait: Option<u64>,
    seen: Option<u32>,
    /// The id of the tool call of the asking session that returns this.
    offer: Option<String>,
}

pub(super) async fn get(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Asked(query): Asked<GetQuery>,
) -> Result<Json<One>, Problem> {
    let seconds = within("wait", query.wait.unwrap_or(0), 0, wait::LONGEST.as_secs())?;
    let wait = (seconds > 0).then(|| Duration::from_secs(seconds));
    match place(&app, &reference).await? {
        Place::Here(id) => here(&app, &by, id, wait, query.seen, query.offer).await.map(one),
        Place::There(there) => {
            elsewhere(&by)?;
            remote::get(&app, &by, &there, wait, query.seen, query.offer).await.map(one)
        }
    }
}

async fn here(
    app: &App,
    by: &Principal,
    id: String,
    wait: Option<Duration>,
    seen: Option<u32>,
    offer: Option<String>,
) -> Result<Task, Problem> {
    let no_task = || Problem::from(Refusal::NoTask { id: text::cut(&id, 200) });
    let looked_for = id.clone();
    let mut task = app.engine.read(move |r| r.task(&looked_for)).await?.ok_or_else(no_task)?;
    if let Some(within) = wait {
        task = wait::outcome(app, task.no, within, seen).await?.ok_or_else(no_task)?;
    }
    shown(app, by, task, offer).await
}

/// A task of this machine; an own ask whose outcome is shown is told.
async fn shown(app: &App, by: &Principal, task: row::Task, offer: Option<String>) -> Result<Task, Problem> {
    let (id, outcome) = (task.id.clone(), task.has_outcome());
    let shown = task_json::show(app, task, Shown::ALL).await?;
    if outcome {
        let ask = app.engine.read(move |r| r.ask_of(None, &id)).await?;
        remote::told(app, by, ask.as_ref(), &shown, offer).await;
    }
    Ok(shown)
}

/// Has the desk decide, and shows the task as it then stands.
async fn decided(app: &App, by: &Principal, request: Request) -> Result<Json<One>, Problem> {
    match app.engine.request(request).await? {
        Done::Task { task, .. } => shown(app, by, (*task).clone(), None).await.map(one),
        _ => Err(Problem::new(Kind::Internal, "the desk answered without a task")),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    state: String,
    summary: String,
    /// Paths, inside of the session's directory.
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    artifacts: Vec<made::Given>,
}

pub(super) async fn update(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(update): Body<Update>,
) -> Result<Json<One>, Problem> {
    let word = Word::parse(&update.state)?;
    match place(&app, &reference).await? {
        Place::Here(task) => {
            let made = made::read(&app, &task, update.files, update.artifacts).await?;
            let request = Request::Update { by: by.clone(), task, word, summary: Text::new(update.summary), made };
            decided(&app, &by, request).await
        }
        Place::There(_) => Err(Refusal::UpdateFromAway.into()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    text: String,
    id: Option<String>,
}

pub(super) async fn answer(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(answer): Body<Answer>,
) -> Result<Json<One>, Problem> {
    if answer.text.trim().is_empty() {
        return Err(Refusal::EmptyText.into());
    }
    let mid = message_id(&app.engine, answer.id)?;
    match place(&app, &reference).await? {
        Place::There(there) => {
            elsewhere(&by)?;
            let done = remote::answer(&app, &by, &there, answer.text, mid).await;
            noted(&app, &by, "answer", &reference, &done).await;
            done.map(one)
        }
        Place::Here(id) => {
            let send = SendReq {
                by: by.clone(),
                claim: None,
                session: remote::session_of(&id).to_string(),
                mid,
                task: Some(id),
                digest: digest_of_text(&answer.text),
                text: Text::new(answer.text),
                title: None,
                context: None,
                refs: Vec::new(),
                fresh: false,
                require: Vec::new(),
                vouched: false,
                ask: None,
                parts: None,
                canceled: false,
                random: app.engine.random()?,
            };
            decided(&app, &by, Request::Send(send)).await
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToPlace {
    /// From 1.
    place: u32,
}

pub(super) async fn move_to(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(to): Body<ToPlace>,
) -> Result<Json<One>, Problem> {
    hand(&app, &by, &reference, Hand::Move { place: to.place }).await
}

pub(super) async fn park(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<One>, Problem> {
    hand(&app, &by, &reference, Hand::Park).await
}

pub(super) async fn release(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<One>, Problem> {
    hand(&app, &by, &reference, Hand::Release).await
}

/// The owner's hand on a queue, on the machine that it is of.
async fn hand(app: &App, by: &Principal, reference: &str, hand: Hand) -> Result<Json<One>, Problem> {
    match place(app, reference).await? {
        Place::Here(task) => decided(app, by, Request::Queue { by: by.clone(), task, hand }).await,
        Place::There(there) => {
            owner(by, "changing a queue")?;
            remote::hand(app, &there, hand).await.map(one)
        }
    }
}

/// What somebody here did to a task of another machine is in the log here, too.
async fn noted<T>(app: &App, by: &Principal, what: &'static str, reference: &str, done: &Result<T, Problem>) {
    let failed = done.as_ref().err().map(|problem| problem.detail.clone());
    let about = text::cut(reference, 300);
    let request = Request::Elsewhere { by: by.clone(), what, about, failed };
    if let Err(error) = app.engine.request(request).await {
        tracing::warn!(%error, "what was done on another machine is not in the audit log");
    }
}

/// What this machine does on others for its owner, it does for nobody else: there it is taken for the
/// owner's own word.
pub(super) fn owner(by: &Principal, what: &'static str) -> Result<(), Problem> {
    elsewhere(by)?;
    match by.may(Action::Own) {
        true => Ok(()),
        false => Err(Refusal::OwnersOnly { what }.into()),
    }
}

pub(super) async fn cancel(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<One>, Problem> {
    match place(&app, &reference).await? {
        Place::There(there) => {
            elsewhere(&by)?;
            let done = remote::cancel(&app, &by, &there).await;
            noted(&app, &by, "cancel", &reference, &done).await;
            done.map(one)
        }
        Place::Here(task) => {
            let request = Request::Cancel { by: by.clone(), task, why: None };
            decided(&app, &by, request).await
        }
    }
}

pub(super) async fn ack(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(reference): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<One>, Problem> {
    match place(&app, &reference).await? {
        Place::There(there) => {
            elsewhere(&by)?;
            remote::ack(&app, &by, &there).await.map(one)
        }
        Place::Here(task) => decided(&app, &by, Request::Ack { by: by.clone(), task }).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_taken_in_both_spellings() {
        for (given, want) in [
            ("input-required", Some("input-required")),
            ("TASK_STATE_INPUT_REQUIRED", Some("input-required")),
            ("completed", Some("completed")),
            ("Completed", None),
            ("", None),
        ] {
            assert_eq!(state_word(given).ok().as_deref(), want, "{given}");
        }
    }

    #[test]
    fn a_cursor_is_taken_as_it_was_given() {
        for (given, want) in [
            ("1791450902000.17", Some((1_791_450_902_000, 17))),
            ("1", None),
            ("a.b", None),
            ("1.2.3", None),
            ("", None),
        ] {
            assert_eq!(cursor(given).ok(), want, "{given}");
        }
    }
}
