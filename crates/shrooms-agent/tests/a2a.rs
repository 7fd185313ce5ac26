//! A2A as others speak it: what the official compatibility kit checks, restated; what it does not
//! check and the specification wants; the official clients; readers that are slow or gone.
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
mod a2a {
    pub mod client;
    pub mod faults;
    pub mod kit;
    pub mod kit_streams;
    pub mod lists;
    pub mod load;
    pub mod messages;
    pub mod paths;
    pub mod sdk;
    pub mod shape;
    pub mod streams;
    pub mod versions;
    pub mod waits;
    pub mod wire;
    pub mod world;
}
use a2a::{sdk, shape, wire, world};
