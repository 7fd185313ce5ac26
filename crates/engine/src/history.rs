//! What a session's harness has of its conversation, also from before the daemon had it. Each harness
//! keeps it in its own place and shape; here is who is asked. Must not write there.

use shrooms_core::row::Harness;
use shrooms_runner::{History, claude};
use shrooms_store::SessionRow;

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// The newest `limit` things that were said before that time (RFC 3339 in UTC with milliseconds), oldest
    /// first; nothing for a harness that keeps no conversation.
    ///
    /// # Errors
    /// Its files cannot be read.
    pub async fn history(
        &self,
        row: &SessionRow,
        before: Option<String>,
        limit: usize,
    ) -> Result<History, EngineError> {
        let Harness::Claude { .. } = &row.session.harness else { return Ok(History::default()) };
        // Also one that the session has, and has not been started in yet.
        let conversation = row.lane.conversation_id(&self.0.incarnation);
        let Some(dir) = self.0.harnesses.claude_dir.clone() else { return Ok(History::default()) };
        let read = move || {
            let read = claude::conversation_file(&dir, &conversation).and_then(|file| match file {
                Some(file) => claude::history(&file, before.as_deref(), limit),
                None => Ok(History::default()),
            });
            read.map_err(|e| EngineError::Conversation(format!("in {}: {e}", dir.display())))
        };
        tokio::task::spawn_blocking(read).await.map_err(|_| EngineError::Stopping)?
    }
}
