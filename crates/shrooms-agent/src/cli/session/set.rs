//! `session set`: what the owner decides about a session.

use serde_json::{Map, Value, json};

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Change a session's settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session set review --auto-approve on
  shrooms-agent session set auditor --fresh-by-agents on
  shrooms-agent session set review --daily-usd 5
  shrooms-agent session set review --accept-files-from 'laptop/webapp,homeserver/*'
  shrooms-agent session set review --model claude-opus-4-5

A model is taken with the program's next start.")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// Permissions are answered by the daemon; questions still wait for you
    #[arg(long, value_name = "ON|OFF", value_parser = on_off)]
    auto_approve: Option<bool>,
    /// Agents may ask for a task on a fresh conversation
    #[arg(long, value_name = "ON|OFF", value_parser = on_off)]
    fresh_by_agents: Option<bool>,
    /// Take files from these senders alone, MACHINE/SESSION or MACHINE/*; '' takes none
    #[arg(long, value_name = "SENDERS", value_delimiter = ',')]
    accept_files_from: Option<Vec<String>>,
    /// The model; empty: by the harness's settings
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// US dollars that it may spend on a day (of UTC); 0: no cap
    #[arg(long, value_name = "USD")]
    daily_usd: Option<f64>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let given = [
        ("auto_approve", args.auto_approve.map(Value::from)),
        ("fresh_by_agents", args.fresh_by_agents.map(Value::from)),
        ("accept_files_from", args.accept_files_from.map(senders)),
        ("model", args.model.map(Value::from)),
        ("daily_usd", args.daily_usd.map(|usd| json!(usd))),
    ];
    let body: Map<String, Value> =
        given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    if body.is_empty() {
        let hint = context.place.command(&format!("session set {} --auto-approve on", args.name));
        return Err(Failure::new("nothing to set").hint(format!("for example: {hint}")));
    }
    super::show(&context.post(&session_path(&args.name, "/settings")?, &Value::Object(body)).await?, context)
}

/// The whole list; an empty word is none.
fn senders(given: Vec<String>) -> Value {
    given.into_iter().filter(|sender| !sender.trim().is_empty()).collect()
}

fn on_off(word: &str) -> Result<bool, String> {
    match word {
        "on" | "true" | "yes" => Ok(true),
        "off" | "false" | "no" => Ok(false),
        _ => Err("must be on or off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_on_or_off() {
        assert_eq!((on_off("on"), on_off("no")), (Ok(true), Ok(false)));
        assert!(on_off("maybe").is_err());
    }
}
