//! `/v1/prompts`: the permissions and questions that wait for a person, and their answers.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Extension, Path};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::desk::{Done, Request};
use shrooms_core::id::PromptNo;
use shrooms_core::row::{About, Prompt, PromptAnswer, PromptState, Question};
use shrooms_core::{Kind, Refusal, text};
use shrooms_engine::{Reader, StoreError};

use super::input::{Asked, Body, Part};
use crate::app::{App, Caller, State};
use crate::problem::Problem;

/// A prompt as a person reads it.
#[derive(Serialize)]
pub(super) struct Shown {
    id: i64,
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(flatten)]
    what: What,
    made: String,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum What {
    Permission {
        tool: String,
        input: String,
        #[serde(skip_serializing_if = "String::is_empty")]
        why: String,
        suggestions: Vec<String>,
        needs_person: bool,
    },
    Question {
        questions: Vec<Question>,
    },
}

fn read(r: &Reader, prompt: Prompt) -> Result<Shown, StoreError> {
    let session = r.session(prompt.session)?.map(|s| s.name).unwrap_or_default();
    let task = match prompt.task {
        Some(no) => r.task_no(no)?.map(|t| t.id),
        None => None,
    };
    let by = match &prompt.state {
        PromptState::Answered { by, .. } => Some(by.clone()),
        PromptState::Open | PromptState::Withdrawn { .. } => None,
    };
    let what = match prompt.about {
        About::Permission { tool, input, why, suggestions, needs_person } => {
            What::Permission { tool, input: r.text(input.no)?, why, suggestions, needs_person }
        }
        About::Questions(questions) => What::Question { questions },
    };
    let made = Timestamp(prompt.made.wall).to_string();
    Ok(Shown { id: prompt.no.0, session, task, state: prompt.state.word(), by, what, made })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    session: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Prompts {
    prompts: Vec<Shown>,
}

pub(super) async fn list(State(app): State<App>, Asked(query): Asked<ListQuery>) -> Result<Json<Prompts>, Problem> {
    let session = match &query.session {
        Some(name) => Some(super::sessions::row(&app, name).await?.session.uid),
        None => None,
    };
    let prompts = app.engine.read(move |r| {
        let open = r.prompts()?.into_iter().filter(|p| session.is_none_or(|uid| p.session == uid));
        open.map(|prompt| read(r, prompt)).collect::<Result<Vec<_>, _>>()
    });
    Ok(Json(Prompts { prompts: prompts.await? }))
}

fn number(id: &str) -> Result<PromptNo, Problem> {
    let no = id.parse().map(PromptNo);
    no.map_err(|_| Problem::bad(format!("'{}' is no prompt's id: it is a number", text::cut(id, 40))))
}

async fn shown(app: &App, no: PromptNo) -> Result<Shown, Problem> {
    let found = app.engine.read(move |r| r.prompt(no)?.map(|prompt| read(r, prompt)).transpose());
    found.await?.ok_or_else(|| Refusal::NoPrompt { id: no.0 }.into())
}

pub(super) async fn get(State(app): State<App>, Part(id): Part) -> Result<Json<Shown>, Problem> {
    Ok(Json(shown(&app, number(&id)?).await?))
}

/// What is said to a prompt: `allow` for a permission (or false, to refuse either), `answers` for
/// questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    allow: Option<bool>,
    /// What to allow for good: places in `suggestions`, from 0.
    #[serde(default)]
    always: Vec<usize>,
    message: Option<String>,
    answers: Option<BTreeMap<String, String>>,
}

impl Answer {
    fn read(self) -> Result<PromptAnswer, Problem> {
        let whys = self.message.is_some();
        match (self.allow, self.answers) {
            (Some(false), None) if self.always.is_empty() => {
                Ok(PromptAnswer::Deny { why: self.message.unwrap_or_default() })
            }
            (Some(true), None) if !whys => Ok(PromptAnswer::Allow { always: self.always }),
            (None | Some(true), Some(answers)) if self.always.is_empty() && !whys => Ok(PromptAnswer::Answers(answers)),
            (None, None) => Err(Problem::bad("say allow: true or false, or give answers")),
            _ => Err(Problem::bad("always goes with allow: true, message with allow: false, answers with neither")),
        }
    }
}

pub(super) async fn answer(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(id): Part,
    Body(answer): Body<Answer>,
) -> Result<Json<Shown>, Problem> {
    let no = number(&id)?;
    let request = Request::AnswerPrompt { by, no, answer: answer.read()? };
    match app.engine.request(request).await? {
        Done::Prompt(prompt) => Ok(Json(shown(&app, prompt.no).await?)),
        _ => Err(Problem::new(Kind::Internal, "the desk answered without a prompt")),
    }
}

/// The same by the session's address, as the original has it.
pub(super) async fn answer_in_session(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Path((session, id)): Path<(String, String)>,
    Body(answer): Body<Answer>,
) -> Result<StatusCode, Problem> {
    let no = number(&id)?;
    let prompt = shown(&app, no).await?;
    if prompt.session != session {
        return Err(Refusal::NoPrompt { id: no.0 }.into());
    }
    app.engine.request(Request::AnswerPrompt { by, no, answer: answer.read()? }).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_answer_says_one_thing() {
        let answers = || BTreeMap::from([("q".to_string(), "a".to_string())]);
        for (given, want) in [
            (json!({"allow": true}), Some(PromptAnswer::Allow { always: vec![] })),
            (json!({"allow": true, "always": [1]}), Some(PromptAnswer::Allow { always: vec![1] })),
            (json!({"allow": false}), Some(PromptAnswer::Deny { why: String::new() })),
            (json!({"allow": false, "message": "no"}), Some(PromptAnswer::Deny { why: "no".into() })),
            (json!({"answers": {"q": "a"}}), Some(PromptAnswer::Answers(answers()))),
            (json!({"allow": true, "answers": {"q": "a"}}), Some(PromptAnswer::Answers(answers()))),
            (json!({}), None),
            (json!({"allow": false, "always": [0]}), None),
            (json!({"allow": true, "message": "x"}), None),
            (json!({"allow": false, "answers": {"q": "a"}}), None),
        ] {
            let answer: Answer = serde_json::from_value::<Answer>(Value::clone(&given)).unwrap();
            assert_eq!(answer.read().ok(), want, "{given}");
        }
    }
}
