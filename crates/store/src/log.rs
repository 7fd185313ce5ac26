//! What sessions said, line by line: numbered, searchable, bounded, in a file of its own, so that losing
//! it loses no task. One thread writes it; who adds a line never waits, and whatever becomes of the
//! file, the sessions go on. Must not know what a line means.

mod file;
mod keep;
mod missed;
mod query;
mod reader;
mod search;
mod writer;

use serde::Serialize;

pub use missed::LogHealth;
pub use reader::{LogPage, LogPlace, LogReader};
pub use search::{Found, SearchStop};
pub use writer::{LogHost, LogWriter};

/// The bits of a row's number that are a line's: a session has its lines together, in their order.
const NUMBER_BITS: u32 = 32;
/// The most that a number can be, of a line as of a session: more lines than are ever written.
const MAX_NUMBER: i64 = i32::MAX as i64;

/// The bytes that a line counts as when it is asked which session has most; the same as
/// [`LogLine::bytes`], in SQL.
const BYTES: &str = "octet_length(text) + octet_length(coalesce(task, '')) + 50";

/// What the log keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBounds {
    /// Lines of one session: the newest.
    pub lines: i64,
    /// Bytes of the whole log, with its indexes, as the file has them in use: over it, the session that has
    /// most loses three of its oldest lines for each that comes.
    pub bytes: i64,
    /// Bytes of one line's text; a longer one is cut.
    pub line_bytes: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Its number in its session, from 1; 0 before it is written.
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

impl LogLine {
    /// The bytes that it counts as: see [`BYTES`].
    fn bytes(&self) -> i64 {
        let text = self.text.len() + self.task.as_ref().map_or(0, String::len);
        i64::try_from(text + 50).unwrap_or(i64::MAX)
    }
}

/// The row of a line.
fn row_of(session: i64, seq: i64) -> i64 {
    (session << NUMBER_BITS) | seq
}

/// The number that a row's line has in its session.
fn seq_of(row: i64) -> i64 {
    row & ((1 << NUMBER_BITS) - 1)
}

/// A kind as it was written.
fn kind(word: &str) -> &'static str {
    match word {
        "said" => "said",
        "tool" => "tool",
        "error" => "error",
        "note" => "note",
        _ => "words",
    }
}
