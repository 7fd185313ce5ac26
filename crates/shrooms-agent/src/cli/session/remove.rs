//! `session remove`: a session that is no longer wanted.

use crate::context::{Context, session_path};
use crate::report::{self, Exit, Failure};

/// Remove a session; its open tasks end as canceled
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session remove tests")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.client.delete(&session_path(&args.name, "")?).await;
    let answer = answer.map_err(|error| context.failure(error))?;
    context.out.show(&answer, |_| String::new())?;
    report::note(&format!("session {} is removed", args.name));
    Ok(Exit::Done)
}
