//! `a2a …`: asking agents, and what one owes and is owed. One file a verb.
//! Must not know what a verb does.

mod ack;
mod asks;
mod cancel;
mod get;
mod list;
mod reply;
mod send;
mod update;

use shrooms_core::Refusal;
use shrooms_core::name::{AgentRef, TaskRef};

use crate::context::Context;
use crate::report::{Exit, Failure};

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
    }
}

/// An agent's name as it was written, if it can be one.
fn agent(text: &str) -> Result<String, Refusal> {
    AgentRef::parse(text).map(|_| text.to_owned())
}

/// A task's reference as it was written, if it can be one.
fn task(text: &str) -> Result<String, Refusal> {
    TaskRef::parse(text).map(|_| text.to_owned())
}
