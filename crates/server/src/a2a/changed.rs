//! Since when each card is as it is, for caches that ask by date. Rows do not say it: cards come from
//! names, settings and the version of the daemon, too, and a session that goes takes its date with it.
//! So it is what this daemon has seen; after a restart every card is new. Must not know cards.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use shrooms_core::digest::Digest;

/// Cards that are remembered: far more than a machine has sessions. Over it all are forgotten, and
/// so sent once more.
const MOST: usize = 1000;

/// What was seen last at each place, and since which second.
#[derive(Default)]
pub(crate) struct Changed(Mutex<BTreeMap<String, (Digest, i64)>>);

impl Changed {
    /// The second from which on what is at `place` is surely as it is now. Dates on the wire are of
    /// whole seconds, and it may have been something else within this one: so not before the next.
    pub(crate) fn since(&self, place: &str, digest: Digest, now_ms: i64) -> i64 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(place).copied();
        if let Some((known, since)) = before
            && known == digest
        {
            return since;
        }
        if all.len() >= MOST {
            all.clear();
        }
        // A clock that is set back makes nothing older.
        let since = (now_ms.div_euclid(1000) + 1).max(before.map_or(i64::MIN, |(_, since)| since.saturating_add(1)));
        all.insert(place.to_string(), (digest, since));
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_never_older_than_what_it_is_of() {
        let seen = Changed::default();
        let [a, b] = ["a", "b"].map(|text| Digest::of([text.as_bytes()]));
        for (what, now, want) in [
            (a, 10_200, 11),
            (a, 10_900, 11),
            (a, 60_000, 11),
            // Twice within a second.
            (b, 60_100, 61),
            (a, 60_200, 62),
            // The clock is set back.
            (b, 5_000, 63),
            (b, 70_000, 63),
        ] {
            assert_eq!(seen.since("card", what, now), want, "{now}");
        }
        assert_eq!(seen.since("another", a, 80_000), 81);
    }

    #[test]
    fn no_more_is_remembered_than_may_be() {
        let seen = Changed::default();
        let same = Digest::of([]);
        for n in 0..=MOST {
            seen.since(&n.to_string(), same, 0);
        }
        assert_eq!(seen.0.lock().unwrap().len(), 1);
    }
}
