//! What a worker made beside its summary: files that it names, read here once and for good, and
//! artifacts that it gives as they are. A file is taken from inside of the session's directory alone.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use serde::Deserialize;
use shrooms_a2a::{Part, PartContent};
use shrooms_core::desk::{MAX_MADE, NewMade};
use shrooms_core::row::Session;
use shrooms_core::{Kind, Text};

use crate::app::App;
use crate::problem::Problem;

/// The largest file that is taken: what the specification of the wire gives files (`spec/a2a.md`,
/// "Parts"). More is for `send-file`, when it comes.
pub(crate) const MAX_FILE: usize = 10 << 20;

/// An artifact as a program gives it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    #[serde(default)]
    name: Option<String>,
    parts: Vec<Part>,
}

/// Reads what is named and takes what is given, of the session that the task is of.
pub(super) async fn read(
    app: &App,
    task: &str,
    files: Vec<String>,
    given: Vec<Given>,
) -> Result<Vec<NewMade>, Problem> {
    if files.is_empty() && given.is_empty() {
        return Ok(Vec::new());
    }
    if files.len() + given.len() > MAX_MADE {
        return Err(Problem::bad(format!("at most {MAX_MADE} files and artifacts are kept with one task")));
    }
    let id = task.to_string();
    let session = app.engine.read(move |r| match r.task(&id)? {
        Some(task) => r.session(task.session),
        None => Ok(None),
    });
    // Without a task the desk says so.
    let Some(session) = session.await? else { return Ok(Vec::new()) };
    let work = move || {
        let mut made = Vec::with_capacity(files.len() + given.len());
        for file in &files {
            made.push(of_file(&session, file)?);
        }
        for given in given {
            if given.parts.is_empty() {
                return Err(Problem::bad("artifacts: each must hold at least one part"));
            }
            made.push(as_made(given.name, &given.parts)?);
        }
        Ok(made)
    };
    tokio::task::spawn_blocking(work).await.map_err(|e| Problem::new(Kind::Internal, format!("internal: {e}")))?
}

fn as_made(name: Option<String>, parts: &[Part]) -> Result<NewMade, Problem> {
    let json = serde_json::to_string(parts).map_err(|e| Problem::new(Kind::Internal, e.to_string()))?;
    Ok(NewMade { name: name.filter(|n| !n.is_empty()), parts: Text::new(json) })
}

fn of_file(session: &Session, named: &str) -> Result<NewMade, Problem> {
    let bytes = contents(Path::new(&session.dir), named)?;
    let name = Path::new(named).file_name().map(|n| n.to_string_lossy().into_owned());
    let part = Part {
        filename: name.clone(),
        media_type: Some(media_type(named, &bytes).to_string()),
        ..Part::of(PartContent::Raw(bytes))
    };
    as_made(name, &[part])
}

/// By the name's ending; without a known one, whether it is text.
fn media_type(name: &str, bytes: &[u8]) -> String {
    let by_bytes = || if std::str::from_utf8(bytes).is_ok() { "text/plain" } else { "application/octet-stream" };
    mime_guess::from_path(name).first_raw().unwrap_or_else(by_bytes).to_string()
}

/// The bytes of a file inside of `dir`. The kernel keeps the walk inside, whatever the path and the
/// links on it are.
fn contents(dir: &Path, named: &str) -> Result<Vec<u8>, Problem> {
    let bad = |why: String| Problem::bad(format!("files: '{}' {why}", shrooms_core::text::cut(named, 200)));
    let cannot = |e: std::io::Error| bad(format!("cannot be read: {e}"));
    let (said, dir) = (dir, dir.canonicalize().map_err(cannot)?);
    let path = within(&dir, named)
        .or_else(|| within(said, named))
        .ok_or_else(|| bad(format!("is not inside of {}", dir.display())))?;
    let top = rustix::fs::open(&dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| cannot(e.into()))?;
    // NONBLOCK: a pipe must not hold a thread for ever.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened =
        rustix::fs::openat2(&top, &path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS);
    let file = match opened {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::XDEV) => return Err(bad(format!("leads out of {}", dir.display()))),
        Err(e) => return Err(cannot(e.into())),
    };
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(bad("is not a file".into()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    match bytes.len() > MAX_FILE {
        true => Err(bad(format!("is over {MAX_FILE} bytes"))),
        false => Ok(bytes),
    }
}

/// The path below `dir`; an absolute one must begin with it.
fn within(dir: &Path, named: &str) -> Option<PathBuf> {
    let named = Path::new(named);
    let below = match named.is_absolute() {
        true => named.strip_prefix(dir).ok()?,
        false => named,
    };
    (!below.as_os_str().is_empty()).then(|| below.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_read_from_inside_of_the_directory_alone() {
        let top = tempfile::tempdir().unwrap();
        let (dir, out) = (top.path().join("in"), top.path().join("out"));
        for made in [&dir, &out] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::create_dir(dir.join("sub")).unwrap();
        std::fs::write(dir.join("a.txt"), "inside").unwrap();
        std::fs::write(out.join("b.txt"), "outside").unwrap();
        symlink("../a.txt", dir.join("sub/link")).unwrap();
        symlink(out.join("b.txt"), dir.join("away")).unwrap();
        symlink(&out, dir.join("door")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, dir.join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        let big = File::create(dir.join("big")).unwrap();
        big.set_len(MAX_FILE as u64 + 1).unwrap();
        let whole = dir.canonicalize().unwrap().join("a.txt").display().to_string();
        let outside = out.join("b.txt").display().to_string();
        for (named, want) in [
            ("a.txt", Ok("inside")),
            ("./sub/../a.txt", Ok("inside")),
            ("sub/link", Ok("inside")),
            (whole.as_str(), Ok("inside")),
            ("away", Err("leads out of")),
            ("door/b.txt", Err("leads out of")),
            ("../out/b.txt", Err("leads out of")),
            (outside.as_str(), Err("is not inside of")),
            ("sub", Err("is not a file")),
            ("pipe", Err("is not a file")),
            ("nothing", Err("cannot be read: No such file")),
            ("", Err("is not inside of")),
            ("big", Err("is over 10485760 bytes")),
        ] {
            let got = contents(&dir, named).map(|bytes| String::from_utf8(bytes).unwrap());
            match (got, want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{named}"),
                (Err(got), Err(want)) => assert!(got.detail.contains(want), "{named}: {}", got.detail),
                (got, want) => panic!("{named}: {got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn a_media_type_is_that_of_the_ending_or_what_the_bytes_are() {
        for (name, bytes, want) in [
            ("a.json", &b"{}"[..], "application/json"),
            ("a.PNG", &b"\x89"[..], "image/png"),
            ("Makefile", &b"all:"[..], "text/plain"),
            ("core", &b"\xff\xfe"[..], "application/octet-stream"),
        ] {
            assert_eq!(media_type(name, bytes), want, "{name}");
        }
    }
}
