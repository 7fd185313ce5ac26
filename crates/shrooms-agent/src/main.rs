//! `shrooms-agent`: the daemon of one machine, and the command line that is a client of it.
//!
//! Here only: what was asked for, who does it, and the exit code. Only this crate prints, and only
//! `env` looks at the environment.

mod agents;
mod api;
mod cli;
mod config;
mod context;
mod demo;
mod env;
mod following;
mod mcp;
mod output;
mod report;
mod request;
mod serve;
mod task;
mod text;
mod wait;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = env::arguments();
    // The launcher of a session's process: before anything that starts a thread.
    if words.get(1).is_some_and(|word| word == "__run") {
        return shrooms_runner::launcher_main();
    }
    match cli::parse(words) {
        Ok(cli) => report::end(cli::run(cli)),
        Err(usage) => report::usage(&usage),
    }
}
