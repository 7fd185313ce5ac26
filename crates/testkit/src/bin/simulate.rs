//! `cargo xtask simulate`: scenarios of several machines, one for each seed, on all cores; what they
//! have been through; and whether broken rules are found.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a developer's tool: it measures wall time, and prints"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use shrooms_core::desk::Mutant;
use shrooms_testkit::sim::{self, Coverage};

/// Scenarios in which a broken rule must be found.
const FOUND_WITHIN: u64 = 20_000;

#[derive(Parser)]
#[command(name = "simulate", about = "Plays scenarios of several machines, and checks what must always hold")]
struct Cli {
    /// The first scenario's seed; the next ones follow it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many scenarios
    #[arg(long, conflicts_with = "lasts")]
    scenarios: Option<u64>,
    /// For how long: 90s, 10m, 8h
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    lasts: Option<Duration>,
    /// Break each rule on purpose, and see that it is found
    #[arg(long)]
    mutants: bool,
    /// Print each step
    #[arg(long)]
    trace: bool,
    /// Print what was covered, and fail where it is thin
    #[arg(long)]
    coverage: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time: use a number with s, m or h, such as 10m");
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let secs = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(secs).map(Duration::from_secs).ok_or_else(wrong)
}

/// A scenario in which something did not hold.
struct Failure {
    seed: u64,
    what: String,
}

/// Until when scenarios are begun.
#[derive(Clone, Copy)]
struct Until {
    scenarios: Option<u64>,
    time: Option<Instant>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // What does not hold is told with its seed.
    std::panic::set_hook(Box::new(|_| {}));
    match cli.mutants {
        true => mutants(&cli),
        false => plain(&cli),
    }
}

fn plain(cli: &Cli) -> ExitCode {
    let begun = Instant::now();
    let time = cli.lasts.map(|lasts| begun + lasts);
    let scenarios = cli.scenarios.or(time.is_none().then_some(20_000));
    let (coverage, failure) = run(cli.seed, Until { scenarios, time }, None, cli.trace);
    if cli.coverage || cli.lasts.is_some() {
        println!("{coverage}");
    }
    let secs = begun.elapsed().as_secs_f64();
    println!("{} scenarios from seed {}, {} steps, in {secs:.1} s", coverage.scenarios, cli.seed, coverage.steps);
    if let Some(Failure { seed, what }) = failure {
        eprintln!("\nseed {seed} does not hold: {what}");
        eprintln!("\nagain: cargo xtask simulate --seed {seed} --scenarios 1 --trace");
        return ExitCode::FAILURE;
    }
    let thin = if cli.coverage || cli.lasts.is_some() { coverage.thin() } else { Vec::new() };
    if !thin.is_empty() {
        eprintln!("\nseen too seldom (each at least {} times):\n  {}", sim::ENOUGH, thin.join("\n  "));
        return ExitCode::FAILURE;
    }
    println!("nothing found");
    ExitCode::SUCCESS
}

/// Each broken rule must be found, and says by what.
fn mutants(cli: &Cli) -> ExitCode {
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        let until = Until { scenarios: Some(FOUND_WITHIN), time: None };
        match run(cli.seed, until, Some(mutant), false).1 {
            Some(Failure { seed, what }) => {
                let what: String = what.lines().next().unwrap_or_default().chars().take(100).collect();
                println!("{:<20} found with seed {seed}: {what}", format!("{mutant:?}"));
            }
            None => {
                println!("{:<20} NOT FOUND in {FOUND_WITHIN} scenarios", format!("{mutant:?}"));
                missed.push(mutant);
            }
        }
    }
    println!("{} of {} broken rules found", Mutant::ALL.len() - missed.len(), Mutant::ALL.len());
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays scenarios on all cores until one fails or it is enough: what happened, and the failure with
/// the smallest seed.
fn run(seed: u64, until: Until, mutant: Option<Mutant>, trace: bool) -> (Coverage, Option<Failure>) {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (all, failed) = (Mutex::new(Coverage::default()), Mutex::new(None::<Failure>));
    let work = || {
        let mut mine = Coverage::default();
        while !stop.load(Ordering::Relaxed) && until.time.is_none_or(|at| Instant::now() < at) {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if until.scenarios.is_some_and(|most| n >= most) {
                break;
            }
            let seed = seed.wrapping_add(n);
            match catch_unwind(AssertUnwindSafe(|| sim::play(seed, mutant, trace))) {
                Ok(coverage) => mine.add(coverage),
                Err(panic) => {
                    stop.store(true, Ordering::Relaxed);
                    let what = said(panic.as_ref());
                    if let Ok(mut failed) = failed.lock()
                        && failed.as_ref().is_none_or(|f| f.seed > seed)
                    {
                        *failed = Some(Failure { seed, what });
                    }
                }
            }
        }
        if let Ok(mut all) = all.lock() {
            all.add(mine);
        }
    };
    let threads = if trace { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let coverage = all.into_inner().unwrap_or_default();
    (coverage, failed.into_inner().unwrap_or_default())
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_else(|| "a panic".into())
}
