//! `shrooms-agent serve`: one daemon on one state directory, from start-up to drain.
//! The order matters: everything that can be refused comes before the first effect.

use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use shrooms_engine::{Config, Engine, Harnesses, SystemClock};
use shrooms_mesh::local::Changes;
use shrooms_mesh::{DirectoryKind, Mesh, MeshSpec, Sockets};
use shrooms_server::{Listeners, Offers, Profile, Server, ServerConfig};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::context::Place;
use crate::report::{Exit, Failure};
use crate::{config, env};

/// The port that machines have where nothing else is said (seed).
const PORT: u16 = 7387;
/// How long work that runs may go on after the first signal; a second signal ends the wait.
const DRAIN: Duration = Duration::from_secs(15);
/// A mesh's file is read again this often, so that who is taken out of it is nobody soon; an unknown
/// caller, and an unknown name, have it read at once.
const REFRESH: Duration = Duration::from_secs(5);
/// The same where a daemon on this host is asked, or looked for: what it says may change at any time, and
/// asking it is cheap.
const ASK: Duration = Duration::from_secs(15);

const EXAMPLES: &str = "\
Examples:
  shrooms-agent serve
  shrooms-agent serve --mesh file:mesh.toml
  shrooms-agent serve --state ./laptop --mesh file:mesh.toml --me laptop

The first asks shrooms, then Tailscale, who the machines are, and serves this machine alone while neither
has a mesh; the others serve the machines of a file (docs/two-machines.md).";

/// Run this machine's daemon (the default without a verb)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Who the machines are: auto, shrooms, tailscale, loopback, or file:PATH
    #[arg(long, default_value = "auto", value_name = "MESH")]
    mesh: String,
    /// The socket of the mesh's daemon [default: where shrooms and Tailscale have theirs]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// This machine's name in the mesh file
    #[arg(long, value_name = "NAME")]
    me: Option<String>,
    /// Serve these meshes only, by label
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    meshes: Option<Vec<String>>,
    /// The port on this machine's mesh addresses [default: the mesh file's, else 7387]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// The config file [default: config.toml in the state directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Claude Code: its path, or a name on the search path
    #[arg(long, default_value = "claude", value_name = "PATH")]
    claude: String,
    /// How log lines look, on stderr: text or json
    #[arg(long, default_value = "text", value_name = "FORM", value_parser = ["text", "json"])]
    log: String,
    /// Seconds between asking a program to stop and ending it.
    #[arg(long, default_value_t = 5.0, value_name = "SECS", hide = true)]
    stop_grace: f64,
    /// Drain when stdin ends: for a program that starts this one.
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
    /// Take sessions of the tests' scripted harness.
    #[arg(long, hide = true)]
    allow_scripted: bool,
    /// For conformance kits (docs/conformance.md): the session that is meant where none is named.
    #[arg(long, hide = true, value_name = "SESSION", requires = "allow_scripted")]
    test_profile: Option<String>,
    /// What the card of the test profile offers.
    #[arg(long, hide = true, value_name = "WHAT", default_value = "all", value_parser = ["all", "none", "required-extension"])]
    capabilities: String,
}

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// It cannot start: the state, the mesh or a port cannot be used.
pub fn run(args: Args, place: &Place) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    let served = runtime.block_on(serve(args, place.state.clone()));
    // A read of stdin that waits for its end is left behind.
    runtime.shutdown_background();
    served?;
    Ok(Exit::Done)
}

async fn serve(args: Args, state: PathBuf) -> anyhow::Result<()> {
    start_logging(&args.log);
    if rustix::process::geteuid().is_root() {
        tracing::warn!("running as root: the programs that sessions run are root too");
    }
    if !(0.0..=600.0).contains(&args.stop_grace) {
        bail!("--stop-grace is from 0 to 600 seconds");
    }
    let spec = MeshSpec::parse(&args.mesh)?;
    let (meshes, sockets) = (args.meshes.as_deref(), args.socket.map(Sockets::at));
    let mesh = Mesh::open(&spec, args.me.as_deref(), meshes, args.port.unwrap_or(PORT), sockets).await?;
    let port = args.port.unwrap_or(mesh.me().port);
    make_private(&state)?;
    let state = state.canonicalize().with_context(|| format!("cannot use {}", state.display()))?;
    let settings = match &args.config {
        Some(file) => config::read(file, true)?,
        None => config::read(&state.join("config.toml"), false)?,
    };
    let lock = shrooms_store::Lock::take(&state)?;
    let listeners = Listeners::bind(&mesh, &state.join("agent.sock"), port).await?;
    raise_file_limit();
    shrooms_runner::become_subreaper().context("cannot become a subreaper")?;
    shrooms_runner::crash::arm_from_env();

    let machine = mesh.me().label();
    let mut told = Told::default();
    let engine = Engine::start(
        Config {
            state: state.clone(),
            mesh,
            launcher: env::this_program()?,
            grace: Duration::from_secs_f64(args.stop_grace),
            clock: Arc::new(SystemClock::new()),
            version: env!("CARGO_PKG_VERSION"),
            settings,
            harnesses: Harnesses { claude: args.claude.clone(), claude_dir: env::claude_dir() },
        },
        lock,
    )
    .await?;
    engine.bind_rights().await?;
    let addresses: Vec<String> = listeners.listening().addresses().iter().map(ToString::to_string).collect();
    let config = ServerConfig {
        version: env!("CARGO_PKG_VERSION").to_string(),
        path: env::search_path(),
        claude: args.claude,
        allow_scripted: args.allow_scripted,
        profile: args.test_profile.map(|session| Profile {
            session,
            offers: match args.capabilities.as_str() {
                "none" => Offers::Nothing,
                "required-extension" => Offers::RequiredExtension,
                _ => Offers::All,
            },
        }),
    };
    let server = Server::new(engine.clone(), listeners, config);
    tracing::info!(machine, addresses = addresses.join(" "), state = %state.display(), "serving");
    told.tell(&engine);

    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let first = Stopper::new(args.until_stdin_closes)?;
    let until = async {
        refresh_until(&engine, told, first.wait()).await;
        tracing::info!("draining: no new work; a second signal ends what still runs");
        stop.cancel();
        // Made only now: it must not hear the first signal, too.
        let second = Stopper::new(false)?;
        tokio::select! {
            () = engine.drain(DRAIN) => {}
            () = second.wait() => engine.drain(Duration::ZERO).await,
        }
        anyhow::Ok(())
    };
    let (served, drained) = tokio::join!(server.run(shutdown), until);
    served?;
    drained
}

/// A daemon has a connection for every wait: the soft limit that shells give (1,024) is raised as
/// far as is allowed and useful.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(4_096, |most| most.min(4_096));
    if now.current.is_some_and(|current| current < wanted)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum })
    {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

fn make_private(state: &Path) -> anyhow::Result<()> {
    if state.exists() && !state.is_dir() {
        bail!("{} is not a directory: use another --state", state.display());
    }
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
        .with_context(|| format!("cannot make the state directory {}: use another --state", state.display()))
}

fn start_logging(form: &str) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_new(env::log_filter()).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // Refused only where a log was begun before, which is as good.
    let _ = if form == "json" { lines.json().try_init() } else { lines.compact().try_init() };
}

/// Keeps the names of the mesh fresh until `end`, and says what is wrong with them when that changes.
async fn refresh_until(engine: &Engine, mut told: Told, end: impl Future<Output = ()>) {
    let mesh = engine.mesh();
    let mut changes = mesh.changes();
    let mut host = Changes::listen().ok();
    tokio::pin!(end);
    loop {
        let every = if mesh.kind() == DirectoryKind::File { REFRESH } else { ASK };
        let read_again = async {
            // A mesh that is joined or left brings an interface, or takes one along.
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = changed(&mut host) => {}
            }
            if let Err(error) = mesh.refresh().await {
                tracing::debug!(%error, "the mesh's names could not be read again");
            }
        };
        tokio::select! {
            () = &mut end => return,
            // The sender lives as long as the mesh.
            _ = changes.changed() => {
                if let Err(error) = engine.bind_rights().await {
                    tracing::warn!(%error, "rights could not be bound to the devices of the mesh");
                }
            }
            () = read_again => {}
        }
        told.tell(engine);
    }
}

/// Waits for a change of this host's interfaces; for ever, where the kernel does not tell of them.
async fn changed(host: &mut Option<Changes>) {
    if let Some(changes) = host
        && changes.next().await.is_ok()
    {
        return;
    }
    *host = None;
    std::future::pending().await
}

/// What the log has last said of the mesh.
#[derive(Default)]
struct Told {
    notice: Option<String>,
    trouble: Option<String>,
    warnings: Vec<String>,
}

impl Told {
    fn tell(&mut self, engine: &Engine) {
        let mesh = engine.mesh();
        let (notice, trouble, warnings) = (mesh.notice(), mesh.trouble(), engine.warnings());
        for warning in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            tracing::warn!("{warning}");
        }
        if let Some(notice) = notice.as_ref().filter(|notice| self.notice.as_ref() != Some(notice)) {
            tracing::warn!("{notice}");
        }
        match (&trouble, &self.trouble) {
            (Some(now), before) if before.as_ref() != Some(now) => tracing::warn!("the mesh: {now}"),
            (None, Some(_)) => tracing::info!(machine = mesh.me().label(), kind = %mesh.kind(), "the mesh is there"),
            _ => {}
        }
        *self = Told { notice, trouble, warnings };
    }
}

/// What ends the daemon: SIGTERM, SIGINT, SIGHUP (its terminal is gone), or the end of stdin where that was asked for.
struct Stopper {
    term: Signal,
    int: Signal,
    hup: Signal,
    stdin: bool,
}

impl Stopper {
    fn new(stdin: bool) -> anyhow::Result<Stopper> {
        Ok(Stopper {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            hup: signal(SignalKind::hangup())?,
            stdin,
        })
    }

    async fn wait(mut self) {
        let stdin = async {
            if self.stdin {
                let mut stdin = tokio::io::stdin();
                let mut nothing = [0u8; 64];
                while tokio::io::AsyncReadExt::read(&mut stdin, &mut nothing).await.is_ok_and(|n| n > 0) {}
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
            _ = self.hup.recv() => {}
            () = stdin => {}
        }
    }
}
