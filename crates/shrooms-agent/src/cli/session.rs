//! `session …`: the sessions of this machine. One file a verb.
//! Must not know what a verb does.

mod add;
mod attach;
mod conversations;
mod export;
mod given;
mod interrupt;
mod list;
mod log;
mod new;
mod remove;
mod rename;
mod restart;
mod say;
mod search;
mod set;
mod show;
mod start;
mod stop;
mod undo_remove;

use serde_json::Value;
use shrooms_core::Refusal;
use shrooms_core::name::check_session_name;

use crate::api::{self, Session};
use crate::context::Context;
use crate::report::{self, Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    List(list::Args),
    Show(show::Args),
    Add(add::Args),
    Say(say::Args),
    Log(log::Args),
    Search(search::Args),
    Export(export::Args),
    Stop(stop::Args),
    Start(start::Args),
    Remove(remove::Args),
    UndoRemove(undo_remove::Args),
    Rename(rename::Args),
    Set(set::Args),
    New(new::Args),
    Interrupt(interrupt::Args),
    Restart(restart::Args),
    Attach(attach::Args),
    Conversations(conversations::Args),
}

pub async fn run(verb: Verb, context: &Context) -> Result<Exit, Failure> {
    match verb {
        Verb::List(args) => list::run(args, context).await,
        Verb::Show(args) => show::run(args, context).await,
        Verb::Add(args) => add::run(args, context).await,
        Verb::Say(args) => say::run(args, context).await,
        Verb::Log(args) => log::run(args, context).await,
        Verb::Search(args) => search::run(args, context).await,
        Verb::Export(args) => export::run(args, context).await,
        Verb::Stop(args) => stop::run(args, context).await,
        Verb::Start(args) => start::run(args, context).await,
        Verb::Remove(args) => remove::run(args, context).await,
        Verb::UndoRemove(args) => undo_remove::run(args, context).await,
        Verb::Rename(args) => rename::run(args, context).await,
        Verb::Set(args) => set::run(args, context).await,
        Verb::New(args) => new::run(args, context).await,
        Verb::Interrupt(args) => interrupt::run(args, context).await,
        Verb::Restart(args) => restart::run(args, context).await,
        Verb::Attach(args) => attach::run(args, context).await,
        Verb::Conversations(args) => conversations::run(args, context).await,
    }
}

/// A session's name as it was written, if it can be one.
fn name(text: &str) -> Result<String, Refusal> {
    check_session_name(text).map(|()| text.to_owned())
}

/// Prints one session.
fn show(answer: &Value, context: &Context) -> Result<Exit, Failure> {
    let session: Session = api::read(answer)?;
    context.out.show(answer, |_| line(&session))?;
    for note in &session.notes {
        report::note(note);
    }
    Ok(Exit::Done)
}

fn line(session: &Session) -> String {
    let why = session.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("session {}: {}{why}, {}, in {}", session.name, session.state, session.harness, session.dir)
}
