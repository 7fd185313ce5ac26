//! What sessions said, line by line: bounded, droppable, in a file of its own, so that losing it
//! loses no task. Written by one thread; a full queue or disk drops lines and says how many.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, atomic::AtomicU64, atomic::Ordering};

use rusqlite::{Connection, OpenFlags, params};
use serde::Serialize;

use crate::StoreError;

/// Lines kept of one session: the newest.
const KEPT_LINES: i64 = 10_000;
/// Lines that may wait to be written; more are dropped, since a log may not slow the work.
const WAITING: usize = 4_096;
/// Lines written between two looks at the bound.
const PRUNE_EVERY: u64 = 1_000;

/// One line.
#[derive(Clone, Debug, Serialize)]
pub struct LogLine {
    /// Number over all sessions, growing.
    pub seq: i64,
    #[serde(skip)]
    pub session: i64,
    /// Wall time, milliseconds.
    pub at: i64,
    /// `words`, `error` (what the program wrote to stderr), `said` (what was said to it), `tool` or `note` (ours).
    pub kind: &'static str,
    pub task: Option<String>,
    pub text: String,
}

/// Takes lines; never waits.
#[derive(Clone)]
pub struct LogWriter {
    queue: SyncSender<LogLine>,
    dropped: Arc<AtomicU64>,
}

/// Reads lines.
pub struct LogReader {
    path: PathBuf,
}

impl LogWriter {
    /// Opens `log.db` in `dir` and starts its thread. One that cannot be read is put aside as
    /// `log.db.damaged`: it is droppable.
    pub fn open(dir: &Path) -> Result<LogWriter, StoreError> {
        let path = dir.join("log.db");
        let db = match open(&path) {
            Ok(db) => db,
            Err(error) => {
                tracing::warn!(%error, "the session log cannot be read and is begun anew");
                let aside = dir.join("log.db.damaged");
                std::fs::rename(&path, &aside).map_err(|e| StoreError::Directory {
                    dir: dir.display().to_string(),
                    why: format!("log.db is damaged and cannot be put aside: {e}"),
                })?;
                open(&path)?
            }
        };
        let (queue, lines) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let count = dropped.clone();
        let spawned = std::thread::Builder::new().name("log".into()).spawn(move || write_all(db, lines, &count));
        spawned.map_err(|e| StoreError::Directory { dir: dir.display().to_string(), why: e.to_string() })?;
        Ok(LogWriter { queue, dropped })
    }

    /// Adds a line; `seq` is given by the log.
    pub fn add(&self, line: LogLine) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.queue.try_send(line) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines that were dropped since the start.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

fn open(path: &Path) -> Result<Connection, StoreError> {
    crate::write::private(path)?;
    let db = Connection::open(path)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.execute_batch(
        "CREATE TABLE IF NOT EXISTS line (seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, at INTEGER NOT NULL,
         kind TEXT NOT NULL, task TEXT, text TEXT NOT NULL);
         CREATE INDEX IF NOT EXISTS line_session ON line (session, seq);",
    )?;
    Ok(db)
}

fn write_all(mut db: Connection, lines: Receiver<LogLine>, dropped: &AtomicU64) {
    let mut since_prune = 0u64;
    while let Ok(first) = lines.recv() {
        let batch: Vec<LogLine> = std::iter::once(first).chain(lines.try_iter().take(WAITING)).collect();
        since_prune += batch.len() as u64;
        if let Err(error) = write_batch(&mut db, &batch) {
            let count = dropped.fetch_add(batch.len() as u64, Ordering::Relaxed);
            tracing::debug!(%error, count, "log lines were dropped");
        }
        if since_prune >= PRUNE_EVERY {
            since_prune = 0;
            if let Err(error) = prune(&db) {
                tracing::debug!(%error, "the session log could not be pruned");
            }
        }
    }
}

fn write_batch(db: &mut Connection, batch: &[LogLine]) -> Result<(), StoreError> {
    let tx = db.transaction()?;
    for line in batch {
        tx.prepare_cached("INSERT INTO line (session, at, kind, task, text) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![line.session, line.at, line.kind, line.task, line.text])?;
    }
    tx.commit()?;
    Ok(())
}

fn prune(db: &Connection) -> Result<(), StoreError> {
    let sessions: Vec<i64> =
        db.prepare("SELECT DISTINCT session FROM line")?.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
    for session in sessions {
        db.execute(
            "DELETE FROM line WHERE session = ?1 AND seq <= (SELECT seq FROM line WHERE session = ?1
             ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
            params![session, KEPT_LINES],
        )?;
    }
    Ok(())
}

impl LogReader {
    /// A reader of the `log.db` in `dir`.
    pub fn open(dir: &Path) -> LogReader {
        LogReader { path: dir.join("log.db") }
    }

    /// Lines of a session after `seq`, oldest first; with `seq` 0 the newest `limit`.
    pub fn lines(&self, session: i64, seq: i64, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&self.path, flags)?;
        db.busy_timeout(std::time::Duration::from_secs(5))?;
        let order = if seq == 0 { "DESC" } else { "ASC" };
        let sql = format!(
            "SELECT seq, at, kind, task, text FROM line WHERE session = ?1 AND seq > ?2 ORDER BY seq {order} LIMIT ?3"
        );
        let mut s = db.prepare(&sql)?;
        let rows = s.query_map(params![session, seq, limit as i64], |r| {
            let kind: String = r.get(2)?;
            Ok(LogLine {
                seq: r.get(0)?,
                session,
                at: r.get(1)?,
                kind: match kind.as_str() {
                    "said" => "said",
                    "tool" => "tool",
                    "error" => "error",
                    "note" => "note",
                    _ => "words",
                },
                task: r.get(3)?,
                text: r.get(4)?,
            })
        })?;
        let mut lines = rows.collect::<Result<Vec<_>, _>>()?;
        if seq == 0 {
            lines.reverse();
        }
        Ok(lines)
    }
}
