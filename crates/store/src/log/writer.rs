//! Who adds lines, and the thread that writes them. Adding never waits: what finds no room is counted,
//! and a note says so where it is missing. While the file cannot be written, lines wait; a damaged or
//! deleted one is begun anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::file::{self, Open, Trouble};
use super::keep::Kept;
use super::missed::{LogHealth, Missed, Shared};
use super::reader::LogReader;
use super::{LogBounds, LogLine, MAX_NUMBER};
use crate::StoreError;

/// Things that may wait for the thread …
const WAITING: usize = 4_096;
/// … and bytes of lines; more are lost, since a log may not slow the work.
const WAITING_BYTES: usize = 16 << 20;
/// Lines of one commit, so that none of them waits long for it.
const BATCH: usize = 512;
/// Between two looks at a log that cannot be written …
const AGAIN: Duration = Duration::from_millis(500);
/// … between two pieces of what is to be cleared up, when nothing is written …
const CLEAR: Duration = Duration::from_millis(100);
/// … and at whether the file is still in its place.
const LOOK: Duration = Duration::from_secs(10);

/// Who has the log. Called by the log's thread, and so never to wait for it.
pub trait LogHost: Send + 'static {
    /// Lines that are in the log now, with their numbers, in the order in which they were written.
    fn written(&self, lines: Vec<LogLine>);
    /// Words that are heard now and not kept, in their order among the lines.
    fn live(&self, session: i64, task: Option<String>, text: String);
    /// The log was begun anew; all numbers begin again.
    fn anew(&self, why: &str);
}

enum Item {
    /// A line, and what was lost of its session just before it.
    Line(LogLine, Missed),
    Live(i64, Option<String>, String),
    /// A session's lines go.
    Forget(i64),
    /// A reader has found this generation of the file damaged.
    Damaged(u64, String),
    /// Everything before it is written, or cannot be.
    Flush(SyncSender<()>),
}

/// Takes lines; never waits. Cheap to clone; the thread ends with the last clone.
#[derive(Clone)]
pub struct LogWriter {
    path: PathBuf,
    queue: SyncSender<Item>,
    shared: Arc<Shared>,
    line_bytes: usize,
}

impl LogWriter {
    /// Opens `log.db` in `dir`, in a thread of its own. What is wrong with the file is in
    /// [`LogWriter::health`] when this returns, and no error.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn open(dir: &Path, bounds: LogBounds, host: impl LogHost) -> Result<LogWriter, StoreError> {
        let path = dir.join(file::NAME);
        let (queue, items) = sync_channel(WAITING);
        let shared = Arc::new(Shared::default());
        let mut thread = Thread {
            path: path.clone(),
            bounds,
            host: Box::new(host),
            shared: shared.clone(),
            items,
            open: None,
            waiting: Vec::new(),
        };
        if thread.is_ready() {
            thread.work();
        }
        let spawned = std::thread::Builder::new().name("log".into()).spawn(move || thread.run());
        spawned.map_err(|e| StoreError::Directory { dir: dir.display().to_string(), why: e.to_string() })?;
        Ok(LogWriter { path, queue, shared, line_bytes: bounds.line_bytes })
    }

    /// A reader of the same log.
    pub fn reader(&self) -> LogReader {
        LogReader::new(self.path.clone(), self.clone())
    }

    /// Adds a line; its number is given by the log. A text over the bound is cut, and says so.
    pub fn add(&self, mut line: LogLine) {
        cut(&mut line.text, self.line_bytes);
        let (session, at, bytes) = (line.session, line.at, line.text.len());
        if !(0..=MAX_NUMBER).contains(&session) {
            return self.shared.miss(session, at);
        }
        let missed = self.shared.take(session);
        let before = self.shared.waiting.fetch_add(bytes, Ordering::AcqRel);
        let fits = before.saturating_add(bytes) <= WAITING_BYTES;
        if !fits || self.queue.try_send(Item::Line(line, missed)).is_err() {
            self.shared.waiting.fetch_sub(bytes, Ordering::AcqRel);
            if missed.lines > 0 {
                self.shared.put_back(session, missed);
            }
            self.shared.miss(session, at);
        }
    }

    /// Hands words on to whoever listens, behind the lines that were added; none of it is kept, and it
    /// is nothing lost where there is no room.
    pub fn live(&self, session: i64, task: Option<String>, text: String) {
        let _ = self.queue.try_send(Item::Live(session, task, text));
    }

    /// Lets the lines of a session go, a piece at a time; it adds no more. Where there is no room to
    /// say so, it is to be said again.
    pub fn forget(&self, session: i64) {
        let _ = self.queue.try_send(Item::Forget(session));
    }

    /// Waits until what was added is written, or cannot be, at most so long. Blocks.
    pub fn flush(&self, within: Duration) {
        let (done, written) = sync_channel(1);
        if self.queue.try_send(Item::Flush(done)).is_ok() {
            // Late, or never: what is not written by then is lost with the process.
            let _ = written.recv_timeout(within);
        }
    }

    /// How it is.
    pub fn health(&self) -> LogHealth {
        self.shared.health().clone()
    }

    /// Lines that were lost since the start.
    pub fn dropped(&self) -> u64 {
        self.shared.lost()
    }

    /// Which file it is, as this process counts them.
    pub(super) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// A reader has found it damaged.
    pub(super) fn damaged(&self, generation: u64, why: String) {
        // Where the queue is full, the next reader says it again.
        let _ = self.queue.try_send(Item::Damaged(generation, why));
    }
}

/// Cuts a text at so many bytes, with a mark.
fn cut(text: &mut String, most: usize) {
    if text.len() <= most {
        return;
    }
    let more = text.len();
    let at = text.floor_char_boundary(most);
    text.truncate(at);
    text.push_str(&format!("… ({} bytes more)", more - at));
}

struct Thread {
    path: PathBuf,
    bounds: LogBounds,
    host: Box<dyn LogHost>,
    shared: Arc<Shared>,
    items: Receiver<Item>,
    open: Option<(Open, Kept)>,
    /// What was taken from the queue and is not written yet.
    waiting: Vec<Item>,
}

impl Thread {
    fn run(mut self) {
        loop {
            let pause = match &self.open {
                _ if !self.waiting.is_empty() || self.shared.has_missed() => AGAIN,
                Some((_, kept)) if kept.is_clearing() => CLEAR,
                _ => LOOK,
            };
            if self.waiting.len() >= BATCH {
                // It is away. The rest stays in the queue, which has a bound.
                std::thread::sleep(pause);
            } else {
                match self.items.recv_timeout(pause) {
                    Ok(item) => self.waiting.push(item),
                    Err(RecvTimeoutError::Timeout) => {}
                    // The last writer is gone, and everything was taken.
                    Err(RecvTimeoutError::Disconnected) => return self.last(),
                }
            }
            if self.is_ready() {
                let room = BATCH.saturating_sub(self.waiting.len());
                self.waiting.extend(self.items.try_iter().take(room));
                self.work();
            }
        }
    }

    fn last(&mut self) {
        if self.is_ready() {
            self.work();
        }
    }

    /// Opens the file where it is not open, or not in its place any more; whether it can be written.
    fn is_ready(&mut self) -> bool {
        if let Some((open, _)) = &mut self.open {
            if open.is_there(&self.path) {
                return match open.lost_journal(&self.path) {
                    Ok(false) => true,
                    Ok(true) => {
                        tracing::warn!(
                            "somebody removed the journal of the session log: what was in it is in the file"
                        );
                        self.open = None;
                        self.begin(None)
                    }
                    Err(error) => {
                        tracing::debug!(%error, "the journal of the session log is gone, and is in use");
                        false
                    }
                };
            }
            self.open = None;
            return self.begin(Some("it was deleted, or something else was put into its place".into()));
        }
        self.begin(None)
    }

    /// Opens the file; `lost` = why the one before is no more.
    fn begin(&mut self, lost: Option<String>) -> bool {
        let mut why = lost;
        let mut opened = self.open_once();
        if let Err(Trouble::Damaged(what)) = opened {
            match file::put_aside(&self.path) {
                Ok(aside) => {
                    why = Some(format!("it was damaged ({what}), and is kept as {}", aside.display()));
                    opened = self.open_once();
                }
                Err(cannot) => opened = Err(Trouble::Away(format!("it is damaged ({what}), and {cannot}"))),
            }
        }
        match opened {
            Ok(open) => {
                self.open = Some(open);
                self.shared.generation.fetch_add(1, Ordering::AcqRel);
                if let Some(why) = why {
                    let said = format!("the session log was begun anew: {why}");
                    tracing::warn!("{said}");
                    self.shared.health().anew = Some(said.clone());
                    self.host.anew(&said);
                }
                true
            }
            Err(Trouble::Away(why) | Trouble::Damaged(why)) => {
                self.away(&why);
                false
            }
        }
    }

    fn open_once(&self) -> Result<(Open, Kept), Trouble> {
        let open = file::open(&self.path)?;
        let kept = Kept::read(&open.db, self.bounds).map_err(|e| Trouble::of(&e))?;
        Ok((open, kept))
    }

    fn away(&mut self, why: &str) {
        self.open = None;
        let path = self.path.display();
        let said = format!(
            "the session log {path} cannot be written: {why}. Sessions go on; what they say waits, and is lost where it is too much"
        );
        let mut health = self.shared.health();
        if health.away.as_ref() != Some(&said) {
            tracing::warn!("{said}");
            health.away = Some(said);
        }
    }

    /// Writes what waits. After an error it waits on, or is written into the log that is begun anew.
    fn work(&mut self) {
        if self.waiting.is_empty() && self.shared.has_missed() {
            // Of sessions that say nothing more.
            for (session, missed) in self.shared.take_all() {
                let line = note(session, missed);
                self.shared.waiting.fetch_add(line.text.len(), Ordering::AcqRel);
                self.waiting.push(Item::Line(line, Missed::default()));
            }
        }
        let found = self.waiting.iter().find_map(|item| match item {
            Item::Damaged(generation, why) if *generation == self.shared.generation.load(Ordering::Acquire) => {
                Some(why.clone())
            }
            _ => None,
        });
        let done = match found {
            Some(why) => Err(Trouble::Damaged(why)),
            None => self.write(),
        };
        let written = match done {
            Ok(written) => written,
            Err(Trouble::Away(why)) => return self.away(&why),
            Err(Trouble::Damaged(why)) => {
                self.open = None;
                tracing::debug!(why, "the session log is damaged");
                self.waiting.retain(|item| !matches!(item, Item::Damaged(..)));
                // As it is now the file may still be opened; it is not used again.
                match file::put_aside(&self.path) {
                    Ok(aside) => {
                        let lost = format!("it was damaged ({why}), and is kept as {}", aside.display());
                        if !self.begin(Some(lost)) {
                            return;
                        }
                    }
                    Err(cannot) => return self.away(&format!("it is damaged ({why}), and {cannot}")),
                }
                match self.write() {
                    Ok(written) => written,
                    Err(Trouble::Away(why) | Trouble::Damaged(why)) => return self.away(&why),
                }
            }
        };
        self.shared.health().away = None;
        self.tell(written);
    }

    /// One commit of all that waits; the lines with their numbers.
    fn write(&mut self) -> Result<Vec<LogLine>, Trouble> {
        let Some((open, kept)) = &mut self.open else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for item in &self.waiting {
            match item {
                Item::Line(line, missed) => {
                    if missed.lines > 0 {
                        lines.push(note(line.session, *missed));
                    }
                    lines.push(line.clone());
                }
                Item::Forget(session) => kept.forget(*session),
                Item::Live(..) | Item::Damaged(..) | Item::Flush(_) => {}
            }
        }
        if lines.is_empty() && !kept.is_clearing() {
            return Ok(lines);
        }
        match kept.write(&mut open.db, &mut lines) {
            Ok(()) => Ok(lines),
            Err(e) => {
                // Its counts are of a commit that was not.
                let again = Kept::read(&open.db, self.bounds);
                let trouble = Trouble::of(&e);
                match again {
                    Ok(again) => *kept = again,
                    Err(_) => self.open = None,
                }
                Err(trouble)
            }
        }
    }

    /// Tells what was written, in its order, with what is only heard in between.
    fn tell(&mut self, written: Vec<LogLine>) {
        let mut written = written.into_iter();
        let (mut told, mut flushed) = (Vec::new(), Vec::new());
        for item in std::mem::take(&mut self.waiting) {
            match item {
                Item::Line(line, missed) => {
                    self.shared.waiting.fetch_sub(line.text.len(), Ordering::AcqRel);
                    let lines = if missed.lines > 0 { 2 } else { 1 };
                    told.extend(written.by_ref().take(lines));
                }
                Item::Live(session, task, text) => {
                    self.host.written(std::mem::take(&mut told));
                    self.host.live(session, task, text);
                }
                Item::Flush(done) => flushed.push(done),
                Item::Forget(_) | Item::Damaged(..) => {}
            }
        }
        self.host.written(told);
        for done in flushed {
            // Whoever waited may have gone.
            let _ = done.try_send(());
        }
    }
}

/// Says in a session's log that lines are missing there.
fn note(session: i64, missed: Missed) -> LogLine {
    let s = if missed.lines == 1 { "line was" } else { "lines were" };
    let text = format!("({} {s} lost here: they came faster than the log could be written)", missed.lines);
    LogLine { seq: 0, session, at: missed.at, kind: "note", task: None, text }
}
