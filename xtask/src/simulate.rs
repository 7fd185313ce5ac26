//! `cargo xtask simulate`: builds the simulation and runs it with what it was given. It must not know
//! what that does; the testkit's program does.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::run::{self, Ended, Stop};
use crate::suites;

/// Longer than anybody lets it run: a month.
const LIMIT: Duration = Duration::from_secs(30 * 86_400);

/// Runs it. True when it found nothing.
///
/// # Errors
/// An interrupt, cargo that cannot be started.
pub fn run(root: &Path, args: Vec<String>) -> Result<bool> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let mut line = suites::simulation("");
    line.args.extend(args);
    runtime.block_on(async {
        let mut stop = Stop::new()?;
        Ok(run::run(&line, root, LIMIT, None, &mut stop).await? == Ended::Well)
    })
}
