//! One machine of a lab: a daemon with a home of its own, its command line and its API.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::lab::poll;
use crate::place::{PROGRAM, SOON, Said, state};

pub struct Machine {
    pub name: String,
    pub state: PathBuf,
    /// Where its person, and so its Claude Code, is at home.
    pub home: PathBuf,
    /// Where its sessions work.
    pub work: PathBuf,
    mesh: PathBuf,
    claude: String,
    model: String,
    /// Its environment leads to a login.
    login: bool,
    child: Option<Child>,
}

impl Machine {
    pub fn new(name: &str, dir: &Path, mesh: &Path, claude: &str, model: &str) -> Machine {
        let place = |what: &str| dir.join(format!("{name}-{what}"));
        for made in [place("home"), place("work"), place("tmp")] {
            fs::create_dir(made).unwrap();
        }
        Machine {
            name: name.to_string(),
            state: dir.join(name),
            home: place("home"),
            work: place("work"),
            mesh: mesh.to_path_buf(),
            claude: claude.to_string(),
            model: model.to_string(),
            login: true,
            child: None,
        }
    }

    /// From its next start on its Claude Code is this program.
    pub fn claude(&mut self, program: &Path) {
        self.claude = program.display().to_string();
    }

    /// Whether its Claude Code will find a login, from its next start on.
    pub fn login(&mut self, there: bool) {
        self.login = there;
    }

    pub fn start(&mut self) {
        self.start_with("");
    }

    /// Starts the daemon armed with crash points, and waits until it answers.
    pub fn start_with(&mut self, crash_at: &str) {
        self.spawn(crash_at);
        poll(&format!("{} answers", self.name), || {
            assert!(!self.has_ended(), "{} ended at once: {}", self.name, self.log());
            self.get("/v1/status").status == 200
        });
    }

    /// The same without the wait. Nothing of this test's environment goes in: it leads to no account
    /// and to no host but this one.
    pub fn spawn(&mut self, crash_at: &str) {
        let log = fs::File::options().create(true).append(true).open(self.log_path()).unwrap();
        let child = Command::new(PROGRAM)
            .args(["--state".as_ref(), self.state.as_os_str(), "serve".as_ref()])
            .args(["--mesh", &format!("file:{}", self.mesh.display()), "--me", &self.name])
            .args(["--claude", &self.claude, "--stop-grace", "0.5"])
            .env_clear()
            .envs(self.person())
            .envs([("SHROOMS_AGENT_LOG", "debug"), ("SHROOMS_CRASH_AT", crash_at)])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn();
        self.child = Some(child.unwrap());
    }

    /// The environment of this machine's person.
    fn person(&self) -> Vec<(&'static str, OsString)> {
        let tmp = self.home.with_file_name(format!("{}-tmp", self.name)).into_os_string();
        let mut all = vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", self.home.clone().into_os_string()),
            ("TMPDIR", tmp.clone()),
            ("CLAUDE_CODE_TMPDIR", tmp),
            ("CLAUDE_CONFIG_DIR", self.home.join(".claude").into_os_string()),
            ("ANTHROPIC_BASE_URL", self.model.clone().into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_MAX_RETRIES", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
        ];
        all.extend(self.login.then(|| ("ANTHROPIC_API_KEY", "dummy".into())));
        all
    }

    /// The command line in a terminal of this machine's person: the programs that it runs find what
    /// theirs find.
    pub fn in_terminal(&self, args: &[&str]) -> Said {
        let output = Command::new(PROGRAM)
            .args(args)
            .current_dir("/")
            .env_clear()
            .envs(self.person())
            .env("SHROOMS_AGENT_STATE", &self.state)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        said(&output)
    }

    /// Claude Code itself, run by hand where the sessions work; what it says.
    pub fn alone(&self, args: &[&str]) -> String {
        let run =
            Command::new(&self.claude).args(args).current_dir(&self.work).env_clear().envs(self.person()).output();
        let said = said(&run.unwrap());
        assert_eq!(said.code, 0, "{said:?}");
        said.out
    }

    /// kill -9, and the wait for its end.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    pub fn pid(&self) -> i32 {
        self.child.as_ref().unwrap().id() as i32
    }

    /// Whether the daemon is not there, or has ended by itself (a crash point).
    pub fn has_ended(&mut self) -> bool {
        let ended = self.child.as_mut().is_none_or(|c| c.try_wait().unwrap().is_some());
        if ended {
            self.child = None;
        }
        ended
    }

    /// SIGTERM, and the wait for its end; its exit code.
    pub fn stop(&mut self) -> i32 {
        let mut child = self.child.take().unwrap();
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        child.wait().unwrap().code().unwrap_or(-1)
    }

    fn log_path(&self) -> PathBuf {
        self.state.with_extension("log")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// The command line of this machine's owner; it is done and says nothing of trouble.
    #[track_caller]
    pub fn good(&self, args: &[&str]) -> String {
        let said = self.cli(args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    }

    pub fn cli(&self, args: &[&str]) -> Said {
        self.cli_with(args, "")
    }

    pub fn cli_with(&self, args: &[&str], stdin: &str) -> Said {
        let mut child = Command::new(PROGRAM)
            .args(args)
            .current_dir("/")
            .env("SHROOMS_AGENT_STATE", &self.state)
            .env_remove("SHROOMS_AGENT_SESSION")
            .env_remove("SHROOMS_AGENT_PASS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        said(&child.wait_with_output().unwrap())
    }

    pub fn get(&self, path: &str) -> Answer {
        http::unix(&self.state.join("agent.sock"), "GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        http::unix(&self.state.join("agent.sock"), "POST", path, &body.to_string())
    }

    /// What is read there; null while the daemon is away.
    fn read(&self, path: &str) -> Value {
        let answer = self.get(path);
        if answer.status == 200 { answer.json() } else { Value::Null }
    }

    /// Adds a session of Claude Code by the command line.
    pub fn add(&self, name: &str) {
        self.good(&["session", "add", name, "--harness", "claude", "--dir", &self.work.display().to_string()]);
    }

    /// One that asks nobody before it uses a tool.
    pub fn add_auto(&self, name: &str) {
        let dir = self.work.display().to_string();
        self.good(&["session", "add", name, "--harness", "claude", "--auto-approve", "--dir", &dir]);
    }

    /// What the owner says to a session.
    pub fn say(&self, session: &str, text: &str) {
        self.good(&["session", "say", session, text]);
    }

    /// What the owner asks of a session of this machine, under this message id; the task's id.
    pub fn ask(&self, session: &str, id: &str, text: &str) -> String {
        self.good(&["a2a", "send", "--id", id, &format!("{}/{session}", self.name), text]);
        format!("{session}:{id}")
    }

    pub fn task(&self, id: &str) -> Value {
        let answer = self.get(&format!("/v1/tasks/{}", http::segment(id)));
        assert_eq!(answer.status, 200, "task {id}: {}", answer.body);
        answer.json()["task"].clone()
    }

    /// Waits until the task is in this state.
    pub fn until(&self, id: &str, wanted: &str) -> Value {
        poll(&format!("{id} is {wanted}"), || state(&self.task(id)) == wanted);
        self.task(id)
    }

    /// All that this machine's own asked, the newest first.
    pub fn asks(&self) -> Vec<Value> {
        self.read("/v1/asks?all=1")["asks"].as_array().cloned().unwrap_or_default()
    }

    /// The task of the only ask that holds this text, by its full reference, once it is known.
    pub fn asked(&self, text: &str) -> String {
        let find = || self.asks().iter().find(|ask| ask["text"].as_str().unwrap_or_default().contains(text)).cloned();
        poll(&format!("{text:?} was asked"), || find().is_some_and(|ask| ask["task"].is_string()));
        find().unwrap()["task"].as_str().unwrap().to_string()
    }

    pub fn session(&self, name: &str) -> Value {
        self.read(&format!("/v1/sessions/{name}"))
    }

    /// Waits until a session is in this state.
    pub fn until_session(&self, name: &str, wanted: &str) {
        poll(&format!("{name} is {wanted}"), || self.session(name)["state"] == wanted);
    }

    /// The session's log, a line each: `KIND TEXT`.
    pub fn session_log(&self, name: &str) -> Vec<String> {
        let answer = self.read(&format!("/v1/sessions/{name}/log?limit=1000"));
        let lines = answer["lines"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        lines.iter().map(|line| format!("{} {}", text(&line["kind"]), text(&line["text"]))).collect()
    }

    /// Whether something of this text has happened, as the feed of events has it.
    pub fn has_event(&self, text: &str) -> bool {
        let Ok(mut stream) = UnixStream::connect(self.state.join("agent.sock")) else { return false };
        // The feed goes on for ever: what has happened comes at once.
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        stream.write_all(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let (mut all, mut piece) = (Vec::new(), [0; 65_536]);
        while let Ok(n @ 1..) = stream.read(&mut piece) {
            all.extend_from_slice(&piece[..n]);
        }
        String::from_utf8_lossy(&all).contains(text)
    }

    /// What waits for the owner.
    pub fn prompts(&self) -> Vec<Value> {
        self.read("/v1/prompts")["prompts"].as_array().cloned().unwrap_or_default()
    }

    /// The one prompt of a session, once it is there.
    pub fn prompt(&self, session: &str) -> Value {
        let find = || self.prompts().into_iter().find(|prompt| prompt["session"] == session);
        poll(&format!("{session} asks its owner"), || find().is_some());
        find().unwrap()
    }

    /// Waits for a prompt about this tool, and allows it.
    pub fn allow(&self, session: &str, tool: &str) {
        let prompt = self.prompt(session);
        assert_eq!(prompt["tool"], tool, "{prompt}");
        let answer = self.post(&format!("/v1/prompts/{}", prompt["id"]), &json!({"allow": true}));
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// The rows of a session's conversation as Claude Code keeps it; what is torn is left out.
    pub fn conversation(&self, session: &str) -> Vec<Value> {
        let Some(id) = self.session(session)["conversation"].as_str().map(str::to_string) else { return Vec::new() };
        let projects = fs::read_dir(self.home.join(".claude/projects")).into_iter().flatten().flatten();
        let files = projects.map(|project| project.path().join(format!("{id}.jsonl")));
        let text = files.filter_map(|file| fs::read(file).ok()).next().unwrap_or_default();
        text.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Looks often until the task has ended; how it ended.
    pub fn outcome(&self, id: &str) -> Value {
        let answer = self.get(&format!("/v1/tasks/{}?wait={}", http::segment(id), SOON.as_secs()));
        assert_eq!(answer.status, 200, "task {id}: {}", answer.body);
        answer.json()["task"].clone()
    }
}

fn said(output: &Output) -> Said {
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout.clone()).unwrap(),
        err: String::from_utf8(output.stderr.clone()).unwrap(),
    }
}
