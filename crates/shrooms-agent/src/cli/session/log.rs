//! `session log`: what a session did and said.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use crate::api::{self, Log, LogLine};
use crate::context::{Context, session_path};
use crate::output::{one_line, plain, short_time};
use crate::report::{Exit, Failure};
use crate::wait::Patience;

/// Show what a session did and said
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session log tests
  shrooms-agent session log tests --follow
  shrooms-agent session log tests --limit 1000")]
pub struct Args {
    /// Go on with what comes, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// How many lines, the newest
    #[arg(long, value_name = "N", default_value_t = LIMIT)]
    limit: u32,
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

/// Some screens of a terminal.
const LIMIT: u32 = 200;

/// A reader does not see a second, and the daemon does not feel one request in it.
const POLL: Duration = Duration::from_secs(1);

/// Lines asked for at once while following: more than come in a second.
const PAGE: u32 = 500;

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get(&path(&args, &format!("limit={}", args.limit))?).await?;
    let last = show(&answer, args.follow, context)?;
    if args.follow { follow(&args, last.unwrap_or_default(), context).await } else { Ok(Exit::Done) }
}

/// Never returns by itself: Ctrl-C ends the program.
async fn follow(args: &Args, mut last: i64, context: &Context) -> Result<Exit, Failure> {
    let mut patience = Patience::new();
    loop {
        match context.client.get(&path(args, &format!("after={last}&limit={PAGE}"))?).await {
            Ok(answer) => {
                patience.restore();
                match show(&answer, true, context)? {
                    Some(newer) => last = newer,
                    None => sleep(POLL).await,
                }
            }
            Err(error) => patience.after(error).await.map_err(|error| context.failure(error))?,
        }
    }
}

fn path(args: &Args, query: &str) -> Result<String, Failure> {
    session_path(&args.name, &format!("/log?{query}"))
}

/// Prints the lines; gives the number of the last one.
fn show(answer: &Value, follow: bool, context: &Context) -> Result<Option<i64>, Failure> {
    let log: Log = api::read(answer)?;
    let last = log.lines.last().map(|line| line.seq);
    if !context.out.json {
        let text: String = log.lines.iter().map(|line| shown(line, context.out.terminal) + "\n").collect();
        context.out.print(&text)?;
    } else if !follow {
        context.out.show(answer, |_| String::new())?;
    } else {
        // A stream of answers is no JSON; one line each is.
        for line in answer.get("lines").and_then(Value::as_array).into_iter().flatten() {
            context.out.print(&line.to_string())?;
        }
    }
    Ok(last)
}

fn shown(line: &LogLine, terminal: bool) -> String {
    if terminal {
        let mark = match line.kind.as_str() {
            "error" => "! ",
            "note" => "# ",
            _ => "",
        };
        return format!("{}  {mark}{}", short_time(&line.at), line.text);
    }
    let task = line.task.clone().unwrap_or_default();
    let cells = [&line.at, &line.kind, &task].map(|cell| one_line(cell));
    // Its blanks are its own: output is often indented.
    let text = plain(&line.text).replace('\n', " ");
    format!("{}\t{}\t{}", line.seq, cells.join("\t"), text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_for_people_or_for_programs() {
        for (kind, terminal, expected) in [
            ("words", true, "2026-11-30 09:15:04  all\tgreen"),
            ("note", true, "2026-11-30 09:15:04  # all\tgreen"),
            ("error", true, "2026-11-30 09:15:04  ! all\tgreen"),
            ("words", false, "7\t2026-11-30T09:15:04.120Z\twords\ttests:m-1\tall\tgreen"),
        ] {
            let line = LogLine {
                seq: 7,
                at: "2026-11-30T09:15:04.120Z".into(),
                kind: kind.into(),
                task: Some("tests:m-1".into()),
                text: "all\tgreen".into(),
            };
            assert_eq!(shown(&line, terminal), expected);
        }
    }
}
