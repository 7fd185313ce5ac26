//! The checks of the fuzz targets, played in every test run: over the seeds, and over what a
//! generator with a fixed seed makes of them. Longer runs: `cargo xtask fuzz`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop at a surprise, and say so"
)]

mod checks;
mod mutate;

use std::path::PathBuf;

use checks::{check_jsonrpc, check_rest, check_sse};
use mutate::Mutator;

/// Fewer seeds are an accident: a moved folder, a name that has changed.
const SEEDS_MIN: usize = 30;
/// About two seconds each in a debug build.
const MUTATIONS: usize = 20_000;

/// Says which input it was, when its check panics.
struct Under<'a>(&'a str, &'a [u8]);

impl Drop for Under<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input ({}): {}", self.0, self.1.escape_ascii());
        }
    }
}

/// The seeds by name, in a fixed order.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    seeds.sort();
    assert!(seeds.len() >= SEEDS_MIN, "{} seeds in {}", seeds.len(), folder.display());
    seeds
}

fn check(target: &str, check: fn(&[u8])) {
    let seeds = seeds(target);
    for (name, seed) in &seeds {
        let _under = Under(name, seed);
        check(seed);
    }
    let mut mutator = Mutator::new(1);
    for _ in 0..MUTATIONS {
        let (name, seed) = mutator.pick(&seeds);
        let (_, other) = mutator.pick(&seeds);
        let mutated = mutator.mutate(seed, other);
        let _under = Under(name, &mutated);
        check(&mutated);
    }
}

#[test]
fn any_json_rpc_body_is_an_operation_or_a_proper_refusal() {
    check("jsonrpc", check_jsonrpc);
}

#[test]
fn any_http_request_is_an_operation_or_a_proper_refusal() {
    check("rest", check_rest);
}

#[test]
fn any_stream_is_the_same_events_however_it_is_cut() {
    check("sse", check_sse);
}
