//! Shrooms' own keys in A2A metadata, its extension URI, and the form of a title.
//! Kept beside the wire because both ends spell them; the meaning of each is the core's affair.
//! Must not know tasks or sessions.

use crate::types::Map;

/// The extension that a card declares; its text specifies the keys below.
pub const EXTENSION_URI: &str = "https://github.com/vpavlin/shrooms/blob/master/docs/a2a-tasks.md";

/// The hops extension: its object sits under this key in a message's metadata, and the message
/// lists the URI among its extensions.
pub const HOPS_URI: &str = "https://github.com/oops-rs/basis/blob/main/docs/a2a/hops-v1.md";

/// What all of shrooms' own keys begin with.
pub const PREFIX: &str = "shrooms/";

// On a message, from the asker.

/// Who asks, `MACHINE/SESSION`. A claim, unless the asker's own machine vouches. On a task: as
/// established.
pub const FROM: &str = "shrooms/from";
/// On a message to the machine's endpoint: the session meant. On a task: the worker's session.
pub const SESSION: &str = "shrooms/session";
/// A few words for lists; see [`title`].
pub const TITLE: &str = "shrooms/title";
/// True: start on a fresh conversation or not at all.
pub const FRESH: &str = "shrooms/fresh";
/// The asker's id of its ask: asks for reports, and names the ask in them.
pub const ASK: &str = "shrooms/ask";
/// True: the asker's machine established [`FROM`] itself.
pub const VOUCHED: &str = "shrooms/vouched";
/// True on a message whose asker does not want it any more, and does not know whether it came before:
/// it is not begun, and what is known of it is cancelled.
pub const CANCELED: &str = "shrooms/canceled";
/// What a `done` must prove: an array of `tool_calls`, `files_changed`.
pub const REQUIRE: &str = "shrooms/require";
/// The task in whose course this one was asked.
pub const PARENT: &str = "shrooms/parent";
/// The agents from the root to the asker, and what kind of caller stands at the root.
pub const CHAIN: &str = "shrooms/chain";

// On a task, from the worker.

/// When the task was stored, delivered, started and ended, and its place in the queue.
pub const RECEIPT: &str = "shrooms/receipt";
/// Its place in the queue while it waits.
pub const POSITION: &str = "shrooms/position";
/// True: not started.
pub const QUEUED: &str = "shrooms/queued";
/// Reminders sent.
pub const NUDGES: &str = "shrooms/nudges";
/// When the last reminder was sent; absent if none was.
pub const LAST_NUDGE: &str = "shrooms/last_nudge";
/// True: the worker went quiet and reminders did not help.
pub const STALLED: &str = "shrooms/stalled";
/// True: ended because its time ran out.
pub const EXPIRED: &str = "shrooms/expired";
/// True: the asker has the result.
pub const ACKNOWLEDGED: &str = "shrooms/acknowledged";
/// The model's last words, cut at 600 characters.
pub const LAST_WORKER_LINE: &str = "shrooms/last_worker_line";
/// True: its turn waits for a person on the worker's machine; there is nothing for the asker to
/// answer, although the state is `input-required`.
pub const PROMPT: &str = "shrooms/prompt";
/// True: its turn is over, and it waits for a task that its worker asked of another.
pub const WAITING: &str = "shrooms/waiting";
/// True: set aside by the owner.
pub const PARKED: &str = "shrooms/parked";
/// True: its time is over, and it ends with its turn.
pub const OVERDUE: &str = "shrooms/overdue";
/// True: a `done` without the required proof was given back once.
pub const GIVEN_BACK: &str = "shrooms/given_back";
/// True: done without the required proof.
pub const UNPROVEN: &str = "shrooms/unproven";
/// True: asked from inside a cage.
pub const CAGED: &str = "shrooms/caged";
/// What the worker's machine saw of the work, beside what the worker says of it.
pub const EVIDENCE: &str = "shrooms/evidence";
/// What the task has cost, in US dollars.
pub const COST_USD: &str = "shrooms/cost_usd";

/// Characters of a title before it is cut.
pub const TITLE_MAX: usize = 120;

/// A title for a list: white space collapsed to one line, cut at [`TITLE_MAX`] characters plus an
/// ellipsis. Empty if the text is blank.
pub fn title(text: &str) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let blank = (count > 0).then_some(' ');
        for c in blank.into_iter().chain(word.chars()) {
            if count == TITLE_MAX {
                let cut = out.trim_end().len();
                out.truncate(cut);
                out.push('…');
                return out;
            }
            out.push(c);
            count += 1;
        }
    }
    out
}

/// A text under a key; `None` if absent, empty or not text.
pub fn text<'a>(metadata: Option<&'a Map>, key: &str) -> Option<&'a str> {
    let value = metadata?.get(key)?.as_str()?;
    (!value.is_empty()).then_some(value)
}

/// A flag under a key; absent or not a flag = false.
pub fn flag(metadata: Option<&Map>, key: &str) -> bool {
    metadata.and_then(|map| map.get(key)).and_then(serde_json::Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(input: &str, expected: &str) {
        assert_eq!(title(input), expected, "{input:?}");
    }

    #[test]
    fn a_title_is_one_line() {
        check("", "");
        check(" \n\t ", "");
        check("  fix\n\n the\tbuild\u{a0}now ", "fix the build now");
    }

    #[test]
    fn a_title_is_cut_at_120_characters_of_any_width() {
        let exact = "é".repeat(120);
        check(&exact, &exact);
        check(&format!("{exact}x"), &format!("{exact}…"));
        check(&format!("{exact} x"), &format!("{exact}…"));
        check(&format!("{} x", "a".repeat(119)), &format!("{}…", "a".repeat(119)));
    }

    #[test]
    fn metadata_of_the_wrong_kind_counts_as_absent() {
        let value = json!({FROM: "a/b", FRESH: true, TITLE: 5, ASK: "", QUEUED: "true"});
        let map = value.as_object();
        assert_eq!(text(map, FROM), Some("a/b"));
        assert_eq!(text(map, TITLE), None);
        assert_eq!(text(map, ASK), None);
        assert_eq!(text(None, FROM), None);
        assert!(flag(map, FRESH));
        assert!(!flag(map, QUEUED));
    }
}
