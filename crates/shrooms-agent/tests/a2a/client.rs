//! Our own client, through every operation, at the servers of the official Python and JavaScript
//! SDKs, on both bindings. What a server does is chosen by the beginning of a message's id.

use std::future::Future;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use shrooms_a2a::types::{GetTaskParams, ListTasksParams, SendConfiguration, SendMessageParams, TaskIdParams};
use shrooms_a2a::{ErrorCode, Message, PartContent, Role, SendMessageResponse, StreamResponse, Task, TaskState};
use shrooms_outbound::{Agent, AgentOptions, Binding, CallError, Outbound, Peer};

use crate::sdk::{self, Sdk};

/// Each step is answered at once, but for the work that takes 4 s.
const STEP: Duration = Duration::from_secs(20);

/// An SDK's server; it ends with its stdin, so with this.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; a test that failed says more than that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(sdk: &Sdk) -> Server {
    let mut child = Command::new(&sdk.program)
        .args(&sdk.server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("listening ").and_then(|port| port.parse().ok());
    Server { child, port: port.unwrap_or_else(|| panic!("{} says {line:?}", sdk.name)) }
}

fn peer(server: &Server) -> Peer {
    Peer {
        name: "127.0.0.1".into(),
        addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        port: server.port,
        bind: None,
        interface: None,
    }
}

/// A message whose id begins with the behaviour, and is used once.
fn message(behaviour: &str) -> SendMessageParams {
    let fresh = format!("{behaviour}-{:x}", getrandom::u64().unwrap());
    SendMessageParams::of(Message::text(fresh, Role::User, "Hello"))
}

fn more(behaviour: &str, task: &Task) -> SendMessageParams {
    let mut params = message(behaviour);
    params.message.task_id = Some(task.id.clone());
    params.message.context_id.clone_from(&task.context_id);
    params
}

async fn within<T>(step: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(STEP, work).await.unwrap_or_else(|_| panic!("{step}: no end within {STEP:?}"))
}

async fn sent(agent: &Agent, params: SendMessageParams) -> Task {
    match within("send", agent.send_message(params)).await.unwrap() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("a message, not a task: {message:?}"),
    }
}

fn refused<T: std::fmt::Debug>(got: Result<T, CallError>) -> Option<ErrorCode> {
    match got {
        Err(CallError::Refused(error)) => error.known(),
        other => panic!("not refused: {other:?}"),
    }
}

/// The first part of the first artifact.
fn content(task: &Task) -> &PartContent {
    &task.artifacts.as_ref().unwrap()[0].parts[0].content
}

fn check(name: &str, sdk: Result<Sdk, &'static str>, binding: Binding) {
    let sdk = match sdk {
        Ok(sdk) => sdk,
        Err(why) => return println!("SKIPPED: {name}: {why}"),
    };
    let server = serve(&sdk);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let outbound = Outbound::new("0.0.0");
        let options = AgentOptions { binding: Some(binding), ..AgentOptions::default() };
        let agent = outbound.agent(&peer(&server), "/", options, Duration::ZERO).await.unwrap();
        assert_eq!(agent.binding(), binding);
        results(&agent).await;
        lives(&agent, &sdk).await;
        streams(&agent).await;
        refusals(&agent).await;
    });
}

/// What a send gives.
async fn results(agent: &Agent) {
    let done = sent(agent, message("tck-complete-task")).await;
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.status.message.unwrap().joined_text(), "Hello from TCK");
    let text = sent(agent, message("tck-artifact-text")).await;
    assert_eq!(content(&text), &PartContent::Text("Generated text content".into()));
    let file = sent(agent, message("tck-artifact-file")).await;
    assert!(matches!(content(&file), PartContent::Raw(bytes) if !bytes.is_empty()), "{file:?}");
    let address = sent(agent, message("tck-artifact-file-url")).await;
    assert_eq!(content(&address), &PartContent::Url("https://example.com/output.txt".into()));
    let data = sent(agent, message("tck-artifact-data")).await;
    let PartContent::Data(value) = content(&data) else { panic!("{data:?}") };
    assert_eq!((&value["key"], value["count"].as_f64()), (&json!("value"), Some(42.0)));
    match within("direct", agent.send_message(message("tck-message-response"))).await.unwrap() {
        SendMessageResponse::Message(message) => assert_eq!(message.joined_text(), "Direct message response"),
        SendMessageResponse::Task(task) => panic!("a task, not a message: {task:?}"),
    }
}

/// What becomes of a task: more on it, its history, lists, its cancelling.
async fn lives(agent: &Agent, sdk: &Sdk) {
    let asks = sent(agent, message("tck-input-required")).await;
    assert_eq!(asks.status.state, TaskState::InputRequired);
    let done = sent(agent, more("tck-complete-task", &asks)).await;
    assert_eq!((&done.id, done.status.state), (&asks.id, TaskState::Completed));

    let get = |length| GetTaskParams { history_length: length, ..GetTaskParams::from(done.id.as_str()) };
    let history = |task: Task| task.history.map_or(0, |history| history.len());
    assert_eq!(history(within("get", agent.get_task(get(Some(0)))).await.unwrap()), 0);
    assert_eq!(history(within("get", agent.get_task(get(Some(1)))).await.unwrap()), 1);
    assert!(history(within("get", agent.get_task(get(None))).await.unwrap()) >= 2);

    let list = |token| ListTasksParams {
        context_id: done.context_id.clone(),
        page_size: Some(1),
        page_token: token,
        ..ListTasksParams::default()
    };
    let mut params = message("tck-complete-task");
    params.message.context_id.clone_from(&done.context_id);
    sent(agent, params).await;
    let first = within("list", agent.list_tasks(list(None))).await.unwrap();
    assert_eq!((first.tasks.len(), first.total_size), (1, 2));
    let second = within("list", agent.list_tasks(list(Some(first.next_page_token)))).await.unwrap();
    assert_eq!((second.tasks.len(), second.next_page_token.as_str()), (1, ""));
    assert_ne!(first.tasks[0].id, second.tasks[0].id);

    let asks = sent(agent, message("tck-input-required")).await;
    let cancelled = within("cancel", agent.cancel_task(TaskIdParams::from(asks.id.as_str()))).await.unwrap();
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    let again = within("cancel", agent.cancel_task(TaskIdParams::from(done.id.as_str()))).await;
    assert_eq!(refused(again), Some(ErrorCode::TaskNotCancelable), "{}", sdk.name);
}

async fn streams(agent: &Agent) {
    let mut stream = within("stream", agent.send_streaming_message(message("tck-stream-001"))).await.unwrap();
    let (mut seen, mut id) = (Vec::new(), String::new());
    while let Some(event) = within("stream", stream.next()).await.unwrap() {
        seen.push(match event {
            StreamResponse::Task(task) => {
                id = task.id;
                "task"
            }
            StreamResponse::ArtifactUpdate(_) => "artifact",
            StreamResponse::StatusUpdate(update) => update.status.state.word(),
            StreamResponse::Message(_) => "message",
        });
    }
    assert_eq!(seen, ["task", "working", "artifact", "completed"]);
    assert!(!id.is_empty());

    // Two pieces of one artifact are one, and what was followed is what is kept.
    let mut chunked = within("follow", agent.send_and_follow(message("tck-stream-artifact-chunked"))).await.unwrap();
    while within("follow", chunked.next()).await.unwrap().is_some() {}
    let folded = chunked.task().unwrap().clone();
    let kept = within("get", agent.get_task(GetTaskParams::from(folded.id.as_str()))).await.unwrap();
    assert_eq!((folded.status.state, &folded.artifacts), (TaskState::Completed, &kept.artifacts));
    let parts = &folded.artifacts.unwrap()[0].parts;
    assert_eq!(parts.iter().filter_map(|part| part.as_text()).collect::<String>(), "chunk-1 chunk-2");

    // Somebody who comes later hears the rest, and the end from the side.
    let asks = sent(agent, message("tck-input-required")).await;
    let mut later = within("subscribe", agent.subscribe_to_task(TaskIdParams::from(asks.id.as_str()))).await.unwrap();
    let first = within("subscribe", later.next()).await.unwrap();
    assert!(matches!(first, Some(StreamResponse::Task(task)) if task.id == asks.id));
    sent(agent, more("tck-complete-task", &asks)).await;
    let mut last = None;
    while let Some(event) = within("subscribe", later.next()).await.unwrap() {
        if let StreamResponse::StatusUpdate(update) = event {
            last = Some(update.status.state);
        }
    }
    assert_eq!(last, Some(TaskState::Completed));

    // One that was not waited for is followed to its end.
    let mut params = message("test-resubscribe-message-id");
    params.configuration = SendConfiguration { return_immediately: Some(true), ..SendConfiguration::default() };
    let begun = sent(agent, params).await;
    assert!(!begun.status.state.is_terminal(), "{:?}", begun.status);
    let mut followed = agent.follow(&begun.id);
    while within("follow", followed.next()).await.unwrap().is_some() {}
    assert_eq!(followed.task().unwrap().status.state, TaskState::Completed);
}

async fn refusals(agent: &Agent) {
    let unknown = within("get", agent.get_task(GetTaskParams::from("nobody-s"))).await;
    assert_eq!(refused(unknown), Some(ErrorCode::TaskNotFound));
    let mut params = message("tck-complete-task");
    params.message.task_id = Some("nobody-s".into());
    assert_eq!(refused(within("send", agent.send_message(params)).await), Some(ErrorCode::TaskNotFound));
    // The card says that it does not push: nothing is sent.
    let push = shrooms_a2a::types::PushConfigParams { task_id: "t".into(), ..Default::default() };
    let listed = within("push", agent.list_push_configs(&push)).await;
    assert_eq!(refused(listed), Some(ErrorCode::PushNotificationNotSupported));
}

#[test]
fn our_client_at_the_python_server_over_json_rpc() {
    check("our_client_at_the_python_server_over_json_rpc", sdk::python(), Binding::JsonRpc);
}

#[test]
fn our_client_at_the_python_server_over_http_json() {
    check("our_client_at_the_python_server_over_http_json", sdk::python(), Binding::HttpJson);
}

#[test]
fn our_client_at_the_javascript_server_over_json_rpc() {
    check("our_client_at_the_javascript_server_over_json_rpc", sdk::node(), Binding::JsonRpc);
}

#[test]
fn our_client_at_the_javascript_server_over_http_json() {
    check("our_client_at_the_javascript_server_over_http_json", sdk::node(), Binding::HttpJson);
}
