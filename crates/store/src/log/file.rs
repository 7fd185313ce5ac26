//! The file of the log: opened, made, brought to this version, put aside when it is damaged. Knows
//! nothing of who writes to it or why.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use crate::StoreError;

/// The version of the tables that this program writes.
const SCHEMA: i64 = 2;
/// Damaged logs that are left beside the log, the newest: a person may get something out of one.
const DAMAGED_KEPT: usize = 3;
/// Lines of a session that a log of the first version hands on, the newest: they are put into the
/// indexes at once, at a start.
const HANDED_ON: i64 = 1_000;
/// The log in the state directory.
pub(super) const NAME: &str = "log.db";
/// How long the log waits for a lock (milliseconds): only a person with a database tool can hold one.
const BUSY_MS: u64 = 2_000;

/// `words` is searched by words and by their beginnings, without regard to case or accents. Beginnings
/// of two and three letters have an index of their own: many words have them. It keeps no text: so the
/// space of lines that go is free again soon.
const TABLES: &str = r#"
CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL);
INSERT INTO log VALUES (1, lower(hex(randomblob(4))));
CREATE TABLE session (uid INTEGER PRIMARY KEY, first INTEGER NOT NULL, next INTEGER NOT NULL,
    bytes INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE line (no INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, task TEXT, text TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, prefix = '2 3',
    tokenize = 'unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE term USING fts5vocab (words, instance);
INSERT INTO words (words, rank) VALUES ('automerge', 0);
PRAGMA user_version = 2;
"#;

/// Why there is no log to be written to.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is no log of this program any more, and never will be again.
    Damaged(String),
    /// It cannot be used now.
    Away(String),
}

impl Trouble {
    pub(super) fn of(error: &rusqlite::Error) -> Trouble {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Trouble::Damaged(error.to_string()),
            Some(ErrorCode::DiskFull) => Trouble::Away("its disk is full: make room".into()),
            Some(ErrorCode::ReadOnly) => Trouble::Away("it is read-only: make it writable".into()),
            _ => Trouble::Away(error.to_string()),
        }
    }
}

/// The open log.
pub(super) struct Open {
    pub(super) db: Connection,
    /// Device and number of the file, by which it is known again.
    file: (u64, u64),
    /// The same of its journal, as soon as there is one.
    journal: Option<(u64, u64)>,
}

impl Open {
    /// Whether its file is still the one in its place.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        number(path) == Some(self.file)
    }

    /// Whether its journal is no longer the one that is written to: somebody removed it. What is in it is
    /// moved into the file then, as far as that can be done.
    ///
    /// # Errors
    /// It cannot: to be asked again.
    pub(super) fn lost_journal(&mut self, path: &Path) -> rusqlite::Result<bool> {
        let now = number(&journal(path));
        let lost = self.journal.is_some() && now != self.journal;
        if lost {
            self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| match r.get::<_, i64>(0)? {
                0 => Ok(()),
                _ => Err(rusqlite::Error::QueryReturnedNoRows),
            })?;
        } else {
            self.journal = now;
        }
        Ok(lost)
    }
}

fn number(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|of| (of.dev(), of.ino()))
}

fn journal(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

/// Opens the log, or makes it.
pub(super) fn open(path: &Path) -> Result<Open, Trouble> {
    let sort = |e: rusqlite::Error| Trouble::of(&e);
    match std::fs::metadata(path) {
        Ok(of) if !of.is_file() => return Err(Trouble::Damaged("something else is in its place".into())),
        _ => {}
    }
    crate::write::private(path).map_err(|e| match e {
        StoreError::Directory { why, .. } => Trouble::Away(why),
        other => Trouble::Away(other.to_string()),
    })?;
    let mut db = Connection::open(path).map_err(sort)?;
    db.busy_timeout(std::time::Duration::from_millis(BUSY_MS)).map_err(sort)?;
    db.pragma_update(None, "journal_mode", "WAL").map_err(sort)?;
    db.pragma_update(None, "synchronous", "NORMAL").map_err(sort)?;
    db.set_prepared_statement_cache_capacity(32);
    prepare(&mut db)?;
    // Made with the file: numbers of another log mean nothing in this one.
    db.query_row("SELECT id FROM log", [], |r| r.get::<_, String>(0)).map_err(|e| match Trouble::of(&e) {
        // Its tables are not what its version says.
        Trouble::Away(why) if why.contains("no such table") => Trouble::Damaged(why),
        _ if e == rusqlite::Error::QueryReturnedNoRows => Trouble::Damaged("it has no id".into()),
        trouble => trouble,
    })?;
    let of = std::fs::metadata(path).map_err(|e| Trouble::Away(e.to_string()))?;
    Ok(Open { db, file: (of.dev(), of.ino()), journal: None })
}

fn prepare(db: &mut Connection) -> Result<(), Trouble> {
    let sort = |e: rusqlite::Error| Trouble::of(&e);
    let version: i64 = db.query_row("PRAGMA user_version", [], |r| r.get(0)).map_err(sort)?;
    match version {
        // A write that is none: whether it can be written is to be known now.
        SCHEMA => db.execute_batch("BEGIN IMMEDIATE; COMMIT;").map_err(sort),
        0 => {
            let tx = db.transaction().map_err(sort)?;
            let first = "SELECT 1 FROM sqlite_schema WHERE name = 'line'";
            let is_old: Option<i64> = tx.query_row(first, [], |r| r.get(0)).optional().map_err(sort)?;
            match is_old {
                None => tx.execute_batch(TABLES).map_err(sort)?,
                Some(_) => hand_on(&tx).map_err(sort)?,
            }
            tx.commit().map_err(sort)
        }
        newer => Err(Trouble::Damaged(format!("it is of version {newer}, and this program knows {SCHEMA}"))),
    }
}

/// The newest lines of a log of the first version, which had one row of numbers for all sessions and no
/// search.
fn hand_on(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("DROP INDEX IF EXISTS line_session; ALTER TABLE line RENAME TO old;")?;
    db.execute_batch(TABLES)?;
    let newest = "WITH numbered AS (SELECT *, row_number() OVER (PARTITION BY session ORDER BY seq DESC) AS back,
                  count(*) OVER (PARTITION BY session) AS count FROM old)
                  INSERT INTO line SELECT (session << 32) | (min(count, ?1) - back + 1), at, kind, task, text
                  FROM numbered WHERE back <= ?1";
    db.execute(newest, [HANDED_ON])?;
    db.execute_batch(
        &"INSERT INTO words (rowid, text) SELECT no, text FROM line;
         INSERT INTO session (uid, first, next, bytes) SELECT no >> 32, 1, max(no & 0xffffffff) + 1,
             sum(BYTES) FROM line GROUP BY no >> 32;
         DROP TABLE old;"
            .replace("BYTES", super::BYTES),
    )
}

/// Moves what is in the log's place out of the way; where to. At most three such are kept.
pub(super) fn put_aside(path: &Path) -> Result<PathBuf, String> {
    let name = format!("{NAME}.damaged-{}", now());
    let taken = |path: &Path| path.symlink_metadata().is_ok();
    let names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}.{n}")));
    let aside = names.map(|name| path.with_file_name(name)).find(|path| !taken(path)).unwrap_or_default();
    std::fs::rename(path, &aside).map_err(|e| format!("it cannot be moved to {}: {e}", aside.display()))?;
    for end in ["-wal", "-shm"] {
        let with = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
        // Where there is none, nothing is lost; one that stays would be taken for the new log's.
        if let Err(e) = std::fs::rename(with(path), with(&aside))
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(format!("{} cannot be moved away: {e}", with(path).display()));
        }
    }
    forget_old(path);
    Ok(aside)
}

/// Removes the oldest of what was put aside; a directory is somebody's, and stays.
fn forget_old(path: &Path) {
    let Some(entries) = path.parent().and_then(|dir| std::fs::read_dir(dir).ok()) else { return };
    let start = format!("{NAME}.damaged-");
    let is_one = |path: &PathBuf| {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with(&start) && !name.ends_with("-wal") && !name.ends_with("-shm") && path.is_file()
    };
    let mut kept: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_one).collect();
    // By when they were moved, which is when something was last done to them.
    kept.sort_by_key(|path| path.metadata().map(|of| (of.ctime(), of.ctime_nsec())).unwrap_or_default());
    let surplus = kept.len().saturating_sub(DAMAGED_KEPT);
    for old in kept.into_iter().take(surplus) {
        for end in ["", "-wal", "-shm"] {
            // What cannot be removed stays, and is tried again with the next one.
            let _ = std::fs::remove_file(format!("{}{end}", old.display()));
        }
    }
}

/// The time as the name of a file has it. SQLite's own clock: this is for a person to read.
fn now() -> String {
    let db = Connection::open_in_memory();
    let read = db.and_then(|db| db.query_row("SELECT strftime('%Y%m%dT%H%M%SZ', 'now')", [], |r| r.get(0)));
    read.unwrap_or_else(|_| "once".into())
}
