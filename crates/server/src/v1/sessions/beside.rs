//! Sessions that work in one directory get into each other's way: both are shown with a warning.

use std::collections::BTreeMap;

use shrooms_engine::SessionRow;

/// Names that a warning has.
const NAMED: usize = 3;

/// Who works where.
pub(super) struct Beside {
    names: BTreeMap<String, Vec<String>>,
}

impl Beside {
    pub(super) fn of(rows: &[SessionRow]) -> Beside {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            names.entry(row.session.dir.clone()).or_default().push(row.session.name.clone());
        }
        names.retain(|_, names| names.len() > 1);
        Beside { names }
    }

    /// Who else works in this one's directory, if anybody does.
    pub(super) fn warning(&self, row: &SessionRow) -> Option<String> {
        warning(self.names.get(&row.session.dir)?, &row.session.name)
    }
}

fn warning(all: &[String], name: &str) -> Option<String> {
    let others: Vec<&str> = all.iter().map(String::as_str).filter(|other| *other != name).collect();
    let (named, more) = (others.get(..NAMED).unwrap_or(&others), others.len().saturating_sub(NAMED));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let work = if others.len() == 1 { "works" } else { "work" };
    (!others.is_empty()).then(|| {
        format!("{}{more} {work} in the same directory: what one changes, another finds changed", named.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_directory_is_named() {
        let all = |names: &str| names.split(' ').map(str::to_string).collect::<Vec<_>>();
        for (names, want) in [
            ("a", None),
            ("a b", Some("b works in the same directory: what one changes, another finds changed")),
            (
                "a b c d e",
                Some("b, c, d and 1 more work in the same directory: what one changes, another finds changed"),
            ),
        ] {
            assert_eq!(warning(&all(names), "a").as_deref(), want, "{names}");
        }
    }
}
