//! One id for the same request while it is being sent: a model that calls twice at once asks once.
//! (Once it is sent, the daemon's list of open asks tells.)
//! Must not know how it is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::env;
use crate::report::Failure;

/// The requests under way.
#[derive(Debug, Default)]
pub struct Once(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    to: String,
    text: String,
    id: String,
    callers: usize,
}

/// A request that is under way as long as this lives.
#[derive(Debug)]
pub struct Ticket<'a> {
    once: &'a Once,
    pub id: String,
}

impl Once {
    /// The message's id: a fresh one, or that of the same request where it is under way.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn begin(&self, to: &str, text: &str) -> Result<Ticket<'_>, Failure> {
        let mut entries = self.entries();
        if let Some(entry) = entries.iter_mut().find(|entry| entry.to == to && entry.text == text) {
            entry.callers += 1;
            return Ok(Ticket { once: self, id: entry.id.clone() });
        }
        let id = env::message_id()?;
        entries.push(Entry { to: to.to_owned(), text: text.to_owned(), id: id.clone(), callers: 1 });
        Ok(Ticket { once: self, id })
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut entries = self.once.entries();
        entries.iter_mut().filter(|entry| entry.id == self.id).for_each(|entry| entry.callers -= 1);
        entries.retain(|entry| entry.callers > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_request_has_one_id_while_it_is_under_way() {
        let once = Once::default();
        let first = once.begin("a/b", "run").unwrap();
        let second = once.begin("a/b", "run").unwrap();
        let other = once.begin("a/b", "walk").unwrap();
        assert_eq!(first.id, second.id);
        assert_ne!(first.id, other.id);
        let id = first.id.clone();
        drop(first);
        assert_eq!(once.begin("a/b", "run").unwrap().id, id);
        drop(second);
        assert_ne!(once.begin("a/b", "run").unwrap().id, id);
    }
}
