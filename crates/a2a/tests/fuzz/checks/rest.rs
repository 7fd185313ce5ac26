//! Any request of the HTTP+JSON binding becomes an operation or a proper refusal.

use shrooms_a2a::rest;

use super::answer::check_http;
use super::first_line;
use super::jsonrpc::check_operation;

/// The first line is `VERB PATH?QUERY`, the rest is the body.
pub fn check_rest(data: &[u8]) {
    let (line, body) = first_line(data);
    let (verb, target) = line.split_once(' ').unwrap_or(("GET", &line));
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    match rest::parse(verb, path, query, body) {
        Ok(operation) => {
            check_operation(&operation);
            // As other servers do, a slash behind the path is passed over.
            if !path.ends_with('/') {
                assert_eq!(rest::parse(verb, &format!("{path}/"), query, body).as_ref(), Ok(&operation));
            }
        }
        Err(error) => {
            check_http(&error);
            // What the answer allows is allowed, and what was asked is not among it.
            for allowed in error.allow.iter().flat_map(|allow| allow.split(", ")) {
                assert_ne!(allowed, verb, "{error:?}");
                let status = rest::parse(allowed, path, query, body).map_or_else(|error| error.status, |_| 200);
                assert!(!matches!(status, 404 | 405), "{allowed}: {status} after {error:?}");
            }
        }
    }
}
