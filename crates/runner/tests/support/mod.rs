//! A run in a directory of its own, and what tests ask about it and its processes.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "real processes end in real time")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use shrooms_runner::{Ended, ExitRecord, Run, RunEvent, RunSpec};

/// Generous: the machine may be busy with other tests.
pub const LONG: Duration = Duration::from_secs(30);

pub struct Place {
    pub dir: tempfile::TempDir,
    pub mark: String,
}

impl Place {
    pub fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    pub fn at(dir: tempfile::TempDir) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        shrooms_runner::become_subreaper().unwrap();
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("test-{}-{n}.", std::process::id());
        fs::create_dir(dir.path().join("run")).unwrap();
        Self { dir, mark }
    }

    pub fn run_dir(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    pub fn lock(&self) -> PathBuf {
        self.dir.path().join("lock")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A shell script in this place; `$D` is the place's directory.
    pub fn spec(&self, script: &str) -> RunSpec {
        RunSpec {
            dir: self.run_dir(),
            lock: self.lock(),
            mark: format!("{}1", self.mark),
            program: ["sh", "-c", script].map(str::to_owned).to_vec(),
            cwd: self.dir.path().to_owned(),
            env: BTreeMap::from([("D".to_owned(), self.dir.path().display().to_string())]),
            env_remove: vec![],
            stdin: "".into(),
            grace_ms: 300,
        }
    }

    /// The number that a script wrote to `name`, once it is there.
    pub async fn pid_in(&self, name: &str) -> i32 {
        let path = self.file(name);
        let read = || fs::read_to_string(&path).ok().filter(|t| t.ends_with('\n'));
        until(&format!("{name} is written"), || read().is_some()).await;
        read().unwrap().trim().parse().unwrap()
    }

    pub async fn clear(&self) -> shrooms_runner::Cleared {
        shrooms_runner::clear_leftovers(&self.lock(), &self.mark, LONG, false).await.unwrap()
    }

    pub fn trace(&self) -> shrooms_runner::Trace {
        shrooms_runner::read_trace(&self.run_dir()).unwrap()
    }
}

pub fn launcher() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_run-launcher"))
}

pub async fn start(spec: RunSpec) -> Run {
    shrooms_runner::start(launcher(), &[], spec).await.unwrap()
}

/// What a run said and how it ended.
pub struct Told {
    pub lines: Vec<String>,
    pub errors: Vec<String>,
    pub dropped: u64,
    pub started: Option<i32>,
    pub ended: Ended,
}

impl Told {
    pub fn exit(&self) -> &ExitRecord {
        match &self.ended {
            Ended::Exit(record) => record,
            other => panic!("no exit but {other:?}"),
        }
    }
}

pub async fn to_the_end(run: &mut Run) -> Told {
    let mut told = Told { lines: vec![], errors: vec![], dropped: 0, started: None, ended: Ended::Lost };
    let mut ends = 0;
    let all = async {
        while let Some(event) = run.next().await {
            assert_eq!(ends, 0, "an event after the end: {event:?}");
            match event {
                RunEvent::Started { pid } => told.started = Some(pid),
                RunEvent::Words { line, stderr: false } => told.lines.push(line),
                RunEvent::Words { line, stderr: true } => told.errors.push(line),
                RunEvent::Line(line) => told.lines.push(line),
                RunEvent::Dropped(n) => told.dropped += n,
                RunEvent::Ended(ended) => {
                    told.ended = ended;
                    ends += 1;
                }
            }
        }
    };
    tokio::time::timeout(LONG, all).await.unwrap();
    assert_eq!(ends, 1, "the end comes once");
    told
}

pub async fn run(spec: RunSpec) -> Told {
    to_the_end(&mut start(spec).await).await
}

/// Whether the process runs (a zombie does not).
pub fn alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
        state.is_some_and(|s| s != b'Z' && s != b'X')
    })
}

/// How many descriptors of the process lead to `path`.
pub fn has_open(pid: i32, path: &Path) -> bool {
    fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .flatten()
        .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target == path))
}

pub fn kill(pid: i32) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

pub async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
