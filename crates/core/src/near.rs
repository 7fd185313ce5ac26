//! Near matches for a name that was not found, so that an error can say what was perhaps meant.

/// At most three of `candidates` that look like `name`, nearest first.
///
/// Near means: the same but for case, one contains the other (three letters or more), or an edit
/// distance of at most a third of the longer name (two at least).
pub fn near<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let want = name.to_lowercase();
    let mut found: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates {
        let have = candidate.to_lowercase();
        let longest = want.chars().count().max(have.chars().count());
        let far = distance(&want, &have);
        let contains = want.len() >= 3 && have.contains(&want) || have.len() >= 3 && want.contains(&have);
        if contains || far <= (longest / 3).max(2).min(longest.saturating_sub(1)) {
            found.push((far, candidate));
        }
    }
    found.sort();
    found.dedup();
    found.into_iter().take(3).map(|(_, c)| c.to_string()).collect()
}

/// The tail of an error message for `found`: "; did you mean A or B?", or nothing.
pub fn hint(found: &[String]) -> String {
    match found {
        [] => String::new(),
        some => format!("; did you mean {}?", some.join(" or ")),
    }
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, cb) in b.iter().enumerate() {
            let cost = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_matches_are_few_and_nearest_first() {
        for (name, have, want) in [
            ("test", vec!["tests", "review"], vec!["tests"]),
            ("TESTS", vec!["tests"], vec!["tests"]),
            ("reveiw", vec!["tests", "review"], vec!["review"]),
            ("x", vec!["y"], vec![]),
            ("zzz", vec!["tests", "review"], vec![]),
            ("build", vec!["homeserver/build", "laptop/web"], vec!["homeserver/build"]),
        ] {
            assert_eq!(near(name, have), want, "{name}");
        }
    }
}
