//! Words that sources must not hold: what is left undone, ignored tests, tests that sleep.
//! Line by line and by eye, not by syntax: a false alarm is cheaper than a parser.

use super::Finding;
use super::tree::{Tree, is_test_file, tests_begin};

/// Where these words are the subject, not a sin.
const ABOUT_THEM: &str = "xtask/src/tidy/words.rs";

const UNDONE: [&str; 4] = ["todo!(", "unimplemented!(", "FIXME", "XXX"];

/// Test files that may sleep, each with the reason. A wait with a goal is `poll` instead: it ends
/// when the goal is reached, and says which it was when it is not.
const MAY_SLEEP: [(&str, &str); 1] =
    [("crates/runner/tests/runs.rs", "steps of microseconds are the case: a cut at every moment of the start")];

/// Test code that waits is in a helper whose name begins so: both say that there is a goal.
const HELPERS: [&str; 2] = ["poll", "until"];

pub fn undone(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, path, line) in lines(tree) {
        if let Some(word) = UNDONE.iter().find(|word| holds_word(line, word)) {
            findings.push(Finding::at(path, index, format!("do it, or write it down elsewhere: {word}")));
        }
    }
    findings
}

pub fn ignored(tree: &Tree) -> Vec<Finding> {
    lines(tree)
        .filter(|(_, _, line)| line.trim().starts_with("#[ignore"))
        .map(|(index, path, _)| {
            Finding::at(path, index, "an ignored test checks nothing: let it skip itself aloud, or remove it")
        })
        .collect()
}

pub fn sleeps(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in sources(tree) {
        if MAY_SLEEP.iter().any(|(allowed, _)| *allowed == path) {
            continue;
        }
        let first = if is_test_file(path) { 0 } else { tests_begin(text) };
        let mut function = "";
        for (index, line) in text.lines().enumerate().skip(first) {
            function = function_begun(line).unwrap_or(function);
            let is_comment = line.trim().starts_with("//");
            if !is_comment && calls_sleep(line) && !HELPERS.iter().any(|helper| function.starts_with(helper)) {
                let text = "a test must not sleep: wait for the goal in a helper named poll or until, or list the file \
                            with its reason in xtask/src/tidy/words.rs";
                findings.push(Finding::at(path, index, text));
            }
        }
    }
    findings
}

fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.ending(".rs").filter(|(path, _)| *path != ABOUT_THEM)
}

fn lines(tree: &Tree) -> impl Iterator<Item = (usize, &str, &str)> {
    sources(tree).flat_map(|(path, text)| text.lines().enumerate().map(move |(i, line)| (i, path, line)))
}

/// Whether `word` stands there by itself: a template like XXXXXX is no XXX.
fn holds_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let free_after = word.ends_with('(') || !after.starts_with(part);
        !before.ends_with(part) && free_after
    })
}

/// `thread::sleep(`, `time::sleep(` or an imported `sleep(`; not a method or a definition.
fn calls_sleep(line: &str) -> bool {
    line.match_indices("sleep(").any(|(at, _)| {
        let before = &line[..at];
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.') && !before.ends_with("fn ")
    })
}

/// The name of the function whose head this line is.
fn function_begun(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with("//") {
        return None;
    }
    let rest = line.strip_prefix("fn ").or_else(|| line.split_once(" fn ").map(|(_, rest)| rest))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::*;

    #[test]
    fn what_is_left_undone_is_refused() {
        for bad in ["    todo!()", "    x(unimplemented!(\"y\"))", "// FIXME: later", "// XXX", "/* XXX: */"] {
            check(undone, &[("a/src/b.rs", &format!("//! x\n{bad}\n"))], &["a/src/b.rs:2: do it, or write it down"]);
        }
        check(undone, &[("a/src/b.rs", "\"/tmp/x.XXXXXX\" my_todo!() a todo list todo")], &[]);
        check(undone, &[("xtask/src/tidy/words.rs", "XXX"), ("a.md", "XXX")], &[]);
    }

    #[test]
    fn no_test_is_ignored() {
        check(ignored, &[("a.rs", "#[test]\n#[ignore]\n")], &["a.rs:2: an ignored test checks nothing"]);
        check(ignored, &[("a.rs", "    #[ignore = \"slow\"]\n")], &["a.rs:1: an ignored"]);
        check(ignored, &[("a.rs", "#[test] // not #[ignore]\n")], &[]);
    }

    #[test]
    fn tests_wait_in_poll_only() {
        let bad = ["std::thread::sleep(D);", "tokio::time::sleep(D).await;", "sleep(D).await;", "x(|| sleep(D))"];
        for bad in bad {
            let inline = format!("fn code() {{ sleep(D) }}\n#[cfg(test)]\nmod tests {{\nfn t() {{\n{bad}\n}}}}\n");
            check(sleeps, &[("a/src/b.rs", &inline)], &["a/src/b.rs:5: a test must not sleep"]);
            let file = format!("fn t() {{\n{bad}\n}}\n");
            check(sleeps, &[("a/tests/b.rs", &file)], &["a/tests/b.rs:2: a test must not sleep"]);
            check(sleeps, &[("a/src/b/tests.rs", &file)], &["a/src/b/tests.rs:2: a test must not sleep"]);
            let helper = format!("pub async fn poll_until(x: u8) {{\n{bad}\n}}\nfn t() {{ poll_until(1) }}\n");
            check(sleeps, &[("a/tests/b.rs", &helper)], &[]);
            check(sleeps, &[("a/tests/b.rs", &helper.replace("poll_until", "until"))], &[]);
            check(sleeps, &[("a/src/b.rs", &file)], &[]);
        }
        check(
            sleeps,
            &[("a/tests/b.rs", "clock.sleep(D); // sleep(D)\nfn sleep() {}\n\"sleep 5\"\n// sleep(1)")],
            &["a/tests/b.rs:1"],
        );
        check(sleeps, &[("a/tests/b.rs", "clock.sleep(D);\nfn sleep() {}\n\"sleep 5\"\n// sleep(1)")], &[]);
    }
}
