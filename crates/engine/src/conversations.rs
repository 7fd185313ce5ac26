//! Conversations that harnesses keep for this user and that no session has: those of terminals.

use std::collections::BTreeSet;
use std::time::SystemTime;

use shrooms_runner::claude;

use crate::Engine;
use crate::error::EngineError;

/// One that a session could go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The harness's own id of it.
    pub id: String,
    /// The directory that it began in; empty where that is not known.
    pub dir: String,
    /// What a person said first, in one line.
    pub title: String,
    /// The live process that has it open now.
    pub open: Option<i32>,
    /// When it was last written to: wall, milliseconds.
    pub last: i64,
}

impl Engine {
    /// The session of this machine that has a conversation, if one has.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn session_with(&self, conversation: &str) -> Result<Option<String>, EngineError> {
        let rows = self.read(|r| r.sessions()).await?;
        let has = |r: &shrooms_store::SessionRow| r.lane.conversation_id(&self.0.incarnation) == conversation;
        Ok(rows.into_iter().find(|r| has(r)).map(|r| r.session.name))
    }

    /// Claude Code's, the newest `limit`.
    ///
    /// # Errors
    /// Its folders cannot be read.
    pub async fn conversations(&self, limit: usize) -> Result<Vec<Conversation>, EngineError> {
        let inner = self.0.clone();
        let read = move || -> Result<Vec<Conversation>, EngineError> {
            let Some(dir) = &inner.harnesses.claude_dir else { return Ok(Vec::new()) };
            let rows = inner.reader.sessions()?;
            let ours: BTreeSet<String> = rows.iter().map(|r| r.lane.conversation_id(&inner.incarnation)).collect();
            let found = claude::conversations(dir, limit, |id| ours.contains(id))
                .map_err(|e| EngineError::Start(format!("the conversations in {}: {e}", dir.display())))?;
            // What cannot be said is left out: it warns, and forbids nothing.
            let open = |id: &str| claude::open_in(dir, id).unwrap_or_default();
            Ok(found.into_iter().map(|kept| Conversation { open: open(&kept.id), ..one(kept) }).collect())
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| EngineError::Stopping)?
    }
}

fn one(kept: claude::Kept) -> Conversation {
    let last = kept.last.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    Conversation { id: kept.id, dir: kept.dir, title: kept.title, open: None, last }
}
