//! What can go wrong with the disk, by what to do about it.

use shrooms_core::Kind;
use thiserror::Error;

/// An error of the store.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error("the disk that holds {path} is full: make room")]
    Full { path: String },
    #[error("another daemon already serves the state in {dir}: stop it first, or use another --state directory")]
    Locked { dir: String },
    #[error("cannot use the state directory {dir}: {why}")]
    Directory { dir: String, why: String },
    #[error(
        "{path} was written by a newer version (schema {found}, this program knows {known}): use that version, or another --state directory"
    )]
    Newer { path: String, found: i64, known: i64 },
    #[error(
        "{path} cannot be read as this program's state: {why}. It was left as it is: put a copy of it back, or use another --state"
    )]
    Damaged { path: String, why: String },
    #[error("the session log cannot be read now: {why}; sessions go on: try again")]
    LogAway { why: String },
    #[error("the search took too long and was broken off: search one session, or for rarer words")]
    LogSlow,
    #[error("q: {why}")]
    Query { why: String },
    #[error("the store failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("a row of {table} cannot be read: {why}")]
    Row { table: &'static str, why: String },
}

impl StoreError {
    /// What kind of error it is for whoever asked.
    pub fn kind(&self) -> Kind {
        match self {
            StoreError::Full { .. } | StoreError::Locked { .. } | StoreError::LogAway { .. } | StoreError::LogSlow => {
                Kind::Unavailable
            }
            StoreError::Query { .. } => Kind::User,
            StoreError::Directory { .. } | StoreError::Newer { .. } => Kind::Config,
            StoreError::Damaged { .. } | StoreError::Sqlite(_) | StoreError::Row { .. } => Kind::Internal,
        }
    }

    /// Sorts an error of SQLite: a full disk is told apart, since it passes.
    pub(crate) fn sort(error: rusqlite::Error, path: &str) -> StoreError {
        use rusqlite::ErrorCode::{DiskFull, NotADatabase, SystemIoFailure};
        match error.sqlite_error_code() {
            // A write that the file system refuses shows as an I/O failure where SQLite had
            // reserved the space already; after a commit it is retried the same way.
            Some(DiskFull | SystemIoFailure) => StoreError::Full { path: path.to_string() },
            Some(NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                StoreError::Damaged { path: path.to_string(), why: error.to_string() }
            }
            _ => StoreError::Sqlite(error),
        }
    }
}
