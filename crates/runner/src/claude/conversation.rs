//! The conversation as Claude Code keeps it on disk: a file of JSON lines, one a row, only ever
//! appended to. Read to know what a killed process had stored. It must not be written here.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::arguments::is_uuid;
use super::wire::{list, text};

/// Whether a message is in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed {
    /// It is, and the model has begun to answer it. Its tools run only after that.
    Yes,
    /// It is, and nothing of an answer is: no tool has run for it. Never write it again: it would
    /// be run again, and the model would read it twice.
    YesUnanswered,
    /// It is not. It may have been read from the pipe and announced as started; nothing came of it.
    No,
}

/// The file of a conversation, in whichever project's folder it is; `None` when there is none, as
/// before its first message was stored.
///
/// # Errors
/// When the folders cannot be read: then nothing is known.
pub fn conversation_file(config_dir: &Path, id: &str) -> io::Result<Option<PathBuf>> {
    if !is_uuid(id) {
        return Ok(None);
    }
    let projects = match fs::read_dir(config_dir.join("projects")) {
        Ok(projects) => projects,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let mut newest = None;
    for project in projects {
        let file = project?.path().join(format!("{id}.jsonl"));
        match fs::metadata(&file) {
            Ok(meta) if meta.is_file() => newest = newest.max(Some((meta.modified()?, file))),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(newest.map(|(_, file)| file))
}

/// Whether the message is in the conversation's file. Ask only when the process is gone.
///
/// # Errors
/// When the file cannot be read: then nothing is known. A missing one is a [`Landed::No`].
pub fn landed(conversation_file: &Path, id: &str) -> io::Result<Landed> {
    let mut file = match File::open(conversation_file) {
        Ok(file) => BufReader::new(file),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Landed::No),
        Err(e) => return Err(e),
    };
    let mut landed = Landed::No;
    let mut line = Vec::new();
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line)? == 0 {
            return Ok(landed);
        }
        // Rows of megabytes are common, and those before the message are not its answer.
        if landed == Landed::No && !holds(&line, id.as_bytes()) {
            continue;
        }
        // Torn by the kill, or by what was appended to such a row: it was never there.
        let Ok(row) = serde_json::from_slice::<Value>(&line) else { continue };
        match landed {
            _ if row["isSidechain"] == Value::Bool(true) => {}
            _ if is_message(&row, id) => landed = Landed::YesUnanswered,
            Landed::No => {}
            _ if is_answer(&row) => return Ok(Landed::Yes),
            _ if is_prompt(&row) => return Ok(landed),
            _ => {}
        }
    }
}

fn holds(line: &[u8], id: &[u8]) -> bool {
    line.windows(id.len().max(1)).any(|part| part == id)
}

/// By itself; as one of several that waited and were put into one; folded into a running turn.
fn is_message(row: &Value, id: &str) -> bool {
    match text(row, "type") {
        "user" => text(row, "uuid") == id || list(row, "mergedSendUuids").iter().any(|merged| merged == id),
        "attachment" => text(&row["attachment"], "source_uuid") == id,
        _ => false,
    }
}

/// The model's own, not what is put in its place after an error or an interruption.
fn is_answer(row: &Value) -> bool {
    text(row, "type") == "assistant" && text(&row["message"], "model") != "<synthetic>"
}

/// Somebody's next message, or the note that a turn was interrupted: what follows answers that.
fn is_prompt(row: &Value) -> bool {
    let is_result = |block: &Value| text(block, "type") == "tool_result";
    text(row, "type") == "user"
        && row["isMeta"] != Value::Bool(true)
        && !list(&row["message"], "content").iter().any(is_result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000-0000-4000-8000-000000000001";
    const OTHER: &str = "00000000-0000-4000-8000-000000000002";

    fn user(id: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"{id}","message":{{"role":"user","content":[{{"type":"text","text":"x"}}]}}}}"#
        )
    }

    fn assistant(model: &str) -> String {
        format!(r#"{{"type":"assistant","uuid":"a","message":{{"model":"{model}","content":[]}}}}"#)
    }

    #[track_caller]
    fn check(rows: &[&str], expected: Landed) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.jsonl");
        fs::write(&file, rows.join("\n")).unwrap();
        assert_eq!(landed(&file, ID).unwrap(), expected, "{rows:#?}");
    }

    #[test]
    fn a_message_is_landed_when_its_row_is_there() {
        let (mine, answer) = (user(ID), assistant("m"));
        let about = format!(r#"{{"type":"attachment","parentUuid":"{ID}","attachment":{{"type":"date"}}}}"#);
        let queue = format!(r#"{{"type":"queue-operation","operation":"remove","commandUuid":"{ID}"}}"#);
        check(&[], Landed::No);
        check(&[&user(OTHER), &answer, &about, &queue], Landed::No);
        check(&[&mine], Landed::YesUnanswered);
        check(&[&answer, &mine, &about], Landed::YesUnanswered);
        check(&[&mine, &about, &answer], Landed::Yes);
        // Written a second time, answered after that.
        check(&[&mine, &about, &mine, &answer], Landed::Yes);
    }

    #[test]
    fn an_answer_is_the_models_own_and_to_this_message() {
        let (mine, other, answer) = (user(ID), user(OTHER), assistant("m"));
        let made_up = assistant("<synthetic>");
        let meta = user("m").replace(r#""type":"user","#, r#""type":"user","isMeta":true,"#);
        let result = r#"{"type":"user","uuid":"r","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#;
        let helper = answer.replace(r#""type""#, r#""isSidechain":true,"type""#);
        check(&[&mine, &made_up], Landed::YesUnanswered);
        check(&[&mine, &made_up, &other, &answer], Landed::YesUnanswered);
        check(&[&mine, &helper], Landed::YesUnanswered);
        check(&[&mine, &meta, &answer], Landed::Yes);
        check(&[&mine, result, &answer], Landed::Yes);
    }

    #[test]
    fn messages_that_waited_are_found_where_they_went() {
        let merged = user(OTHER).replace(r#""uuid""#, &format!(r#""mergedSendUuids":["{ID}"],"uuid""#));
        check(&[&merged, &assistant("m")], Landed::Yes);
        let folded =
            format!(r#"{{"type":"attachment","attachment":{{"type":"queued_command","source_uuid":"{ID}"}}}}"#);
        check(&[&user(OTHER), &assistant("m"), &folded], Landed::YesUnanswered);
        check(&[&user(OTHER), &assistant("m"), &folded, &assistant("m")], Landed::Yes);
    }

    #[test]
    fn a_torn_row_was_never_there() {
        let mine = user(ID);
        for cut in 1..mine.len() {
            check(&[&user(OTHER), mine.get(..cut).unwrap()], Landed::No);
        }
        // A later process appended to it.
        check(&[&format!("{}{}", mine.get(..40).unwrap(), user(OTHER)), &assistant("m")], Landed::No);
    }

    #[test]
    fn a_conversation_is_found_in_any_project_and_the_newest_counts() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(conversation_file(dir.path(), ID).unwrap(), None);
        let place = |project: &str| {
            let folder = dir.path().join("projects").join(project);
            fs::create_dir_all(&folder).unwrap();
            folder.join(format!("{ID}.jsonl"))
        };
        fs::write(place("-b"), "x").unwrap();
        fs::write(place("-a").with_file_name("other.jsonl"), "x").unwrap();
        fs::write(dir.path().join("projects/a-file"), "x").unwrap();
        assert_eq!(conversation_file(dir.path(), ID).unwrap(), Some(place("-b")));
        fs::write(place("-a"), "x").unwrap();
        let later = fs::metadata(place("-b")).unwrap().modified().unwrap() + std::time::Duration::from_secs(5);
        File::options().write(true).open(place("-a")).unwrap().set_modified(later).unwrap();
        assert_eq!(conversation_file(dir.path(), ID).unwrap(), Some(place("-a")));
        assert_eq!(conversation_file(dir.path(), "../../etc/passwd").unwrap(), None);
        assert_eq!(landed(&place("-c"), ID).unwrap(), Landed::No);
    }
}
