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
    let deaf = status.listening.iter().filter_map(|heard| Some((&heard.address, heard.why_not.as_ref()?)));
    let deaf = deaf.map(|(address, why)| ("not listening", format!("{address}: {why}")));
    let warnings = status.warnings.iter().map(|warning| ("warning", warning.clone()));
    let rows: Vec<_> = rows
        .into_iter()
        .chain(deaf)
        .chain(warnings)
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| [key.to_owned(), value])
        .collect();
    out.pairs(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_listened_on_is_said_with_its_reason() {
        let status = json!({"version": "0.1.0", "machine": "laptop", "addresses": ["10.0.0.1:7387"], "state": "/s", "pid": 7,
            "listening": [{"address": "10.0.0.1:7387"}, {"address": "[fd00::1]:7387", "why_not": "no interface has it"}]});
        let shown = lines(&api::read(&status).unwrap(), Output { json: false, terminal: false });
        assert_eq!(
            shown,
            "machine\tlaptop\naddresses\t10.0.0.1:7387\nstate\t/s\npid\t7\nversion\t0.1.0\n\
             not listening\t[fd00::1]:7387: no interface has it\n"
        );
    }
}
