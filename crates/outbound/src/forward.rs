//! Requests of `/v1` that are handed on to another machine, answer and all, as they come.
//! Must not know what is asked, nor who may.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use reqwest::header::{ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};

use crate::call::{Call, unsure, within};
use crate::{CallError, Outbound, Peer, WAIT_TIMEOUT};

/// Without a byte for so long an answer is cut off: a stream sends a sign of life every 15 s.
const SILENCE: Duration = Duration::from_secs(60);

/// What is passed on of a request's headers …
const ASKED: [HeaderName; 3] = [CONTENT_TYPE, ACCEPT, HeaderName::from_static("last-event-id")];
/// … and of its answer's.
const ANSWERED: [HeaderName; 2] = [CONTENT_TYPE, CACHE_CONTROL];

/// An answer whose body is still to come.
#[derive(Debug)]
pub struct Forwarded {
    pub status: u16,
    /// Those that say what the body is.
    pub headers: HeaderMap,
    response: Response,
}

impl Outbound {
    /// Hands a request on; `target` is path and query, encoded, and begins with `/`. Of `headers` those
    /// are passed on that say what the body is and what is wanted; `more` is added.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`]. `Unsure` too when no head of an answer comes
    /// within [`WAIT_TIMEOUT`].
    pub async fn forward(
        &self,
        peer: &Peer,
        verb: Method,
        target: &str,
        headers: &HeaderMap,
        more: Option<(HeaderName, HeaderValue)>,
        body: Option<Vec<u8>>,
    ) -> Result<Forwarded, CallError> {
        let mut headers = only(headers, &ASKED);
        headers.extend(more);
        let call = Call { verb, target: target.to_owned(), headers, body };
        let client = self.client(peer)?;
        let mut response = within(peer, WAIT_TIMEOUT, call.send(&client, peer)).await?;
        if response.status().is_redirection() {
            return Err(unsure(peer, "it answers with a redirect, which is not followed"));
        }
        // None was asked for, and the body could not be read without its name.
        if response.headers().contains_key(CONTENT_ENCODING) {
            return Err(unsure(peer, "its answer is packed, which nobody asked for"));
        }
        let headers = only(&std::mem::take(response.headers_mut()), &ANSWERED);
        Ok(Forwarded { status: response.status().as_u16(), headers, response })
    }
}

fn only(headers: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    names.iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone()))).collect()
}

impl Forwarded {
    /// The body, piece by piece, as slowly as the reader takes it.
    pub fn body(self) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send {
        futures_util::stream::unfold(Some(self.response), |response| async move {
            let mut response = response?;
            match tokio::time::timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(piece))) => Some((Ok(piece), Some(response))),
                Ok(Ok(None)) => None,
                Ok(Err(error)) => Some((Err(std::io::Error::other(error)), None)),
                Err(_) => Some((Err(std::io::ErrorKind::TimedOut.into()), None)),
            }
        })
    }
}
