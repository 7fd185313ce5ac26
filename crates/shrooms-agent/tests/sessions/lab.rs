//! A lab: machines in miniature whose sessions are the real Claude Code, a mock model of its own, and
//! a witness in front of every program that tells whether two ran in one conversation at once. At its
//! end there was no such pair, and nothing that it started is left.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use crate::machine::Machine;
use crate::model::Model;
use crate::place::{SOON, bearing, kill};

/// The real program and the mock model's, as the suite names them; from the workspace's root.
const CLAUDE: &str = "SHROOMS_CLAUDE";
const MOCK: &str = "SHROOMS_MOCK_MODEL";
/// Set for whoever wants to look at the directory of a lab whose test failed.
const KEEP: &str = "SHROOMS_KEEP_LABS";

static NEXT: AtomicU16 = AtomicU16::new(1);

pub struct Lab {
    pub machines: Vec<Machine>,
    pub model: Model,
    dir: tempfile::TempDir,
}

/// Stands before Claude Code: who runs in which conversation is held by a lock that the program
/// inherits, and by no code of ours. A file `die-SESSION` makes the next one die as it starts.
const WITNESS: &str = r#"#!/bin/sh
conversation=none
for word in "$@"; do
    case "$word" in --session-id=*|--resume=*) conversation=${word#*=};; esac
done
name=$SHROOMS_AGENT_SESSION
exec 9>>"@LAB@/locks/$conversation"
if flock -n 9; then echo "start $name $$ $conversation" >>"@LAB@/witness"
else echo "OVERLAP $name $$ $conversation" >>"@LAB@/witness"
fi
if mv "@LAB@/die-$name" "@LAB@/died-$name" 2>/dev/null; then kill -9 $$; fi
exec "@CLAUDE@" "$@"
"#;

fn named(variable: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os(variable).ok_or(format!("{variable} is not set; cargo xtask test --suite sessions"))?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    path.canonicalize().map_err(|_| format!("{variable}: no {}", path.display()))
}

impl Lab {
    /// Machines of these names, started; `None`, said aloud, where something that it needs is missing.
    pub fn of(test: &str, names: &[&str]) -> Option<Lab> {
        let mut lab = Lab::idle(test, names)?;
        lab.machines.iter_mut().for_each(|machine| machine.start());
        Some(lab)
    }

    /// The same, not started yet.
    pub fn idle(test: &str, names: &[&str]) -> Option<Lab> {
        let needed = named(CLAUDE).and_then(|claude| Ok((claude, named(MOCK)?)));
        let made = needed.and_then(|(claude, mock)| Lab::make(names, &claude, &mock));
        match made {
            Ok(lab) => Some(lab),
            Err(why) => {
                println!("SKIPPED: {test}: {why}");
                None
            }
        }
    }

    fn make(names: &[&str], claude: &Path, mock: &Path) -> Result<Lab, String> {
        let dir = tempfile::Builder::new().prefix("shrooms-sessions-").tempdir().unwrap();
        let model = Model::start(mock, &dir.path().join("requests"))?;
        fs::create_dir(dir.path().join("locks")).unwrap();
        let witness = WITNESS
            .replace("@LAB@", &dir.path().display().to_string())
            .replace("@CLAUDE@", &claude.display().to_string());
        let program = script(&dir.path().join("claude"), &witness);
        let mesh = dir.path().join("mesh.toml");
        // 127.(128..192).x.y: not those of the other suites, different for every lab of every run.
        let net = 128 + u8::try_from(std::process::id() % 64).unwrap();
        let lab = u8::try_from(NEXT.fetch_add(1, Ordering::Relaxed) % 250).unwrap() + 1;
        let mut text = String::new();
        let mut machines = Vec::new();
        for (name, last) in names.iter().zip(10u8..) {
            let address = IpAddr::V4(Ipv4Addr::new(127, net, lab, last));
            text.push_str(&format!("[[machine]]\nname = \"{name}\"\nmesh = \"home\"\naddresses = [\"{address}\"]\n\n"));
            machines.push(Machine::new(name, dir.path(), &mesh, &program, &model.url));
        }
        fs::write(&mesh, text).unwrap();
        Ok(Lab { machines, model, dir })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The same as a word for a command line.
    pub fn word(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Lines that programs appended to a file; none if there is none.
    pub fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_string).collect()
    }

    /// A file that somebody waits for.
    pub fn touch(&self, name: &str) {
        fs::write(self.path(name), "").unwrap();
    }

    /// The newest process of a session, as the witness saw it.
    pub fn claude(&self, session: &str) -> i32 {
        let starts = self.lines("witness");
        let last = starts.iter().rev().find(|line| line.split(' ').nth(1) == Some(session));
        last.and_then(|line| line.split(' ').nth(2)?.parse().ok()).unwrap_or_else(|| panic!("no {session}: {starts:?}"))
    }

    /// Its launcher.
    pub fn launcher(&self, session: &str) -> i32 {
        let launcher = stat(self.claude(session)).and_then(|words| words.get(1)?.parse().ok()).unwrap();
        assert!(command_line(launcher).contains("__run"), "{}", command_line(launcher));
        launcher
    }

    /// How often a session's program was started.
    pub fn starts(&self, session: &str) -> usize {
        self.lines("witness").iter().filter(|line| line.split(' ').nth(1) == Some(session)).count()
    }

    /// Whether a process of the session holds its conversation, as the kernel says.
    pub fn is_held(&self, session: &str) -> bool {
        let starts = self.lines("witness");
        let last = starts.iter().rev().find(|line| line.split(' ').nth(1) == Some(session));
        let conversation = last.and_then(|line| line.split(' ').nth(3)).unwrap();
        let lock = fs::File::open(self.path("locks").join(conversation)).unwrap();
        lock.try_lock().is_err()
    }

    fn left(&self) -> Vec<i32> {
        bearing(self.dir.path()).into_iter().filter(|pid| *pid != self.model.pid()).collect()
    }

    /// What there is to know of a failure.
    fn tell(&self) {
        println!("witness: {:#?}", self.lines("witness"));
        for machine in &self.machines {
            println!("--- {}:", machine.name);
            machine.log().lines().filter(|line| !line.contains(" DEBUG ")).for_each(|line| println!("{line}"));
        }
        let told: BTreeMap<i32, String> = self.left().into_iter().map(|pid| (pid, command_line(pid))).collect();
        println!("alive: {told:#?}");
    }
}

/// What the kernel says of a process, from its state on.
fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit(')').next()?.split_whitespace().map(str::to_string).collect())
}

/// kill -9, and the wait for its end.
pub fn kill_now(pid: i32) {
    kill(pid);
    poll(&format!("{pid} is dead"), || stat(pid).is_none_or(|words| words.first().is_none_or(|state| state == "Z")));
}

/// It takes nothing more in, until it is killed.
pub fn freeze(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
}

fn command_line(pid: i32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ").chars().take(200).collect()
}

/// Writes a program, and gives its path.
fn script(path: &Path, text: &str) -> String {
    fs::write(path, text).unwrap();
    let mut mode = fs::metadata(path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(path, mode).unwrap();
    path.display().to_string()
}

impl Drop for Lab {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        if failed {
            self.tell();
        }
        for machine in &mut self.machines {
            machine.kill();
        }
        if failed {
            self.left().into_iter().for_each(kill);
            self.dir.disable_cleanup(std::env::var_os(KEEP).is_some());
            return;
        }
        // Launchers end what they run when their daemon is gone.
        poll("nothing that the lab started is left", || self.left().is_empty());
        let overlaps: Vec<String> =
            self.lines("witness").into_iter().filter(|line| line.starts_with("OVERLAP")).collect();
        assert!(overlaps.is_empty(), "two processes in one conversation: {overlaps:?}");
    }
}

/// Waits until `holds`, with a deadline; looks seldom enough to leave two cores to what it waits for.
pub fn poll(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < SOON, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(40));
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
