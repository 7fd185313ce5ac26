//! How long a card counts, from the headers it came with (RFC 9111, sections 4.2 and 5.2).
//! Must not know cards or a clock.

use std::time::Duration;

use reqwest::header::{AGE, CACHE_CONTROL, HeaderMap};

/// For a card that says nothing of itself: skills change by a person's hand, and one who has
/// changed them waits no longer than this to see it.
const DEFAULT: Duration = Duration::from_secs(5 * 60);

/// The longest that a card counts without being asked for again, whatever it says: a machine is set
/// up anew within a day at times, and asking again costs a few bytes.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a card is used that should be asked for again and cannot be, because the agent fails or
/// gives no whole answer: as long as a restart or an update of it may take. Then it is no more used.
const STALE: Duration = Duration::from_secs(60 * 60);

/// What a card's headers allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Freshness {
    keep: bool,
    /// How long it counts without being asked for again.
    lifetime: Duration,
    /// Whether it may be used after that while it cannot be asked for.
    may_be_stale: bool,
}

/// What may be done with a card now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    Fresh,
    /// Only if it cannot be asked for again.
    Usable,
    Over,
}

impl Default for Freshness {
    fn default() -> Self {
        Freshness { keep: true, lifetime: DEFAULT, may_be_stale: true }
    }
}

impl Freshness {
    /// `None` if the headers say nothing.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut given = Freshness::default();
        let (mut max_age, mut said) = (None, false);
        let lines = headers.get_all(CACHE_CONTROL).into_iter().filter_map(|line| line.to_str().ok());
        for directive in lines.flat_map(|line| line.split(',')) {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            said = said || !name.trim().is_empty();
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" => given.keep = false,
                // With a list of fields it is about these alone; here it counts for all.
                "no-cache" => max_age = Some(Duration::ZERO),
                "must-revalidate" => given.may_be_stale = false,
                // The shorter one of two; one that is no number counts as over (section 4.2.1).
                "max-age" => {
                    let given = seconds(value.trim().trim_matches('"')).unwrap_or(Duration::ZERO);
                    max_age = Some(max_age.map_or(given, |other: Duration| other.min(given)));
                }
                _ => {}
            }
        }
        let age = headers.get(AGE).and_then(|age| seconds(age.to_str().ok()?.trim())).unwrap_or_default();
        given.lifetime = max_age.unwrap_or(DEFAULT).saturating_sub(age).min(LONGEST);
        said.then_some(given)
    }

    /// Whether it may be kept at all.
    pub fn may_be_kept(self) -> bool {
        self.keep
    }

    /// What may be done with it so long after it was had.
    pub fn at(self, since: Duration) -> Age {
        if since < self.lifetime {
            Age::Fresh
        } else if self.may_be_stale && since < self.lifetime + STALE {
            Age::Usable
        } else {
            Age::Over
        }
    }
}

/// A number of seconds; one that is too large to hold is as long as any (section 1.2.2).
fn seconds(text: &str) -> Option<Duration> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| Duration::from_secs(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds that it is fresh and that it is usable; `None` if it may not be kept.
    #[track_caller]
    fn check(lines: &[&str], age: Option<&str>, expected: Option<(u64, u64)>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(CACHE_CONTROL, line.parse().unwrap());
        }
        if let Some(age) = age {
            headers.insert(AGE, age.parse().unwrap());
        }
        let freshness = Freshness::of(&headers).unwrap_or_default();
        let lasts = |wanted: &[Age]| {
            let mut seconds = 0;
            while wanted.contains(&freshness.at(Duration::from_secs(seconds))) {
                seconds += 10;
            }
            seconds
        };
        let got = freshness.may_be_kept().then(|| (lasts(&[Age::Fresh]), lasts(&[Age::Fresh, Age::Usable])));
        assert_eq!(got, expected, "{lines:?} {age:?}");
    }

    #[test]
    fn a_card_counts_as_long_as_it_says() {
        let hour = 3600;
        check(&[], None, Some((300, 300 + hour)));
        check(&["public"], None, Some((300, 300 + hour)));
        check(&["max-age=60"], None, Some((60, 60 + hour)));
        check(&["Public, Max-Age=\"60\""], None, Some((60, 60 + hour)));
        check(&["public", "max-age=60"], None, Some((60, 60 + hour)));
        check(&["max-age=60, max-age=30"], None, Some((30, 30 + hour)));
        check(&["max-age=60"], Some("20"), Some((40, 40 + hour)));
        check(&["max-age=60"], Some("90"), Some((0, hour)));
        check(&["max-age=31536000"], None, Some((24 * hour, 25 * hour)));
        check(&["max-age=99999999999999999999999"], None, Some((24 * hour, 25 * hour)));
        check(&["max-age=-1"], None, Some((0, hour)));
        check(&["max-age=soon"], None, Some((0, hour)));
        check(&["no-cache, max-age=60"], None, Some((0, hour)));
        check(&["max-age=60, must-revalidate"], None, Some((60, 60)));
        check(&["no-cache, must-revalidate"], None, Some((0, 0)));
        check(&["no-store, max-age=60"], None, None);
    }

    #[test]
    fn headers_without_a_word_on_it_say_nothing() {
        assert_eq!(Freshness::of(&HeaderMap::new()), None);
        let empty = HeaderMap::from_iter([(CACHE_CONTROL, "".parse().unwrap())]);
        assert_eq!(Freshness::of(&empty), None);
    }
}
