//! `/v1/machines/MACHINE/…`: the same API of another machine, for a page that has one address. It is
//! asked there in this machine's name; a device that asked is named, and may there what both may.

use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use shrooms_core::Principal;
use shrooms_core::rights::{Action, Right};

use super::{remote, tasks};
use crate::app::{App, Caller, Forwarded};
use crate::problem::Problem;

/// Names the device that asked: its right at the machine that hands the request on, its stable
/// identity and its name there. It can only take away from what that machine itself may.
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
        tasks::owner(&by, "changing another machine")?;
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
    let asked_by = match &by {
        Principal::Device { id, label, right } => Some((ASKED_BY, name_of(*right, id, label)?)),
        Principal::Owner | Principal::Session(_) => None,
    };
    // In memory already, and within its bound: the guard has read it.
    let body = body.collect().await.map_err(|e| Problem::bad(format!("the body could not be read: {e}")))?.to_bytes();
    let body = (!body.is_empty()).then(|| body.to_vec());
    let peer = app.engine.peer(&machine);
    let sent = app.engine.outbound().forward(&peer, verb, &target, &parts.headers, asked_by, body).await;
    let answer = sent.map_err(|error| remote::problem(&machine.name, error))?;
    app.engine.met(&machine, "").await;
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = answer.headers.clone();
    Ok((status, headers, Body::from_stream(answer.body())).into_response())
}

/// What follows the machine, still encoded; not another machine again.
fn rest_of(path: &str) -> Option<&str> {
    let (_, rest) = path.strip_prefix(PREFIX)?.split_once('/')?;
    let again = rest == "machines" || rest.starts_with("machines/");
    (!again && !rest.is_empty()).then_some(rest)
}

fn name_of(right: Right, id: &str, label: &str) -> Result<HeaderValue, Problem> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    let value = (plain(id) && plain(label)).then(|| HeaderValue::from_str(&format!("{right} {id} {label}")));
    value.and_then(Result::ok).ok_or_else(|| Problem::refused("your device has no name that can be passed on"))
}

/// The device that a machine asks for, as it says: what both may, under both names.
///
/// # Errors
/// The header is not of its form; then nobody asks.
pub(crate) fn for_another(app: &App, by: Principal, asked_by: &HeaderValue) -> Result<Principal, Problem> {
    let bad = || Problem::bad("shrooms-asked-by: must be RIGHT IDENTITY NAME");
    let words: Vec<&str> = asked_by.to_str().map_err(|_| bad())?.split(' ').collect();
    let [right, id, name] = words.as_slice() else { return Err(bad()) };
    let said = Right::parse(right).ok_or_else(bad)?;
    match by {
        Principal::Device { id: own, label, right } => {
            // One that is on this machine's mesh too has what it has here.
            let here = app.engine.right_of(id).unwrap_or(Right::Owner);
            let label = format!("{label} for {}", shrooms_core::text::cut(name, 130));
            Ok(Principal::Device { id: own, label, right: right.lesser(said).lesser(here) })
        }
        // Of this machine's own processes: they may say less of themselves.
        Principal::Owner | Principal::Session(_) if by.may(Action::Own) => {
            Err(Problem::bad("shrooms-asked-by: is for other machines' daemons"))
        }
        by => Ok(by),
    }
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
        ] {
            assert_eq!(rest_of(path), rest, "{path}");
        }
    }

    #[test]
    fn a_name_that_could_be_two_is_not_passed_on() {
        let value = name_of(Right::Ask, "home/fd00::2", "phone.home").unwrap();
        assert_eq!(value, "ask home/fd00::2 phone.home");
        for (id, label) in [("home/x y", "phone"), ("home/x", "a b"), ("", "phone"), ("home/x", ""), ("x\n", "y")] {
            assert!(name_of(Right::Ask, id, label).is_err());
        }
    }
}
