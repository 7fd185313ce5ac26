//! `session undo-remove`: a removed session comes back.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Bring back a session that was removed within the last 7 days
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session undo-remove review

Its conversation is there again; its tasks stay canceled.")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/undo-remove")?, &json!({})).await?, context)
}
