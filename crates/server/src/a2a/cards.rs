//! Agent cards: the machine's, with its sessions as skills, and each session's. Cached by content;
//! their addresses work from where they were read.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::fmt::rfc2822;
use shrooms_a2a::card::{
    AgentCapabilities, AgentExtension, AgentInterface, AgentSkill, BINDING_HTTP_JSON, BINDING_JSONRPC,
};
use shrooms_a2a::{AgentCard, shrooms as keys, version};
use shrooms_core::digest::Digest;
use shrooms_core::row::{Harness, Session};

use crate::app::{App, State};
use crate::problem::Problem;

/// How long a card may be used without asking again: sessions come and go by hand.
const CACHED: &str = "max-age=60";

pub(crate) async fn machine(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    let name = app.engine.machine();
    let skills: Vec<AgentSkill> = rows
        .iter()
        .map(|row| {
            let session = &row.session;
            let at = format!("{}/a2a/{}/.well-known/agent-card.json", base(&app, &headers), session.name);
            skill(
                &session.name,
                &session.name,
                format!("The session {name}/{}: its card is {at}{}", session.name, can(session)),
                session,
            )
        })
        .collect();
    // A card has at least one skill, also on a machine that has no session yet.
    let skills = if skills.is_empty() { vec![nothing_yet()] } else { skills };
    let description =
        format!("The agents of {name}: one skill for each session. Name one in the metadata, or use its own address.");
    let card = card(&app, &headers, name, description, "/a2a", skills);
    Ok(answer(&app, &headers, &card))
}

pub(crate) async fn session(app: App, name: String, headers: HeaderMap) -> Result<Response, Problem> {
    let wanted = name.clone();
    let found = app.engine.read(move |r| r.session_named(&wanted)).await?;
    let machine = app.engine.machine();
    let session = found.ok_or_else(|| {
        Problem::not_found(format!("no session '{}' on {machine}", shrooms_core::text::cut(&name, 80)))
    })?;
    let does = match &session.harness {
        Harness::Command { .. } => "runs a command of its owner's for each task",
        Harness::Claude { .. } => "Claude Code in a directory of its owner's, one conversation",
    };
    let what = format!("The session {machine}/{}: {does}.{}", session.name, responsible(&session));
    // What every session can, first; then what its owner says of this one.
    let mut skills = vec![skill("chat", "Ask", what.clone(), &session)];
    skills.extend(session.skills.iter().map(|own| {
        let description = if own.description.is_empty() { own.name.clone() } else { own.description.clone() };
        skill(&own.id(), &own.name, description, &session)
    }));
    let at = format!("/a2a/{}", session.name);
    let card = card(&app, &headers, format!("{machine}/{}", session.name), what, &at, skills);
    Ok(answer(&app, &headers, &card))
}

/// Its skills by name, and what it is there for, beside its card's address.
fn can(session: &Session) -> String {
    let names: Vec<&str> = session.skills.iter().map(|own| own.name.as_str()).collect();
    let skills = if names.is_empty() { String::new() } else { format!(" Skills: {}.", names.join(", ")) };
    format!("{skills}{}", responsible(session))
}

/// What it is there for, as a sentence.
fn responsible(session: &Session) -> String {
    match session.responsibilities.as_slice() {
        [] => String::new(),
        lines => format!(" Responsible for: {}.", lines.join("; ")),
    }
}

fn skill(id: &str, name: &str, description: String, session: &Session) -> AgentSkill {
    AgentSkill {
        id: id.into(),
        name: name.into(),
        description,
        tags: vec!["shrooms".into(), session.harness.name().into()],
        ..AgentSkill::default()
    }
}

fn nothing_yet() -> AgentSkill {
    AgentSkill {
        id: "none".into(),
        name: "No session yet".into(),
        description: "This machine has no session yet.".into(),
        tags: vec!["shrooms".into()],
        ..AgentSkill::default()
    }
}

fn card(
    app: &App,
    headers: &HeaderMap,
    name: String,
    description: String,
    path: &str,
    skills: Vec<AgentSkill>,
) -> AgentCard {
    let extension = AgentExtension {
        uri: keys::EXTENSION_URI.into(),
        description: Some("Tasks stay open until it is said how they ended; AckTask; metadata under shrooms/.".into()),
        required: Some(false),
        ..AgentExtension::default()
    };
    let capabilities = app.config.capabilities();
    let required = capabilities.required.map(|uri| AgentExtension {
        uri: uri.into(),
        description: Some("Of a test profile: no client speaks it unasked.".into()),
        required: Some(true),
        ..AgentExtension::default()
    });
    let interface = |binding: &str| AgentInterface {
        url: format!("{}{path}", base(app, headers)),
        protocol_binding: binding.into(),
        protocol_version: version::SPOKEN.into(),
        ..AgentInterface::default()
    };
    AgentCard {
        name,
        description,
        supported_interfaces: vec![interface(BINDING_JSONRPC), interface(BINDING_HTTP_JSON)],
        version: app.config.version.clone(),
        capabilities: AgentCapabilities {
            streaming: Some(capabilities.streaming),
            push_notifications: Some(false),
            extended_agent_card: Some(false),
            extensions: [extension].into_iter().chain(required).collect(),
            ..AgentCapabilities::default()
        },
        default_input_modes: vec!["text/plain".into(), "application/json".into()],
        default_output_modes: vec!["text/plain".into()],
        skills,
        ..AgentCard::default()
    }
}

/// The address that the card was read from; the guard has checked that the host is ours.
fn base(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok());
    let host = host.filter(|h| !h.is_empty() && *h != "localhost").map(str::to_string);
    let first = || app.listening.addresses().first().map_or_else(|| "localhost".into(), ToString::to_string);
    format!("http://{}", host.unwrap_or_else(first))
}

fn answer(app: &App, headers: &HeaderMap, card: &AgentCard) -> Response {
    let body = serde_json::to_string(card).unwrap_or_default();
    let digest = Digest::of([body.as_bytes()]);
    let tag = format!("\"{}\"", digest.short(32));
    // Its addresses are those that it was read from, and no change of the card.
    let content = Digest::of([body.replace(&base(app, headers), "").as_bytes()]);
    let now = app.engine.wall();
    let since = app.changed.since(&format!("{} {}", card.name, app.engine.sees_as()), content, now);
    let modified = rfc9110(since.min(now.div_euclid(1000)));
    let mut response = match is_known(headers, &tag, since) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
    };
    for (name, value) in
        [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, CACHED), (header::LAST_MODIFIED, modified.as_str())]
    {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Whether the client has it: by its tag, or by a date where it names no tag (RFC 9110, 13.2.2).
fn is_known(headers: &HeaderMap, tag: &str, since: i64) -> bool {
    if headers.contains_key(header::IF_NONE_MATCH) {
        let listed = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|h| h.to_str().ok());
        let mut tags = listed.flat_map(|h| h.split(',')).map(|t| t.trim().trim_start_matches("W/"));
        return tags.any(|t| t == tag || t == "*");
    }
    let date = headers.get(header::IF_MODIFIED_SINCE).and_then(|h| h.to_str().ok());
    let date = date.and_then(|date| rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
    date.is_some_and(|date| date.as_second() >= since)
}

/// A moment as HTTP writes it.
fn rfc9110(second: i64) -> String {
    let moment = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&moment).unwrap_or_default()
}
