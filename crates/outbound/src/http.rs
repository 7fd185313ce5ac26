//! The one place where HTTP clients are made and answers are read, each with its bounds.
//! Must not know what is asked or answered.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Response, StatusCode};
use shrooms_a2a::version;

/// A machine of the mesh that is on answers within milliseconds, over a far relay within a second;
/// 4 s is also what a list of the fleet waits for each machine.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// The most that is read of an answer: a task with its history, each text of at most 1 MiB.
pub const BODY_MAX: usize = 16 << 20;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The version that every A2A request names, a GET too.
pub(crate) const VERSION: (HeaderName, HeaderValue) =
    (HeaderName::from_static("a2a-version"), HeaderValue::from_static(version::SPOKEN));

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
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Reads the answer's body to its end, [`BODY_MAX`] at most.
///
/// # Errors
/// In words: it is too large, or it was cut off.
pub(crate) async fn read(response: Response) -> Result<Answer, String> {
    read_up_to(response, BODY_MAX).await
}

/// Reads the answer's body to its end, so many bytes at most.
///
/// # Errors
/// In words: it is too large, or it was cut off.
pub(crate) async fn read_up_to(mut response: Response, max: usize) -> Result<Answer, String> {
    let too_large = || format!("the answer is larger than {max} bytes");
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(piece)) if body.len() + piece.len() > max => return Err(too_large()),
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => return Ok(Answer { status, headers, body }),
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
    match cause.to_string() {
        late if late == ELAPSED => "no answer in time".to_owned(),
        said => said,
    }
}

/// What a time limit that ran out says of itself.
const ELAPSED: &str = "deadline has elapsed";
