//! The real Claude Code under a launcher, with the mock model behind it, all on loopback and at home
//! in a directory of the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "the mock model is a plain process of the test")]

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;
use shrooms_runner::claude::{self, Claude, ClaudeSpec, Conversation, Landed, PermissionMode};
use shrooms_runner::codec::{Codec, Event, State, TurnEnd};
use shrooms_runner::{Input, Run, RunEvent, RunSpec};

use super::support::{LONG, Place, Told, to_the_end};

/// The real program and the mock model's, as the suite names them; from the workspace's root.
const PROGRAM: &str = "SHROOMS_CLAUDE";
const MOCK: &str = "SHROOMS_MOCK_MODEL";

/// What would lead away from loopback, or to somebody's account.
const NOT_HERE: [&str; 9] = [
    "ALL_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
];

/// One for each message of a test.
pub fn id(n: u32) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

pub struct Lab {
    pub place: Place,
    program: String,
    model: Model,
    runs: Cell<u32>,
}

/// The mock model; ends with its stdin.
struct Model {
    child: Child,
    _stdin: ChildStdin,
    url: String,
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn named(variable: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os(variable).ok_or(format!("{variable} is not set; cargo xtask test --suite claude"))?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    path.canonicalize().map_err(|_| format!("{variable}: no {}", path.display()))
}

impl Lab {
    /// `None`, said aloud, where something that it needs is missing.
    pub fn new(test: &str) -> Option<Self> {
        let made = named(PROGRAM).and_then(|program| Ok((program, Self::model(&named(MOCK)?)?)));
        match made {
            Ok((program, (place, model))) => {
                let program = program.to_str().unwrap().to_owned();
                Some(Self { place, program, model, runs: Cell::new(0) })
            }
            Err(why) => {
                eprintln!("SKIPPED: {test}: {why}");
                None
            }
        }
    }

    fn model(script: &Path) -> Result<(Place, Model), String> {
        let place = Place::new();
        for folder in ["home", "work"] {
            std::fs::create_dir(place.file(folder)).unwrap();
        }
        let mut child = Command::new("python3")
            .arg(script)
            .args(["--port", "0", "--exit-with-stdin", "--log"])
            .arg(place.file("requests"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("no python3: {e}"))?;
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = line.split_whitespace().last().ok_or("the mock model does not start")?.to_owned();
        Ok((place, Model { child, _stdin: stdin, url }))
    }

    pub fn config(&self) -> PathBuf {
        self.place.file("home/.claude")
    }

    pub fn landed(&self, message: u32) -> Landed {
        match claude::conversation_file(&self.config(), &id(0)).unwrap() {
            Some(file) => claude::landed(&file, &id(message)).unwrap(),
            None => Landed::No,
        }
    }

    /// The bodies of all requests to the model so far.
    pub fn requests(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.place.file("requests")).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn spec(&self, conversation: Conversation, rules: &[&str]) -> RunSpec {
        let n = self.runs.replace(self.runs.get() + 1);
        let claude = ClaudeSpec {
            program: self.program.clone(),
            conversation,
            model: Some("claude-sonnet-4-5".into()),
            append_system_prompt: Some("- appended".into()),
            mcp_config: Some(r#"{"mcpServers":{}}"#.into()),
            allowed_tools: rules.iter().map(|rule| (*rule).to_owned()).collect(),
            disallowed_tools: vec!["WebFetch".into(), "WebSearch".into()],
            permission_mode: Some(PermissionMode::Ask),
            extra: vec!["--strict-mcp-config".into()],
        };
        let home = self.place.file("home");
        let mut spec = self.place.spec("");
        spec.dir = self.place.file(&format!("run-{n}"));
        std::fs::create_dir(&spec.dir).unwrap();
        spec.mark = format!("{}{n}", self.place.mark);
        spec.program = claude::arguments(&claude).unwrap();
        spec.cwd = self.place.file("work");
        spec.stdin = Input::Stream;
        spec.grace_ms = 1_000;
        for (name, value) in [
            ("HOME", home.to_str().unwrap()),
            ("CLAUDE_CONFIG_DIR", self.config().to_str().unwrap()),
            ("ANTHROPIC_BASE_URL", &self.model.url),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("ENABLE_TOOL_SEARCH", "false"),
            ("DISABLE_AUTOUPDATER", "1"),
        ] {
            spec.env.insert(name.into(), value.into());
        }
        spec.env_remove = NOT_HERE.iter().chain(&claude::NOT_INHERITED).map(|name| (*name).to_owned()).collect();
        spec
    }

    pub async fn new_session(&self, rules: &[&str]) -> Session {
        Session::start(self.spec(Conversation::New(id(0)), rules)).await
    }

    pub async fn resumed(&self, rules: &[&str]) -> Session {
        Session::start(self.spec(Conversation::Resume(id(0)), rules)).await
    }
}

impl Lab {
    /// Without a hello: it ends before it would answer.
    pub async fn resume_in_vain(&self) -> (TurnEnd, Told) {
        let mut run = super::support::start(self.spec(Conversation::Resume(id(0)), &[])).await;
        let mut codec = Claude::new();
        run.write(codec.message(&id(9), "[[say x]]")).await.unwrap();
        let told = to_the_end(&mut run).await;
        let mut events = vec![];
        told.lines.iter().for_each(|line| codec.feed(line, &mut events));
        let end = events.into_iter().find_map(|event| if let Event::TurnEnded(end) = event { Some(end) } else { None });
        (end.unwrap(), told)
    }
}

pub struct Session {
    pub run: Run,
    pub codec: Claude,
    pub pid: i32,
    /// All that was told since it was last asked for.
    pub events: Vec<Event>,
    errors: Vec<String>,
}

impl Session {
    /// Up: it has answered.
    async fn start(spec: RunSpec) -> Self {
        let mut run = super::support::start(spec).await;
        let Some(RunEvent::Started { pid }) = run.next().await else { panic!("it does not start") };
        let mut session = Self { run, codec: Claude::new(), pid, events: vec![], errors: vec![] };
        let hello = session.codec.hello().unwrap();
        session.write(hello).await;
        session.until("it is up", |event| *event == Event::Ready).await;
        session
    }

    pub async fn write(&mut self, line: String) {
        self.run.write(line).await.unwrap();
    }

    pub async fn say(&mut self, n: u32, text: &str) {
        let line = self.codec.message(&id(n), text);
        self.write(line).await;
    }

    /// Goes on to the next event that is meant, and keeps those before it.
    pub async fn until(&mut self, what: &str, mut is_it: impl FnMut(&Event) -> bool) -> Event {
        let mut seen = 0;
        loop {
            if let Some(at) = self.events.iter().skip(seen).position(&mut is_it) {
                return self.events.drain(..=seen + at).next_back().unwrap();
            }
            seen = self.events.len();
            match tokio::time::timeout(LONG, self.run.next()).await {
                Ok(Some(RunEvent::Line(line))) => self.codec.feed(&line, &mut self.events),
                Ok(Some(RunEvent::Words { line, .. })) => self.errors.push(line),
                other => panic!("waited in vain until {what}: {other:?}\n{:#?}\n{:#?}", self.events, self.errors),
            }
        }
    }

    pub async fn until_state(&mut self, n: u32, state: State) {
        let wanted = Event::Lifecycle { id: id(n), state };
        self.until(&format!("message {n} is {state:?}"), |event| *event == wanted).await;
    }

    /// The turn's end, and all that was told before it.
    pub async fn until_end(&mut self) -> (TurnEnd, Vec<Event>) {
        let mut before = vec![];
        let end = self
            .until("the turn ends", |event| {
                before.push(event.clone());
                matches!(event, Event::TurnEnded(_))
            })
            .await;
        let Event::TurnEnded(end) = end else { unreachable!() };
        (end, before)
    }

    /// One message, its turn, and its end as the harness tells it.
    pub async fn turn(&mut self, n: u32, text: &str) -> (TurnEnd, Vec<Event>) {
        self.say(n, text).await;
        let ended = self.until_end().await;
        let state = if ended.0.ok { State::Completed } else { State::Cut };
        self.until_state(n, state).await;
        ended
    }

    pub async fn until_prompt(&mut self) -> (String, shrooms_runner::codec::Prompt) {
        match self.until("it asks", |event| matches!(event, Event::Prompt { .. })).await {
            Event::Prompt { id, prompt } => (id, prompt),
            _ => unreachable!(),
        }
    }

    pub async fn close(mut self) -> Told {
        self.run.close_input();
        to_the_end(&mut self.run).await
    }

    pub async fn kill(mut self) -> Told {
        super::support::kill(self.pid);
        to_the_end(&mut self.run).await
    }
}
