//! A session's conversation in the owner's own terminal: how the program is started there, and when
//! the terminal is done with it. Whoever has the conversation holds a lock while it does, so that no
//! crash of anybody leaves two writers, or none.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use shrooms_core::Principal;
use shrooms_core::desk::Request;
use shrooms_core::id::{LaneNo, SessionUid};
use shrooms_core::row::Harness;
use shrooms_core::text::cut;
use shrooms_runner::claude::{self, Conversation};
use shrooms_runner::terminal;
use shrooms_store::SessionRow;
use tokio::sync::oneshot;

use crate::Engine;
use crate::desk_loop::Message;
use crate::effects::{make_dir, stream::spec};
use crate::engine::Inner;
use crate::error::EngineError;

/// Between two looks whether the terminal still has it; only while one has.
const LOOK: Duration = Duration::from_secs(1);
/// A terminal that was given a conversation has this long to take its lock.
const TAKES_MS: i64 = 30_000;
/// How long the daemon's own program may take to end, beyond its graces.
const ENDS: Duration = Duration::from_secs(30);
/// Between two looks whether it has ended.
const ENDING: Duration = Duration::from_millis(50);

/// How a conversation goes on in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// The program and its arguments; those of the owner's come behind.
    pub program: Vec<String>,
    pub dir: String,
    pub env_remove: Vec<String>,
    /// Where the harness keeps its conversations, for a terminal that would look elsewhere.
    pub config_dir: PathBuf,
    /// To be held for as long as the program, and all that it starts, is there.
    pub lock: PathBuf,
}

impl Engine {
    /// How to go on in a terminal with the conversation of a session that was just attached, once its
    /// program has ended.
    ///
    /// # Errors
    /// The program does not end, or its conversation cannot be found; the session is to be detached.
    pub async fn terminal(&self, name: &str) -> Result<Terminal, EngineError> {
        self.0.attached.notify_one();
        let ended = tokio::time::timeout(self.0.grace * 3 + ENDS, self.ended(name)).await;
        let row = ended.unwrap_or_else(|_| {
            Err(EngineError::Start(format!("the program of '{name}' does not end: see session log {name}")))
        })?;
        let inner = self.0.clone();
        let made = tokio::task::spawn_blocking(move || made(&inner, &row)).await;
        made.map_err(|_| EngineError::Stopping)?
    }
}

impl Engine {
    /// The session once no program of it runs.
    async fn ended(&self, name: &str) -> Result<SessionRow, EngineError> {
        loop {
            let rows = self.read(|r| r.sessions()).await?;
            let row = rows.into_iter().find(|r| r.session.name == name);
            let row = row.ok_or_else(|| EngineError::Start(format!("the session '{}' is gone", cut(name, 80))))?;
            if row.lane.turn.is_none() {
                return Ok(row);
            }
            tokio::time::sleep(ENDING).await;
        }
    }
}

fn made(inner: &Inner, row: &SessionRow) -> Result<Terminal, EngineError> {
    let Harness::Claude { model, .. } = &row.session.harness else {
        return Err(EngineError::Start("its harness has no conversation".into()));
    };
    let id = row.lane.conversation_id(&inner.incarnation);
    let dir = inner.harnesses.claude_dir.as_ref();
    let dir = dir.ok_or_else(|| EngineError::Start("set HOME: Claude Code keeps its conversations there".into()))?;
    let file = claude::conversation_file(dir, &id)
        .map_err(|e| EngineError::Start(format!("the conversations in {} cannot be read: {e}", dir.display())))?;
    let conversation = match file {
        Some(_) => Conversation::Resume(id),
        None => Conversation::New(id),
    };
    let spec = spec::plain(inner, model.clone(), row.session.args.clone(), conversation);
    let program = claude::in_terminal(&spec).map_err(|e| EngineError::Start(e.to_string()))?;
    let lock = lock_file(inner, row.lane.no);
    if let Some(dir) = lock.parent() {
        make_dir(dir).map_err(|e| EngineError::Start(format!("cannot make {}: {e}", dir.display())))?;
    }
    let (dir, config_dir) = (row.session.dir.clone(), dir.clone());
    Ok(Terminal { program, dir, env_remove: spec::not_inherited(), config_dir, lock })
}

/// Apart from the locks of runs: whatever holds one of those is ended.
fn lock_file(inner: &Inner, lane: LaneNo) -> PathBuf {
    inner.state.join("attached").join(format!("lane-{}", lane.0))
}

/// Detaches sessions whose terminal has ended, also one that ended without a word, or while the daemon
/// was away.
pub(crate) async fn watch(inner: Arc<Inner>) {
    // Since when each is known, and whether its lock has been seen held.
    let mut known: BTreeMap<SessionUid, (i64, bool)> = BTreeMap::new();
    loop {
        let attached = match attached(&inner).await {
            Ok(attached) => attached,
            Err(error) => {
                tracing::warn!(%error, "whether a terminal has a conversation cannot be read");
                Vec::new()
            }
        };
        known.retain(|uid, _| attached.iter().any(|row| row.session.uid == *uid));
        for row in &attached {
            let (since, held) = known.entry(row.session.uid).or_insert((inner.clock.monotonic(), false));
            let free = terminal::is_free(&lock_file(&inner, row.lane.no));
            match free {
                Ok(false) => *held = true,
                Ok(true) if *held || inner.clock.monotonic() - *since >= TAKES_MS => {
                    detach(&inner, &row.session.name).await
                }
                Ok(true) => {}
                Err(error) => tracing::warn!(%error, session = row.session.name, "a terminal's lock cannot be read"),
            }
        }
        tokio::select! {
            () = inner.attached.notified(), if attached.is_empty() => {}
            () = tokio::time::sleep(LOOK), if !attached.is_empty() => {}
            () = inner.draining.cancelled() => return,
        }
    }
}

async fn attached(inner: &Arc<Inner>) -> Result<Vec<SessionRow>, EngineError> {
    let me = inner.clone();
    let rows = tokio::task::spawn_blocking(move || me.reader.sessions()).await;
    let rows = rows.map_err(|_| EngineError::Stopping)??;
    Ok(rows.into_iter().filter(|r| r.session.attached.is_some()).collect())
}

async fn detach(inner: &Arc<Inner>, name: &str) {
    let (reply, answer) = oneshot::channel();
    let request = Request::Detach { by: Principal::Owner, name: name.to_string() };
    if inner.requests.send(Message::Request(Box::new(request), reply)).await.is_err() {
        return;
    }
    // Refused where the terminal has said so itself meanwhile.
    if let Ok(Ok(_)) = answer.await {
        tracing::info!(session = name, "the terminal that had its conversation has ended");
    }
}
