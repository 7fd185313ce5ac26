//! `pause` and `resume`: everything on this machine, at once.

use serde_json::json;

use crate::api::{self, Status};
use crate::context::Context;
use crate::report::{Exit, Failure};

/// Pause everything on this machine: what runs goes on, nothing new is begun
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent pause
  shrooms-agent resume")]
pub struct Args {}

/// Go on after a pause
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent resume")]
pub struct ResumeArgs {}

pub async fn run(path: &str, context: &Context) -> Result<Exit, Failure> {
    let answer = context.post(path, &json!({})).await?;
    let status: Status = api::read(&answer)?;
    context.out.show(&answer, |_| match &status.paused {
        Some(by) => format!("{}: paused by {by}; go on with: resume\n", status.machine),
        None => format!("{}: goes on\n", status.machine),
    })?;
    Ok(Exit::Done)
}
