//! One GET over a unix socket, its answer as JSON of which only the known fields count.
//! Whoever answers may be anything, also nothing: size and time are bounded. It must not know
//! whose socket it is.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::Request;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Deserializer};
use tokio::net::UnixStream;

use super::DirectoryKind;
use crate::MeshError;

/// A status with thousands of peers is about 2 MB.
const MOST: usize = 8 << 20;
/// What a person is shown of a refusal.
const SHOWN: usize = 120;

/// A question to a mesh daemon.
pub(super) struct Question<'a> {
    pub kind: DirectoryKind,
    pub socket: &'a Path,
    pub host: &'static str,
    pub target: &'a str,
    /// In all: a local daemon answers in milliseconds.
    pub within: Duration,
}

/// The answer, or the status of a refusal.
pub(super) enum Answer<T> {
    Of(T),
    Refused(u16, String),
}

impl Question<'_> {
    pub async fn ask<T: for<'a> Deserialize<'a>>(&self) -> Result<Answer<T>, MeshError> {
        let silent =
            |_| MeshError::Silent { kind: self.kind, path: self.socket.to_owned(), seconds: self.within.as_secs() };
        let (status, body) = tokio::time::timeout(self.within, self.exchange()).await.map_err(silent)??;
        if status != 200 {
            let said = String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(SHOWN).collect();
            return Ok(Answer::Refused(status, said));
        }
        serde_json::from_slice(&body).map(Answer::Of).map_err(|error| self.strange(error.to_string()))
    }

    /// It answers, but not as such a daemon does.
    pub fn strange(&self, what: String) -> MeshError {
        MeshError::Strange { kind: self.kind, path: self.socket.to_owned(), what }
    }

    async fn exchange(&self) -> Result<(u16, Bytes), MeshError> {
        let stream = UnixStream::connect(self.socket).await.map_err(|error| {
            let (kind, path): (_, PathBuf) = (self.kind, self.socket.to_owned());
            match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => MeshError::NoDaemon { kind, path },
                ErrorKind::PermissionDenied => MeshError::NotAllowed { kind, path },
                _ => MeshError::Strange { kind, path, what: error.to_string() },
            }
        })?;
        let strange = |error: hyper::Error| self.strange(error.to_string());
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(strange)?;
        let request = Request::get(self.target).header(HOST, self.host).body(Empty::<Bytes>::new());
        let request = request.map_err(|error| self.strange(error.to_string()))?;
        let exchange = async {
            let answer = sender.send_request(request).await.map_err(strange)?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), MOST).collect().await.map_err(|error| {
                let what = match error.is::<LengthLimitError>() {
                    true => format!("its answer is over {MOST} bytes"),
                    false => format!("its answer broke off: {error}"),
                };
                self.strange(what)
            })?;
            Ok((status, body.to_bytes()))
        };
        // The connection is driven here and nowhere else, so that it ends with the question.
        tokio::pin!(exchange, connection);
        tokio::select! {
            biased;
            done = &mut exchange => done,
            _ = &mut connection => exchange.await,
        }
    }
}

/// A field that may be absent, or null as Go writes an empty list.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}
