//! The sessions' log, as those who ask see it: pages, searches, who listens to a session as it speaks,
//! and what is wrong with it. Lines are kept by the store; nothing here waits for it on the async
//! threads. Must not know what a line means.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shrooms_core::Now;
use shrooms_core::id::SessionUid;
use shrooms_store::{Found, LogBounds, LogHost, LogLine, LogPage, LogPlace, SearchStop, StoreError};
use tokio::sync::{broadcast, watch};

use crate::engine::{Engine, Inner};
use crate::error::EngineError;
use crate::follow::{Behind, GATHER};

/// What one listener may be behind: half a minute of a talkative session.
const BEHIND: usize = 256;
/// Bytes of words that wait to be heard; more of them are heard with their line.
const WORDS: usize = 64 << 10;
/// How long a search may take before it is broken off; one waits as long for its turn.
const SEARCH: Duration = Duration::from_secs(2);
/// Searches at once: each has a processor to itself.
pub(crate) const SEARCHES: usize = 2;
/// Between two looks at whether lines of sessions are kept that nobody can bring back.
const FORGET: Duration = Duration::from_secs(3_600);
/// How long the last lines may take at the end of the daemon.
const LAST: Duration = Duration::from_secs(2);

/// Something that listeners of a session hear.
#[derive(Clone, Debug)]
pub enum Heard {
    /// A line that is kept from now on.
    Line(Arc<LogLine>),
    /// More of what it is saying. The line that it becomes comes later, whole.
    Words { task: Option<String>, text: Arc<str> },
    /// The log was begun anew: the numbers mean nothing any more.
    Anew,
}

/// One listener of a session. Made before its log is read, so that no line falls between.
pub struct Listen(broadcast::Receiver<Heard>);

impl Listen {
    /// The next thing that is heard.
    ///
    /// # Errors
    /// [`Behind`]: it was too slow.
    pub async fn next(&mut self) -> Result<Heard, Behind> {
        self.0.recv().await.map_err(|_| Behind)
    }
}

struct Spoken {
    heard: broadcast::Sender<Heard>,
    /// What was said and is not handed on yet, and in which task.
    words: String,
    task: Option<String>,
    /// It will be handed on soon.
    gathering: bool,
}

/// Who listens to which session.
#[derive(Default)]
pub(crate) struct Listeners {
    sessions: Mutex<BTreeMap<i64, Spoken>>,
}

impl Listeners {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<i64, Spoken>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, session: i64) -> Listen {
        let mut sessions = self.sessions();
        let spoken = sessions.entry(session).or_insert_with(|| Spoken {
            heard: broadcast::Sender::new(BEHIND),
            words: String::new(),
            task: None,
            gathering: false,
        });
        Listen(spoken.heard.subscribe())
    }

    fn publish(&self, session: i64, heard: Heard) {
        let mut sessions = self.sessions();
        let Some(spoken) = sessions.get(&session) else { return };
        // Nobody may be there any more.
        if spoken.heard.send(heard).is_err() {
            sessions.remove(&session);
        }
    }

    /// It says something. True: it is to be taken after [`GATHER`].
    fn say(&self, session: i64, task: Option<&str>, text: &str) -> bool {
        let mut sessions = self.sessions();
        let Some(spoken) = sessions.get_mut(&session) else { return false };
        if spoken.words.len() + text.len() > WORDS {
            return false;
        }
        spoken.words.push_str(text);
        spoken.task = task.map(str::to_string);
        !std::mem::replace(&mut spoken.gathering, true)
    }

    /// What was said since this was last called.
    fn take(&self, session: i64) -> Option<(Option<String>, String)> {
        let mut sessions = self.sessions();
        let spoken = sessions.get_mut(&session)?;
        spoken.gathering = false;
        let words = std::mem::take(&mut spoken.words);
        (!words.is_empty()).then(|| (spoken.task.take(), words))
    }

    /// Lets go of sessions that nobody listens to any more.
    pub(crate) fn sweep(&self) {
        self.sessions().retain(|_, spoken| spoken.heard.receiver_count() > 0);
    }
}

/// What the log's thread tells.
pub(crate) struct Host {
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) anew: watch::Sender<Option<String>>,
}

impl LogHost for Host {
    fn written(&self, lines: Vec<LogLine>) {
        for line in lines {
            self.listeners.publish(line.session, Heard::Line(Arc::new(line)));
        }
    }

    fn live(&self, session: i64, task: Option<String>, text: String) {
        self.listeners.publish(session, Heard::Words { task, text: text.into() });
    }

    fn anew(&self, why: &str) {
        let sessions: Vec<i64> = self.listeners.sessions().keys().copied().collect();
        for session in sessions {
            self.listeners.publish(session, Heard::Anew);
        }
        self.anew.send_replace(Some(why.to_string()));
    }
}

impl Inner {
    /// Adds a line to a session's log; never waits.
    pub(crate) fn log_line(&self, line: LogLine) {
        // What was heard of it before it was whole comes before it.
        self.hand_on_words(line.session);
        self.log.add(line);
    }

    /// Lets those who listen to a session hear what it is saying.
    pub(crate) fn overhear(self: &Arc<Self>, session: SessionUid, task: Option<&str>, text: &str) {
        if self.listeners.say(session.0, task, text) {
            let me = self.clone();
            self.spawn(&tokio::runtime::Handle::current(), async move {
                tokio::time::sleep(GATHER).await;
                me.hand_on_words(session.0);
            });
        }
    }

    fn hand_on_words(&self, session: i64) {
        if let Some((task, text)) = self.listeners.take(session) {
            self.log.live(session, task, text);
        }
    }

    /// Writes what was added last, at the end of the daemon.
    pub(crate) async fn end_log(self: &Arc<Self>) {
        let me = self.clone();
        // A thread that fails has nothing to say any more.
        let _ = tokio::task::spawn_blocking(move || me.log.flush(LAST)).await;
    }

    /// Reads the log beside the async threads.
    async fn in_log<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Inner) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let me = self.clone();
        let done = tokio::task::spawn_blocking(move || read(&me)).await;
        Ok(done.map_err(|_| EngineError::Stopping)??)
    }
}

/// What the owner has set about it, as the store takes it.
pub(crate) fn log_bounds(log: &shrooms_core::settings::Log) -> LogBounds {
    let line_bytes = usize::try_from(log.line_kb).unwrap_or(usize::MAX).saturating_mul(1_000);
    LogBounds { lines: log.lines.into(), bytes: i64::from(log.total_mb) * 1_000_000, line_bytes }
}

/// Says in each session's log that it was begun anew.
pub(crate) async fn tell_anew(inner: Arc<Inner>, mut anew: watch::Receiver<Option<String>>) {
    loop {
        let why = anew.borrow_and_update().clone();
        if let Some(text) = why {
            let me = inner.clone();
            let said = inner.in_log(move |_| {
                for row in me.reader.sessions()? {
                    let (session, at) = (row.session.uid.0, me.clock.wall());
                    me.log.add(LogLine { seq: 0, session, at, kind: "note", task: None, text: text.clone() });
                }
                Ok(())
            });
            if let Err(error) = said.await {
                tracing::debug!(%error, "that the log was begun anew could not be said in it");
            }
        }
        tokio::select! {
            changed = anew.changed() => if changed.is_err() { return },
            () = inner.draining.cancelled() => return,
        }
    }
}

/// Lets the lines of sessions go that were removed and cannot be brought back any more.
pub(crate) async fn forget_gone(inner: Arc<Inner>) {
    loop {
        let forgotten = inner.in_log(|inner| {
            let kept = inner.lines.sessions()?;
            let served = inner.reader.meta()?.served;
            let now = Now { wall: inner.clock.wall(), served, boot: inner.boot };
            let rows = inner.reader.all_sessions()?;
            let may_come_back = |uid: i64| rows.iter().any(|s| s.uid.0 == uid && s.may_come_back(&now));
            for uid in kept.into_iter().filter(|uid| !may_come_back(*uid)) {
                inner.log.forget(uid);
            }
            Ok(())
        });
        if let Err(error) = forgotten.await {
            tracing::debug!(%error, "lines of removed sessions stay for now");
        }
        tokio::select! {
            () = tokio::time::sleep(FORGET) => {}
            () = inner.draining.cancelled() => return,
        }
    }
}

/// Breaks a search off when nobody waits for it any more.
struct BrokenOff(Arc<SearchStop>);

impl Drop for BrokenOff {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Engine {
    /// A page of what a session said.
    ///
    /// # Errors
    /// The log cannot be read now.
    pub async fn log_page(&self, session: SessionUid, place: LogPlace, limit: usize) -> Result<LogPage, EngineError> {
        self.0.in_log(move |inner| inner.lines.page(session.0, place, limit)).await
    }

    /// The newest lines of these sessions that hold all words of the query (see the store's
    /// `LogReader::search`), newest first.
    ///
    /// # Errors
    /// The query holds no word or too many, the search took over two seconds, or the log cannot be read now.
    pub async fn log_search(
        &self,
        sessions: Vec<SessionUid>,
        query: String,
        limit: usize,
    ) -> Result<Vec<Found>, EngineError> {
        let slow = || EngineError::Store(StoreError::LogSlow);
        let turn = tokio::time::timeout(SEARCH, self.0.searches.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| slow())?.map_err(|_| EngineError::Stopping)?;
        let stop = Arc::new(SearchStop::default());
        let at = stop.clone();
        let search = self.0.in_log(move |inner| {
            let sessions: Vec<i64> = sessions.iter().map(|uid| uid.0).collect();
            let found = inner.lines.search(&sessions, &query, limit, &at);
            // Also where nobody waits any more: it is over when it is over.
            drop(turn);
            found
        });
        let _broken_off = BrokenOff(stop);
        tokio::time::timeout(SEARCH, search).await.map_err(|_| slow())?
    }

    /// Listens to a session. Listen first, then read its log.
    pub fn listen(&self, session: SessionUid) -> Listen {
        self.0.listeners.listen(session.0)
    }

    /// What a person should know of the log: that it cannot be written, or was begun anew.
    pub fn log_troubles(&self) -> Vec<String> {
        let health = self.0.log.health();
        health.away.into_iter().chain(health.anew).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: i64) -> LogLine {
        LogLine { seq, session: 1, at: 0, kind: "words", task: None, text: "x".into() }
    }

    #[tokio::test]
    async fn all_hear_the_same_and_one_that_is_too_slow_is_cut_off() {
        let listeners = Arc::new(Listeners::default());
        let host = Host { listeners: listeners.clone(), anew: watch::Sender::new(None) };
        host.written(vec![line(1)]);
        assert!(!listeners.say(1, None, "nobody listens"));
        let (mut quick, mut slow) = (listeners.listen(1), listeners.listen(1));
        for seq in 2..=i64::try_from(BEHIND).unwrap() + 2 {
            host.written(vec![line(seq)]);
            assert!(matches!(quick.next().await, Ok(Heard::Line(l)) if l.seq == seq));
        }
        assert_eq!(slow.next().await.err(), Some(Behind));
        host.anew("x");
        assert!(matches!(quick.next().await, Ok(Heard::Anew)));
        drop((quick, slow));
        host.written(vec![line(9)]);
        assert!(listeners.sessions().is_empty(), "nothing is kept for nobody");
    }

    #[test]
    fn words_are_gathered_and_bounded() {
        let listeners = Listeners::default();
        let _listen = listeners.listen(1);
        assert!(listeners.say(1, Some("a:m"), "one "));
        assert!(!listeners.say(1, Some("a:m"), "two"), "it is handed on already");
        assert_eq!(listeners.take(1), Some((Some("a:m".into()), "one two".into())));
        assert_eq!(listeners.take(1), None);
        assert!(listeners.say(1, None, &"x".repeat(WORDS)));
        assert!(!listeners.say(1, None, "y"));
        assert_eq!(listeners.take(1).unwrap().1.len(), WORDS);
        listeners.sweep();
        assert_eq!(listeners.sessions().len(), 1);
    }
}
