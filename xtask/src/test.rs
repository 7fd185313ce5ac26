//! `cargo xtask test`: runs suites, holds them to their budgets, and ends with one line that says
//! it all. It must not know what is in a suite; `suites` does.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::run::{self, Counted, Ended, Stop};
use crate::suites::{Line, Run, SUITES, Step, Suite};
use crate::tally::Tally;
use crate::tidy;

/// A suite that takes this many times its budget hangs and is ended; one that is merely over it
/// runs to its end, so that one sees what was slow.
const HUNG: u32 = 2;

/// The longest compilation or installation, in seconds: a cold build on a slow machine, and then
/// some.
const BUILD_LIMIT: u64 = 3600;

struct Report {
    name: &'static str,
    tally: Tally,
    /// Time of what the budget is for, and of compilation.
    tested: Duration,
    built: Duration,
    budget: Duration,
    /// Why it failed, besides failed tests.
    faults: Vec<String>,
}

/// Runs the named suites, or all. True when everything passed in time.
///
/// # Errors
/// A suite that is not part of such a run, an interrupt, cargo that cannot be started.
pub fn run(root: &Path, quick: bool, names: &[String]) -> Result<bool> {
    let chosen = choose(quick, names)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let reports = runtime.block_on(async {
        let mut stop = Stop::new()?;
        let mut reports = Vec::new();
        for (suite, budget) in chosen {
            reports.push(suite_run(suite, budget, Run { root, quick }, &mut stop).await?);
        }
        anyhow::Ok(reports)
    })?;
    Ok(summarize(&reports))
}

fn choose(quick: bool, names: &[String]) -> Result<Vec<(&'static Suite, Duration)>> {
    let mut chosen = Vec::new();
    for suite in &SUITES {
        let named = names.iter().any(|name| name == suite.name);
        match suite.budget(quick) {
            Some(seconds) if named || names.is_empty() => {
                chosen.push((suite, Duration::from_secs(seconds)));
            }
            None if named => bail!("the suite {} is not part of --quick: leave --quick out", suite.name),
            _ => {}
        }
    }
    Ok(chosen)
}

async fn suite_run(suite: &'static Suite, budget: Duration, how: Run<'_>, stop: &mut Stop) -> Result<Report> {
    println!("\n==== {}: {} (budget {} s)", suite.name, suite.about, budget.as_secs());
    let zero = Duration::ZERO;
    let mut report =
        Report { name: suite.name, tally: Tally::default(), tested: zero, built: zero, budget, faults: Vec::new() };
    for step in suite.steps(how) {
        let start = Instant::now();
        let left = (budget * HUNG).saturating_sub(report.tested);
        let build_limit = Duration::from_secs(BUILD_LIMIT);
        let mut compiles = false;
        match &step {
            Step::Build(line) => {
                compiles = true;
                announce("build", line);
                let ended = run::run(line, how.root, build_limit, None, stop).await?;
                if ended != Ended::Well {
                    report.tally.fail(format!("{}: the build", suite.name));
                    report.built += start.elapsed();
                    break;
                }
            }
            Step::Check { name, line, compiles: is_compiler } => {
                compiles = *is_compiler;
                announce(name, line);
                let limit = if compiles { build_limit } else { left };
                match run::run(line, how.root, limit, None, stop).await? {
                    Ended::Well => report.tally.pass(),
                    Ended::Badly => report.tally.fail(format!("{}: {name}", suite.name)),
                    Ended::Hung => report.tally.fail(format!("{}: {name} (ended: it hung)", suite.name)),
                }
            }
            Step::Tests(line) => {
                announce("test", line);
                let mut tally = Tally::default();
                let counted = Counted { tally: &mut tally, show: run::show };
                let ended = run::run(line, how.root, left, Some(counted), stop).await?;
                match ended {
                    // A test program that died says nothing of its tests.
                    Ended::Badly if tally.failed == 0 => tally.fail(format!("{}: a test program", suite.name)),
                    Ended::Hung => tally.fail(format!("{}: ended, because it hung", suite.name)),
                    _ => {}
                }
                report.tally += tally;
            }
            Step::Tidy => {
                println!("\n-- tidy: the house rules");
                report.tally += tidy::tally(how.root)?;
            }
        }
        let took = start.elapsed();
        *(if compiles { &mut report.built } else { &mut report.tested }) += took;
        println!("-- took {:.1} s", took.as_secs_f64());
    }
    judge(&mut report);
    Ok(report)
}

fn announce(what: &str, line: &Line) {
    println!("\n-- {what}: {} {}", line.program, line.args.join(" "));
}

/// What a suite must be besides free of failed tests.
fn judge(report: &mut Report) {
    let name = report.name;
    if report.tally.total() == 0 {
        report.faults.push(format!("{name}: no test ran"));
    }
    if report.tested > report.budget {
        let (took, budget) = (report.tested.as_secs_f64(), report.budget.as_secs());
        report.faults.push(format!("{name}: over its budget ({took:.1} s of {budget} s)"));
    }
    for fault in &report.faults {
        report.tally.fail(fault.clone());
    }
}

/// Prints the table, what was skipped and what failed, and the last line.
fn summarize(reports: &[Report]) -> bool {
    println!("\n==== summary");
    let mut sum = Tally::default();
    for report in reports {
        let Report { name, tally, tested, built, budget, .. } = report;
        println!(
            "{name:8} {:5} passed {:4} failed {:4} skipped   {:6.1} s of {:4} s, and {:6.1} s of compiling   {}",
            tally.passed(),
            tally.failed,
            tally.skipped(),
            tested.as_secs_f64(),
            budget.as_secs(),
            built.as_secs_f64(),
            if tally.failed == 0 { "ok" } else { "FAILED" },
        );
        sum += tally.clone();
    }
    for skip in &sum.skips {
        println!("SKIPPED: {skip}");
    }
    for failure in &sum.failures {
        println!("FAILED: {failure}");
    }
    println!("{} passed, {} failed, {} skipped", sum.passed(), sum.failed, sum.skipped());
    sum.failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_choice(quick: bool, names: &str, expected: &str) {
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        let got = match choose(quick, &names) {
            Ok(chosen) => chosen.iter().map(|(suite, _)| suite.name).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn quick_leaves_out_what_has_no_quick_budget() {
        check_choice(false, "", "tidy core simulate daemon mcp a2a claude sessions mesh deny");
        check_choice(true, "", "tidy core daemon");
        check_choice(false, "deny tidy", "tidy deny");
        check_choice(true, "core", "core");
        check_choice(true, "deny", "the suite deny is not part of --quick: leave --quick out");
    }

    #[track_caller]
    fn check_verdict(passed: u64, seconds: u64, failed: u64, faults: &str) {
        let mut tally = Tally::default();
        (0..passed).for_each(|_| tally.pass());
        let mut report = Report {
            name: "x",
            tally,
            tested: Duration::from_secs(seconds),
            built: Duration::from_secs(1000),
            budget: Duration::from_secs(60),
            faults: Vec::new(),
        };
        judge(&mut report);
        assert_eq!(report.faults.join("; "), faults);
        assert_eq!(report.tally.failed, failed);
    }

    #[test]
    fn a_suite_without_tests_or_over_its_budget_fails() {
        check_verdict(3, 60, 0, "");
        check_verdict(0, 1, 1, "x: no test ran");
        check_verdict(3, 61, 1, "x: over its budget (61.0 s of 60 s)");
    }
}
