//! `/v1/machines/MACHINE/…`: the same API of another machine, for a page that has one address. It is
//! asked there in this machine's name; a device that asked is named, and may there what both may.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{Extension, Path, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use shrooms_core::refusal::allows;
use shrooms_core::rights::{Action, Right};
use shrooms_core::{Kind, Principal};
use shrooms_mesh::Source;

use super::remote;
use crate::app::{App, Caller, Forwarded, From, State};
use crate::problem::Problem;

/// Names the device that asked: its right at the machine that hands the request on, its stable identity
/// and its name there, and the address that it called from. It can only take away from what that
/// machine itself may.
pub(crate) const ASKED_BY: HeaderName = HeaderName::from_static("shrooms-asked-by");
const PREFIX: &str = "/v1/machines/";

pub(super) async fn forward(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Path((name, _)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let (verb, uri) = (parts.method, parts.uri);
    if parts.extensions.get::<Forwarded>().is_some() {
        return Err(Problem::bad("a request is handed on once: ask a machine that reaches the other one itself"));
    }
    if verb != Method::GET && verb != Method::HEAD {
        allows(&by, Action::Own, &app.engine.machine(), "changing another machine")?;
    }
    let machine = remote::find(&app, &name).await?;
    let rest = rest_of(uri.path()).ok_or_else(|| {
        Problem::not_found("there is nothing at this address: a request is handed on once, to what follows /v1/ there")
    })?;
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("/v1/{rest}{query}");
    if machine.id == app.engine.mesh().me().id {
        // The page need not know where it is: method and body stay.
        return Ok((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, target)]).into_response());
    }
    let asked_by = asked_by(&by, parts.extensions.get::<From>().copied())?;
    // In memory already, and within its bound: the guard has read it.
    let body = body.collect().await.map_err(|e| Problem::bad(format!("the body could not be read: {e}")))?.to_bytes();
    let body = (!body.is_empty()).then(|| body.to_vec());
    let peer = app.engine.peer(&machine);
    let sent = app.engine.outbound().forward(&peer, verb, &target, &parts.headers, asked_by, body).await;
    let answer = sent.map_err(|error| remote::problem(&machine.name, error))?;
    app.engine.met(&machine, "").await;
    let status = StatusCode::from_u16(answer.status).ok().filter(|status| (200..600).contains(&status.as_u16()));
    let headers = answer.headers.clone();
    let (Some(status), true) = (status, is_of_the_api(headers.get(header::CONTENT_TYPE))) else {
        let detail = format!("{} gave an answer that is none of this API", machine.name);
        return Err(Problem::new(Kind::Unavailable, detail).with_status(StatusCode::BAD_GATEWAY));
    };
    Ok((status, headers, Body::from_stream(answer.body())).into_response())
}

/// Whether an answer has no body, or one that a browser runs nothing of: another machine's words must not
/// become a page of this one.
fn is_of_the_api(kind: Option<&HeaderValue>) -> bool {
    const KINDS: [&str; 3] = ["application/json", "application/problem+json", "text/event-stream"];
    let Some(kind) = kind else { return true };
    let bare = kind.to_str().ok().and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    KINDS.iter().any(|known| bare.eq_ignore_ascii_case(known))
}

/// What follows the machine, still encoded; not another machine again, and nothing that a client on the
/// way could take for another path.
fn rest_of(path: &str) -> Option<&str> {
    let (_, rest) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let decoded = percent_encoding::percent_decode_str(rest).decode_utf8().ok()?;
    let steps = |part: &str| part == "." || part == "..";
    let odd = decoded.contains('\\')
        || decoded.starts_with('/')
        || decoded.contains("//")
        || decoded.chars().any(char::is_control);
    let again = decoded == "machines" || decoded.starts_with("machines/");
    (!rest.is_empty() && !again && !odd && !decoded.split('/').any(steps)).then_some(rest)
}

/// The header for a call that this principal causes; none for what this machine does of itself.
///
/// # Errors
/// The device has no name that could be passed on: then nothing is asked for it.
pub(super) fn asked_by(by: &Principal, from: Option<From>) -> Result<Option<(HeaderName, HeaderValue)>, Problem> {
    let Principal::Device { id, label, right, .. } = by else { return Ok(None) };
    let nameless = || Problem::refused("your device has no name that can be passed on");
    let address = from.ok_or_else(nameless)?.0;
    Ok(Some((ASKED_BY, name_of(*right, id, label, address)?)))
}

fn name_of(right: Right, id: &str, label: &str, address: IpAddr) -> Result<HeaderValue, Problem> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    let value = (plain(id) && plain(label)).then(|| HeaderValue::from_str(&format!("{right} {id} {label} {address}")));
    value.and_then(Result::ok).ok_or_else(|| Problem::refused("your device has no name that can be passed on"))
}

/// The device that a machine asks for, as it says: what both may, under both names. One that is on this
/// machine's meshes is known by its address, which is the same for both, or by its identity; any other
/// has what devices have that nothing was given to.
///
/// # Errors
/// The header is not of its form, or it is this machine that asks, by way of another: a session's
/// process would come back as a device, and may more than it may here.
pub(crate) async fn for_another(app: &App, by: Principal, asked_by: &HeaderValue) -> Result<Principal, Problem> {
    let bad = || Problem::bad("shrooms-asked-by: must be RIGHT IDENTITY NAME ADDRESS");
    let words: Vec<&str> = asked_by.to_str().map_err(|_| bad())?.split(' ').collect();
    let [right, id, name, address] = words.as_slice() else { return Err(bad()) };
    let said = Right::parse(right).ok_or_else(bad)?;
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    let Principal::Device { id: own, label, right, mut meshes } = by else {
        return Err(Problem::bad("shrooms-asked-by: is for other machines' daemons"));
    };
    let engine = &app.engine;
    let source = engine.mesh().who(address).await;
    // What it sees, it sees over its own mesh too; of one that is not here nothing is known.
    let mesh = match &source {
        Source::Device(machine) => machine.mesh.clone(),
        Source::Me | Source::Unknown => None,
    };
    meshes.push(mesh.unwrap_or_default());
    let here = match source {
        _ if *id == engine.mesh().me().id.0 => None,
        Source::Me => None,
        Source::Device(machine) => engine.right_of(&machine.id.0),
        Source::Unknown => Some(engine.right_of(id).unwrap_or(engine.settings().grants.default)),
    };
    let Some(here) = here else {
        return Err(Problem::refused("this machine does not ask itself through another: ask it here"));
    };
    let label = format!("{label} for {}", shrooms_core::text::cut(name, 130));
    Ok(Principal::Device { id: own, label, right: right.lesser(said).lesser(here), meshes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_on_is_what_follows_the_machine() {
        for (path, rest) in [
            ("/v1/machines/home/sessions", Some("sessions")),
            ("/v1/machines/home/tasks/t%2Fx%3Am/cancel", Some("tasks/t%2Fx%3Am/cancel")),
            ("/v1/machines/home/", None),
            ("/v1/machines/home", None),
            ("/v1/machines/home/machines/other/sessions", None),
            ("/v1/sessions", None),
            ("/v1/machines/home/../../a2a/tasks", None),
            ("/v1/machines/home/x/%2e%2E/%2e./a2a", None),
            ("/v1/machines/home/x/..%2Fy", None),
            ("/v1/machines/home/%6dachines/other/sessions", None),
            ("/v1/machines/home//evil", None),
            ("/v1/machines/home/..\\x", None),
            ("/v1/machines/home/x/..a/.b", Some("x/..a/.b")),
        ] {
            assert_eq!(rest_of(path), rest, "{path}");
        }
    }

    #[test]
    fn a_name_that_could_be_two_is_not_passed_on() {
        let address: IpAddr = "fd00::2".parse().unwrap();
        let value = name_of(Right::Ask, "home/fd00::2", "phone.home", address).unwrap();
        assert_eq!(value, "ask home/fd00::2 phone.home fd00::2");
        for (id, label) in [("home/x y", "phone"), ("home/x", "a b"), ("", "phone"), ("home/x", ""), ("x\n", "y")] {
            assert!(name_of(Right::Ask, id, label, address).is_err());
        }
    }
}
