//! Who waits for what. A waiter subscribes to a row before it reads it, so that no change falls
//! between; a commit wakes the waiters of the rows it changed. Knows nothing of what the rows say.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use shrooms_core::row::{Change, Subject};
use tokio::sync::watch;

/// Wakes waiters after commits.
pub(crate) struct Hub {
    subjects: Mutex<BTreeMap<Subject, watch::Sender<u64>>>,
    feed: watch::Sender<i64>,
}

/// A wait for changes of one row.
pub struct Watch {
    changes: watch::Receiver<u64>,
}

impl Watch {
    /// Returns when the row was changed since the watch was made or this was last called.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // The hub is gone: the daemon stops, and whoever waits is cut off by its own bound.
            std::future::pending::<()>().await;
        }
    }
}

impl Hub {
    pub(crate) fn new(last_event: i64) -> Hub {
        Hub { subjects: Mutex::default(), feed: watch::Sender::new(last_event) }
    }

    fn subjects(&self) -> MutexGuard<'_, BTreeMap<Subject, watch::Sender<u64>>> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn watch(&self, subject: Subject) -> Watch {
        let mut subjects = self.subjects();
        let sender = subjects.entry(subject).or_insert_with(|| watch::Sender::new(0));
        Watch { changes: sender.subscribe() }
    }

    pub(crate) fn feed(&self) -> watch::Receiver<i64> {
        self.feed.subscribe()
    }

    pub(crate) fn publish(&self, changes: &[Change]) {
        let mut last = None;
        let mut subjects = self.subjects();
        for change in changes {
            if let Change::Event(event) = change {
                last = Some(event.seq);
            }
            let Some(subject) = change.subject() else { continue };
            if let Some(sender) = subjects.get(&subject) {
                sender.send_modify(|n| *n += 1);
                if sender.receiver_count() == 0 {
                    subjects.remove(&subject);
                }
            }
        }
        drop(subjects);
        if let Some(seq) = last {
            self.feed.send_replace(seq);
        }
    }

    /// Lets go of subjects that nobody waits for any more.
    pub(crate) fn sweep(&self) {
        self.subjects().retain(|_, sender| sender.receiver_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shrooms_core::id::TaskNo;

    use super::*;

    #[tokio::test]
    async fn a_waiter_hears_of_a_change_between_its_subscription_and_its_wait() {
        let hub = Hub::new(0);
        let mut watch = hub.watch(Subject::Task(TaskNo(1)));
        let event = shrooms_core::row::Event {
            seq: 7,
            at: 0,
            kind: shrooms_core::row::EventKind::Task,
            session: None,
            of: None,
            task: None,
            state: "x".into(),
            summary: String::new(),
        };
        hub.subjects().get(&Subject::Task(TaskNo(1))).unwrap().send_modify(|n| *n += 1);
        hub.publish(&[Change::Event(Arc::new(event))]);
        watch.changed().await;
        assert_eq!(*hub.feed().borrow(), 7);
        drop(watch);
        hub.sweep();
        assert!(hub.subjects().is_empty());
    }
}
