//! `session add`: a new session on this machine.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::given::Given;
use crate::context::Context;
use crate::env::absolute;
use crate::report::{self, Exit, Failure};

/// Add a session: an agent that others can ask, Claude Code or a command of yours
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session add review --harness claude --dir ~/webapp
  shrooms-agent session add fix --harness claude --dir ~/webapp --worktree
  shrooms-agent session add old --resume 8f4d21a0-1c9e-4f6e-9a53-0b1d1f1f7a55
  shrooms-agent session add review --harness claude --role 'You look after the tests.' --skill rust
  shrooms-agent session add tests --dir ~/webapp -- make test
  shrooms-agent session add ask --framed -- my-agent --stdin
  shrooms-agent session add shell -- sh -c 'cd sub && ./run.sh'

Claude Code works in DIR, in one conversation that goes on over all its tasks. It asks before it uses a
tool that its settings do not allow: the questions wait in `prompt list`, and --auto-approve answers
permissions by itself. Log in once with the program itself (claude), as the user the daemon runs as. It is
started once for a trial, so that what could never work is refused now.

A command is run in DIR, once for each task: the request is its standard input, SHROOMS_TASK and
SHROOMS_SENDER say which task and from whom. Exit code 0 is done, any other is failed; what it prints
is the result. No shell reads it, unless it is one.")]
pub struct Args {
    /// Its name: letters, digits, '.', '_' and '-'
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// Where it works [default: the current directory]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// What works behind it: claude or command [default: command]
    #[arg(long, value_name = "HARNESS", value_parser = ["claude", "command", "scripted"], hide_possible_values = true)]
    harness: Option<String>,
    /// Let it use its tools without asking (claude); its questions still wait for you
    #[arg(long)]
    auto_approve: bool,
    /// The model (claude) [default: by its settings]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Go on with a conversation that began in a terminal (claude); `session conversations` lists them
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Make a git worktree for it, of the repository that DIR is in
    #[arg(long)]
    worktree: bool,
    /// The worktree's branch; one that is there is checked out [default: a new one, shrooms/NAME]
    #[arg(long, value_name = "BRANCH", requires = "worktree")]
    branch: Option<String>,
    /// Give the command also who asks and how to finish, not the request alone
    #[arg(long)]
    framed: bool,
    /// Run the command again if the machine went down while it ran
    #[arg(long)]
    rerun_on_crash: bool,
    #[command(flatten)]
    given: Given,
    /// The program and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<&'a str>,
    harness: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    command: &'a [String],
    framed: bool,
    rerun_on_crash: bool,
    auto_approve: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<&'a str>,
    worktree: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    #[serde(flatten)]
    given: Map<String, Value>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let usual = if args.resume.is_some() { "claude" } else { "command" };
    let harness = args.harness.as_deref().unwrap_or(usual);
    if args.command.is_empty() && harness != "claude" {
        let example = context.place.command(&format!("session add {}", args.name));
        return Err(Failure::new("what is to work behind the session? Give a command after --, or --harness claude")
            .hint(format!("for example: {example} --harness claude, or: {example} --dir ~/webapp -- make test")));
    }
    // A conversation goes on where it began, unless told otherwise.
    let dir = match (args.dir, &args.resume) {
        (None, Some(_)) => None,
        (dir, _) => Some(absolute(&dir.unwrap_or_default())?),
    };
    let text = |dir: &PathBuf| -> Result<String, Failure> {
        let no_text = || Failure::new(format!("the directory's name is not text in UTF-8: {}", dir.display()));
        Ok(dir.to_str().ok_or_else(no_text)?.to_string())
    };
    let dir = dir.as_ref().map(text).transpose()?;
    let body = Body {
        name: &args.name,
        dir: dir.as_deref(),
        harness,
        command: &args.command,
        framed: args.framed,
        rerun_on_crash: args.rerun_on_crash,
        auto_approve: args.auto_approve,
        model: args.model.as_deref(),
        resume: args.resume.as_deref(),
        worktree: args.worktree,
        branch: args.branch.as_deref(),
        given: args.given.body(),
    };
    // A checkout of a large repository takes minutes.
    let within = Duration::from_secs(if args.worktree { 330 } else { 30 });
    let answer = context.client.post_within("/v1/sessions", &body, within).await;
    let answer = answer.map_err(|error| context.failure(error))?;
    let done = super::show(&answer, context)?;
    if let Some(warning) = answer["warning"].as_str() {
        report::note(warning);
    }
    Ok(done)
}
