//! A git worktree of a session's own, beside the repository that it is of, so that two sessions do not
//! work in one directory. Made with the session, undone where that comes to nothing; when the session
//! goes, its work stays.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shrooms_core::row::Worktree;
use shrooms_core::text::cut;
use shrooms_runner::companion::run_to_end;

/// A checkout of a large repository on a slow disk.
const CHECKOUT: Duration = Duration::from_secs(300);
/// Longest name of a branch, in bytes.
const MAX_BRANCH: usize = 200;

/// What is being made, as a file beside its place says it until the session is there: what a crash
/// leaves is undone by the next start.
#[derive(Debug, Serialize, Deserialize)]
struct Making {
    repo: String,
    branch: String,
    path: PathBuf,
    git: PathBuf,
    /// The branch is made with it.
    fresh: bool,
}

/// A worktree that was made.
#[derive(Debug)]
pub struct Made {
    /// As the session keeps it.
    pub row: Worktree,
    /// Where the session works: the place in the worktree that the directory has in the repository.
    pub dir: PathBuf,
    making: Making,
}

/// Makes a worktree of the repository that `dir` is in, at `path`, on `branch` (absent: a new one named
/// after the session).
///
/// # Errors
/// `dir` is in no repository, `git` is not there, or what git says.
pub async fn make(
    git: Option<PathBuf>,
    dir: &Path,
    path: PathBuf,
    name: &str,
    branch: Option<&str>,
) -> Result<Made, String> {
    let git = git.ok_or_else(|| "git is not on the daemon's search path: install it".to_string())?;
    let given = branch.map(checked).transpose()?;
    let branch = given.map_or_else(|| format!("shrooms/{name}"), str::to_string);
    let top = run(&git, &["rev-parse", "--show-toplevel"], dir).await;
    let top = top.map_err(|why| format!("'{}' is in no git repository with a working tree ({why})", dir.display()))?;
    let top = PathBuf::from(top).canonicalize().map_err(|e| e.to_string())?;
    let text = |path: &Path| path.to_str().map(str::to_string).ok_or("a path is no text in UTF-8".to_string());
    let (repo, at) = (text(&top)?, text(&path)?);
    if path.exists() {
        return Err(format!(
            "there is one at {at}, perhaps of a session that was removed (session undo-remove {name}): choose another name, or give its work up with: git -C {repo} worktree remove {at}"
        ));
    }
    if let Some(parent) = path.parent() {
        tokio::fs::create_dir_all(parent).await.map_err(|e| format!("{}: {e}", parent.display()))?;
    }
    let reference = format!("refs/heads/{branch}");
    let fresh = run(&git, &["show-ref", "--verify", "--quiet", &reference], &top).await.is_err();
    if !fresh && given.is_none() {
        return Err(format!("there is a branch {branch} already: go on with it by --branch {branch}, or give another"));
    }
    let row = Worktree { repo: repo.clone(), branch: branch.clone() };
    let making = Making { repo, branch: branch.clone(), path: path.clone(), git: git.clone(), fresh };
    let said = serde_json::to_vec(&making).map_err(|e| e.to_string())?;
    tokio::fs::write(marker(&path), said).await.map_err(|e| format!("{}: {e}", marker(&path).display()))?;
    let made = match fresh {
        true => run(&git, &["worktree", "add", "-b", &branch, "--", &at, "HEAD"], &top).await,
        false => run(&git, &["worktree", "add", "--", &at, &branch], &top).await,
    };
    let inside = dir.strip_prefix(&top).unwrap_or(Path::new("")).to_path_buf();
    let dir = if inside.as_os_str().is_empty() { path.clone() } else { path.join(inside) };
    let made_at = Made { row, dir, making };
    match made {
        Ok(_) if made_at.dir.is_dir() => Ok(made_at),
        Ok(_) => {
            let dir = made_at.dir.display().to_string();
            made_at.undo().await;
            Err(format!("{dir} is not in what is committed: commit it, or give a directory that is"))
        }
        Err(why) => {
            made_at.undo().await;
            Err(format!("git could not make it: {why}"))
        }
    }
}

impl Made {
    /// The session is there, and has it.
    pub async fn keep(self) {
        forget(&self.making.path).await;
    }

    /// As if it had not been made.
    pub async fn undo(self) {
        self.making.undo().await;
    }
}

impl Making {
    async fn undo(self) {
        let (repo, at) = (Path::new(&self.repo), self.path.display().to_string());
        // Either may not be there, where git did not come so far; one that was being made is locked.
        let removed = run(&self.git, &["worktree", "remove", "--force", "--force", "--", &at], repo).await;
        let pruned = run(&self.git, &["worktree", "prune"], repo).await;
        if self.fresh {
            let gone = run(&self.git, &["branch", "-D", "--", &self.branch], repo).await;
            tracing::debug!(?gone, branch = self.branch, "the branch of a worktree that is not kept");
        }
        tracing::debug!(?removed, ?pruned, at, "a worktree that is not kept");
        forget(&self.path).await;
    }
}

/// Undoes what an earlier daemon was making when it ended; `used`: where sessions work.
pub(crate) async fn undo_unfinished(dir: PathBuf, used: Vec<String>) {
    let Ok(mut entries) = tokio::fs::read_dir(&dir).await else { return };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !(name.starts_with(MAKING) && name.ends_with(".json")) {
            continue;
        }
        let read = tokio::fs::read(entry.path()).await.map_err(|e| e.to_string());
        match read.and_then(|text| serde_json::from_slice::<Making>(&text).map_err(|e| e.to_string())) {
            // The session was made; that it was is all that was not written down.
            Ok(making) if used.iter().any(|dir| Path::new(dir).starts_with(&making.path)) => forget(&making.path).await,
            Ok(making) => {
                tracing::info!(path = %making.path.display(), "a worktree was being made when the daemon ended: it is undone");
                making.undo().await;
            }
            Err(error) => tracing::warn!(error, file = %entry.path().display(), "what was being made cannot be read"),
        }
    }
}

const MAKING: &str = ".making-";

fn marker(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!("{MAKING}{name}.json"))
}

async fn forget(path: &Path) {
    if let Err(error) = tokio::fs::remove_file(marker(path)).await {
        tracing::debug!(%error, path = %path.display(), "no marker of a worktree was there");
    }
}

/// A branch's name that git takes for nothing else.
fn checked(branch: &str) -> Result<&str, String> {
    let plain = !branch.starts_with('-') && !branch.contains(|c: char| c.is_control() || c.is_whitespace());
    match plain && !branch.is_empty() && branch.len() <= MAX_BRANCH {
        true => Ok(branch),
        false => Err(format!("'{}' cannot be a branch", cut(branch, 80))),
    }
}

/// Git without the repository's hooks: making a place to work in runs nothing of the repository's.
async fn run(git: &Path, args: &[&str], dir: &Path) -> Result<String, String> {
    let all: Vec<&str> = ["-c", "core.hooksPath=/dev/null"].into_iter().chain(args.iter().copied()).collect();
    let said = tokio::time::timeout(CHECKOUT, run_to_end(git, &all, dir)).await;
    match said {
        Ok(Ok(Ok(out))) => Ok(out),
        Ok(Ok(Err(why))) => Err(cut(&why, 500)),
        Ok(Err(e)) => Err(e.to_string()),
        Err(_) => Err(format!("it took more than {} s", CHECKOUT.as_secs())),
    }
}
