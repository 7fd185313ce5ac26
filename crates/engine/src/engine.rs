//! The handle that everybody else holds: asks the desk for something, reads what is committed,
//! waits for changes. Starting it is recovery: the same rows, a new boot.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use shrooms_core::desk::{Done, Input, Place, Request};
use shrooms_core::rights::Pins;
use shrooms_core::row::{Meta, Subject};
use shrooms_core::settings::Settings;
use shrooms_core::{Boot, Desk, Principal};
use shrooms_mesh::local::Interfaces;
use shrooms_mesh::{DirectoryKind, Machine, Mesh};
use shrooms_outbound::{Outbound, Peer};
use shrooms_store::{LogReader, LogWriter, Reader, Store};
use tokio::sync::{Notify, OnceCell, Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, Source};
use crate::desk_loop::{DeskLoop, Message};
use crate::devices::Noted;
use crate::effects;
use crate::error::EngineError;
use crate::follow::{Follow, Followers, GATHER};
use crate::hub::{Hub, Watch};
use crate::live::Live;
use crate::log::{Host, Listeners, SEARCHES, forget_gone, log_bounds, tell_anew};
use crate::{prove, terminal};

/// Requests that may wait for the desk; more wait at the door, in their own connections.
const WAITING_REQUESTS: usize = 1_024;
/// Observations that may wait for the desk; a full queue slows their sources, it loses nothing.
const WAITING_OBSERVATIONS: usize = 1_024;
/// How long leftovers of an earlier boot may take to end before the start fails: they are killed
/// outright, so this is about a machine that is very slow.
const SWEEP: Duration = Duration::from_secs(30);

/// What an engine is started with.
pub struct Config {
    /// The state directory; made if it is not there, private to the user.
    pub state: PathBuf,
    pub mesh: Mesh,
    /// The program that is run as launcher, with its first argument: this very binary and `__run`.
    pub launcher: PathBuf,
    /// Between closing stdin, TERM and KILL when a program is stopped.
    pub grace: Duration,
    pub clock: Arc<dyn Source>,
    pub version: &'static str,
    pub harnesses: Harnesses,
    /// With `limits.turns` as it is meant: 0 is no limit here.
    pub settings: Settings,
}

/// Where the programs behind sessions are.
#[derive(Clone, Debug)]
pub struct Harnesses {
    /// Claude Code: a path, or a name that is looked up in the search path when it is started.
    pub claude: String,
    /// Where it keeps its conversations: `CLAUDE_CONFIG_DIR`, or `.claude` in the home directory.
    pub claude_dir: Option<PathBuf>,
}

pub(crate) struct Inner {
    pub(crate) state: PathBuf,
    pub(crate) mesh: Mesh,
    pub(crate) launcher: PathBuf,
    pub(crate) grace: Duration,
    pub(crate) harnesses: Harnesses,
    pub(crate) settings: Settings,
    /// Which devices the rights by name were given to.
    pub(crate) pins: RwLock<Arc<Pins>>,
    pub(crate) noted: Noted,
    pub(crate) incarnation: String,
    /// What every process of this state bears: the incarnation, and the directory itself, so that
    /// a copy of the state does not take the original's processes for its own.
    pub(crate) mark: String,
    pub(crate) boot: Boot,
    pub(crate) reader: Reader,
    pub(crate) log: LogWriter,
    pub(crate) lines: LogReader,
    pub(crate) listeners: Arc<Listeners>,
    /// Turns of searches.
    pub(crate) searches: Arc<Semaphore>,
    pub(crate) clock: Arc<dyn Source>,
    pub(crate) hub: Hub,
    pub(crate) followers: Followers,
    pub(crate) live: Live,
    pub(crate) outbound: Outbound,
    pub(crate) observations: mpsc::Sender<Input>,
    pub(crate) requests: mpsc::Sender<Message>,
    pub(crate) tasks: TaskTracker,
    /// Claude Code takes an option that has its system prompt made afresh.
    pub(crate) afresh: OnceCell<bool>,
    /// Names of sessions that are being made.
    pub(crate) making: Mutex<BTreeSet<String>>,
    /// Trial starts that may still begin.
    pub(crate) trials: Semaphore,
    /// A terminal may have taken a conversation over.
    pub(crate) attached: Notify,
    /// No new work is begun.
    pub(crate) draining: CancellationToken,
    stopped: watch::Receiver<bool>,
}

/// The engine, for this machine or for one caller; cheap to clone.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Inner>, pub(crate) Option<Arc<Principal>>);

impl Engine {
    /// Opens the state, ends what an earlier boot left running, and starts the desk.
    ///
    /// # Errors
    /// The state cannot be used (locked, damaged, newer, no room), or leftovers cannot be ended.
    pub async fn start(config: Config, lock: shrooms_store::Lock) -> Result<Engine, EngineError> {
        let state = config.state.clone();
        let mut store = Store::open(&state)?;
        let meta = match store.meta()? {
            Some(meta) => meta,
            None => Meta::new(random_hex()?),
        };
        let boot = Boot(meta.boot.0 + 1);
        let mark = mark(&state, &meta.incarnation)?;
        sweep(&state, &mark).await?;
        let mut clock = Clock::new(config.clock.clone(), meta.served, boot);
        let machine = config.mesh.me().name.clone();
        let place = Place::new(machine.clone(), config.settings.clone());
        let open = store.open_rows()?;
        effects::tidy_all(&state, &open);
        let used = open.sessions.iter().map(|s| s.dir.clone()).collect();
        let unfinished = crate::worktree::undo_unfinished(state.join("worktrees"), used);
        let desk = Desk::load(place, meta.clone(), open, &clock.now());
        store.commit(&[shrooms_core::row::Change::Meta(Meta { boot, ..meta.clone() })])?;
        store.mark()?;

        let (requests, request_queue) = mpsc::channel(WAITING_REQUESTS);
        let (observations, observation_queue) = mpsc::channel(WAITING_OBSERVATIONS);
        let (stopped_tx, stopped) = watch::channel(false);
        let listeners = Arc::new(Listeners::default());
        let (anew, begun_anew) = watch::channel(None);
        let bounds = log_bounds(&config.settings.log);
        let log = LogWriter::open(&state, bounds, Host { listeners: listeners.clone(), anew })?;
        let inner = Arc::new(Inner {
            reader: Reader::open(&state)?,
            lines: log.reader(),
            log,
            listeners,
            searches: Arc::new(Semaphore::new(SEARCHES)),
            mesh: config.mesh,
            launcher: config.launcher,
            grace: config.grace,
            harnesses: config.harnesses,
            settings: config.settings,
            noted: Noted::default(),
            pins: RwLock::new(Arc::new(meta.given.pins.clone())),
            incarnation: meta.incarnation,
            mark,
            boot,
            clock: config.clock,
            hub: Hub::new(meta.last_event),
            followers: Followers::default(),
            live: Live::default(),
            outbound: Outbound::new(config.version),
            observations,
            requests,
            tasks: TaskTracker::new(),
            afresh: OnceCell::new(),
            making: Mutex::default(),
            trials: Semaphore::new(prove::AT_ONCE),
            attached: Notify::new(),
            draining: CancellationToken::new(),
            stopped,
            state,
        });
        inner.spawn(&tokio::runtime::Handle::current(), follow_name(inner.clone(), machine));
        inner.spawn(&tokio::runtime::Handle::current(), terminal::watch(inner.clone()));
        inner.spawn(&tokio::runtime::Handle::current(), unfinished);
        inner.spawn(&tokio::runtime::Handle::current(), tell_anew(inner.clone(), begun_anew));
        inner.spawn(&tokio::runtime::Handle::current(), forget_gone(inner.clone()));
        let desk_loop = DeskLoop::new(inner.clone(), desk, store, clock, request_queue, observation_queue);
        desk_loop.start(lock, stopped_tx, tokio::runtime::Handle::current())?;
        Ok(Engine(inner, None))
    }

    /// Has the desk decide a request. The answer is committed.
    pub async fn request(&self, request: Request) -> Result<Done, EngineError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Request(Box::new(request), reply);
        self.0.requests.send(message).await.map_err(|_| EngineError::Stopping)?;
        answer.await.map_err(|_| EngineError::Stopping)?
    }

    /// Reads committed rows, away from the async threads.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, shrooms_store::StoreError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (inner, by) = (self.0.clone(), self.1.clone());
        let work = move || match crate::view::reader(&inner, by.as_deref())? {
            Some(reader) => read(&reader),
            None => read(&inner.reader),
        };
        let done = tokio::task::spawn_blocking(work).await;
        Ok(done.map_err(|_| EngineError::Stopping)??)
    }

    /// Keeps a name for a session that is being made, until this is dropped; `None` where another is.
    pub fn making(&self, name: &str) -> Option<Making> {
        let mut making = self.0.making.lock().unwrap_or_else(PoisonError::into_inner);
        let free = making.insert(name.to_string());
        free.then(|| Making { inner: self.0.clone(), name: name.to_string() })
    }

    /// Does something to its end, also where whoever wants it goes meanwhile.
    ///
    /// # Errors
    /// The daemon ends.
    pub async fn whole<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (told, tells) = oneshot::channel();
        self.0.spawn(&tokio::runtime::Handle::current(), async move {
            // Whoever wanted it may be gone.
            let _ = told.send(work.await);
        });
        tells.await.map_err(|_| EngineError::Stopping)
    }

    /// Waits for changes of a row. Subscribe first, then read.
    pub fn watch(&self, subject: Subject) -> Watch {
        self.0.hub.watch(subject)
    }

    /// Follows a task: each change of it, and its worker's words. Follow first, then read.
    pub fn follow(&self, no: shrooms_core::id::TaskNo) -> Follow {
        self.0.followers.follow(no)
    }

    /// The last number of the event feed, as it grows.
    pub fn feed(&self) -> watch::Receiver<i64> {
        self.0.hub.feed()
    }

    /// The mesh that this machine is on.
    pub fn mesh(&self) -> &Mesh {
        &self.0.mesh
    }

    /// This machine's mesh name, as of now.
    pub fn machine(&self) -> String {
        self.0.machine()
    }

    /// Which start of the daemon this is.
    pub fn boot(&self) -> Boot {
        self.0.boot
    }

    /// What the owner has set about the life of tasks.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The state directory.
    pub fn state(&self) -> &std::path::Path {
        &self.0.state
    }

    /// What runs now.
    pub fn live(&self) -> &Live {
        &self.0.live
    }

    /// The way out to other machines.
    pub fn outbound(&self) -> &Outbound {
        &self.0.outbound
    }

    /// How to reach a machine: its addresses, and from which of ours.
    pub fn peer(&self, machine: &Machine) -> Peer {
        self.0.peer(machine)
    }

    /// Wall time, milliseconds since 1970.
    pub fn wall(&self) -> i64 {
        self.0.clock.wall()
    }

    /// The id under which other machines name an ask of this one.
    pub fn ask_id(&self, no: shrooms_core::id::AskNo) -> String {
        shrooms_core::desk::ask_id(&self.0.incarnation, no)
    }

    /// Random bits for ids.
    pub fn random(&self) -> Result<u64, EngineError> {
        random()
    }

    /// No new work from here on; what runs has `within` to end by itself, then it is ended. What
    /// was begun is said as interrupted by the next start.
    pub async fn drain(&self, within: Duration) {
        self.0.draining.cancel();
        self.0.tasks.close();
        if tokio::time::timeout(within, self.0.tasks.wait()).await.is_err() {
            self.0.live.stop_all();
            let last = self.0.grace * 2 + Duration::from_secs(5);
            if tokio::time::timeout(last, self.0.tasks.wait()).await.is_err() {
                tracing::warn!("some work did not end in time; its launchers end it");
            }
        }
        self.0.end_log().await;
        if self.0.requests.send(Message::Stop).await.is_ok() {
            let mut stopped = self.0.stopped.clone();
            // An error means that the desk's thread is gone, which is what is waited for.
            let _ = stopped.wait_for(|s| *s).await;
        }
    }
}

/// The name of a session that is being made.
pub struct Making {
    inner: Arc<Inner>,
    name: String,
}

impl Drop for Making {
    fn drop(&mut self) {
        self.inner.making.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

impl Inner {
    /// This machine's mesh name, as of now.
    pub(crate) fn machine(&self) -> String {
        self.mesh.me().name.clone()
    }

    pub(crate) fn peer(&self, machine: &Machine) -> Peer {
        let bind = self.mesh.outgoing_bind(machine);
        let mut addresses = machine.addresses.clone();
        if matches!(self.mesh.kind(), DirectoryKind::Shrooms | DirectoryKind::Tailscale) {
            // Unbound, a call would leave by whatever way the system chooses: outside the mesh, too.
            addresses.retain(|to| bind.is_some_and(|from| from.is_ipv4() == to.is_ipv4()));
        }
        // Where the kernel does not say, there is no connecting either.
        let on = |address| Interfaces::now().ok()?.having(address).map(|interface| interface.name.clone());
        let interface = bind.filter(|address| !address.is_loopback()).and_then(on);
        Peer { name: machine.name.clone(), addresses, port: machine.port, bind, interface }
    }

    /// Runs something beside the desk, and lets a drain wait for it.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place where the engine spawns; tracked, so that a drain waits"
    )]
    pub(crate) fn spawn(&self, on: &tokio::runtime::Handle, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(work, on);
    }

    /// The same for a call to another machine, which a drain does not wait for: whatever became of
    /// it is asked again by the next start.
    pub(crate) fn spawn_away(
        self: &Arc<Self>,
        on: &tokio::runtime::Handle,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let draining = self.draining.clone();
        self.spawn(on, async move {
            tokio::select! {
                () = work => {}
                () = draining.cancelled() => {}
            }
        });
    }

    /// Waits for the dead that a killed launcher left to this process.
    pub(crate) fn reap(&self) {
        let own: Vec<i32> = self.live.launchers().into_iter().map(|(pid, _)| pid).collect();
        let reaped = shrooms_runner::reap_orphans(&own);
        if reaped > 0 {
            tracing::debug!(reaped, "waited for processes whose launcher was killed");
        }
    }

    /// Lets those who follow a task hear what its worker says.
    pub(crate) fn say(self: &Arc<Self>, no: shrooms_core::id::TaskNo, text: &str) {
        if self.followers.say(no, text) {
            let me = self.clone();
            self.spawn(&tokio::runtime::Handle::current(), async move {
                tokio::time::sleep(GATHER).await;
                me.followers.hand_on(no);
            });
        }
    }

    /// Offers an observation until the desk has it.
    pub(crate) async fn observe(&self, input: Input) {
        if self.observations.send(input).await.is_err() {
            tracing::debug!("an observation came after the desk had stopped; the next start finds it");
        }
    }
}

/// Tells the desk when the mesh gives this machine another name.
async fn follow_name(inner: Arc<Inner>, mut told: String) {
    let mut changes = inner.mesh.changes();
    loop {
        // Also before the first change: the name may have changed since the desk was made.
        let name = inner.machine();
        if name != told {
            tracing::info!(name, before = told, "the mesh gives this machine another name");
            inner.observe(Input::Machine(name.clone())).await;
            told = name;
        }
        tokio::select! {
            moved = changes.changed() => if moved.is_err() { return },
            () = inner.draining.cancelled() => return,
        }
    }
}

fn mark(state: &std::path::Path, incarnation: &str) -> Result<String, EngineError> {
    use std::os::unix::fs::MetadataExt;
    let of =
        std::fs::metadata(state).map_err(|e| EngineError::Start(format!("cannot look at {}: {e}", state.display())))?;
    Ok(format!("{incarnation}-{:x}-{:x}", of.dev(), of.ino()))
}

fn random_hex() -> Result<String, EngineError> {
    Ok(format!("{:016x}", random()?))
}

pub(crate) fn random() -> Result<u64, EngineError> {
    getrandom::u64().map_err(|e| EngineError::Start(format!("no random bits: {e}")))
}

/// Ends every process that an earlier boot left, before anything new is begun.
async fn sweep(state: &std::path::Path, mark: &str) -> Result<(), EngineError> {
    let run = state.join("run");
    std::fs::create_dir_all(&run).map_err(|e| EngineError::Start(format!("cannot make {}: {e}", run.display())))?;
    match shrooms_runner::clear_leftovers(&run.join("boot.lock"), &format!("{mark}/"), SWEEP, false).await {
        Ok(cleared) => {
            if cleared.ended > 0 {
                tracing::info!(ended = cleared.ended, "ended what an earlier run of this daemon had left");
            }
            Ok(())
        }
        Err(e) => Err(EngineError::Start(format!("processes of an earlier run cannot be ended: {e}"))),
    }
}
