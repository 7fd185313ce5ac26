//! `session conversations`: what began in a terminal and could go on as a session.

use crate::api::{self, Conversations};
use crate::context::Context;
use crate::output::{Output, to_the_minute};
use crate::report::{self, Exit, Failure};

/// List conversations that began in a terminal and could go on as sessions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session conversations
  shrooms-agent session add review --resume 8f4d21a0-1c9e-4f6e-9a53-0b1d1f1f7a55

They are Claude Code's, of the user that the daemon runs as, the newest first. End one in its terminal before
it goes on as a session: a conversation has one writer.")]
pub struct Args {
    /// So many at most [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: Option<u16>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let limit = args.limit.map(|n| format!("?limit={n}")).unwrap_or_default();
    let answer = context.get(&format!("/v1/conversations{limit}")).await?;
    let found: Conversations = api::read(&answer)?;
    context.out.show(&answer, |out| lines(&found, out))?;
    if found.conversations.is_empty() && !context.out.json {
        report::note("no conversations that are not a session's already");
    }
    Ok(Exit::Done)
}

fn lines(found: &Conversations, out: Output) -> String {
    let row = |c: &api::Conversation| [c.id.clone(), to_the_minute(&c.last), c.dir.clone(), c.title.clone()];
    let rows: Vec<_> = found.conversations.iter().map(row).collect();
    out.table(["CONVERSATION", "LAST", "DIRECTORY", "BEGINS"], &rows)
}
