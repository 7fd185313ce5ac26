//! `session log`: what a session did and said: its newest lines, those before, what comes, what holds some
//! words, and what its harness's own conversation has. One file more for each but the pages.

mod earlier;
mod follow;
mod search;

use serde_json::{Value, json};

use crate::api::{self, Log, LogLine};
use crate::context::{Context, session_path};
use crate::output::{one_line, plain, short_time};
use crate::report::{Exit, Failure};

/// Show what a session did and said
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session log tests
  shrooms-agent session log tests --limit 1000
  shrooms-agent session log tests --before 4711
  shrooms-agent session log tests --follow
  shrooms-agent session log tests --search 'flaky timeout'
  shrooms-agent session log review --earlier

A search finds lines that hold all words, by their beginnings, without regard to case or accents; \"in
quotes\" is found as it stands. --earlier reads the conversation that the session's own program keeps, also
from before it was a session.")]
pub struct Args {
    /// Go on with what comes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["before", "search", "earlier"])]
    follow: bool,
    /// How many, the newest [default: 200 lines, 50 hits, 30 of --earlier]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: Option<u32>,
    /// Those before the line of this number; with --earlier before this time
    #[arg(long, value_name = "N|TIME")]
    before: Option<String>,
    /// Lines that hold these words, the newest first
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["before", "earlier"])]
    search: Option<String>,
    /// What was said in the conversation of the session's program
    #[arg(long)]
    earlier: bool,
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

/// Some screens of a terminal.
const LIMIT: u32 = 200;
/// Lines asked for at once.
const PAGE: u32 = 1_000;

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    if let Some(words) = &args.search {
        return search::run(&args.name, words, args.limit, context).await;
    }
    if args.earlier {
        return earlier::run(&args.name, args.before.as_deref(), args.limit, context).await;
    }
    if args.follow {
        return follow::run(&args.name, args.limit.unwrap_or(LIMIT), context).await;
    }
    let before = args.before.as_deref().map(|n| n.parse::<i64>());
    let before = before.transpose().map_err(|_| Failure::new("--before must be the number of a line"))?;
    pages(&args, before, context).await
}

/// So many lines, in as many pages as they are.
async fn pages(args: &Args, mut before: Option<i64>, context: &Context) -> Result<Exit, Failure> {
    let mut left = args.limit.unwrap_or(LIMIT);
    let mut got: Vec<Value> = Vec::new();
    let mut answer = json!({});
    while left > 0 {
        let limit = left.min(PAGE);
        let query = match before {
            Some(before) => format!("/log?limit={limit}&before={before}"),
            None => format!("/log?limit={limit}"),
        };
        let mut page = context.get(&session_path(&args.name, &query)?).await?;
        let Some(Value::Array(mut lines)) = page.get_mut("lines").map(Value::take) else { break };
        before = lines.first().and_then(|line| line["seq"].as_i64());
        left = left.saturating_sub(u32::try_from(lines.len()).unwrap_or(u32::MAX));
        let was_last = before.is_none_or(|first| Some(first) <= page["oldest"].as_i64());
        if page["log"] != answer["log"] {
            // Of another log than the pages behind it: what was got is all that there is.
            if !answer["log"].is_null() {
                break;
            }
            answer = page;
        }
        lines.append(&mut got);
        got = lines;
        if was_last {
            break;
        }
    }
    answer["lines"] = got.into();
    let log: Log = api::read(&answer)?;
    context.out.show(&answer, |out| log.lines.iter().map(|line| shown(line, out.terminal) + "\n").collect())?;
    Ok(Exit::Done)
}

fn shown(line: &LogLine, terminal: bool) -> String {
    if terminal {
        let mark = match line.kind.as_str() {
            "error" => "! ",
            "note" => "# ",
            "said" => "> ",
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
            ("said", true, "2026-11-30 09:15:04  > all\tgreen"),
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
