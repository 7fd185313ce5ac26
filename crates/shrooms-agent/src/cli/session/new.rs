//! `session new`: a new conversation.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Begin a new conversation in a session (not for a command)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session new review
  shrooms-agent session new review --cancel")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// Cancel its open tasks; without this they refuse it
    #[arg(long)]
    cancel: bool,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/new")?, &json!({"cancel": args.cancel})).await?, context)
}
