//! `session stop`: stop a session and keep its queue.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Stop a session: what runs is ended, and what waits is kept
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session stop tests")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/stop")?, &json!({})).await?, context)
}
