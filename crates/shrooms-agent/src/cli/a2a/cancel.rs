//! `a2a cancel`: a task that is not to be done.

use serde_json::json;

use crate::cli;
use crate::context::{Context, task_path};
use crate::report::{Exit, Failure};
use crate::task::Known;

/// Cancel a task: if it waits, it never starts; if it runs, it is stopped
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a cancel homeserver/review:cli-20261008T091502-3f9a1c2e")]
pub struct Args {
    /// The task: MACHINE/SESSION:MESSAGE-ID, or SESSION:MESSAGE-ID for one on this machine
    #[arg(value_name = "MACHINE/TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.post(&task_path(&args.task, "/cancel")?, &json!({})).await?;
    let known = Known::read(answer, &args.task)?;
    context.out.show(&known.answer, |_| known.text())?;
    Ok(Exit::Done)
}
