//! What was said in a conversation of Claude Code, by the file that it keeps: also what was said in a
//! terminal, before the daemon had it. Must not write there.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::wire::text;
use crate::history::{self, History, Role, Row};

/// Characters of one text: a screen or two; the conversation has it whole.
const TEXT: usize = 8_000;

/// The newest `limit` things that were said before that time (RFC 3339 in UTC with milliseconds; `None`
/// = now), oldest first. What tools were given and returned is not among it.
///
/// # Errors
/// The file cannot be read.
pub fn history(conversation_file: &Path, before: Option<&str>, limit: usize) -> io::Result<History> {
    history::read(&File::open(conversation_file)?, before, limit, row)
}

/// The members of a row that matter; the rest is passed over unread.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type", default)]
    kind: String,
    timestamp: Option<String>,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    attachment: Value,
}

fn row(row: &[u8]) -> Option<Row> {
    let line: Line = serde_json::from_slice(row).ok()?;
    let is_theirs = !(line.is_meta || line.is_sidechain || line.is_compact_summary);
    let said = match line.kind.as_str() {
        _ if !is_theirs => None,
        "user" => Some((Role::User, words(&line.message["content"]))),
        "assistant" if text(&line.message, "model") != "<synthetic>" => {
            Some((Role::Assistant, words(&line.message["content"])))
        }
        // Read while a turn ran.
        "attachment" if text(&line.attachment, "type") == "queued_command" => {
            Some((Role::User, words(&line.attachment["prompt"])))
        }
        _ => None,
    };
    Some(Row { time: line.timestamp, said: said.filter(|(_, words)| !words.is_empty()) })
}

/// The texts of a message.
fn words(content: &Value) -> String {
    let whole = match content {
        Value::String(words) => words.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter(|block| text(block, "type") == "text").map(|block| text(block, "text"));
            texts.collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    };
    let whole = whole.trim();
    match whole.char_indices().nth(TEXT) {
        None => whole.to_string(),
        Some((at, _)) => format!("{}…", &whole[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_and_the_model_said_is_history_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.jsonl");
        let rows = [
            r#"{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-30T09:00:00.000Z"}"#,
            r#"{"type":"user","timestamp":"2026-11-30T09:00:01.000Z","message":{"role":"user","content":"By hand, as a text."}}"#,
            r#"{"type":"user","isMeta":true,"timestamp":"2026-11-30T09:00:02.000Z","message":{"role":"user","content":"meta"}}"#,
            r#"{"type":"assistant","timestamp":"2026-11-30T09:00:03.000Z","message":{"model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"One."},{"type":"text","text":"Two."}]}}"#,
            r#"{"type":"assistant","timestamp":"2026-11-30T09:00:04.000Z","message":{"model":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#,
            r#"{"type":"user","timestamp":"2026-11-30T09:00:05.000Z","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"secret"}]}}"#,
            r#"{"type":"attachment","timestamp":"2026-11-30T09:00:06.000Z","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"In between."}]}}"#,
            r#"{"type":"attachment","timestamp":"2026-11-30T09:00:07.000Z","attachment":{"type":"date","date":"2026-11-30"}}"#,
            r#"{"type":"assistant","isSidechain":true,"timestamp":"2026-11-30T09:00:08.000Z","message":{"model":"m","content":[{"type":"text","text":"a helper"}]}}"#,
            r#"{"type":"assistant","timestamp":"2026-11-30T09:00:09.000Z","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}"#,
            r#"{"type":"user","isCompactSummary":true,"timestamp":"2026-11-30T09:00:10.000Z","message":{"content":"This session is being continued"}}"#,
            r#"{"type":"api-request-blob","timestamp":"2026-11-30T09:00:11.000Z","message":{"role":"user","content":"again"}}"#,
            r#"{"type":"user","timestamp":"2026-11-30T09:00:12.000Z","message":{"content":"torn"#,
        ];
        std::fs::write(&file, rows.join("\n")).unwrap();
        let read = |before: Option<&str>, limit| {
            let history = history(&file, before, limit).unwrap();
            let said = history.said.iter().map(|s| format!("{} {:?} {}", &s.time[17..19], s.role, s.text));
            (said.collect::<Vec<_>>(), history.next)
        };
        let all = ["01 User By hand, as a text.", "03 Assistant One.\n\nTwo.", "06 User In between."];
        assert_eq!(read(None, 30), (all.map(String::from).to_vec(), None));
        assert_eq!(read(Some("2026-11-30T09:00:06.000Z"), 1).0, [all[1]]);
        assert!(super::history(&dir.path().join("none"), None, 1).is_err());
    }
}
