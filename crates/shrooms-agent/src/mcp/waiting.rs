//! Waiting for a task's outcome while the client hears how it stands. The wait ends early where a
//! model would only stand still; the task goes on in any case, and the result says how to follow it.
//! Must not know which tool waits.

use std::future::pending;
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use shrooms_outbound::segment;
use tokio::sync::watch;
use tokio::time::{interval, sleep};

use super::{Call, Server, shown};
use crate::context::{session_path, task_path};
use crate::output::one_line;
use crate::report::Failure;
use crate::task::Known;
use crate::wait::{duration, until_outcome};

/// Between two words of progress while nothing changes: a person sees that it goes on, and a client
/// that counts silence does not give up.
const PROGRESS: Duration = Duration::from_secs(2);
/// What a word between two of those adds to the progress, which must grow with each.
const STEP: f64 = 0.001;

/// Seconds that the daemon holds one question whether this session is wanted.
const HOLD: u64 = 300;
/// Beyond that, and between two questions that came to nothing.
const PAUSE: Duration = Duration::from_secs(10);

enum End {
    Outcome,
    NotStarted,
    /// Something waits for whoever waits, and what.
    Wanted(String),
    TimeOver,
    /// Nobody waits any more.
    Left,
}

/// The task once it has an outcome, or as it stands when the wait is over.
pub async fn outcome(server: &Server, call: &Call, known: Known, mut said: Vec<String>) -> Result<String, Failure> {
    let (known, seen) = watch::channel(known);
    let secs = server.wait_at_most.as_secs();
    let end = tokio::select! {
        biased;
        () = call.left() => Ok(End::Left),
        asked = until_outcome(&server.context, &known, secs) => asked.map(|()| End::Outcome),
        () = not_started(server, &known) => Ok(End::NotStarted),
        why = wanted(server, &known) => Ok(End::Wanted(why)),
        () = sleep(server.wait_at_most) => Ok(End::TimeOver),
        () = tell(call, seen.clone()) => Ok(End::TimeOver),
    };
    let mut known = seen.borrow().clone();
    let goes_on = |failure| {
        let reference = one_line(&known.reference);
        Failure::new(format!("{failure}\ntask {reference} goes on; task_status shows where it stands"))
    };
    match end.map_err(goes_on)? {
        End::Outcome => {
            known = offered(server, call, known).await;
            said.extend(notes(&known));
        }
        End::Left => said.extend(notes(&known)),
        End::Wanted(why) => {
            said.push(format!(
                "the wait ended, because something waits for you: {why}; end your turn, and {}",
                later(server).await
            ));
        }
        End::NotStarted => {
            said.push(format!("not started within {}; {}", short(server.start_within), later(server).await));
        }
        End::TimeOver => {
            said.push(format!("no outcome within {}; {}", short(server.wait_at_most), later(server).await))
        }
    }
    Ok(shown::task(&known, &said))
}

/// Says to the daemon which call returns an outcome: the session has it once its harness shows that.
/// What cannot be said so comes to the session as a message, too.
pub async fn offered(server: &Server, call: &Call, known: Known) -> Known {
    let Some(id) = call.id.as_deref().filter(|_| known.has_outcome() && server.session().is_some()) else {
        return known;
    };
    let path = segment(id).map(|id| task_path(&known.reference, &format!("?offer={id}")));
    let Some(Ok(path)) = path else { return known };
    match server.context.get(&path).await.and_then(|answer| Known::read(answer, &known.reference)) {
        Ok(newer) => newer,
        Err(error) => {
            tracing::debug!(%error, "an outcome could not be offered");
            known
        }
    }
}

/// Until something waits for this session that its wait would hold up.
async fn wanted(server: &Server, known: &watch::Sender<Known>) -> String {
    let Some(session) = server.session_now().await else { return pending().await };
    let agent = known.borrow().agent().to_owned();
    let path = segment(&agent).map(|by| session_path(&session, &format!("/wanted?wait={HOLD}&by={by}")));
    let Some(Ok(path)) = path else { return pending().await };
    loop {
        let within = Duration::from_secs(HOLD) + PAUSE;
        match server.context.client.get_within(&path, within).await {
            Ok(answer) => {
                if let Some(why) = answer.get("wanted").and_then(|why| why.as_str()) {
                    return one_line(why);
                }
            }
            // The daemon is gone for now, or knows of no such thing; the wait itself says what matters.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// What its asker is to do next, where it is the asker's turn.
pub fn notes(known: &Known) -> Vec<String> {
    let turn = "it waits for your answer: call ask_agent with this task and the answer as text";
    known.asks_back().then(|| turn.to_owned()).into_iter().collect()
}

/// How whoever asked hears of the outcome after the wait.
async fn later(server: &Server) -> String {
    let takes_turns = match server.session_now().await.map(|name| session_path(&name, "")) {
        Some(Ok(path)) => match server.context.get(&path).await {
            Ok(session) => session.get("harness").is_some_and(|harness| harness != "command"),
            Err(_) => false,
        },
        _ => false,
    };
    let how = if takes_turns { "the result will come to you as a message" } else { "follow it with task_status" };
    how.to_owned()
}

/// Until the time to start is over and it has not; else for ever.
async fn not_started(server: &Server, known: &watch::Sender<Known>) {
    sleep(server.start_within).await;
    // Another machine does not report that a task has begun: look there once more.
    let reference = known.borrow().reference.clone();
    if !known.borrow().has_started()
        && let Ok(path) = task_path(&reference, "")
        && let Ok(answer) = server.context.get(&path).await
        && let Ok(newer) = Known::read(answer, &reference)
    {
        known.send_replace(newer);
    }
    if known.borrow().has_started() {
        pending::<()>().await;
    }
}

/// Tells the client how it stands: at once, with every change, and every few seconds. Never returns.
async fn tell(call: &Call, mut seen: watch::Receiver<Known>) {
    let Some(token) = &call.progress else { return pending().await };
    let mut ticks = interval(PROGRESS);
    let began = ticks.tick().await;
    let (mut elapsed, mut progress, mut told) = (Duration::ZERO, 0.0, String::new());
    loop {
        let (stands, said) = {
            let known = seen.borrow_and_update();
            (one_line(&known.stands()), known.worker_line().map(|line| format!(": {line}")))
        };
        let message = format!("{stands}, waiting for {}{}", duration(elapsed.as_secs()), said.unwrap_or_default());
        if message != told {
            let word = ProgressNotificationParam::new(token.clone(), progress).with_message(message.clone());
            // A client that cannot hear it will not hear the result either; that ends the wait.
            let _ = call.peer.notify_progress(word).await;
            told = message;
        }
        tokio::select! {
            tick = ticks.tick() => {
                elapsed = tick.duration_since(began);
                progress = elapsed.as_secs_f64().max(progress + STEP);
            }
            changed = seen.changed() => match changed {
                Ok(()) => progress += STEP,
                Err(_) => return pending().await,
            },
        }
    }
}

/// A bound as people say it.
fn short(time: Duration) -> String {
    match time.as_secs() {
        secs if secs >= 120 && secs % 60 == 0 => format!("{} minutes", secs / 60),
        secs => format!("{secs} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_said_as_people_say_them() {
        assert_eq!(short(Duration::from_secs(600)), "10 minutes");
        assert_eq!(short(Duration::from_secs(60)), "60 s");
        assert_eq!(short(Duration::from_secs(601)), "601 s");
    }
}
