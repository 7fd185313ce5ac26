//! The one writer: opens the state, reads what is open, commits batches. A commit that fails
//! leaves the store as it was.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shrooms_core::desk::{Loaded, MessageKey, Wants};
use shrooms_core::id::TaskNo;
use shrooms_core::row::{Ask, AskKey, Change, DeliveryState, Gate, Message, Meta, Open, Task};
use shrooms_core::{Now, view};

use crate::{StoreError, schema};

/// What was sent for an ask of another device; the first condition is that of the index.
pub(crate) const OF_ASK: &str = "SELECT row FROM message WHERE json_extract(row, '$.ask.device') IS NOT NULL
    AND json_extract(row, '$.ask.device') = ?1 AND json_extract(row, '$.ask.ask') = ?2";

/// How long the writer waits for a lock: only a person with a database tool can hold one.
const BUSY_MS: u64 = 5_000;

/// How often the lock is tried …
const TRIES: u32 = 20;
/// … in one second all together: long for a process to begin, short for a person to wait.
const BETWEEN_TRIES: std::time::Duration = std::time::Duration::from_millis(50);

/// The right to serve a state directory; released when the process ends, however it does.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `dir`, or says who has it.
    pub fn take(dir: &Path) -> Result<Lock, StoreError> {
        let shown = dir.display().to_string();
        let broken = |e: std::io::Error| StoreError::Directory { dir: shown.clone(), why: e.to_string() };
        let file = File::options().create(true).truncate(false).write(true).open(dir.join("lock")).map_err(broken)?;
        // A daemon that was killed while it started a process leaves the lock, for a moment, with a
        // child that is not yet its own program.
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
                Err(std::fs::TryLockError::Error(e)) => return Err(broken(e)),
            }
        }
        Err(StoreError::Locked { dir: shown })
    }
}

/// The writer's connection to `state.db`.
pub struct Store {
    db: Connection,
    path: PathBuf,
}

/// Says that a state was made in this directory.
const MARKER: &str = "state.made";

fn lost(path: &str, why: &str) -> StoreError {
    let why =
        format!("{why}, and this directory has held a state (to begin anew here, remove the file {MARKER} beside it)");
    StoreError::Damaged { path: path.to_string(), why }
}

/// Best effort: what stays in the log is as durable there.
fn checkpoint(db: &Connection) {
    if let Err(error) = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::debug!(%error, "the log could not be moved into the state file now");
    }
}

/// Makes the file, if it is not there, and its companions the user's alone, whatever the directory is:
/// SQLite gives new companions the file's own mode. One that is there is not opened: to close it would
/// take the locks of this process's own connections away.
pub(crate) fn private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let broken = |e: std::io::Error| StoreError::Directory { dir: path.display().to_string(), why: e.to_string() };
    if !path.exists() {
        File::options().create(true).append(true).mode(0o600).open(path).map_err(broken)?;
    }
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_os_string();
        name.push(end);
        match std::fs::set_permissions(&name, std::fs::Permissions::from_mode(0o600)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(broken(e)),
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn parse<T: DeserializeOwned>(table: &'static str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|e| StoreError::Row { table, why: e.to_string() })
}

fn json<T: Serialize>(table: &'static str, row: &T) -> Result<String, StoreError> {
    serde_json::to_string(row).map_err(|e| StoreError::Row { table, why: e.to_string() })
}

impl Store {
    /// Opens `state.db` in `dir`, making it if there is none. Never overwrites one that cannot be
    /// read.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let path = dir.join("state.db");
        let shown = path.display().to_string();
        let sort = |e| StoreError::sort(e, &shown);
        // Made with the first state, so that one that was lost is not taken for one to come.
        let marked = dir.join(MARKER).exists();
        if marked && !path.exists() {
            return Err(lost(&shown, "it is gone"));
        }
        private(&path)?;
        let db = Connection::open(&path).map_err(sort)?;
        db.busy_timeout(std::time::Duration::from_millis(BUSY_MS)).map_err(sort)?;
        db.pragma_update(None, "journal_mode", "WAL").map_err(sort)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(sort)?;
        db.pragma_update(None, "foreign_keys", "OFF").map_err(sort)?;
        db.set_prepared_statement_cache_capacity(64);
        if marked && schema::version(&db, &shown)? == 0 {
            return Err(lost(&shown, "it is empty"));
        }
        schema::prepare(&db, &shown)?;
        // What an earlier run left in the log goes to where a copy of the file has it.
        checkpoint(&db);
        Ok(Store { db, path })
    }

    /// Drops events older than `before` (wall milliseconds): readers that are further behind are told
    /// to read anew. Returns how many.
    pub fn prune_events(&mut self, before: i64) -> Result<usize, StoreError> {
        let path = self.path.display().to_string();
        // By number, which is the key: events come in the order of their numbers.
        let sql =
            "DELETE FROM event WHERE seq < (SELECT COALESCE(MIN(seq), 9223372036854775807) FROM event WHERE at >= ?1)";
        self.db.execute(sql, [before]).map_err(|e| StoreError::sort(e, &path))
    }

    /// Drops what is kept no longer, a bounded piece of it; says whether there may be more. Ended tasks
    /// go after `days` by both clocks, once nobody has to be told of them (90 days at most), with
    /// their texts; what is left of their messages keeps their ids from running again for 30 days.
    pub fn prune(&mut self, now: &Now, days: u32) -> Result<bool, StoreError> {
        let path = self.path.display().to_string();
        let tx = self.db.transaction().map_err(|e| StoreError::sort(e, &path))?;
        let more = crate::prune::prune(&tx, now, days).map_err(|e| match e {
            StoreError::Sqlite(e) => StoreError::sort(e, &path),
            other => other,
        })?;
        tx.commit().map_err(|e| StoreError::sort(e, &path))?;
        Ok(more)
    }

    /// Marks the directory as one that holds a state, for every later start.
    pub fn mark(&self) -> Result<(), StoreError> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let marker = dir.join(MARKER);
        if marker.exists() {
            return Ok(());
        }
        let made = File::create(&marker).and_then(|f| f.sync_all()).and_then(|()| File::open(dir)?.sync_all());
        made.map_err(|e| StoreError::Directory { dir: dir.display().to_string(), why: e.to_string() })
    }

    #[cfg(test)]
    pub(crate) fn db_for_tests(&self) -> &Connection {
        &self.db
    }

    /// Moves what is committed into the one file, at a clean end.
    pub fn close(self) {
        checkpoint(&self.db);
    }

    /// The meta row; absent in a new state.
    pub fn meta(&self) -> Result<Option<Meta>, StoreError> {
        let row: Option<String> =
            self.db.query_row("SELECT row FROM meta WHERE id = 1", [], |r| r.get(0)).optional()?;
        row.map(|r| parse("meta", &r)).transpose()
    }

    /// All rows that are open.
    pub fn open_rows(&self) -> Result<Open, StoreError> {
        Ok(Open {
            sessions: self.all("session", "SELECT row FROM session WHERE live = 1")?,
            lanes: self.all(
                "lane",
                "SELECT row FROM lane WHERE busy = 1 OR session IN (SELECT uid FROM session WHERE live = 1)",
            )?,
            messages: self.all(
                "message",
                // By the index, or all that is kept would be gone through.
                "SELECT m.row FROM task t INDEXED BY task_open CROSS JOIN message m ON m.task = t.no
                 WHERE t.open = 1 ORDER BY m.no",
            )?,
            tasks: self.all("task", "SELECT row FROM task INDEXED BY task_open WHERE open = 1 ORDER BY no")?,
            deliveries: self.all("delivery", "SELECT row FROM delivery WHERE open = 1 ORDER BY no")?,
            turns: self.all("turn", "SELECT row FROM turn WHERE open = 1 ORDER BY no")?,
            prompts: self.all("prompt", "SELECT row FROM prompt WHERE open = 1 ORDER BY no")?,
            asks: self.all("ask", "SELECT row FROM ask WHERE live = 1 ORDER BY no")?,
            outbox: self.all("outbox", "SELECT row FROM outbox ORDER BY no")?,
            devices: self.all("device", "SELECT row FROM device ORDER BY id")?,
        })
    }

    fn all<T: DeserializeOwned>(&self, table: &'static str, sql: &str) -> Result<Vec<T>, StoreError> {
        let mut statement = self.db.prepare(sql)?;
        let rows = statement.query_map([], |r| r.get::<_, String>(0))?;
        rows.map(|r| parse(table, &r?)).collect()
    }

    /// Writes a batch, all or nothing. When this returns, it is on the disk.
    ///
    /// # Errors
    /// [`StoreError::Full`] passes when there is room again; after any error nothing of the batch
    /// is there.
    pub fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let path = self.path.display().to_string();
        let tx = self.db.transaction().map_err(|e| StoreError::sort(e, &path))?;
        // A name may go from one session to another within a batch.
        for change in changes {
            if let Change::Session(s) = change {
                let freed = tx.prepare_cached("UPDATE session SET live = 0 WHERE uid = ?1");
                freed.and_then(|mut free| free.execute([s.uid.0])).map_err(|e| StoreError::sort(e, &path))?;
            }
        }
        for change in changes {
            write(&tx, change).map_err(|e| match e {
                StoreError::Sqlite(e) => StoreError::sort(e, &path),
                other => other,
            })?;
        }
        tx.commit().map_err(|e| StoreError::sort(e, &path))
    }

    /// Reads what the desk wants to know before it decides a request.
    pub fn load(&self, wants: &Wants) -> Result<Loaded, StoreError> {
        let mut loaded = Loaded::default();
        if let Some(key) = &wants.message {
            loaded.message = self.message(key)?;
        }
        if let Some(id) = &wants.task {
            loaded.task = self.task("SELECT row FROM task WHERE id = ?1", id)?;
        }
        if let (Some((ns, mid)), Some(task)) = (&wants.in_task, &loaded.task) {
            let key = MessageKey { session: task.session, ns: ns.clone(), mid: mid.clone(), in_task: Some(task.no) };
            loaded.message = self.message(&key)?;
        }
        if let Some(key) = &wants.of_ask {
            loaded.of_ask = self.of_ask(key)?;
        }
        if let (Some(message), None) = (loaded.of_ask.as_ref().or(loaded.message.as_ref()), &loaded.task) {
            loaded.task = self.task("SELECT row FROM task WHERE no = ?1", &message.task.0)?;
        }
        if let Some(id) = &wants.free_id {
            let mut found = self.db.prepare_cached("SELECT 1 FROM task WHERE id = ?1")?;
            loaded.id_taken = found.exists([id])?;
        }
        if let Some(no) = wants.ask {
            loaded.ask = self.ask("SELECT row FROM ask WHERE no = ?1", params![no.0])?;
        }
        if let Some(no) = wants.prompt {
            let mut s = self.db.prepare_cached("SELECT row FROM prompt WHERE no = ?1")?;
            let row: Option<String> = s.query_row([no.0], |r| r.get(0)).optional()?;
            loaded.prompt = row.map(|r| parse("prompt", &r)).transpose()?;
        }
        let of_task = loaded.task.as_ref().map(|t| t.session);
        if let Some(uid) = of_task.or(loaded.prompt.as_ref().map(|p| p.session)) {
            let mut s = self.db.prepare_cached("SELECT row FROM session WHERE uid = ?1")?;
            let row: Option<String> = s.query_row([uid.0], |r| r.get(0)).optional()?;
            loaded.session = row.map(|r| parse("session", &r)).transpose()?;
        }
        if let Some(name) = &wants.removed {
            let sql = "SELECT s.row, l.row FROM session s JOIN lane l ON l.session = s.uid
                       WHERE s.name = ?1 AND s.live = 0 ORDER BY s.uid DESC LIMIT 1";
            let mut s = self.db.prepare_cached(sql)?;
            let row: Option<(String, String)> = s.query_row([name], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
            loaded.removed = match row {
                Some((session, lane)) => Some((parse("session", &session)?, parse("lane", &lane)?)),
                None => None,
            };
        }
        if let Some((agent, mid)) = &wants.ask_mid {
            loaded.ask = self.ask("SELECT row FROM ask WHERE agent = ?1 AND mid = ?2", params![agent, mid])?;
        }
        Ok(loaded)
    }

    fn of_ask(&self, key: &AskKey) -> Result<Option<Message>, StoreError> {
        let mut statement = self.db.prepare_cached(OF_ASK)?;
        let row: Option<String> = statement.query_row([&key.device, &key.ask], |r| r.get(0)).optional()?;
        row.map(|r| parse("message", &r)).transpose()
    }

    fn message(&self, key: &MessageKey) -> Result<Option<Message>, StoreError> {
        let sql = "SELECT row FROM message WHERE session = ?1 AND mid = ?2 AND ns = ?3 AND in_task = ?4";
        let mut statement = self.db.prepare_cached(sql)?;
        let in_task = key.in_task.map_or(0, |t| t.0);
        let row: Option<String> =
            statement.query_row(params![key.session.0, key.mid, key.ns.0, in_task], |r| r.get(0)).optional()?;
        row.map(|r| parse("message", &r)).transpose()
    }

    fn task(&self, sql: &str, by: &dyn rusqlite::ToSql) -> Result<Option<Arc<Task>>, StoreError> {
        let row: Option<String> = self.db.prepare_cached(sql)?.query_row([by], |r| r.get(0)).optional()?;
        row.map(|r| parse("task", &r).map(Arc::new)).transpose()
    }

    fn ask(&self, sql: &str, by: impl rusqlite::Params) -> Result<Option<Ask>, StoreError> {
        let row: Option<String> = self.db.prepare_cached(sql)?.query_row(by, |r| r.get(0)).optional()?;
        row.map(|r| parse("ask", &r)).transpose()
    }

    /// A text that was committed.
    pub fn text(&self, no: i64) -> Result<String, StoreError> {
        let mut statement = self.db.prepare_cached("SELECT text FROM blob WHERE no = ?1")?;
        Ok(statement.query_row([no], |r| r.get(0))?)
    }

    /// The texts of a task's follow-ups that are kept, and others by number.
    pub fn task_row(&self, no: TaskNo) -> Result<Option<Arc<Task>>, StoreError> {
        self.task("SELECT row FROM task WHERE no = ?1", &no.0)
    }
}

fn write(tx: &Transaction<'_>, change: &Change) -> Result<(), StoreError> {
    let put = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Result<(), StoreError> {
        tx.prepare_cached(sql)?.execute(values)?;
        Ok(())
    };
    match change {
        Change::Meta(m) => put("INSERT OR REPLACE INTO meta (id, row) VALUES (1, ?1)", &[&json("meta", m)?]),
        Change::Blob(no, text) => put("INSERT INTO blob (no, text) VALUES (?1, ?2)", &[no, &text.as_str()]),
        Change::Session(s) => put(
            "INSERT INTO session (uid, name, live, row) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (uid) DO UPDATE SET name = excluded.name, live = excluded.live, row = excluded.row",
            &[&s.uid.0, &s.name, &s.removed.is_none(), &json("session", s)?],
        ),
        Change::Lane(l) => put(
            "INSERT OR REPLACE INTO lane (no, session, busy, row) VALUES (?1, ?2, ?3, ?4)",
            &[&l.no.0, &l.session.0, &l.turn.is_some(), &json("lane", l)?],
        ),
        Change::Message(m) => put(
            "INSERT INTO message (no, session, ns, mid, in_task, task, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (no) DO UPDATE SET row = excluded.row",
            &[&m.no.0, &m.session.0, &m.ns.0, &m.mid, &m.in_task.map_or(0, |t| t.0), &m.task.0, &json("message", m)?],
        ),
        Change::Task(t) => put(
            "INSERT INTO task (no, id, session, lane, open, queued, position, state, context, changed, row)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (no) DO UPDATE SET open = excluded.open, queued = excluded.queued,
             position = excluded.position, state = excluded.state, changed = excluded.changed, row = excluded.row",
            &[
                &t.no.0,
                &t.id,
                &t.session.0,
                &t.lane.0,
                &t.open(),
                &(t.open() && !t.dispatched && t.gate == Gate::Open),
                &t.position,
                &view::state(t).word(),
                &t.context,
                &t.changed.wall,
                &json("task", t)?,
            ],
        ),
        // What is over is of no use: the task has the receipt.
        Change::Delivery(d) if d.state == DeliveryState::Ended => put("DELETE FROM delivery WHERE no = ?1", &[&d.no.0]),
        Change::Turn(t) if t.ended.is_some() => put("DELETE FROM turn WHERE no = ?1", &[&t.no.0]),
        Change::Delivery(d) => put(
            "INSERT OR REPLACE INTO delivery (no, open, row) VALUES (?1, ?2, ?3)",
            &[&d.no.0, &true, &json("delivery", d)?],
        ),
        Change::Turn(t) => put(
            "INSERT OR REPLACE INTO turn (no, open, task, row) VALUES (?1, ?2, ?3, ?4)",
            &[&t.no.0, &true, &t.task.map(|t| t.0), &json("turn", t)?],
        ),
        Change::Prompt(p) => put(
            "INSERT OR REPLACE INTO prompt (no, open, row) VALUES (?1, ?2, ?3)",
            &[&p.no.0, &p.ended.is_none(), &json("prompt", p)?],
        ),
        Change::Ask(a) => put(
            "INSERT INTO ask (no, agent, mid, task_id, live, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (no) DO UPDATE SET task_id = excluded.task_id, live = excluded.live, row = excluded.row",
            &[&a.no.0, &a.agent, &a.mid, &a.task_id, &a.live(), &json("ask", a)?],
        ),
        Change::Outbox(o) => put(
            "INSERT OR REPLACE INTO outbox (no, task, row) VALUES (?1, ?2, ?3)",
            &[&o.no.0, &o.report.task.0, &json("outbox", o)?],
        ),
        Change::OutboxGone(no) => put("DELETE FROM outbox WHERE no = ?1", &[&no.0]),
        Change::Event(e) => {
            put("INSERT OR REPLACE INTO event (seq, at, row) VALUES (?1, ?2, ?3)", &[&e.seq, &e.at, &json("event", e)?])
        }
        Change::Audit(a) => {
            put("INSERT INTO audit (no, at, row) VALUES (?1, ?2, ?3)", &[&a.no, &a.at, &json("audit", a)?])
        }
        Change::Device(d) => {
            put("INSERT OR REPLACE INTO device (id, row) VALUES (?1, ?2)", &[&d.id, &json("device", d)?])
        }
        Change::Usage(u) => crate::usage::write(tx, u),
    }
}
