//! Calls to other machines: the A2A client and the plain JSON API.
//! Must not know which agent is called for what.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method as Verb};
use serde::Serialize;
use serde_json::Value;
use shrooms_a2a::jsonrpc::{self, Id, ResponseError};
use shrooms_a2a::types::{GetTaskParams, SendMessageParams, TaskIdParams};
use shrooms_a2a::{Method, SendMessageResponse, Task};

use crate::agent::sent;
use crate::call::{Call, unsure, within};
use crate::cards::Cards;
use crate::http::{self, Answer, VERSION};
use crate::{CALL_TIMEOUT, CallError, Peer, segment};

/// A machine has one or two addresses on each of a few meshes; more means that they change, and
/// then the old ones are of no use.
const CLIENTS_MAX: usize = 16;

/// Where calls leave from.
type From = (Option<IpAddr>, Option<String>);

/// Calls other machines. One for the whole program; calls may run side by side.
#[derive(Debug)]
pub struct Outbound {
    user_agent: String,
    /// One per local address and interface, for those are a client's and not a call's.
    clients: Mutex<BTreeMap<From, Client>>,
    cards: Cards,
}

impl Outbound {
    /// `version` is shown to others as `shrooms-agent/VERSION`.
    pub fn new(version: &str) -> Self {
        Outbound { user_agent: format!("shrooms-agent/{version}"), clients: Mutex::default(), cards: Cards::default() }
    }

    /// Sends a message to a session. With a waiting configuration give [`crate::WAIT_TIMEOUT`].
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn send_message(
        &self,
        peer: &Peer,
        session: &str,
        params: &SendMessageParams,
        timeout: Duration,
    ) -> Result<SendMessageResponse, CallError> {
        let result = self.call(peer, session, Method::SendMessage, params, timeout).await?;
        sent(result).map_err(|why| unsure(peer, &format!("its answer cannot be read: {why}")))
    }

    /// Where a task stands.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn get_task(&self, peer: &Peer, session: &str, id: &str) -> Result<Task, CallError> {
        // Without the history: what was asked is known here, and may be long.
        let params = GetTaskParams { id: id.to_owned(), history_length: Some(0), ..GetTaskParams::default() };
        self.task(peer, session, Method::GetTask, id, &params).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn cancel_task(&self, peer: &Peer, session: &str, id: &str) -> Result<Task, CallError> {
        let params = TaskIdParams { id: id.to_owned(), ..TaskIdParams::default() };
        self.task(peer, session, Method::CancelTask, id, &params).await
    }

    /// Says that the asker has the result.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn ack_task(&self, peer: &Peer, session: &str, id: &str) -> Result<Task, CallError> {
        let params = TaskIdParams { id: id.to_owned(), ..TaskIdParams::default() };
        self.task(peer, session, Method::AckTask, id, &params).await
    }

    /// Gets a small JSON value for whoever stands behind this machine, if `header` names one. Of the answer
    /// `most` bytes are read, and `most / 10` values in them: a list from a stranger must not fill memory.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`]. `Unsure` too when it is larger.
    pub async fn get_small(
        &self,
        peer: &Peer,
        path: &str,
        timeout: Duration,
        header: Option<(HeaderName, HeaderValue)>,
        most: usize,
    ) -> Result<Value, CallError> {
        let call = Call { verb: Verb::GET, target: path.to_owned(), headers: HeaderMap::from_iter(header), body: None };
        let client = self.client(peer)?;
        let whole = async {
            let response = call.send(&client, peer).await?;
            http::read_up_to(response, most).await.map_err(|why| unsure(peer, &why))
        };
        let answer = within(peer, timeout, whole).await?;
        if !answer.status.is_success() {
            return Err(CallError::http(&answer));
        }
        // Each value but the first follows one of these.
        let values = answer.body.iter().filter(|byte| b",:[{".contains(byte)).count();
        if values > most / 10 {
            return Err(unsure(peer, "its answer has too many values"));
        }
        serde_json::from_slice(&answer.body).map_err(|_| unsure(peer, "its answer is not JSON"))
    }

    /// Posts a JSON value; an answer without a body is null.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn post_json(
        &self,
        peer: &Peer,
        path: &str,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, http::JSON)]);
        let body = Some(body.to_string().into_bytes());
        self.json(peer, Call { verb: Verb::POST, target: path.to_owned(), headers, body }, timeout).await
    }

    async fn json(&self, peer: &Peer, call: Call, timeout: Duration) -> Result<Value, CallError> {
        let answer = self.send(peer, &call, timeout).await?;
        if !answer.status.is_success() {
            return Err(CallError::http(&answer));
        }
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|_| unsure(peer, "its answer is not JSON"))
    }

    async fn task<T: Serialize>(
        &self,
        peer: &Peer,
        session: &str,
        method: Method,
        id: &str,
        params: &T,
    ) -> Result<Task, CallError> {
        let result = self.call(peer, session, method, params, CALL_TIMEOUT).await?;
        let task = jsonrpc::task_result(result);
        let task = task.map_err(|why| unsure(peer, &format!("its answer is not a task: {why}")))?;
        // Another task's state would be shown, and kept, as this one's.
        match task.id == id {
            true => Ok(task),
            false => Err(unsure(peer, "it answers with another task than was asked for")),
        }
    }

    async fn call<T: Serialize>(
        &self,
        peer: &Peer,
        session: &str,
        method: Method,
        params: &T,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let not_sent = |why: String| CallError::Away(format!("{}: {why}", peer.name));
        let session = segment(session).ok_or_else(|| not_sent(format!("{session:?} is no session")))?;
        // One call a connection, so that any id will do.
        let id = Id::from(1);
        let body = jsonrpc::request(&id, method, params).map_err(|error| not_sent(error.to_string()))?;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, http::JSON), VERSION]);
        let call = Call { verb: Verb::POST, target: format!("/a2a/{session}"), headers, body: Some(body) };
        let answer = self.send(peer, &call, timeout).await?;
        match jsonrpc::parse_response(&answer.body, &id) {
            // A refusal is one under any status: agents differ in that.
            Err(ResponseError::Remote(refusal)) => Err(refusal.into()),
            _ if !answer.status.is_success() => Err(CallError::http(&answer)),
            Ok(result) => Ok(result),
            Err(malformed) => Err(unsure(peer, &malformed.to_string())),
        }
    }

    async fn send(&self, peer: &Peer, call: &Call, timeout: Duration) -> Result<Answer, CallError> {
        call.answer(&self.client(peer)?, peer, timeout).await
    }

    pub(crate) fn cards(&self) -> &Cards {
        &self.cards
    }

    /// The client that calls from where the peer wants to be called from.
    pub(crate) fn client(&self, peer: &Peer) -> Result<Client, CallError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let from = (peer.bind, peer.interface.clone());
        if let Some(client) = clients.get(&from) {
            return Ok(client.clone());
        }
        let away = |error| CallError::Away(format!("{} cannot be reached: {}", peer.name, http::root(&error)));
        let mut builder = http::builder(&self.user_agent).local_address(peer.bind);
        if let Some(interface) = &peer.interface {
            builder = builder.interface(interface);
        }
        let client = builder.build().map_err(away)?;
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(from, client.clone());
        Ok(client)
    }
}
