//! `demo`: two machines in one. A placeholder.

use crate::context::Place;
use crate::report::{Exit, Failure};

/// Try it out: two machines on this one, and a task between them
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the demonstration.
pub fn run(_args: Args, _place: &Place) -> Result<Exit, Failure> {
    Err(Failure::new("demo is not in this build yet"))
}
