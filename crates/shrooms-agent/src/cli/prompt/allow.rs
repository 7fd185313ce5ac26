//! `prompt allow`: a tool may be used.

use crate::context::Context;
use crate::report::{Exit, Failure};

/// Allow what a session asks to do
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent prompt allow 17
  shrooms-agent prompt allow 17 --always 0")]
pub struct Args {
    /// The prompt's number, as prompt list shows it
    #[arg(value_name = "ID")]
    id: i64,
    /// Allow for good what this suggestion of the list says, too, from 0 (may be given several times)
    #[arg(long, value_name = "N")]
    always: Vec<usize>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    super::send(args.id, &super::allowed(&args.always), context).await
}
