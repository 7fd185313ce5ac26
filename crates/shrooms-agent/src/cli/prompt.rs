//! `prompt …`: permissions and questions of sessions that wait for a person. One file a verb.
//! Must not know what a verb does.

mod allow;
mod answer;
mod deny;
mod list;

use serde_json::{Value, json};

use crate::api::{self, Prompt};
use crate::context::Context;
use crate::report::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    List(list::Args),
    Allow(allow::Args),
    Deny(deny::Args),
    Answer(answer::Args),
}

pub async fn run(verb: Verb, context: &Context) -> Result<Exit, Failure> {
    match verb {
        Verb::List(args) => list::run(args, context).await,
        Verb::Allow(args) => allow::run(args, context).await,
        Verb::Deny(args) => deny::run(args, context).await,
        Verb::Answer(args) => answer::run(args, context).await,
    }
}

/// Sends an answer, and prints what became of the prompt.
async fn send(id: i64, body: &Value, context: &Context) -> Result<Exit, Failure> {
    let answer = context.post(&format!("/v1/prompts/{id}"), body).await?;
    let prompt: Prompt = api::read(&answer)?;
    context.out.show(&answer, |_| format!("prompt {id}: {}\n", prompt.state))?;
    Ok(Exit::Done)
}

async fn get(id: i64, context: &Context) -> Result<Prompt, Failure> {
    api::read(&context.get(&format!("/v1/prompts/{id}")).await?)
}

fn allowed(always: &[usize]) -> Value {
    json!({"allow": true, "always": always})
}
