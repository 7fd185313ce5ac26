//! Files in a message: kept in the sender's drop folder before the message is, where the session
//! takes files from that sender (`spec/a2a.md`, "Parts"; `spec/runner.md`, "Files"). A message that is
//! then refused leaves nothing behind.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use shrooms_a2a::{A2aError, ErrorCode, Part, PartContent};
use shrooms_core::Principal;
use shrooms_core::file_name;
use shrooms_core::name::FilesFrom;
use shrooms_core::row::Session;

use crate::app::App;
use crate::v1::MAX_FILE;

/// Bytes that one sender may have lying with one session: the same bound as `send-file` has.
const MAX_FOLDER: u64 = 1 << 30;
/// Files that one message may hold: as many as a task may give back.
const MAX_FILES: usize = shrooms_core::desk::MAX_MADE;
/// Numbers that are tried where a name is taken.
const MAX_NUMBER: u32 = 1_000;

/// Where the files of a message's parts lie.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// One for each part; absent for a part that is no file.
    paths: Vec<Option<PathBuf>>,
}

impl Kept {
    pub(super) fn path(&self, part: usize) -> Option<&Path> {
        self.paths.get(part)?.as_deref()
    }

    /// The message came to nothing, or was there already.
    pub(super) fn undo(self) {
        for path in self.paths.into_iter().flatten() {
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(%error, path = %path.display(), "a file of a refused message stays behind");
            }
        }
    }
}

/// Who sends, as the list of a session and its folder name them.
struct Sender {
    /// The machine by its name and its label.
    machine: Vec<String>,
    session: Option<String>,
}

impl Sender {
    /// A device's word for its session counts where it established that itself.
    async fn of(app: &App, by: &Principal, claim: Option<&str>, vouched: bool) -> Result<Sender, A2aError> {
        let me = app.engine.machine();
        Ok(match by {
            Principal::Owner => Sender { machine: vec![me], session: Some("owner".into()) },
            Principal::Session(uid) => {
                let uid = *uid;
                let row = app.engine.read(move |r| r.session(uid)).await.map_err(super::refusal::refused)?;
                Sender { machine: vec![me], session: row.map(|s| s.name) }
            }
            Principal::Device { label, .. } => {
                let name = label.split('.').next().unwrap_or(label).to_string();
                let claimed = claim.filter(|_| vouched).and_then(|c| c.split_once('/'));
                Sender { machine: vec![label.clone(), name], session: claimed.map(|(_, s)| s.to_string()) }
            }
        })
    }

    fn shown(&self) -> String {
        let machine = self.machine.last().map_or("", String::as_str);
        format!("{machine}/{}", self.session.as_deref().unwrap_or("*"))
    }

    fn folder(&self) -> String {
        format!("from-{}", file_name::cleaned(&self.shown().replace('/', "_")))
    }
}

/// Keeps the files of a message.
///
/// # Errors
/// The session takes none from this sender; one is too large; there is no room.
pub(super) async fn keep(
    app: &App,
    session: &Session,
    (by, claim, vouched): (&Principal, Option<&str>, bool),
    parts: &[Part],
) -> Result<Kept, A2aError> {
    let is_file = |part: &Part| matches!(part.content, PartContent::Raw(_));
    let Some(first) = parts.iter().position(is_file) else { return Ok(Kept::default()) };
    let count = parts.iter().filter(|part| is_file(part)).count();
    if count > MAX_FILES {
        return Err(A2aError::invalid_params(
            "message.parts",
            format!("hold {count} files; at most {MAX_FILES} are taken"),
        ));
    }
    let sender = Sender::of(app, by, claim, vouched).await?;
    let names: Vec<&str> = sender.machine.iter().map(String::as_str).collect();
    let listed = session.accept_files_from.iter().filter_map(|text| FilesFrom::parse(text).ok());
    let takes = *by == Principal::Owner || listed.into_iter().any(|f| f.names(&names, sender.session.as_deref()));
    if !takes {
        let (who, name) = (sender.shown(), &session.name);
        return Err(A2aError::new(
            ErrorCode::ContentTypeNotSupported,
            format!(
                "message.parts[{first}] is a file, and {name} takes none from {who}: send text, data or an address, or \
                 have its owner allow it there with: shrooms-agent session set {name} --accept-files-from '{who}'"
            ),
        )
        .with("part", first.to_string()));
    }
    let folder = app.engine.state().join("uploads").join(&session.name).join("drop").join(sender.folder());
    let parts = parts.to_vec();
    let work = move || {
        let mut kept = Kept::default();
        for part in &parts {
            let path = match &part.content {
                PartContent::Raw(bytes) => match write(&folder, part.filename.as_deref(), bytes) {
                    Ok(path) => Some(path),
                    Err(error) => {
                        kept.undo();
                        return Err(error);
                    }
                },
                _ => None,
            };
            kept.paths.push(path);
        }
        Ok(kept)
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| A2aError::new(ErrorCode::InternalError, "this daemon has a fault: see its log"))?
}

/// Writes a file of its own for each message: two that shared one would lose it together.
fn write(folder: &Path, name: Option<&str>, bytes: &[u8]) -> Result<PathBuf, A2aError> {
    if bytes.len() > MAX_FILE {
        return Err(A2aError::new(
            ErrorCode::ContentTypeNotSupported,
            format!("a file is {} bytes; at most {MAX_FILE} are taken in a message", bytes.len()),
        ));
    }
    let cannot = |e: std::io::Error| {
        tracing::warn!(error = %e, folder = %folder.display(), "a file of a message cannot be kept");
        let why = match e.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full",
            _ => "it cannot be written",
        };
        A2aError::new(ErrorCode::InternalError, format!("the file was not kept, and nothing was sent: {why}"))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
    if size(folder).map_err(cannot)? + bytes.len() as u64 > MAX_FOLDER {
        return Err(A2aError::new(
            ErrorCode::QueueFull,
            format!("files of this sender may take {MAX_FOLDER} bytes there, and do: have its owner make room"),
        ));
    }
    let name = file_name::cleaned(name.unwrap_or("file"));
    for number in 1..=MAX_NUMBER {
        let path = folder.join(file_name::numbered(&name, number));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                let written = fill(file, bytes).and_then(|()| File::open(folder)?.sync_all());
                return match written {
                    Ok(()) => Ok(path),
                    Err(error) => {
                        // Half of it is of no use; that it cannot go either is said with the rest.
                        let _ = std::fs::remove_file(&path);
                        Err(cannot(error))
                    }
                };
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(cannot(e)),
        }
    }
    Err(A2aError::new(
        ErrorCode::QueueFull,
        format!("there are {MAX_NUMBER} files named {name} of this sender already"),
    ))
}

fn fill(mut file: File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

fn size(folder: &Path) -> std::io::Result<u64> {
    let mut all = 0;
    for entry in std::fs::read_dir(folder)? {
        all += entry?.metadata().map_or(0, |m| m.len());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_is_numbered_and_no_file_is_two_messages() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("uploads/tests/drop/from-laptop_review");
        let put = |name, bytes: &[u8]| {
            let path = write(&folder, name, bytes).unwrap();
            path.file_name().unwrap().to_str().unwrap().to_string()
        };
        assert_eq!(put(Some("a.txt"), b"one"), "a.txt");
        assert_eq!(put(Some("a.txt"), b"one"), "a-2.txt");
        assert_eq!(put(Some("x/a.txt"), b"two"), "a-3.txt");
        assert_eq!(put(None, b""), "file");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(folder.join("a.txt")).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        assert!(write(&folder, None, &vec![0; MAX_FILE + 1]).is_err());
        let kept = Kept { paths: vec![None, Some(folder.join("a.txt"))] };
        kept.undo();
        assert!(!folder.join("a.txt").exists() && folder.join("a-2.txt").exists());
    }
}
