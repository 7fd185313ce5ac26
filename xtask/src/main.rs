//! The workspace's chores: `cargo xtask test`, `tidy`, `simulate`, `fuzz`, `tck-server`, `setup`.
//! One way to run every check, here and in CI, with the same budgets and the same last line.
//! It must not know the crates' insides: it only reads their sources and runs cargo.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool: it runs cargo, measures wall time and prints; nothing of it ships"
)]

mod fuzz;
mod run;
mod setup;
mod simulate;
mod suites;
mod tally;
mod tck_server;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The workspace's chores")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run the test suites; the last line is `N passed, N failed, N skipped`
    Test {
        /// Only what takes under five minutes in all, once everything is built
        #[arg(long)]
        quick: bool,
        /// Only this suite (may be repeated)
        #[arg(long = "suite", value_name = "NAME", value_parser = PossibleValuesParser::new(suites::names()))]
        suites: Vec<String>,
    },
    /// Check the house rules that neither rustc nor clippy knows
    Tidy,
    /// Play scenarios of several machines that live through everything, and check what must always
    /// hold: --seed N, --scenarios N, --for 10m, --mutants, --coverage, --trace
    #[command(disable_help_flag = true)]
    Simulate {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Serve the scripted worker for conformance kits (docs/conformance.md)
    TckServer {
        /// On loopback
        #[arg(long, default_value_t = 9999)]
        port: u16,
        /// What the card offers
        #[arg(long, default_value = "all", value_parser = ["all", "none", "required-extension"])]
        capabilities: String,
    },
    /// Feed the readers of A2A with bytes that chance makes, and check what must always hold; needs
    /// cargo-fuzz
    Fuzz {
        /// How long each target runs: 90s, 10m, 8h
        #[arg(long = "for", value_name = "TIME", default_value = "5m", value_parser = fuzz::duration)]
        lasts: Duration,
        /// Only this target (may be repeated)
        #[arg(long = "target", value_name = "NAME", value_parser = PossibleValuesParser::new(fuzz::TARGETS))]
        targets: Vec<String>,
    },
    /// Install what some tests need from this machine
    Setup {
        /// Debian packages, by apt-get (needs root)
        #[arg(long, required = true)]
        system: bool,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Test { quick, suites } => test::run(&root(), quick, &suites),
        Chore::Tidy => tidy::run(&root()),
        Chore::Simulate { args } => simulate::run(&root(), args),
        Chore::TckServer { port, capabilities } => tck_server::run(&root(), port, &capabilities),
        Chore::Fuzz { lasts, targets } => fuzz::run(&root(), lasts, &targets),
        Chore::Setup { system: _ } => setup::system(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.is::<run::Interrupted>() => {
            eprintln!("\ninterrupted");
            // What a shell reports for a program that SIGINT ended: 128 + 2.
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace: the folder above this crate's.
fn root() -> PathBuf {
    // Of the checkout that cargo runs it in: the program itself may have been built in another.
    #[allow(clippy::disallowed_methods, reason = "cargo says it in the environment")]
    let said = std::env::var_os("CARGO_MANIFEST_DIR");
    let here = said.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(PathBuf::from).unwrap_or(here)
}
