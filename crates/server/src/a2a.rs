//! The A2A endpoint: JSON-RPC at `/a2a/SESSION` and at `/a2a`. One file per method; here the order
//! of checks: is it a call, of a version that we speak, to a session that is there.

mod cancel_task;
pub(crate) mod cards;
mod get_task;
mod list_tasks;
mod parts;
mod refusal;
mod send_message;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use shrooms_a2a::jsonrpc::{self, Id, Request};
use shrooms_a2a::{A2aError, ErrorCode, Method, shrooms as keys, version};
use shrooms_core::row::{Session, Task};
use shrooms_core::{Principal, near};

use crate::app::{App, Caller};
pub(crate) use parts::digest_of_text;
use refusal::refused;

/// The endpoint's routes, with and without a trailing slash.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/a2a", post(any_session))
        .route("/a2a/", post(any_session))
        .route("/a2a/{session}", post(one_session))
        .route("/a2a/{session}/", post(one_session))
}

/// One call, on its way to its method.
struct Call {
    app: App,
    by: Principal,
    /// The session in the path; absent at `/a2a`.
    session: Option<String>,
    request: Request,
}

/// What a method answers: a body at once, or one that is still to come.
enum Answer {
    Now(Vec<u8>),
    Later(Body),
}

impl Answer {
    fn of<T: Serialize>(id: &Id, result: &T) -> Answer {
        Answer::Now(jsonrpc::success(id, result))
    }
}

async fn one_session(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    serve(app, caller, Some(session), query, &headers, &body).await
}

async fn any_session(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    serve(app, caller, None, query, &headers, &body).await
}

async fn serve(
    app: App,
    caller: Caller,
    session: Option<String>,
    query: Option<String>,
    headers: &HeaderMap,
    body: &[u8],
) -> Response {
    let request = match Request::parse(body) {
        Ok(request) => request,
        Err(refused) => return json(Body::from(refused.to_bytes())),
    };
    let id = request.id.clone();
    let of_header = headers.get(version::HEADER).map(|v| v.to_str().unwrap_or("?").to_string());
    let of_query = query.as_deref().and_then(version_in_query);
    let negotiated = version::negotiate(of_header.as_deref(), of_query.as_deref(), &request.method, false);
    let call = Call { app, by: caller.0, session, request };
    let answer = match negotiated {
        Ok(()) => dispatch(call).await,
        Err(e) => Err(e),
    };
    json(match answer {
        Ok(Answer::Now(bytes)) => Body::from(bytes),
        Ok(Answer::Later(body)) => body,
        Err(e) => Body::from(jsonrpc::failure(&id, &e)),
    })
}

fn json(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], body).into_response()
}

/// `A2A-Version` in a query string; its values need no decoding to be a version.
fn version_in_query(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(version::HEADER).then(|| value.to_string())
    })
}

async fn dispatch(call: Call) -> Result<Answer, A2aError> {
    let Some(method) = Method::parse(&call.request.method) else {
        return Err(A2aError::method_not_found(&call.request.method));
    };
    match method {
        Method::SendMessage => send_message::answer(call).await,
        Method::GetTask => get_task::answer(call).await,
        Method::ListTasks => list_tasks::answer(call).await,
        Method::CancelTask => cancel_task::answer(call).await,
        Method::AckTask => cancel_task::ack(call).await,
        Method::SendStreamingMessage | Method::SubscribeToTask => Err(A2aError::new(
            ErrorCode::UnsupportedOperation,
            "streaming is not offered yet (the card says so): use SendMessage, which waits, or GetTask",
        )),
        Method::GetExtendedAgentCard => Err(A2aError::new(
            ErrorCode::UnsupportedOperation,
            "there is no extended card: the public one has everything",
        )),
        _ => Err(A2aError::new(
            ErrorCode::PushNotificationNotSupported,
            "push notifications are not offered yet (the card says so): use SendMessage, which waits, or GetTask",
        )),
    }
}

impl Call {
    /// The session that is addressed: in the path, in the message's metadata, or by its task.
    async fn session(&self) -> Result<Session, A2aError> {
        let params = self.request.params.as_ref();
        let at = |pointer: &str| params.and_then(|p| p.pointer(pointer)).and_then(Value::as_str);
        let named = self.session.clone().or_else(|| {
            let metadata = params.and_then(|p| p.pointer("/message/metadata")).and_then(Value::as_object);
            keys::text(metadata, keys::SESSION).map(str::to_string)
        });
        let id = at("/message/taskId").or(at("/id")).map(str::to_string);
        let found = match id {
            Some(id) => self.task_row(&id).await?,
            None => None,
        };
        // A task is its session's, whatever that is called by now.
        if let Some(name) = named
            && !found.as_ref().is_some_and(|t| is_named_after(t, &name))
        {
            return self.session_named(&name).await;
        }
        let uid = found.map(|t| t.session).ok_or_else(|| {
            A2aError::invalid_params(
                "message.metadata.shrooms/session",
                "says which session is meant: or post to /a2a/SESSION",
            )
        })?;
        let row = self.app.engine.read(move |r| r.session(uid)).await.map_err(refused)?;
        row.filter(|s| s.removed.is_none())
            .ok_or_else(|| A2aError::invalid_params("session", "the task's session is not there any more"))
    }

    async fn session_named(&self, name: &str) -> Result<Session, A2aError> {
        let wanted = name.to_string();
        let found = self.app.engine.read(move |r| r.session_named(&wanted)).await.map_err(refused)?;
        if let Some(session) = found {
            return Ok(session);
        }
        let names = self.app.engine.read(|r| r.session_names()).await.map_err(refused)?;
        let hint = near::hint(&near::near(name, names.iter().map(String::as_str)));
        let shown = shrooms_core::text::cut(name, 80);
        let machine = self.app.engine.machine();
        Err(A2aError::new(ErrorCode::InvalidParams, format!("no session '{shown}' on {machine}{hint}")))
    }

    async fn task_row(&self, id: &str) -> Result<Option<Task>, A2aError> {
        let id = id.to_string();
        self.app.engine.read(move |r| r.task(&id)).await.map_err(refused)
    }

    /// The task of this id, if it may be named here: at a session's address its own alone. A bare
    /// message id means the session's task of that name.
    async fn task(&self, id: &str) -> Result<Task, A2aError> {
        let mut found = self.task_row(id).await?;
        if let (Some(name), Some(task)) = (&self.session, &found)
            && is_named_after(task, name)
        {
            return found.ok_or_else(|| A2aError::task_not_found(id));
        }
        let session = match &self.session {
            Some(name) => Some(self.session_named(name).await?),
            None => None,
        };
        if let (None, Some(session), false) = (&found, &session, id.contains(':')) {
            found = self.task_row(&shrooms_core::id::task_id(&session.name, id)).await?;
        }
        found
            .filter(|t| session.as_ref().is_none_or(|s| s.uid == t.session))
            .ok_or_else(|| A2aError::task_not_found(&shrooms_core::text::cut(id, 200)))
    }
}

/// Whether the task's id was made from this name: its session may be called otherwise by now.
fn is_named_after(task: &Task, name: &str) -> bool {
    task.id.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_a_query() {
        assert_eq!(version_in_query("a=b&a2a-version=1.0").as_deref(), Some("1.0"));
        assert_eq!(version_in_query("x"), None);
    }
}
