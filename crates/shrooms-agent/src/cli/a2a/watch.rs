//! `a2a watch`: a task as it goes on, until it has ended.

use std::time::Duration;

use crate::cli;
use crate::context::{Context, task_path};
use crate::report::{self, Exit, Failure};
use crate::task::Known;
use crate::wait::{self, Patience};

/// Seconds that the daemon holds one question.
const HOLD: u64 = 60;
/// Beyond that: it answers for another machine, which may be slow.
const SLACK: Duration = Duration::from_secs(30);
/// Between two questions when there was nothing new.
const PAUSE: Duration = Duration::from_secs(2);

/// Follow a task: each change as it comes, and what came of it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a watch homeserver/review:cli-20261008T091502-3f9a1c2e

It ends with the task; Ctrl-C ends the watching, not the task. Exit status: 2 if it failed or was
rejected.")]
pub struct Args {
    /// The task: MACHINE/SESSION:MESSAGE-ID, or SESSION:MESSAGE-ID for one on this machine
    #[arg(value_name = "MACHINE/TASK", value_parser = cli::a2a::task)]
    task: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let mut known = Known::read(context.get(&task_path(&args.task, "")?).await?, &args.task)?;
    let (mut patience, mut said) = (Patience::new(), String::new());
    loop {
        if known.is_over() {
            context.out.show(&known.answer, |_| known.text())?;
            return Ok(known.exit());
        }
        let line = line(&known);
        if line != said {
            context.out.show(&known.answer, |_| format!("{line}\n"))?;
            said = line;
        }
        let seen = known.seq().map(|seq| format!("&seen={seq}")).unwrap_or_default();
        let path = task_path(&known.reference, &format!("?wait={HOLD}{seen}"))?;
        let asked = tokio::select! {
            biased;
            () = wait::interrupt() => {
                let again = context.place.command(&format!("a2a watch {}", known.reference));
                report::note(&format!("task {} goes on; to watch again: {again}", known.reference));
                return Ok(Exit::Interrupted);
            }
            asked = context.client.get_within(&path, Duration::from_secs(HOLD) + SLACK) => asked,
        };
        match asked {
            Ok(answer) => {
                patience.restore();
                let newer = Known::read(answer, &known.reference)?;
                // One that waits for its asker is answered at once: not asked again and again.
                let same = newer.seq() == known.seq();
                known = newer;
                if same {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            Err(error) => patience.after(error).await.map_err(|error| context.failure(error))?,
        }
    }
}

/// Where it stands, and what its worker said last.
fn line(known: &Known) -> String {
    let last = known.worker_line().map(|line| format!(": {line}")).unwrap_or_default();
    format!("{}{last}", known.stands())
}
