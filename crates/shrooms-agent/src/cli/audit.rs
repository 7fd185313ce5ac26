//! `audit`: who did what on this machine, and who was refused.

use crate::api::{self, AuditLine, AuditPage};
use crate::context::Context;
use crate::output::short_time;
use crate::report::{self, Exit, Failure};

/// Lines that one request may be asked for.
const PAGE: usize = 1_000;

/// Show who did what on this machine: messages between agents, and everything that changes what is
/// set or allowed, with what was refused; the newest last
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent audit
  shrooms-agent audit --limit 1000 | grep laptop
  shrooms-agent audit --limit 5000 --json

Lines are kept for 90 days. FROM is as established: owner, a session of this machine, or a device's
stable identity; WHO has the names, and in brackets what a device says of itself.")]
pub struct Args {
    /// How many lines, the newest
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let mut left = args.limit as usize;
    let mut lines: Vec<AuditLine> = Vec::new();
    let mut raw = Vec::new();
    let mut cursor = String::new();
    while left > 0 {
        let answer = context.get(&format!("/v1/audit?limit={}{cursor}", left.min(PAGE))).await?;
        let page: AuditPage = api::read(&answer)?;
        left -= page.lines.len().min(left);
        if let Some(all) = answer.get("lines").and_then(serde_json::Value::as_array) {
            raw.extend(all.iter().cloned());
        }
        lines.extend(page.lines);
        match page.next {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    // As they are read: downwards in time.
    lines.reverse();
    raw.reverse();
    let rows: Vec<[String; 6]> = lines.iter().map(row).collect();
    let answer = serde_json::json!({ "lines": raw });
    context.out.show(&answer, |out| out.table(["AT", "WHO", "FROM", "WHAT", "ABOUT", "OUTCOME"], &rows))?;
    if rows.is_empty() && !context.out.json {
        report::note("nothing was done here yet");
    }
    Ok(Exit::Done)
}

fn row(line: &AuditLine) -> [String; 6] {
    let AuditLine { at, who, from, what, about, outcome } = line;
    [short_time(at), who.clone(), from.clone(), what.clone(), about.clone(), outcome.clone()]
}
