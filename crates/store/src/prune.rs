//! What is kept no longer. Ended tasks leave with their texts, and what is left of their messages
//! keeps their ids from running again for a while (`spec/tasks.md`, "Expiry"). Bounded pieces, so
//! that the writer is never away for long.

use rusqlite::{Transaction, params};
use shrooms_core::row::{Ask, AskTo, Message, Prompt, Task};
use shrooms_core::{Now, Stamp, TextRef};

use crate::StoreError;
use crate::write::parse;

/// Rows of one kind that one piece looks at.
const PIECE: usize = 500;
const DAY_MS: i64 = 86_400_000;
/// An outcome that nobody has read is kept for so many days.
const UNREAD_DAYS: i64 = 90;
/// Lines of the audit log are kept for so many days (`spec/access.md`) …
const AUDIT_DAYS: i64 = 90;
/// … and so many at most: some 300 MB.
const AUDIT_LINES: i64 = 1_000_000;
/// Records of use are kept for so many days: a year can be compared with the one before.
const USAGE_DAYS: i64 = 400;
/// A message's id keeps from running again for so many days after its task is gone.
const TOMBSTONE_DAYS: i64 = 30;

/// How old something is, by both clocks.
struct Age<'a>(&'a Now);

impl Age<'_> {
    /// Old by the wall and by the served clock: downtime and jumps make nothing old.
    fn over(&self, since: Stamp, days: i64) -> bool {
        let ms = days * DAY_MS;
        self.0.wall - since.wall >= ms && self.0.served - since.served >= ms
    }

    fn over_by_wall(&self, since: Stamp, days: i64) -> bool {
        self.0.wall - since.wall >= days * DAY_MS
    }
}

/// Drops one piece of everything; whether there may be more.
pub(crate) fn prune(tx: &Transaction<'_>, now: &Now, days: u32) -> Result<bool, StoreError> {
    let (age, days) = (Age(now), i64::from(days));
    // Rows of an earlier version, which kept them.
    tx.execute("DELETE FROM delivery WHERE open = 0", [])?;
    tx.execute("DELETE FROM turn WHERE open = 0", [])?;
    let asks = asks(tx, &age, days)?;
    let tasks = tasks(tx, &age, days)?;
    prompts(tx, &age, days)?;
    let stones = tombstones(tx, &age)?;
    let lines = audit(tx, now)?;
    let usage = usage(tx, now)?;
    Ok([asks, tasks, stones, lines, usage].contains(&PIECE))
}

fn text(tx: &Transaction<'_>, text: Option<TextRef>) -> Result<(), StoreError> {
    if let Some(text) = text {
        tx.prepare_cached("DELETE FROM blob WHERE no = ?1")?.execute([text.no])?;
    }
    Ok(())
}

fn rows<T: serde::de::DeserializeOwned>(
    tx: &Transaction<'_>,
    table: &'static str,
    sql: &str,
    by: &[&dyn rusqlite::ToSql],
) -> Result<Vec<T>, StoreError> {
    let mut statement = tx.prepare_cached(sql)?;
    let rows = statement.query_map(by, |r| r.get::<_, String>(0))?;
    rows.map(|row| parse(table, &row?)).collect()
}

fn asks(tx: &Transaction<'_>, age: &Age<'_>, days: i64) -> Result<usize, StoreError> {
    let mut dropped = 0;
    let mut after = 0;
    while dropped < PIECE {
        let sql = "SELECT row FROM ask WHERE live = 0 AND no > ?1 ORDER BY no LIMIT ?2";
        let page: Vec<Ask> = rows(tx, "ask", sql, &[&after, &(PIECE as i64)])?;
        let Some(last) = page.last() else { break };
        after = last.no.0;
        for ask in page {
            let ended = ask.ended.unwrap_or(ask.made);
            if ask.told && age.over(ended, days) || age.over_by_wall(ended, UNREAD_DAYS) {
                drop_ask(tx, &ask)?;
                dropped += 1;
            }
        }
    }
    Ok(dropped.min(PIECE))
}

fn drop_ask(tx: &Transaction<'_>, ask: &Ask) -> Result<(), StoreError> {
    text(tx, Some(ask.text))?;
    // What a task of this machine said is that task's.
    if matches!(ask.to, AskTo::Device { .. }) {
        text(tx, ask.known.as_ref().and_then(|k| k.text))?;
    }
    tx.prepare_cached("DELETE FROM ask WHERE no = ?1")?.execute([ask.no.0])?;
    Ok(())
}

fn tasks(tx: &Transaction<'_>, age: &Age<'_>, days: i64) -> Result<usize, StoreError> {
    let before = age.0.wall - days * DAY_MS;
    let (mut dropped, mut after) = (0, (i64::MIN, 0));
    while dropped < PIECE {
        let sql = "SELECT row FROM task WHERE (changed, no) > (?1, ?2) AND changed <= ?3 AND open = 0
                   ORDER BY changed, no LIMIT ?4";
        let page: Vec<Task> = rows(tx, "task", sql, &[&after.0, &after.1, &before, &(PIECE as i64)])?;
        let Some(last) = page.last() else { break };
        after = (last.changed.wall, last.no.0);
        for task in page {
            let ended = task.ended.unwrap_or(task.changed);
            if age.over(ended, days) && !is_needed(tx, &task)? {
                drop_task(tx, age, &task, ended)?;
                dropped += 1;
            }
        }
    }
    Ok(dropped.min(PIECE))
}

/// Somebody is still to be told of it, or an ask of this machine shows it.
fn is_needed(tx: &Transaction<'_>, task: &Task) -> Result<bool, StoreError> {
    let told = tx.prepare_cached("SELECT 1 FROM outbox WHERE task = ?1")?.exists([task.no.0])?;
    let here = |ask: &Ask| ask.to == AskTo::Here { task: task.no };
    let asks: Vec<Ask> = rows(tx, "ask", "SELECT row FROM ask WHERE task_id = ?1", &[&task.id])?;
    Ok(told || asks.iter().any(here))
}

fn drop_task(tx: &Transaction<'_>, age: &Age<'_>, task: &Task, ended: Stamp) -> Result<(), StoreError> {
    for no in [Some(task.request), task.question, task.result, task.last_words] {
        text(tx, no)?;
    }
    for no in task.questions.iter().copied().chain(task.made.iter().map(|m| m.parts)) {
        text(tx, Some(no))?;
    }
    let messages: Vec<Message> = rows(tx, "message", "SELECT row FROM message WHERE task = ?1", &[&task.no.0])?;
    for mut message in messages {
        text(tx, message.text)?;
        text(tx, message.parts)?;
        message.text = None;
        message.parts = None;
        message.ended = Some(ended);
        message.dropped = Some(age.0.stamp());
        let row =
            serde_json::to_string(&message).map_err(|e| StoreError::Row { table: "message", why: e.to_string() })?;
        tx.prepare_cached("UPDATE message SET row = ?2 WHERE no = ?1")?.execute(params![message.no.0, row])?;
    }
    tx.prepare_cached("DELETE FROM task WHERE no = ?1")?.execute([task.no.0])?;
    Ok(())
}

fn prompts(tx: &Transaction<'_>, age: &Age<'_>, days: i64) -> Result<(), StoreError> {
    let sql = "SELECT row FROM prompt WHERE open = 0 ORDER BY no LIMIT ?1";
    let page: Vec<Prompt> = rows(tx, "prompt", sql, &[&(PIECE as i64)])?;
    for prompt in page {
        // In the order in which they came, and they do not wait for long.
        if !age.over(prompt.ended.unwrap_or(prompt.made), days) {
            break;
        }
        if let shrooms_core::row::About::Permission { input, .. } = &prompt.about {
            text(tx, Some(*input))?;
        }
        tx.prepare_cached("DELETE FROM prompt WHERE no = ?1")?.execute([prompt.no.0])?;
    }
    Ok(())
}

/// The oldest first: by the wall, as a person reads it, and by their number, should somebody make many.
fn audit(tx: &Transaction<'_>, now: &Now) -> Result<usize, StoreError> {
    // Looked at in the order of their numbers, which have no gap: no piece goes through them all.
    let sql = "DELETE FROM audit WHERE no IN (SELECT no FROM audit ORDER BY no LIMIT ?3)
               AND (at < ?1 OR no <= (SELECT MAX(no) FROM audit) - ?2)";
    let before = now.wall - AUDIT_DAYS * DAY_MS;
    Ok(tx.prepare_cached(sql)?.execute(params![before, AUDIT_LINES, PIECE as i64])?)
}

/// By the day of the wall, as they are summed.
fn usage(tx: &Transaction<'_>, now: &Now) -> Result<usize, StoreError> {
    let sql = "DELETE FROM usage WHERE no IN (SELECT no FROM usage WHERE day < ?1 LIMIT ?2)";
    let before = now.wall.div_euclid(DAY_MS) - USAGE_DAYS;
    Ok(tx.prepare_cached(sql)?.execute(params![before, PIECE as i64])?)
}

fn tombstones(tx: &Transaction<'_>, age: &Age<'_>) -> Result<usize, StoreError> {
    // The index's own expression.
    let sql = "SELECT row FROM message WHERE json_extract(row, '$.dropped[0]') <= ?1 LIMIT ?2";
    let before = age.0.wall - TOMBSTONE_DAYS * DAY_MS;
    let page: Vec<Message> = rows(tx, "message", sql, &[&before, &(PIECE as i64)])?;
    let mut dropped = 0;
    for message in page.iter().filter(|m| m.dropped.is_some_and(|at| age.over(at, TOMBSTONE_DAYS))) {
        text(tx, message.text)?;
        tx.prepare_cached("DELETE FROM message WHERE no = ?1")?.execute([message.no.0])?;
        dropped += 1;
    }
    Ok(dropped)
}
