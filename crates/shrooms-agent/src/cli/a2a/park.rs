//! `a2a park`: a task that is not to be started for now.

use serde_json::json;

use crate::cli;
use crate::context::Context;
use crate::report::{Exit, Failure};

/// Set a task that waits aside: it keeps its place and is not started
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a park review:cli-20261008T091502-3f9a1c2e")]
pub struct Args {
    /// The task: SESSION:MESSAGE-ID, or MACHINE/SESSION:MESSAGE-ID
    #[arg(value_name = "TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::hand(&args.task, "/park", json!({}), context).await
}
