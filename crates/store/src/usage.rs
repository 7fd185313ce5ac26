//! What turns used: written once, and only ever summed, by whatever one asks for; and what it adds to
//! the evidence of a task. It must not know how it was counted.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use shrooms_core::row::{CostFrom, Task, Usage};

use crate::{Reader, StoreError};

/// What sums are made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageBy {
    Day,
    Session,
    Harness,
    Model,
    Asker,
    Task,
}

impl UsageBy {
    /// All, in the order of the columns of a sum.
    pub const ALL: [UsageBy; 6] =
        [UsageBy::Day, UsageBy::Session, UsageBy::Harness, UsageBy::Model, UsageBy::Asker, UsageBy::Task];

    /// The word that people write, which is the column's name.
    pub fn word(self) -> &'static str {
        match self {
            UsageBy::Day => "day",
            UsageBy::Session => "session",
            UsageBy::Harness => "harness",
            UsageBy::Model => "model",
            UsageBy::Asker => "asker",
            UsageBy::Task => "task",
        }
    }
}

/// Which records to sum, and by what.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    /// Days of UTC since 1970, both among them.
    pub since: i64,
    pub until: i64,
    /// None = one sum of all.
    pub by: Vec<UsageBy>,
    pub limit: usize,
}

/// A sum; what it was not made by is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSum {
    pub day: Option<i64>,
    pub session: Option<String>,
    pub harness: Option<String>,
    pub model: Option<String>,
    pub asker: Option<String>,
    pub task: Option<String>,
    pub turns: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Millionths of a US dollar that are known.
    pub micros: u64,
    /// Records whose cost the harness said, and those that are by the owner's prices.
    pub by_harness: u64,
    pub by_prices: u64,
    /// Tokens whose cost nobody knows.
    pub unpriced: u64,
    pub busy_ms: u64,
}

const SUMS: &str = "COALESCE(SUM(turns), 0), COALESCE(SUM(input), 0), COALESCE(SUM(output), 0),
    COALESCE(SUM(cache_read), 0), COALESCE(SUM(cache_write), 0), COALESCE(SUM(micros), 0),
    COALESCE(SUM(micros IS NOT NULL AND priced = 0), 0), COALESCE(SUM(micros IS NOT NULL AND priced = 1), 0),
    COALESCE(SUM(CASE WHEN micros IS NULL THEN input + output + cache_read + cache_write END), 0),
    COALESCE(SUM(busy), 0)";

pub(crate) fn write(tx: &Transaction<'_>, u: &Usage) -> Result<(), StoreError> {
    let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let sql = "INSERT INTO usage (no, at, day, uid, session, harness, model, asker, task, turns, input, output,
               cache_read, cache_write, micros, priced, busy)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
    tx.prepare_cached(sql)?.execute(params![
        u.no,
        u.at,
        u.day,
        u.session.0,
        u.name,
        u.harness,
        u.model,
        u.cause.by,
        u.cause.task,
        u.turns,
        whole(u.tokens.input),
        whole(u.tokens.output),
        whole(u.tokens.cache_read),
        whole(u.tokens.cache_write),
        u.cost.map(|(micros, _)| whole(micros)),
        matches!(u.cost, Some((_, CostFrom::Prices))),
        whole(u.busy_ms),
    ])?;
    Ok(())
}

impl Reader {
    /// Sums of what was used, the newest day first, else by name, at most `limit`.
    pub fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageSum>, StoreError> {
        let column = |by: &UsageBy| if query.by.contains(by) { by.word() } else { "NULL" };
        let columns = UsageBy::ALL.iter().map(column).collect::<Vec<_>>().join(", ");
        // To whom a session is not there, none of its use is; which of this machine's asked is not said.
        let shown = self.hidden.none_of("uid").map(|none_of| {
            let asker = "CASE WHEN asker LIKE 'this machine (%' THEN 'this machine' ELSE asker END";
            format!(
                "(SELECT day, session, harness, model, {asker} AS asker, task, turns, input, output, cache_read,
                 cache_write, micros, priced, busy FROM usage WHERE {none_of})"
            )
        });
        let from = shown.as_deref().unwrap_or("usage");
        let mut sql = format!("SELECT {columns}, {SUMS} FROM {from} WHERE day >= ?1 AND day <= ?2");
        if !query.by.is_empty() {
            let names = || query.by.iter().map(|by| by.word());
            let order: Vec<_> = names().map(|n| if n == "day" { "day DESC".into() } else { n.to_string() }).collect();
            sql.push_str(&format!(
                " GROUP BY {} ORDER BY {}",
                names().collect::<Vec<_>>().join(", "),
                order.join(", ")
            ));
        }
        sql.push_str(" LIMIT ?3");
        self.with(|db| {
            let mut s = db.prepare_cached(&sql)?;
            let rows = s.query_map(params![query.since, query.until, query.limit as i64], sum)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn sum(row: &Row<'_>) -> rusqlite::Result<UsageSum> {
    let number = |at: usize| Ok::<u64, rusqlite::Error>(u64::try_from(row.get::<_, i64>(at)?).unwrap_or_default());
    Ok(UsageSum {
        day: row.get(0)?,
        session: row.get(1)?,
        harness: row.get(2)?,
        model: row.get(3)?,
        asker: row.get(4)?,
        task: row.get(5)?,
        turns: number(6)?,
        input: number(7)?,
        output: number(8)?,
        cache_read: number(9)?,
        cache_write: number(10)?,
        micros: number(11)?,
        by_harness: number(12)?,
        by_prices: number(13)?,
        unpriced: number(14)?,
        busy_ms: number(15)?,
    })
}

/// What a task's turns used is in its evidence by the records alone: its last turn ends after it does.
pub(crate) fn add(db: &Connection, mut task: Task) -> Result<Task, StoreError> {
    let mut s = db.prepare_cached(
        "SELECT SUM(turns), SUM(input + output + cache_read + cache_write), SUM(micros) FROM usage
         WHERE task = ?1 HAVING COUNT(*) > 0",
    )?;
    let sums: Option<(u32, i64, Option<i64>)> =
        s.query_row([&task.id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).optional()?;
    if let Some((turns, tokens, micros)) = sums {
        let whole = |n: i64| u64::try_from(n).unwrap_or_default();
        let seen = &mut task.evidence;
        seen.turns = seen.turns.saturating_add(turns);
        seen.tokens = seen.tokens.saturating_add(whole(tokens));
        seen.cost_micros = seen.cost_micros.saturating_add(whole(micros.unwrap_or_default()));
    }
    Ok(task)
}
