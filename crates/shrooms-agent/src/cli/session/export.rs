//! `session export`: all of a session's log that is kept, in a file that is whole or not there.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use shrooms_outbound::Download;

use crate::context::{Context, session_path};
use crate::output::plain;
use crate::report::{self, Exit, Failure};

/// Write out what a session did and said, as far as it is kept
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session export review --output review.md
  shrooms-agent session export review --format jsonl | jq .text
  shrooms-agent session export review --output review.md --force")]
pub struct Args {
    /// jsonl: a JSON object a line, as the API has it; markdown: to be read
    #[arg(long, value_name = "FORMAT", default_value = "markdown", value_parser = ["markdown", "jsonl"])]
    format: String,
    /// The file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output")]
    force: bool,
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let path = session_path(&args.name, &format!("/export?format={}", args.format))?;
    if let Some(file) = args.output.as_deref().filter(|file| !args.force && file.symlink_metadata().is_ok()) {
        return Err(exists(file));
    }
    if let Some(file) = args.output.as_deref().filter(|file| file.metadata().is_ok_and(|of| !of.is_file())) {
        return Err(Failure::new(format!("{} is no regular file: name another", file.display())));
    }
    let mut pieces = context.client.download(&path).await.map_err(|error| context.failure(error))?;
    match &args.output {
        Some(file) => to_file(file, args.force, &mut pieces, context).await?,
        None => to_stdout(&mut pieces, context).await?,
    }
    Ok(Exit::Done)
}

fn exists(file: &Path) -> Failure {
    Failure::new(format!("{} is there already", file.display())).hint("name another file, or overwrite it with --force")
}

/// Beside its place, and moved there when it is whole.
async fn to_file(file: &Path, force: bool, pieces: &mut Download, context: &Context) -> Result<(), Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::new(format!("cannot write {}: {error}", file.display()));
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut aside = tempfile::Builder::new().prefix(".shrooms-export-").tempfile_in(dir).map_err(|e| cannot(&e))?;
    let mut bytes = 0u64;
    while let Some(piece) = pieces.next().await.map_err(|error| context.failure(error))? {
        aside.write_all(&piece).map_err(|e| cannot(&e))?;
        bytes += piece.len() as u64;
    }
    aside.as_file().sync_all().map_err(|e| cannot(&e))?;
    let done = if force { aside.persist(file) } else { aside.persist_noclobber(file) };
    match done {
        Ok(_) => {
            report::note(&format!("{bytes} bytes are in {}", file.display()));
            Ok(())
        }
        Err(e) if e.error.kind() == ErrorKind::AlreadyExists => Err(exists(file)),
        Err(e) => Err(cannot(&e.error)),
    }
}

/// As it comes; on a terminal without what would steer it.
async fn to_stdout(pieces: &mut Download, context: &Context) -> Result<(), Failure> {
    let mut out = io::stdout();
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::new(format!("the result cannot be printed: {error}")),
    };
    let mut rest = Vec::new();
    while let Some(piece) = pieces.next().await.map_err(|error| context.failure(error))? {
        if !out.is_terminal() {
            out.write_all(&piece).map_err(failed)?;
            continue;
        }
        // By whole lines: a character may lie across two pieces.
        rest.extend_from_slice(&piece);
        let end = rest.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = rest.drain(..end).collect();
        out.write_all(plain(&String::from_utf8_lossy(&lines)).as_bytes()).map_err(failed)?;
    }
    out.write_all(plain(&String::from_utf8_lossy(&rest)).as_bytes()).map_err(failed)?;
    out.flush().map_err(failed)
}
