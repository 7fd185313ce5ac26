//! What a request to the engine can come to, besides the desk's own refusals.

use shrooms_core::{Kind, Refusal};
use shrooms_store::StoreError;
use thiserror::Error;

/// An error of the engine.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the disk is full: make room on the disk that holds {path}, then try again; nothing of this request was kept"
    )]
    DiskFull { path: String },
    #[error("the daemon is shutting down: try again when it is back")]
    Stopping,
    #[error("the conversation cannot be read {0}: make it readable for the user that the daemon runs as")]
    Conversation(String),
    #[error("cannot start: {0}")]
    Start(String),
}

impl EngineError {
    /// What kind of error it is for whoever asked.
    pub fn kind(&self) -> Kind {
        match self {
            EngineError::Refused(r) => r.kind(),
            EngineError::Store(s) => s.kind(),
            EngineError::DiskFull { .. } | EngineError::Stopping => Kind::Unavailable,
            EngineError::Start(_) | EngineError::Conversation(_) => Kind::Config,
        }
    }
}
