//! `a2a …`: asking agents, and what one owes and is owed. One file a verb.
//! Must not know what a verb does.

mod ack;
mod asks;
mod cancel;
mod get;
mod list;
mod move_to;
mod park;
mod release;
mod reply;
mod save;
mod send;
mod update;
mod watch;

use shrooms_core::Refusal;
use shrooms_core::name::{AgentRef, TaskRef};

use crate::context::{Context, task_path};
use crate::report::{Exit, Failure};
use crate::task::Known;

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    List(list::Args),
    Send(send::Args),
    Reply(reply::Args),
    Get(get::Args),
    Cancel(cancel::Args),
    Ack(ack::Args),
    Update(update::Args),
    Asks(asks::Args),
    Watch(watch::Args),
    Move(move_to::Args),
    Park(park::Args),
    Release(release::Args),
}

pub async fn run(verb: Verb, context: &Context) -> Result<Exit, Failure> {
    match verb {
        Verb::List(args) => list::run(args, context).await,
        Verb::Send(args) => send::run(args, context).await,
        Verb::Reply(args) => reply::run(args, context).await,
        Verb::Get(args) => get::run(args, context).await,
        Verb::Cancel(args) => cancel::run(args, context).await,
        Verb::Ack(args) => ack::run(args, context).await,
        Verb::Update(args) => update::run(args, context).await,
        Verb::Asks(args) => asks::run(args, context).await,
        Verb::Watch(args) => watch::run(args, context).await,
        Verb::Move(args) => move_to::run(args, context).await,
        Verb::Park(args) => park::run(args, context).await,
        Verb::Release(args) => release::run(args, context).await,
    }
}

/// The owner's hand on a task that waits, and where it stands then.
async fn hand(task: &str, verb: &str, body: serde_json::Value, context: &Context) -> Result<Exit, Failure> {
    let answer = context.post(&task_path(task, verb)?, &body).await?;
    let known = Known::read(answer, task)?;
    context.out.show(&known.answer, |_| known.text())?;
    Ok(Exit::Done)
}

/// An agent's name as it was written, if it can be one.
fn agent(text: &str) -> Result<String, Refusal> {
    AgentRef::parse(text).map(|_| text.to_owned())
}

/// A task's reference as it was written, if it can be one.
fn task(text: &str) -> Result<String, Refusal> {
    TaskRef::parse(text).map(|_| text.to_owned())
}
