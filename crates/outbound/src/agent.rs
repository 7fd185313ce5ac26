//! A client of one A2A agent, made from its card: every operation, on the binding that the card
//! offers first and is spoken here.
//! Must not know sessions, asks, or what a task is for.

mod choice;
mod follow;
mod offers;
mod stream;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value};
use shrooms_a2a::types::{
    GetTaskParams, ListTasksParams, ListTasksResult, PushConfigParams, PushConfigsResult, SendMessageParams,
    TaskIdParams, TaskPushNotificationConfig,
};
use shrooms_a2a::{
    A2aError, AgentCard, Decode, ErrorCode, Method, Operation, SendMessageResponse, Task, decode, jsonrpc,
};

use crate::call::{Call, unsure, within};
use crate::http::{self, Answer, BODY_MAX};
use crate::{CALL_TIMEOUT, CallError, Outbound, Peer, WAIT_TIMEOUT};
pub use choice::Binding;
use choice::Chosen;
pub use follow::Follow;
pub use stream::TaskStream;

/// How an agent is called.
#[derive(Debug, Clone, Default)]
pub struct AgentOptions {
    /// Only by this binding; `None`: by the first one of the card.
    pub binding: Option<Binding>,
    /// Extensions that every request asks for, by URI.
    pub extensions: Vec<String>,
    /// Extensions that the caller knows: they are asked for where the card requires them.
    pub known_extensions: Vec<String>,
    pub limits: StreamLimits,
}

/// The bounds of streams and of following them.
#[derive(Debug, Clone)]
pub struct StreamLimits {
    /// A stream without a byte for this long is cut. Ours sends a comment every 15 s, so that four
    /// are missed then. Some agents send none and are silent while they work: give more for them.
    /// Following costs only a new subscription each time, which no task notices.
    pub silence: Duration,
    /// The largest event, in bytes. The default is that of a whole answer: an event may be a task
    /// with all it has.
    pub event_max: usize,
    /// The largest task that is folded, in bytes. The default is that of a whole answer: a task that
    /// is larger could not be had at once either.
    pub task_max: usize,
    /// Tries to go on after a stream broke off, counted anew whenever the task has changed. With the
    /// default gaps it is a minute and a half: a restart fits in, a machine that is off does not.
    pub tries: u32,
    /// The gap before the first of them; each is twice the one before.
    pub first_gap: Duration,
    /// The longest gap.
    pub longest_gap: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        StreamLimits {
            silence: Duration::from_secs(60),
            event_max: BODY_MAX,
            task_max: BODY_MAX,
            tries: 8,
            first_gap: Duration::from_millis(500),
            longest_gap: Duration::from_secs(30),
        }
    }
}

/// An agent that can be called. It stands for its card as it was when this was made: make another
/// one for the next errand, which costs nothing while the card is kept.
#[derive(Debug, Clone)]
pub struct Agent {
    client: Client,
    peer: Peer,
    /// The peer and the path, for errors.
    name: String,
    card: Arc<AgentCard>,
    chosen: Chosen,
    extensions: Option<HeaderValue>,
    options: AgentOptions,
}

impl Outbound {
    /// The agent whose card is at `base` of a peer: `/` or a path like `/a2a/review`, encoded. The
    /// card is kept as its headers allow; `now` is the time by any clock that counts on from a fixed
    /// moment.
    ///
    /// # Errors
    /// `Away` if the card could not be had, `Refused` if by it the agent cannot be called: it is no
    /// card, none of its interfaces fits, or it requires an extension that is not known.
    pub async fn agent(
        &self,
        peer: &Peer,
        base: &str,
        options: AgentOptions,
        now: Duration,
    ) -> Result<Agent, CallError> {
        let card = self.card(peer, base, now).await?;
        Agent::new(self.client(peer)?, peer.clone(), base, card, options)
    }

    /// The card at `base` of a peer; see [`Outbound::agent`].
    ///
    /// # Errors
    /// `Away` if it could not be had, `Refused` if it is no card, `Http` for another answer.
    pub async fn card(&self, peer: &Peer, base: &str, now: Duration) -> Result<Arc<AgentCard>, CallError> {
        let is_path = base.starts_with('/') && base.bytes().all(|b| b.is_ascii_graphic() && !b"?#\\".contains(&b));
        if !is_path {
            return Err(CallError::Away(format!("{} cannot be reached: {base:?} is no path", peer.name)));
        }
        self.cards().get(&self.client(peer)?, peer, base, now).await
    }
}

impl Agent {
    fn new(
        client: Client,
        peer: Peer,
        base: &str,
        card: Arc<AgentCard>,
        options: AgentOptions,
    ) -> Result<Self, CallError> {
        let chosen = choice::choose(&card, &peer, options.binding).map_err(refused)?;
        let asked = offers::extensions(&card, &options.extensions, &options.known_extensions).map_err(refused)?;
        let extensions = header_of(&asked)?;
        let name = format!("{}{}", peer.name, base.trim_end_matches('/'));
        Ok(Agent { client, peer, name, card, chosen, extensions, options })
    }

    /// Its card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// The binding that it is called by.
    pub fn binding(&self) -> Binding {
        self.chosen.binding
    }

    /// The same agent by another card of it: the extended one, once it was got.
    ///
    /// # Errors
    /// `Refused` if by that card the agent cannot be called.
    pub fn with_card(&self, card: AgentCard) -> Result<Agent, CallError> {
        let (client, options) = (self.client.clone(), self.options.clone());
        let base = self.name.strip_prefix(&self.peer.name).unwrap_or_default();
        Agent::new(client, self.peer.clone(), base, Arc::new(card), options)
    }

    /// Sends a message. If the params say so, this waits for the task, 11 minutes at most.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn send_message(&self, params: SendMessageParams) -> Result<SendMessageResponse, CallError> {
        let timeout = if params.waits() { WAIT_TIMEOUT } else { CALL_TIMEOUT };
        let result = self.result(&Operation::SendMessage(params), timeout).await?;
        sent(result).map_err(|why| self.unreadable(&why))
    }

    /// Sends a message and gives what comes of it as a stream.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn send_streaming_message(&self, params: SendMessageParams) -> Result<TaskStream, CallError> {
        self.open(&Operation::SendStreamingMessage(params)).await
    }

    /// Sends a message and follows the task to its end. When the stream breaks off before the first
    /// event, and the message names no task, that is an error: nothing is sent twice.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn send_and_follow(&self, params: SendMessageParams) -> Result<Follow, CallError> {
        let id = params.message.task_id.clone();
        let stream = self.send_streaming_message(params).await?;
        Ok(Follow::new(self.clone(), id, Some(stream)))
    }

    /// Where a task stands.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn get_task(&self, params: GetTaskParams) -> Result<Task, CallError> {
        let id = params.id.clone();
        self.task(&id, &Operation::GetTask(params)).await
    }

    /// Tasks that the caller may see.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn list_tasks(&self, params: ListTasksParams) -> Result<ListTasksResult, CallError> {
        self.read(&Operation::ListTasks(params)).await
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn cancel_task(&self, params: TaskIdParams) -> Result<Task, CallError> {
        let id = params.id.clone();
        self.task(&id, &Operation::CancelTask(params)).await
    }

    /// Says that the caller has the result, to an agent that knows shrooms' extension.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn ack_task(&self, params: TaskIdParams) -> Result<Task, CallError> {
        let id = params.id.clone();
        self.task(&id, &Operation::AckTask(params)).await
    }

    /// The events of a task from now on; the first one is the task itself.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`]. A task that has ended is an UnsupportedOperation.
    pub async fn subscribe_to_task(&self, params: TaskIdParams) -> Result<TaskStream, CallError> {
        let id = params.id.clone();
        match self.open(&Operation::SubscribeToTask(params)).await {
            // The prose has it as a POST and the proto as a GET.
            Err(error) if self.chosen.binding == Binding::HttpJson && wire::may_be_a_get(&error) => {
                self.opened(&wire::subscribe_by_get(&id, &self.chosen, self.extensions.as_ref())?).await
            }
            opened => opened,
        }
    }

    /// Follows a task to its end.
    pub fn follow(&self, task_id: &str) -> Follow {
        Follow::new(self.clone(), Some(task_id.to_owned()), None)
    }

    /// Has changes of a task posted to an address.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn create_push_config(
        &self,
        config: &TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, CallError> {
        self.read(&push(Method::CreateTaskPushNotificationConfig, config)?).await
    }

    /// One of a task's push settings.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn get_push_config(&self, params: &PushConfigParams) -> Result<TaskPushNotificationConfig, CallError> {
        self.read(&push(Method::GetTaskPushNotificationConfig, params)?).await
    }

    /// A task's push settings, a page of them.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn list_push_configs(&self, params: &PushConfigParams) -> Result<PushConfigsResult, CallError> {
        self.read(&push(Method::ListTaskPushNotificationConfigs, params)?).await
    }

    /// Deletes one of a task's push settings.
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn delete_push_config(&self, params: &PushConfigParams) -> Result<(), CallError> {
        self.result(&push(Method::DeleteTaskPushNotificationConfig, params)?, CALL_TIMEOUT).await.map(|_| ())
    }

    /// The card for callers that the agent knows; see [`Agent::with_card`].
    ///
    /// # Errors
    /// By what may have happened; see [`CallError`].
    pub async fn get_extended_agent_card(&self) -> Result<AgentCard, CallError> {
        self.read(&Operation::GetExtendedAgentCard).await
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn limits(&self) -> &StreamLimits {
        &self.options.limits
    }

    /// The task of an answer, which must be the one that was asked for.
    async fn task(&self, id: &str, operation: &Operation) -> Result<Task, CallError> {
        let result = self.result(operation, CALL_TIMEOUT).await?;
        let task = jsonrpc::task_result(result).map_err(|why| self.unreadable(&why))?;
        match task.id == id {
            true => Ok(task),
            false => Err(CallError::Unsure(format!("{}: it answered with the task {:?}", self.name, task.id))),
        }
    }

    async fn read<T: Decode>(&self, operation: &Operation) -> Result<T, CallError> {
        decode(self.result(operation, CALL_TIMEOUT).await?).map_err(|why| self.unreadable(&why))
    }

    async fn result(&self, operation: &Operation, timeout: Duration) -> Result<Value, CallError> {
        let call = self.call(operation)?;
        match self.ask(&call, timeout).await {
            Err(error) if self.is_type_refused(&error) => self.ask(&wire::as_plain_json(call), timeout).await,
            asked => asked,
        }
    }

    async fn ask(&self, call: &Call, timeout: Duration) -> Result<Value, CallError> {
        let answer = call.answer(&self.client, &self.peer, timeout).await?;
        wire::result(self.chosen.binding, &self.name, &answer)
    }

    /// Whether the body's type was refused before the agent saw the body: 1.0.0 had the plain type,
    /// and frameworks hold on to it. An agent's own refusal of a part's type is no such thing.
    fn is_type_refused(&self, error: &CallError) -> bool {
        self.chosen.binding == Binding::HttpJson && matches!(error, CallError::Http { status: 415, .. })
    }

    /// The request, if the card offers the operation.
    fn call(&self, operation: &Operation) -> Result<Call, CallError> {
        offers::check(&self.card, operation).map_err(refused)?;
        wire::call(operation, &self.chosen, self.extensions.as_ref())
    }

    async fn open(&self, operation: &Operation) -> Result<TaskStream, CallError> {
        let call = self.call(operation)?;
        match self.opened(&call).await {
            Err(error) if self.is_type_refused(&error) => self.opened(&wire::as_plain_json(call)).await,
            opened => opened,
        }
    }

    /// Sends the request of a stream. What comes instead of one is read whole: a refusal, or the one
    /// event that there is.
    async fn opened(&self, call: &Call) -> Result<TaskStream, CallError> {
        let limits = self.limits();
        let response = within(&self.peer, limits.silence, call.send(&self.client, &self.peer)).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let binding = self.chosen.binding;
        if response.status().is_success() && kind == "text/event-stream" {
            return Ok(TaskStream::new(&self.name, binding, response, limits.silence, limits.event_max));
        }
        let answer: Answer = within(&self.peer, CALL_TIMEOUT, async {
            http::read(response).await.map_err(|why| unsure(&self.peer, &why))
        })
        .await?;
        let result = wire::result(binding, &self.name, &answer);
        match (result, String::from_utf8(answer.body)) {
            (Ok(_), Ok(data)) if kind.ends_with("json") => Ok(TaskStream::of_answer(&self.name, binding, data)),
            (Ok(_), _) => Err(CallError::Unsure(format!("{}: it answered without a stream", self.name))),
            (Err(error), _) => Err(error),
        }
    }

    fn unreadable(&self, why: &dyn std::fmt::Display) -> CallError {
        CallError::Unsure(format!("{}: its answer cannot be read: {why}", self.name))
    }
}

/// What came of a message. Older agents of ours give the task bare.
pub(crate) fn sent(result: Value) -> Result<SendMessageResponse, shrooms_a2a::Invalid> {
    let is_bare = result.get("task").is_none() && result.get("message").is_none() && result.get("id").is_some();
    match is_bare {
        true => decode(result).map(SendMessageResponse::Task),
        false => decode(result),
    }
}

fn push<T: Serialize>(method: Method, params: &T) -> Result<Operation, CallError> {
    match serde_json::to_value(params) {
        Ok(Value::Object(params)) => Ok(Operation::Push(method, params)),
        _ => Ok(Operation::Push(method, Map::new())),
    }
}

fn refused(error: A2aError) -> CallError {
    CallError::Refused(error.into())
}

/// The header that asks for extensions; none for none.
fn header_of(extensions: &[String]) -> Result<Option<HeaderValue>, CallError> {
    if extensions.is_empty() {
        return Ok(None);
    }
    let is_one = |uri: &String| !uri.is_empty() && uri.bytes().all(|b| b.is_ascii_graphic() && b != b',');
    let bad = || {
        let message = "an extension is asked for by a URI that cannot stand in a header";
        refused(A2aError::new(ErrorCode::InvalidParams, message))
    };
    match extensions.iter().all(is_one) {
        true => HeaderValue::from_str(&extensions.join(", ")).map(Some).map_err(|_| bad()),
        false => Err(bad()),
    }
}
