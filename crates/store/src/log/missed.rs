//! What is known of the log beside its file: what waits, what was lost of which session, what is wrong.
//! Shared by those who add lines, the thread that writes them, and readers. Must not touch the file.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How the log is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHealth {
    /// Why it cannot be written now, and what to do. Lines wait as long as there is room for them.
    pub away: Option<String>,
    /// Why it was begun anew since the start, and where the one before is.
    pub anew: Option<String>,
}

/// Lines of a session that were lost one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) lines: u64,
    /// When the last of them would have been (wall, milliseconds).
    pub(super) at: i64,
}

#[derive(Default)]
pub(super) struct Shared {
    /// Not said in the log yet, by session.
    missed: Mutex<BTreeMap<i64, Missed>>,
    /// There is something in it: looked at by each line.
    any: AtomicBool,
    lost: AtomicU64,
    /// Bytes of the lines that wait.
    pub(super) waiting: AtomicUsize,
    /// Which file it is: grows with each that is opened.
    pub(super) generation: AtomicU64,
    health: Mutex<LogHealth>,
}

impl Shared {
    fn map(&self) -> MutexGuard<'_, BTreeMap<i64, Missed>> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line of a session was lost.
    pub(super) fn miss(&self, session: i64, at: i64) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.put_back(session, Missed { lines: 1, at });
    }

    /// What was taken, and could not be said.
    pub(super) fn put_back(&self, session: i64, more: Missed) {
        let mut map = self.map();
        let missed = map.entry(session).or_default();
        *missed = Missed { lines: missed.lines + more.lines, at: more.at };
        self.any.store(true, Ordering::Release);
    }

    /// What was lost of a session since it was last asked for; 0 lines = nothing.
    pub(super) fn take(&self, session: i64) -> Missed {
        if !self.any.load(Ordering::Acquire) {
            return Missed::default();
        }
        let mut map = self.map();
        let missed = map.remove(&session).unwrap_or_default();
        self.any.store(!map.is_empty(), Ordering::Release);
        missed
    }

    /// Something was lost that is not said in the log yet.
    pub(super) fn has_missed(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// What was lost of any session.
    pub(super) fn take_all(&self) -> BTreeMap<i64, Missed> {
        if !self.any.load(Ordering::Acquire) {
            return BTreeMap::new();
        }
        let mut map = self.map();
        self.any.store(false, Ordering::Release);
        std::mem::take(&mut *map)
    }

    /// Lines that were lost since the start.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn health(&self) -> MutexGuard<'_, LogHealth> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
