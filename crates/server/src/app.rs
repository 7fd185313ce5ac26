//! What every handler is given: the engine, the settings, who asks.

use std::sync::Arc;

use shrooms_core::Principal;
use shrooms_engine::Engine;
use tokio_util::sync::CancellationToken;

/// Settings of the server that do not come from the engine.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub version: String,
    /// The daemon's search path for programs (`PATH`).
    pub path: String,
    /// Claude Code, as the engine has it.
    pub claude: String,
    /// Sessions of the tests' scripted harness may be made.
    pub allow_scripted: bool,
}

/// Shared by all handlers.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) config: Arc<ServerConfig>,
    /// Addresses that are listened on, as people write them.
    pub(crate) addresses: Arc<Vec<String>>,
    /// The server ends: streams and waits give up.
    pub(crate) shutdown: CancellationToken,
}

/// Who asks, as established from the connection; an extension of every request.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Principal);
