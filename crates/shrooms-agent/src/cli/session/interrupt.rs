//! `session interrupt`: what it does now is cut short.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Cut the turn that runs short; the session goes on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session interrupt review

The task that it worked on stays open: it gives way to others, and is left alone for an hour.")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/interrupt")?, &json!({})).await?, context)
}
