//! The client of this machine's daemon, over its unix socket.
//! Must not know what the daemon does with a request.

mod download;
mod events;

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde::Serialize;
use serde_json::Value;

pub use download::Download;
pub use events::{Events, LocalEvent};

use crate::http::{self, Answer};
use crate::{CALL_TIMEOUT, LocalError, Secret};

/// The header of a session's pass.
const PASS: &str = "Shrooms-Pass";

/// Calls this machine's daemon. Paths begin with `/`; their parts are encoded already.
#[derive(Debug, Clone)]
pub struct LocalClient {
    client: Client,
    socket: PathBuf,
    pass: Option<HeaderValue>,
}

impl LocalClient {
    /// `pass` is what the daemon gave to the session that this process belongs to, if any.
    ///
    /// # Errors
    /// The pass cannot be a header's value.
    pub fn new(socket: impl Into<PathBuf>, pass: Option<&Secret>) -> Result<Self, LocalError> {
        let socket = socket.into();
        let broken = |why: String| LocalError::Broken(why);
        let client = http::builder(concat!("shrooms-agent/", env!("CARGO_PKG_VERSION")))
            .unix_socket(socket.clone())
            .build()
            .map_err(|error| broken(http::root(&error)))?;
        let pass = match pass {
            Some(pass) => {
                let value = HeaderValue::from_str(pass.reveal());
                let mut value = value.map_err(|_| broken("the session's pass is not one that was given out".into()))?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(LocalClient { client, socket, pass })
    }

    /// The socket that is called.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Gets a value; the daemon answers at once.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn get(&self, path: &str) -> Result<Value, LocalError> {
        self.get_within(path, CALL_TIMEOUT).await
    }

    /// Gets a value that the daemon may hold back, for a wait: [`crate::WAIT_TIMEOUT`].
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn get_within(&self, path: &str, timeout: Duration) -> Result<Value, LocalError> {
        self.value(self.request(Method::GET, path)?.timeout(timeout)).await
    }

    /// Posts a value; an answer without a body is null.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn post<T: Serialize + ?Sized>(&self, path: &str, body: &T) -> Result<Value, LocalError> {
        let body = serde_json::to_vec(body).map_err(|error| LocalError::Broken(error.to_string()))?;
        self.value(http::with_json(self.request(Method::POST, path)?, body).timeout(CALL_TIMEOUT)).await
    }

    /// The same for what takes its time.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn post_within<T: Serialize + ?Sized>(
        &self,
        path: &str,
        body: &T,
        timeout: Duration,
    ) -> Result<Value, LocalError> {
        let body = serde_json::to_vec(body).map_err(|error| LocalError::Broken(error.to_string()))?;
        self.value(http::with_json(self.request(Method::POST, path)?, body).timeout(timeout)).await
    }

    /// Deletes; an answer without a body is null.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn delete(&self, path: &str) -> Result<Value, LocalError> {
        self.value(self.request(Method::DELETE, path)?.timeout(CALL_TIMEOUT)).await
    }

    /// Opens a stream of events.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn events(&self, path: &str) -> Result<Events, LocalError> {
        self.open(path, "text/event-stream").await.map(Events::new)
    }

    /// Opens an answer that may be large: it is read in pieces.
    ///
    /// # Errors
    /// See [`LocalError`].
    pub async fn download(&self, path: &str) -> Result<Download, LocalError> {
        self.open(path, "*/*").await.map(Download::new)
    }

    async fn open(&self, path: &str, accept: &'static str) -> Result<Response, LocalError> {
        let accept = HeaderValue::from_static(accept);
        let sent = self.request(Method::GET, path)?.header(ACCEPT, accept).send();
        let late = |_| LocalError::Broken("the daemon does not answer".into());
        let response = tokio::time::timeout(CALL_TIMEOUT, sent).await.map_err(late)?;
        let response = response.map_err(|error| self.failed(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(LocalError::api(&http::read(response).await.map_err(LocalError::Broken)?))
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, LocalError> {
        if !path.starts_with('/') {
            return Err(LocalError::Broken(format!("the path {path:?} does not begin with /")));
        }
        // The host is never looked up: the socket is the way.
        let request = self.client.request(method, format!("http://localhost{path}"));
        Ok(match &self.pass {
            Some(pass) => request.header(PASS, pass.clone()),
            None => request,
        })
    }

    async fn value(&self, request: RequestBuilder) -> Result<Value, LocalError> {
        let answer = self.answer(request).await?;
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        let broken = |_| LocalError::Broken("what answers at the socket does not speak JSON".into());
        serde_json::from_slice(&answer.body).map_err(broken)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Answer, LocalError> {
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        let answer = http::read(response).await.map_err(LocalError::Broken)?;
        if answer.status.is_success() { Ok(answer) } else { Err(LocalError::api(&answer)) }
    }

    fn failed(&self, error: &reqwest::Error) -> LocalError {
        let why = http::root(error);
        if error.is_connect() {
            return LocalError::NoDaemon { socket: self.socket.clone(), why };
        }
        LocalError::Broken(format!("the daemon gave no whole answer: {why}"))
    }
}
