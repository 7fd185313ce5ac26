//! Calls to other machines: the A2A client and the plain JSON API.
//! Must not repeat a call by itself, except to the next address when nothing left for this one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, Method as Verb};
use serde::Serialize;
use serde_json::Value;
use shrooms_a2a::decode::{Decode, decode};
use shrooms_a2a::jsonrpc::{self, Id, ResponseError};
use shrooms_a2a::types::{GetTaskParams, SendMessageParams, TaskIdParams};
use shrooms_a2a::{Method, SendMessageResponse, Task, version};

use crate::http::{self, Answer};
use crate::{CallError, Peer, segment};

/// For a call that is answered at once; room for a slow link and a machine that is waking up.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// For a call that waits for a task: the other side holds it for 10 minutes at most.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(11 * 60);

/// A machine has one or two addresses on each of a few meshes; more means that they change, and
/// then the old ones are of no use.
const CLIENTS_MAX: usize = 16;

/// Calls other machines. One for the whole program; calls may run side by side.
#[derive(Debug)]
pub struct Outbound {
    user_agent: String,
    /// One per local address, for that is a client's and not a call's.
    clients: Mutex<BTreeMap<Option<IpAddr>, Client>>,
}

/// One call, ready to be sent to any of its peer's addresses.
struct Call<'a> {
    verb: Verb,
    path: &'a str,
    a2a: bool,
    body: Option<Vec<u8>>,
}

impl Outbound {
    /// `version` is shown to others as `shrooms-agent/VERSION`.
    pub fn new(version: &str) -> Self {
        Outbound { user_agent: format!("shrooms-agent/{version}"), clients: Mutex::default() }
    }

    /// Sends a message to a session. With a waiting configuration give [`WAIT_TIMEOUT`].
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
        // Older agents of ours give the task bare.
        if result.get("task").is_none() && result.get("message").is_none() && result.get("id").is_some() {
            return taken::<Task>(peer, result).map(SendMessageResponse::Task);
        }
        taken(peer, result)
    }

    /// Where a task stands.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn get_task(&self, peer: &Peer, session: &str, id: &str) -> Result<Task, CallError> {
        // Without the history: what was asked is known here, and may be long.
        let params = GetTaskParams { id: id.to_owned(), history_length: Some(0), ..GetTaskParams::default() };
        self.task(peer, session, Method::GetTask, &params).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn cancel_task(&self, peer: &Peer, session: &str, id: &str) -> Result<Task, CallError> {
        let params = TaskIdParams { id: id.to_owned(), ..TaskIdParams::default() };
        self.task(peer, session, Method::CancelTask, &params).await
    }

    /// Says that the asker has the result.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn ack_task(&self, peer: &Peer, session: &str, id: &str) -> Result<Task, CallError> {
        let params = TaskIdParams { id: id.to_owned(), ..TaskIdParams::default() };
        self.task(peer, session, Method::AckTask, &params).await
    }

    /// Gets a JSON value. `path` begins with `/`; its parts are encoded already.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn get_json(&self, peer: &Peer, path: &str, timeout: Duration) -> Result<Value, CallError> {
        self.json(peer, Call { verb: Verb::GET, path, a2a: false, body: None }, timeout).await
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
        let body = Some(body.to_string().into_bytes());
        self.json(peer, Call { verb: Verb::POST, path, a2a: false, body }, timeout).await
    }

    async fn json(&self, peer: &Peer, call: Call<'_>, timeout: Duration) -> Result<Value, CallError> {
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
        params: &T,
    ) -> Result<Task, CallError> {
        let result = self.call(peer, session, method, params, CALL_TIMEOUT).await?;
        jsonrpc::task_result(result).map_err(|why| unsure(peer, &format!("its answer is not a task: {why}")))
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
        let path = format!("/a2a/{session}");
        let call = Call { verb: Verb::POST, path: &path, a2a: true, body: Some(body) };
        let answer = self.send(peer, &call, timeout).await?;
        match jsonrpc::parse_response(&answer.body, &id) {
            // A refusal is one under any status: agents differ in that.
            Err(ResponseError::Remote(refusal)) => Err(refusal.into()),
            _ if !answer.status.is_success() => Err(CallError::http(&answer)),
            Ok(result) => Ok(result),
            Err(malformed) => Err(unsure(peer, &malformed.to_string())),
        }
    }

    /// To the first address that can be connected to.
    async fn send(&self, peer: &Peer, call: &Call<'_>, timeout: Duration) -> Result<Answer, CallError> {
        let try_all = self.try_addresses(peer, call);
        let late = |_| unsure(peer, &format!("no whole answer within {} s", timeout.as_secs()));
        tokio::time::timeout(timeout, try_all).await.map_err(late)?
    }

    async fn try_addresses(&self, peer: &Peer, call: &Call<'_>) -> Result<Answer, CallError> {
        let away = |why: &str| CallError::Away(format!("{} cannot be reached: {why}", peer.name));
        // Without the slash a path could change the host: `http://ADDRESS@elsewhere`.
        if !call.path.starts_with('/') {
            return Err(away("the path to call does not begin with /"));
        }
        let client = self.client(peer.bind).map_err(|error| away(&http::root(&error)))?;
        let mut tried = Vec::new();
        for socket in peer.sockets() {
            let mut request = client.request(call.verb.clone(), format!("http://{socket}{}", call.path));
            if call.a2a {
                request = request.header(version::HEADER, version::SPOKEN);
            }
            if let Some(body) = &call.body {
                request = http::with_json(request, body.clone());
            }
            match request.send().await {
                Ok(response) => return http::read(response).await.map_err(|why| unsure(peer, &why)),
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

    fn client(&self, bind: Option<IpAddr>) -> Result<Client, reqwest::Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&bind) {
            return Ok(client.clone());
        }
        let client = http::builder(&self.user_agent).local_address(bind).build()?;
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(bind, client.clone());
        Ok(client)
    }
}

fn unsure(peer: &Peer, why: &str) -> CallError {
    CallError::Unsure(format!("{}: {why}", peer.name))
}

/// A result as a value. One that cannot be read is `Unsure`: the agent did something.
fn taken<T: Decode>(peer: &Peer, result: Value) -> Result<T, CallError> {
    decode(result).map_err(|why| unsure(peer, &format!("its answer cannot be read: {why}")))
}
