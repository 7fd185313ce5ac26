//! `a2a ack`: the asker has what it needed.

use serde_json::json;

use crate::cli;
use crate::context::{Context, task_path};
use crate::report::{Exit, Failure};
use crate::task::Known;

/// Say that you have what you needed of a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a ack homeserver/review:cli-20261008T091502-3f9a1c2e

This is bookkeeping: it ends nothing. If the result is not good enough, ask a new task.")]
pub struct Args {
    /// The task: MACHINE/SESSION:MESSAGE-ID, or SESSION:MESSAGE-ID for one on this machine
    #[arg(value_name = "MACHINE/TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.post(&task_path(&args.task, "/ack")?, &json!({})).await?;
    let known = Known::read(answer, &args.task)?;
    context.out.show(&known.answer, |_| known.text())?;
    Ok(Exit::Done)
}
