//! A client of A2A without any library: what goes out is written here, and what comes back is held
//! against the binding's rules before a test sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use serde_json::{Map, Value, json};

use crate::http::{self, Answer};
use crate::lab::SOON;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    HttpJson,
}
pub use Binding::{HttpJson, JsonRpc};

pub const BOTH: [Binding; 2] = [JsonRpc, HttpJson];

/// The id of a call, if a test has no other.
const CALL: &str = "call-1";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// One request, as it is written.
#[derive(Clone, Debug)]
pub struct Asked {
    pub verb: &'static str,
    /// Path and query, raw.
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Asked {
    pub fn new(verb: &'static str, target: impl Into<String>, body: impl Into<String>) -> Asked {
        Asked { verb, target: target.into(), headers: Vec::new(), body: body.into() }
    }

    /// Sets a header, in place of one of that name.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Asked {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name, value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Asked {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// As it goes out, with `last` among its headers.
    pub fn bytes(&self, host: &str, last: &str) -> String {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.verb, self.target);
        if !self.headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() || self.verb == "POST" {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        format!("{text}{last}\r\n{}", self.body)
    }
}

/// An address where A2A is spoken.
#[derive(Clone, Debug)]
pub struct Agent {
    pub from: IpAddr,
    pub to: SocketAddr,
    /// Where its endpoint is: `/a2a/NAME`.
    pub path: String,
    /// Calls of JSON-RPC go to the endpoint with a slash behind it, and bodies of HTTP+JSON are
    /// called `application/json`: so does the kit.
    pub like_the_kit: bool,
}

/// What was refused, as far as the two bindings say the same of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Of JSON-RPC its code, of HTTP+JSON the status.
    pub code: i64,
    pub reason: String,
    pub metadata: Value,
    /// Fields that are wrong.
    pub fields: Vec<String>,
    pub message: String,
}

/// One answer.
#[derive(Debug)]
pub struct Reply {
    pub answer: Answer,
    pub said: Result<Value, Fault>,
}

impl Reply {
    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.answer.head, name)
    }

    #[track_caller]
    pub fn good(self) -> Value {
        match self.said {
            Ok(result) => result,
            Err(fault) => panic!("refused: {fault:?}"),
        }
    }

    #[track_caller]
    pub fn fault(self) -> Fault {
        match self.said {
            Ok(result) => panic!("not refused: {result}"),
            Err(fault) => fault,
        }
    }
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

impl Agent {
    /// A request of this method, as the binding has it.
    pub fn asked(&self, binding: Binding, method: &str, params: &Value) -> Asked {
        match binding {
            JsonRpc => {
                let slash = if self.like_the_kit { "/" } else { "" };
                let body = json!({"jsonrpc": "2.0", "id": CALL, "method": method, "params": params});
                Asked::new("POST", format!("{}{slash}", self.path), body.to_string())
                    .header("A2A-Version", "1.0")
                    .header("Content-Type", "application/json")
            }
            HttpJson => {
                let (verb, below, params) = rest(method, params);
                let asked = match verb {
                    "POST" => {
                        let kind = if self.like_the_kit { "application/json" } else { "application/a2a+json" };
                        let body = if params.is_empty() { String::new() } else { Value::Object(params).to_string() };
                        Asked::new("POST", format!("{}{below}", self.path), body).header("Content-Type", kind)
                    }
                    verb => Asked::new(verb, format!("{}{below}{}", self.path, query(&params)), ""),
                };
                asked.header("A2A-Version", "1.0")
            }
        }
    }

    /// Exactly this, and what came back.
    pub fn exchange(&self, asked: &Asked) -> Answer {
        http::raw(self.from, self.to, &asked.bytes(&self.to.to_string(), "Connection: close\r\n"))
    }

    /// Exactly this, and the answer as this binding must give it.
    #[track_caller]
    pub fn put(&self, binding: Binding, asked: &Asked) -> Reply {
        read(binding, self.exchange(asked), &json!(CALL))
    }

    #[track_caller]
    pub fn ask(&self, binding: Binding, method: &str, params: &Value) -> Reply {
        self.put(binding, &self.asked(binding, method, params))
    }

    /// Asks for what is given.
    #[track_caller]
    pub fn good(&self, binding: Binding, method: &str, params: &Value) -> Value {
        self.ask(binding, method, params).good()
    }

    #[track_caller]
    pub fn fault(&self, binding: Binding, method: &str, params: &Value) -> Fault {
        self.ask(binding, method, params).fault()
    }

    /// Sends a message and gives the task.
    #[track_caller]
    pub fn task(&self, binding: Binding, params: &Value) -> Value {
        let sent = self.good(binding, "SendMessage", params);
        assert!(sent["task"].is_object(), "{binding:?}: no task: {sent}");
        sent["task"].clone()
    }

    #[track_caller]
    pub fn get(&self, binding: Binding, task: &Value) -> Value {
        self.good(binding, "GetTask", &json!({"id": task["id"]}))
    }

    /// Opens a stream; what is refused is a plain answer.
    #[track_caller]
    pub fn open(&self, binding: Binding, method: &str, params: &Value) -> Result<Stream, Fault> {
        self.open_with(binding, &self.asked(binding, method, params))
    }

    #[track_caller]
    pub fn open_with(&self, binding: Binding, asked: &Asked) -> Result<Stream, Fault> {
        let mut to = http::connect(self.from, self.to).unwrap();
        to.set_read_timeout(Some(SOON)).unwrap();
        to.write_all(asked.clone().header("Accept", "text/event-stream").bytes(&self.to.to_string(), "").as_bytes())
            .unwrap();
        let mut stream = Stream::new(binding, to);
        if header(&stream.head, "content-type") == Some("text/event-stream") {
            assert!(stream.head.starts_with("HTTP/1.1 200 "), "{}", stream.head);
            return Ok(stream);
        }
        let mut body = String::new();
        stream.from.read_to_string(&mut body).unwrap();
        let status = stream.head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let reply = read(binding, Answer { status, head: stream.head, body }, &json!(CALL));
        Err(reply.fault())
    }

    /// A stream that opens.
    #[track_caller]
    pub fn stream(&self, binding: Binding, method: &str, params: &Value) -> Stream {
        self.open(binding, method, params).unwrap_or_else(|fault| panic!("{binding:?} {method}: {fault:?}"))
    }

    #[track_caller]
    pub fn subscribe(&self, binding: Binding, task: &Value) -> Stream {
        self.stream(binding, "SubscribeToTask", &json!({"id": task["id"]}))
    }
}

/// Params of a message that is one text.
pub fn message(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The same, on a task.
pub fn follow_up(id: &str, text: &str, task: &Value) -> Value {
    let mut params = message(id, text);
    params["message"]["taskId"] = task["id"].clone();
    params
}

/// The state of a task, or of an update of its status, in one word.
pub fn state(of: &Value) -> &str {
    of["status"]["state"].as_str().unwrap_or("?").trim_start_matches("TASK_STATE_")
}

/// Verb and path of a method, and the params that go into query or body.
fn rest(method: &str, params: &Value) -> (&'static str, String, Map<String, Value>) {
    let mut params = params.as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| http::segment(params.remove(name).unwrap_or_default().as_str().unwrap_or(""));
    let configs = |task: String| format!("/tasks/{task}/pushNotificationConfigs");
    let (verb, path) = match method {
        "SendMessage" => ("POST", "/message:send".to_string()),
        "SendStreamingMessage" => ("POST", "/message:stream".to_string()),
        "GetTask" => ("GET", format!("/tasks/{}", take("id"))),
        "ListTasks" => ("GET", "/tasks".to_string()),
        "CancelTask" => ("POST", format!("/tasks/{}:cancel", take("id"))),
        "SubscribeToTask" => ("POST", format!("/tasks/{}:subscribe", take("id"))),
        "AckTask" => ("POST", format!("/tasks/{}:ack", take("id"))),
        "CreateTaskPushNotificationConfig" => ("POST", configs(take("taskId"))),
        "ListTaskPushNotificationConfigs" => ("GET", configs(take("taskId"))),
        "GetTaskPushNotificationConfig" => ("GET", format!("{}/{}", configs(take("taskId")), take("id"))),
        "DeleteTaskPushNotificationConfig" => ("DELETE", format!("{}/{}", configs(take("taskId")), take("id"))),
        "GetExtendedAgentCard" => ("GET", "/extendedAgentCard".to_string()),
        other => panic!("no path for {other}"),
    };
    (verb, path, params)
}

fn query(params: &Map<String, Value>) -> String {
    let pairs: Vec<String> = params
        .iter()
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            format!("{name}={}", http::segment(&text))
        })
        .collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// An answer by its binding's rules; `id` is that of the call.
#[track_caller]
pub fn read(binding: Binding, answer: Answer, id: &Value) -> Reply {
    let kind = header(&answer.head, "content-type").unwrap_or_else(|| panic!("no content type: {answer:?}"));
    let known = match binding {
        JsonRpc => kind == "application/json",
        HttpJson => matches!(kind, "application/json" | "application/a2a+json"),
    };
    assert!(known, "{answer:?}");
    let body = answer.json();
    let said = said(binding, answer.status, &body, id);
    if said.is_err() {
        // Whoever cannot read the newer type reads what is refused.
        assert_eq!(kind, "application/json", "{answer:?}");
    }
    Reply { answer, said }
}

#[track_caller]
fn said(binding: Binding, status: u16, body: &Value, id: &Value) -> Result<Value, Fault> {
    let keys =
        |of: &Value| of.as_object().unwrap_or_else(|| panic!("no object: {body}")).keys().cloned().collect::<Vec<_>>();
    match binding {
        JsonRpc => {
            assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), id), "{body}");
            match body.get("error") {
                None => {
                    assert_eq!((keys(body).len(), status), (3, 200), "{body}");
                    Ok(body["result"].clone())
                }
                Some(error) => {
                    assert_eq!(
                        (keys(body).len(), keys(error)),
                        (3, vec!["code".into(), "data".into(), "message".into()])
                    );
                    Err(fault(error, error["code"].as_i64().unwrap(), &error["data"]))
                }
            }
        }
        HttpJson if status < 400 => {
            assert_eq!(status, 200, "{body}");
            Ok(body.clone())
        }
        HttpJson => {
            let error = &body["error"];
            assert_eq!(keys(body), ["error"]);
            assert_eq!(keys(error), ["code", "details", "message", "status"], "{body}");
            assert_eq!(error["code"], status, "{body}");
            assert!(error["status"].as_str().is_some_and(|s| s.chars().all(|c| c.is_ascii_uppercase() || c == '_')));
            Err(fault(error, status.into(), &error["details"]))
        }
    }
}

/// What stands in an error, which always has an ErrorInfo, as the first of its details.
#[track_caller]
fn fault(error: &Value, code: i64, details: &Value) -> Fault {
    let details = details.as_array().unwrap_or_else(|| panic!("details are a list: {error}"));
    let info = details.first().unwrap_or_else(|| panic!("no details: {error}"));
    assert_eq!(info["@type"], ERROR_INFO, "{error}");
    let reason = info["reason"].as_str().unwrap().to_string();
    assert!(matches!(info["domain"].as_str(), Some("a2a-protocol.org" | "shrooms-agent")), "{error}");
    assert!(info["metadata"].as_object().unwrap().values().all(Value::is_string), "{error}");
    let mut fields = Vec::new();
    for detail in &details[1..] {
        assert_eq!(detail["@type"], BAD_REQUEST, "{error}");
        for violation in detail["fieldViolations"].as_array().unwrap() {
            assert!(!violation["description"].as_str().unwrap().is_empty(), "{error}");
            fields.push(violation["field"].as_str().unwrap().to_string());
        }
    }
    let message = error["message"].as_str().unwrap().to_string();
    assert!(!message.is_empty(), "{error}");
    Fault { code, reason, metadata: info["metadata"].clone(), fields, message }
}

/// A stream of events.
pub struct Stream {
    binding: Binding,
    pub head: String,
    from: BufReader<Body>,
    /// Comments that came between.
    pub comments: usize,
}

impl Stream {
    fn new(binding: Binding, to: TcpStream) -> Stream {
        let mut from = BufReader::new(to);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(from.read_line(&mut head).unwrap() > 0, "no answer: {head}");
        }
        let chunked = header(&head, "transfer-encoding") == Some("chunked");
        let left = match header(&head, "content-length") {
            Some(length) => Left::Bytes(length.parse().unwrap()),
            None if chunked => Left::Chunk(0),
            None => Left::All,
        };
        Stream { binding, head, from: BufReader::new(Body { from, left }), comments: 0 }
    }

    /// One line; `None` at the stream's good end.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).unwrap_or_else(|e| panic!("the stream breaks: {e}"));
        (read > 0).then(|| line.trim_end_matches('\n').to_string())
    }

    /// The next comment or event; an event's data is one whole JSON value on one line.
    pub fn next(&mut self) -> Option<Result<Value, String>> {
        loop {
            let line = self.line()?;
            if let Some(data) = line.strip_prefix("data: ") {
                assert_eq!(self.line().as_deref(), Some(""), "a blank line ends each event");
                let data: Value = serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {data}"));
                let event = said(self.binding, 200, &data, &json!(CALL));
                return Some(Ok(event.unwrap_or_else(|fault| panic!("the stream says {fault:?}"))));
            }
            if let Some(comment) = line.strip_prefix(':') {
                self.comments += 1;
                return Some(Err(comment.trim().to_string()));
            }
            assert_eq!(line, "", "neither data nor a comment");
        }
    }

    /// The next event.
    pub fn event(&mut self) -> Option<Value> {
        loop {
            match self.next()? {
                Ok(event) => return Some(event),
                Err(_) => continue,
            }
        }
    }

    /// The events to its end.
    pub fn rest(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.event()).collect()
    }
}

/// What is left of a body.
enum Left {
    All,
    Bytes(usize),
    /// So much of this piece.
    Chunk(usize),
}

/// A body without its framing.
struct Body {
    from: BufReader<TcpStream>,
    left: Left,
}

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if let Left::Chunk(0) = self.left {
            let mut size = String::new();
            // The end of the piece before is a line of its own.
            while size.trim().is_empty() {
                size.clear();
                if self.from.read_line(&mut size)? == 0 {
                    return Err(std::io::Error::other("cut off"));
                }
            }
            match usize::from_str_radix(size.trim(), 16).map_err(std::io::Error::other)? {
                0 => self.left = Left::Bytes(0),
                size => self.left = Left::Chunk(size),
            }
        }
        let (Left::Bytes(left) | Left::Chunk(left)) = &mut self.left else { return self.from.read(into) };
        let most = into.len().min(*left);
        let read = if most == 0 { 0 } else { self.from.read(&mut into[..most])? };
        if read == 0 && most > 0 {
            return Err(std::io::Error::other("cut off"));
        }
        *left -= read;
        Ok(read)
    }
}
