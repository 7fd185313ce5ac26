//! `a2a asks`: what was asked from this machine.

use crate::api::{self, Asks};
use crate::context::Context;
use crate::output::{Output, short_time};
use crate::report::{Exit, Failure};

/// List what was asked from this machine and is open or unread
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a asks
  shrooms-agent a2a asks --all")]
pub struct Args {
    /// Also what has ended and was read
    #[arg(long)]
    all: bool,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let path = if args.all { "/v1/asks?all=1" } else { "/v1/asks" };
    let answer = context.get(path).await?;
    let asks: Asks = api::read(&answer)?;
    context.out.show(&answer, |out| lines(&asks, out))?;
    Ok(Exit::Done)
}

fn lines(asks: &Asks, out: Output) -> String {
    let row = |ask: &api::Ask| {
        let about = ask.title.clone().unwrap_or_else(|| ask.text.clone());
        let made = if out.terminal { short_time(&ask.made) } else { ask.made.clone() };
        [ask.reference(), ask.state.clone(), made, ask.by.clone(), about]
    };
    let rows: Vec<_> = asks.asks.iter().map(row).collect();
    out.table(["TASK", "STATE", "ASKED", "BY", "ABOUT"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_an_ask_names_the_task_first() {
        let asks = json!({"asks": [
            {"ask": "1", "to": "homeserver/tests", "task": null, "message_id": "m-1", "state": "unsent",
             "title": "Nightly", "text": "run", "by": "the owner", "told": false, "made": "2026-11-30T09:15:04.120Z"},
            {"ask": "2", "to": "homeserver/tests", "task": "homeserver/tests:m-2", "message_id": "m-2",
             "state": "working", "text": "two\nlines", "by": "build", "told": false, "made": "2026-11-30T09:15:05.120Z"},
        ]});
        assert_eq!(
            lines(&api::read(&asks).unwrap(), Output { json: false, terminal: false }),
            "homeserver/tests:m-1\tunsent\t2026-11-30T09:15:04.120Z\tthe owner\tNightly\n\
             homeserver/tests:m-2\tworking\t2026-11-30T09:15:05.120Z\tbuild\ttwo lines\n"
        );
    }
}
