//! `pause` and `resume`: everything on this machine at once, or on all machines.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{self, Status};
use crate::context::Context;
use crate::report::{Exit, Failure};

/// Pause everything on this machine: what runs goes on, nothing new is begun
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent pause
  shrooms-agent pause --all
  shrooms-agent resume")]
pub struct Args {
    /// On every machine of the mesh; those that cannot be reached are named
    #[arg(long)]
    all: bool,
}

/// Go on after a pause
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent resume
  shrooms-agent resume --all")]
pub struct ResumeArgs {
    /// On every machine of the mesh; those that cannot be reached are named
    #[arg(long)]
    all: bool,
}

#[derive(Deserialize)]
struct Fleet {
    machines: Vec<Machine>,
}

#[derive(Deserialize)]
struct Machine {
    machine: String,
    reachable: bool,
    paused: Option<String>,
    why: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    tell("pause", args.all, context).await
}

pub async fn resume(args: ResumeArgs, context: &Context) -> Result<Exit, Failure> {
    tell("resume", args.all, context).await
}

async fn tell(verb: &str, all: bool, context: &Context) -> Result<Exit, Failure> {
    if all {
        return everywhere(verb, context).await;
    }
    let answer = context.post(&format!("/v1/{verb}"), &json!({})).await?;
    let status: Status = api::read(&answer)?;
    context.out.show(&answer, |_| line(&status.machine, status.paused.as_deref()))?;
    Ok(Exit::Done)
}

fn line(machine: &str, paused: Option<&str>) -> String {
    match paused {
        Some(by) => format!("{machine}: paused by {by}; go on with: resume\n"),
        None => format!("{machine}: goes on\n"),
    }
}

async fn everywhere(verb: &str, context: &Context) -> Result<Exit, Failure> {
    let answer: Value = context.post(&format!("/v1/fleet/{verb}"), &json!({})).await?;
    let fleet: Fleet = api::read(&answer)?;
    context.out.show(&answer, |_| {
        let reached = fleet.machines.iter().filter(|m| m.reachable && m.why.is_none());
        reached.fold(String::new(), |mut text, m| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}", line(&m.machine, m.paused.as_deref()));
            text
        })
    })?;
    let failed = || fleet.machines.iter().filter(|m| !m.reachable || m.why.is_some());
    let whys: Vec<String> = failed().map(|m| m.why.clone().unwrap_or_else(|| m.machine.clone())).collect();
    if whys.is_empty() {
        return Ok(Exit::Done);
    }
    let failure = Failure::new(format!("not everywhere: {}", whys.join("; ")));
    Err(match failed().any(|m| !m.reachable) {
        true => failure.hint(format!("what was not reached goes on as it was; run {verb} --all again when it is back")),
        false => failure.hint("what refused goes on as it was".to_string()),
    })
}
