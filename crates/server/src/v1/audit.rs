//! `GET /v1/audit`: who did what, the newest first, in pages; and those that could not, and why.

use axum::Json;
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::row::Audit;

use super::input::{Asked, within};
use crate::app::{App, State};
use crate::problem::Problem;

/// Lines on a page, unless the query says another number.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    limit: Option<usize>,
    cursor: Option<i64>,
}

#[derive(Serialize)]
pub(super) struct Page {
    lines: Vec<Line>,
    /// Where the next page begins; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i64>,
}

#[derive(Serialize)]
struct Line {
    no: i64,
    at: String,
    who: String,
    from: String,
    what: String,
    about: String,
    outcome: String,
}

impl From<Audit> for Line {
    fn from(row: Audit) -> Line {
        let Audit { no, at, who, from, what, about, outcome, of: _ } = row;
        Line { no, at: Timestamp(at).to_string(), who, from, what, about, outcome }
    }
}

pub(super) async fn list(State(app): State<App>, Asked(query): Asked<AuditQuery>) -> Result<Json<Page>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(PAGE), 1, PAGE_MAX)?;
    let mut rows = app.engine.read(move |r| r.audit(query.cursor, limit + 1)).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(|row| row.no);
    Ok(Json(Page { lines: rows.into_iter().map(Line::from).collect(), next }))
}
