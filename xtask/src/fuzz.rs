//! `cargo xtask fuzz`: the fuzz targets (`fuzz/`), one after the other. It installs nothing: it says
//! what is missing. It must not know what the targets check.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::run::{self, Counted, Ended, Stop};
use crate::suites::Line;
use crate::tally::Tally;

/// What there is, by the names in `fuzz/Cargo.toml`.
pub const TARGETS: [&str; 3] = ["jsonrpc", "rest", "sse"];

/// A cold build of libFuzzer and the targets on a slow machine, beside the time that was asked for.
const BUILD_LIMIT: Duration = Duration::from_secs(3_600);
/// Inputs beyond this, in bytes, only repeat what smaller ones do.
const INPUT_MAX: u32 = 16_384;
/// One input that takes this many seconds hangs.
const INPUT_SECS: u32 = 10;
/// What no input may make it take, in MiB: bounded memory is among the things that are checked.
const MEMORY_MIB: u32 = 1_024;

/// Runs these targets, or all, each for so long. True when nothing was found.
///
/// # Errors
/// cargo-fuzz is not installed, an interrupt, cargo that cannot be started.
pub fn run(root: &Path, lasts: Duration, targets: &[String]) -> Result<bool> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut stop = Stop::new()?;
        if !is_installed(root, &mut stop).await? {
            bail!("cargo-fuzz is missing: install it with `cargo install cargo-fuzz --locked`; it also needs g++");
        }
        let mut good = true;
        for target in TARGETS.into_iter().filter(|name| targets.is_empty() || targets.iter().any(|one| one == name)) {
            println!("{target}: {} s", lasts.as_secs());
            let grown = root.join(grown(target));
            std::fs::create_dir_all(&grown).with_context(|| format!("cannot make {}", grown.display()))?;
            let limit = lasts.saturating_add(BUILD_LIMIT);
            if run::run(&line(target, lasts), root, limit, None, &mut stop).await? != Ended::Well {
                good = false;
                println!("{target}: something was found, or it could not be built: docs/fuzzing.md says what to do");
            }
        }
        Ok(good)
    })
}

async fn is_installed(root: &Path, stop: &mut Stop) -> Result<bool> {
    let asks = ["fuzz", "--version"].map(str::to_owned).to_vec();
    let line = Line { program: "cargo".to_owned(), args: asks, env: Vec::new() };
    let mut tally = Tally::default();
    let quiet = Counted { tally: &mut tally, show: |_, _| {} };
    Ok(run::run(&line, root, Duration::from_secs(60), Some(quiet), stop).await? == Ended::Well)
}

/// Where the inputs go that reach something new: not among the seeds, which are kept by hand.
fn grown(target: &str) -> String {
    format!("target/fuzz/{target}")
}

/// Without a sanitizer, so that the pinned toolchain does: the crate holds no unsafe code.
fn line(target: &str, lasts: Duration) -> Line {
    let secs = lasts.as_secs();
    let grown = grown(target);
    let args = format!(
        "fuzz run --sanitizer none {target} {grown} fuzz/corpus/{target} -- -max_total_time={secs} \
         -max_len={INPUT_MAX} -timeout={INPUT_SECS} -rss_limit_mb={MEMORY_MIB} -verbosity=0 -print_funcs=0 \
         -print_final_stats=1"
    );
    let args = args.split_whitespace().map(str::to_owned).collect();
    Line { program: "cargo".to_owned(), args, env: Vec::new() }
}

/// `90s`, `10m`, `8h`. Not none at all: to libFuzzer that is for ever.
///
/// # Errors
/// Another text, with what is wrong.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time: use a number with s, m or h, such as 10m");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let secs: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(secs).filter(|secs| *secs > 0).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(duration(text).ok().map(|time| time.as_secs()), expected, "{text:?}");
    }

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        check("90s", Some(90));
        check("5m", Some(300));
        check("8h", Some(28_800));
        for bad in ["", "5", "m", "5d", "-5m", "0s", "5 m", "5é", "99999999999999999999h", "9999999999999999999h"] {
            check(bad, None);
        }
    }

    #[test]
    fn the_targets_are_those_of_the_manifest() {
        let manifest: toml::Table = toml::from_str(include_str!("../../fuzz/Cargo.toml")).unwrap();
        let bins = manifest["bin"].as_array().unwrap();
        let names: Vec<&str> = bins.iter().map(|bin| bin["name"].as_str().unwrap()).collect();
        assert_eq!(names, TARGETS);
    }
}
