//! A task as a person reads it: its reference, its text form, and what its state means for the
//! exit code.
//! Must not know how it was asked for.

use serde_json::Value;
use shrooms_a2a::jsonrpc::task_result;
use shrooms_a2a::{Message, Part, PartContent, Task, TaskState, shrooms};

use crate::api::unread;
use crate::output::one_line;
use crate::report::{Exit, Failure};

/// The task's full reference, where this machine is not the worker's.
const TASK: &str = "shrooms/task";
/// Its agent, where this machine is not the worker's.
const AGENT: &str = "shrooms/agent";
/// True: the worker's machine is away, and has not been asked yet.
const UNSENT: &str = "shrooms/unsent";
/// Counts the changes of the task.
const SEQ: &str = "shrooms/seq";

/// A task as the daemon answered it.
#[derive(Debug, Clone)]
pub struct Known {
    /// The whole answer.
    pub answer: Value,
    task: Task,
    /// How it is named in commands.
    pub reference: String,
}

impl Known {
    /// From `{"task": TASK, …}`. `asked` is the reference by which it was asked for; the task's own
    /// one wins, for it is whole.
    ///
    /// # Errors
    /// There is no task in it.
    pub fn read(answer: Value, asked: &str) -> Result<Self, Failure> {
        let task = task_result(answer.get("task").cloned().unwrap_or_default());
        let task = task.map_err(|error| unread(&error.to_string()))?;
        let own = shrooms::text(task.metadata.as_ref(), TASK);
        let reference = own.unwrap_or(asked).to_owned();
        Ok(Known { answer, task, reference })
    }

    /// Nothing more comes of it by itself: it has ended, or waits for its asker.
    pub fn has_outcome(&self) -> bool {
        self.state().is_terminal() || self.state().is_interrupted() && !self.asks_a_person()
    }

    /// The number of its last change.
    pub fn seq(&self) -> Option<u64> {
        self.task.metadata.as_ref()?.get(SEQ)?.as_u64()
    }

    /// Its worker has it: it does not wait in a queue, and for no machine that is away.
    pub fn has_started(&self) -> bool {
        self.state() != TaskState::Submitted
    }

    /// It waits for its asker to say something.
    pub fn asks_back(&self) -> bool {
        self.state() == TaskState::InputRequired && !self.asks_a_person()
    }

    /// Its worker waits for a person on its own machine.
    fn asks_a_person(&self) -> bool {
        self.flag(shrooms::PROMPT)
    }

    /// The agent that works on it, as far as the reference names it.
    pub fn agent(&self) -> &str {
        self.reference.split_once(':').map_or(self.reference.as_str(), |(agent, _)| agent)
    }

    /// The task's own id, as its worker knows it.
    pub fn id(&self) -> &str {
        &self.task.id
    }

    /// Its worker is the session of this name.
    pub fn is_of(&self, session: &str) -> bool {
        let text = |key| shrooms::text(self.task.metadata.as_ref(), key);
        // One of another machine says whose it is there.
        text(AGENT).is_none() && text(shrooms::SESSION) == Some(session)
    }

    /// Who asked, and the title, where it has one.
    pub fn about(&self) -> (Option<&str>, Option<&str>) {
        let text = |key| shrooms::text(self.task.metadata.as_ref(), key);
        (text(shrooms::FROM), text(shrooms::TITLE))
    }

    /// The exit code of a verb that shows the task as its result.
    pub fn exit(&self) -> Exit {
        exit_of(self.state())
    }

    /// What is missing, where a `done` was given back for want of proof.
    pub fn given_back(&self) -> Option<String> {
        let metadata = self.task.metadata.as_ref()?;
        if !self.flag(shrooms::GIVEN_BACK) || self.state().is_terminal() {
            return None;
        }
        let words = metadata.get(shrooms::REQUIRE)?.as_array()?.iter().filter_map(Value::as_str);
        Some(words.collect::<Vec<_>>().join(" and "))
    }

    /// It has ended.
    pub fn is_over(&self) -> bool {
        self.state().is_terminal()
    }

    /// What its worker said last, on one line.
    pub fn worker_line(&self) -> Option<String> {
        let said = shrooms::text(self.task.metadata.as_ref(), shrooms::LAST_WORKER_LINE)?;
        let last = said.lines().rfind(|line| !line.trim().is_empty())?;
        Some(shrooms_core::text::cut(&one_line(last.trim()), 120))
    }

    /// Where it stands, in a few words.
    pub fn stands(&self) -> String {
        let state = self.state().word();
        match self.queue_note() {
            Some(note) => format!("{state}, {note}"),
            None => state.to_owned(),
        }
    }

    /// The form in which a task is shown: `task REF: STATE`, notes in brackets, a blank line and
    /// the text.
    pub fn text(&self) -> String {
        self.text_as(&self.reference)
    }

    /// The same by the bare id, as the worker knows it.
    pub fn text_for_worker(&self) -> String {
        self.text_as(&self.task.id)
    }

    fn text_as(&self, reference: &str) -> String {
        self.text_with(reference, &[], |text| text.to_owned())
    }

    /// The same by another name, with more notes, and with the peer's text as `peer` makes it.
    pub fn text_with(&self, reference: &str, more: &[String], peer: impl Fn(&str) -> String) -> String {
        let mut out = format!("task {}: {}\n", one_line(reference), self.state().word());
        for note in self.notes().iter().chain(more) {
            out.push_str(&format!("({note})\n"));
        }
        let words = peer(&self.words());
        if !words.is_empty() {
            out.push('\n');
            out.push_str(&words);
            out.push('\n');
        }
        out
    }

    fn state(&self) -> TaskState {
        self.task.status.state
    }

    fn flag(&self, key: &str) -> bool {
        shrooms::flag(self.task.metadata.as_ref(), key)
    }

    fn number(&self, key: &str) -> u64 {
        let number = self.task.metadata.as_ref().and_then(|metadata| metadata.get(key)?.as_u64());
        number.unwrap_or_default()
    }

    fn queue_note(&self) -> Option<String> {
        if self.flag(UNSENT) {
            return Some("not sent yet".into());
        }
        match (self.flag(shrooms::QUEUED), self.number(shrooms::POSITION)) {
            (false, _) => None,
            (true, 0) => Some("queued".into()),
            (true, place) => Some(format!("queued, place {place}")),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.queue_note().into_iter().collect();
        match self.number(shrooms::NUDGES) {
            0 => {}
            1 => notes.push("reminded once".into()),
            times => notes.push(format!("reminded {times} times")),
        }
        let waits = "waits for a task that it asked of another";
        for (key, note) in [
            (shrooms::WAITING, waits),
            (shrooms::PARKED, "parked"),
            (shrooms::OVERDUE, "overdue"),
            (shrooms::UNPROVEN, "unproven"),
            (shrooms::STALLED, "stalled"),
            (shrooms::EXPIRED, "expired"),
            (shrooms::ACKNOWLEDGED, "acknowledged"),
        ] {
            if self.flag(key) {
                notes.push(note.into());
            }
        }
        notes.extend(self.files().map(file_note));
        notes
    }

    /// The files among its artifacts.
    pub fn files(&self) -> impl Iterator<Item = &Part> {
        let parts = self.task.artifacts.iter().flatten().flat_map(|artifact| &artifact.parts);
        parts.filter(|part| matches!(part.content, PartContent::Raw(_) | PartContent::Url(_)))
    }

    /// The text of its status; of an agent that gives none, what it made.
    fn words(&self) -> String {
        let status = self.task.status.message.as_ref().map(Message::joined_text).unwrap_or_default();
        if !status.is_empty() {
            return status.trim_end_matches('\n').to_owned();
        }
        let parts = self.task.artifacts.iter().flatten().flat_map(|artifact| &artifact.parts);
        let texts: Vec<&str> = parts.filter_map(|part| part.as_text()).collect();
        texts.join("\n\n").trim_end_matches('\n').to_owned()
    }
}

/// A file by its name and size, or its address.
fn file_note(part: &Part) -> String {
    let name = part.filename.as_deref().map_or("without a name", str::trim);
    let name = shrooms_core::text::cut(&one_line(name), 200);
    match &part.content {
        PartContent::Raw(bytes) => format!("file: {name}, {} bytes", bytes.len()),
        PartContent::Url(url) => format!("file: {name}, at {}", shrooms_core::text::cut(&one_line(url), 500)),
        PartContent::Text(_) | PartContent::Data(_) => format!("file: {name}"),
    }
}

/// By the documented table: only a task that went wrong is no success.
fn exit_of(state: TaskState) -> Exit {
    match state {
        TaskState::Failed | TaskState::Rejected => Exit::TaskFailed,
        TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed
        | TaskState::Canceled
        | TaskState::InputRequired
        | TaskState::AuthRequired => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known(state: &str, words: &str, metadata: Value) -> Known {
        let message = json!({"messageId": "s", "role": "ROLE_AGENT", "parts": [{"text": words}]});
        let status = json!({"state": state, "message": message});
        let task = json!({"id": "tests:m-1", "status": status, "metadata": metadata});
        Known::read(json!({"task": task}), "homeserver/tests:m-1").unwrap()
    }

    #[track_caller]
    fn check(state: &str, words: &str, metadata: Value, expected: &str) {
        assert_eq!(known(state, words, metadata).text(), expected);
    }

    #[test]
    fn a_task_is_shown_as_the_seed_shows_it() {
        check(
            "TASK_STATE_COMPLETED",
            "Three problems: ...\n",
            json!({}),
            "task homeserver/tests:m-1: completed\n\nThree problems: ...\n",
        );
        check("TASK_STATE_WORKING", " ", json!({}), "task homeserver/tests:m-1: working\n");
    }

    #[test]
    fn notes_stand_between_the_state_and_the_text() {
        check(
            "TASK_STATE_SUBMITTED",
            "",
            json!({"shrooms/queued": true, "shrooms/position": 3}),
            "task homeserver/tests:m-1: submitted\n(queued, place 3)\n",
        );
        check(
            "TASK_STATE_WORKING",
            "on it",
            json!({"shrooms/queued": false, "shrooms/nudges": 2, "shrooms/stalled": true}),
            "task homeserver/tests:m-1: working\n(reminded 2 times)\n(stalled)\n\non it\n",
        );
        check(
            "TASK_STATE_CANCELED",
            "too late",
            json!({"shrooms/nudges": 1, "shrooms/expired": true, "shrooms/acknowledged": true}),
            "task homeserver/tests:m-1: canceled\n(reminded once)\n(expired)\n(acknowledged)\n\ntoo late\n",
        );
        check(
            "TASK_STATE_SUBMITTED",
            "homeserver is away",
            json!({"shrooms/unsent": true, "shrooms/queued": true}),
            "task homeserver/tests:m-1: submitted\n(not sent yet)\n\nhomeserver is away\n",
        );
    }

    #[test]
    fn its_own_reference_wins_and_the_worker_sees_the_bare_id() {
        let full = known("TASK_STATE_WORKING", "", json!({"shrooms/task": "home/tests:h-1", "shrooms/seq": 4}));
        assert_eq!(full.reference, "home/tests:h-1");
        assert_eq!(full.text_for_worker(), "task tests:m-1: working\n");
        assert_eq!((full.seq(), full.stands()), (Some(4), "working".into()));
    }

    #[test]
    fn an_agent_without_a_status_text_shows_what_it_made() {
        let artifacts = json!([{"artifactId": "a", "parts": [{"text": "one"}, {"data": 1}]}, {"artifactId": "b", "parts": [{"text": "two"}]}]);
        let task = json!({"id": "t:1", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": artifacts});
        let known = Known::read(json!({"task": task}), "t:1").unwrap();
        assert_eq!(known.text(), "task t:1: completed\n\none\n\ntwo\n");
    }

    #[test]
    fn states_have_their_exit_codes_and_outcomes() {
        for (state, code, outcome) in [
            ("SUBMITTED", 0, false),
            ("WORKING", 0, false),
            ("COMPLETED", 0, true),
            ("CANCELED", 0, true),
            ("INPUT_REQUIRED", 0, true),
            ("AUTH_REQUIRED", 0, true),
            ("FAILED", 2, true),
            ("REJECTED", 2, true),
        ] {
            let known = known(&format!("TASK_STATE_{state}"), "", json!({}));
            assert_eq!((known.exit().code(), known.has_outcome()), (code, outcome), "{state}");
        }
    }

    #[test]
    fn an_answer_without_a_task_is_an_error() {
        for answer in [json!(null), json!({}), json!({"task": {"id": "t"}})] {
            assert!(matches!(Known::read(answer, "t:1"), Err(Failure::Said { .. })));
        }
    }
}
