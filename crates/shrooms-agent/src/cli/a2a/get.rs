//! `a2a get`: where a task stands.

use crate::cli;
use crate::context::{Context, task_path};
use crate::report::{Exit, Failure};
use crate::task::Known;
use crate::wait::{self, WaitArgs};

/// Show where a task stands, and what came of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a get homeserver/review:cli-20261008T091502-3f9a1c2e
  shrooms-agent a2a get --wait homeserver/review:cli-20261008T091502-3f9a1c2e
  shrooms-agent a2a get --wait --timeout 3600 review:cli-20261008T091502-3f9a1c2e

Exit status: 2 if it failed or was rejected; 3 if the wait ran out and it goes on.")]
pub struct Args {
    #[command(flatten)]
    wait: WaitArgs,
    /// The task: MACHINE/SESSION:MESSAGE-ID, or SESSION:MESSAGE-ID for one on this machine
    #[arg(value_name = "MACHINE/TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get(&task_path(&args.task, "")?).await?;
    wait::show(context, Known::read(answer, &args.task)?, args.wait).await
}
