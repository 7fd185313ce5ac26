//! The command line from the top: global flags, the verbs, and who carries each out. One file a verb.
//! Must not know what a verb does.

mod a2a;
mod audit;
mod events;
mod pause;
mod prompt;
mod session;
mod status;
mod usage;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::context::{Context, Place};
use crate::env::Env;
use crate::report::{Exit, Failure};
use crate::{demo, mcp, serve};

/// Agents on your machines that ask one another, and see each task through
#[derive(Debug, Parser)]
#[command(name = "shrooms-agent", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  shrooms-agent serve
  shrooms-agent session add review --harness claude --dir ~/webapp
  shrooms-agent session add tests --dir ~/webapp -- make test
  shrooms-agent a2a list
  shrooms-agent a2a send --wait homeserver/tests \"Run the tests.\"

Flags may stand anywhere; -- ends them. Exit status: 0; 2 for a task that ended failed or rejected;
3 when a wait ran out and the task goes on; 130 on Ctrl-C while waiting; 1 for errors.";

const GLOBAL: &str = "Flags of every verb";

/// Flags of every verb.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Globals {
    /// The daemon's state directory [default: SHROOMS_AGENT_STATE, else ~/.local/share/shrooms-agent]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub state: Option<PathBuf>,
    /// Print what the API answered
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// The mesh daemon's socket; clients need none, for their own daemon knows the mesh
    #[arg(long, global = true, value_name = "PATH", help_heading = GLOBAL)]
    pub socket: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    Serve(serve::Args),
    Demo(demo::Args),
    Mcp(mcp::Args),
    /// Ask agents, and see to what was asked
    #[command(subcommand)]
    A2a(a2a::Verb),
    /// The sessions of this machine
    #[command(subcommand)]
    Session(session::Verb),
    /// Permissions and questions that wait for you
    #[command(subcommand)]
    Prompt(prompt::Verb),
    Pause(pause::Args),
    Resume(pause::ResumeArgs),
    Status(status::Args),
    Events(events::Args),
    Audit(audit::Args),
    Usage(usage::Args),
}

/// The daemon is what is meant without a verb, as the original has it.
const DEFAULT_VERB: &str = "serve";

/// Reads the arguments; the first one is the program's name.
///
/// # Errors
/// What is wrong with them; also the help, where it is asked for.
pub fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(with_verb(words))
}

/// Puts in the default verb where the first word that is no global flag is none or a flag.
fn with_verb(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        match word {
            "--state" | "--socket" => at += 2,
            "--json" => at += 1,
            _ if word.starts_with("--state=") || word.starts_with("--socket=") => at += 1,
            "-h" | "--help" | "-V" | "--version" => return words,
            _ => break,
        }
    }
    let is_verb = words.get(at).is_some_and(|word| !word.to_string_lossy().starts_with('-'));
    if !is_verb {
        words.insert(at.min(words.len()), DEFAULT_VERB.into());
    }
    words
}

/// Does what was asked.
///
/// # Errors
/// Why it could not be done.
pub fn run(cli: Cli) -> Result<Exit, Failure> {
    let place = Place::new(&cli.globals, Env::read())?;
    let client = |place| Context::new(place, cli.globals.json);
    match cli.verb {
        Verb::Serve(args) => serve::run(args, &place),
        Verb::Demo(args) => demo::run(args, &place),
        Verb::A2a(verb) => block_on(a2a::run(verb, &client(place)?)),
        Verb::Session(verb) => block_on(session::run(verb, &client(place)?)),
        Verb::Pause(args) => block_on(pause::run(args, &client(place)?)),
        Verb::Resume(args) => block_on(pause::resume(args, &client(place)?)),
        Verb::Prompt(verb) => block_on(prompt::run(verb, &client(place)?)),
        Verb::Mcp(args) => block_on(mcp::run(args, client(place)?)),
        Verb::Status(args) => block_on(status::run(args, &client(place)?)),
        Verb::Events(args) => block_on(events::run(args, &client(place)?)),
        Verb::Audit(args) => block_on(audit::run(args, &client(place)?)),
        Verb::Usage(args) => block_on(usage::run(args, &client(place)?)),
    }
}

/// A client does one thing at a time: one thread is enough, and starts faster.
fn block_on(verb: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(format!("the system lacks something: {error}")))?;
    let ended = runtime.block_on(verb);
    // A read of stdin that waits for its end is left behind.
    runtime.shutdown_background();
    ended
}

#[cfg(test)]
mod tests;
