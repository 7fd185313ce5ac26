//! What must hold for any bytes at all, a function for each entry: the fuzz targets (`fuzz/`) and the
//! tests beside this folder call the same ones. Included by path from both.

mod answer;
mod jsonrpc;
mod rest;
mod sse;

pub use jsonrpc::check_jsonrpc;
pub use rest::check_rest;
pub use sse::check_sse;

/// The first line as text, and what comes after it; without a line's end, all is the rest. So the
/// seeds can be read and written by hand.
fn first_line(data: &[u8]) -> (String, &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (String::from_utf8_lossy(&data[..end]).into_owned(), &data[end + 1..]),
        None => (String::new(), data),
    }
}
