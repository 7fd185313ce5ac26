//! `serve`: the daemon. A placeholder.

use crate::context::Place;
use crate::report::{Exit, Failure};

/// Run this machine's daemon (the default without a verb)
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the daemon until it is told to stop.
pub fn run(_args: Args, _place: &Place) -> Result<Exit, Failure> {
    Err(Failure::new("serve is not in this build yet"))
}
