//! A real engine with its store and its desk's thread, over a past that a desk has written, with
//! clocks of the test.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shrooms_core::desk::{AskReq, Done, Exit, Input, NewSession, Place, Request, SendReq, Target, TurnFact};
use shrooms_core::digest::Digest;
use shrooms_core::row::{Harness, Meta, Task};
use shrooms_core::settings::Settings;
use shrooms_core::{Boot, Desk, Effect, Now, Principal, Text};
use shrooms_engine::{Config, Engine, EngineError, Harnesses, Source};
use shrooms_mesh::{Mesh, MeshSpec};
use shrooms_store::{Lock, Store};

/// Some morning.
pub const WALL: i64 = 1_791_450_902_000;
/// Where the machine that is away would be: nobody listens there.
const AWAY: &str = "127.99.73.2";

/// Clocks that go when they are told to, both at once.
pub struct Clocks {
    wall_and_monotonic: Mutex<(i64, i64)>,
    read: AtomicU64,
}

thread_local! {
    /// What belongs to the wall time that this thread has just read: whoever reads both gets them as they
    /// were at one moment, also while they are moved.
    static MONOTONIC: Cell<i64> = const { Cell::new(0) };
}

impl Clocks {
    pub fn new() -> Arc<Clocks> {
        Arc::new(Clocks { wall_and_monotonic: Mutex::new((WALL, 0)), read: AtomicU64::new(0) })
    }

    /// Each goes on by so much.
    pub fn go(&self, wall: i64, monotonic: i64) {
        let mut both = self.wall_and_monotonic.lock().unwrap();
        *both = (both.0 + wall, both.1 + monotonic);
    }

    /// Waits until the engine has looked so often at the time, by itself.
    pub async fn until_read(&self, times: u64) {
        let until = self.read.load(Ordering::SeqCst) + times;
        until_true("the engine looks at the time", || self.read.load(Ordering::SeqCst) >= until).await;
    }
}

impl Source for Clocks {
    fn wall(&self) -> i64 {
        self.read.fetch_add(1, Ordering::SeqCst);
        let (wall, monotonic) = *self.wall_and_monotonic.lock().unwrap();
        MONOTONIC.set(monotonic);
        wall
    }

    fn monotonic(&self) -> i64 {
        MONOTONIC.get()
    }
}

pub async fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    let look = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), look).await.unwrap_or_else(|_| panic!("not within 30 s: {what}"));
}

/// What was there before the engine started.
pub struct Past {
    desk: Desk,
    store: Store,
    now: Now,
}

impl Past {
    pub fn new(dir: &Path) -> Past {
        let store = Store::open(dir).unwrap();
        let now = Now { wall: WALL, served: 0, boot: Boot(1) };
        let place = Place { machine: "laptop".into(), ..Place::default() };
        let desk = Desk::load(place, Meta::new("0123456789abcdef".into()), store.open_rows().unwrap(), &now);
        let mut past = Past { desk, store, now };
        past.commit();
        past
    }

    pub fn commit(&mut self) {
        let changes = self.desk.take_changes();
        self.store.commit(&changes).unwrap();
        self.desk.settled();
    }

    pub fn request(&mut self, request: Request) -> Done {
        self.desk.handle(self.now, Input::Request(Box::new(request), Box::default())).unwrap()
    }

    fn due<T>(&mut self, mut is_it: impl FnMut(&Effect) -> Option<T>) -> T {
        self.desk.take_due().iter().find_map(&mut is_it).expect("it is due")
    }

    /// A session that runs a command; stopped, it keeps a queue.
    pub fn command(&mut self, name: &str, stopped: bool) {
        let harness =
            Harness::Command { argv: vec!["true".into()], framed: false, rerun_on_crash: false, takes_turns: false };
        let (by, name) = (Principal::Owner, name.to_string());
        self.request(Request::AddSession {
            by: by.clone(),
            new: Box::new(NewSession::new(name.clone(), harness, "/")),
        });
        if stopped {
            self.request(Request::StopSession { by, name });
        }
    }

    /// What runs, or is about to, ends with this.
    pub fn exit(&mut self, words: &str) {
        let fence = self.due(|e| if let Effect::Run { fence, .. } = e { Some(*fence) } else { None });
        let exit = Exit { code: Some(0), signal: None, spawn_error: None, stopped: false, words: Text::from(words) };
        self.desk.handle(self.now, Input::Turn(fence, TurnFact::Ended(exit))).unwrap();
    }

    /// A session of a program that stays, which has a task, rests, and has said nothing of it.
    pub fn quiet(&mut self, name: &str, mid: &str) {
        let harness = Harness::Claude { model: None, auto_approve: true };
        let by = Principal::Owner;
        self.request(Request::AddSession { by, new: Box::new(NewSession::new(name, harness, "/")) });
        self.request(Request::Send(send(name, mid)));
        let mut run = None;
        let mut written = None;
        for effect in self.desk.take_due() {
            match effect {
                Effect::Run { fence, .. } => run = Some(fence),
                Effect::Write { delivery, attempt, .. } => written = Some((delivery, attempt)),
                _ => {}
            }
        }
        let (fence, (delivery, attempt)) = (run.expect("a run"), written.expect("a message to write"));
        let exit = Exit { code: Some(0), signal: None, spawn_error: None, stopped: true, words: Text::from("") };
        let idle = TurnFact::Idle { words: Text::from("I think about it."), spent: Default::default() };
        for fact in
            [TurnFact::Began, TurnFact::Taken { delivery, attempt }, TurnFact::Busy, idle, TurnFact::Ended(exit)]
        {
            self.desk.handle(self.now, Input::Turn(fence, fact)).unwrap();
        }
        self.commit();
    }
}

/// A message of the owner's.
pub fn send(session: &str, mid: &str) -> SendReq {
    let text = Text::from("Is the nightly build green?");
    SendReq { random: 7, ..SendReq::new(Principal::Owner, session, mid, text) }
}

/// The owner asks the machine that is away.
pub fn ask(mesh: &Mesh, mid: &str) -> AskReq {
    let away = mesh.find("away").unwrap();
    AskReq {
        by: Principal::Owner,
        to: Target::Device { id: away.id.0.clone(), machine: "away".into(), session: "w".into() },
        agent: "away/w".into(),
        mid: mid.into(),
        text: Text::from("Is the nightly build green?"),
        digest: Digest::of([b"Is the nightly build green?".as_slice()]),
        title: None,
        context: None,
        refs: vec![],
        fresh: false,
        require: vec![],
        now_only: false,
        random: 7,
    }
}

/// The machine `laptop`, and one that is away.
pub async fn mesh(dir: &Path) -> Mesh {
    let of = |name: &str, address: &str| format!("[[machine]]\nname = \"{name}\"\naddresses = [\"{address}\"]\n");
    let path = dir.join("mesh.toml");
    std::fs::write(&path, [of("laptop", "127.99.73.1"), of("away", AWAY)].concat()).unwrap();
    Mesh::open(&MeshSpec::File(path), Some("laptop"), None, 7387, None).await.unwrap()
}

/// An engine on that past; it can start no program.
pub async fn start(dir: &Path, clock: Arc<dyn Source>, settings: Settings) -> Engine {
    let config = Config {
        state: dir.to_path_buf(),
        mesh: mesh(dir).await,
        launcher: "/nonexistent/launcher".into(),
        grace: Duration::from_millis(100),
        clock,
        version: "test",
        harnesses: Harnesses { claude: "claude".into(), claude_dir: None },
        settings,
    };
    Engine::start(config, Lock::take(dir).unwrap()).await.unwrap()
}

/// Sends, and reads what the answer shows.
pub async fn sent(engine: &Engine, session: &str, mid: &str) -> Result<Arc<Task>, EngineError> {
    let Done::Task { task, .. } = engine.request(Request::Send(send(session, mid))).await? else {
        panic!("a send is answered with a task");
    };
    let shown = task.clone();
    engine.read(move |reader| reader.texts(&shown, true, true)).await?;
    Ok(task)
}
