//! `session rename`: another name for a session.

use serde_json::json;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Give a session another name; its tasks keep their ids
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session rename review reviewer")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// Its new name
    #[arg(value_name = "NEW-NAME", value_parser = super::name)]
    to: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::show(&context.post(&session_path(&args.name, "/rename")?, &json!({"name": args.to})).await?, context)
}
