//! Which A2A version a request speaks (specification 3.6), and whether it is spoken here.
//! The one place that looks at the version: nothing further in branches on it.
//! Must not know requests: header, query and method name are handed in as text.

use crate::error::{A2aError, ErrorCode};
use crate::method::Method;

/// The header's name, and the query parameter's. Names are case-insensitive in the header.
pub const HEADER: &str = "A2A-Version";
/// The version that is spoken.
pub const SPOKEN: &str = "1.0";

/// Decides whether a request may go on, and is 1.0 then.
///
/// `header` wins over `query`; an empty one counts as missing. Missing in both: with `strict`, the
/// request is 0.3, as the specification has it; without, a method of a 1.0 name is taken as 1.0.
/// For the HTTP+JSON binding pass the method's 1.0 name. The patch number is ignored.
///
/// # Errors
/// `VersionNotSupported` for any other version; `MethodNotFound` for a 0.3 name under version 1.0.
pub fn negotiate(header: Option<&str>, query: Option<&str>, method_name: &str, strict: bool) -> Result<(), A2aError> {
    let old = Method::parse_v03(method_name);
    let named = [header, query].into_iter().flatten().map(str::trim).find(|version| !version.is_empty());
    match (named, old) {
        (Some(version), None) if is_spoken(version) => Ok(()),
        (Some(version), Some(method)) if is_spoken(version) => Err(A2aError::new(
            ErrorCode::MethodNotFound,
            format!("`{method_name}` is the 0.3 name; in A2A 1.0 it is `{}`", method.name()),
        )),
        (Some(version), _) if minor(version) == Some("0.3") => Err(not_spoken_yet()),
        (Some(_), _) => Err(unsupported(format!("this A2A version is not spoken here; send `{HEADER}: {SPOKEN}`"))),
        (None, Some(_)) => Err(not_spoken_yet()),
        (None, None) if strict => Err(unsupported(format!(
            "without `{HEADER}` a request is A2A 0.3, which is not spoken here yet; send `{HEADER}: {SPOKEN}`"
        ))),
        (None, None) => Ok(()),
    }
}

/// Whether a version, such as the one of a card's interface, is the one that is spoken.
pub fn is_spoken(version: &str) -> bool {
    minor(version) == Some(SPOKEN)
}

/// The `Major.Minor` of `Major.Minor` or `Major.Minor.Patch`.
fn minor(version: &str) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut numbers = version.split('.');
    let (major, minor, patch) = (numbers.next()?, numbers.next()?, numbers.next());
    let good = is_number(major) && is_number(minor) && patch.is_none_or(is_number) && numbers.next().is_none();
    good.then(|| version.get(..major.len() + 1 + minor.len()))?
}

fn not_spoken_yet() -> A2aError {
    unsupported(format!(
        "the A2A 0.3 dialect is not spoken here yet; use the 1.0 method names with `{HEADER}: {SPOKEN}`"
    ))
}

fn unsupported(message: String) -> A2aError {
    A2aError::new(ErrorCode::VersionNotSupported, message).with("supportedVersions", SPOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Ok`, or the code and a piece of the message.
    fn check(
        (header, query, method, strict): (Option<&str>, Option<&str>, &str, bool),
        expected: Result<(), (ErrorCode, &str)>,
    ) {
        let case = format!("{header:?} {query:?} {method} {strict}");
        match (negotiate(header, query, method, strict), expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err((code, piece))) => {
                assert_eq!(error.code, code, "{case}");
                assert!(error.message.contains(piece), "{case}: {}", error.message);
                if code == ErrorCode::VersionNotSupported {
                    assert_eq!(error.metadata("supportedVersions"), Some("1.0"), "{case}");
                }
            }
            (got, expected) => panic!("{case}: {got:?}, not {expected:?}"),
        }
    }

    const OLD: Result<(), (ErrorCode, &str)> =
        Err((ErrorCode::VersionNotSupported, "0.3 dialect is not spoken here yet"));

    #[test]
    fn version_1_0_is_exact_but_for_the_patch() {
        for strict in [false, true] {
            for good in ["1.0", "1.0.5", " 1.0 "] {
                check((Some(good), None, "GetTask", strict), Ok(()));
                check((None, Some(good), "GetTask", strict), Ok(()));
            }
            for bad in ["1", "1.1", "2.0", "1.0.", "1.0.x", "1.0.0.0", "v1.0", "01.0", "1.0, 1.0", "x"] {
                let refused = Err((ErrorCode::VersionNotSupported, "send `A2A-Version: 1.0`"));
                check((Some(bad), None, "GetTask", strict), refused);
            }
        }
    }

    #[test]
    fn the_header_wins_over_the_query() {
        check((Some("1.0"), Some("2.0"), "GetTask", true), Ok(()));
        check((Some(""), Some("1.0"), "GetTask", true), Ok(()));
        check((Some("0.3"), Some("1.0"), "GetTask", true), OLD);
    }

    #[test]
    fn a_missing_version_is_what_the_name_says_or_strictly_0_3() {
        check((None, None, "SendMessage", false), Ok(()));
        check((Some(""), None, "SendMessage", false), Ok(()));
        check((None, None, "NoSuchMethod", false), Ok(()));
        let strict = Err((ErrorCode::VersionNotSupported, "without `A2A-Version`"));
        check((None, None, "SendMessage", true), strict);
        check((Some(" "), Some(""), "SendMessage", true), strict);
    }

    #[test]
    fn a_0_3_name_is_told_where_it_stands() {
        for method in ["message/send", "tasks/get", "agent/getAuthenticatedExtendedCard"] {
            check((None, None, method, false), OLD);
            check((None, None, method, true), OLD);
            check((Some("0.3"), None, method, false), OLD);
            check((Some("0.3.0"), None, method, true), OLD);
        }
        let hint = Err((ErrorCode::MethodNotFound, "in A2A 1.0 it is `SendMessage`"));
        check((Some("1.0"), None, "message/send", false), hint);
        check((Some("1.0.1"), None, "message/send", true), hint);
    }
}
