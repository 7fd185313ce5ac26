//! The one place where HTTP clients are made and answers are read, each with its bounds.
//! Must not know what is asked or answered.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Response, StatusCode};

/// A machine of the mesh that is on answers within milliseconds, over a far relay within a second;
/// 4 s is also what a list of the fleet waits for each machine.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// The most that is read of an answer: a task with its history, each text of at most 1 MiB.
pub const BODY_MAX: usize = 16 << 20;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What every client has in common. No connection is kept for the next call: one that the other
/// side has closed meanwhile would make an `Unsure` out of a call of which nothing left.
pub(crate) fn builder(user_agent: &str) -> ClientBuilder {
    #[allow(clippy::disallowed_methods, reason = "this is the place that the ban points to")]
    let builder = reqwest::Client::builder();
    builder
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(0)
        .user_agent(user_agent)
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
}

/// Reads the answer's body to its end.
///
/// # Errors
/// In words: it is too large, or it was cut off.
pub(crate) async fn read(mut response: Response) -> Result<Answer, String> {
    let too_large = || format!("the answer is larger than {BODY_MAX} bytes");
    let limit = u64::try_from(BODY_MAX).unwrap_or(u64::MAX);
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let status = response.status();
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() > BODY_MAX => return Err(too_large()),
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(Answer { status, body }),
            Err(error) => return Err(format!("the answer was cut off: {}", root(&error))),
        }
    }
}

/// Adds a JSON body with its type.
pub(crate) fn with_json(request: reqwest::RequestBuilder, body: Vec<u8>) -> reqwest::RequestBuilder {
    request.header(CONTENT_TYPE, JSON).body(body)
}

/// The innermost cause in words: what lies around it says only that a request failed.
pub(crate) fn root(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
