//! SendMessage: a new task, or more on one; answered at once or when there is an outcome.
//! What a message says of itself becomes a request to the desk here, for both ways of sending.

use std::sync::Arc;
use std::time::Duration;

use shrooms_a2a::types::{Map, SendMessageParams};
use shrooms_a2a::{A2aError, ErrorCode, Role, SendMessageResponse, shrooms as keys};
use shrooms_core::desk::{Done, Request, SendReq};
use shrooms_core::id::{SessionUid, TaskNo};
use shrooms_core::row::{Proof, Session, Task};
use shrooms_core::{Principal, Text};
use shrooms_engine::EngineError;

use super::files::{self, Kept};
use super::frame::Outcome;
use super::handler::Reply;
use super::parts;
use super::refusal::refused;
use super::scope::Scope;
use crate::app::App;
use crate::task_json::{self, Shown};
use crate::wait;

/// How long an agent that may answer with a message is given for its first word where the caller
/// does not wait: whether there is a task at all is known only then.
pub(super) const FIRST_WORD: Duration = Duration::from_secs(10);

/// A message that is committed.
pub(super) struct Sent {
    pub(super) task: Task,
    /// Its session may answer with a message, and no task to show.
    pub(super) may_be_direct: bool,
    pub(super) shown: Shown,
}

pub(super) async fn answer(scope: Scope, params: SendMessageParams) -> Result<Reply, A2aError> {
    let waits = params.waits();
    let app = scope.app.clone();
    let Sent { task, may_be_direct, shown } = send(scope, params).await?;
    let settled = task.has_outcome() || !(waits || may_be_direct);
    if settled {
        return show(&app, task, shown).await.map(Reply::now);
    }
    let within = if waits { wait::LONGEST } else { FIRST_WORD };
    Ok(Reply::Later(Box::pin(later(app, task.no, within, waits, shown))))
}

async fn later(app: App, no: TaskNo, within: Duration, waits: bool, shown: Shown) -> Result<Outcome, A2aError> {
    let gone = || A2aError::new(ErrorCode::InternalError, "the task is gone");
    let task = match waits {
        true => wait::outcome(&app, no, within, None).await,
        false => wait::first_word(&app, no, within).await,
    };
    show(&app, task.map_err(refused)?.ok_or_else(gone)?, shown).await
}

async fn show(app: &App, task: Task, shown: Shown) -> Result<Outcome, A2aError> {
    let direct = task.direct;
    let task = task_json::show(app, task, shown).await.map_err(refused)?;
    let sent = match direct {
        true => SendMessageResponse::Message(task_json::direct(task)),
        false => SendMessageResponse::Task(task),
    };
    Ok(Outcome::Sent(sent))
}

/// Has the desk take a message in.
pub(super) async fn send(scope: Scope, params: SendMessageParams) -> Result<Sent, A2aError> {
    let found = scope.session_of(&params.message).await;
    // Sent again for an ask, it is found by that, whatever its session is called by now: the desk looks.
    let (name, session) = match (found, &scope.session) {
        (Ok(session), _) => (session.name.clone(), Some(session)),
        (Err(_), Some(name)) if is_of_ask(&scope, &params) => (name.clone(), None),
        (Err(error), _) => return Err(error),
    };
    check(&scope, &params)?;
    let task = params.message.task_id.as_deref().filter(|t| !t.is_empty());
    if let (Some(id), Some(session)) = (task, &session) {
        check_task(&scope, id, &params, session.uid).await?;
    }
    let shown = Shown { history: params.configuration.history_length, artifacts: true };
    let may_be_direct = session.as_ref().is_some_and(may_be_direct);
    let task = to_its_end(async move { take(&scope, &name, session.as_ref(), &params).await }).await?;
    Ok(Sent { task: (*task).clone(), may_be_direct, shown })
}

/// A client that goes away ends no work half way: what was written for a message that is then refused
/// would stay.
async fn to_its_end(
    work: impl Future<Output = Result<Arc<Task>, A2aError>> + Send + 'static,
) -> Result<Arc<Task>, A2aError> {
    #[allow(
        clippy::disallowed_methods,
        reason = "bounded by the desk's answer, and waited for by all but a client that is gone"
    )]
    let work = tokio::spawn(work);
    work.await.unwrap_or_else(|_| Err(A2aError::new(ErrorCode::InternalError, "this daemon has a fault: see its log")))
}

/// Keeps a message's files, and has the desk decide on it. Files of a message that is refused, or was
/// there already, go again.
async fn take(
    scope: &Scope,
    name: &str,
    session: Option<&Session>,
    params: &SendMessageParams,
) -> Result<Arc<Task>, A2aError> {
    let metadata = params.message.metadata.as_ref();
    let (claim, vouched) = (keys::text(metadata, keys::FROM), keys::flag(metadata, keys::VOUCHED));
    let files = match session {
        Some(session) => files::keep(&scope.app, session, (&scope.by, claim, vouched), &params.message.parts).await?,
        None => Kept::default(),
    };
    let request = match read(scope, name, params, &files) {
        Ok(request) => request,
        Err(error) => {
            files.undo();
            return Err(error);
        }
    };
    match scope.app.engine.request(Request::Send(request)).await {
        Ok(Done::Task { task, made: true }) => Ok(task),
        Ok(Done::Task { task, made: false }) => {
            files.undo();
            Ok(task)
        }
        Ok(_) => Err(A2aError::new(ErrorCode::InternalError, "the message made no task")),
        // That the daemon stops does not say that nothing was committed.
        Err(error) => {
            if !matches!(error, EngineError::Stopping) {
                files.undo();
            }
            Err(refused(error))
        }
    }
}

fn may_be_direct(session: &Session) -> bool {
    session.harness.is_scripted()
}

/// Whether another device's daemon sends it, as a new message for an ask of its own.
fn is_of_ask(scope: &Scope, params: &SendMessageParams) -> bool {
    let message = &params.message;
    let more = message.task_id.as_ref().is_some_and(|t| !t.is_empty());
    let of_ask = keys::text(message.metadata.as_ref(), keys::ASK).is_some();
    matches!(scope.by, Principal::Device { .. }) && of_ask && !more
}

/// What cannot be taken, whatever the desk says.
fn check(scope: &Scope, params: &SendMessageParams) -> Result<(), A2aError> {
    if params.message.role != Role::User {
        return Err(A2aError::invalid_params("message.role", "must be ROLE_USER"));
    }
    let configuration = &params.configuration;
    if configuration.task_push_notification_config.is_some() {
        return Err(A2aError::new(
            ErrorCode::PushNotificationNotSupported,
            "push notifications are not offered: leave taskPushNotificationConfig out",
        ));
    }
    // What is given is text; a file that the worker names is of any type, and never all there is.
    let text = |mode: &String| {
        let mode = mode.trim().to_ascii_lowercase();
        mode.starts_with("text/") || matches!(mode.as_str(), "*/*" | "text" | "application/json")
    };
    let modes = &configuration.accepted_output_modes;
    if !modes.is_empty() && !modes.iter().any(text) && scope.app.config.profile.is_none() {
        return Err(A2aError::new(
            ErrorCode::ContentTypeNotSupported,
            "results are text: list text/plain among acceptedOutputModes, or leave it out",
        ));
    }
    Ok(())
}

/// The parameters as the desk takes them.
fn read(scope: &Scope, session: &str, params: &SendMessageParams, files: &Kept) -> Result<SendReq, A2aError> {
    let message = &params.message;
    let metadata = message.metadata.as_ref();
    let text = |key| keys::text(metadata, key).map(str::to_string);
    let title = text(keys::TITLE).map(|t| keys::title(&t)).filter(|t| !t.is_empty());
    let device = matches!(scope.by, Principal::Device { .. });
    let random = scope.app.engine.random().map_err(refused)?;
    let profile = scope.app.config.profile.as_ref();
    let given = parts::read(&message.parts, files)?;
    Ok(SendReq {
        by: scope.by.clone(),
        claim: text(keys::FROM),
        session: session.to_string(),
        mid: match profile {
            Some(profile) => profile.message_id(&message.message_id, random),
            None => message.message_id.clone(),
        },
        task: message.task_id.clone().filter(|t| !t.is_empty()),
        text: Text::new(given.text),
        parts: given.parts.map(Text::new),
        digest: parts::digest(&message.parts),
        title,
        context: message.context_id.clone().filter(|c| !c.is_empty()),
        refs: message.reference_task_ids.clone(),
        fresh: keys::flag(metadata, keys::FRESH),
        require: require(metadata)?,
        vouched: device && keys::flag(metadata, keys::VOUCHED),
        ask: text(keys::ASK).filter(|_| device),
        canceled: device && keys::flag(metadata, keys::CANCELED),
        random,
    })
}

/// What a `done` must prove, by its words.
fn require(metadata: Option<&Map>) -> Result<Vec<Proof>, A2aError> {
    let wrong = || {
        let what = "must be an array of tool_calls and files_changed";
        A2aError::invalid_params("message.metadata.shrooms/require", what)
    };
    let Some(given) = metadata.and_then(|m| m.get(keys::REQUIRE)).filter(|v| !v.is_null()) else {
        return Ok(Vec::new());
    };
    let words = given.as_array().ok_or_else(wrong)?;
    let proofs: Option<Vec<Proof>> = words.iter().map(|w| w.as_str().and_then(Proof::parse)).collect();
    let mut proofs = proofs.ok_or_else(wrong)?;
    proofs.dedup();
    proofs.truncate(2);
    Ok(proofs)
}

async fn check_task(scope: &Scope, id: &str, params: &SendMessageParams, session: SessionUid) -> Result<(), A2aError> {
    let found = scope.task_row(id).await?.filter(|t| t.session == session);
    let task = found.ok_or_else(|| A2aError::task_not_found(&shrooms_core::text::cut(id, 200)))?;
    let context = params.message.context_id.as_deref().filter(|c| !c.is_empty());
    if context.is_some_and(|c| c != task.context) {
        return Err(A2aError::invalid_params("message.contextId", "is not that of the task"));
    }
    Ok(())
}
