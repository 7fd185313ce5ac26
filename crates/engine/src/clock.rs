//! The one place that reads clocks. Served time is kept in the store and advances by the core's
//! rule between two readings.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use shrooms_core::time::served_step;
use shrooms_core::{Boot, Now};

/// Where the time comes from. Tests give their own.
pub trait Source: Send + Sync {
    /// Wall time, milliseconds since 1970; may jump.
    fn wall(&self) -> i64;
    /// Milliseconds from an arbitrary start; never goes back, and stands still while the machine
    /// is suspended.
    fn monotonic(&self) -> i64;
}

/// The machine's own clocks. `Instant` is `CLOCK_MONOTONIC` on Linux, which stops in suspend.
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// The clocks of this machine.
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
    pub fn new() -> Self {
        SystemClock { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Source for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the clocks")]
    fn wall(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
    }

    fn monotonic(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

/// Both clocks, for the desk's thread.
pub(crate) struct Clock {
    source: Arc<dyn Source>,
    wall: i64,
    monotonic: i64,
    served: i64,
    boot: Boot,
}

impl Clock {
    pub(crate) fn new(source: Arc<dyn Source>, served: i64, boot: Boot) -> Clock {
        Clock { wall: source.wall(), monotonic: source.monotonic(), served, boot, source }
    }

    pub(crate) fn now(&mut self) -> Now {
        let (wall, monotonic) = (self.source.wall(), self.source.monotonic());
        self.served += served_step(wall - self.wall, monotonic - self.monotonic);
        (self.wall, self.monotonic) = (wall, monotonic);
        Now { wall, served: self.served, boot: self.boot }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    struct Fake(AtomicI64, AtomicI64);
    impl Source for Fake {
        fn wall(&self) -> i64 {
            self.0.load(Ordering::Relaxed)
        }
        fn monotonic(&self) -> i64 {
            self.1.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn served_time_goes_on_from_where_it_was_and_ignores_jumps() {
        let fake = Arc::new(Fake(AtomicI64::new(1_000), AtomicI64::new(0)));
        let mut clock = Clock::new(fake.clone(), 500, Boot(2));
        let mut step = |wall, mono| {
            fake.0.fetch_add(wall, Ordering::Relaxed);
            fake.1.fetch_add(mono, Ordering::Relaxed);
            clock.now().served
        };
        assert_eq!(step(10, 10), 510);
        assert_eq!(step(-3_600_000, 10), 510);
        assert_eq!(step(86_400_000, 10), 520);
        assert_eq!(step(172_800_000, 0), 520);
    }

    #[test]
    fn the_systems_clocks_are_the_ones_meant() {
        let clock = SystemClock::new();
        assert!(clock.wall() > 1_700_000_000_000, "wall time is milliseconds since 1970");
        assert!(clock.monotonic() < 60_000, "monotonic time begins with the clock");
    }
}
