//! What Claude Code's files say that a process of it used: totals that it stores when it ends, and
//! the figures of each answer, its helpers' in files of their own. For what no turn's end told, as
//! after a kill. Ask when nothing of the process runs. It must not know what was counted before.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::usage::{stored, usage};
use super::wire::text;
use crate::codec::{Total, Usage};

/// What was found behind a place in a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The totals that were stored last, if any were: they include all that is before them.
    pub totals: Option<BTreeMap<String, Total>>,
    /// Answers behind those totals, by id, with their model.
    pub after: BTreeMap<String, (String, Usage)>,
    /// All answers, helpers' among them.
    pub answers: BTreeMap<String, (String, Usage)>,
}

/// How long a conversation's file is before a process begins, and what totals it will begin with.
///
/// # Errors
/// When the file cannot be read; one that is not there is empty.
pub fn known(file: &Path) -> io::Result<(u64, BTreeMap<String, Total>)> {
    let mut totals = BTreeMap::new();
    let len = rows(file, 0, b"\"cost-state\"", |row| totals = stored(row).unwrap_or(std::mem::take(&mut totals)))?;
    Ok((len, totals))
}

/// What a process used, by the conversation's file: behind its first `from` bytes, and behind the
/// answer `message`, if one was counted already. Answers of helpers count when they were given later
/// than `at` (RFC 3339 in UTC with milliseconds, as the rows have it).
///
/// # Errors
/// When a file cannot be read: then nothing is known.
pub fn since(file: &Path, from: u64, message: Option<&str>, at: &str) -> io::Result<Found> {
    let mut found = Found::default();
    // Rows are written in order: where the counted answer never came to be one, nothing later did.
    let mut behind = message.is_none();
    rows(file, from, b"", |row| {
        if let Some(totals) = stored(row) {
            found.totals = Some(totals);
            found.after.clear();
        }
        let Some((id, model, used)) = answer(row) else { return };
        if Some(id) == message {
            behind = true;
        } else if behind {
            add(&mut found.after, id, model, used);
            add(&mut found.answers, id, model, used);
        }
    })?;
    for helper in helpers(file)? {
        rows(&helper, 0, b"\"usage\"", |row| {
            if text(row, "timestamp") > at
                && let Some((id, model, used)) = answer(row)
            {
                add(&mut found.answers, id, model, used);
            }
        })?;
    }
    Ok(found)
}

/// One answer is several rows, one a block, and the last has its figures.
fn add(answers: &mut BTreeMap<String, (String, Usage)>, id: &str, model: &str, used: Usage) {
    let known = answers.entry(id.to_owned()).or_insert_with(|| (model.to_owned(), Usage::default()));
    known.1 = known.1.max(used);
}

fn answer(row: &Value) -> Option<(&str, &str, Usage)> {
    let message = &row["message"];
    let (id, model) = (text(message, "id"), text(message, "model"));
    let is_one = text(row, "type") == "assistant" && !id.is_empty() && model != "<synthetic>";
    is_one.then(|| (id, model, usage(&message["usage"])))
}

/// Files of the conversation's helpers: `ID/subagents/*.jsonl` beside `ID.jsonl`.
fn helpers(file: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let files = match fs::read_dir(file.with_extension("").join("subagents")) {
        Ok(files) => files,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let paths: io::Result<Vec<_>> = files.map(|entry| entry.map(|e| e.path())).collect();
    Ok(paths?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect())
}

/// Each whole row that holds `part`, from a place on; the length of the file. A file that is shorter
/// than that place was written anew: nothing in it is known to come later.
fn rows(file: &Path, from: u64, part: &[u8], mut each: impl FnMut(&Value)) -> io::Result<u64> {
    let mut file = match File::open(file) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(e),
    };
    let len = file.metadata()?.len();
    if len < from {
        return Ok(len);
    }
    file.seek(SeekFrom::Start(from))?;
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line)? == 0 {
            return Ok(len);
        }
        // Rows of megabytes are common; a torn one was never there.
        let holds = part.is_empty() || line.windows(part.len()).any(|piece| piece == part);
        if holds && let Ok(row) = serde_json::from_slice::<Value>(&line) {
            each(&row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assistant(id: &str, output: u64) -> String {
        format!(
            r#"{{"type":"assistant","timestamp":"2026-11-30T09:00:0{}.000Z","message":{{"id":"{id}","model":"m","usage":{{"input_tokens":10,"output_tokens":{output},"cache_read_input_tokens":2,"cache_creation_input_tokens":3}}}}}}"#,
            output % 10
        )
    }

    fn cost(input: u64) -> String {
        format!(
            r#"{{"type":"cost-state","modelUsage":{{"m":{{"inputTokens":{input},"outputTokens":1,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.5}}}}}}"#
        )
    }

    /// `id=output …` of the answers, and of the totals the input.
    fn shown(found: &Found) -> String {
        let all = |answers: &BTreeMap<String, (String, Usage)>| {
            answers.iter().map(|(id, (_, used))| format!("{id}={}", used.output)).collect::<Vec<_>>().join(" ")
        };
        let totals = found.totals.as_ref().map_or(0, |t| t.values().map(|t| t.usage.input).sum());
        format!("{} | {totals} + {}", all(&found.answers), all(&found.after))
    }

    #[track_caller]
    fn check(rows: &[String], skip: usize, message: Option<&str>, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.jsonl");
        fs::write(&file, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
        let from = rows.iter().take(skip).map(|row| row.len() as u64 + 1).sum();
        assert_eq!(shown(&since(&file, from, message, "").unwrap()), expected, "{rows:#?}");
    }

    #[test]
    fn what_is_behind_the_place_and_the_counted_answer_is_found_once_each() {
        let [a, b, c] = [assistant("a", 1), assistant("b", 2), assistant("c", 3)];
        let synthetic = a.replace("\"m\"", "\"<synthetic>\"");
        check(&[], 0, None, " | 0 + ");
        check(&[a.clone(), b.clone()], 0, None, "a=1 b=2 | 0 + a=1 b=2");
        check(&[a.clone(), b.clone(), c.clone()], 1, None, "b=2 c=3 | 0 + b=2 c=3");
        check(&[a.clone(), b.clone(), c.clone()], 0, Some("a"), "b=2 c=3 | 0 + b=2 c=3");
        // It was counted, and never came to be a row.
        check(&[a.clone(), b.clone()], 0, Some("c"), " | 0 + ");
        // A row for each block, the last has the figures.
        check(&[assistant("a", 1), assistant("a", 9), assistant("a", 1)], 0, None, "a=9 | 0 + a=9");
        check(&[synthetic, "torn{".into(), c.clone()], 0, None, "c=3 | 0 + c=3");
        check(&[a.clone(), cost(7), b, cost(9), c], 1, None, "b=2 c=3 | 9 + c=3");
        check(&[a, cost(7)], 2, None, " | 0 + ");
    }

    #[test]
    fn a_file_that_was_written_anew_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.jsonl");
        fs::write(&file, assistant("a", 1)).unwrap();
        assert_eq!(since(&file, 100_000, None, "").unwrap(), Found::default());
    }

    #[test]
    fn answers_of_helpers_count_by_their_time() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.jsonl");
        let helpers = dir.path().join("c/subagents");
        fs::create_dir_all(&helpers).unwrap();
        fs::write(&file, assistant("a", 1)).unwrap();
        fs::write(helpers.join("agent-1.jsonl"), format!("{}\n{}\n", assistant("h4", 4), assistant("h6", 6))).unwrap();
        fs::write(helpers.join("agent-1.meta.json"), assistant("x", 9)).unwrap();
        fs::write(helpers.join("agent-2.jsonl"), assistant("h5", 5)).unwrap();
        for (at, expected) in [
            ("", "a=1 h4=4 h5=5 h6=6 | 0 + a=1"),
            ("2026-11-30T09:00:04.000Z", "a=1 h5=5 h6=6 | 0 + a=1"),
            ("2026-11-30T09:00:06.000Z", "a=1 | 0 + a=1"),
        ] {
            assert_eq!(shown(&since(&file, 0, None, at).unwrap()), expected, "{at}");
        }
    }

    #[test]
    fn a_process_begins_with_the_totals_that_were_stored_last() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.jsonl");
        assert_eq!(known(&file).unwrap(), (0, BTreeMap::new()));
        let said = r#"{"type":"user","message":{"content":"a \"cost-state\" is none"}}"#;
        let text = [assistant("a", 1), cost(7), cost(9), said.into(), assistant("b", 2)].join("\n");
        fs::write(&file, &text).unwrap();
        let (len, totals) = known(&file).unwrap();
        assert_eq!(len, text.len() as u64);
        let total = totals["m"];
        assert_eq!((total.usage.input, total.usage.output, total.cost_usd, total.guessed), (9, 1, 0.5, false));
    }
}
