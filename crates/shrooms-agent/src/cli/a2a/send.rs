//! `a2a send`: a new task for an agent.

use crate::api::{self, Ask, Asked};
use crate::context::Context;
use crate::report::{self, Exit, Failure};
use crate::request::NewAsk;
use crate::task::Known;
use crate::text::TextArgs;
use crate::wait::{self, WaitArgs};
use crate::{cli, env};

/// Ask an agent to do something
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a send --wait homeserver/review \"Is the nightly build green?\"
  shrooms-agent a2a send --title \"Nightly build\" homeserver/review \"Is it green?\"
  git diff | shrooms-agent a2a send homeserver/review -
  shrooms-agent a2a send homeserver/review --file request.md

Without --wait it prints the task's reference; with it, the task and its outcome. A machine that is
away gets the task when it returns. The same --id again is the same task, not a second one.")]
pub struct Args {
    #[command(flatten)]
    wait: WaitArgs,
    /// A few words that name the task in lists
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// The message's id, to send it again without asking twice [default: a fresh one]
    #[arg(long, value_name = "MESSAGE-ID")]
    id: Option<String>,
    /// Fail if the machine is away, instead of sending it later
    #[arg(long)]
    now: bool,
    /// Ask for it on a fresh conversation
    #[arg(long)]
    fresh: bool,
    /// What a `done` must show: tool_calls, files_changed (may be given several times)
    #[arg(long, value_name = "PROOF", value_parser = ["tool_calls", "files_changed"])]
    require: Vec<String>,
    /// Who is asked: MACHINE/SESSION
    #[arg(value_name = "MACHINE/SESSION", value_parser = cli::a2a::agent)]
    agent: String,
    #[command(flatten)]
    text: TextArgs,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let text = args.text.read()?;
    let id = match args.id {
        Some(id) => id,
        None => env::message_id()?,
    };
    let title = args.title.as_deref();
    let (now, fresh) = (args.now, args.fresh);
    let body =
        NewAsk { to: &args.agent, text: &text, id: &id, title, context: None, now, fresh, require: &args.require };
    let answer = tokio::select! {
        biased;
        () = wait::interrupt() => {
            let again = context.place.command("a2a asks");
            report::note(&format!("{}:{id} may have been asked: see {again}; --id {id} again is the same task", args.agent));
            return Ok(Exit::Interrupted);
        }
        answer = context.post_once("/v1/asks", &body, &id) => answer?,
    };
    let Asked { ask } = api::read(&answer)?;
    if let Some(later) = later(&ask) {
        report::note(&later);
    }
    if args.wait.wait {
        return wait::show(context, Known::read(answer, &ask.reference())?, args.wait).await;
    }
    context.out.show(&answer, |_| ask.reference())?;
    Ok(Exit::Done)
}

/// What is to be said of a task that the worker's machine has not taken yet.
fn later(ask: &Ask) -> Option<String> {
    let machine = ask.machine();
    match ask.state.as_str() {
        "unsent" => Some(format!("{machine} is away: will be sent when it returns")),
        _ if ask.task.is_none() => {
            Some(format!("{machine} has not answered yet: the same message is sent until it does"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_not_taken_yet_is_said_and_named_by_its_message() {
        for (state, task, reference, said) in [
            ("unsent", None, "homeserver/tests:m-1", Some("homeserver is away: will be sent when it returns")),
            ("submitted", Some("homeserver/tests:m-1"), "homeserver/tests:m-1", None),
            ("submitted", Some("homeserver/tests:h-9"), "homeserver/tests:h-9", None),
        ] {
            let ask = json!({"to": "homeserver/tests", "task": task, "message_id": "m-1", "state": state});
            let ask: Ask = api::read(&ask).unwrap();
            assert_eq!((ask.reference().as_str(), later(&ask).as_deref()), (reference, said));
        }
    }
}
