//! `session search`: the lines of all sessions that hold some words, the newest first.

use crate::api::{self, Hits};
use crate::context::{Context, query_value};
use crate::output::short_time;
use crate::report::{Exit, Failure};

/// Search what all sessions of this machine did and said
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session search 'flaky timeout'
  shrooms-agent session search 'exit code' --limit 200

Lines that hold all words, by their beginnings, without regard to case or accents; \"in quotes\" is found
as it stands. For one session: session log NAME --search TEXT")]
pub struct Args {
    /// How many, the newest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// The words
    #[arg(value_name = "TEXT")]
    words: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let path = format!("/v1/search?q={}&limit={}", query_value(&args.words), args.limit);
    let answer = context.get(&path).await?;
    let hits: Hits = api::read(&answer)?;
    context.out.show(&answer, |out| {
        let rows = hits.found.iter().map(|hit| {
            let session = hit.session.clone().unwrap_or_default();
            [session, hit.seq.to_string(), short_time(&hit.at), hit.kind.clone(), hit.snippet.clone()]
        });
        out.table(["SESSION", "NO", "AT", "KIND", "TEXT"], &rows.collect::<Vec<_>>())
    })?;
    Ok(Exit::Done)
}
