//! `session restart`: end a session's program, and start it again.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// End a session's program and start it again, in the same conversation
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session restart review

Settings that hold from the program's next start (its model, its arguments, its role) hold then. What a turn
was at is told to it as cut off. A session that was stopped serves again.")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/restart")?, &json!({})).await?, context)
}
