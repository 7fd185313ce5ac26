//! What a session said: pages of its log, searches in it, and what its harness's own conversation holds.
//! One file more for each that is streamed. Must not know how lines are kept.

pub(super) mod export;
pub(super) mod stream;

use axum::Json;

use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_engine::{Found, LogLine, LogPlace, Said};

use super::input::{Asked, Part, within};
use super::sessions::row;
use crate::app::{App, State};
use crate::problem::Problem;

/// Lines that one answer holds if nothing is said: some screens.
const LINES: usize = 200;
/// The most; at 4 MiB of text an answer ends earlier.
const LINES_MAX: usize = 10_000;
/// Hits of a search if nothing is said …
const FOUND: usize = 50;
/// … and the most.
const FOUND_MAX: usize = 200;
/// What was said in a conversation, if nothing is said …
const SAID: usize = 30;
/// … and the most.
const SAID_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogQuery {
    after: Option<i64>,
    before: Option<i64>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Log {
    /// What the numbers are of: where it changes, those of before mean nothing.
    log: String,
    /// The numbers of the oldest line that is kept and of the newest.
    oldest: i64,
    newest: i64,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    seq: i64,
    at: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    text: String,
}

impl Line {
    fn of(line: LogLine) -> Line {
        Line { seq: line.seq, at: Timestamp(line.at).to_string(), kind: line.kind, task: line.task, text: line.text }
    }
}

pub(super) async fn page(
    State(app): State<App>,
    Part(name): Part,
    Asked(query): Asked<LogQuery>,
) -> Result<Json<Log>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(LINES), 1, LINES_MAX)?;
    let place = match (query.after, query.before) {
        (Some(_), Some(_)) => return Err(Problem::bad("before: there is an after already; say one of them")),
        (Some(after), None) => LogPlace::After(after),
        (None, Some(before)) => LogPlace::Before(before),
        (None, None) => LogPlace::End,
    };
    let session = row(&app, &name).await?.session.uid;
    let page = app.engine.log_page(session, place, limit).await?;
    let lines = page.lines.into_iter().map(Line::of).collect();
    Ok(Json(Log { log: page.log, oldest: page.oldest, newest: page.newest, lines }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchQuery {
    q: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Hits {
    found: Vec<Hit>,
}

#[derive(Serialize)]
struct Hit {
    /// Where several are searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    seq: i64,
    at: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    snippet: String,
}

impl Hit {
    fn of(found: Found, session: Option<String>) -> Hit {
        let at = Timestamp(found.at).to_string();
        Hit { session, seq: found.seq, at, kind: found.kind, task: found.task, snippet: found.snippet }
    }
}

pub(super) async fn search(
    State(app): State<App>,
    Part(name): Part,
    Asked(query): Asked<SearchQuery>,
) -> Result<Json<Hits>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(FOUND), 1, FOUND_MAX)?;
    let session = row(&app, &name).await?.session.uid;
    let found = app.engine.log_search(vec![session], query.q, limit).await?;
    Ok(Json(Hits { found: found.into_iter().map(|found| Hit::of(found, None)).collect() }))
}

pub(super) async fn search_all(
    State(app): State<App>,
    Asked(query): Asked<SearchQuery>,
) -> Result<Json<Hits>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(FOUND), 1, FOUND_MAX)?;
    let rows = app.engine.read(|r| r.sessions()).await?;
    let uids = rows.iter().map(|row| row.session.uid).collect();
    let found = app.engine.log_search(uids, query.q, limit).await?;
    let name = |uid: i64| rows.iter().find(|row| row.session.uid.0 == uid).map(|row| row.session.name.clone());
    Ok(Json(Hits {
        found: found.into_iter().map(|found| (name(found.session), found)).map(|(n, f)| Hit::of(f, n)).collect(),
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    limit: Option<usize>,
    before: Option<String>,
}

#[derive(Serialize)]
pub(super) struct History {
    history: Vec<Words>,
    /// Where to go on: there may be more before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Serialize)]
struct Words {
    time: String,
    role: &'static str,
    text: String,
}

impl Words {
    fn of(said: Said) -> Words {
        let role = match said.role {
            shrooms_engine::Role::User => "user",
            shrooms_engine::Role::Assistant => "assistant",
        };
        Words { time: said.time, role, text: said.text }
    }
}

pub(super) async fn history(
    State(app): State<App>,
    Part(name): Part,
    Asked(query): Asked<HistoryQuery>,
) -> Result<Json<History>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(SAID), 1, SAID_MAX)?;
    let before = match query.before {
        None => None,
        Some(time) => {
            let time: Timestamp = time.parse().map_err(|e| Problem::bad(format!("before: {e}")))?;
            Some(time.to_string())
        }
    };
    let row = row(&app, &name).await?;
    let history = app.engine.history(&row, before, limit).await?;
    Ok(Json(History { history: history.said.into_iter().map(Words::of).collect(), next: history.next }))
}
