//! `prompt deny`: a tool may not be used, or a question is not answered.

use serde_json::json;

use crate::context::Context;
use crate::report::{Exit, Failure};

/// Refuse what a session asks to do, or to answer its question
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent prompt deny 17
  shrooms-agent prompt deny 17 \"Not on this machine.\"")]
pub struct Args {
    /// The prompt's number, as prompt list shows it
    #[arg(value_name = "ID")]
    id: i64,
    /// Why: the session reads it
    #[arg(value_name = "WHY")]
    why: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let body = match &args.why {
        Some(why) => json!({"allow": false, "message": why}),
        None => json!({"allow": false}),
    };
    super::send(args.id, &body, context).await
}
