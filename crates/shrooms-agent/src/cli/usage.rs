//! `usage`: what turns used of models, summed, and how much of the account's limits is used.

use serde::Deserialize;
use shrooms_outbound::segment;
use std::collections::BTreeMap;

use crate::api;
use crate::context::Context;
use crate::output::{Output, short_time, to_the_minute};
use crate::report::{self, Exit, Failure};

/// Show what the sessions used: tokens, cost and time, by day, session, model and who asked; and how
/// much of the account's limits is used
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent usage
  shrooms-agent usage --days 7 --by session
  shrooms-agent usage --since 2026-11-01 --until 2026-11-30 --by day,asker
  shrooms-agent usage --by task --json
  shrooms-agent usage --machine homeserver

Days are those of UTC. Reminders are under shrooms. A cost is the harness's own, else by the prices in
the config; tokens of models without either are counted beside it. Records are kept for 400 days.")]
pub struct Args {
    /// From this day on [default: 30 days]
    #[arg(long, value_name = "DATE", conflicts_with = "days")]
    since: Option<String>,
    /// The last so many days, today among them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=400))]
    days: Option<u32>,
    /// Up to this day
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// What to sum by: some of day, session, asker, model, harness, task
    #[arg(long, value_name = "COLUMNS", default_value = "day,session,asker,model")]
    by: String,
    /// How many rows at most
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Of another machine of the mesh
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
}

/// `GET /v1/usage`.
#[derive(Debug, Deserialize)]
struct Usage {
    machine: String,
    rows: Vec<Row>,
    #[serde(default)]
    more: bool,
    total: Row,
    #[serde(default)]
    limits: Vec<Limits>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    day: String,
    session: String,
    by: String,
    model: String,
    harness: String,
    task: String,
    turns: u64,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    cost_usd: Option<f64>,
    unpriced: u64,
    busy_ms: u64,
}

#[derive(Debug, Deserialize)]
struct Limits {
    harness: String,
    at: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    windows: BTreeMap<String, Window>,
}

#[derive(Debug, Deserialize)]
struct Window {
    #[serde(default)]
    utilization: Option<f64>,
    #[serde(default)]
    resets_at: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let path = path(&args, context).await?;
    let answer = context.get(&path).await?;
    let usage: Usage = api::read(&answer)?;
    context.out.show(&answer, |out| text(&usage, out))?;
    if !context.out.json {
        if usage.rows.is_empty() {
            report::note(&format!("nothing was used on {} in these days", usage.machine));
        }
        if usage.more {
            report::note("there are more rows; sum by less, or raise --limit");
        }
        if usage.total.unpriced > 0 {
            report::note(&format!(
                "{} tokens are of models whose price nobody knows, and in no cost: see docs/usage.md for [prices]",
                number(usage.total.unpriced, true)
            ));
        }
    }
    Ok(Exit::Done)
}

async fn path(args: &Args, context: &Context) -> Result<String, Failure> {
    let mut query = format!("by={}&limit={}", word("--by", &args.by)?, args.limit);
    for (name, given) in [("since", &args.since), ("until", &args.until)] {
        if let Some(date) = given {
            query.push_str(&format!("&{name}={}", word(name, date)?));
        }
    }
    if let Some(days) = args.days {
        query.push_str(&format!("&days={days}"));
    }
    let Some(machine) = &args.machine else { return Ok(format!("/v1/usage?{query}")) };
    let status = context.get("/v1/status").await?;
    if matches!(machine.as_str(), "localhost") || status.get("machine").and_then(|m| m.as_str()) == Some(machine) {
        return Ok(format!("/v1/usage?{query}"));
    }
    Ok(format!("/v1/machines/{}/usage?{query}", word("--machine", machine)?))
}

fn word(name: &str, given: &str) -> Result<String, Failure> {
    segment(given).ok_or_else(|| Failure::new(format!("{name}: {given:?} cannot be sent")))
}

fn text(usage: &Usage, out: Output) -> String {
    let heads = [
        "DAY",
        "SESSION",
        "BY",
        "MODEL",
        "HARNESS",
        "TASK",
        "TURNS",
        "INPUT",
        "CACHE READ",
        "CACHE WRITE",
        "OUTPUT",
        "COST USD",
        "BUSY",
    ];
    let mut rows: Vec<Vec<String>> = usage.rows.iter().map(|r| cells(r, out.terminal)).collect();
    if out.terminal && !rows.is_empty() {
        let mut total = cells(&usage.total, true);
        if let Some(first) = total.first_mut() {
            "all".clone_into(first);
        }
        rows.push(total);
    }
    let mut text = out.columns(&heads, &rows);
    if out.terminal {
        usage.limits.iter().for_each(|of| text.push_str(&limits(of)));
    }
    text
}

fn cells(row: &Row, for_people: bool) -> Vec<String> {
    let tokens = [row.turns, row.input, row.cache_read, row.cache_write, row.output];
    let names = [&row.day, &row.session, &row.by, &row.model, &row.harness, &row.task];
    let mut cells: Vec<String> = names.into_iter().cloned().collect();
    cells.extend(tokens.map(|n| number(n, for_people)));
    let more = if row.unpriced > 0 { " + ?" } else { "" };
    cells.push(match row.cost_usd {
        Some(usd) if for_people => format!("{usd:.2}{more}"),
        Some(usd) => usd.to_string(),
        None if row.unpriced > 0 && for_people => "?".to_string(),
        None => String::new(),
    });
    cells.push(if for_people { duration(row.busy_ms) } else { row.busy_ms.to_string() });
    cells
}

/// `five hour: 42 %, resets 2026-11-30 15:00`.
fn limits(of: &Limits) -> String {
    let mut text = format!("\nLimits of {}'s account ({}, told {}):\n", of.harness, of.status, short_time(&of.at));
    for (name, window) in &of.windows {
        let used = window.utilization.map_or("in use".to_string(), |part| format!("{:.0} %", part * 100.0));
        let resets = window.resets_at.as_ref().map(|at| format!(", resets {} UTC", to_the_minute(at)));
        text.push_str(&format!("  {}: {used}{}\n", name.replace('_', " "), resets.unwrap_or_default()));
    }
    text
}

/// With a comma between thousands, for people.
fn number(n: u64, for_people: bool) -> String {
    let digits = n.to_string();
    if !for_people {
        return digits;
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// To the second, in the two largest units.
fn duration(ms: u64) -> String {
    let secs = ms / 1_000;
    match (secs / 3_600, secs % 3_600 / 60, secs % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} m {s} s"),
        (h, m, _) => format!("{h} h {m} m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn usage() -> Usage {
        let row = json!({"day": "2026-11-30", "session": "review", "by": "the owner", "model": "m", "harness": "claude",
            "turns": 3, "input": 1_234_567, "cache_read": 5, "cache_write": 7, "output": 890, "cost_usd": 1.2345,
            "cost_from": "harness", "busy_ms": 62_000});
        let mut total = row.clone();
        total["unpriced"] = json!(9);
        total["day"] = json!(null);
        let total = total.as_object().unwrap().iter().filter(|(_, v)| v.is_number());
        let total: serde_json::Map<_, _> = total.map(|(k, v)| (k.clone(), v.clone())).collect();
        api::read(
            &json!({"machine": "home", "since": "2026-11-01", "until": "2026-11-30", "rows": [row], "total": total,
            "limits": [{"harness": "claude", "at": "2026-11-30T12:00:00.000Z", "status": "allowed", "windows": {
                "five_hour": {"utilization": 0.42, "resets_at": "2026-11-30T15:00:00.000Z"}, "seven_day": {}}}]}),
        )
        .unwrap()
    }

    #[test]
    fn a_terminal_has_sums_and_thousands_and_no_empty_columns() {
        let shown = text(&usage(), Output { json: false, terminal: true });
        let lines: Vec<String> = shown.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "DAY SESSION BY MODEL HARNESS TURNS INPUT CACHE READ CACHE WRITE OUTPUT COST USD BUSY",
                "2026-11-30 review the owner m claude 3 1,234,567 5 7 890 1.23 1 m 2 s",
                "all 3 1,234,567 5 7 890 1.23 + ? 1 m 2 s",
                "",
                "Limits of claude's account (allowed, told 2026-11-30 12:00:00):",
                "five hour: 42 %, resets 2026-11-30 15:00 UTC",
                "seven day: in use",
            ]
        );
    }

    #[test]
    fn a_program_has_every_column_and_plain_numbers() {
        let shown = text(&usage(), Output { json: false, terminal: false });
        assert_eq!(shown, "2026-11-30\treview\tthe owner\tm\tclaude\t\t3\t1234567\t5\t7\t890\t1.2345\t62000\n");
    }

    #[test]
    fn numbers_and_times_are_short() {
        for (n, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!((number(n, true).as_str(), number(n, false)), (shown, n.to_string()));
        }
        for (ms, shown) in [(0, "0 s"), (59_999, "59 s"), (60_000, "1 m 0 s"), (7_384_000, "2 h 3 m")] {
            assert_eq!(duration(ms), shown);
        }
    }
}
