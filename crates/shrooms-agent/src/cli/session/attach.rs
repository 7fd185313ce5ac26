//! `session attach`: a session's conversation in this terminal, for as long as its program runs here.

use std::io::{self, ErrorKind, IsTerminal};
use std::path::Path;

use serde_json::json;
use shrooms_runner::terminal;

use crate::api::{self, Attach};
use crate::context::{Context, session_path};
use crate::env;
use crate::report::{self, Exit, Failure};

/// Take a session's conversation over into this terminal, until you end it here
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session attach review
  shrooms-agent session attach review -- --permission-mode plan

The session's own program is ended, Claude Code goes on here with the same conversation, and what is sent to
the session meanwhile waits. When you leave it, or the terminal goes, the session goes on with what was said.
A session that is at work is not attached to: wait, or interrupt it.")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// More arguments for the program
    #[arg(value_name = "ARG", last = true)]
    more: Vec<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    // What is said is to be said in the session's own conversation.
    let elsewhere = ["--fork-session", "--resume", "-r", "--continue", "-c", "--session-id", "--from-pr"];
    let leaves = |word: &&String| elsewhere.iter().any(|o| word.as_str() == *o || word.starts_with(&format!("{o}=")));
    if let Some(word) = args.more.iter().find(leaves) {
        return Err(Failure::new(format!("{word} would go on in another conversation: leave it out")));
    }
    if args.more.is_empty() && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Failure::new("attaching needs a terminal").hint(format!(
            "to say one thing without one: {} -- -p TEXT",
            context.place.command(&format!("session attach {}", args.name))
        )));
    }
    let answer = context.post(&session_path(&args.name, "/attach")?, &json!({})).await?;
    let Attach { mut program, dir, env_remove, config_dir, lock } = api::read(&answer)?;
    program.extend(args.more);
    let elsewhere = env::claude_dir().is_none_or(|ours| ours != Path::new(&config_dir));
    let env: Vec<_> = elsewhere.then(|| ("CLAUDE_CONFIG_DIR".to_string(), config_dir)).into_iter().collect();
    let ran = terminal::run(&program, Path::new(&dir), &env, &env_remove, Path::new(&lock)).await;
    // Whatever came of it, the session goes on; a daemon that is gone by now finds the lock free.
    let back = context.post(&session_path(&args.name, "/detach")?, &json!({})).await;
    let name = program.first().cloned().unwrap_or_default();
    let status = ran.map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Failure::new("another terminal has this conversation"),
        _ => Failure::new(format!("'{name}' cannot be run in {dir}: {error}")),
    })?;
    match back {
        Ok(_) => report::note(&format!("session {} goes on", args.name)),
        Err(Failure::Said { text, .. }) => report::note(&format!("session {}: {text}", args.name)),
        Err(gone) => return Err(gone),
    }
    match status.success() {
        true => Ok(Exit::Done),
        false => Err(Failure::new(format!("{name} ended with {status}"))),
    }
}
