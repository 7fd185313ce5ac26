//! Documents: relative links lead somewhere, decisions are numbered without gaps.

use super::Finding;
use super::tree::{Tree, file_name};

const DECISIONS: &str = "docs/adr/";

/// Every relative link of a Markdown file names a file or folder of the workspace.
pub fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".md") {
        for (index, target) in targets(text) {
            let file = target.split(['#', '?']).next().unwrap_or_default();
            if file.is_empty() || is_elsewhere(file) {
                continue;
            }
            let file = file.replace("%20", " ");
            if !resolve(path, &file).is_some_and(|path| tree.has(&path)) {
                findings.push(Finding::at(path, index, format!("the link leads nowhere: {target}")));
            }
        }
    }
    findings
}

/// `https:`, `mailto:` and the like.
fn is_elsewhere(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// The path that `link` in the file `from` means; None when it leaves the workspace.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if link.starts_with('/') {
        return None;
    }
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The targets of `[text](target)` and `[label]: target`, with their lines, outside of code.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        // Inside backticks nothing is a link.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let rests = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
        found.extend(rests.filter_map(target).map(|target| (index, target)));
        if let Some((label, rest)) = bare.split_once("]: ")
            && label.starts_with('[')
            && !label.starts_with("[^")
        {
            found.extend(rest.split_whitespace().next().map(|target| (index, target.to_owned())));
        }
    }
    found
}

/// What stands before the closing parenthesis, without a title; parentheses inside may pair up.
fn target(rest: &str) -> Option<String> {
    if let Some(rest) = rest.strip_prefix('<') {
        return rest.split_once('>').map(|(target, _)| target.to_owned());
    }
    let mut depth = 0;
    let end = rest.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    })?;
    rest[..end].split_whitespace().next().map(str::to_owned)
}

/// Decisions are files NNNN-*.md with every number from the first one on, once.
pub fn decisions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut numbers: Vec<(u32, &str)> = Vec::new();
    for path in tree.paths().filter(|path| path.starts_with(DECISIONS)) {
        let name = file_name(path);
        let number = name
            .split_once('-')
            .filter(|(number, rest)| number.len() == 4 && rest.len() > 3 && rest.ends_with(".md"))
            .and_then(|(number, _)| number.parse::<u32>().ok());
        match number {
            Some(number) => numbers.push((number, path)),
            None if name == "README.md" => {}
            None => findings.push(Finding::new(path, "name it NNNN-title.md")),
        }
    }
    numbers.sort_unstable();
    for pair in numbers.windows(2) {
        let ((before, _), (number, path)) = (pair[0], pair[1]);
        if number != before + 1 {
            findings.push(Finding::new(path, format!("follows {before:04}: give it the number {:04}", before + 1)));
        }
    }
    match numbers.first() {
        Some((first, path)) if *first > 1 => {
            findings.push(Finding::new(*path, "is the first decision: give it the number 0001"));
        }
        _ => {}
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::check::check;
    use super::*;

    #[track_caller]
    fn check_links(text: &str, expected: &[&str]) {
        let expected: Vec<String> = expected.iter().map(|text| format!("docs/a.md:{text}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(links, &[("docs/a.md", text), ("docs/b (1).md", ""), ("docs/sub/c.md", "[x](../a.md)")], &expected);
    }

    #[test]
    fn relative_links_lead_to_files_and_folders() {
        check_links("[a](a.md) [b](sub/c.md#x) ![c](./sub) [d](../docs) [e](..) [f](sub/c.md \"title\")", &[]);
        check_links("[a](<b (1).md>) [b](b%20(1).md) [c]: sub/c.md", &[]);
        check_links("[a](https://x.org/y) [b](mailto:x@y) [c](#here)", &[]);
        check_links("```\n[a](no.md)\n```\n`[a](no.md)` ~~~\n~~~\n[a](no.md)\n~~~\n[^1]: no.md", &[]);
        check_links("x\n[a](no.md)", &["2: the link leads nowhere: no.md"]);
        check_links("[a](sub/no.md#x) [b](sub/c.md)", &["1: the link leads nowhere: sub/no.md#x"]);
        check_links("[a](../../etc) [b](/docs/a.md)", &["1: the link leads nowhere: ../../etc", "1: the link"]);
        check_links("[a]: no.md", &["1: the link leads nowhere: no.md"]);
        check_links("`x` [a](no.md) `y`", &["1: the link leads nowhere: no.md"]);
    }

    #[test]
    fn decisions_are_numbered_without_gaps() {
        let adr = |names: &[&str], expected: &[&str]| {
            let paths: Vec<String> = names.iter().map(|name| format!("docs/adr/{name}")).collect();
            let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
            check(decisions, &files, expected);
        };
        adr(&[], &[]);
        adr(&["0001-a.md", "0002-b.md", "README.md"], &[]);
        adr(&["0001-a.md", "0003-b.md"], &["docs/adr/0003-b.md: follows 0001: give it the number 0002"]);
        adr(&["0001-a.md", "0001-b.md"], &["docs/adr/0001-b.md: follows 0001: give it the number 0002"]);
        adr(&["0007-a.md"], &["docs/adr/0007-a.md: is the first decision"]);
        adr(&["1-a.md", "notes.md"], &["docs/adr/1-a.md: name it", "docs/adr/notes.md: name it"]);
    }
}
