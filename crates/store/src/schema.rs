//! The tables. A row is the core's row as JSON beside the few columns that are searched by, so
//! that a later field needs no migration (ADR 0001).

use rusqlite::Connection;

use crate::StoreError;

/// The schema that this program writes; migrations go forward only.
pub const SCHEMA: i64 = 6;

const STATE: &str = "
CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), row TEXT NOT NULL);
CREATE TABLE blob (no INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE session (uid INTEGER PRIMARY KEY, name TEXT NOT NULL, live INTEGER NOT NULL, row TEXT NOT NULL);
CREATE UNIQUE INDEX session_name ON session (name) WHERE live = 1;
CREATE TABLE lane (no INTEGER PRIMARY KEY, session INTEGER NOT NULL, busy INTEGER NOT NULL, row TEXT NOT NULL);
CREATE TABLE message (no INTEGER PRIMARY KEY, session INTEGER NOT NULL, ns TEXT NOT NULL, mid TEXT NOT NULL,
    in_task INTEGER NOT NULL, task INTEGER NOT NULL, row TEXT NOT NULL);
CREATE UNIQUE INDEX message_key ON message (session, mid, ns, in_task);
CREATE INDEX message_task ON message (task);
CREATE TABLE task (no INTEGER PRIMARY KEY, id TEXT NOT NULL, session INTEGER NOT NULL, lane INTEGER NOT NULL,
    open INTEGER NOT NULL, queued INTEGER NOT NULL, position INTEGER NOT NULL, state TEXT NOT NULL,
    context TEXT NOT NULL, changed INTEGER NOT NULL, row TEXT NOT NULL);
CREATE UNIQUE INDEX task_id ON task (id);
CREATE INDEX task_open ON task (session) WHERE open = 1;
CREATE INDEX task_queue ON task (lane, position) WHERE queued = 1;
CREATE INDEX task_changed ON task (session, changed DESC, no DESC);
CREATE INDEX task_all_changed ON task (changed DESC, no DESC);
CREATE TABLE delivery (no INTEGER PRIMARY KEY, open INTEGER NOT NULL, row TEXT NOT NULL);
CREATE INDEX delivery_open ON delivery (no) WHERE open = 1;
CREATE TABLE turn (no INTEGER PRIMARY KEY, open INTEGER NOT NULL, task INTEGER, row TEXT NOT NULL);
CREATE INDEX turn_open ON turn (no) WHERE open = 1;
CREATE TABLE ask (no INTEGER PRIMARY KEY, agent TEXT NOT NULL, mid TEXT NOT NULL, task_id TEXT,
    live INTEGER NOT NULL, row TEXT NOT NULL);
CREATE UNIQUE INDEX ask_key ON ask (agent, mid);
CREATE INDEX ask_task ON ask (task_id);
CREATE INDEX ask_live ON ask (no) WHERE live = 1;
CREATE TABLE outbox (no INTEGER PRIMARY KEY, task INTEGER NOT NULL, row TEXT NOT NULL);
CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, row TEXT NOT NULL);
";

/// From version 1: prompts.
const PROMPTS: &str = "
CREATE TABLE prompt (no INTEGER PRIMARY KEY, open INTEGER NOT NULL, row TEXT NOT NULL);
CREATE INDEX prompt_open ON prompt (no) WHERE open = 1;
";

/// From version 2: what is left of messages, by when their tasks went.
const STONES: &str = "
CREATE INDEX message_dropped ON message (json_extract(row, '$.dropped[0]'))
    WHERE json_extract(row, '$.dropped[0]') IS NOT NULL;
";

/// From version 3: messages by the ask of another device that they were sent for.
const OF_ASKS: &str = "
CREATE UNIQUE INDEX message_ask ON message (json_extract(row, '$.ask.device'), json_extract(row, '$.ask.ask'))
    WHERE json_extract(row, '$.ask.device') IS NOT NULL;
";

/// From version 4: the audit log, and devices of the mesh.
const AUDIT: &str = "
CREATE TABLE audit (no INTEGER PRIMARY KEY, at INTEGER NOT NULL, row TEXT NOT NULL);
CREATE TABLE device (id TEXT PRIMARY KEY, row TEXT NOT NULL);
";

/// From version 5: what turns used. Plain columns and no row: it is only ever summed.
const USAGE: &str = "
CREATE TABLE usage (no INTEGER PRIMARY KEY, at INTEGER NOT NULL, day INTEGER NOT NULL, uid INTEGER NOT NULL,
    session TEXT NOT NULL, harness TEXT NOT NULL, model TEXT NOT NULL, asker TEXT NOT NULL, task TEXT,
    turns INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL, micros INTEGER, priced INTEGER NOT NULL, busy INTEGER NOT NULL);
CREATE INDEX usage_day ON usage (day);
CREATE INDEX usage_task ON usage (task) WHERE task IS NOT NULL;
";

/// The schema's version of a file; 0 = it has no tables.
pub fn version(db: &Connection, path: &str) -> Result<i64, StoreError> {
    db.query_row("PRAGMA user_version", [], |r| r.get(0)).map_err(|e| StoreError::sort(e, path))
}

/// Makes the tables of a new `state.db`, or checks the version of one that is there.
pub fn prepare(db: &Connection, path: &str) -> Result<(), StoreError> {
    let make = |parts: &[&str]| {
        let sql = format!("BEGIN;{}PRAGMA user_version = {SCHEMA};COMMIT;", parts.concat());
        db.execute_batch(&sql).map_err(|e| StoreError::sort(e, path))
    };
    match version(db, path)? {
        0 => make(&[STATE, PROMPTS, STONES, OF_ASKS, AUDIT, USAGE]),
        1 => make(&[PROMPTS, STONES, OF_ASKS, AUDIT, USAGE]),
        2 => make(&[STONES, OF_ASKS, AUDIT, USAGE]),
        3 => make(&[OF_ASKS, AUDIT, USAGE]),
        4 => make(&[AUDIT, USAGE]),
        5 => make(&[USAGE]),
        SCHEMA => Ok(()),
        found => Err(StoreError::Newer { path: path.to_string(), found, known: SCHEMA }),
    }
}
