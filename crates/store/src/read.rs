//! Reading beside the writer: a few connections of their own, each answer as of the last commit.
//! Gets and lists never pass the desk.

mod hidden;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params, params_from_iter};
use shrooms_core::TextRef;
use shrooms_core::id::{AskNo, LaneNo, PromptNo, SessionUid, TaskNo};
use shrooms_core::row::{Ask, AskTo, Audit, Delivery, Device, Event, Lane, Message, Meta, Prompt, Session, Task, Turn};
use shrooms_core::view;

use crate::write::parse;
use crate::{StoreError, usage};
pub use hidden::Hidden;

/// Connections kept open: as many as can be used on a small machine; more are made and closed
/// again when more ask at once.
const KEPT: usize = 4;

/// Reads `state.db`; cheap to share.
pub struct Reader {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    pub(crate) hidden: Arc<Hidden>,
}

/// Something that was said in a task: by its asker, or a question of its worker that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedText {
    /// The message's id; `None` = the worker asked.
    pub mid: Option<String>,
    pub text: String,
    /// Its parts, where they are not that one text.
    pub parts: Option<String>,
}

/// A task's texts, for those who show it.
#[derive(Clone, Debug, Default)]
pub struct TaskTexts {
    /// The request, and what was said later, in order. An open question is not among it: that is said
    /// now.
    pub asked: Vec<AskedText>,
    /// The result or the open question.
    pub words: Option<String>,
    /// What its worker said last.
    pub last: Option<String>,
    /// The parts of what its worker made, in the order of the row's.
    pub made: Vec<String>,
    /// Place in the queue from 1; 0 for one that does not wait there.
    pub place: i64,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    pub session: Option<SessionUid>,
    pub context: Option<String>,
    /// The state's word.
    pub state: Option<String>,
    /// Sent by the device with this stable identity.
    pub device: Option<String>,
    /// Changed at or after, wall milliseconds.
    pub since: Option<i64>,
    /// After this place: (changed, number) of the last one seen.
    pub after: Option<(i64, i64)>,
    pub limit: usize,
}

/// One page of tasks, the newest change first.
#[derive(Clone, Debug, Default)]
pub struct TaskPage {
    pub tasks: Vec<Task>,
    /// Where the next page begins; absent on the last.
    pub next: Option<(i64, i64)>,
    /// Matches before paging.
    pub total: i64,
}

/// A session with what lists show.
#[derive(Clone, Debug)]
pub struct SessionRow {
    pub session: Session,
    pub lane: Lane,
    /// Who paused everything, and what the machine has spent on which day.
    pub paused: Option<String>,
    pub machine_spent: (i64, u64),
    /// A turn runs.
    pub works: bool,
    /// Prompts that wait for a person.
    pub prompts: i64,
    pub open: i64,
    pub waiting: i64,
}

/// Asks, the newest first.
pub type AskPage = Vec<Ask>;

/// A stretch of the event feed.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    pub events: Vec<Event>,
    /// The oldest number that is kept; 0 when there is none.
    pub oldest: i64,
    /// The newest, also one that is not shown; 0 when there is none.
    pub newest: i64,
}

impl Reader {
    /// A reader of the `state.db` in `dir`, which must exist.
    pub fn open(dir: &Path) -> Result<Reader, StoreError> {
        let reader = Reader { path: dir.join("state.db"), idle: Arc::default(), hidden: Arc::default() };
        reader.with(|_| Ok(()))?;
        Ok(reader)
    }

    pub(crate) fn with<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
        let db = match idle {
            Some(db) => db,
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let db = Connection::open_with_flags(&self.path, flags)?;
                db.busy_timeout(std::time::Duration::from_secs(5))?;
                db
            }
        };
        let out = read(&db);
        let mut idle = self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(db);
        }
        out
    }

    /// The task of this id.
    pub fn task(&self, id: &str) -> Result<Option<Task>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM task WHERE id = ?1")?;
            let row: Option<String> = s.query_row([id], |r| r.get(0)).optional()?;
            let task: Option<Task> = row.map(|r| usage::add(db, parse("task", &r)?)).transpose()?;
            Ok(task.and_then(|task| self.hidden.shown(task)))
        })
    }

    /// The task of this number.
    pub fn task_no(&self, no: TaskNo) -> Result<Option<Task>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM task WHERE no = ?1")?;
            let row: Option<String> = s.query_row([no.0], |r| r.get(0)).optional()?;
            let task: Option<Task> = row.map(|r| usage::add(db, parse("task", &r)?)).transpose()?;
            Ok(task.and_then(|task| self.hidden.shown(task)))
        })
    }

    /// The texts of a task: what was `asked`, and what its worker `made`, where they are wanted.
    pub fn texts(&self, task: &Task, asked: bool, made: bool) -> Result<TaskTexts, StoreError> {
        self.with(|db| {
            let text = |t: TextRef| -> Result<String, StoreError> { text_of(db, t.no) };
            let asked = if asked { asked_of(db, task)? } else { Vec::new() };
            let made = task.made.iter().filter(|_| made).map(|m| text(m.parts)).collect::<Result<_, _>>()?;
            let works = view::state(task) == view::State::Working;
            let words = view::words(task).or(task.last_words.filter(|_| works)).map(text).transpose()?;
            let mut s = db.prepare_cached(
                "SELECT count(*) FROM task WHERE lane = ?1 AND queued = 1 AND position <= ?2
                 AND EXISTS (SELECT 1 FROM task WHERE no = ?3 AND queued = 1)",
            )?;
            let place = s.query_row(params![task.lane.0, task.position, task.no.0], |r| r.get(0))?;
            let last = task.last_words.map(text).transpose()?;
            Ok(TaskTexts { asked, words, last, made, place })
        })
    }

    /// The id of the message of a task that has this text.
    pub fn message_id(&self, task: TaskNo, text: TextRef) -> Result<Option<String>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM message WHERE task = ?1 ORDER BY no")?;
            let rows = s.query_map([task.0], |r| r.get::<_, String>(0))?;
            for row in rows {
                let message: Message = parse("message", &row?)?;
                if message.text.is_some_and(|t| t.no == text.no) {
                    return Ok(Some(message.mid));
                }
            }
            Ok(None)
        })
    }

    /// A text by its number.
    pub fn text(&self, no: i64) -> Result<String, StoreError> {
        self.with(|db| text_of(db, no))
    }

    /// A page of tasks.
    pub fn tasks(&self, filter: &TaskFilter) -> Result<TaskPage, StoreError> {
        let mut conditions = vec!["1 = 1".to_string()];
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            conditions.push(condition.replace('#', &format!("?{}", values.len())));
        };
        if let Some(uid) = filter.session {
            add("session = #", Value::Integer(uid.0));
        }
        if let Some(context) = &filter.context {
            add("context = #", Value::Text(context.clone()));
        }
        if let Some(state) = &filter.state {
            add("state = #", Value::Text(state.clone()));
        }
        if let Some(since) = filter.since {
            add("changed >= #", Value::Integer(since));
        }
        if let Some(device) = &filter.device {
            add("json_extract(row, '$.sender.principal.device.id') = #", Value::Text(device.clone()));
        }
        if let Some((shown, device)) = self.hidden.of_tasks() {
            add(&shown, device);
        }
        let matching = conditions.join(" AND ");
        self.with(|db| {
            let count = format!("SELECT count(*) FROM task WHERE {matching}");
            let total = db.prepare_cached(&count)?.query_row(params_from_iter(&values), |r| r.get(0))?;
            let mut values = values.clone();
            let mut page = matching.clone();
            if let Some((changed, no)) = filter.after {
                values.push(Value::Integer(changed));
                values.push(Value::Integer(no));
                page.push_str(&format!(" AND (changed, no) < (?{}, ?{})", values.len() - 1, values.len()));
            }
            values.push(Value::Integer(filter.limit as i64 + 1));
            let sql =
                format!("SELECT row FROM task WHERE {page} ORDER BY changed DESC, no DESC LIMIT ?{}", values.len());
            let mut s = db.prepare_cached(&sql)?;
            let rows = s.query_map(params_from_iter(&values), |r| r.get::<_, String>(0))?;
            let mut tasks: Vec<Task> = Vec::new();
            for row in rows {
                tasks.extend(self.hidden.shown(usage::add(db, parse("task", &row?)?)?));
            }
            let more = tasks.len() > filter.limit;
            tasks.truncate(filter.limit);
            let next = tasks.last().filter(|_| more).map(|t| (t.changed.wall, t.no.0));
            Ok(TaskPage { tasks, next, total })
        })
    }

    /// The sessions that are there, by name.
    pub fn sessions(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached(
                "SELECT s.row, l.row,
                 (SELECT count(*) FROM task t WHERE t.session = s.uid AND t.open = 1),
                 (SELECT count(*) FROM task t WHERE t.lane = l.no AND t.queued = 1),
                 (SELECT t.row FROM turn t WHERE t.no = json_extract(l.row, '$.turn'))
                 FROM session s JOIN lane l ON l.session = s.uid WHERE s.live = 1 ORDER BY s.name",
            )?;
            type Columns = (String, String, i64, i64, Option<String>);
            let columns = |r: &rusqlite::Row<'_>| -> rusqlite::Result<Columns> {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))
            };
            let rows = s.query_map([], columns)?.collect::<Result<Vec<_>, _>>()?;
            let meta: Option<String> =
                db.prepare_cached("SELECT row FROM meta WHERE id = 1")?.query_row([], |r| r.get(0)).optional()?;
            let meta: Option<Meta> = meta.map(|row| parse("meta", &row)).transpose()?;
            let (paused, spent) = meta.map_or((None, (0, 0)), |m| (m.paused, m.spent));
            let mut out = Vec::new();
            for (session, lane, open, waiting, turn) in rows {
                let turn: Option<Turn> = turn.map(|t| parse("turn", &t)).transpose()?;
                out.push(SessionRow {
                    session: parse("session", &session)?,
                    lane: parse("lane", &lane)?,
                    // A program that stays works only in its turns.
                    works: turn.is_some_and(|t| t.ended.is_none() && (t.busy || !t.stream)),
                    prompts: 0,
                    paused: paused.clone(),
                    machine_spent: spent,
                    open,
                    waiting,
                });
            }
            let mut s = db.prepare_cached("SELECT row FROM prompt WHERE open = 1")?;
            let prompts = s.query_map([], |r| r.get::<_, String>(0))?;
            for prompt in prompts {
                let prompt: Prompt = parse("prompt", &prompt?)?;
                if let Some(row) = out.iter_mut().find(|r| r.lane.no == prompt.lane).filter(|_| prompt.open()) {
                    row.prompts += 1;
                }
            }
            out.retain(|row| !self.hidden.has(row.session.uid));
            Ok(out)
        })
    }

    /// The session of this name that is there.
    pub fn session_named(&self, name: &str) -> Result<Option<Session>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM session WHERE name = ?1 AND live = 1")?;
            let row: Option<String> = s.query_row([name], |r| r.get(0)).optional()?;
            let session: Option<Session> = row.map(|r| parse("session", &r)).transpose()?;
            Ok(session.filter(|s| !self.hidden.has(s.uid)))
        })
    }

    /// The names of all sessions that are there.
    pub fn session_names(&self) -> Result<Vec<String>, StoreError> {
        self.with(|db| {
            let shown = self.hidden.none_of("uid").map(|none_of| format!(" AND {none_of}")).unwrap_or_default();
            let mut s = db.prepare_cached(&format!("SELECT name FROM session WHERE live = 1{shown} ORDER BY name"))?;
            let names = s.query_map([], |r| r.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        })
    }

    /// The session of a uid, also one that was removed.
    pub fn session(&self, uid: SessionUid) -> Result<Option<Session>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM session WHERE uid = ?1")?;
            let row: Option<String> = s.query_row([uid.0], |r| r.get(0)).optional()?.filter(|_| !self.hidden.has(uid));
            row.map(|r| parse("session", &r)).transpose()
        })
    }

    /// Asks that are open (`all` = ended ones too), the newest first, at most `limit`.
    pub fn asks(&self, all: bool, limit: usize) -> Result<AskPage, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached(
                "SELECT row FROM ask WHERE ?1 OR live = 1 OR json_extract(row, '$.told') = 0 ORDER BY no DESC LIMIT ?2",
            )?;
            // What is hidden does not count: all are gone through, until there are enough.
            let most = if self.hidden.is_empty() { limit as i64 } else { -1 };
            let rows = s.query_map(params![all, most], |r| r.get::<_, String>(0))?;
            let mut asks = AskPage::new();
            for row in rows {
                let ask: Ask = parse("ask", &row?)?;
                if self.shows_ask(db, &ask)? {
                    asks.push(ask);
                }
                if asks.len() >= limit {
                    break;
                }
            }
            Ok(asks)
        })
    }

    /// The store's row about itself.
    pub fn meta(&self) -> Result<Meta, StoreError> {
        self.with(|db| {
            let row: String = db.prepare_cached("SELECT row FROM meta WHERE id = 1")?.query_row([], |r| r.get(0))?;
            parse("meta", &row)
        })
    }

    /// Every session there ever was, also those that were removed.
    pub fn all_sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM session")?;
            let rows = s.query_map([], |r| r.get::<_, String>(0))?;
            rows.map(|r| parse("session", &r?)).collect()
        })
    }

    /// Lines of the audit log, the newest first, older than the line `before`, at most `limit`.
    pub fn audit(&self, before: Option<i64>, limit: usize) -> Result<Vec<Audit>, StoreError> {
        self.with(|db| {
            let shown = self.hidden.of_audit();
            let sql = format!("SELECT row FROM audit WHERE no < ?1{shown} ORDER BY no DESC LIMIT ?2");
            let mut s = db.prepare_cached(&sql)?;
            let rows = s.query_map(params![before.unwrap_or(i64::MAX), limit as i64], |r| r.get::<_, String>(0))?;
            rows.map(|r| parse("audit", &r?)).collect()
        })
    }

    /// Every device that this machine has met.
    pub fn devices(&self) -> Result<Vec<Device>, StoreError> {
        self.rows("device", "SELECT row FROM device ORDER BY id")
    }

    /// Prompts that wait for an answer, the oldest first; all of a machine's are few.
    pub fn prompts(&self) -> Result<Vec<Prompt>, StoreError> {
        let open: Vec<Prompt> = self.rows("prompt", "SELECT row FROM prompt WHERE open = 1 ORDER BY no")?;
        Ok(open.into_iter().filter(|p| p.open() && !self.hidden.has(p.session)).collect())
    }

    /// The prompt of this number.
    pub fn prompt(&self, no: PromptNo) -> Result<Option<Prompt>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM prompt WHERE no = ?1")?;
            let row: Option<String> = s.query_row([no.0], |r| r.get(0)).optional()?;
            let prompt: Option<Prompt> = row.map(|r| parse("prompt", &r)).transpose()?;
            Ok(prompt.filter(|p| !self.hidden.has(p.session)))
        })
    }

    /// What is written, or is to be, in a lane.
    pub fn deliveries(&self, lane: LaneNo) -> Result<Vec<Delivery>, StoreError> {
        let open: Vec<Delivery> = self.rows("delivery", "SELECT row FROM delivery WHERE open = 1 ORDER BY no")?;
        Ok(open.into_iter().filter(|d| d.lane == lane).collect())
    }

    /// Open tasks of a lane, as they were stored.
    pub fn open_tasks(&self, lane: LaneNo) -> Result<Vec<Task>, StoreError> {
        self.with(|db| {
            let mut s = db
                .prepare_cached("SELECT row FROM task INDEXED BY task_open WHERE lane = ?1 AND open = 1 ORDER BY no")?;
            let rows = s.query_map([lane.0], |r| r.get::<_, String>(0))?;
            rows.map(|r| parse("task", &r?)).collect()
        })
    }

    /// Turns that run, or may still run.
    pub fn open_turns(&self) -> Result<Vec<Turn>, StoreError> {
        self.rows("turn", "SELECT row FROM turn WHERE open = 1 ORDER BY no")
    }

    fn rows<T: serde::de::DeserializeOwned>(&self, table: &'static str, sql: &str) -> Result<Vec<T>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached(sql)?;
            let rows = s.query_map([], |r| r.get::<_, String>(0))?;
            rows.map(|r| parse(table, &r?)).collect()
        })
    }

    /// The ask of this number.
    pub fn ask(&self, no: AskNo) -> Result<Option<Ask>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM ask WHERE no = ?1")?;
            let row: Option<String> = s.query_row([no.0], |r| r.get(0)).optional()?;
            let ask: Option<Ask> = row.map(|r| parse("ask", &r)).transpose()?;
            ask.map_or(Ok(None), |ask| Ok(self.shows_ask(db, &ask)?.then_some(ask)))
        })
    }

    /// The ask behind a task of another device, by that device's stable identity; `None` = of this
    /// machine.
    pub fn ask_of(&self, device: Option<&str>, task_id: &str) -> Result<Option<Ask>, StoreError> {
        self.with(|db| {
            let mut s = db.prepare_cached("SELECT row FROM ask WHERE task_id = ?1 ORDER BY no DESC")?;
            let rows = s.query_map([task_id], |r| r.get::<_, String>(0))?;
            for row in rows {
                let ask: Ask = parse("ask", &row?)?;
                let fits = match (&ask.to, device) {
                    (AskTo::Here { .. }, None) => true,
                    (AskTo::Device { id, .. }, Some(device)) => id == device,
                    _ => false,
                };
                if fits && self.shows_ask(db, &ask)? {
                    return Ok(Some(ask));
                }
            }
            Ok(None)
        })
    }

    /// The feed after `seq`, at most `limit` events.
    pub fn events(&self, seq: i64, limit: usize) -> Result<Feed, StoreError> {
        self.with(|db| {
            let oldest = db
                .prepare_cached("SELECT seq FROM event ORDER BY seq LIMIT 1")?
                .query_row([], |r| r.get(0))
                .optional()?
                .unwrap_or(0);
            // Before the events: what comes meanwhile is read the next time.
            let newest = db.prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?.query_row([], |r| r.get(0))?;
            let shown = self.hidden.of_events();
            let sql = format!("SELECT row FROM event WHERE seq > ?1{shown} ORDER BY seq LIMIT ?2");
            let mut s = db.prepare_cached(&sql)?;
            let rows = s.query_map(params![seq, limit as i64], |r| r.get::<_, String>(0))?;
            let events = rows.map(|r| parse("event", &r?)).collect::<Result<Vec<_>, StoreError>>()?;
            Ok(Feed { events, oldest, newest })
        })
    }
}

fn text_of(db: &Connection, no: i64) -> Result<String, StoreError> {
    let mut s = db.prepare_cached("SELECT text FROM blob WHERE no = ?1")?;
    Ok(s.query_row([no], |r| r.get(0))?)
}

/// What was said in a task, in order.
fn asked_of(db: &Connection, task: &Task) -> Result<Vec<AskedText>, StoreError> {
    let mut s = db.prepare_cached("SELECT row FROM message WHERE task = ?1 ORDER BY no")?;
    let rows = s.query_map([task.no.0], |r| r.get::<_, String>(0))?;
    let past = task.questions.len() - usize::from(task.awaits_asker() && !task.questions.is_empty());
    let mut questions = task.questions.iter().take(past).peekable();
    let question = |text: TextRef| -> Result<AskedText, StoreError> {
        Ok(AskedText { mid: None, text: text_of(db, text.no)?, parts: None })
    };
    let mut asked = Vec::new();
    for row in rows {
        let message: Message = parse("message", &row?)?;
        // Rows are numbered in the order in which they came, texts among them.
        while let Some(earlier) = questions.next_if(|q| q.no < message.no.0) {
            asked.push(question(*earlier)?);
        }
        if let Some(text) = message.text {
            let parts = message.parts.map(|parts| text_of(db, parts.no)).transpose()?;
            asked.push(AskedText { mid: Some(message.mid), text: text_of(db, text.no)?, parts });
        }
    }
    for last in questions {
        asked.push(question(*last)?);
    }
    Ok(asked)
}
