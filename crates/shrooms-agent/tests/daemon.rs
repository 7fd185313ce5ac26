//! The real daemon with real programs: the main job, across two machines, whatever crashes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests start processes, read clocks and fail loudly"
)]

mod daemon {
    pub mod apart;
    pub mod attacks;
    pub mod bad;
    pub mod crashes;
    pub mod directories;
    pub mod files;
    pub mod fleet;
    pub mod hidden;
    pub mod http;
    pub mod jobs;
    pub mod killed;
    pub mod lab;
    pub mod log;
    pub mod log_cost;
    pub mod owner;
    pub mod owners;
    pub mod places;
    pub mod rights;
    pub mod settings;
    pub mod storm;
    pub mod surface;
    pub mod three;
    pub mod weight;
    pub mod wire;
}
use daemon::{crashes, http, lab, wire};
