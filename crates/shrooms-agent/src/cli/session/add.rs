//! `session add`: a new session on this machine.

use std::path::PathBuf;

use serde::Serialize;

use crate::context::Context;
use crate::env::absolute;
use crate::report::{Exit, Failure};

/// Add a session: an agent that runs a command for each task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session add tests --dir ~/webapp -- make test
  shrooms-agent session add ask --framed -- my-agent --stdin
  shrooms-agent session add shell -- sh -c 'cd sub && ./run.sh'

The command is run in DIR, once for each task: the request is its standard input, SHROOMS_TASK and
SHROOMS_SENDER say which task and from whom. Exit code 0 is done, any other is failed; what it prints
is the result. No shell reads it, unless it is one.")]
pub struct Args {
    /// Its name: letters, digits, '.', '_' and '-'
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// Where it works [default: the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Give the command also who asks and how to finish, not the request alone
    #[arg(long)]
    framed: bool,
    /// Run the command again if the machine went down while it ran
    #[arg(long)]
    rerun_on_crash: bool,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    name: &'a str,
    dir: &'a str,
    harness: &'static str,
    command: &'a [String],
    framed: bool,
    rerun_on_crash: bool,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    if args.command.is_empty() {
        let example = context.place.command(&format!("session add {} --dir ~/webapp", args.name));
        return Err(Failure::new("a session can only run a command so far: give one after --")
            .hint(format!("for example: {example} -- make test")));
    }
    let dir = absolute(&args.dir.unwrap_or_default())?;
    let no_text = || Failure::new(format!("the directory's name is not text in UTF-8: {}", dir.display()));
    let body = Body {
        name: &args.name,
        dir: dir.to_str().ok_or_else(no_text)?,
        harness: "command",
        command: &args.command,
        framed: args.framed,
        rerun_on_crash: args.rerun_on_crash,
    };
    super::show(&context.post("/v1/sessions", &body).await?, context)
}
