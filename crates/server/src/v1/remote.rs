//! Tasks of other machines: asked there, or, while that machine is away, told from this machine's
//! own record of the ask. A record that is behind is never shown when the machine itself answers.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use shrooms_a2a::shrooms as keys;
use shrooms_a2a::types::SendMessageParams;
use shrooms_a2a::{ErrorCode, Message, Role, SendMessageResponse, Task, TaskState, decode};
use shrooms_core::desk::{Hand, ReportReq, Request, Seen};
use shrooms_core::id;
use shrooms_core::row::{Ask, AskTo, Known, Subject};
use shrooms_core::view::State;
use shrooms_core::{Kind, Principal, Text};
use shrooms_engine::{CALL_TIMEOUT, CallError, Peer, segment};
use shrooms_mesh::{FindError, Machine};

use super::record::{self, AGENT, SEQ, TASK, UNSENT};
use crate::app::App;
use crate::problem::Problem;

/// Between two looks at a task that this machine did not ask for, so that nobody reports it, and whose
/// agent does not stream.
const LOOK: Duration = Duration::from_secs(2);
/// The same for a task that is waited for and reports only what its asker must know: how far it is.
const PROGRESS: Duration = Duration::from_secs(10);
/// How long a cancel waits for the other machine: well under the patience of whoever calls this one.
const CANCEL: Duration = Duration::from_secs(10);
/// Asks that are searched for one that has no task yet: all that may be open at once.
const SEARCHED: usize = shrooms_core::desk::MAX_ASKS;

/// A task of another machine.
pub(super) struct There {
    pub(super) machine: Arc<Machine>,
    pub(super) id: String,
}

/// Finds a machine by what people call it; the mesh is read again before a name is unknown.
pub(super) async fn find(app: &App, name: &str) -> Result<Arc<Machine>, Problem> {
    let mesh = app.engine.mesh();
    match mesh.find(name) {
        Err(FindError::Unknown { .. } | FindError::UnknownAddress(_)) => {
            if let Err(error) = mesh.refresh().await {
                tracing::debug!(%error, "the mesh's names could not be read again");
            }
            mesh.find(name)
        }
        found => found,
    }
    .map_err(|e| match e {
        FindError::Ambiguous { .. } => Problem::new(Kind::Conflict, e.to_string()),
        FindError::Unknown { .. } | FindError::UnknownAddress(_) => Problem::not_found(e.to_string()),
    })
}

/// The name under which people can find the machine again: with its mesh's label where two
/// meshes have one of that name.
pub(super) fn name_of(app: &App, machine: &Machine) -> String {
    match app.engine.mesh().find(&machine.name) {
        Ok(found) if found.id == machine.id => machine.name.clone(),
        _ => machine.label(),
    }
}

/// The session in a task's id.
pub(super) fn session_of(id: &str) -> &str {
    id.split_once(':').map_or(id, |(session, _)| session)
}

impl There {
    fn peer(&self, app: &App) -> Peer {
        app.engine.peer(&self.machine)
    }

    fn session(&self) -> &str {
        session_of(&self.id)
    }

    /// This machine's own ask behind the task: by the task's id, or by the message's while that is
    /// all that is known.
    async fn own_ask(&self, app: &App) -> Result<Option<Ask>, Problem> {
        let (device, id) = (self.machine.id.0.clone(), self.id.clone());
        let found = app.engine.read(move |r| match r.ask_of(Some(&device), &id)? {
            Some(ask) => Ok(Some(ask)),
            None => Ok(r.asks(true, SEARCHED)?.into_iter().find(|ask| is_named(ask, &device, &id))),
        });
        Ok(found.await?)
    }

    /// The machine's own word on the task, or what is known here while it cannot be asked.
    async fn look(&self, app: &App, ask: Option<&Ask>) -> Result<Task, Problem> {
        let id = match ask {
            None => Some(self.id.as_str()),
            Some(ask) => ask.task_id.as_deref(),
        };
        let Some(id) = id else { return from_record(app, ask, self).await };
        match app.engine.outbound().get_task(&self.peer(app), self.session(), id).await {
            // What is known to have ended has: whoever says otherwise now does not know better.
            Ok(task) if goes_back(&task, ask.and_then(|ask| ask.known.as_ref())) => from_record(app, ask, self).await,
            Ok(task) => {
                self.heard_of(app, ask, &task).await;
                Ok(self.marked(app, task))
            }
            Err(error) if ask.is_some_and(|ask| record_speaks(&error, ask)) => from_record(app, ask, self).await,
            Err(error) => Err(problem(&self.machine.name, error)),
        }
    }

    /// The worker's machine reports outcomes; that it has begun is seen by looking, and kept, so that the
    /// record does not fall behind what a person was shown.
    async fn heard_of(&self, app: &App, ask: Option<&Ask>, task: &Task) {
        let Some(ask) = ask.filter(|ask| ask.open()) else { return };
        let known = ask.known.as_ref().map(|known| known.state.as_str());
        if task.status.state != TaskState::Working || known == Some(TaskState::Working.word()) {
            return;
        }
        let report = ReportReq {
            device: self.machine.id.0.clone(),
            ask: app.engine.ask_id(ask.no),
            task_id: task.id.clone(),
            seq: u32::try_from(seq(task)).unwrap_or(0).min(shrooms_engine::MAX_SEQ),
            state: task.status.state.word().to_string(),
            text: None,
        };
        if let Err(error) = app.engine.request(Request::Report(report)).await {
            tracing::debug!(%error, ask = ask.no.0, "that a task has begun could not be kept");
        }
    }

    /// An answer that does not come soon is taken for none: whoever cancels waits for it, and the wish is
    /// kept then.
    async fn cancel(&self, app: &App, id: &str) -> Result<Task, CallError> {
        let peer = self.peer(app);
        let sent = tokio::time::timeout(CANCEL, app.engine.outbound().cancel_task(&peer, self.session(), id)).await;
        let late = |_| Err(CallError::Unsure(format!("no answer within {} s", CANCEL.as_secs())));
        sent.unwrap_or_else(late).map(|task| self.marked(app, task))
    }

    /// With what this side knows of where it came from.
    fn marked(&self, app: &App, mut task: Task) -> Task {
        let name = name_of(app, &self.machine);
        let metadata = task.metadata.get_or_insert_default();
        metadata.remove(UNSENT);
        metadata.insert(AGENT.into(), json!(format!("{name}/{}", self.session())));
        metadata.insert(TASK.into(), json!(format!("{name}/{}", task.id)));
        task
    }
}

/// Whether the task stands otherwise than the end of it that this machine was told.
/// (That it refused an ask is no such end: an earlier try may have arrived after all.)
fn goes_back(task: &Task, known: Option<&Known>) -> bool {
    let end = known.map(|known| known.state.as_str()).filter(|state| State::is_final(state) && *state != "refused");
    end.is_some_and(|end| end != task.status.state.word())
}

async fn from_record(app: &App, ask: Option<&Ask>, there: &There) -> Result<Task, Problem> {
    let unknown = || Problem::not_found(format!("no task '{}' on {}", there.id, there.machine.name));
    let ask = ask.ok_or_else(unknown)?.clone();
    Ok(record::of(app, ask).await?.while_away())
}

/// Whether the ask is what is meant by the id `SESSION:MESSAGE-ID`.
fn is_named(ask: &Ask, device: &str, id: &str) -> bool {
    let AskTo::Device { id: to, session, .. } = &ask.to else { return false };
    let literal = || id.strip_prefix(session.as_str()).and_then(|rest| rest.strip_prefix(':')) == Some(&ask.mid);
    to == device && (literal() || id::task_id(session, &ask.mid) == id)
}

/// Whether the record is the best that can be said after this error: the machine cannot say
/// anything, or it has forgotten a task whose end is known here.
fn record_speaks(error: &CallError, ask: &Ask) -> bool {
    match error {
        CallError::Away(_) | CallError::Unsure(_) => true,
        CallError::Http { status, .. } => *status >= 500,
        CallError::Refused(e) => e.known() == Some(ErrorCode::TaskNotFound) && !ask.open(),
    }
}

/// What a call to another machine came to, for whoever asked.
pub(super) fn problem(machine: &str, error: CallError) -> Problem {
    match error {
        CallError::Away(why) => {
            let detail = format!("{machine} is away, and nothing was sent ({why}): try again when it is back");
            Problem::new(Kind::Unavailable, detail)
        }
        CallError::Unsure(why) => {
            let detail = format!("{machine} gave no whole answer, and may have acted ({why}): look again");
            Problem::new(Kind::Unavailable, detail).with_status(StatusCode::BAD_GATEWAY)
        }
        CallError::Http { status, detail } => {
            let detail = format!("{machine} answered: {detail} (HTTP {status})");
            Problem::new(Kind::Unavailable, detail).with_status(StatusCode::BAD_GATEWAY)
        }
        CallError::Refused(e) => {
            let kind = match e.known() {
                Some(ErrorCode::TaskNotFound) => Kind::NotFound,
                Some(ErrorCode::TaskNotCancelable | ErrorCode::UnsupportedOperation) => Kind::Conflict,
                Some(ErrorCode::NotAllowed) => Kind::Refused,
                Some(ErrorCode::InvalidParams) if e.message.contains("no session") => Kind::NotFound,
                Some(ErrorCode::InvalidParams) => Kind::User,
                _ => return Problem::new(Kind::Unavailable, e.message).with_status(StatusCode::BAD_GATEWAY),
            };
            Problem::new(kind, e.message)
        }
    }
}

/// The number of its last change, as it says.
fn seq(task: &Task) -> u64 {
    task.metadata.as_ref().and_then(|m| m.get(SEQ)).and_then(Value::as_u64).unwrap_or_default()
}

/// Worth answering a waiting caller with.
fn is_news(task: &Task, seen: Option<u32>) -> bool {
    let state = task.status.state;
    state.is_terminal() || asks_the_asker(task) || seen.is_some_and(|seen| seq(task) > u64::from(seen))
}

/// Its worker waits for whoever asked, not for a person of its own.
pub(super) fn asks_the_asker(task: &Task) -> bool {
    task.status.state.is_interrupted() && !keys::flag(task.metadata.as_ref(), keys::PROMPT)
}

/// Where the task stands; with `wait` once there is news, or when the time is over.
pub(super) async fn get(
    app: &App,
    by: &Principal,
    there: &There,
    wait: Option<Duration>,
    seen: Option<u32>,
    offer: Option<String>,
) -> Result<Task, Problem> {
    let ask = there.own_ask(app).await?;
    let (task, ask) = match (wait, ask) {
        (None, ask) => (there.look(app, ask.as_ref()).await?, ask),
        (Some(within), None) => (poll(app, there, within, seen).await?, None),
        (Some(within), Some(ask)) => heard(app, there, ask, within, seen).await?,
    };
    told(app, by, ask.as_ref(), &task, offer).await;
    Ok(task)
}

/// Waits for a task that is not reported to this machine.
async fn poll(app: &App, there: &There, within: Duration, seen: Option<u32>) -> Result<Task, Problem> {
    let deadline = tokio::time::sleep(within);
    tokio::pin!(deadline);
    let mut progress = app.engine.progress(there.peer(app), there.session(), &there.id, LOOK);
    loop {
        let task = there.look(app, None).await?;
        if is_news(&task, seen) || deadline.is_elapsed() || app.shutdown.is_cancelled() {
            return Ok(task);
        }
        tokio::select! {
            () = progress.changed() => {}
            () = &mut deadline => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// Waits for a task that is reported to this machine: each report is a reason to look.
async fn heard(
    app: &App,
    there: &There,
    ask: Ask,
    within: Duration,
    seen: Option<u32>,
) -> Result<(Task, Option<Ask>), Problem> {
    let no = ask.no;
    let mut watch = app.engine.watch(Subject::Ask(no));
    let deadline = tokio::time::sleep(within);
    tokio::pin!(deadline);
    let (mut over, mut looked) = (false, None);
    let id = ask.task_id.as_deref().unwrap_or(&there.id);
    let mut progress = app.engine.progress(there.peer(app), there.session(), id, PROGRESS);
    loop {
        let ask = app.engine.read(move |r| r.ask(no)).await?;
        let number = ask.as_ref().map(|a| (a.open(), a.known.as_ref().map(|k| k.seq)));
        // The record says when to look, not where the task stands: a question in it may have been
        // answered meanwhile.
        if over || looked != Some(number) {
            looked = Some(number);
            let task = there.look(app, ask.as_ref()).await?;
            if over || is_news(&task, seen) || !ask.as_ref().is_some_and(Ask::open) {
                return Ok((task, ask));
            }
        }
        tokio::select! {
            () = watch.changed() => {}
            () = progress.changed(), if seen.is_some() => looked = None,
            () = &mut deadline => over = true,
            () = app.shutdown.cancelled() => over = true,
        }
    }
}

/// What is shown of the end, in the desk's words.
fn seen(task: &Task) -> Seen {
    let number = |key: &str| task.metadata.as_ref().and_then(|m| m.get(key)).and_then(Value::as_u64);
    let seq = number("shrooms/outcome").or_else(|| number(SEQ));
    let words = task.status.message.as_ref().map(Message::joined_text).filter(|t| !t.is_empty());
    Seen {
        task_id: task.id.clone(),
        seq: seq.and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
        state: task.status.state.word().to_string(),
        text: words.map(|w| Text::new(shrooms_core::text::cut(&w, shrooms_core::text::MAX_TEXT))),
    }
}

/// Whoever asked is being shown the end: nobody needs to tell it again. A session that shows what it
/// reads has it only then: `offer` is the call that returns this to it.
pub(super) async fn told(app: &App, by: &Principal, ask: Option<&Ask>, task: &Task, offer: Option<String>) {
    let Some(ask) = ask.filter(|ask| !ask.told && record::is_asker(by, ask)) else { return };
    let (no, ended) = (ask.no, task.status.state.is_terminal());
    let request = match offer {
        Some(call) if ended || asks_the_asker(task) => {
            Request::Offer { by: by.clone(), no, call, seen: Some(seen(task)) }
        }
        None if ended && !shows(app, by).await => Request::Told { no, seen: Some(seen(task)) },
        _ => return,
    };
    if let Err(error) = app.engine.request(request).await {
        tracing::debug!(%error, ask = ask.no.0, "that the asker has the outcome could not be kept");
    }
}

/// Whether what the asker reads is seen in its harness: then only that counts.
async fn shows(app: &App, by: &Principal) -> bool {
    let Principal::Session(uid) = by else { return false };
    let uid = *uid;
    let session = app.engine.read(move |r| r.session(uid)).await;
    session.is_ok_and(|s| s.is_some_and(|s| s.harness.stays()))
}

/// More on the task, or the answer that it waits for.
pub(super) async fn answer(
    app: &App,
    by: &Principal,
    there: &There,
    text: String,
    mid: String,
) -> Result<Task, Problem> {
    let ask = there.own_ask(app).await?;
    asker_only(by, ask.as_ref())?;
    let id = match &ask {
        None => there.id.clone(),
        Some(ask) => ask.task_id.clone().ok_or_else(|| not_there_yet(there))?,
    };
    let mut message = Message { task_id: Some(id.clone()), ..Message::text(mid, Role::User, text) };
    let metadata = message.metadata.get_or_insert_default();
    metadata.insert(keys::FROM.into(), json!(claim(app, by).await?));
    message.extensions.push(keys::EXTENSION_URI.to_string());
    let mut params = SendMessageParams::of(message);
    params.configuration.return_immediately = Some(true);
    let sent = app.engine.outbound().send_message(&there.peer(app), there.session(), &params, CALL_TIMEOUT).await;
    match sent.map_err(|e| problem(&there.machine.name, e))? {
        SendMessageResponse::Task(task) => Ok(there.marked(app, task)),
        SendMessageResponse::Message(_) => there.look(app, ask.as_ref()).await,
    }
}

fn not_there_yet(there: &There) -> Problem {
    let detail = format!(
        "{} has not taken task {} yet, so there is nothing to add to: wait, or cancel it and ask anew",
        there.machine.name, there.id
    );
    Problem::new(Kind::Conflict, detail)
}

/// Who says it, as this machine names its own to others.
async fn claim(app: &App, by: &Principal) -> Result<String, Problem> {
    let me = app.engine.machine();
    Ok(match by {
        Principal::Owner => format!("{me}/owner"),
        Principal::Device { label, .. } => format!("{label}/owner"),
        Principal::Session(uid) => {
            let uid = *uid;
            let name = app.engine.read(move |r| r.session(uid)).await?.map_or_else(String::new, |s| s.name);
            format!("{me}/{name}")
        }
    })
}

/// Ends the task; of an own ask the wish is kept while the machine is away.
pub(super) async fn cancel(app: &App, by: &Principal, there: &There) -> Result<Task, Problem> {
    let ask = there.own_ask(app).await?;
    asker_only(by, ask.as_ref())?;
    let task = match &ask {
        None => there.cancel(app, &there.id).await.map_err(|e| problem(&there.machine.name, e))?,
        Some(ask) => match &ask.task_id {
            None => wished(app, there, ask).await?,
            Some(id) => match there.cancel(app, id).await {
                Ok(task) => task,
                Err(error) if record_speaks(&error, ask) => wished(app, there, ask).await?,
                Err(error) => return Err(problem(&there.machine.name, error)),
            },
        },
    };
    told(app, by, ask.as_ref(), &task, None).await;
    Ok(task)
}

/// A session speaks only for what it asked itself.
fn asker_only(by: &Principal, ask: Option<&Ask>) -> Result<(), Problem> {
    if matches!(by, Principal::Session(_)) && !ask.is_some_and(|ask| record::is_asker(by, ask)) {
        return Err(Problem::refused("only whoever asked for a task, or the owner, has a say in it"));
    }
    Ok(())
}

/// Keeps that an own ask is to be cancelled, and shows it as it then stands.
async fn wished(app: &App, there: &There, ask: &Ask) -> Result<Task, Problem> {
    let no = ask.no;
    app.engine.request(Request::CancelAsk { no }).await?;
    let ask = app.engine.read(move |r| r.ask(no)).await?;
    from_record(app, ask.as_ref(), there).await
}

/// Says that the asker has what it needed.
pub(super) async fn ack(app: &App, by: &Principal, there: &There) -> Result<Task, Problem> {
    let ask = there.own_ask(app).await?;
    asker_only(by, ask.as_ref())?;
    let id = ask.and_then(|ask| ask.task_id).unwrap_or_else(|| there.id.clone());
    let sent = app.engine.outbound().ack_task(&there.peer(app), there.session(), &id).await;
    sent.map(|task| there.marked(app, task)).map_err(|e| problem(&there.machine.name, e))
}

/// The owner's hand on a task that waits there.
pub(super) async fn hand(app: &App, there: &There, hand: Hand) -> Result<Task, Problem> {
    let (verb, body) = match hand {
        Hand::Move { place } => ("move", json!({"place": place})),
        Hand::Park => ("park", json!({})),
        Hand::Release => ("release", json!({})),
    };
    let id = segment(&there.id).ok_or_else(|| Problem::not_found(format!("no task '{}'", there.id)))?;
    let path = format!("/v1/tasks/{id}/{verb}");
    let answer = app.engine.outbound().post_json(&there.peer(app), &path, &body, CALL_TIMEOUT).await;
    let mut answer = answer.map_err(|error| answered(&there.machine.name, error))?;
    let task = decode::<Task>(answer["task"].take())
        .map_err(|why| problem(&there.machine.name, CallError::Unsure(format!("its answer cannot be read: {why}"))))?;
    Ok(there.marked(app, task))
}

/// A refusal of another machine's API, as it would be here.
fn answered(machine: &str, error: CallError) -> Problem {
    match error {
        CallError::Http { status: 400, detail } => Problem::bad(detail),
        CallError::Http { status: 403, detail } => Problem::refused(detail),
        CallError::Http { status: 404, detail } => Problem::not_found(detail),
        CallError::Http { status: 409, detail } => Problem::new(Kind::Conflict, detail),
        error => problem(machine, error),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use shrooms_a2a::jsonrpc::RemoteError;

    use super::*;

    #[test]
    fn a_refusal_from_another_machine_keeps_its_kind_and_its_words() {
        for (code, message, status) in [
            (-32001, "no task 'x' here", 404),
            (-32002, "it has ended", 409),
            (-32004, "not offered", 409),
            (-32053, "you may not ask", 403),
            (-32602, "message.parts: hold no text", 400),
            (-32602, "no session 'x' on homeserver", 404),
            (-32603, "broken", 502),
            (-32058, "full", 502),
            (-1, "?", 502),
        ] {
            let (reason, domain) = (None, None);
            let remote = RemoteError { code, message: message.into(), reason, domain, metadata: BTreeMap::new() };
            let problem = problem("homeserver", remote.into());
            assert_eq!((problem.status.as_u16(), problem.detail.as_str()), (status, message));
        }
    }

    #[test]
    fn what_is_known_to_have_ended_is_not_undone_by_an_answer() {
        for (known, answered, back) in [
            (None, "WORKING", false),
            (Some("working"), "COMPLETED", false),
            (Some("input-required"), "WORKING", false),
            (Some("completed"), "COMPLETED", false),
            (Some("completed"), "WORKING", true),
            (Some("completed"), "FAILED", true),
            (Some("canceled"), "SUBMITTED", true),
            (Some("refused"), "WORKING", false),
        ] {
            let known = known.map(|state| Known { seq: 2, state: state.into(), text: None });
            let task = json!({"id": "t:1", "status": {"state": format!("TASK_STATE_{answered}")}});
            let task: Task = decode(task).unwrap();
            assert_eq!(goes_back(&task, known.as_ref()), back, "{known:?} {answered}");
        }
    }

    #[test]
    fn a_machine_that_gives_no_answer_is_named() {
        let http = CallError::Http { status: 500, detail: "x".into() };
        for (error, status) in
            [(CallError::Away("no route".into()), 503), (CallError::Unsure("late".into()), 502), (http, 502)]
        {
            let problem = problem("homeserver", error);
            assert_eq!(problem.status.as_u16(), status);
            assert!(problem.detail.starts_with("homeserver "), "{}", problem.detail);
        }
    }

    #[test]
    fn the_session_is_before_the_first_colon() {
        for (id, session) in [("tests:m", "tests"), ("tests:a:b", "tests"), ("tests", "tests")] {
            assert_eq!(session_of(id), session);
        }
    }
}
