//! Sessions of the real Claude Code under real daemons, with the mock model behind them: the worked
//! example across two machines, and whatever is killed at each of its moments. Each test skips itself,
//! aloud, where the program or the mock is missing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests start processes, read clocks and fail loudly"
)]

#[path = "../daemon/http.rs"]
#[allow(dead_code, reason = "the daemon's tests use all of it")]
mod http;
#[path = "../daemon/lab.rs"]
#[allow(dead_code, reason = "the daemon's tests use all of it")]
mod place;

mod added;
mod asker_cut;
mod both;
mod cut;
mod ends;
mod example;
mod heard;
mod killed;
mod lab;
mod life;
mod lines;
mod log;
mod machine;
mod model;
mod prompts;
mod quiet;
mod rests;
mod seen;
mod settings;
mod states;
mod terminals;
mod usage;
mod worker_cut;
