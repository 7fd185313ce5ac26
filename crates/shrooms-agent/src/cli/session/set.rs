//! `session set`: what the owner decides about a session.

use serde_json::{Value, json};

use super::given::{Given, on_off, said};
use crate::api::{self, Session};
use crate::context::{Context, session_path};
use crate::report::{self, Exit, Failure};

/// Change a session's settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session set review --auto-approve on
  shrooms-agent session set review --skill 'rust: Reviews Rust code' --skill sql
  shrooms-agent session set review --role 'You look after the tests of webapp.'
  shrooms-agent session set review --meshes home --prompt-timeout 3600
  shrooms-agent session set review --arg --add-dir --arg /srv/shared
  shrooms-agent session set auditor --fresh-by-agents on
  shrooms-agent session set review --daily-usd 5
  shrooms-agent session set review --accept-files-from 'laptop/webapp,homeserver/*'
  shrooms-agent session set review --model claude-opus-4-5

Lists are given whole. A model, a role and arguments are taken with the program's next start; the rest holds at
once. docs/settings.md says what each is for.")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
    /// Permissions are answered by the daemon; questions still wait for you
    #[arg(long, value_name = "ON|OFF", value_parser = on_off)]
    auto_approve: Option<bool>,
    /// Take files from these senders alone, MACHINE/SESSION or MACHINE/*; '' takes none
    #[arg(long, value_name = "SENDERS", value_delimiter = ',')]
    accept_files_from: Option<Vec<String>>,
    /// The model; empty: by the harness's settings
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// US dollars that it may spend on a day (of UTC); 0: no cap
    #[arg(long, value_name = "USD")]
    daily_usd: Option<f64>,
    #[command(flatten)]
    given: Given,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let given = [
        ("auto_approve", args.auto_approve.map(Value::from)),
        ("accept_files_from", args.accept_files_from.map(|from| Value::from(said(from)))),
        ("model", args.model.map(Value::from)),
        ("daily_usd", args.daily_usd.map(|usd| json!(usd))),
    ];
    let mut body = args.given.body();
    body.extend(given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    if body.is_empty() {
        let hint = context.place.command(&format!("session set {} --auto-approve on", args.name));
        return Err(Failure::new("nothing to set").hint(format!("for example: {hint}")));
    }
    let answer = context.post(&session_path(&args.name, "/settings")?, &Value::Object(body)).await?;
    let session: Session = api::read(&answer)?;
    if !session.from_next_start.is_empty() {
        let restart = context.place.command(&format!("session restart {}", args.name));
        let what = session.from_next_start.join(", ");
        report::note(&format!("{what}: from the next start of its program; now with: {restart}"));
    }
    super::show(&answer, context)
}
