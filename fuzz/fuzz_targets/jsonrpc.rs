//! The body of a JSON-RPC call, and the version that it names.

#![no_main]

#[allow(dead_code, unused_imports, reason = "each target uses one of the checks")]
#[path = "../../crates/a2a/tests/fuzz/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check_jsonrpc(data));
