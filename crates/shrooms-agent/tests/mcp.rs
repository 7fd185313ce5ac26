//! The MCP server as clients use it: the real program and real daemons, driven by the official
//! clients of TypeScript (both revisions of the protocol), by the inspector, and by lines as such.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests start processes, read clocks and fail loudly"
)]

#[path = "daemon/http.rs"]
#[allow(dead_code, reason = "the daemon's tests use all of it")]
mod http;
#[path = "daemon/lab.rs"]
#[allow(dead_code, reason = "the daemon's tests use all of it")]
mod lab;
mod mcp {
    pub mod away;
    pub mod bad;
    pub mod client;
    pub mod jobs;
    pub mod lines;
    pub mod protocol;
    pub mod same;
    pub mod sessions;
    pub mod waits;
}
use mcp::{client, lines};
