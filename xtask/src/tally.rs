//! What the tests said: libtest's result lines summed, skips and failures by name.
//! Text in, numbers out. It must not know how the tests were run.

use std::collections::BTreeSet;
use std::ops::AddAssign;

/// The outcome of some tests.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    passed: u64,
    pub failed: u64,
    ignored: u64,
    /// `name: reason` of each test that said it skipped itself.
    pub skips: BTreeSet<String>,
    /// Names of what failed, as far as they were given.
    pub failures: Vec<String>,
}

impl Tally {
    /// One check that passed.
    pub fn pass(&mut self) {
        self.passed += 1;
    }

    /// One check that failed.
    pub fn fail(&mut self, name: impl Into<String>) {
        self.failed += 1;
        self.failures.push(name.into());
    }

    /// Tests that passed and did not say that they skipped themselves (libtest counts those, too).
    pub fn passed(&self) -> u64 {
        self.passed.saturating_sub(self.skips.len() as u64)
    }

    pub fn skipped(&self) -> u64 {
        self.ignored + self.skips.len() as u64
    }

    pub fn total(&self) -> u64 {
        self.passed() + self.failed + self.skipped()
    }

    /// Takes in one line of a test program's output.
    pub fn line(&mut self, line: &str) {
        let line = line.trim_end();
        if let Some(skip) = skip(line) {
            self.skips.insert(skip.to_owned());
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failures.push(name.to_owned());
        } else if let Some((passed, failed, ignored)) = result(line) {
            self.passed += passed;
            self.failed += failed;
            self.ignored += ignored;
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skips.extend(other.skips);
        self.failures.extend(other.failures);
    }
}

/// `SKIPPED: name: reason`, at the start of a line or right after libtest's `test NAME ... `,
/// which with `--nocapture` shares a line with the first output.
fn skip(line: &str) -> Option<&str> {
    const MARK: &str = "SKIPPED: ";
    line.strip_prefix(MARK)
        .or_else(|| line.strip_prefix("test ")?.split_once(" ... ").and_then(|(_, rest)| rest.strip_prefix(MARK)))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`
fn result(line: &str) -> Option<(u64, u64, u64)> {
    let (_, rest) = line.split_once("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    let count = |word: &str| counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok());
    Some((count("passed")?, count("failed")?, count("ignored")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, counts: (u64, u64, u64), names: &str) {
        let mut tally = Tally::default();
        output.lines().for_each(|line| tally.line(line));
        assert_eq!((tally.passed(), tally.failed, tally.skipped()), counts, "for:\n{output}");
        let shown: Vec<String> = tally.skips.into_iter().chain(tally.failures).collect();
        assert_eq!(shown.join("|"), names, "for:\n{output}");
    }

    #[test]
    fn result_lines_of_all_test_programs_are_summed() {
        check("", (0, 0, 0), "");
        check("running 0 tests", (0, 0, 0), "");
        check(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.20s\n\
             test a::b ... FAILED\n\
             test result: FAILED. 26 passed; 2 failed; 0 ignored; 0 measured; 9 filtered out; finished in 1s",
            (29, 2, 1),
            "a::b",
        );
        check("test result: ok. many passed", (0, 0, 0), "");
    }

    #[test]
    fn a_test_that_skipped_itself_counts_as_skipped_once() {
        let result = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured";
        check(&format!("SKIPPED: wg: no wireguard-go\n{result}"), (2, 0, 1), "wg: no wireguard-go");
        check(&format!("test a ... SKIPPED: wg: none\nok\n{result}"), (2, 0, 1), "wg: none");
        check(&format!("SKIPPED: wg: none\nSKIPPED: wg: none\n{result}"), (2, 0, 1), "wg: none");
        check(&format!("the word SKIPPED: in a text\n{result}"), (3, 0, 0), "");
    }
}
