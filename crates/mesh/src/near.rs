//! Names that somebody may have meant, for errors that help.
//! Plain edit distance: the lists are short, so nothing cleverer pays.

/// More suggestions than this are a list, not a hint.
const MOST: usize = 3;
/// Longer texts are no mistyped names; the distance costs the product of both lengths.
const LONGEST: usize = 128;

/// The candidates that `name` may have meant: at most three, the nearest first, each once.
///
/// A candidate is near when a third of the letters of the longer of both, at least one and at most
/// three, are wrong, missing, extra or swapped; or when it differs in case only.
pub fn near<I>(name: &str, candidates: I) -> Vec<String>
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let wanted = letters(name);
    if wanted.is_empty() || wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut found: Vec<(usize, String)> = Vec::new();
    for candidate in candidates {
        let candidate = candidate.as_ref();
        let other = letters(candidate);
        if other.len() > LONGEST || candidate == name || found.iter().any(|(_, have)| have == candidate) {
            continue;
        }
        let bound = (wanted.len().max(other.len()) / 3).clamp(1, 3);
        // Two one-letter names have nothing in common when that letter differs.
        let bound = bound.min(wanted.len().max(other.len()) - 1);
        let distance = distance(&wanted, &other);
        if distance <= bound {
            found.push((distance, candidate.to_owned()));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(MOST).map(|(_, candidate)| candidate).collect()
}

/// Case is the commonest mistake of all, so it costs nothing.
fn letters(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Letters to change, add, drop or swap with their neighbour, to make one of the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let mut best = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                let swapped: &Vec<usize> = &before_last;
                best = best.min(swapped[j - 1] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, candidates: &str, expected: &str) {
        assert_eq!(near(name, candidates.split(' ')).join(" "), expected, "for {name:?} among {candidates:?}");
    }

    #[test]
    fn near_names_are_one_slip_away_nearest_first() {
        check("laptp", "homeserver laptop laptop2", "laptop laptop2");
        check("lpatop", "laptop", "laptop");
        check("Laptop", "desk laptop", "laptop");
        check("adresses", "name mesh addresses port", "addresses");
        check("aab", "aaa aab aac aad aae", "aaa aac aad");
        check("laptp", "laptop laptop", "laptop");
    }

    #[test]
    fn far_names_are_not_guessed() {
        check("zebra", "laptop homeserver", "");
        check("a", "b c d", "");
        check("", "a b", "");
        check("ab", "cd", "");
    }
}
