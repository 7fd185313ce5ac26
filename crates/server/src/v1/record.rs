//! What this machine itself knows of the tasks that it gave away: its asks, as the API shows them,
//! and the task that an ask stands for while the worker's machine cannot be asked.

use serde::Serialize;
use serde_json::{Map, json};
use shrooms_a2a::shrooms as keys;
use shrooms_a2a::types::TaskStatus;
use shrooms_a2a::{Artifact, Message, Part, Role, Task, TaskState, Timestamp};
use shrooms_core::id;
use shrooms_core::row::{self, Ask, AskBy, AskState, AskTo};
use shrooms_core::view::{self, State};
use shrooms_core::{Principal, text};
use shrooms_engine::EngineError;
use shrooms_engine::{Reader, StoreError};

use crate::app::App;

/// On a task of another machine: who works on it, `MACHINE/SESSION`.
pub(super) const AGENT: &str = "shrooms/agent";
/// On a task of another machine: its whole reference, `MACHINE/SESSION:MESSAGE-ID`.
pub(super) const TASK: &str = "shrooms/task";
/// True: that machine is away, and has not been asked yet.
pub(super) const UNSENT: &str = "shrooms/unsent";
/// Counts the changes of a task.
pub(super) const SEQ: &str = "shrooms/seq";

/// Characters of a request that lists show.
const EXCERPT: usize = 200;

/// An ask with its texts.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) ask: Ask,
    /// How other machines name it.
    id: String,
    request: String,
    /// What is known of its outcome.
    words: Option<String>,
    by: String,
    /// The task itself, where it is one of this machine.
    here: Option<row::Task>,
}

/// An ask as the API shows it.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    ask: String,
    to: String,
    /// Null until the worker's machine has answered.
    task: Option<String>,
    message_id: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    by: String,
    told: bool,
    made: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

/// Reads what belongs to an ask.
pub(super) fn read(reader: &Reader, ask: Ask, id: String) -> Result<Record, StoreError> {
    let request = reader.text(ask.text.no)?;
    let words = ask.known.as_ref().and_then(|k| k.text).map(|t| reader.text(t.no)).transpose()?;
    let by = match ask.by {
        AskBy::Owner => "the owner".to_string(),
        AskBy::Session(uid) => reader.session(uid)?.map_or_else(String::new, |s| s.name),
    };
    let here = match ask.to {
        AskTo::Here { task } => reader.task_no(task)?,
        AskTo::Device { .. } => None,
    };
    Ok(Record { ask, id, request, words, by, here })
}

/// The same, beside the async threads.
pub(super) async fn of(app: &App, ask: Ask) -> Result<Record, EngineError> {
    let id = app.engine.ask_id(ask.no);
    app.engine.read(move |r| read(r, ask, id)).await
}

/// Whether it was this caller who asked: for nobody else is an outcome told.
pub(super) fn is_asker(by: &Principal, ask: &Ask) -> bool {
    match (by, ask.by) {
        (Principal::Owner, AskBy::Owner) => true,
        (Principal::Session(caller), AskBy::Session(asker)) => *caller == asker,
        _ => false,
    }
}

/// Nothing of it can have left this machine: the worker's machine is away.
fn is_unsent(ask: &Ask) -> bool {
    ask.state == AskState::Unsent && !ask.unsure && (ask.fails > 0 || !ask.trying)
}

/// The machine in `MACHINE/SESSION`.
fn machine(agent: &str) -> &str {
    agent.rsplit_once('/').map_or(agent, |(machine, _)| machine)
}

impl Record {
    /// The word of its state.
    fn word(&self) -> &str {
        match (&self.here, &self.ask.known) {
            (Some(task), _) => view::state(task).word(),
            (None, _) if is_unsent(&self.ask) => "unsent",
            (None, None) => State::Submitted.word(),
            (None, Some(known)) => &known.state,
        }
    }

    /// Why it was refused, if it was.
    pub(super) fn refusal(&self) -> Option<&str> {
        let refused = !self.ask.open() && self.word() == "refused";
        refused.then(|| self.words.as_deref().unwrap_or("it was refused, without a reason"))
    }

    /// As the API shows it.
    pub(super) fn shown(&self) -> Shown {
        let (ask, word) = (&self.ask, self.word());
        let has_result = State::is_final(word) || word == State::InputRequired.word();
        Shown {
            ask: self.id.clone(),
            to: ask.agent.clone(),
            task: ask.task_id.as_ref().map(|id| format!("{}/{id}", machine(&ask.agent))),
            message_id: ask.mid.clone(),
            state: word.to_string(),
            title: ask.title.clone(),
            text: text::cut(&self.request, EXCERPT),
            result: self.words.clone().filter(|_| has_result),
            by: self.by.clone(),
            told: ask.told,
            made: Timestamp(ask.made.wall).to_string(),
            ended: ask.ended.map(|at| Timestamp(at.wall).to_string()),
        }
    }

    /// The same while that machine cannot be asked: what is shown is what it said before.
    pub(super) fn while_away(&self) -> Task {
        let mut task = self.task();
        if let (true, Some(said)) = (self.ask.state == AskState::Open && self.ask.open(), &mut task.status.message) {
            let machine = machine(&self.ask.agent);
            let away = Part::text(format!("({machine} does not answer now: how it stands there is not known)"));
            said.parts.push(away);
        }
        task
    }

    /// The task of another machine, as far as it is known here.
    pub(super) fn task(&self) -> Task {
        let ask = &self.ask;
        let (machine, session) = (machine(&ask.agent), ask.agent.rsplit('/').next().unwrap_or_default());
        let id = ask.task_id.clone().unwrap_or_else(|| id::task_id(session, &ask.mid));
        let state = self.state();
        let message = |mid: String, role: Role, text: String| Message {
            task_id: Some(id.clone()),
            ..Message::text(mid, role, text)
        };
        let words = self.words.clone().filter(|w| !w.is_empty());
        let result = words.clone().filter(|_| state == TaskState::Completed).map(|text| Artifact {
            artifact_id: format!("{}-result", ask.mid),
            name: Some("result".into()),
            description: None,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: Vec::new(),
        });
        let said = words.or_else(|| ask.open().then(|| self.standing(machine)));
        let mut metadata = Map::new();
        metadata.insert(keys::SESSION.into(), json!(session));
        metadata.insert(SEQ.into(), json!(ask.known.as_ref().map_or(0, |k| k.seq)));
        metadata.insert(AGENT.into(), json!(ask.agent));
        metadata.insert(TASK.into(), json!(format!("{machine}/{id}")));
        if let Some(title) = &ask.title {
            metadata.insert(keys::TITLE.into(), json!(title));
        }
        if is_unsent(ask) {
            metadata.insert(UNSENT.into(), json!(true));
        }
        Task {
            context_id: None,
            status: TaskStatus {
                state,
                message: said.map(|text| message(format!("{}-status", ask.mid), Role::Agent, text)),
                timestamp: Some(Timestamp(ask.ended.unwrap_or(ask.made).wall)),
            },
            artifacts: Some(result.into_iter().collect()),
            history: Some(vec![message(ask.mid.clone(), Role::User, self.request.clone())]),
            metadata: Some(metadata),
            id,
        }
    }

    fn state(&self) -> TaskState {
        match self.word() {
            "unsent" => TaskState::Submitted,
            "refused" => TaskState::Rejected,
            word => TaskState::parse(word).unwrap_or(TaskState::Submitted),
        }
    }

    /// What is to be said of an open one that the worker's machine cannot be asked about now.
    fn standing(&self, machine: &str) -> String {
        let ask = &self.ask;
        match ask.state {
            AskState::Unsent if ask.cancel => {
                format!("whether {machine} has this is not known; that it is cancelled is told as soon as it answers")
            }
            _ if ask.cancel => {
                format!("this is what {machine} last said; that it is cancelled is told as soon as it answers")
            }
            AskState::Unsent if is_unsent(ask) => {
                format!("{machine} is away; nothing was sent yet (it will be asked when it returns)")
            }
            AskState::Unsent => {
                format!(
                    "{machine} has not answered yet: it may have this, and the same message is sent until it answers"
                )
            }
            AskState::Open | AskState::Ended => format!("this is what {machine} last said"),
        }
    }
}

#[cfg(test)]
mod tests {
    use shrooms_core::digest::Digest;
    use shrooms_core::id::{AskNo, SessionUid};
    use shrooms_core::row::Known;
    use shrooms_core::{Boot, Stamp, TextRef};

    use super::*;

    fn record(state: AskState, known: Option<&str>, words: Option<&str>) -> Record {
        let text = TextRef { no: 1, len: 1, sha: Digest::of([]) };
        let ask = Ask {
            no: AskNo(12),
            mid: "m-1".into(),
            by: AskBy::Owner,
            to: AskTo::Device { id: "home/10.0.0.2".into(), machine: "homeserver".into(), session: "tests".into() },
            agent: "homeserver/tests".into(),
            title: Some("Nightly".into()),
            text,
            state,
            task_id: (state == AskState::Open || known == Some("completed")).then(|| "tests:m-1".into()),
            known: known.map(|state| Known { seq: 4, state: state.into(), text: None }),
            attempt: 1,
            trying: false,
            fails: u32::from(state == AskState::Unsent),
            boot: Boot(1),
            not_before: 0,
            unsure: false,
            context: None,
            refs: Vec::new(),
            fresh: false,
            require: Vec::new(),
            now_only: false,
            cancel: false,
            told: false,
            parent: None,
            offered: None,
            telling: None,
            made: Stamp { wall: 1_800_000_000_000, served: 0 },
            ended: (state == AskState::Ended).then_some(Stamp { wall: 1_800_000_001_000, served: 0 }),
        };
        let words = words.map(str::to_string);
        Record { ask, id: "0-12".into(), request: "run them".into(), words, by: "the owner".into(), here: None }
    }

    #[test]
    fn a_task_is_made_from_what_is_known_of_the_ask() {
        let unsent = record(AskState::Unsent, None, None);
        let mut unsure = unsent.clone();
        unsure.ask.unsure = true;
        let mut sending = unsent.clone();
        (sending.ask.trying, sending.ask.fails) = (true, 0);
        let mut cancelled = record(AskState::Open, Some("working"), None);
        cancelled.ask.cancel = true;
        for (record, word, state, is_unsent, said) in [
            (unsent, "unsent", TaskState::Submitted, true, Some("homeserver is away; nothing was sent yet")),
            (unsure, "submitted", TaskState::Submitted, false, Some("homeserver has not answered yet")),
            (sending, "submitted", TaskState::Submitted, false, Some("homeserver has not answered yet")),
            (
                cancelled,
                "working",
                TaskState::Working,
                false,
                Some("this is what homeserver last said; that it is cancelled"),
            ),
            (
                record(AskState::Open, Some("working"), None),
                "working",
                TaskState::Working,
                false,
                Some("this is what homeserver last said"),
            ),
            (
                record(AskState::Open, Some("input-required"), Some("Which?")),
                "input-required",
                TaskState::InputRequired,
                false,
                Some("Which?"),
            ),
            (
                record(AskState::Ended, Some("completed"), Some("green")),
                "completed",
                TaskState::Completed,
                false,
                Some("green"),
            ),
            (record(AskState::Ended, Some("refused"), Some("no")), "refused", TaskState::Rejected, false, Some("no")),
            (record(AskState::Ended, Some("canceled"), None), "canceled", TaskState::Canceled, false, None),
        ] {
            let task = record.task();
            let metadata = task.metadata.as_ref().unwrap();
            let text = task.status.message.as_ref().map(Message::joined_text);
            assert_eq!(record.shown().state, word);
            assert_eq!(task.status.state, state, "{word}");
            assert_eq!(keys::flag(Some(metadata), UNSENT), is_unsent, "{word}");
            assert_eq!(text.is_some(), said.is_some(), "{word}");
            assert!(text.unwrap_or_default().starts_with(said.unwrap_or_default()), "{word}");
            assert_eq!(metadata[TASK], json!("homeserver/tests:m-1"));
            assert_eq!(metadata[AGENT], json!("homeserver/tests"));
            assert_eq!(task.artifacts.unwrap().len(), usize::from(word == "completed"));
            assert_eq!(record.refusal(), (word == "refused").then_some("no"));
        }
    }

    #[test]
    fn an_ask_is_shown_with_its_reference_once_there_is_one() {
        let shown = |r: Record| serde_json::to_value(r.shown()).unwrap();
        assert_eq!(
            shown(record(AskState::Unsent, None, None)),
            json!({"ask": "0-12", "to": "homeserver/tests", "task": null, "message_id": "m-1", "state": "unsent",
                   "title": "Nightly", "text": "run them", "by": "the owner", "told": false,
                   "made": "2027-01-15T08:00:00.000Z"})
        );
        let done = shown(record(AskState::Ended, Some("completed"), Some("green")));
        assert_eq!(
            (&done["task"], &done["result"], &done["ended"]),
            (&json!("homeserver/tests:m-1"), &json!("green"), &json!("2027-01-15T08:00:01.000Z"))
        );
        let working = shown(record(AskState::Open, Some("working"), Some("a word")));
        assert_eq!(working.get("result"), None);
    }

    #[test]
    fn an_outcome_is_told_to_whoever_asked_and_to_nobody_else() {
        let mut ask = record(AskState::Open, None, None).ask;
        let device =
            Principal::Device { id: "d".into(), label: "d".into(), right: Default::default(), meshes: Vec::new() };
        for (asker, by, want) in [
            (AskBy::Owner, Principal::Owner, true),
            (AskBy::Owner, Principal::Session(SessionUid(1)), false),
            (AskBy::Owner, device, false),
            (AskBy::Session(SessionUid(1)), Principal::Session(SessionUid(1)), true),
            (AskBy::Session(SessionUid(1)), Principal::Session(SessionUid(2)), false),
            (AskBy::Session(SessionUid(1)), Principal::Owner, false),
        ] {
            ask.by = asker;
            assert_eq!(is_asker(&by, &ask), want, "{asker:?} {by:?}");
        }
    }
}
