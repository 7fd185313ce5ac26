//! `a2a reply`: more on a task that was asked.

use crate::context::{Context, task_path};
use crate::report::{self, Exit, Failure};
use crate::request::Answer;
use crate::task::Known;
use crate::text::TextArgs;
use crate::wait::{self, WaitArgs};
use crate::{cli, env};

/// Say more on a task you asked: the answer it waits for, or a correction
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a reply --wait homeserver/review:cli-20261008T091502-3f9a1c2e \"Yes, main.\"
  shrooms-agent a2a reply homeserver/review:cli-20261008T091502-3f9a1c2e --file details.md

It is the same task, not a new one. A task that has ended takes no more: ask a new one.")]
pub struct Args {
    #[command(flatten)]
    wait: WaitArgs,
    /// The message's id, to send it again without saying it twice [default: a fresh one]
    #[arg(long, value_name = "MESSAGE-ID")]
    id: Option<String>,
    /// The task: MACHINE/SESSION:MESSAGE-ID
    #[arg(value_name = "MACHINE/TASK", value_parser = cli::a2a::task)]
    task: String,
    #[command(flatten)]
    text: TextArgs,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let text = args.text.read()?;
    let id = match args.id {
        Some(id) => id,
        None => env::message_id()?,
    };
    let path = task_path(&args.task, "/answer")?;
    let body = Answer { text: &text, id: &id };
    let answer = tokio::select! {
        biased;
        () = wait::interrupt() => {
            report::note(&format!("{} may have the reply; --id {id} again is the same one", args.task));
            return Ok(Exit::Interrupted);
        }
        answer = context.post_once(&path, &body, &id) => answer?,
    };
    let known = Known::read(answer, &args.task)?;
    if args.wait.wait {
        return wait::show(context, known, args.wait).await;
    }
    context.out.show(&known.answer, |_| known.text())?;
    Ok(Exit::Done)
}
