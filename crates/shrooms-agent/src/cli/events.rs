//! `events`: everything that changes on this machine, as it happens.

use serde_json::Value;

use crate::api::{self, Event};
use crate::context::Context;
use crate::following;
use crate::output::{one_line, short_time};
use crate::report::{self, Exit, Failure};

/// Follow what changes on this machine, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent events
  shrooms-agent events --after 4711
  shrooms-agent events --json | jq .task")]
pub struct Args {
    /// Begin with what came after the event of this number [default: with what comes from now on]
    #[arg(long, value_name = "N")]
    after: Option<u64>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let path = |after: Option<&str>| {
        Ok(after.map_or_else(|| "/v1/events".to_owned(), |after| format!("/v1/events?after={after}")))
    };
    let after = args.after.map(|after| after.to_string());
    match following::follow(context, after, path, |data| show(data, context)).await? {}
}

fn show(data: &str, context: &Context) -> Result<(), Failure> {
    if context.out.json {
        // As it came: one object a line.
        return context.out.print(&one_line(data));
    }
    let value: Value = serde_json::from_str(data).map_err(|error| api::unread(&error.to_string()))?;
    let event: Event = api::read(&value)?;
    if event.kind == "resync" {
        report::note("some events before this are no longer kept: look at the lists once more");
        return Ok(());
    }
    context.out.print(&line(event, context.out.terminal))
}

fn line(event: Event, terminal: bool) -> String {
    let about = event.task.or(event.session).unwrap_or_default();
    let summary = event.summary.unwrap_or_default();
    let number = event.seq.map(|seq| seq.to_string()).unwrap_or_default();
    let cells = match terminal {
        true => [short_time(&event.at), event.kind, about, event.state, summary],
        false => [event.at, event.kind, about, event.state, summary],
    };
    let cells = cells.map(|cell| one_line(&cell));
    if terminal { cells.join("  ") } else { format!("{number}\t{}", cells.join("\t")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_one_line() {
        let event = || {
            let event = json!({"seq": 7, "at": "2026-11-30T09:15:04.120Z", "kind": "task", "session": "tests",
                "task": "tests:m-1", "state": "completed", "summary": "all\ngreen"});
            api::read::<Event>(&event).unwrap()
        };
        assert_eq!(line(event(), false), "7\t2026-11-30T09:15:04.120Z\ttask\ttests:m-1\tcompleted\tall green");
        assert_eq!(line(event(), true), "2026-11-30 09:15:04  task  tests:m-1  completed  all green");
        let resync = api::read::<Event>(&json!({"kind": "resync"})).unwrap();
        assert_eq!(line(resync, false), "\t\tresync\t\t\t");
    }
}
