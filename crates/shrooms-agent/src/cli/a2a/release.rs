//! `a2a release`: a parked task waits again.

use serde_json::json;

use crate::cli;
use crate::context::Context;
use crate::report::{Exit, Failure};

/// Take up a parked task again
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a release review:cli-20261008T091502-3f9a1c2e")]
pub struct Args {
    /// The task: SESSION:MESSAGE-ID, or MACHINE/SESSION:MESSAGE-ID
    #[arg(value_name = "TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::hand(&args.task, "/release", json!({}), context).await
}
