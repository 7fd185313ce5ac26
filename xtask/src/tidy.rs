//! The house rules that neither rustc nor clippy knows, as a table of pure functions over the
//! sources. A rule gets the files' texts and says what is wrong where; it must not touch the disk.

mod deps;
mod docs;
mod shape;
mod tree;
mod words;

use std::path::Path;

use anyhow::Result;

use crate::tally::Tally;
use tree::Tree;

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// `path` or `path:line`, from the root.
    place: String,
    /// What is wrong, and what to do.
    text: String,
}

impl Finding {
    fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), text: text.into() }
    }

    /// `index` counts from 0, as lines are enumerated; people count from 1.
    fn at(path: &str, index: usize, text: impl Into<String>) -> Self {
        Self::new(format!("{path}:{}", index + 1), text)
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [(&str, Rule); 13] = [
    ("files stay small", shape::sizes),
    ("lib.rs holds no code", shape::lib_rs),
    ("every module says what it is", shape::heads),
    ("nothing is left undone", words::undone),
    ("no test is ignored", words::ignored),
    ("tests do not sleep", words::sleeps),
    ("crates know only what is to their left", deps::directions),
    ("one crate per outside thing", deps::owners),
    ("every crate takes the workspace's lints", deps::lints),
    ("core's bans include the workspace's", deps::core_bans),
    ("every end-to-end test file is in a suite", deps::agent_tests),
    ("links in the docs resolve", docs::links),
    ("decisions are numbered", docs::decisions),
];

/// Checks the workspace at `root` and prints what it finds. True when nothing is wrong.
///
/// # Errors
/// When the sources cannot be read.
pub fn run(root: &Path) -> Result<bool> {
    let tally = tally(root)?;
    println!("{} rules kept, {} broken", tally.passed(), tally.failed);
    Ok(tally.failed == 0)
}

/// The same, each rule counted as one test.
///
/// # Errors
/// When the sources cannot be read.
pub fn tally(root: &Path) -> Result<Tally> {
    let tree = Tree::read(root)?;
    let mut tally = Tally::default();
    for (name, rule) in RULES {
        let mut findings = rule(&tree);
        findings.sort();
        for Finding { place, text } in &findings {
            println!("{place}: {text}");
        }
        if findings.is_empty() {
            tally.pass();
        } else {
            tally.fail(format!("tidy: {name} ({} found)", findings.len()));
        }
    }
    Ok(tally)
}

#[cfg(test)]
mod check {
    use super::{Rule, Tree};

    /// Runs a rule over these files and compares `place: text` of what it finds, a line each, where
    /// each expected line must begin the found one.
    #[track_caller]
    pub fn check(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
        let tree = Tree::of(files);
        let mut findings = rule(&tree);
        findings.sort();
        let got: Vec<String> = findings.iter().map(|finding| format!("{}: {}", finding.place, finding.text)).collect();
        let same =
            got.len() == expected.len() && got.iter().zip(expected).all(|(got, expected)| got.starts_with(expected));
        assert!(same, "\n   got: {got:#?}\nwanted: {expected:#?}");
    }
}
