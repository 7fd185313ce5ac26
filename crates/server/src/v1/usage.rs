//! `GET /v1/usage`: what turns used of models, summed by day, session, asker, model or task, and what
//! the harnesses last said of their accounts' limits.

use std::collections::BTreeMap;

use axum::Json;

use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::row::{Account, Window};
use shrooms_core::{text, time};
use shrooms_engine::{UsageBy, UsageQuery, UsageSum};

use super::input::{Asked, within};
use crate::app::{App, State};
use crate::problem::Problem;

/// Rows, unless the query says another number …
const ROWS: usize = 1_000;
/// … and at most: some 3 MB.
const ROWS_MAX: usize = 10_000;
/// Days that are summed unless the query says others, today among them.
const DAYS: i64 = 30;
/// As many as are kept.
const DAYS_MAX: i64 = 400;
/// What is summed by, unless the query says it.
const BY: [UsageBy; 5] = [UsageBy::Day, UsageBy::Session, UsageBy::Harness, UsageBy::Model, UsageBy::Asker];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    since: Option<String>,
    days: Option<i64>,
    until: Option<String>,
    by: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Answer {
    machine: String,
    since: String,
    until: String,
    rows: Vec<Row>,
    /// There are more rows than the limit; they are in the total.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    total: Row,
    limits: Vec<Limits>,
}

/// A sum; what it was not made by is absent.
#[derive(Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    harness: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    turns: u64,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    /// Absent where nothing of it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_from: Option<&'static str>,
    /// Tokens that are not in the cost: nobody knows theirs.
    #[serde(skip_serializing_if = "is_zero")]
    unpriced: u64,
    busy_ms: u64,
}

#[derive(Serialize)]
struct Limits {
    harness: String,
    at: String,
    status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    window: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    overage: String,
    windows: BTreeMap<String, Used>,
}

#[derive(Serialize)]
struct Used {
    /// The fraction of it that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

pub(super) async fn show(State(app): State<App>, Asked(query): Asked<Query>) -> Result<Json<Answer>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(ROWS), 1, ROWS_MAX)?;
    let wall = app.engine.wall();
    let until = day("until", query.until.as_deref())?.unwrap_or(time::day_of(wall));
    let since = match (day("since", query.since.as_deref())?, query.days) {
        (Some(_), Some(_)) => return Err(Problem::bad("since or days: say one of them")),
        (Some(since), None) => since,
        (None, days) => until - (within("days", days.unwrap_or(DAYS), 1, DAYS_MAX)? - 1),
    };
    if since > until {
        return Err(Problem::bad("since: must not be after until"));
    }
    let by = query.by.as_deref().map_or(Ok(BY.to_vec()), columns)?;
    let read = move |r: &shrooms_engine::Reader| {
        let rows = r.usage(&UsageQuery { since, until, by, limit: limit + 1 })?;
        let total = r.usage(&UsageQuery { since, until, by: Vec::new(), limit: 1 })?;
        Ok((rows, total, r.meta()?.accounts))
    };
    let (mut rows, mut total, accounts) = app.engine.read(read).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(Json(Answer {
        machine: app.engine.machine(),
        since: time::date(since),
        until: time::date(until),
        rows: rows.into_iter().map(Row::from).collect(),
        more,
        total: Row::from(total.pop().unwrap_or_default()),
        limits: accounts.into_iter().map(|(harness, account)| limits(harness, account, wall)).collect(),
    }))
}

fn day(name: &str, given: Option<&str>) -> Result<Option<i64>, Problem> {
    let wrong = |text: &str| Problem::bad(format!("{name}: must be a date such as 2026-11-30, not '{}'", cut(text)));
    given.map(|text| time::day(text).ok_or_else(|| wrong(text))).transpose()
}

/// The columns of a list of them; `harness` goes with what has only one.
fn columns(given: &str) -> Result<Vec<UsageBy>, Problem> {
    let one = |word: &str| UsageBy::ALL.into_iter().find(|by| by.word() == word);
    let mut by = Vec::new();
    for word in given.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let column = one(word).ok_or_else(|| {
            let all = UsageBy::ALL.map(UsageBy::word).join(", ");
            Problem::bad(format!("by: must be some of {all}, with commas between, not '{}'", cut(word)))
        })?;
        if !by.contains(&column) {
            by.push(column);
        }
    }
    let is_of_one = |c: &UsageBy| matches!(c, UsageBy::Session | UsageBy::Model);
    if by.iter().any(is_of_one) && !by.contains(&UsageBy::Harness) {
        by.push(UsageBy::Harness);
    }
    Ok(by)
}

fn cut(text: &str) -> String {
    text::cut(text, 40)
}

impl From<UsageSum> for Row {
    fn from(sum: UsageSum) -> Row {
        let cost_from = match (sum.by_harness, sum.by_prices) {
            (0, 0) => None,
            (_, 0) => Some("harness"),
            (0, _) => Some("prices"),
            _ => Some("both"),
        };
        Row {
            day: sum.day.map(time::date),
            session: sum.session,
            by: sum.asker,
            model: sum.model,
            harness: sum.harness,
            task: sum.task,
            turns: sum.turns,
            input: sum.input,
            cache_read: sum.cache_read,
            cache_write: sum.cache_write,
            output: sum.output,
            cost_usd: cost_from.map(|_| sum.micros as f64 / 1e6),
            cost_from,
            unpriced: sum.unpriced,
            busy_ms: sum.busy_ms,
        }
    }
}

/// A window that has begun anew since it was told of is left out: nothing is known of it.
fn limits(harness: String, account: Account, wall: i64) -> Limits {
    let of_now = |window: &Window| window.resets.is_none_or(|at| at > wall);
    let used = |window: Window| Used {
        utilization: window.used.map(|thousandths| f64::from(thousandths) / 1e3),
        resets_at: window.resets.map(|at| Timestamp(at).to_string()),
    };
    let Account { at, status, window, overage, windows } = account;
    let windows = windows.into_iter().filter(|(_, w)| of_now(w)).map(|(name, w)| (name, used(w))).collect();
    Limits { harness, at: Timestamp(at).to_string(), status, window, overage, windows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_summed_by_is_read_strictly() {
        for (given, words) in [
            ("", ""),
            ("day", "day"),
            (" task , day,day", "task day"),
            ("session,asker", "session asker harness"),
            ("model,harness", "model harness"),
        ] {
            let by = columns(given).unwrap_or_else(|_| panic!("{given}"));
            assert_eq!(by.iter().map(|b| b.word()).collect::<Vec<_>>().join(" "), words, "{given}");
        }
        assert!(columns("day,sesion").is_err());
    }

    #[test]
    fn a_cost_says_where_it_is_from_and_what_it_leaves_out() {
        let shown = |sum: UsageSum| serde_json::to_value(Row::from(sum)).unwrap();
        let sum =
            UsageSum { micros: 1_500_000, by_harness: 2, day: Some(0), asker: Some("x".into()), ..Default::default() };
        let row = shown(sum.clone());
        assert_eq!(
            (&row["cost_usd"], &row["cost_from"], &row["day"]),
            (&json!(1.5), &json!("harness"), &json!("1970-01-01"))
        );
        assert_eq!((&row["by"], row.get("unpriced"), row.get("task")), (&json!("x"), None, None));
        let both = shown(UsageSum { by_prices: 1, unpriced: 7, ..sum });
        assert_eq!((&both["cost_from"], &both["unpriced"]), (&json!("both"), &json!(7)));
        let unknown = shown(UsageSum { unpriced: 7, ..Default::default() });
        assert_eq!((unknown.get("cost_usd"), unknown.get("cost_from")), (None, None));
    }

    #[test]
    fn windows_that_have_begun_anew_are_left_out() {
        let window = |used, resets| Window { used: Some(used), resets: Some(resets) };
        let windows = [("five_hour".to_string(), window(425, 2_000)), ("seven_day".to_string(), window(1_100, 9_000))];
        let account = Account { at: 1_000, status: "allowed".into(), windows: windows.into(), ..Default::default() };
        let shown = serde_json::to_value(limits("claude".into(), account, 2_000)).unwrap();
        assert_eq!(
            shown,
            json!({"harness": "claude", "at": "1970-01-01T00:00:01.000Z", "status": "allowed",
                   "windows": {"seven_day": {"utilization": 1.1, "resets_at": "1970-01-01T00:00:09.000Z"}}})
        );
    }
}
