//! Every operation on both bindings, and every way in which an answer can be none.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

mod support;

use serde_json::{Value, json};
use shrooms_a2a::types::{
    GetTaskParams, ListTasksParams, PushConfigParams, SendMessageParams, TaskIdParams, TaskPushNotificationConfig,
};
use shrooms_a2a::{ErrorCode, Message, Method, Operation, Role, SendMessageResponse, jsonrpc, rest};
use shrooms_outbound::{Agent, AgentOptions, BODY_MAX, Binding, CallError, Outbound};
use support::agent::{NOW, card, json_answer, options, peer, refusal, result, start, start_with, task};
use support::{Act, Seen, answer};

const BOTH: [Binding; 2] = [Binding::JsonRpc, Binding::HttpJson];

fn message() -> SendMessageParams {
    SendMessageParams::of(Message::text("m-1", Role::User, "hi"))
}

fn config() -> PushConfigParams {
    PushConfigParams { task_id: "a:b".into(), id: Some("c".into()), ..PushConfigParams::default() }
}

/// The operation that a request asks for, read by the server's half of the wire.
fn asked(binding: Binding, seen: &Seen) -> Operation {
    let (verb, target) = seen.head.lines().next().unwrap().rsplit_once(' ').unwrap().0.split_once(' ').unwrap();
    assert!(seen.head.contains("\r\na2a-version: 1.0\r\n"), "{}", seen.head);
    match binding {
        Binding::JsonRpc => {
            assert_eq!((verb, target), ("post", "/a2a/review"));
            let request = jsonrpc::Request::parse(seen.body.as_bytes()).unwrap();
            Operation::decode(Method::parse(&request.method).unwrap(), request.params).unwrap()
        }
        Binding::HttpJson => {
            let target =
                target.strip_prefix("/a2a/review").unwrap().replace("notificationconfigs", "NotificationConfigs");
            let target = target.replace("/extendedagentcard", "/extendedAgentCard").replace("pagesize", "pageSize");
            let (path, query) =
                target.split_once('?').map_or((target.as_str(), None), |(path, query)| (path, Some(query)));
            rest::parse(&verb.to_uppercase(), path, query, seen.body.as_bytes()).unwrap()
        }
    }
}

#[tokio::test]
async fn every_operation_is_asked_and_answered_on_both_bindings() {
    let one =
        || TaskPushNotificationConfig { task_id: Some("a:b".into()), url: "http://x".into(), ..Default::default() };
    for binding in BOTH {
        let of = |value: Value| result(binding, &value);
        let settings = json!({"id": "c", "taskId": "a:b", "url": "http://x"});
        let (agent, server) = start(
            binding,
            vec![
                of(json!({"task": task("WORKING")})),
                of(json!({"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "yo"}]}})),
                of(task("WORKING")),
                of(json!({"tasks": [task("WORKING")], "nextPageToken": "", "pageSize": 5, "totalSize": 1})),
                of(task("CANCELED")),
                of(json!({"task": task("COMPLETED")})),
                of(settings.clone()),
                of(settings.clone()),
                of(json!({"configs": [settings], "nextPageToken": ""})),
                of(json!({})),
                of(card(1, binding)),
            ],
        )
        .await;
        assert_eq!(agent.binding(), binding);
        assert!(matches!(agent.send_message(message()).await, Ok(SendMessageResponse::Task(task)) if task.id == "t"));
        assert!(matches!(agent.send_message(message()).await, Ok(SendMessageResponse::Message(_))));
        assert_eq!(agent.get_task("t".into()).await.unwrap().id, "t");
        let listed = ListTasksParams { page_size: Some(5), ..ListTasksParams::default() };
        assert_eq!(agent.list_tasks(listed).await.unwrap().total_size, 1);
        assert_eq!(agent.cancel_task("t".into()).await.unwrap().id, "t");
        // Wrapped, as the original shrooms has it.
        assert_eq!(agent.ack_task("t".into()).await.unwrap().id, "t");
        assert_eq!(agent.create_push_config(&one()).await.unwrap().id.as_deref(), Some("c"));
        assert_eq!(agent.get_push_config(&config()).await.unwrap().url, "http://x");
        assert_eq!(agent.list_push_configs(&config()).await.unwrap().configs.len(), 1);
        agent.delete_push_config(&config()).await.unwrap();
        assert_eq!(agent.get_extended_agent_card().await.unwrap().name, "homeserver/review");
        let methods: Vec<Method> = server.seen()[1..].iter().map(|seen| asked(binding, seen).method()).collect();
        use Method::*;
        assert_eq!(
            methods,
            [
                SendMessage,
                SendMessage,
                GetTask,
                ListTasks,
                CancelTask,
                AckTask,
                CreateTaskPushNotificationConfig,
                GetTaskPushNotificationConfig,
                ListTaskPushNotificationConfigs,
                DeleteTaskPushNotificationConfig,
                GetExtendedAgentCard,
            ]
        );
    }
}

#[tokio::test]
async fn tenant_and_extensions_go_with_every_request() {
    for binding in BOTH {
        let with_tenant = |port, first| {
            let mut card = card(port, first);
            card["supportedInterfaces"][0]["tenant"] = json!("acme");
            card["supportedInterfaces"][1]["tenant"] = json!("acme");
            card["capabilities"]["extensions"] = json!([{"uri": "urn:must", "required": true}]);
            card
        };
        let options = AgentOptions {
            extensions: vec!["urn:want".into()],
            known_extensions: vec!["urn:must".into(), "urn:other".into()],
            ..options(binding)
        };
        let acts = vec![result(binding, &task("WORKING")), result(binding, &card(1, binding))];
        let (agent, server) = start_with(options, with_tenant, acts).await;
        let params = GetTaskParams { tenant: Some("claimed".into()), ..GetTaskParams::from("t") };
        agent.get_task(params).await.unwrap();
        agent.get_extended_agent_card().await.unwrap();
        for seen in &server.seen()[1..] {
            assert!(seen.head.contains("\r\na2a-extensions: urn:want, urn:must\r\n"), "{}", seen.head);
            match binding {
                Binding::JsonRpc => assert!(seen.body.contains(r#""tenant":"acme""#), "{}", seen.body),
                Binding::HttpJson => assert!(seen.head.starts_with("get /a2a/review/acme/"), "{}", seen.head),
            }
            assert!(!seen.body.contains("claimed") && !seen.head.contains("claimed"));
        }
    }
}

#[tokio::test]
async fn a_refusal_is_the_same_on_both_bindings() {
    for code in ErrorCode::all() {
        let mut got = Vec::new();
        for binding in BOTH {
            let (agent, _server) = start(binding, vec![refusal(binding, code)]).await;
            let Err(CallError::Refused(error)) = agent.get_task("t".into()).await else { panic!("{code:?}") };
            assert_eq!(error.known(), Some(code));
            got.push(error);
        }
        assert_eq!(got[0], got[1]);
    }
}

/// What comes of GetTask under this answer.
async fn got(binding: Binding, act: Act) -> Result<String, CallError> {
    let (agent, _server) = start(binding, vec![act]).await;
    agent.get_task("t".into()).await.map(|task| task.id)
}

#[tokio::test]
async fn what_is_no_answer_is_unsure_and_what_is_no_agent_shows_its_status() {
    let huge = format!("{{\"id\": \"{}\"}}", "x".repeat(BODY_MAX));
    for binding in BOTH {
        let mut other = task("WORKING");
        other["id"] = json!("u");
        for act in [
            Act::Close,
            Act::ReadAndClose,
            Act::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\"".to_vec()),
            answer("200 OK", "text/html", "<html>"),
            answer("200 OK", "application/json", &huge),
            result(binding, &json!({"id": "t"})),
            // Another task than the one that was asked for.
            result(binding, &other),
        ] {
            let got = got(binding, act).await;
            assert!(matches!(&got, Err(CallError::Unsure(why)) if why.starts_with("homeserver")), "{binding} {got:?}");
        }
        for (status, page) in [("502 Bad Gateway", "<html>bad gateway"), ("404 Not Found", "nothing here")] {
            let got = got(binding, answer(status, "text/html", page)).await;
            let expected = CallError::Http { status: status[..3].parse().unwrap(), detail: page.into() };
            assert_eq!(got, Err(expected));
        }
    }
    // The answer to another call.
    let stray = json!({"jsonrpc": "2.0", "id": 2, "result": task("WORKING")});
    let got = got(Binding::JsonRpc, json_answer("200 OK", &stray)).await;
    assert!(matches!(&got, Err(CallError::Unsure(why)) if why.contains("its id is not the call's")), "{got:?}");
}

#[tokio::test]
async fn a_body_whose_type_is_refused_goes_once_more_as_plain_json() {
    let refused = || answer("415 Unsupported Media Type", "text/html", "<html>");
    let (rest, message) = (Binding::HttpJson, message());
    let acts = vec![refused(), result(rest, &json!({"task": task("WORKING")})), refused(), refused()];
    let (agent, server) = start(rest, acts).await;
    assert!(agent.send_message(message.clone()).await.is_ok());
    assert!(matches!(agent.send_streaming_message(message.clone()).await, Err(CallError::Http { status: 415, .. })));
    let seen = server.seen();
    let types = |seen: &Seen| seen.head.lines().find(|line| line.starts_with("content-type")).unwrap().to_owned();
    let (new, plain) = ("content-type: application/a2a+json", "content-type: application/json");
    assert_eq!(seen[1..].iter().map(types).collect::<Vec<_>>(), [new, plain, new, plain]);
    // The agent's own word on a part of the message.
    let (agent, server) = start(rest, vec![refusal(rest, ErrorCode::ContentTypeNotSupported)]).await;
    assert!(matches!(agent.send_message(message).await, Err(CallError::Refused(_))));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn an_agent_that_is_gone_is_away() {
    let (agent, _server) = start(Binding::JsonRpc, Vec::new()).await;
    // The server closes what comes after its last act: connected, and no answer.
    assert!(matches!(agent.get_task("t".into()).await, Err(CallError::Unsure(_))));
    // Nothing listens at the first port of all.
    let got = Outbound::new("0.1.0").agent(&peer(1), "/", AgentOptions::default(), NOW).await;
    assert!(matches!(&got, Err(CallError::Away(_))), "{got:?}");
}

/// Every optional operation of an agent whose card offers nothing.
async fn refused_here(agent: &Agent) -> Vec<(&'static str, Option<ErrorCode>)> {
    fn code<T>(got: Result<T, CallError>) -> Option<ErrorCode> {
        match got {
            Err(CallError::Refused(error)) => error.known(),
            _ => None,
        }
    }
    let mut pushing = message();
    pushing.configuration.task_push_notification_config = Some(json!({"url": "http://x"}));
    let config = config();
    let one = TaskPushNotificationConfig { task_id: Some("t".into()), url: "u".into(), ..Default::default() };
    vec![
        ("stream", code(agent.send_streaming_message(message()).await)),
        ("follow", code(agent.send_and_follow(message()).await)),
        ("subscribe", code(agent.subscribe_to_task("t".into()).await)),
        ("ack", code(agent.ack_task("t".into()).await)),
        ("card", code(agent.get_extended_agent_card().await)),
        ("inline", code(agent.send_message(pushing).await)),
        ("create", code(agent.create_push_config(&one).await)),
        ("get", code(agent.get_push_config(&config).await)),
        ("list", code(agent.list_push_configs(&config).await)),
        ("delete", code(agent.delete_push_config(&config).await)),
    ]
}

#[tokio::test]
async fn what_the_card_does_not_offer_is_refused_without_a_call() {
    let (unsupported, push) = (ErrorCode::UnsupportedOperation, ErrorCode::PushNotificationNotSupported);
    for binding in BOTH {
        let nothing = |port, first| {
            let mut card = card(port, first);
            card["capabilities"] = json!({});
            card
        };
        let (agent, server) = start_with(options(binding), nothing, Vec::new()).await;
        for (what, got) in refused_here(&agent).await {
            let is_push = ["inline", "create", "get", "list", "delete"].contains(&what);
            assert_eq!(got, Some(if is_push { push } else { unsupported }), "{what}");
        }
        assert_eq!(server.seen().len(), 1, "only the card was asked for");
    }
}

#[tokio::test]
async fn an_id_cannot_be_taken_for_another_path() {
    let (agent, server) = start(Binding::HttpJson, vec![answer("404 Not Found", "", "")]).await;
    for id in ["", ".", ".."] {
        let got = agent.cancel_task(TaskIdParams::from(id)).await;
        assert!(matches!(&got, Err(CallError::Refused(error)) if error.known() == Some(ErrorCode::InvalidParams)));
    }
    assert_eq!(server.seen().len(), 1);
    let _ = agent.cancel_task("a/../b:cancel".into()).await;
    let head = &server.seen()[1].head;
    assert!(head.starts_with("post /a2a/review/tasks/a%2f..%2fb%3acancel:cancel http/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn the_extended_card_can_take_the_cards_place() {
    let (agent, _server) = start(Binding::JsonRpc, Vec::new()).await;
    let mut extended = agent.card().clone();
    extended.description = "for you".into();
    let again = agent.with_card(extended.clone()).unwrap();
    assert_eq!((again.card().description.as_str(), again.binding()), ("for you", Binding::JsonRpc));
    extended.supported_interfaces[0].url = "http://192.0.2.1/".into();
    assert!(matches!(agent.with_card(extended), Err(CallError::Refused(_))));
}
