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

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
const EPOCH: jiff::civil::Date = jiff::civil::Date::constant(1970, 1, 1);

/// The day of UTC of a wall time (ms), since 1970.
pub fn day_of(wall: i64) -> i64 {
    wall.div_euclid(DAY_MS)
}

/// A day since 1970 as `2026-11-30`; one outside of the calendar is shown as its nearest.
pub fn date(day: i64) -> String {
    let span = jiff::SignedDuration::from_hours(day.clamp(-719_162, 2_932_896) * 24);
    EPOCH.saturating_add(span).to_string()
}

/// The day since 1970 of a date such as `2026-11-30`; `None` for what is none.
pub fn day(date: &str) -> Option<i64> {
    let shape = |(at, b): (usize, u8)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() };
    let date: jiff::civil::Date = match date.len() == 10 && date.bytes().enumerate().all(shape) {
        true => date.parse().ok()?,
        false => return None,
    };
    Some(i64::from(EPOCH.until(date).ok()?.get_days()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_date_and_back() {
        for (day_no, shown) in [
            (0, "1970-01-01"),
            (20_787, "2026-11-30"),
            (-1, "1969-12-31"),
            (19_782, "2024-02-29"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!((date(day_no).as_str(), day(shown)), (shown, Some(day_no)));
        }
        for wrong in ["", "2026-11-31", "2026-1-1", "30.11.2026", "2026-11-30T00:00", "+026-11-30", "tomorrow"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        assert_eq!((day_of(-1), day_of(86_400_000)), (-1, 1));
        assert_eq!((date(i64::MAX), date(i64::MIN)).0.len(), 10);
    }

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
