//! The workspace's texts, read once: sources, manifests, documents, and the names of all else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};

/// Paths are from the root, with `/`.
pub struct Tree {
    /// The texts of `.rs`, `.toml` and `.md` files.
    texts: BTreeMap<String, String>,
    /// Every file and folder.
    paths: BTreeSet<String>,
}

/// Folders with nothing of ours in them.
const FOREIGN: [&str; 3] = ["target", ".git", "node_modules"];
const TEXTS: [&str; 3] = [".rs", ".toml", ".md"];

impl Tree {
    /// Reads everything below `root` that is ours. Symbolic links are named but not followed.
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self { texts: BTreeMap::new(), paths: BTreeSet::new() };
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let here = root.join(&folder);
            let entries = std::fs::read_dir(&here).with_context(|| format!("cannot read {}", here.display()))?;
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                let kind = entry.file_type()?;
                if kind.is_dir() && FOREIGN.contains(&name.as_str()) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path.clone());
                } else if kind.is_file() && TEXTS.iter().any(|end| path.ends_with(end)) {
                    let text = std::fs::read_to_string(entry.path())
                        .with_context(|| format!("cannot read {}", entry.path().display()))?;
                    tree.texts.insert(path.clone(), text);
                }
                tree.paths.insert(path);
            }
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let texts: BTreeMap<String, String> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let mut paths = BTreeSet::new();
        for path in texts.keys() {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            paths.extend(ends.map(|end| path[..end].to_owned()));
        }
        Self { texts, paths }
    }

    /// Files whose path ends like this, with their texts.
    pub fn ending(&self, end: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .filter(move |(path, _)| path.ends_with(end))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub fn has(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Files that hold nothing but tests.
pub fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || matches!(file_name(path), "tests.rs" | "test_support.rs")
}

/// The line (from 0) at which a source's inline test module begins; its length if there is none.
/// A declaration (`mod tests;`) begins nothing: code may follow.
pub fn tests_begin(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let found = lines.iter().enumerate().position(|(index, line)| {
        if !line.starts_with("#[cfg(test)]") {
            return false;
        }
        let next = lines[index + 1..]
            .iter()
            .find(|line| !(line.is_empty() || line.starts_with("#[") || line.starts_with("//")));
        next.is_some_and(|line| {
            let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
            line.starts_with("mod ") && !line.ends_with(';')
        })
    });
    found.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        assert_eq!(tests_begin(text), expected, "for:\n{text}");
    }

    #[test]
    fn tests_begin_at_an_inline_test_module() {
        check("a\nb", 2);
        check("a\n#[cfg(test)]\nmod tests {\n", 1);
        check("a\n#[cfg(test)]\n#[allow(x)]\n// why\npub(crate) mod tests {\n", 1);
        check("#[cfg(test)]\nmod tests;\nfn code() {}", 3);
        check("#[cfg(test)]\nfn helper() {}\n", 2);
    }
}
