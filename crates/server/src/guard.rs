//! What is refused before any route: a host that is not ours (DNS rebinding), a foreign page's
//! request, a wrong content type, a body that is too large; and who asks. Every refusal is JSON.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use shrooms_core::Kind;
use shrooms_core::rights::Action;
use tokio::sync::OwnedSemaphorePermit;

use crate::app::{App, Caller, Doorway, Forwarded, From};
use crate::principal::{self, Peer};
use crate::problem::Problem;
use crate::{a2a, rights, v1};

/// The largest body: a text within its own bound (1 MiB) whose every byte is written as `\u0000`,
/// and 64 KiB around it. What is too long is then said of the text, not of its escapes.
pub(crate) const MAX_BODY: usize = 6 * shrooms_core::text::MAX_TEXT + (64 << 10);
/// The largest of a message with files, which says its length beforehand: a file of 10 MiB in base64
/// and some room (`spec/a2a.md`, "Errors").
const MAX_LARGE: usize = 16 << 20;
/// So many of the large ones are read at once, and held in memory; the others wait for their turn
/// within the time that their body has.
pub(crate) const LARGE_AT_ONCE: usize = 4;
/// A body over this is read as JSON only when there is room for it: in memory a body of many small
/// values takes up to a hundred times its bytes.
const SMALL: usize = 64 << 10;
/// Bytes of bodies over [`SMALL`] that are JSON in memory at once, in KiB.
pub(crate) const AT_ONCE_KIB: usize = 16 << 10;
/// How long a body may take: a mesh carries megabytes in seconds.
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// The header that a session's process shows its pass in.
const PASS: &str = "shrooms-pass";
const REQUEST_ID: &str = "x-request-id";

/// A random id for an answer and its log lines.
fn fresh_id() -> String {
    getrandom::u64().map_or_else(|_| "-".to_string(), |n| format!("{n:016x}"))
}

/// Checks a request, says who it is from, reads its body, and hands it on.
pub(crate) async fn check(State(door): State<Doorway>, request: Request, next: Next) -> Response {
    let id = fresh_id();
    let what = format!("{} {}", request.method(), request.uri().path());
    let (verb, path) = (request.method().clone(), request.uri().path().to_string());
    let mut response = match admit(door.unseen(), request).await {
        Ok(request) => next.run(request).await,
        // Clients of A2A read its own form alone.
        Err(problem) if is_a2a(&path) => a2a::refuse(&verb, &path, problem),
        Err(problem) => problem.into_response(),
    };
    if response.status().is_server_error() {
        tracing::warn!(request = id, status = response.status().as_u16(), "{what}");
    } else {
        tracing::debug!(request = id, status = response.status().as_u16(), "{what}");
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    // Answers are data: nothing in them is a page, whatever a peer had put there.
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
        .headers_mut()
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox"));
    response
}

async fn admit(app: &App, request: Request) -> Result<Request, Problem> {
    let Some(peer) = request.extensions().get::<Peer>().cloned() else {
        return Err(Problem::new(Kind::Internal, "the connection has no peer"));
    };
    for once in ["host", "origin", "sec-fetch-site", "sec-fetch-mode", "content-type", PASS, v1::ASKED_BY.as_str()] {
        if request.headers().get_all(once).iter().count() > 1 {
            return Err(Problem::bad(format!("the request has the header {once} twice")));
        }
    }
    if !matches!(peer, Peer::Local { .. }) {
        host_is_ours(app, request.headers(), request.uri().host())?;
        of_our_page(request.uri().path(), request.headers())?;
    }
    let pass = request.headers().get(PASS).map(|p| p.to_str().unwrap_or(""));
    let mut principal = principal::of_request(&app.engine, &peer, pass).await.map_err(Problem::refused)?;
    let (mut parts, body) = request.into_parts();
    if let Peer::Device { from, .. } = &peer {
        parts.extensions.insert(From(*from));
    }
    if let Some(asked_by) = parts.headers.get(v1::ASKED_BY) {
        principal = v1::for_another(app, principal, asked_by).await?;
        parts.extensions.insert(Forwarded);
    }
    // Who may not even see that there are agents is told so, and no more.
    rights::allowed(app, &principal, Action::Find, &parts.method, parts.uri.path()).await?;
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    let large = length.is_some_and(|n| n > MAX_BODY) && is_a2a(parts.uri.path());
    let room = if large { Some(turn(app).await?) } else { None };
    let body = read(length, body, if large { MAX_LARGE } else { MAX_BODY }).await?;
    let changes = ![Method::GET, Method::HEAD, Method::DELETE, Method::OPTIONS].contains(&parts.method);
    // What a form or a link of another page could send has no such type.
    if !body.is_empty() || changes && parts.uri.path().starts_with("/v1/") {
        let json = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).is_some_and(a2a::is_json);
        if !json {
            return Err(Problem::bad("send the body as JSON, with Content-Type: application/json")
                .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
    }
    if body.len() > SMALL {
        let wanted = u32::try_from((body.len() >> 10).min(AT_ONCE_KIB)).unwrap_or(u32::MAX);
        let turn = tokio::time::timeout(BODY_WITHIN, app.json.clone().acquire_many_owned(wanted)).await;
        let busy = || Problem::new(Kind::Unavailable, "too many large requests at once: try again");
        parts.extensions.insert(Arc::new(turn.map_err(|_| busy())?.map_err(|_| busy())?));
    }
    parts.extensions.insert(Caller(principal));
    parts.extensions.insert(room.map(Arc::new));
    Ok(Request::from_parts(parts, Body::from(body)))
}

fn is_a2a(path: &str) -> bool {
    path == "/a2a" || path.starts_with("/a2a/")
}

fn too_late() -> Problem {
    Problem::bad(format!("the body did not come within {} s", BODY_WITHIN.as_secs()))
        .with_status(StatusCode::REQUEST_TIMEOUT)
}

/// The turn of a large body; it ends with the request.
async fn turn(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    let turn = tokio::time::timeout(BODY_WITHIN, app.large.clone().acquire_owned()).await;
    turn.map_err(|_| too_late())?.map_err(|_| Problem::new(Kind::Unavailable, "the daemon stops"))
}

async fn read(length: Option<usize>, body: Body, most: usize) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::bad(format!("the body is over {most} bytes: send less text, or the address of it"))
            .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    };
    if length.is_some_and(|n| n > most) {
        return Err(too_large());
    }
    let Ok(whole) = tokio::time::timeout(BODY_WITHIN, Limited::new(body, most).collect()).await else {
        return Err(too_late());
    };
    match whole {
        Ok(read) => Ok(read.to_bytes()),
        Err(e) if e.is::<LengthLimitError>() => Err(too_large()),
        Err(e) => Err(Problem::bad(format!("the body could not be read: {e}"))),
    }
}

/// The host part of `HOST[:PORT]`, without brackets.
fn host_of(authority: &str) -> &str {
    let bare = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => host,
            Some((host, port)) if port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit())) => host,
            _ => "",
        },
        None if authority.matches(':').count() == 1 => authority.split(':').next().unwrap_or(""),
        None => authority,
    };
    bare.trim_end_matches('.')
}

fn is_ours(app: &App, host: &str) -> bool {
    let mesh = app.engine.mesh();
    if let Ok(ip) = host.parse::<IpAddr>() {
        return ip.is_loopback() || mesh.listen_addresses().contains(&ip.to_canonical());
    }
    let name = mesh.me().name.clone();
    let is = |text: &str| host.eq_ignore_ascii_case(text);
    is("localhost")
        || is(&name)
        || mesh.meshes().iter().filter(|on| on.unserved.is_none()).any(|on| {
            on.dns.as_deref().is_some_and(is) || on.label.as_ref().is_some_and(|label| is(&format!("{name}.{label}")))
        })
}

fn host_is_ours(app: &App, headers: &HeaderMap, of_uri: Option<&str>) -> Result<(), Problem> {
    let named = headers.get(header::HOST).and_then(|h| h.to_str().ok()).map(host_of).or(of_uri);
    match named {
        Some(host) if is_ours(app, host) && of_uri.is_none_or(|uri| is_ours(app, host_of(uri))) => Ok(()),
        _ => Err(Problem::bad(
            "this host name is not this machine's: use its mesh name or address (a page that was rebound to this address gets nothing)",
        )
        .with_status(StatusCode::MISDIRECTED_REQUEST)),
    }
}

/// A browser says which page asks. It is this machine's own, at this very port (others may be
/// another user's), or it gets nothing: neither by a script, nor by a picture or a form that needs
/// no leave to be sent. Following a link to the page is another thing.
fn of_our_page(path: &str, headers: &HeaderMap) -> Result<(), Problem> {
    let foreign = || Err(Problem::refused("a page of another origin may not ask this machine"));
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(origin) = text("origin") {
        let ours = text("host").is_some_and(|host| origin.eq_ignore_ascii_case(&format!("http://{host}")));
        return if ours { Ok(()) } else { foreign() };
    }
    let api = path.starts_with("/v1") || is_a2a(path);
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if !api && text("sec-fetch-mode") == Some("navigate") => Ok(()),
        Some(_) => foreign(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, given: &str, ours: bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in given.lines().filter_map(|line| line.split_once(": ")) {
            headers.insert(axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        assert_eq!(of_our_page(path, &headers).is_ok(), ours, "{path} {given}");
    }

    #[test]
    fn only_a_page_of_this_very_address_may_ask() {
        let laptop = "Host: laptop:7387";
        check("/v1/tasks", laptop, true);
        check("/v1/tasks", &format!("{laptop}\nOrigin: http://laptop:7387"), true);
        check("/v1/tasks", &format!("{laptop}\nOrigin: http://LAPTOP:7387"), true);
        check("/v1/tasks", "Host: [fd00::1]:7387\nOrigin: http://[fd00::1]:7387", true);
        for origin in
            ["http://laptop:3000", "http://laptop", "https://laptop:7387", "http://evil.example", "null", "laptop:7387"]
        {
            check("/v1/tasks", &format!("{laptop}\nOrigin: {origin}"), false);
        }
        check("/v1/tasks", &format!("{laptop}\nSec-Fetch-Site: same-origin"), true);
        check("/v1/tasks", &format!("{laptop}\nSec-Fetch-Site: none\nSec-Fetch-Mode: navigate"), true);
        check("/v1/tasks", &format!("{laptop}\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors"), false);
        check("/v1/tasks", &format!("{laptop}\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: navigate"), false);
        check("/a2a/tests", &format!("{laptop}\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate"), false);
        check("/", &format!("{laptop}\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate"), true);
        check("/", &format!("{laptop}\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors"), false);
    }

    #[test]
    fn the_host_is_found_in_every_form_of_an_authority() {
        for (authority, host) in [
            ("laptop", "laptop"),
            ("laptop:7387", "laptop"),
            ("laptop.home.:7387", "laptop.home"),
            ("127.0.0.1:7387", "127.0.0.1"),
            ("[fd00::1]:7387", "fd00::1"),
            ("[fd00::1]", "fd00::1"),
            ("fd00::1", "fd00::1"),
            ("[::1].evil.example", ""),
            ("[::1]x", ""),
            ("[::1", ""),
        ] {
            assert_eq!(host_of(authority), host, "{authority}");
        }
    }
}
