//! What the scripted worker does for a message: the conventions of the official compatibility kits.
//! The kit of 1.0.0 names a behaviour by the beginning of the message's id, the coming suite by the
//! beginning of its text. Pure: how a step is carried out is the program's.

use std::time::Duration;

/// One thing that the worker does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A word on the task, with artifacts as JSON (`{"name", "parts"}` each).
    Say {
        word: &'static str,
        summary: String,
        artifacts: Vec<String>,
    },
    /// Words as they come, before there is a result.
    Print(&'static str),
    Wait(Duration),
}

/// What the worker is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    pub message_id: &'a str,
    pub text: &'a str,
    /// What it asked itself before, if this is an answer to that.
    pub question: &'a str,
}

/// Twice as long as the kit waits for a stream's next event.
const SLOW: Duration = Duration::from_secs(4);
/// Long enough to be seen at work by whoever polls.
const A_WHILE: Duration = Duration::from_secs(1);
/// Longer than any test: it ends by being cancelled.
const FOR_LONG: Duration = Duration::from_secs(600);
/// What the many-turn behaviour asks until it is told `done`.
const MORE: &str = "more input please";

fn say(word: &'static str, summary: impl Into<String>) -> Step {
    Step::Say { word, summary: summary.into(), artifacts: Vec::new() }
}

fn made(word: &'static str, summary: &str, name: &str, part: &str) -> Step {
    let artifacts = vec![format!(r#"{{"name":"{name}","parts":[{part}]}}"#)];
    Step::Say { word, summary: summary.into(), artifacts }
}

/// What to do, in order.
pub fn steps(given: Given<'_>) -> Vec<Step> {
    let by_id =
        ["tck-", "test-resubscribe-message-id", "slow-", "big-"].iter().any(|p| given.message_id.starts_with(p));
    if by_id {
        return by_message_id(given.message_id);
    }
    if given.question == MORE {
        return more(given.text);
    }
    match given.text.split_whitespace().next() {
        Some(name) if name.starts_with("tck-") => by_text(name),
        _ => vec![say("done", "ok")],
    }
}

/// More than the kernel holds for a reader that does not read, which is some 2.5 MiB.
const BIG: usize = 4 << 20;

fn big() -> Step {
    made("done", "", "big", &format!(r#"{{"text":"{}"}}"#, "x".repeat(BIG)))
}

const TEXT: &str = r#"{"text":"Generated text content"}"#;
const FILE: &str = r#"{"raw":"R2VuZXJhdGVkIHRleHQgY29udGVudA==","filename":"output.txt","mediaType":"text/plain"}"#;
const FILE_URL: &str = r#"{"url":"https://example.com/output.txt","filename":"output.txt","mediaType":"text/plain"}"#;
const DATA: &str = r#"{"data":{"key":"value","count":42}}"#;

/// By the longest beginning of the id that is known.
fn by_message_id(id: &str) -> Vec<Step> {
    let is = |prefix: &str| id.starts_with(prefix);
    match () {
        () if is("tck-artifact-text") => vec![made("done", "", "text", TEXT)],
        () if is("tck-artifact-file-url") => vec![made("done", "", "file", FILE_URL)],
        () if is("tck-artifact-file") => vec![made("done", "", "file", FILE)],
        () if is("tck-artifact-data") => vec![made("done", "", "data", DATA)],
        () if is("tck-message-response") => vec![say("direct", "Direct message response")],
        () if is("tck-input-required") => vec![say("blocked", "Input required")],
        () if is("tck-reject-task") => vec![say("rejected", "Task rejected")],
        () if is("tck-stream-002") => vec![say("done", "Hello from TCK")],
        () if is("tck-stream-artifact-file") => {
            vec![say("working", "Working"), made("working", "", "file", FILE), say("done", "")]
        }
        () if is("tck-stream-artifact-chunked") => {
            vec![
                say("working", "Working"),
                Step::Print("chunk-1 "),
                Step::Print("chunk-2"),
                say("done", "chunk-1 chunk-2"),
            ]
        }
        () if is("tck-stream-") => {
            vec![say("working", "Working"), made("working", "", "text", TEXT), say("done", "")]
        }
        () if is("test-resubscribe-message-id") => {
            vec![say("working", "Working"), Step::Wait(SLOW), say("done", "Hello from TCK")]
        }
        () if is("big-") => vec![say("working", "Working"), big()],
        () if is("slow-") => vec![say("working", "Working"), Step::Wait(FOR_LONG), say("done", "late")],
        () => vec![say("done", "Hello from TCK")],
    }
}

fn by_text(name: &str) -> Vec<Step> {
    let fine = format!("{name} ok");
    match name {
        "tck-message-response" => vec![say("direct", "tck message response")],
        "tck-multi-turn" => vec![say("blocked", MORE)],
        "tck-cancel" => vec![say("working", "Working"), Step::Wait(FOR_LONG), say("done", "late")],
        "tck-long-running" => vec![
            say("working", "Working"),
            Step::Wait(A_WHILE),
            made("done", "long running work finished", "long-running", r#"{"text":"long running result"}"#),
        ],
        "tck-stream-basic" => vec![
            say("working", "streaming started"),
            made("working", "", "streamed", r#"{"text":"streamed content"}"#),
            say("done", fine),
        ],
        "tck-stream-chunked" => vec![
            say("working", "streaming started"),
            Step::Print("chunk one "),
            Step::Print("chunk two "),
            Step::Print("chunk three"),
            say("done", "chunk one chunk two chunk three"),
        ],
        "tck-artifact-text" => vec![made("done", &fine, name, r#"{"text":"generated text content"}"#)],
        "tck-artifact-data" => vec![made("done", &fine, name, r#"{"data":{"key":"value","count":1}}"#)],
        "tck-artifact-file" => {
            let part = r#"{"raw":"ZmlsZSBieXRlcw==","filename":"document.txt","mediaType":"text/plain"}"#;
            vec![made("done", &fine, name, part)]
        }
        "tck-artifact-file-url" => {
            let part =
                r#"{"url":"https://example.com/document.txt","filename":"document.txt","mediaType":"text/plain"}"#;
            vec![made("done", &fine, name, part)]
        }
        "tck-complete-task" => vec![say("done", fine)],
        "tck-task-failure" => vec![say("failed", fine)],
        "tck-reject-task" => vec![say("rejected", fine)],
        "tck-input-required" => vec![say("blocked", fine)],
        _ => vec![say("failed", format!("{name} is no behaviour that this worker knows"))],
    }
}

fn more(text: &str) -> Vec<Step> {
    match text.trim().to_ascii_lowercase().starts_with("done") {
        true => vec![say("done", "multi-turn complete")],
        false => vec![say("blocked", MORE)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of the steps, with what they say.
    fn check(given: Given<'_>, expected: &[&str]) {
        let shown: Vec<String> = steps(given)
            .into_iter()
            .map(|step| match step {
                Step::Say { word, summary, artifacts } if artifacts.is_empty() => format!("{word} {summary}"),
                Step::Say { word, artifacts, .. } => format!("{word} with {}", artifacts.join(", ")),
                Step::Print(text) => format!("print {text}"),
                Step::Wait(_) => "wait".into(),
            })
            .collect();
        assert_eq!(shown, expected, "{given:?}");
    }

    fn id(message_id: &str) -> Given<'_> {
        Given { message_id, text: "tck-task-failure", question: "" }
    }

    fn text(text: &str) -> Given<'_> {
        Given { message_id: "3f6c", text, question: "" }
    }

    #[test]
    fn the_longest_beginning_of_an_id_is_what_counts() {
        check(id("tck-complete-task-1a2b"), &["done Hello from TCK"]);
        check(id("tck-artifact-file-1a"), &[&format!(r#"done with {{"name":"file","parts":[{FILE}]}}"#)]);
        check(id("tck-artifact-file-url-1a"), &[&format!(r#"done with {{"name":"file","parts":[{FILE_URL}]}}"#)]);
        check(id("tck-input-required-1"), &["blocked Input required"]);
        check(id("tck-unheard-of"), &["done Hello from TCK"]);
        check(id("tck-message-response"), &["direct Direct message response"]);
        check(id("test-resubscribe-message-id"), &["working Working", "wait", "done Hello from TCK"]);
    }

    #[test]
    fn a_text_names_its_behaviour_where_the_id_names_none() {
        check(text("tck-complete-task please"), &["done tck-complete-task ok"]);
        check(text("tck-task-failure"), &["failed tck-task-failure ok"]);
        check(text("tck-complet"), &["failed tck-complet is no behaviour that this worker knows"]);
        check(text("tck-multi-turn start"), &["blocked more input please"]);
        check(text("hello"), &["done ok"]);
        let answer = |text| Given { message_id: "3f6c", text, question: MORE };
        check(answer("here is more"), &["blocked more input please"]);
        check(answer("Done."), &["done multi-turn complete"]);
    }

    #[test]
    fn artifacts_are_json() {
        for name in
            ["tck-artifact-text", "tck-artifact-file", "tck-artifact-file-url", "tck-artifact-data", "tck-stream-basic"]
        {
            for given in [id(name), text(name)] {
                for step in steps(given) {
                    let Step::Say { artifacts, .. } = step else { continue };
                    for artifact in artifacts {
                        serde_json::from_str::<serde_json::Value>(&artifact).unwrap();
                    }
                }
            }
        }
    }
}
