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

/// Clocks that differ by no more went on together: they tick at different moments, and are not read at
/// one.
const AT_ONCE_MS: i64 = 10;

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
        let (on_wall, on_monotonic) = (wall - self.wall, monotonic - self.monotonic);
        let step = served_step(on_wall, on_monotonic);
        self.served += step;
        // What one has ticked before the other is taken with the next reading: however often both are
        // read, nothing is lost between them.
        let together = (on_wall - on_monotonic).abs() <= AT_ONCE_MS && step == on_wall.min(on_monotonic);
        (self.wall, self.monotonic) =
            if together { (self.wall + step, self.monotonic + step) } else { (wall, monotonic) };
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
    fn clocks_that_tick_at_different_moments_lose_nothing_however_often_they_are_read() {
        let fake = Arc::new(Fake(AtomicI64::new(1_000), AtomicI64::new(0)));
        let mut clock = Clock::new(fake.clone(), 0, Boot(1));
        // Read twice in each millisecond, before the other one has ticked and after it.
        for _ in 0..1_000 {
            fake.0.fetch_add(1, Ordering::Relaxed);
            clock.now();
            fake.1.fetch_add(1, Ordering::Relaxed);
            clock.now();
        }
        assert_eq!(clock.now().served, 1_000);
        // One that is slewed is followed, and a jump of a second still is one.
        for _ in 0..1_000 {
            fake.0.fetch_add(10, Ordering::Relaxed);
            fake.1.fetch_add(11, Ordering::Relaxed);
            clock.now();
        }
        let served = clock.now().served;
        assert!((11_000..=11_000 + AT_ONCE_MS).contains(&served), "{served}");
        fake.0.fetch_add(1_000, Ordering::Relaxed);
        fake.1.fetch_add(5, Ordering::Relaxed);
        assert!((served..=served + 5 + AT_ONCE_MS).contains(&clock.now().served));
    }

    #[test]
    fn the_systems_clocks_are_the_ones_meant() {
        let clock = SystemClock::new();
        assert!(clock.wall() > 1_700_000_000_000, "wall time is milliseconds since 1970");
        assert!(clock.monotonic() < 60_000, "monotonic time begins with the clock");
    }
}
