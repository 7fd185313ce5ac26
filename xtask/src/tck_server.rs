//! `cargo xtask tck-server`: the real daemon with the scripted worker and the test profile, for
//! conformance kits (`docs/conformance.md`). It must not know what a kit asks.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::{Child, Command};

use crate::run::{self, Ended, Interrupted, Stop};
use crate::suites::Line;

/// The session that a kit speaks to.
const SESSION: &str = "tck";
/// A build from nothing on a slow machine.
const BUILD: Duration = Duration::from_secs(1_800);
/// How long the daemon may take until it answers, and to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves until it is stopped. True when it was stopped, and not when the daemon ended by itself.
///
/// # Errors
/// It cannot be built or started; an interrupt while it is built.
pub fn run(root: &Path, port: u16, capabilities: &str) -> Result<bool> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(serve(root, port, capabilities))
}

async fn serve(root: &Path, port: u16, capabilities: &str) -> Result<bool> {
    let mut stop = Stop::new()?;
    let words = "build --locked --quiet -p shrooms-agent -p shrooms-testkit --bin shrooms-agent --bin scripted";
    let args = words.split_whitespace().map(str::to_owned).collect();
    let build = Line { program: "cargo".to_owned(), args, env: Vec::new() };
    if run::run(&build, root, BUILD, None, &mut stop).await? != Ended::Well {
        bail!("the daemon and the scripted worker cannot be built");
    }
    // Beside this program: cargo puts them into one folder.
    let folder = std::env::current_exe()?.parent().map(PathBuf::from).unwrap_or_default();
    let (agent, worker) = (folder.join("shrooms-agent"), folder.join("scripted"));
    let state = std::env::temp_dir().join(format!("shrooms-tck-{}", std::process::id()));
    let served = served(&agent, &worker, &state, port, capabilities, &mut stop).await;
    // Nothing of it is of use to anybody.
    let _ = std::fs::remove_dir_all(&state);
    served
}

async fn served(
    agent: &Path,
    worker: &Path,
    state: &Path,
    port: u16,
    capabilities: &str,
    stop: &mut Stop,
) -> Result<bool> {
    let mut daemon = Command::new(agent)
        .args(["serve", "--mesh", "loopback", "--allow-scripted", "--until-stdin-closes", "--stop-grace", "0.3"])
        .args(["--test-profile", SESSION, "--capabilities", capabilities, "--port", &port.to_string(), "--state"])
        .arg(state)
        .stdin(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", agent.display()))?;
    // A wait for the child would close it, and the daemon drains then.
    let stdin = daemon.stdin.take();
    let added = tokio::select! {
        added = add(agent, worker, state, &mut daemon) => added,
        () = stop.asked() => Err(Interrupted.into()),
    };
    if let Err(error) = added {
        drop(stdin);
        end(&mut daemon).await;
        return Err(error);
    }
    println!("serving for kits at http://localhost:{port} (capabilities: {capabilities}); Ctrl-C ends it");
    let stopped = tokio::select! {
        _ = daemon.wait() => false,
        () = stop.asked() => true,
    };
    drop(stdin);
    end(&mut daemon).await;
    Ok(stopped)
}

/// Adds the session as soon as the daemon answers.
async fn add(agent: &Path, worker: &Path, state: &Path, daemon: &mut Child) -> Result<()> {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let mut add = Command::new(agent);
        add.arg("--state").arg(state);
        add.args(["session", "add", SESSION, "--harness", "scripted", "--dir", "/", "--"]).arg(worker);
        let output = add.stdin(Stdio::null()).output().await.context("cannot add the session")?;
        if output.status.success() {
            return Ok(());
        }
        if let Some(status) = daemon.try_wait()? {
            bail!("the daemon ended ({status}): is the port taken?");
        }
        if tokio::time::Instant::now() > until {
            bail!("the session cannot be added: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Lets it drain, its stdin being closed, and ends it if it does not.
async fn end(daemon: &mut Child) {
    if tokio::time::timeout(PATIENCE, daemon.wait()).await.is_err() {
        eprintln!("warning: the daemon does not end and is killed");
        let _ = daemon.kill().await;
    }
}
