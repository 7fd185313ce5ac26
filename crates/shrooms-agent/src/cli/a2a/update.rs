//! `a2a update`: the worker's word on how a task ended, or what it needs.

use std::path::{Path, PathBuf};

use crate::context::{Context, task_path};
use crate::report::{Exit, Failure};
use crate::request::{Update, Word};
use crate::task::Known;
use crate::{cli, text};

/// Finish a task you work on, or say what it needs (on the worker's own machine)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a update review:cli-20261008T091502-3f9a1c2e done \"Two problems: ...\"
  shrooms-agent a2a update review:cli-20261008T091502-3f9a1c2e blocked \"Which branch?\"
  make report | shrooms-agent a2a update review:cli-20261008T091502-3f9a1c2e done -
  shrooms-agent a2a update review:cli-20261008T091502-3f9a1c2e done --attach report.pdf \"See the report.\"

The task has no machine in front. A final state does not change.")]
pub struct Args {
    /// The task: SESSION:MESSAGE-ID
    #[arg(value_name = "TASK", value_parser = cli::a2a::task)]
    task: String,
    /// How it ended, or that it needs something from its asker
    #[arg(value_name = "STATE")]
    word: Word,
    /// Take the summary from this file
    #[arg(long, value_name = "PATH", conflicts_with = "summary")]
    file: Option<PathBuf>,
    /// Hand this file over with it; it lies in the session's directory (may be given several times)
    #[arg(long, value_name = "PATH")]
    attach: Vec<PathBuf>,
    /// The result, what is needed, or why it failed; several words are joined; - takes it from stdin
    #[arg(value_name = "SUMMARY", required_unless_present = "file")]
    summary: Vec<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let summary = text::read(&args.summary, args.file.as_deref())?;
    let files = args.attach.iter().map(|path| named(path)).collect::<Result<Vec<_>, _>>()?;
    let body = Update { state: args.word, summary: &summary, files: &files };
    let answer = context.post(&task_path(&args.task, "")?, &body).await?;
    let known = Known::read(answer, &args.task)?;
    context.out.show(&known.answer, |_| known.text_for_worker())?;
    Ok(Exit::Done)
}

/// The path as the daemon can look it up: whole, with what leads to the file resolved.
fn named(path: &Path) -> Result<String, Failure> {
    let cannot = |why: String| Failure::new(format!("cannot attach {}: {why}", path.display()));
    let name = path.file_name().ok_or_else(|| cannot("it names no file".into()))?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = parent.canonicalize().map_err(|error| cannot(error.to_string()))?.join(name);
    whole.into_os_string().into_string().map_err(|_| cannot("its path is not text in UTF-8".into()))
}
