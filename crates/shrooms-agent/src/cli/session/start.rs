//! `session start`: go on with a session that was stopped.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Start a session that was stopped
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session start tests")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/start")?, &json!({})).await?, context)
}
