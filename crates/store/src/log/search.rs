//! Searching the log: the newest lines that hold all words of a query, of one session or of several. A
//! search that takes too long is broken off by whoever asked for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, InterruptHandle, OptionalExtension, params};
use shrooms_core::text::cut;

use super::query::{Words, expression};
use super::reader::LogReader;
use super::{kind, row_of, seq_of};
use crate::StoreError;

/// Words of a line that a hit shows, around the first that was looked for …
const SNIPPET_WORDS: i64 = 24;
/// … and characters of them: a word may be a page of digits.
const SNIPPET_CHARS: usize = 400;

/// A line that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub session: i64,
    pub seq: i64,
    /// Wall time, milliseconds.
    pub at: i64,
    pub kind: &'static str,
    pub task: Option<String>,
    /// A piece of its text, about what was looked for.
    pub snippet: String,
}

/// Breaks a search off.
#[derive(Default)]
pub struct SearchStop {
    stopped: AtomicBool,
    running: Mutex<Option<InterruptHandle>>,
}

impl SearchStop {
    /// Breaks the search off, whether it has begun or not.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        if let Some(running) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            running.interrupt();
        }
    }

    fn check(&self) -> rusqlite::Result<()> {
        let interrupted = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT);
        match self.stopped.load(Ordering::Acquire) {
            true => Err(rusqlite::Error::SqliteFailure(interrupted, None)),
            false => Ok(()),
        }
    }

    fn holding(&self, handle: Option<InterruptHandle>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = handle;
    }
}

impl LogReader {
    /// The newest lines of these sessions that hold all words of the query, newest first. A word of two letters or more is found by its beginning; what stands in
    /// quotes is found as it stands there.
    ///
    /// # Errors
    /// [`StoreError::Query`]: it cannot be searched for that. [`StoreError::LogSlow`]: it was broken off.
    /// [`StoreError::LogAway`]: the log cannot be read now.
    pub fn search(
        &self,
        sessions: &[i64],
        query: &str,
        limit: usize,
        stop: &SearchStop,
    ) -> Result<Vec<Found>, StoreError> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner).take();
        let words = words.map_or_else(Words::new, Ok)?;
        let pieces = words.pieces(query)?;
        let found = self.with(|db| {
            stop.holding(Some(db.get_interrupt_handle()));
            match expression(db, &pieces)? {
                Some(expression) => {
                    let rows = newest(db, sessions, &expression, limit, stop)?;
                    shown(db, &words, rows, &expression, stop)
                }
                None => Ok(Vec::new()),
            }
        });
        stop.holding(None);
        *self.words.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
        found
    }
}

/// The rows of the newest of each session, then of all by their time.
fn newest(
    db: &Connection,
    sessions: &[i64],
    expression: &str,
    limit: usize,
    stop: &SearchStop,
) -> rusqlite::Result<Vec<i64>> {
    // By the index from its end, to no line that is not of this session.
    let mut find = db.prepare_cached(
        "SELECT w.rowid, l.at FROM words w CROSS JOIN line l ON l.no = w.rowid
         WHERE words MATCH ?1 AND w.rowid BETWEEN ?2 AND ?3 ORDER BY w.rowid DESC LIMIT ?4",
    )?;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows: Vec<(i64, i64)> = Vec::new();
    for session in sessions {
        stop.check()?;
        let (from, to) = (row_of(*session, 0), row_of(*session + 1, 0) - 1);
        let found = find.query_map(params![expression, from, to, most], |r| Ok((r.get(1)?, r.get(0)?)))?;
        for row in found {
            rows.push(row?);
        }
        if sessions.len() > 1 {
            rows.sort_unstable_by(|a, b| b.cmp(a));
            rows.truncate(limit);
        }
    }
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn shown(
    db: &Connection,
    words: &Words,
    rows: Vec<i64>,
    expression: &str,
    stop: &SearchStop,
) -> rusqlite::Result<Vec<Found>> {
    let mut read = db.prepare_cached("SELECT at, kind, task, text FROM line WHERE no = ?1")?;
    let mut found = Vec::new();
    for row in rows {
        stop.check()?;
        let hit = read.query_row([row], |r| {
            let text = r.get_ref(3)?.as_str()?;
            let snippet = words.snippet(text, expression, SNIPPET_WORDS)?;
            Ok(Found {
                session: row >> super::NUMBER_BITS,
                seq: seq_of(row),
                at: r.get(0)?,
                kind: kind(r.get_ref(1)?.as_str()?),
                task: r.get(2)?,
                snippet: cut(snippet.as_deref().unwrap_or(text), SNIPPET_CHARS),
            })
        });
        // One that is not there has gone meanwhile.
        found.extend(hit.optional()?);
    }
    Ok(found)
}
