//! Machines in miniature for the tests: real daemons on addresses of their own in 127.0.0.0/8,
//! each with its state in the lab's directory. Whatever happens, a lab ends what it started.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{self, Answer};

/// The real program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_shrooms-agent");
/// How long anything that should happen may take on a busy machine.
pub const SOON: Duration = Duration::from_secs(30);

/// Where machines listen, unless a test says otherwise.
const PORT: u16 = 7387;

static NEXT: AtomicU16 = AtomicU16::new(1);

/// A directory, and the machines in it.
pub struct Lab {
    pub dir: tempfile::TempDir,
    pub machines: Vec<Machine>,
}

/// One machine.
pub struct Machine {
    pub name: String,
    pub address: IpAddr,
    pub port: u16,
    pub state: PathBuf,
    mesh: PathBuf,
    child: Option<Child>,
    extra: Vec<String>,
    say_port: bool,
    /// Which mesh, where it is not the lab's file.
    on_mesh: Option<Vec<String>>,
    /// What the daemon is started through: nothing, or a way into a namespace.
    through: Vec<String>,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Lab {
    /// Machines of these names, started.
    pub fn of(names: &[&str]) -> Lab {
        let mut lab = Lab::idle(names);
        for machine in &mut lab.machines {
            machine.start();
        }
        lab
    }

    /// Machines of these names, not started yet.
    pub fn idle(names: &[&str]) -> Lab {
        let dir = tempfile::Builder::new().prefix("shrooms-test-").tempdir().unwrap();
        // 127.(64..127).x.y: far from what anybody uses, different for every lab of every run. Where
        // another run has come to the same, somebody answers there.
        let net = 64 + u8::try_from(std::process::id() % 64).unwrap();
        let of = |lab: u16, machine: u8| Ipv4Addr::new(127, net, u8::try_from(lab % 250).unwrap() + 1, 10 + machine);
        let lab = std::iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed))
            .find(|lab| TcpStream::connect((of(*lab, 0), PORT)).is_err())
            .unwrap();
        let mesh = dir.path().join("mesh.toml");
        let mut text = String::new();
        let mut machines = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let address = IpAddr::V4(of(lab, i as u8));
            text.push_str(&format!("[[machine]]\nname = \"{name}\"\nmesh = \"home\"\naddresses = [\"{address}\"]\n\n"));
            let mut machine = Machine {
                name: name.to_string(),
                address,
                port: PORT,
                state: dir.path().join(name),
                mesh: mesh.clone(),
                child: None,
                through: Vec::new(),
                say_port: true,
                on_mesh: None,
                extra: Vec::new(),
            };
            machine.with(&["--allow-scripted", "--stop-grace", "0.3"]);
            machines.push(machine);
        }
        fs::write(&mesh, text).unwrap();
        Lab { dir, machines }
    }

    /// Puts machines that were not started yet elsewhere, as a mesh of this label: each at an address,
    /// in a place that is reached through a command.
    pub fn settle(&mut self, label: &str, places: Vec<(IpAddr, Vec<String>)>) {
        for (machine, (address, through)) in self.machines.iter_mut().zip(places) {
            (machine.address, machine.through) = (address, through);
        }
        self.write_mesh(label);
    }

    /// The mesh file anew, with the addresses that the machines have now.
    pub fn write_mesh(&self, label: &str) {
        let of = |machine: &Machine| {
            format!(
                "[[machine]]\nname = \"{}\"\nmesh = \"{label}\"\naddresses = [\"{}\"]\n\n",
                machine.name, machine.address
            )
        };
        fs::write(self.path("mesh.toml"), self.machines.iter().map(of).collect::<String>()).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a program that `sh` runs, and gives its path.
    pub fn script(&self, name: &str, body: &str) -> String {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        let mut mode = fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        fs::set_permissions(&path, mode).unwrap();
        path.display().to_string()
    }

    /// Lines that programs appended to a file; none if there is none.
    pub fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_string).collect()
    }
}

impl std::ops::Index<usize> for Lab {
    type Output = Machine;
    fn index(&self, i: usize) -> &Machine {
        &self.machines[i]
    }
}

impl std::ops::IndexMut<usize> for Lab {
    fn index_mut(&mut self, i: usize) -> &mut Machine {
        &mut self.machines[i]
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for machine in &mut self.machines {
            machine.kill();
        }
        // Launchers end what they run when their daemon is gone; one that was killed cannot.
        for pid in bearing(self.dir.path()) {
            kill(pid);
        }
    }
}

impl Machine {
    pub fn start(&mut self) {
        self.start_with(&[]);
    }

    /// Starts the daemon with more in its environment, and waits until it answers.
    pub fn start_with(&mut self, env: &[(&str, &str)]) {
        self.spawn(env);
        poll(&format!("{} answers", self.name), || {
            if let Some(status) = self.child.as_mut().and_then(|c| c.try_wait().unwrap()) {
                panic!("{} ended at once, {status}: {}", self.name, self.log());
            }
            self.get("/v1/status").status == 200
        });
    }

    /// The same, with the port left to the mesh file.
    pub fn start_without_port(&mut self) {
        self.say_port = false;
        self.start();
    }

    /// Another mesh than the lab's file, in words of the command line, for a daemon that was not started yet.
    pub fn on_mesh(&mut self, words: &[&str]) {
        self.on_mesh = Some(words.iter().map(|w| w.to_string()).collect());
    }

    /// More words on the command line of this daemon, which was not started yet.
    pub fn with(&mut self, words: &[&str]) {
        self.extra.extend(words.iter().map(|w| w.to_string()));
    }

    /// What this machine, which was not started yet, knows of machines: names and addresses.
    pub fn know(&mut self, machines: &[(String, IpAddr)]) {
        let of = |(name, address): &(String, IpAddr)| {
            format!("[[machine]]\nname = \"{name}\"\nmesh = \"home\"\naddresses = [\"{address}\"]\n\n")
        };
        self.mesh = self.state.with_extension("mesh.toml");
        fs::write(&self.mesh, machines.iter().map(of).collect::<String>()).unwrap();
    }

    /// Starts the daemon without waiting: it may be about to crash.
    pub fn spawn(&mut self, env: &[(&str, &str)]) {
        let log = fs::File::options().create(true).append(true).open(self.log_path()).unwrap();
        let words = [self.through.as_slice(), &[PROGRAM.to_string()]].concat();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(["serve", "--state"])
            .arg(&self.state)
            .args(self.on_mesh.clone().unwrap_or_else(|| {
                let file = format!("file:{}", self.mesh.display());
                ["--mesh", &file, "--me", &self.name].map(str::to_string).to_vec()
            }))
            .args(if self.say_port { vec!["--port".to_string(), self.port.to_string()] } else { Vec::new() })
            .args(&self.extra)
            .env("SHROOMS_AGENT_LOG", "debug")
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0);
        for key in ["SHROOMS_AGENT_SESSION", "SHROOMS_AGENT_STATE", "SHROOMS_AGENT_PASS"] {
            command.env_remove(key);
        }
        self.child = Some(command.spawn().unwrap());
    }

    pub fn pid(&self) -> i32 {
        self.child.as_ref().map_or(0, |c| c.id() as i32)
    }

    /// kill -9, and the wait for its end.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    /// Whether the daemon has ended by itself (a crash point).
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
        rustix::process::kill_process(pid_of(child.id() as i32), rustix::process::Signal::TERM).unwrap();
        child.wait().unwrap().code().unwrap_or(-1)
    }

    /// SIGHUP, and the wait for its end; its exit code.
    pub fn hang_up(&mut self) -> i32 {
        let mut child = self.child.take().unwrap();
        rustix::process::kill_process(pid_of(child.id() as i32), rustix::process::Signal::HUP).unwrap();
        child.wait().unwrap().code().unwrap_or(-1)
    }

    /// SIGTERM, and once it drains SIGTERM again; its exit code.
    pub fn stop_twice(&mut self) -> i32 {
        let mut child = self.child.take().unwrap();
        let term = || rustix::process::kill_process(pid_of(child.id() as i32), rustix::process::Signal::TERM);
        let before = self.log().matches("draining").count();
        term().unwrap();
        poll("it drains", || self.log().matches("draining").count() > before);
        term().unwrap();
        child.wait().unwrap().code().unwrap_or(-1)
    }

    pub fn log_path(&self) -> PathBuf {
        self.state.with_extension("log")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    pub fn socket(&self) -> PathBuf {
        self.state.join("agent.sock")
    }

    /// The command line of this machine's owner.
    pub fn cli(&self, args: &[&str]) -> Said {
        self.cli_in(args, Path::new("/"), "")
    }

    pub fn cli_in(&self, args: &[&str], dir: &Path, stdin: &str) -> Said {
        let mut child = Command::new(PROGRAM)
            .args(args)
            .current_dir(dir)
            .env("SHROOMS_AGENT_STATE", &self.state)
            .env_remove("SHROOMS_AGENT_SESSION")
            .env_remove("SHROOMS_AGENT_PASS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Adds a session that runs `command` for each task.
    pub fn add(&self, name: &str, dir: &Path, command: &[&str]) {
        let body = serde_json::json!({"name": name, "dir": dir, "command": command});
        let made = self.post("/v1/sessions", &body);
        assert_eq!(made.status, 201, "{} {name}: {}", self.name, made.body);
    }

    pub fn get(&self, path: &str) -> Answer {
        http::unix(&self.socket(), "GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        http::unix(&self.socket(), "POST", path, &body.to_string())
    }

    /// JSON-RPC to a session of this machine, from the address `from`.
    pub fn rpc(&self, from: IpAddr, session: &str, method: &str, params: Value) -> Value {
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer =
            http::tcp(from, (self.address, self.port).into(), "POST", &format!("/a2a/{session}"), &body.to_string());
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        answer.json()
    }

    /// The task as this machine has it.
    pub fn task(&self, id: &str) -> Value {
        let answer = self.get(&format!("/v1/tasks/{}", http::segment(id)));
        assert_eq!(answer.status, 200, "task {id}: {}", answer.body);
        answer.json()["task"].clone()
    }

    /// Waits for the task's outcome.
    pub fn outcome(&self, id: &str) -> Value {
        let answer = self.get(&format!("/v1/tasks/{}?wait={}", http::segment(id), SOON.as_secs()));
        assert_eq!(answer.status, 200, "task {id}: {}", answer.body);
        answer.json()["task"].clone()
    }
}

/// The word of a task's state.
pub fn state(task: &Value) -> String {
    let word = task["status"]["state"].as_str().unwrap_or("?").trim_start_matches("TASK_STATE_");
    word.to_lowercase().replace('_', "-")
}

/// The text beside it.
pub fn text(task: &Value) -> String {
    task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or("").to_string()
}

/// A message for `SendMessage`, that is answered at once.
pub fn message(id: &str, text: &str) -> Value {
    serde_json::json!({
        "message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]},
        "configuration": {"returnImmediately": true},
    })
}

/// Waits until `holds`, with a deadline; looks often.
pub fn poll(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Living processes whose environment or command line names `dir`.
pub fn bearing(dir: &Path) -> Vec<i32> {
    let name = dir.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else { continue };
        if pid == std::process::id() as i32 {
            continue;
        }
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        let all = [read("environ"), read("cmdline")].concat();
        if all.windows(name.len()).any(|w| w == name.as_bytes()) && !is_zombie(pid) {
            found.push(pid);
        }
    }
    found
}

fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'))
}

pub fn kill(pid: i32) {
    // It may be gone by now.
    let _ = rustix::process::kill_process(pid_of(pid), rustix::process::Signal::KILL);
}

fn pid_of(pid: i32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(pid).unwrap()
}
