//! `prompt answer`: what a session wants to know.

use std::collections::BTreeMap;

use serde_json::json;

use crate::context::Context;
use crate::report::{Exit, Failure};

/// Answer a session's questions, in the order in which prompt list shows them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent prompt answer 17 \"The staging branch\"
  shrooms-agent prompt answer 18 Yes \"Rust, Go\"")]
pub struct Args {
    /// The prompt's number, as prompt list shows it
    #[arg(value_name = "ID")]
    id: i64,
    /// An answer for each question: one of its choices, or words of your own
    #[arg(value_name = "ANSWER", required = true)]
    answers: Vec<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let prompt = super::get(args.id, context).await?;
    if prompt.questions.is_empty() {
        let hint = context.place.command(&format!("prompt allow {}", args.id));
        return Err(Failure::new(format!("prompt {} is a permission, not a question", args.id)).hint(hint));
    }
    if prompt.questions.len() != args.answers.len() {
        let (asked, given) = (prompt.questions.len(), args.answers.len());
        return Err(Failure::new(format!("prompt {} has {asked} questions, and {given} answers were given", args.id))
            .hint("give one for each, in order; quote one of several words"));
    }
    let answers: BTreeMap<_, _> = prompt.questions.into_iter().map(|q| q.question).zip(args.answers).collect();
    super::send(args.id, &json!({"answers": answers}), context).await
}
