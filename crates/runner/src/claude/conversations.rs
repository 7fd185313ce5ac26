//! The conversations that Claude Code keeps for this user, the newest first, so that one which began
//! in a terminal can be continued. Only the beginning of a file is read, however long it is.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::arguments::is_uuid;
use super::wire::{content_text, list, text};
use crate::proc;

/// Bytes of a file in which its directory and first words are looked for: they are among its first rows.
const HEAD: u64 = 256 * 1024;
/// Files that are looked at, at most: a bound for folders that nobody ever cleaned.
const FILES: usize = 20_000;
/// Characters of the first words.
const TITLE: usize = 200;

/// One conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub id: String,
    /// The directory that it began in; empty where it does not say.
    pub dir: String,
    /// What a person said first, one line of at most 200 characters.
    pub title: String,
    /// When it was last written to.
    pub last: SystemTime,
}

/// The newest `limit` in which a person has said something, without those that `skip` names.
///
/// # Errors
/// The folders cannot be read. A file that cannot is left out.
pub fn conversations(config_dir: &Path, limit: usize, skip: impl Fn(&str) -> bool) -> io::Result<Vec<Kept>> {
    let mut files = files(config_dir)?;
    files.sort_by_key(|(last, ..)| std::cmp::Reverse(*last));
    let mut found = Vec::new();
    for (last, id, file) in files {
        if found.len() >= limit {
            break;
        }
        if skip(&id) || found.iter().any(|k: &Kept| k.id == id) {
            continue;
        }
        if let Ok(Some((dir, title))) = head(&file) {
            found.push(Kept { id, dir, title, last });
        }
    }
    Ok(found)
}

/// The live process that has a conversation open, as the programs themselves write it down.
///
/// # Errors
/// The folder cannot be read; one that is not there says that there is none.
pub fn open_in(config_dir: &Path, id: &str) -> io::Result<Option<i32>> {
    let entries = match fs::read_dir(config_dir.join("sessions")) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let rows = entries.flatten().take(FILES).filter(|e| e.path().extension().is_some_and(|e| e == "json"));
    // One that is being written, or is gone by now, is nobody's.
    let rows = rows.filter_map(|e| serde_json::from_slice::<Value>(&fs::read(e.path()).ok()?).ok());
    let lives = |row: &Value| -> Option<i32> {
        let pid = i32::try_from(row["pid"].as_i64()?).ok()?;
        let alive = proc::look(pid).filter(|p| !p.dead)?;
        // The number may be another's by now.
        let same = text(row, "procStart").parse().map_or(true, |start: u64| start == alive.start);
        (text(row, "sessionId") == id && same).then_some(pid)
    };
    Ok(rows.filter_map(|row| lives(&row)).next())
}

fn files(config_dir: &Path) -> io::Result<Vec<(SystemTime, String, PathBuf)>> {
    let projects = match fs::read_dir(config_dir.join("projects")) {
        Ok(projects) => projects,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut all = Vec::new();
    for project in projects {
        // A file, or a folder that is not ours to read, has no conversation for us.
        let Ok(entries) = fs::read_dir(project?.path()) else { continue };
        for entry in entries.flatten().take(FILES - all.len().min(FILES)) {
            let file = entry.path();
            let id = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let is_one = file.extension().is_some_and(|e| e == "jsonl") && is_uuid(&id);
            if let Ok(meta) = entry.metadata()
                && is_one
                && meta.is_file()
            {
                all.push((meta.modified()?, id, file));
            }
        }
    }
    Ok(all)
}

/// Its directory and what was said first; `None` when nobody said anything.
fn head(file: &Path) -> io::Result<Option<(String, String)>> {
    let mut rows = BufReader::new(File::open(file)?.take(HEAD));
    let (mut dir, mut line) = (String::new(), Vec::new());
    loop {
        line.clear();
        if rows.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let Ok(row) = serde_json::from_slice::<Value>(&line) else { continue };
        if dir.is_empty() {
            dir = text(&row, "cwd").to_owned();
        }
        if let Some(said) = said(&row) {
            return Ok(Some((dir, said)));
        }
    }
}

/// A person's words, in one line.
fn said(row: &Value) -> Option<String> {
    let is_result = |block: &Value| text(block, "type") == "tool_result";
    let content = &row["message"]["content"];
    let by_person = text(row, "type") == "user"
        && row["isMeta"] != Value::Bool(true)
        && row["isSidechain"] != Value::Bool(true)
        && !list(&row["message"], "content").iter().any(is_result);
    let words = content_text(content);
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(TITLE).collect();
    (by_person && !line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const IDS: [&str; 4] = [
        "00000000-0000-4000-8000-000000000001",
        "00000000-0000-4000-8000-000000000002",
        "00000000-0000-4000-8000-000000000003",
        "00000000-0000-4000-8000-000000000004",
    ];

    #[test]
    fn a_conversation_is_open_where_a_live_process_says_so() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(open_in(home.path(), IDS[0]).unwrap(), None);
        let folder = home.path().join("sessions");
        fs::create_dir_all(&folder).unwrap();
        let me = proc::look(proc::own_pid()).unwrap();
        let write = |pid: i32, id: &str, start: u64| {
            let row = serde_json::json!({"pid": pid, "sessionId": id, "procStart": start.to_string()});
            fs::write(folder.join(format!("{pid}.json")), row.to_string()).unwrap();
        };
        fs::write(folder.join("1.json"), "{torn").unwrap();
        write(me.pid, IDS[0], me.start);
        assert_eq!(open_in(home.path(), IDS[0]).unwrap(), Some(me.pid));
        assert_eq!(open_in(home.path(), IDS[1]).unwrap(), None);
        write(me.pid, IDS[0], me.start + 1);
        assert_eq!(open_in(home.path(), IDS[0]).unwrap(), None, "another process under its number");
    }

    #[test]
    fn what_a_person_began_is_listed_the_newest_first() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(conversations(home.path(), 9, |_| false).unwrap(), []);
        let folder = home.path().join("projects/-src-webapp");
        fs::create_dir_all(&folder).unwrap();
        fs::write(home.path().join("projects/a-file"), "x").unwrap();
        let made = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let write = |n: usize, rows: &[&str]| {
            let file = folder.join(format!("{}.jsonl", IDS[n]));
            fs::write(&file, rows.join("\n")).unwrap();
            File::options().write(true).open(file).unwrap().set_modified(made + Duration::from_secs(n as u64)).unwrap();
        };
        let mode = r#"{"type":"mode","mode":"normal"}"#;
        let meta = r#"{"type":"user","isMeta":true,"cwd":"/src/webapp","message":{"content":"caveat"}}"#;
        let user =
            r#"{"type":"user","cwd":"/src/webapp","message":{"content":[{"type":"text","text":"Fix\n the  build"}]}}"#;
        let plain = r#"{"type":"user","cwd":"/src/webapp","message":{"content":"Hello"}}"#;
        write(0, &[mode, meta, user, plain]);
        write(1, &[mode, "{torn", plain]);
        write(2, &[mode, meta]);
        write(3, &[&"x".repeat(300_000), plain]);
        fs::write(folder.join("no-id.jsonl"), plain).unwrap();
        let found = conversations(home.path(), 9, |_| false).unwrap();
        let shown: Vec<_> = found.iter().map(|k| (k.id.as_str(), k.dir.as_str(), k.title.as_str())).collect();
        assert_eq!(shown, [(IDS[1], "/src/webapp", "Hello"), (IDS[0], "/src/webapp", "Fix the build")]);
        assert_eq!(found[1].last, made);
        assert_eq!(conversations(home.path(), 1, |_| false).unwrap().len(), 1);
        let skipped = conversations(home.path(), 9, |id| id == IDS[1]).unwrap();
        assert_eq!(skipped.iter().map(|k| k.id.as_str()).collect::<Vec<_>>(), [IDS[0]]);
    }
}
