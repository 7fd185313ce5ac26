//! `a2a move`: a task that waits goes before others, or after them.

use serde_json::json;

use crate::cli;
use crate::context::Context;
use crate::report::{Exit, Failure};

/// Move a task that waits to another place in its queue
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a move review:cli-20261008T091502-3f9a1c2e 1")]
pub struct Args {
    /// The task: SESSION:MESSAGE-ID, or MACHINE/SESSION:MESSAGE-ID
    #[arg(value_name = "TASK", value_parser = cli::a2a::task)]
    task: String,
    /// Its new place, from 1
    #[arg(value_name = "PLACE", value_parser = clap::value_parser!(u32).range(1..))]
    place: u32,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::hand(&args.task, "/move", json!({"place": args.place}), context).await
}
