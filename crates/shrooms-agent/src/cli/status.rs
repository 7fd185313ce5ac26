//! `status`: the daemon of this machine.

use crate::api::{self, Status};
use crate::context::Context;
use crate::output::Output;
use crate::report::{Exit, Failure};

/// Show this machine's daemon: its name on the mesh, addresses, state directory
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent status
  shrooms-agent status --json")]
pub struct Args {}

pub async fn run(_args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get("/v1/status").await?;
    let status: Status = api::read(&answer)?;
    context.out.show(&answer, |out| lines(&status, out))?;
    Ok(Exit::Done)
}

fn lines(status: &Status, out: Output) -> String {
    let rows = [
        ("machine", status.machine.clone()),
        ("mesh", status.mesh.clone()),
        ("addresses", status.addresses.join(" ")),
        ("state", status.state.clone()),
        ("pid", status.pid.to_string()),
        ("version", status.version.clone()),
        ("paused", status.paused.as_ref().map(|by| format!("by {by}")).unwrap_or_default()),
        ("notice", status.notice.clone().unwrap_or_default()),
        ("trouble", status.trouble.clone().unwrap_or_default()),
    ];
    let rows: Vec<_> =
        rows.into_iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| [key.to_owned(), value]).collect();
    out.pairs(&rows)
}
