//! Files that came of a task, written into a directory of the caller's. Names are a peer's words: what
//! is left of them is a name in that directory and nothing else, and nothing that is there is replaced.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use shrooms_a2a::PartContent;
use shrooms_core::file_name;

use crate::report::Failure;
use crate::task::Known;

/// Numbers that are tried where a name is taken.
const MAX_NUMBER: u32 = 1_000;

/// Writes the files; gives their paths. Addresses are not fetched: they are shown with the task.
///
/// # Errors
/// The directory or a file cannot be written; what was written before stays.
pub fn files(known: &Known, dir: &Path) -> Result<Vec<String>, Failure> {
    let cannot = |what: &Path, error: std::io::Error| Failure::new(format!("cannot write {}: {error}", what.display()));
    std::fs::create_dir_all(dir).map_err(|error| cannot(dir, error))?;
    let mut saved = Vec::new();
    for part in known.files() {
        let PartContent::Raw(bytes) = &part.content else { continue };
        let name = file_name::cleaned(part.filename.as_deref().unwrap_or("file"));
        let (mut file, path) = open(dir, &name).map_err(|error| cannot(&dir.join(&name), error))?;
        file.write_all(bytes).map_err(|error| cannot(&path, error))?;
        saved.push(path.display().to_string());
    }
    Ok(saved)
}

fn open(dir: &Path, name: &str) -> std::io::Result<(File, std::path::PathBuf)> {
    for number in 1..MAX_NUMBER {
        let path = dir.join(file_name::numbered(name, number));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return Ok((opened?, path)),
        }
    }
    Err(std::io::Error::new(ErrorKind::AlreadyExists, "every name like it is taken"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_land_in_the_directory_and_replace_nothing() {
        let top = tempfile::tempdir().unwrap();
        let dir = top.path().join("out");
        let file = |name: &str, raw: &str| json!({"artifactId": name, "parts": [{"raw": raw, "filename": name}]});
        let artifacts = json!([file("../../a.txt", "b25l"), file("a.txt", "dHdv"), file("..", "")]);
        let task = json!({"id": "t:1", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": artifacts});
        let known = Known::read(json!({"task": task}), "t:1").unwrap();
        let saved = files(&known, &dir).unwrap();
        let names: Vec<_> = saved.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["a.txt", "a-2.txt", "file"]);
        assert_eq!(std::fs::read_to_string(dir.join("a-2.txt")).unwrap(), "two");
        assert!(known.text().contains("(file: a.txt, 3 bytes)"), "{}", known.text());
    }
}
