//! `session list`: the sessions of this machine.

use crate::api::{self, Sessions};
use crate::context::Context;
use crate::output::Output;
use crate::report::{self, Exit, Failure};

/// List the sessions of this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session list
  shrooms-agent session list --json")]
pub struct Args {}

pub async fn run(_args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get("/v1/sessions").await?;
    let sessions: Sessions = api::read(&answer)?;
    context.out.show(&answer, |out| lines(&sessions, out))?;
    for session in sessions.sessions.iter().filter(|_| !context.out.json) {
        if let Some(warning) = &session.warning {
            report::note(&format!("{}: {warning}", session.name));
        }
    }
    if sessions.sessions.is_empty() && !context.out.json {
        report::note("no sessions; add one with: shrooms-agent session add NAME --harness claude, or … -- COMMAND");
    }
    Ok(Exit::Done)
}

fn lines(sessions: &Sessions, out: Output) -> String {
    let row = |session: &api::Session| {
        let why = session.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        [
            session.name.clone(),
            session.harness.clone(),
            format!("{}{why}", session.state),
            session.tasks_open.to_string(),
            session.tasks_waiting.to_string(),
            context(session),
            session.dir.clone(),
        ]
    };
    // They come by name; those that the owner wants at the top first.
    let (starred, rest): (Vec<_>, Vec<_>) = sessions.sessions.iter().partition(|session| session.starred);
    let rows: Vec<_> = starred.into_iter().chain(rest).map(row).collect();
    out.table(["NAME", "HARNESS", "STATE", "OPEN", "WAITING", "CONTEXT", "DIRECTORY"], &rows)
}

/// How full its conversation is.
fn context(session: &api::Session) -> String {
    match (session.context_used, session.context_window) {
        (0, _) => String::new(),
        (used, 0) => format!("{used} tokens"),
        (used, window) => format!("{} %", used.saturating_mul(100) / window),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_a_session() {
        let session = json!({"name": "tests", "harness": "command", "command": ["make"], "dir": "/srv", "state": "stopped",
            "why": "by the owner", "tasks_open": 2, "tasks_waiting": 1, "created": "2026-11-30T09:15:04.120Z"});
        let sessions = api::read(&json!({"sessions": [session]})).unwrap();
        assert_eq!(
            lines(&sessions, Output { json: false, terminal: false }),
            "tests\tcommand\tstopped (by the owner)\t2\t1\t\t/srv\n"
        );
    }

    #[test]
    fn those_with_a_star_come_first() {
        let session = |name: &str, starred: bool| json!({"name": name, "state": "idle", "starred": starred});
        let all = [session("a", false), session("b", true), session("c", false), session("d", true)];
        let lines = lines(&api::read(&json!({"sessions": all})).unwrap(), Output { json: false, terminal: false });
        let names: Vec<&str> = lines.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(names, ["b", "d", "a", "c"]);
    }

    #[test]
    fn a_conversation_is_shown_by_how_full_it_is() {
        for (used, window, shown) in
            [(0, 0, ""), (0, 200, ""), (50, 200, "25 %"), (199, 200, "99 %"), (7, 0, "7 tokens")]
        {
            let session = json!({"name": "a", "state": "idle", "context_used": used, "context_window": window});
            let sessions: Sessions = api::read(&json!({"sessions": [session]})).unwrap();
            assert_eq!(context(&sessions.sessions[0]), shown, "{used}/{window}");
        }
    }
}
