//! A request under `/a2a`: its binding and its session by the raw path, then version and extensions,
//! then the handler, and the answer in the binding's frame: at once, kept alive while it is waited
//! for, or as a stream of events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request};
use axum::http::{HeaderMap, HeaderValue, Method as Verb, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;
use shrooms_a2a::error::http_body;
use shrooms_a2a::jsonrpc::{self, Id};
use shrooms_a2a::rest::{self, RestError};
use shrooms_a2a::{A2aError, ErrorCode, Method, Operation, sse, version};

use super::frame::{Frame, Outcome};
use super::handler::{self, Coming, Events, Reply};
use super::scope::Scope;
use super::{cards, media};
use crate::app::{App, Caller, State};
use crate::problem::Problem;

/// Between two signs of life of an answer that is waited for, or of a stream: well under the idle
/// limits of proxies and client libraries, which begin at 30 s.
const ALIVE: Duration = Duration::from_secs(15);
/// The header for extensions (specification 3.2.6), and its name in 0.3.
const EXTENSIONS: &str = "A2A-Extensions";
const OLD_EXTENSIONS: &str = "X-A2A-Extensions";
/// Extensions that one request may list; more is no list of what a client can do.
const MAX_EXTENSIONS: usize = 100;

/// What a path under `/a2a` means.
#[derive(Debug, PartialEq)]
enum Place<'a> {
    /// A JSON-RPC endpoint: a session's, or the machine's.
    Rpc(Option<&'a str>),
    /// A session's card, or the machine's.
    Card(Option<&'a str>),
    /// HTTP+JSON, with the raw path below its mount.
    Rest(Option<&'a str>, &'a str),
}

/// Names that begin a path of HTTP+JSON at the machine's own mount; no session has such a name.
const OPERATIONS: [&str; 4] = ["tasks", "extendedAgentCard", "message:send", "message:stream"];

/// `path` is raw and begins with `/a2a`.
fn place(path: &str) -> Place<'_> {
    let below = path.strip_prefix("/a2a").unwrap_or(path);
    let Some(inner) = below.strip_prefix('/').filter(|inner| !inner.is_empty()) else { return Place::Rpc(None) };
    let (first, rest) = inner.split_at(inner.find('/').unwrap_or(inner.len()));
    let decoded = percent_decode_str(first).decode_utf8_lossy();
    match rest {
        _ if OPERATIONS.contains(&decoded.as_ref()) => Place::Rest(None, below),
        "" | "/" => Place::Rpc(Some(first)),
        "/agent-card.json" if first == ".well-known" => Place::Card(None),
        "/.well-known/agent-card.json" => Place::Card(Some(first)),
        rest => Place::Rest(Some(first), rest),
    }
}

pub(super) async fn serve(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    // The guard has read it, within its bounds.
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let place = place(parts.uri.path());
    let name = |raw: &str| percent_decode_str(raw).decode_utf8_lossy().into_owned();
    match place {
        Place::Card(session) if matches!(parts.method, Verb::GET | Verb::HEAD) => {
            let card = match session {
                Some(session) => cards::session(app, name(session), parts.headers).await,
                None => cards::machine(State(app), parts.headers).await,
            };
            card.unwrap_or_else(|problem| refuse(&parts.method, parts.uri.path(), problem))
        }
        Place::Card(_) => wrong_verb("GET"),
        Place::Rpc(session) if parts.method == Verb::POST => {
            let scope = Scope { app, by, session: session.map(name) };
            rpc(scope, parts.uri.query(), &parts.headers, &body).await
        }
        Place::Rpc(_) => wrong_verb("POST"),
        Place::Rest(session, path) => {
            let scope = Scope { app, by, session: session.map(name) };
            let verb = if parts.method == Verb::HEAD { "GET" } else { parts.method.as_str() };
            http(scope, verb, path, parts.uri.query(), &parts.headers, &body).await
        }
    }
}

async fn rpc(scope: Scope, query: Option<&str>, headers: &HeaderMap, body: &[u8]) -> Response {
    let request = match jsonrpc::Request::parse(body) {
        Ok(request) => request,
        Err(refused) => return answer(StatusCode::OK, media::JSON, refused.to_bytes()),
    };
    let frame = Frame::Rpc(request.id.clone());
    let operation = spoken(query, headers, &request.method).and_then(|()| {
        let method = Method::parse(&request.method).ok_or_else(|| A2aError::method_not_found(&request.method))?;
        Operation::decode(method, request.params)
    });
    run(scope, operation, frame, headers, media::JSON).await
}

async fn http(scope: Scope, verb: &str, path: &str, query: Option<&str>, headers: &HeaderMap, body: &[u8]) -> Response {
    // First: what another version means by a path and a body is not known here. Any name of 1.0 will do.
    let media_type = media::of_answer(headers);
    if let Err(error) = spoken(query, headers, Method::SendMessage.name()) {
        return run(scope, Err(error), Frame::Http, headers, media_type).await;
    }
    match rest::parse(verb, path, query, body) {
        Ok(operation) => run(scope, Ok(operation), Frame::Http, headers, media_type).await,
        Err(error) => not_read(&error),
    }
}

/// Whether the request speaks a version that is spoken here.
fn spoken(query: Option<&str>, headers: &HeaderMap, method: &str) -> Result<(), A2aError> {
    // Two are no version, also where one of them is spoken.
    let named: Vec<&str> = headers.get_all(version::HEADER).iter().map(|v| v.to_str().unwrap_or("?")).collect();
    let of_header = (!named.is_empty()).then(|| named.join(", "));
    let of_query = query.and_then(version_in_query);
    version::negotiate(of_header.as_deref(), of_query.as_deref(), method, false)
}

/// `A2A-Version` in a query string; its values need no decoding to be a version.
fn version_in_query(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(version::HEADER).then(|| value.to_string())
    })
}

/// The extensions that the client lists, in one field or several.
fn extensions(headers: &HeaderMap) -> Vec<String> {
    let fields = headers.get_all(EXTENSIONS).iter().chain(headers.get_all(OLD_EXTENSIONS));
    let listed = fields.filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(','));
    listed.map(|uri| uri.trim().to_string()).filter(|uri| !uri.is_empty()).take(MAX_EXTENSIONS).collect()
}

async fn run(
    scope: Scope,
    operation: Result<Operation, A2aError>,
    frame: Frame,
    headers: &HeaderMap,
    media_type: &'static str,
) -> Response {
    let wanted = extensions(headers);
    let (app, shutdown) = (scope.app.clone(), scope.app.shutdown.clone());
    let reply = match operation {
        Ok(operation) => handler::answer(scope, operation, &wanted).await,
        Err(error) => Err(error),
    };
    let mut response = match reply {
        Ok(Reply::Later(coming)) => answer(StatusCode::OK, media_type, waited(coming, frame)),
        Ok(Reply::Events(events)) => {
            answer(StatusCode::OK, "text/event-stream", Body::from_stream(told(events, frame, shutdown)))
        }
        Ok(Reply::Now(outcome)) => now(&frame, &Ok(*outcome), media_type),
        // What is refused is JSON for everybody, also for who asked for a stream.
        Err(error) => now(&frame, &Err(error), media::JSON),
    };
    let active: Vec<&str> =
        wanted.iter().map(String::as_str).filter(|uri| app.config.capabilities().has_extension(uri)).collect();
    if let (false, Ok(value)) = (active.is_empty(), HeaderValue::from_str(&active.join(", "))) {
        response.headers_mut().insert(EXTENSIONS, value);
    }
    response
}

fn now(frame: &Frame, outcome: &Result<Outcome, A2aError>, media_type: &'static str) -> Response {
    let status = StatusCode::from_u16(frame.status(outcome)).unwrap_or(StatusCode::OK);
    answer(status, media_type, frame.bytes(outcome))
}

fn answer(status: StatusCode, media_type: &'static str, body: impl Into<Body>) -> Response {
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-store")];
    (status, headers, body.into()).into_response()
}

fn wrong_verb(allow: &'static str) -> Response {
    not_read(&RestError::no_verb(allow))
}

/// A request that is no operation.
fn not_read(error: &RestError) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = answer(status, media::JSON, error.to_bytes());
    if let Some(allow) = error.allow {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    response
}

/// The body of an answer that is waited for: white space keeps it alive. A client that goes away
/// ends the wait, nothing else.
fn waited(coming: Coming, frame: Frame) -> Body {
    let chunks = stream::unfold(Some((coming, frame)), |state| async move {
        let (mut coming, frame) = state?;
        let chunk: Result<Bytes, Infallible> = tokio::select! {
            outcome = &mut coming => return Some((Ok(frame.bytes(&outcome).into()), None)),
            () = tokio::time::sleep(ALIVE) => Ok(Bytes::from_static(b" ")),
        };
        Some((chunk, Some((coming, frame))))
    });
    Body::from_stream(chunks)
}

/// The bytes of a stream. It ends with its events, or with the daemon.
fn told(
    events: Events,
    frame: Frame,
    shutdown: tokio_util::sync::CancellationToken,
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((events, frame, shutdown), |(mut events, frame, shutdown)| async move {
        let bytes = tokio::select! {
            biased;
            event = events.next() => sse::event(&frame.bytes(&event?.map(Outcome::Event)), None),
            () = shutdown.cancelled() => return None,
            () = tokio::time::sleep(ALIVE) => sse::comment("still here"),
        };
        Some((Ok(Bytes::from(bytes)), (events, frame, shutdown)))
    })
}

/// A refusal of the guard as the binding at this path says it.
pub(crate) fn refuse(verb: &Verb, path: &str, problem: Problem) -> Response {
    let status = problem.status;
    let code = match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ErrorCode::ContentTypeNotSupported,
        StatusCode::INTERNAL_SERVER_ERROR => ErrorCode::InternalError,
        StatusCode::FORBIDDEN => ErrorCode::NotAllowed,
        _ => ErrorCode::InvalidRequest,
    };
    let error = A2aError::new(code, problem.detail);
    let body = match place(path) {
        Place::Rpc(_) if verb == Verb::POST => jsonrpc::failure(&Id::Null, &error),
        _ => http_body(status.as_u16(), grpc_status(status), &error.message, &error.details),
    };
    answer(status, media::JSON, body)
}

/// The name of the gRPC status that stands beside an HTTP status (google.rpc.Code).
fn grpc_status(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        405 => "UNIMPLEMENTED",
        408 => "DEADLINE_EXCEEDED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500..=599 => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_binding_and_its_session() {
        for (path, want) in [
            ("/a2a", Place::Rpc(None)),
            ("/a2a/", Place::Rpc(None)),
            ("/a2a/tests", Place::Rpc(Some("tests"))),
            ("/a2a/tests/", Place::Rpc(Some("tests"))),
            ("/a2a/tests/.well-known/agent-card.json", Place::Card(Some("tests"))),
            ("/a2a/.well-known/agent-card.json", Place::Card(None)),
            ("/a2a/tests/message:send", Place::Rest(Some("tests"), "/message:send")),
            ("/a2a/tests/tasks/tests:m:cancel", Place::Rest(Some("tests"), "/tasks/tests:m:cancel")),
            ("/a2a/message:send", Place::Rest(None, "/message:send")),
            ("/a2a/message%3Astream", Place::Rest(None, "/message%3Astream")),
            ("/a2a/tasks", Place::Rest(None, "/tasks")),
            ("/a2a/tasks/tests:m", Place::Rest(None, "/tasks/tests:m")),
            ("/a2a/extendedAgentCard", Place::Rest(None, "/extendedAgentCard")),
            ("/a2a/tests/nowhere", Place::Rest(Some("tests"), "/nowhere")),
        ] {
            assert_eq!(place(path), want, "{path}");
        }
    }

    #[test]
    fn no_session_has_the_name_of_an_operation() {
        for name in OPERATIONS {
            assert!(shrooms_core::name::check_session_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_version_is_found_in_a_query() {
        assert_eq!(version_in_query("a=b&a2a-version=1.0").as_deref(), Some("1.0"));
        assert_eq!(version_in_query("x"), None);
    }

    #[test]
    fn two_versions_are_none_in_whatever_order_they_come() {
        for (named, good) in
            [(vec!["1.0"], true), (vec![], true), (vec!["1.0", "9.9"], false), (vec!["9.9", "1.0"], false)]
        {
            let mut headers = HeaderMap::new();
            for version in &named {
                headers.append(version::HEADER, version.parse().unwrap());
            }
            assert_eq!(spoken(None, &headers, "GetTask").is_ok(), good, "{named:?}");
        }
    }

    #[test]
    fn extensions_come_in_one_field_or_several() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("a2a-extensions", "urn:a, urn:b"), ("A2A-Extensions", "urn:c,"), ("x-a2a-extensions", "urn:d")]
        {
            headers.append(axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        assert_eq!(extensions(&headers), ["urn:a", "urn:b", "urn:c", "urn:d"]);
    }
}
