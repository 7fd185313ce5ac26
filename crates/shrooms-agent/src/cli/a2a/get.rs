//! `a2a get`: where a task stands.

use std::path::PathBuf;

use serde_json::json;

use crate::cli;
use crate::cli::a2a::save;
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
  shrooms-agent a2a get --save ./report homeserver/review:cli-20261008T091502-3f9a1c2e

Exit status: 2 if it failed or was rejected; 3 if the wait ran out and it goes on.")]
pub struct Args {
    #[command(flatten)]
    wait: WaitArgs,
    /// Write the files that came of it into this directory; none that is there is replaced
    #[arg(long, value_name = "DIR", conflicts_with = "wait")]
    save: Option<PathBuf>,
    /// The task: MACHINE/SESSION:MESSAGE-ID, or SESSION:MESSAGE-ID for one on this machine
    #[arg(value_name = "MACHINE/TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get(&task_path(&args.task, "")?).await?;
    if let Some(dir) = &args.save {
        let known = Known::read(answer, &args.task)?;
        let saved = save::files(&known, dir)?;
        context.out.show(&json!({"saved": saved}), |_| match saved.is_empty() {
            true => "no files came of this task\n".to_owned(),
            false => saved.iter().map(|path| format!("saved {path}\n")).collect(),
        })?;
        return Ok(known.exit());
    }
    wait::show(context, Known::read(answer, &args.task)?, args.wait).await
}
