//! Real daemons on machines that a real WireGuard joins, in network namespaces of their own: whom a
//! machine takes a caller for, and what becomes of work when links are cut, slow, or go away.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests start processes, read clocks and fail loudly"
)]

#[path = "daemon/http.rs"]
#[allow(dead_code, reason = "shared with the suite of daemons on loopback")]
mod http;
#[path = "daemon/lab.rs"]
#[allow(dead_code, reason = "shared with the suite of daemons on loopback")]
mod lab;

mod mesh {
    pub mod across;
    pub mod cut;
    pub mod forged;
    pub mod live;
    pub mod net;
    pub mod probe;
    pub mod slow;
    pub mod world;
}
use mesh::{net, probe, world};
