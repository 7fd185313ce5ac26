//! `session log --follow`: the newest lines and then what comes, as it comes. A daemon that is restarted
//! is waited for, and no line is shown twice or left out.

use serde_json::Value;

use crate::api::{self, LogLine};
use crate::context::{Context, session_path};
use crate::following;
use crate::output::one_line;
use crate::report::{self, Exit, Failure};

/// Until Ctrl-C, which is how it is meant to end.
pub async fn run(name: &str, tail: u32, context: &Context) -> Result<Exit, Failure> {
    tokio::select! {
        biased;
        // Where the signal cannot be listened to, it ends the program by itself.
        Ok(()) = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        done = follow(name, tail, context) => done,
    }
}

async fn follow(name: &str, tail: u32, context: &Context) -> Result<Exit, Failure> {
    let path = |id: Option<&str>| match id {
        Some(id) => session_path(name, &format!("/events?after={id}")),
        None => session_path(name, &format!("/events?tail={}", tail.min(10_000))),
    };
    match following::follow(context, None, path, |data| show(data, context)).await? {}
}

fn show(data: &str, context: &Context) -> Result<(), Failure> {
    if context.out.json {
        // As it came: one object a line.
        return context.out.print(&one_line(data));
    }
    let value: Value = serde_json::from_str(data).map_err(|error| api::unread(&error.to_string()))?;
    match value["kind"].as_str() {
        // It comes whole, as a line.
        Some("partial") => Ok(()),
        Some("resync") => {
            report::note("lines before this are no longer kept, or the log was begun anew");
            Ok(())
        }
        _ => {
            let line: LogLine = api::read(&value)?;
            context.out.print(&super::shown(&line, context.out.terminal))
        }
    }
}
