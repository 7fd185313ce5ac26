//! `a2a list`: the agents of the mesh.

use crate::agents;
use crate::api::{self, Fleet};
use crate::context::Context;
use crate::report::{self, Exit, Failure};

/// List the agents on the mesh: MACHINE/SESSION, what it is, where it works
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a list
  shrooms-agent a2a list --json

Machines that do not answer are named on stderr.")]
pub struct Args {}

pub async fn run(_args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get("/v1/fleet").await?;
    let fleet: Fleet = api::read(&answer)?;
    context.out.show(&answer, |out| out.table(["AGENT", "IS"], &agents::rows(&fleet)))?;
    if context.out.json {
        return Ok(Exit::Done);
    }
    agents::silent(&fleet).for_each(|silent| report::note(&silent));
    if fleet.machines.iter().all(|machine| machine.sessions.is_empty()) {
        report::note("no sessions; add one with: shrooms-agent session add NAME -- COMMAND");
    }
    Ok(Exit::Done)
}
