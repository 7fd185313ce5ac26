//! Where the demo plays: a directory of its own, two daemons, and their end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use shrooms_outbound::LocalClient;
use shrooms_runner::companion::{Companion, companion};

use crate::env;

/// The port that machines have; another is taken where it is in use here.
const PORT: u16 = 7387;
/// How long a daemon may take until it answers.
const READY: Duration = Duration::from_secs(20);
/// How long a daemon may take to end after its stdin has; it drains for 15 s at most itself.
const END: Duration = Duration::from_secs(30);
const MACHINES: [(&str, Ipv4Addr); 2] =
    [("laptop", Ipv4Addr::new(127, 0, 0, 1)), ("homeserver", Ipv4Addr::new(127, 0, 0, 2))];

/// The demo's directory and daemons. Dropping it ends both.
pub struct Scene {
    dir: tempfile::TempDir,
    port: u16,
    daemons: Vec<Companion>,
}

impl Scene {
    pub fn make() -> anyhow::Result<Scene> {
        let dir = tempfile::Builder::new().prefix("shrooms-demo-").tempdir().context("no temporary directory")?;
        let port = free_port()?;
        let mut mesh = String::new();
        for (name, address) in MACHINES {
            mesh.push_str(&format!(
                "[[machine]]\nname = \"{name}\"\nmesh = \"home\"\naddresses = [\"{address}\"]\nport = {port}\n\n"
            ));
        }
        std::fs::write(dir.path().join("mesh.toml"), mesh).context("cannot write the mesh file")?;
        Ok(Scene { dir, port, daemons: Vec::new() })
    }

    pub async fn start(&mut self) -> anyhow::Result<()> {
        let program = env::this_program()?;
        let mesh = format!("file:{}", self.dir.path().join("mesh.toml").display());
        for (name, _) in MACHINES {
            let state = self.state(name).display().to_string();
            let port = self.port.to_string();
            let args =
                ["serve", "--state", &state, "--mesh", &mesh, "--me", name, "--port", &port, "--until-stdin-closes"];
            let log = self.dir.path().join(format!("{name}.log"));
            let daemon = companion(&program, &args, self.dir.path(), &log)
                .with_context(|| format!("the daemon of {name} could not be started"))?;
            self.daemons.push(daemon);
        }
        for (name, _) in MACHINES {
            self.until_ready(name).await?;
        }
        Ok(())
    }

    async fn until_ready(&mut self, name: &str) -> anyhow::Result<()> {
        let client = self.client(name)?;
        let ready = async {
            loop {
                if client.get("/v1/status").await.is_ok() {
                    return Ok(());
                }
                if self.daemons.iter_mut().any(Companion::has_ended) {
                    let log = std::fs::read_to_string(self.dir.path().join(format!("{name}.log"))).unwrap_or_default();
                    bail!("the daemon of {name} ended at once:\n{log}");
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(READY, ready).await {
            Ok(done) => done,
            Err(_) => bail!("the daemon of {name} does not answer after {} s", READY.as_secs()),
        }
    }

    /// The directory that the default command runs in: this one if it is in a repository, else a
    /// small one that is made.
    pub async fn repository(&self) -> anyhow::Result<PathBuf> {
        let here = env::directory()?;
        if here.ancestors().any(|d| d.join(".git").exists()) {
            return Ok(here);
        }
        let dir = self.dir.path().join("repository");
        std::fs::create_dir(&dir).context("cannot make a small repository")?;
        let who = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
        git(&dir, &["init", "-q"]).await?;
        for n in 1..=5 {
            let message = format!("Commit {n} of the demo's own repository");
            let commit = ["commit", "-q", "--allow-empty", "-m", &message];
            git(&dir, &[who.as_slice(), commit.as_slice()].concat()).await?;
        }
        Ok(dir)
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn state(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn client(&self, name: &str) -> anyhow::Result<LocalClient> {
        Ok(LocalClient::new(self.state(name).join("agent.sock"), None)?)
    }

    pub fn addresses(&self) -> Vec<(&'static str, SocketAddr)> {
        MACHINES.iter().map(|(name, ip)| (*name, SocketAddr::new(IpAddr::V4(*ip), self.port))).collect()
    }

    /// Ends what the sessions run, so that the daemons need not wait for it.
    pub async fn stop_work(&self) {
        for (machine, session) in [("laptop", "webapp"), ("homeserver", "tests")] {
            let Ok(client) = self.client(machine) else { continue };
            // One that is not there yet has nothing to stop.
            let _ = client.post(&format!("/v1/sessions/{session}/stop"), &serde_json::json!({})).await;
        }
    }

    /// Ends both daemons, and everything that they run.
    pub async fn end(&mut self) {
        for daemon in &mut self.daemons {
            daemon.close_stdin();
        }
        for daemon in &mut self.daemons {
            daemon.end_within(END).await;
        }
        self.daemons.clear();
    }
}

async fn git(dir: &Path, args: &[&str]) -> anyhow::Result<()> {
    let run = shrooms_runner::companion::run_to_end(Path::new("git"), args, dir).await;
    let output = run.context("there is no git here: say what to run instead, for example: demo -- ls -l")?;
    if let Err(why) = output {
        bail!("git {}: {why}", args.join(" "));
    }
    Ok(())
}

/// [`PORT`] if it is free on all addresses, else one that is.
fn free_port() -> anyhow::Result<u16> {
    let free = |port: u16| MACHINES.iter().all(|(_, ip)| TcpListener::bind((*ip, port)).is_ok());
    if free(PORT) {
        return Ok(PORT);
    }
    for _ in 0..20 {
        let any = TcpListener::bind((MACHINES[0].1, 0)).context("no free port")?.local_addr()?.port();
        if free(any) {
            return Ok(any);
        }
    }
    bail!("no port is free on both 127.0.0.1 and 127.0.0.2")
}
