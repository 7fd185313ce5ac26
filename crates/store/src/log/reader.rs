//! Reading the log beside its writer: a page of a session from either end. Each page costs what it
//! holds, however long the conversation is. A file that is damaged is said to the writer.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::query::Words;
use super::writer::LogWriter;
use super::{LogLine, kind, row_of, seq_of};
use crate::StoreError;

/// Connections kept open; more are made and closed again when more ask at once.
const KEPT: usize = 2;
/// Bytes of text after which a page ends, with one line at least: a reader asks for the next.
const PAGE_BYTES: usize = 4 << 20;

/// Where a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// The newest lines.
    End,
    /// The first after this number.
    After(i64),
    /// The last before this number.
    Before(i64),
}

/// Lines of a session, oldest first. As many as were asked for, unless there are no more on that side or
/// they have 4 MiB of text.
#[derive(Clone, Debug, Default)]
pub struct LogPage {
    /// What the numbers are of: another one, and they mean nothing any more.
    pub log: String,
    pub lines: Vec<LogLine>,
    /// The numbers of the oldest line that is kept and of the newest; the newest is below the oldest where
    /// there is none.
    pub oldest: i64,
    pub newest: i64,
}

/// Reads lines; cheap to share.
pub struct LogReader {
    path: PathBuf,
    writer: LogWriter,
    idle: Mutex<Vec<(u64, Connection)>>,
    /// Made with the first search.
    pub(super) words: Mutex<Option<Words>>,
}

impl LogReader {
    pub(super) fn new(path: PathBuf, writer: LogWriter) -> LogReader {
        LogReader { path, writer, idle: Mutex::default(), words: Mutex::default() }
    }

    /// Runs a read on a connection to the file as it is now.
    pub(super) fn with<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let generation = self.writer.generation();
        let idle = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|(of, _)| *of == generation);
            idle.pop()
        };
        let done = match idle {
            Some((_, db)) => Ok(db),
            None => self.connect(),
        };
        let done = done.and_then(|db| read(&db).map(|value| (value, db)));
        match done {
            Ok((value, db)) => {
                let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
                if idle.len() < KEPT {
                    idle.push((generation, db));
                }
                Ok(value)
            }
            Err(error) => Err(self.sorted(&error, generation)),
        }
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&self.path, flags)?;
        db.busy_timeout(std::time::Duration::from_secs(2))?;
        Ok(db)
    }

    fn sorted(&self, error: &rusqlite::Error, generation: u64) -> StoreError {
        if let Some(ErrorCode::OperationInterrupted) = error.sqlite_error_code() {
            return StoreError::LogSlow;
        }
        if let Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) = error.sqlite_error_code() {
            self.writer.damaged(generation, error.to_string());
            return StoreError::LogAway { why: "it is damaged, and begun anew".into() };
        }
        let why = self.writer.health().away.unwrap_or_else(|| error.to_string());
        StoreError::LogAway { why }
    }

    /// A page of a session's lines.
    ///
    /// # Errors
    /// [`StoreError::LogAway`]: it cannot be read now.
    pub fn page(&self, session: i64, place: LogPlace, limit: usize) -> Result<LogPage, StoreError> {
        self.with(|db| page(db, session, place, limit))
    }

    /// The sessions that the log has lines of.
    ///
    /// # Errors
    /// [`StoreError::LogAway`]: it cannot be read now.
    pub fn sessions(&self) -> Result<Vec<i64>, StoreError> {
        self.with(|db| db.prepare_cached("SELECT uid FROM session")?.query_map([], |r| r.get(0))?.collect())
    }
}

/// What the numbers of a session's lines are of: this log, and this session in it.
pub(super) fn id(db: &Connection, session: i64) -> rusqlite::Result<String> {
    let of = |id: String| format!("{id}.{session}");
    db.prepare_cached("SELECT id FROM log")?.query_row([], |r| r.get(0)).map(of)
}

fn page(db: &Connection, session: i64, place: LogPlace, limit: usize) -> rusqlite::Result<LogPage> {
    // All of one moment: lines may come and go meanwhile.
    let tx = db.unchecked_transaction()?;
    let mut counts = tx.prepare_cached("SELECT first, next - 1 FROM session WHERE uid = ?1 AND gone = 0")?;
    let counts = counts.query_row([session], |r| Ok((r.get(0)?, r.get(1)?))).optional()?;
    let (oldest, newest) = counts.unwrap_or((1, 0));
    let (from, to, order) = match place {
        LogPlace::End => (oldest, newest, "DESC"),
        LogPlace::After(seq) => (seq.clamp(oldest - 1, newest) + 1, newest, "ASC"),
        LogPlace::Before(seq) => (oldest, seq.clamp(oldest, newest + 1) - 1, "DESC"),
    };
    let mut lines = Vec::new();
    if from <= to {
        let sql = format!(
            "SELECT no, at, kind, task, text FROM line WHERE no BETWEEN ?1 AND ?2 ORDER BY no {order} LIMIT ?3"
        );
        let mut statement = tx.prepare_cached(&sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows =
            statement.query_map(params![row_of(session, from), row_of(session, to), limit], |r| line(r, session))?;
        let mut bytes = 0;
        for row in rows {
            let row = row?;
            bytes += row.text.len();
            if bytes > PAGE_BYTES && !lines.is_empty() {
                break;
            }
            lines.push(row);
        }
    }
    if order == "DESC" {
        lines.reverse();
    }
    Ok(LogPage { log: id(&tx, session)?, lines, oldest, newest })
}

fn line(r: &rusqlite::Row<'_>, session: i64) -> rusqlite::Result<LogLine> {
    let kind = kind(r.get_ref(2)?.as_str()?);
    Ok(LogLine { seq: seq_of(r.get(0)?), session, at: r.get(1)?, kind, task: r.get(3)?, text: r.get(4)? })
}
