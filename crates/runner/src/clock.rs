//! The clocks of this crate, at one place: real processes end in real time.
//! It must not know what is being timed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A point on the monotonic clock after which a wait is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// `within` from now; a span too long for the clock counts as a day, which no wait here needs.
    pub(crate) fn after(within: Duration) -> Self {
        let now = now();
        let day = Duration::from_secs(24 * 60 * 60);
        Self(now.checked_add(within).unwrap_or_else(|| now + day))
    }

    /// What is left until then, zero when it has passed.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(now())
    }

    pub(crate) fn passed(self) -> bool {
        self.left().is_zero()
    }
}

#[allow(clippy::disallowed_methods, reason = "the one reading of the monotonic clock in this crate")]
fn now() -> Instant {
    Instant::now()
}

/// Wall time in Unix milliseconds; 0 for a clock before 1970.
#[allow(clippy::disallowed_methods, reason = "the one reading of the wall clock in this crate")]
pub(crate) fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|d| i64::try_from(d.as_millis()).ok()).unwrap_or(0)
}
