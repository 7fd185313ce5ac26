//! A moment on the wire: ISO-8601 in UTC with milliseconds (specification 5.6.1: `Z` only).
//! Must not know a clock: the time is always handed in.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::decode::{Decode, Invalid, Path, deserialize_by_decode};

/// Milliseconds since 1970-01-01T00:00:00Z; negative before it.
///
/// Prints as `2026-01-31T09:05:00.250Z`. A number outside of the years 0000 to 9999 prints as the
/// nearest end of them, for no JSON reader would take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// 0000-01-01T00:00:00.000Z.
const FIRST_MS: i64 = -62_167_219_200_000;
/// 9999-12-31T23:59:59.999Z.
const LAST_MS: i64 = 253_402_300_799_999;

impl Timestamp {
    /// Milliseconds since the epoch.
    pub fn as_millis(self) -> i64 {
        self.0
    }
}

// By dates and times of day, not by the calendar library's moments: those end 26 hours before the
// last year does, so that every time zone fits.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = SignedDuration::from_millis(self.0.clamp(FIRST_MS, LAST_MS));
        let moment = EPOCH.checked_add(since).map_err(|_| fmt::Error)?;
        write!(f, "{moment:.3}Z")
    }
}

/// The text is not a time of day on a date with an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO-8601 time such as 2026-01-31T09:05:00.250Z")]
pub struct NotATime;

impl FromStr for Timestamp {
    type Err = NotATime;

    /// Takes any offset (ProtoJSON does); digits finer than milliseconds are cut off.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        // The library takes more than RFC 3339 (a blank for the T, signed years, zone notes).
        let bytes = text.as_bytes();
        let plain = bytes.first().is_some_and(u8::is_ascii_digit)
            && matches!(bytes.get(10), Some(b'T' | b't'))
            && !bytes.contains(&b'[');
        if !plain {
            return Err(NotATime);
        }
        let pieces = Pieces::parse(text).map_err(|_| NotATime)?;
        let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
            return Err(NotATime);
        };
        let since = pieces.date().to_datetime(time).duration_since(EPOCH);
        let millis = since.as_nanos().div_euclid(1_000_000) as i64 - i64::from(offset.seconds()) * 1000;
        // An offset may lead out of the years that can be printed.
        (FIRST_MS..=LAST_MS).contains(&millis).then_some(Timestamp(millis)).ok_or(NotATime)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Decode for Timestamp {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        String::decode(value, at)?.parse().map_err(|problem: NotATime| at.invalid(problem.to_string()))
    }
}

deserialize_by_decode!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: Option<&str>) {
        let got = input.parse::<Timestamp>().ok().map(|t| t.to_string());
        assert_eq!(got.as_deref(), expected, "{input}");
    }

    #[test]
    fn a_time_prints_in_utc_with_milliseconds() {
        check("1970-01-01T00:00:00Z", Some("1970-01-01T00:00:00.000Z"));
        check("2026-01-31T09:05:00.25Z", Some("2026-01-31T09:05:00.250Z"));
        check("2026-01-31T09:05:00.123999999Z", Some("2026-01-31T09:05:00.123Z"));
        check("1969-12-31T23:59:59.9999Z", Some("1969-12-31T23:59:59.999Z"));
        check("2026-01-31T09:05:00+02:00", Some("2026-01-31T07:05:00.000Z"));
    }

    #[test]
    fn every_moment_of_a_year_of_four_digits_reads_back() {
        check("0000-01-01T00:00:00Z", Some("0000-01-01T00:00:00.000Z"));
        check("0000-01-01T01:00:00+02:00", None);
        check("9999-12-31T23:59:59.999999999Z", Some("9999-12-31T23:59:59.999Z"));
        check("9999-12-31T23:59:59-00:01", None);
        check("9999-12-31T24:00:00Z", None);
        check("2016-12-31T23:59:60Z", Some("2016-12-31T23:59:59.000Z"));
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for bad in [
            "",
            "yesterday",
            "2026-01-31",
            "2026-01-31 09:05:00Z",
            "2026-01-31T09:05:00",
            "2026-13-31T09:05:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-31T09:05:00Z[UTC]",
            "1700000000",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn a_number_beyond_the_calendar_prints_its_nearest_end() {
        assert_eq!(Timestamp(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
    }
}
