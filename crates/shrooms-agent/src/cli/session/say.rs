//! `session say`: a person's own word to a session; no task.

use serde::Serialize;

use crate::api::{self, Session};
use crate::context::{Context, session_path};
use crate::env;
use crate::report::{self, Exit, Failure};
use crate::text::TextArgs;

/// Say something to a session yourself (a command session takes tasks only: a2a send)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session say review \"Look at the failing test first.\"
  shrooms-agent session say review --file notes.md")]
pub struct Args {
    /// The message's id, to send it again without saying it twice [default: a fresh one]
    #[arg(long, value_name = "MESSAGE-ID")]
    id: Option<String>,
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    #[command(flatten)]
    text: TextArgs,
}

#[derive(Serialize)]
struct Body<'a> {
    text: &'a str,
    id: &'a str,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let text = args.text.read()?;
    let id = match args.id {
        Some(id) => id,
        None => env::message_id()?,
    };
    let path = session_path(&args.name, "/messages")?;
    let answer = context.post_once(&path, &Body { text: &text, id: &id }, &id).await?;
    context.out.show(&answer, |_| String::new())?;
    // It is taken either way; who said it should know that nobody reads it now.
    let session: Session = api::read(&context.get(&session_path(&args.name, "")?).await?)?;
    match session.state.as_str() {
        "stopped" => report::note(&format!("it waits until: session start {}", args.name)),
        "attached" => report::note("it waits until the terminal gives the conversation back"),
        _ => {}
    }
    Ok(Exit::Done)
}
