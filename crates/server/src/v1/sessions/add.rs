//! `POST /v1/sessions`: a new session, made only of what was seen to work: the directory and the program
//! are there, the harness comes up, has a login and stays. What came to nothing leaves nothing.

use std::path::PathBuf;

use axum::Json;
use axum::extract::Extension;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_core::desk::{NewSession, Request};
use shrooms_core::name::check_session_name;
use shrooms_core::row::{Harness, SessionSet, Worktree};
use shrooms_core::{Kind, Principal, Refusal, text};
use shrooms_engine::{Conversation, NotProven, Proven, Trial, worktree};

use super::super::input::{Body, model};
use super::super::program;
use super::super::settings::{Settings, SkillGiven};
use super::{Session, one};
use crate::app::{App, Caller, State};
use crate::problem::Problem;

/// A conversation that was written to so recently may still be open in its terminal (ms).
const FRESH_MS: i64 = 120_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct New {
    name: String,
    /// Absent with `resume`: where the conversation began.
    dir: Option<String>,
    harness: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    framed: bool,
    #[serde(default)]
    rerun_on_crash: bool,
    #[serde(default)]
    auto_approve: bool,
    model: Option<String>,
    fresh_by_agents: Option<bool>,
    skills: Option<Vec<SkillGiven>>,
    responsibilities: Option<Vec<String>>,
    role: Option<String>,
    args: Option<Vec<String>>,
    starred: Option<bool>,
    keep_running: Option<bool>,
    meshes: Option<Vec<String>>,
    prompt_timeout: Option<u32>,
    /// A conversation that began in a terminal.
    resume: Option<String>,
    /// It works in a git worktree of its own, of the repository that `dir` is in …
    #[serde(default)]
    worktree: bool,
    /// … on this branch.
    branch: Option<String>,
}

/// What was made, and what there is to know about it.
#[derive(Serialize)]
pub(in super::super) struct Added {
    #[serde(flatten)]
    session: Session,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(in super::super) async fn add(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(new): Body<New>,
) -> Result<(StatusCode, Json<Added>), Problem> {
    let me = app.clone();
    // Whole, also where the caller goes meanwhile: nothing is left half made.
    let added = app.engine.whole(async move { made(&me, by, new).await }).await??;
    Ok((StatusCode::CREATED, Json(added)))
}

async fn made(app: &App, by: Principal, mut new: New) -> Result<Added, Problem> {
    check_session_name(&new.name)?;
    let _making = app.engine.making(&new.name).ok_or_else(|| {
        Problem::new(Kind::Conflict, format!("a session '{}' is being added at this moment", new.name))
    })?;
    if app.engine.read(|r| r.sessions()).await?.iter().any(|r| r.session.name == new.name) {
        return Err(Refusal::NameTaken { name: new.name }.into());
    }
    let mut notes = Vec::new();
    let kind = kind(new.harness.as_deref(), new.resume.is_some(), app.config.allow_scripted)?;
    fits(&new, kind)?;
    let set = new.set(app)?;
    if let Some(id) = new.resume.clone() {
        if let Some(name) = app.engine.session_with(&id).await? {
            return Err(Refusal::ConversationTaken { id, name }.into());
        }
        let found = kept(app, &id).await?;
        if let Some(pid) = found.open {
            return Err(Problem::new(
                Kind::Conflict,
                format!("resume: the process {pid} has this conversation open: end it there first"),
            ));
        }
        let age = app.engine.wall() - found.last;
        if (0..FRESH_MS).contains(&age) {
            notes.push(format!("its conversation was written to {} s ago: end it in its terminal", age / 1_000));
        }
        new.dir = new.dir.or(Some(found.dir).filter(|dir| !dir.is_empty()));
    }
    let dir = new.dir.clone().ok_or_else(|| Problem::bad("missing field `dir`: where does it work?"))?;
    let (harness, dir) = new.harness(app, kind, dir).await?;
    let tree = match new.worktree {
        true => {
            let path = app.engine.state().join("worktrees").join(&new.name);
            let git = program::find("git", &app.config.path).ok().map(PathBuf::from);
            let made = worktree::make(git, &PathBuf::from(&dir), path, &new.name, new.branch.as_deref()).await;
            Some(made.map_err(|why| Problem::bad(format!("worktree: {why}")))?)
        }
        false => None,
    };
    let dir = tree.as_ref().map_or(dir, |t| t.dir.display().to_string());
    let kept = settled(app, by, &new, set, harness, dir, tree.as_ref().map(|t| t.row.clone())).await;
    let proven = match kept {
        Ok(proven) => {
            if let Some(tree) = tree {
                tree.keep().await;
            }
            proven
        }
        Err(problem) => {
            if let Some(tree) = tree {
                tree.undo().await;
            }
            return Err(problem);
        }
    };
    if let Some(login) = proven.login {
        notes.push(format!("its login is from {login}; whether that is accepted shows with its first turn"));
    }
    Ok(Added { session: one(app, &new.name).await?, notes })
}

/// Tries it, and has the desk keep it.
async fn settled(
    app: &App,
    by: Principal,
    new: &New,
    set: SessionSet,
    harness: Harness,
    dir: String,
    worktree: Option<Worktree>,
) -> Result<Proven, Problem> {
    // What cannot be set of such a harness is refused before it is tried.
    set.check(&harness)?;
    let args = set.args.clone().unwrap_or_default();
    let trial = Trial { harness: harness.clone(), dir: dir.clone(), args, conversation: new.resume.clone() };
    let proven = app.engine.prove(trial).await.map_err(|e| match e {
        NotProven::Engine(e) => Problem::from(e),
        e => Problem::new(Kind::Config, format!("harness: {e}")),
    })?;
    let row =
        NewSession { set, conversation: new.resume.clone(), worktree, ..NewSession::new(&new.name, harness, dir) };
    app.engine.request(Request::AddSession { by, new: Box::new(row) }).await?;
    Ok(proven)
}

/// What is said of a harness must be its.
fn fits(new: &New, kind: HarnessKind) -> Result<(), Problem> {
    let claude = kind == HarnessKind::Claude;
    let wrong = match claude {
        true if !new.command.is_empty() => Some("command: Claude Code takes none"),
        false if new.auto_approve => Some("auto_approve: a command asks for nothing"),
        false if new.model.is_some() => Some("model: a command has none"),
        false if new.resume.is_some() => Some("resume: a command has no conversation"),
        _ if new.resume.is_some() && new.worktree => {
            Some("worktree: a conversation goes on where it began: leave one of resume and worktree out")
        }
        _ if new.branch.is_some() && !new.worktree => Some("branch: is for a worktree; give worktree, too"),
        _ => None,
    };
    wrong.map_or(Ok(()), |wrong| Err(Problem::bad(wrong)))
}

async fn kept(app: &App, id: &str) -> Result<Conversation, Problem> {
    let all = app.engine.conversations(usize::MAX).await?;
    let found = all.into_iter().find(|c| c.id == id);
    found.ok_or_else(|| {
        Problem::not_found(format!(
            "resume: no conversation '{}' that could be gone on with: they are listed by: session conversations",
            text::cut(id, 80)
        ))
    })
}

impl New {
    /// What is set of it from the beginning; its model and whether it asks are its harness's.
    fn set(&mut self, app: &App) -> Result<SessionSet, Problem> {
        let given = Settings {
            fresh_by_agents: self.fresh_by_agents,
            skills: self.skills.take(),
            responsibilities: self.responsibilities.take(),
            role: self.role.take(),
            args: self.args.take(),
            starred: self.starred,
            keep_running: self.keep_running,
            meshes: self.meshes.take(),
            prompt_timeout: self.prompt_timeout,
            ..Settings::default()
        };
        given.read(app)
    }

    /// What it runs; the program of the owner's choice is checked, and Claude Code must be there.
    async fn harness(&mut self, app: &App, kind: HarnessKind, dir: String) -> Result<(Harness, String), Problem> {
        let claude = kind == HarnessKind::Claude;
        let command = if claude { vec![app.config.claude.clone()] } else { std::mem::take(&mut self.command) };
        let model = model(self.model.take())?.filter(|m| !m.is_empty());
        let config = app.config.clone();
        let checked = tokio::task::spawn_blocking(move || program::check(&dir, command, &config.path)).await;
        let checked =
            checked.map_err(|e| Problem::new(Kind::Internal, format!("the check of files broke off: {e}")))?;
        let checked = checked.map_err(|problem| match claude && problem.detail.starts_with("command:") {
            true => Problem::bad(format!(
                "harness: Claude Code is not there ('{}'): install it (https://code.claude.com), or start the daemon \
                 with --claude PATH",
                app.config.claude
            )),
            false => problem,
        })?;
        let harness = match kind {
            HarnessKind::Claude => Harness::Claude { model, auto_approve: self.auto_approve },
            HarnessKind::Command | HarnessKind::Scripted => Harness::Command {
                argv: checked.argv,
                framed: self.framed,
                rerun_on_crash: self.rerun_on_crash,
                takes_turns: kind == HarnessKind::Scripted,
            },
        };
        Ok((harness, checked.dir))
    }
}

/// A harness that a session can be made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HarnessKind {
    Command,
    Scripted,
    Claude,
}

/// The harness of this name; a conversation that is resumed is Claude Code's.
fn kind(harness: Option<&str>, resumed: bool, allow_scripted: bool) -> Result<HarnessKind, Problem> {
    match harness.unwrap_or(if resumed { "claude" } else { "command" }) {
        "command" => Ok(HarnessKind::Command),
        "claude" => Ok(HarnessKind::Claude),
        "scripted" if allow_scripted => Ok(HarnessKind::Scripted),
        other => {
            let other = text::cut(other, 40);
            Err(Problem::bad(format!("harness: '{other}' is not in this version: it can be command or claude")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_is_taken_only_if_it_is_in_this_version() {
        for (harness, scripted, want) in [
            (None, false, Some(HarnessKind::Command)),
            (Some("command"), false, Some(HarnessKind::Command)),
            (Some("scripted"), true, Some(HarnessKind::Scripted)),
            (Some("scripted"), false, None),
            (Some("claude"), false, Some(HarnessKind::Claude)),
            (Some("codex"), true, None),
        ] {
            let got = kind(harness, false, scripted);
            assert_eq!(got.as_ref().ok().copied(), want, "{harness:?}");
            assert!(got.is_ok() || got.unwrap_err().detail.contains("not in this version"));
        }
        assert_eq!(kind(None, true, false).ok(), Some(HarnessKind::Claude));
    }
}
