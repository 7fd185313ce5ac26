//! SendMessage: a new task, or more on one; answered at once or when there is an outcome. Once the
//! task is committed the answer has begun: white space keeps it alive until its end is known.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use shrooms_a2a::jsonrpc::{self, Id};
use shrooms_a2a::types::SendMessageParams;
use shrooms_a2a::{A2aError, ErrorCode, Role, SendMessageResponse, shrooms as keys};
use shrooms_core::desk::{Done, Request, SendReq};
use shrooms_core::row::{Proof, Task};
use shrooms_core::{Principal, Text};

use super::{Answer, Call, parts, refused};
use crate::app::App;
use crate::task_json::{self, Shown};
use crate::wait;

/// Between two signs of life of an answer that is waited for: well under the idle limits of
/// proxies and client libraries, which begin at 30 s.
const ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn answer(mut call: Call) -> Result<Answer, A2aError> {
    let session = call.session().await;
    let params: SendMessageParams = call.request.params()?;
    // Sent again for an ask, it is found by that, whatever its session is called by now: the desk looks.
    let again = is_of_ask(&call, &params);
    let (name, uid) = match (session, call.session.clone()) {
        (Ok(session), _) => (session.name, Some(session.uid)),
        (Err(_), Some(name)) if again => (name, None),
        (Err(error), _) => return Err(error),
    };
    let send = read(&call, &name, &params)?;
    if let (Some(id), Some(uid)) = (&send.task, uid) {
        check_task(&call, id, &params, uid).await?;
    }
    let done = call.app.engine.request(Request::Send(send)).await.map_err(refused)?;
    let Done::Task { task, .. } = done else {
        return Err(A2aError::new(ErrorCode::InternalError, "the message made no task"));
    };
    let shown = Shown { history: params.configuration.history_length, artifacts: true };
    if !params.waits() || task.has_outcome() {
        return show(&call.app, &call.request.id, (*task).clone(), shown).await;
    }
    Ok(Answer::Later(later(call.app, call.request.id, task.no, shown)))
}

/// Whether another device's daemon sends it, as a new message for an ask of its own.
fn is_of_ask(call: &Call, params: &SendMessageParams) -> bool {
    let message = &params.message;
    let more = message.task_id.as_ref().is_some_and(|t| !t.is_empty());
    let of_ask = keys::text(message.metadata.as_ref(), keys::ASK).is_some();
    matches!(call.by, Principal::Device { .. }) && of_ask && !more
}

/// The parameters as the desk takes them.
fn read(call: &Call, session: &str, params: &SendMessageParams) -> Result<SendReq, A2aError> {
    let message = &params.message;
    if message.role != Role::User {
        return Err(A2aError::invalid_params("message.role", "must be ROLE_USER"));
    }
    if params.configuration.task_push_notification_config.is_some() {
        return Err(A2aError::new(
            ErrorCode::PushNotificationNotSupported,
            "push notifications are not offered yet: leave taskPushNotificationConfig out",
        ));
    }
    let metadata = message.metadata.as_ref();
    let text = |key| keys::text(metadata, key).map(str::to_string);
    let title = text(keys::TITLE).map(|t| keys::title(&t)).filter(|t| !t.is_empty());
    let device = matches!(call.by, Principal::Device { .. });
    Ok(SendReq {
        by: call.by.clone(),
        claim: text(keys::FROM),
        session: session.to_string(),
        mid: message.message_id.clone(),
        task: message.task_id.clone().filter(|t| !t.is_empty()),
        text: Text::new(parts::text_of(&message.parts)?),
        digest: parts::digest(&message.parts),
        title,
        context: message.context_id.clone().filter(|c| !c.is_empty()),
        refs: message.reference_task_ids.clone(),
        fresh: keys::flag(metadata, keys::FRESH),
        require: require(metadata)?,
        vouched: device && keys::flag(metadata, keys::VOUCHED),
        ask: text(keys::ASK).filter(|_| device),
        parts: None,
        canceled: device && keys::flag(metadata, keys::CANCELED),
        random: call.app.engine.random().map_err(refused)?,
    })
}

/// What a `done` must prove, by its words.
fn require(metadata: Option<&shrooms_a2a::types::Map>) -> Result<Vec<Proof>, A2aError> {
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

async fn check_task(
    call: &Call,
    id: &str,
    params: &SendMessageParams,
    session: shrooms_core::id::SessionUid,
) -> Result<(), A2aError> {
    let found = call.task_row(id).await?.filter(|t| t.session == session);
    let task = found.ok_or_else(|| A2aError::task_not_found(&shrooms_core::text::cut(id, 200)))?;
    let context = params.message.context_id.as_deref().filter(|c| !c.is_empty());
    if context.is_some_and(|c| c != task.context) {
        return Err(A2aError::invalid_params("message.contextId", "is not that of the task"));
    }
    Ok(())
}

async fn show(app: &App, id: &Id, task: Task, shown: Shown) -> Result<Answer, A2aError> {
    let task = task_json::show(app, task, shown).await.map_err(refused)?;
    Ok(Answer::of(id, &SendMessageResponse::Task(task)))
}

/// The body of an answer that is waited for. A client that goes away ends the wait, nothing else.
fn later(app: App, id: Id, no: shrooms_core::id::TaskNo, shown: Shown) -> Body {
    let work = Box::pin(async move {
        let waited = wait::outcome(&app, no, wait::LONGEST, None).await;
        let answer = match waited {
            Ok(Some(task)) => show(&app, &id, task, shown).await,
            Ok(None) => Err(A2aError::new(ErrorCode::InternalError, "the task is gone")),
            Err(e) => Err(refused(e)),
        };
        match answer {
            Ok(Answer::Now(bytes)) => Bytes::from(bytes),
            Ok(Answer::Later(_)) => Bytes::new(),
            Err(e) => Bytes::from(jsonrpc::failure(&id, &e)),
        }
    });
    let chunks = stream::unfold(Some(work), |work| async move {
        let mut work = work?;
        let chunk: Result<Bytes, Infallible> = tokio::select! {
            answer = &mut work => return Some((Ok(answer), None)),
            () = tokio::time::sleep(ALIVE) => Ok(Bytes::from_static(b" ")),
        };
        Some((chunk, Some(work)))
    });
    Body::from_stream(chunks)
}
