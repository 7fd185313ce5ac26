//! A reader for somebody to whom some sessions are not there: their rows, and what is of them, answer as
//! if they were not. Which these are, and why, is not known here.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};
use shrooms_core::id::{SessionUid, TaskNo};
use shrooms_core::principal::Principal;
use shrooms_core::row::{Ask, AskTo, Session, Task};

use super::Reader;
use crate::StoreError;
use crate::write::parse;

/// Who sent what a hidden session did.
const MACHINE: &str = "this machine";

/// What a reader is not shown.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    sessions: BTreeSet<SessionUid>,
    /// The device that reads: what it sent itself is shown to it.
    device: Option<String>,
}

impl Hidden {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether this session is.
    pub fn has(&self, uid: SessionUid) -> bool {
        self.sessions.contains(&uid)
    }

    /// A task as the reader sees it, if it does: one that a hidden session asked for is this machine's.
    pub(super) fn shown(&self, mut task: Task) -> Option<Task> {
        if self.has(task.session) && !self.sent(&task.sender.principal) {
            return None;
        }
        if matches!(task.sender.principal, Principal::Session(uid) if self.has(uid)) {
            task.sender.label = MACHINE.to_string();
        }
        Some(task)
    }

    fn sent(&self, by: &Principal) -> bool {
        matches!((by, &self.device), (Principal::Device { id, .. }, Some(device)) if id == device)
    }

    /// A condition that a column is none of the hidden sessions, which are numbers: nothing to escape.
    /// `None` when nothing is hidden.
    pub(crate) fn none_of(&self, column: &str) -> Option<String> {
        let all: Vec<String> = self.sessions.iter().map(|uid| uid.0.to_string()).collect();
        (!all.is_empty()).then(|| format!("({column} IS NULL OR {column} NOT IN ({}))", all.join(", ")))
    }

    /// The same for tasks, with those that the reader sent; the device is the value of `#`.
    pub(super) fn of_tasks(&self) -> Option<(String, Value)> {
        let none_of = self.none_of("session")?;
        let device = self.device.clone().map_or(Value::Null, Value::Text);
        Some((format!("({none_of} OR json_extract(row, '$.sender.principal.device.id') = #)"), device))
    }

    /// The same for lines of the audit log.
    pub(super) fn of_audit(&self) -> String {
        let Some(none_of) = self.none_of("one.value") else { return String::new() };
        format!(" AND NOT EXISTS (SELECT 1 FROM json_each(audit.row, '$.of') AS one WHERE NOT {none_of})")
    }

    /// The same for events.
    pub(super) fn of_events(&self) -> String {
        self.none_of("json_extract(row, '$.of')").map(|none_of| format!(" AND {none_of}")).unwrap_or_default()
    }
}

impl Reader {
    /// The same reader for somebody else: sessions for which `sees` does not hold are not there for it, also
    /// those that were removed. `device` is its stable identity.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn for_device(&self, device: &str, sees: impl Fn(&Session) -> bool) -> Result<Reader, StoreError> {
        let kept: Vec<Session> =
            self.rows("session", "SELECT row FROM session WHERE json_extract(row, '$.meshes') IS NOT NULL")?;
        let sessions = kept.iter().filter(|session| !sees(session)).map(|session| session.uid).collect();
        let hidden = Hidden { sessions, device: Some(device.to_string()) };
        Ok(Reader { path: self.path.clone(), idle: self.idle.clone(), hidden: Arc::new(hidden) })
    }

    /// What is not there for this reader.
    pub fn hidden(&self) -> &Hidden {
        &self.hidden
    }

    /// An ask of a hidden session, or for a task of one.
    pub(super) fn shows_ask(&self, db: &Connection, ask: &Ask) -> Result<bool, StoreError> {
        if self.hidden.is_empty() {
            return Ok(true);
        }
        let of_task = match ask.to {
            AskTo::Here { task } => session_of(db, task)?,
            AskTo::Device { .. } => None,
        };
        Ok(![ask.asker(), of_task].into_iter().flatten().any(|uid| self.hidden.has(uid)))
    }
}

fn session_of(db: &Connection, task: TaskNo) -> Result<Option<SessionUid>, StoreError> {
    let mut s = db.prepare_cached("SELECT row FROM task WHERE no = ?1")?;
    let row: Option<String> = s.query_row([task.0], |r| r.get(0)).optional()?;
    let task: Option<Task> = row.map(|r| parse("task", &r)).transpose()?;
    Ok(task.map(|t| t.session))
}
