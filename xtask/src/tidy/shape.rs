//! How sources are cut: sizes, `lib.rs`, module heads.

use super::Finding;
use super::tree::{Tree, file_name, is_test_file, tests_begin};

/// Lines of code: what one can still hold in the head. With tests: what one can still scroll.
const CODE_LIMIT: usize = 500;
const ALL_LIMIT: usize = 800;
/// Longer heads are read by nobody; what does not fit belongs in ARCHITECTURE.md.
const HEAD_LIMIT: usize = 5;

/// No file over 500 lines of code (without blanks, comments and tests), none over 800 in all.
pub fn sizes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let all = text.lines().count();
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let code = text.lines().take(tests_begin(text)).filter(is_code).count();
        if code > CODE_LIMIT && !is_test_file(path) {
            findings.push(Finding::new(path, format!("{code} lines of code; split it (limit {CODE_LIMIT})")));
        } else if all > ALL_LIMIT {
            findings.push(Finding::new(path, format!("{all} lines in all; split it (limit {ALL_LIMIT})")));
        }
    }
    findings
}

/// A `lib.rs` is a table of contents: docs, attributes, `mod …;` and `use …;`.
pub fn lib_rs(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending("src/lib.rs") {
        let mut open = Open::Nothing;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            match open.next(line) {
                Some(next) => open = next,
                None => {
                    open = Open::Nothing;
                    findings.push(Finding::at(path, index, format!("move it to a module: {line}")));
                }
            }
        }
    }
    findings
}

/// What the line before left unfinished.
enum Open {
    Nothing,
    /// An attribute, with this many brackets open.
    Attribute(isize),
    /// A `use` or `mod`, before its semicolon.
    Item,
}

impl Open {
    /// The state after `line`, None when it does not belong in a `lib.rs`.
    fn next(&self, line: &str) -> Option<Self> {
        let brackets = |line: &str| -> isize {
            line.chars().map(|c| isize::from(c == '[' || c == '(') - isize::from(c == ']' || c == ')')).sum()
        };
        let item = |line: &str| if line.ends_with(';') { Self::Nothing } else { Self::Item };
        let attribute = |open: isize| if open > 0 { Self::Attribute(open) } else { Self::Nothing };
        match self {
            Self::Attribute(open) => Some(attribute(open + brackets(line))),
            Self::Item => Some(item(line)),
            Self::Nothing if line.is_empty() || line.starts_with("//") => Some(Self::Nothing),
            Self::Nothing if line.starts_with("#[") || line.starts_with("#![") => Some(attribute(brackets(line))),
            Self::Nothing => {
                let bare = match line.strip_prefix("pub(") {
                    Some(rest) => rest.split_once(") ").map_or(rest, |(_, bare)| bare),
                    None => line.strip_prefix("pub ").unwrap_or(line),
                };
                let declares = bare.starts_with("mod ") && bare.ends_with(';');
                (declares || bare.starts_with("use ")).then(|| item(line))
            }
        }
    }
}

/// Every source of a crate begins with a `//!` head of at most five lines; that of a crate itself
/// may be longer.
pub fn heads(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs").filter(|(path, _)| path.contains("src/")) {
        let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
        let is_root = matches!(file_name(path), "lib.rs" | "main.rs");
        if lines == 0 {
            findings.push(Finding::new(path, "begin it with //! lines: what it is, why, what it must not know"));
        } else if lines > HEAD_LIMIT && !is_root {
            findings.push(Finding::new(path, format!("its head has {lines} lines; shorten it to {HEAD_LIMIT}")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::*;

    #[test]
    fn files_stay_under_500_lines_of_code_and_800_in_all() {
        let code = "x;\n".repeat(500);
        let padded = format!("{}{code}", "// why\n\n".repeat(150));
        let with_tests = format!("{code}#[cfg(test)]\nmod tests {{\n{}}}\n", "y;\n".repeat(297));
        check(sizes, &[("a.rs", &code), ("b.rs", &padded), ("c.rs", &with_tests)], &[]);
        check(sizes, &[("a.rs", &format!("{code}x;\n"))], &["a.rs: 501 lines of code"]);
        check(sizes, &[("a.rs", &format!("{with_tests}\n"))], &["a.rs: 801 lines in all"]);
        check(sizes, &[("a/tests.rs", &format!("{code}x;\n"))], &[]);
        check(sizes, &[("a/tests/b.rs", &"x;\n".repeat(801))], &["a/tests/b.rs: 801 lines in all"]);
    }

    #[test]
    fn lib_rs_is_docs_modules_and_reexports() {
        let good = "//! Docs.\n#![forbid(\n    unsafe_code\n)]\n\n/// What.\npub mod a;\nmod b;\n\
                    #[cfg(test)]\nmod tests;\npub use a::{\n    B,\n    C,\n};\npub(crate) use b::D;\nuse x::y;\n";
        check(lib_rs, &[("crates/a/src/lib.rs", good)], &[]);
        for bad in ["fn f() {}", "const X: u8 = 1;", "mod inline {", "pub struct S;", "pub(crate) mod x {", "use_it!()"]
        {
            let expected = format!("crates/a/src/lib.rs:17: move it to a module: {bad}");
            check(lib_rs, &[("crates/a/src/lib.rs", &format!("{good}{bad}"))], &[&expected]);
        }
        check(lib_rs, &[("crates/a/src/other.rs", "fn f() {}")], &[]);
    }

    #[test]
    fn a_module_begins_with_a_head_of_one_to_five_lines() {
        let head = |lines: usize| "//! x\n".repeat(lines) + "\nfn f() {}\n";
        check(heads, &[("crates/a/src/b.rs", &head(1)), ("crates/a/src/c.rs", &head(5))], &[]);
        check(heads, &[("crates/a/src/b.rs", &head(0))], &["crates/a/src/b.rs: begin it with"]);
        check(heads, &[("crates/a/src/b.rs", &head(6))], &["crates/a/src/b.rs: its head has 6 lines"]);
        check(heads, &[("crates/a/src/lib.rs", &head(20)), ("xtask/src/main.rs", &head(9))], &[]);
        check(heads, &[("crates/a/src/lib.rs", &head(0))], &["crates/a/src/lib.rs: begin it with"]);
        check(heads, &[("crates/a/tests/b.rs", &head(0))], &[]);
    }
}
