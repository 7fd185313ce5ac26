//! One call to a peer: to the first of its addresses that can be connected to.
//! Must not repeat a call, except to the next address when nothing left for this one.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Response};

use crate::http::{self, Answer};
use crate::{CallError, Peer};

/// For a call that is answered at once; room for a slow link and a machine that is waking up.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// For a call that waits for a task: the other side holds it for 10 minutes at most.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(11 * 60);

/// A call, ready to be sent to any of its peer's addresses.
#[derive(Debug)]
pub(crate) struct Call {
    pub verb: Method,
    /// Path and query, encoded; begins with `/`.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
}

impl Call {
    /// Sends it and reads the whole answer.
    ///
    /// # Errors
    /// `Away` if nothing left, `Unsure` if no whole answer came in time.
    pub async fn answer(&self, client: &Client, peer: &Peer, timeout: Duration) -> Result<Answer, CallError> {
        let whole = async { http::read(self.send(client, peer).await?).await.map_err(|why| unsure(peer, &why)) };
        within(peer, timeout, whole).await
    }

    /// Sends it, until the head of an answer is there. The caller bounds the time.
    ///
    /// # Errors
    /// `Away` if nothing left, `Unsure` if no answer came.
    pub async fn send(&self, client: &Client, peer: &Peer) -> Result<Response, CallError> {
        let away = |why: &str| CallError::Away(format!("{} cannot be reached: {why}", peer.name));
        // Without the slash a path could change the host: `http://ADDRESS@elsewhere`.
        if !self.target.starts_with('/') {
            return Err(away("the path to call does not begin with /"));
        }
        let mut tried = Vec::new();
        for socket in peer.sockets() {
            let mut request = client.request(self.verb.clone(), format!("http://{socket}{}", self.target));
            request = request.headers(self.headers.clone());
            if let Some(body) = &self.body {
                request = request.body(body.clone());
            }
            match request.send().await {
                Ok(response) => return Ok(response),
                Err(error) if error.is_connect() => tried.push(format!("{socket}: {}", http::root(&error))),
                // Made wrongly, so that it was never sent.
                Err(error) if error.is_builder() => return Err(away(&http::root(&error))),
                Err(error) => return Err(unsure(peer, &http::root(&error))),
            }
        }
        match tried.is_empty() {
            true => Err(away("it has no address")),
            false => Err(away(&tried.join("; "))),
        }
    }
}

/// What is done in time; `Unsure` if it is not.
pub(crate) async fn within<T>(
    peer: &Peer,
    timeout: Duration,
    work: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let late = |_| unsure(peer, &format!("no whole answer within {} s", timeout.as_secs()));
    tokio::time::timeout(timeout, work).await.map_err(late)?
}

pub(crate) fn unsure(peer: &Peer, why: &str) -> CallError {
    CallError::Unsure(format!("{}: {why}", peer.name))
}
