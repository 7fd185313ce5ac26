//! The two clocks. Wall time is for people and for what lives outside; served time is a counter
//! that advances only while the daemon runs, so that suspend, downtime and clock jumps cause no
//! bursts and no mass expiry. This module is told the time; it never asks for it.

use serde::{Deserialize, Serialize};

/// A start of the daemon on this state: 1 for the first, one more each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Boot(pub u32);

/// The time as one input sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970-01-01 UTC; may jump either way.
    pub wall: i64,
    /// Milliseconds served since this state was made; never goes back.
    pub served: i64,
    /// Which start of the daemon this is.
    pub boot: Boot,
}

impl Now {
    /// Both clocks, as rows keep them.
    pub fn stamp(&self) -> Stamp {
        Stamp { wall: self.wall, served: self.served }
    }
}

/// A moment by both clocks, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(i64, i64)", into = "(i64, i64)")]
pub struct Stamp {
    /// Milliseconds since 1970-01-01 UTC.
    pub wall: i64,
    /// Milliseconds served.
    pub served: i64,
}

impl From<(i64, i64)> for Stamp {
    fn from((wall, served): (i64, i64)) -> Self {
        Stamp { wall, served }
    }
}

impl From<Stamp> for (i64, i64) {
    fn from(s: Stamp) -> Self {
        (s.wall, s.served)
    }
}

/// The longest step that served time takes at once: a daemon that was stopped (SIGSTOP, a
/// debugger, a starved machine) did not serve meanwhile. Twice the watchdog's pass of 30 s, so
/// that an ordinary late tick is not lost.
pub const STEP_CAP_MS: i64 = 60_000;

/// How far served time advances between two readings of the outside clocks (milliseconds):
/// by the smaller of the two, never back, never more than [`STEP_CAP_MS`].
pub fn served_step(wall_delta: i64, mono_delta: i64) -> i64 {
    wall_delta.min(mono_delta).clamp(0, STEP_CAP_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_time_takes_the_smaller_clock_capped_and_never_goes_back() {
        for (wall, mono, step) in [
            (1_000, 1_000, 1_000),
            (1_000, 900, 900),
            (-3_600_000, 1_000, 0),
            (86_400_000, 1_000, 1_000),
            (86_400_000, 86_400_000, STEP_CAP_MS),
            (172_800_000, 0, 0),
            (0, 0, 0),
        ] {
            assert_eq!(served_step(wall, mono), step, "wall {wall} mono {mono}");
        }
    }
}
