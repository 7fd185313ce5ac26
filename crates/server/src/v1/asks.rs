//! `/v1/asks`: giving a task away, what was given away, and word of it from the device that works
//! on it. An ask is stored first; the answer then waits a little for the worker's machine.

use std::time::Duration;

use axum::Json;
use axum::extract::Extension;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_a2a::{Task, TaskState, shrooms};
use shrooms_core::desk::{AskReq, Done, ReportReq, Request, Target};
use shrooms_core::name::{AgentRef, TaskRef};
use shrooms_core::row::{Ask, AskTo, Proof, Subject};
use shrooms_core::text::{MAX_TEXT, cut};
use shrooms_core::{Kind, Principal, Refusal, Text, near};

use super::input::{Asked, Body, flag, message_id, within};
use super::record::{self, Record};
use super::tasks::elsewhere;
use super::{fleet, remote};
use crate::a2a::digest_of_text;
use crate::app::{App, Caller, Forwarded, State};
use crate::problem::Problem;
use crate::task_json::{self, Shown};

/// How long whoever asks waits for the worker's machine to take the task: a machine that is there
/// takes it in milliseconds, and one that is away is known to be by then.
const TAKEN: Duration = Duration::from_secs(10);
/// Asks that a list holds if nothing is said.
const LISTED: usize = 200;
/// The most: as many as may be open.
const LISTED_MAX: usize = shrooms_core::desk::MAX_ASKS;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    to: String,
    text: String,
    title: Option<String>,
    id: Option<String>,
    context: Option<String>,
    #[serde(default)]
    refs: Vec<String>,
    #[serde(default)]
    now: bool,
    #[serde(default)]
    fresh: bool,
    /// What a `done` must prove.
    #[serde(default)]
    require: Vec<Proof>,
}

#[derive(Serialize)]
pub(super) struct Made {
    ask: record::Shown,
    task: Task,
}

pub(super) async fn ask(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(new): Body<New>,
) -> Result<(StatusCode, Json<Made>), Problem> {
    let mid = message_id(&app.engine, new.id)?;
    let (to, agent) = resolve(&app, &by, &new.to).await?;
    if matches!(to, Target::Device { .. }) {
        elsewhere(&by)?;
    }
    let request = AskReq {
        by: by.clone(),
        to,
        agent,
        mid,
        digest: digest_of_text(&new.text),
        text: Text::new(new.text),
        title: new.title.map(|t| shrooms::title(&t)).filter(|t| !t.is_empty()),
        context: new.context.filter(|c| !c.is_empty()),
        refs: new.refs,
        fresh: new.fresh,
        require: new.require,
        now_only: new.now,
        random: app.engine.random()?,
    };
    let Done::Ask { ask, .. } = app.engine.request(Request::Ask(request)).await? else {
        return Err(Problem::new(Kind::Internal, "the desk answered without an ask"));
    };
    let made = match ask.to {
        AskTo::Here { task } => {
            let gone = || Problem::from(Refusal::NoAsk { id: ask.no.0.to_string() });
            let task = app.engine.read(move |r| r.task_no(task)).await?.ok_or_else(gone)?;
            let task = task_json::show(&app, task, Shown::ALL).await?;
            Made { ask: record::of(&app, (*ask).clone()).await?.shown(), task }
        }
        AskTo::Device { .. } => {
            let record = record::of(&app, taken(&app, (*ask).clone()).await?).await?;
            let task = record.task();
            if let Some(why) = record.refusal() {
                remote::told(&app, &by, Some(&record.ask), &task, None).await;
                return Err(refusal(why, &record));
            }
            Made { ask: record.shown(), task }
        }
    };
    Ok((StatusCode::ACCEPTED, Json(made)))
}

/// The ask once the worker's machine has said something, once it is known not to be reached, or as
/// it stands after a while.
async fn taken(app: &App, mut ask: Ask) -> Result<Ask, Problem> {
    let no = ask.no;
    let mut watch = app.engine.watch(Subject::Ask(no));
    let deadline = tokio::time::sleep(TAKEN);
    tokio::pin!(deadline);
    loop {
        ask = app.engine.read(move |r| r.ask(no)).await?.unwrap_or(ask);
        let over = deadline.is_elapsed() || app.shutdown.is_cancelled();
        if over || ask.task_id.is_some() || !ask.open() || ask.fails > 0 {
            return Ok(ask);
        }
        tokio::select! {
            () = watch.changed() => {}
            () = &mut deadline => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// A refused ask: by the worker's machine, or by `now` because that is away.
fn refusal(why: &str, record: &Record) -> Problem {
    let kind = match why.contains("no session") {
        true => Kind::NotFound,
        false if record.ask.now_only => Kind::Unavailable,
        false => Kind::Conflict,
    };
    Problem::new(kind, why)
}

/// Whom the caller means, and how people write it.
async fn resolve(app: &App, by: &Principal, to: &str) -> Result<(Target, String), Problem> {
    let AgentRef { machine, session } = AgentRef::parse(to)?;
    let machine = match machine {
        Some(name) => remote::find(app, &name).await?,
        // Other machines are not looked through for a device.
        None if matches!(by, Principal::Device { .. }) => app.engine.mesh().me(),
        None => {
            let fleet = fleet::machines(app, None).await?;
            let known = fleet.iter().map(|found| Known {
                name: remote::name_of(app, &found.machine),
                sessions: found.sessions.as_ref().ok().map(|s| s.iter().map(|s| s.name.as_str()).collect()),
            });
            let at = choose(&session, &known.collect::<Vec<_>>())?;
            let found = fleet.into_iter().nth(at);
            found.ok_or_else(|| Problem::new(Kind::Internal, "a machine was lost on the way"))?.machine
        }
    };
    let name = remote::name_of(app, &machine);
    let agent = format!("{name}/{session}");
    let target = match machine.id == app.engine.mesh().me().id {
        true => Target::Here { session },
        false => Target::Device { id: machine.id.0.clone(), machine: name, session },
    };
    Ok((target, agent))
}

/// A machine and the names of its sessions; `None` = it did not answer.
struct Known<'a> {
    name: String,
    sessions: Option<Vec<&'a str>>,
}

/// The one machine that has a session of this name.
fn choose(session: &str, fleet: &[Known<'_>]) -> Result<usize, Problem> {
    let has = |known: &Known<'_>| known.sessions.as_ref().is_some_and(|s| s.contains(&session));
    let found: Vec<usize> = fleet.iter().enumerate().filter(|(_, known)| has(known)).map(|(at, _)| at).collect();
    match found.as_slice() {
        [at] => Ok(*at),
        [] => {
            let names = fleet.iter().flat_map(|known| known.sessions.iter().flatten().copied());
            let hint = near::hint(&near::near(session, names));
            let silent: Vec<&str> = fleet.iter().filter(|k| k.sessions.is_none()).map(|k| k.name.as_str()).collect();
            let silent = match silent.as_slice() {
                [] => String::new(),
                some => format!(" ({} did not answer: write MACHINE/{session} to ask later)", some.join(", ")),
            };
            Err(Problem::not_found(format!("no session '{session}' on any machine{silent}{hint}")))
        }
        several => {
            let choices = several.iter().filter_map(|at| fleet.get(*at));
            let choices: Vec<String> = choices.map(|known| format!("{}/{session}", known.name)).collect();
            let count = if choices.len() == 2 { "two".to_string() } else { choices.len().to_string() };
            let detail = format!("'{session}' is on {count} machines: write {}", choices.join(" or "));
            Err(Problem::new(Kind::Conflict, detail))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    #[serde(default, deserialize_with = "flag")]
    all: bool,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Asks {
    asks: Vec<record::Shown>,
    /// There are more than `limit`.
    more: bool,
}

pub(super) async fn list(State(app): State<App>, Asked(query): Asked<ListQuery>) -> Result<Json<Asks>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(LISTED), 1, LISTED_MAX)?;
    let engine = app.engine.clone();
    let read = app.engine.read(move |r| {
        let asks = r.asks(query.all, limit + 1)?;
        let more = asks.len() > limit;
        let shown = asks.into_iter().take(limit).map(|ask| {
            let id = engine.ask_id(ask.no);
            record::read(r, ask, id).map(|record| record.shown())
        });
        Ok(Asks { asks: shown.collect::<Result<_, _>>()?, more })
    });
    Ok(Json(read.await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    ask: String,
    task: String,
    seq: u32,
    state: String,
    text: Option<String>,
}

pub(super) async fn report(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    forwarded: Option<Extension<Forwarded>>,
    Body(report): Body<Report>,
) -> Result<StatusCode, Problem> {
    if forwarded.is_some() {
        return Err(Problem::refused("a report is not handed on: it comes from the device that was asked"));
    }
    let Principal::Device { id: device, .. } = by else {
        return Err(Problem::refused("a report comes from the device that was asked, by its own daemon"));
    };
    let (task_id, state) = checked(&report.task, &report.state)?;
    if report.seq > shrooms_engine::MAX_SEQ {
        return Err(Problem::bad(format!("seq: is at most {}", shrooms_engine::MAX_SEQ)));
    }
    let request = ReportReq {
        device,
        ask: report.ask,
        task_id,
        seq: report.seq,
        state,
        text: report.text.map(|t| Text::new(cut(&t, MAX_TEXT))),
    };
    app.engine.request(Request::Report(request)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A report's task and state, which are kept and shown: nothing but an id and a known word.
fn checked(task: &str, state: &str) -> Result<(String, String), Problem> {
    let id = match TaskRef::parse(task)? {
        TaskRef { machine: None, id } => id,
        TaskRef { machine: Some(_), .. } => return Err(Problem::bad("task: must be SESSION:MESSAGE-ID")),
    };
    let state = TaskState::parse(state).map(|s| s.word().to_string());
    Ok((id, state.ok_or_else(|| Problem::bad("state: must be a task's state, such as completed"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_means_the_one_machine_that_has_it() {
        let known = |name: &str, sessions: Option<&'static [&'static str]>| Known {
            name: name.into(),
            sessions: sessions.map(<[&str]>::to_vec),
        };
        let fleet = [
            known("laptop", Some(&["tests", "webapp"])),
            known("homeserver", Some(&["tests", "review"])),
            known("nas", None),
        ];
        let silent = "(nas did not answer: write MACHINE/";
        for (session, want) in [
            ("webapp", Ok(0)),
            ("review", Ok(1)),
            ("tests", Err((409, "'tests' is on two machines: write laptop/tests or homeserver/tests".to_string()))),
            (
                "tets",
                Err((404, format!("no session 'tets' on any machine {silent}tets to ask later); did you mean tests?"))),
            ),
            ("q", Err((404, format!("no session 'q' on any machine {silent}q to ask later)")))),
        ] {
            let got = choose(session, &fleet).map_err(|p| (p.status.as_u16(), p.detail));
            assert_eq!(got, want, "{session}");
        }
    }

    #[test]
    fn a_report_names_a_task_and_a_state_in_plain_words() {
        for (task, state, want) in [
            ("tests:m-1", "completed", Some(("tests:m-1", "completed"))),
            ("tests:m-1", "TASK_STATE_INPUT_REQUIRED", Some(("tests:m-1", "input-required"))),
            ("tests:m-1", "done", None),
            ("tests", "completed", None),
            ("laptop/tests:m-1", "completed", None),
            ("tests:m 1", "completed", None),
        ] {
            let got = checked(task, state).ok();
            assert_eq!(got.as_ref().map(|(t, s)| (t.as_str(), s.as_str())), want, "{task} {state}");
        }
    }
}
