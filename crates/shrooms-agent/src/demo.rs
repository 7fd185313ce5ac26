//! `shrooms-agent demo`: two machines in miniature on this one, and the main job between them.
//! Everything it shows is real: two daemons, two sessions, one asks the other by the same command
//! line that a person has. It leaves nothing behind.

mod scene;
mod show;

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::context::{Place, task_path};
use crate::env;
use crate::report::{Exit, Failure};
use scene::Scene;
use show::Show;

/// How long the task of `--once` may take.
const ONCE: Duration = Duration::from_secs(600);

const EXAMPLES: &str = "\
Examples:
  shrooms-agent demo
  shrooms-agent demo -- cargo test
  shrooms-agent demo --once -- git log --oneline -5";

/// See the main job: two machines in miniature, one asks the other
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// End after the first task: exit status 0 if it completed, 2 if it failed
    #[arg(long)]
    once: bool,
    /// What homeserver/tests runs for each task [default: git log --oneline -5]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the demo.
///
/// # Errors
/// A machine could not be made, or the task did not come to its end.
pub fn run(args: Args, _place: &Place) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    Ok(runtime.block_on(show(&args))?)
}

async fn show(args: &Args) -> anyhow::Result<Exit> {
    let show = Show::new();
    let mut scene = Scene::make()?;
    let outcome = tokio::select! {
        outcome = play(args, &mut scene, &show) => outcome,
        signal = interrupted() => signal.map(|()| Exit::Interrupted),
    };
    let interrupted = matches!(outcome, Ok(Exit::Interrupted));
    if interrupted {
        show.line("\nending both machines …");
        scene.stop_work().await;
    }
    scene.end().await;
    // Ctrl-C is how the demo is ended; only in --once it means that there is no result.
    if interrupted && !args.once { Ok(Exit::Done) } else { outcome }
}

async fn interrupted() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = int.recv() => {}
        _ = term.recv() => {}
    }
    Ok(())
}

async fn play(args: &Args, scene: &mut Scene, show: &Show) -> anyhow::Result<Exit> {
    show.line("Two machines in miniature: laptop and homeserver, each a daemon of its own.");
    scene.start().await?;
    let command = if args.command.is_empty() {
        ["git", "log", "--oneline", "-5"].map(str::to_string).to_vec()
    } else {
        args.command.clone()
    };
    let dir = if args.command.is_empty() { scene.repository().await? } else { env::directory()? };
    let home = scene.client("homeserver")?;
    let laptop = scene.client("laptop")?;
    let tests = json!({"name": "tests", "dir": dir, "command": command});
    home.post("/v1/sessions", &tests).await.context("the session homeserver/tests could not be made")?;
    let asker = [
        &env::this_program()?.display().to_string(),
        "a2a",
        "send",
        "--wait",
        "--title",
        "Demo",
        "homeserver/tests",
        "-",
    ];
    let webapp = json!({"name": "webapp", "dir": scene.dir(), "command": asker});
    laptop.post("/v1/sessions", &webapp).await.context("the session laptop/webapp could not be made")?;

    show.line(&format!("homeserver/tests runs, for each task: {}", show::shell_line(&command)));
    show.line("laptop/webapp asks it, with the same command that you would type.\n");
    let events = home.events("/v1/events?after=0").await.context("no events from homeserver")?;
    let request = "Please run your command and tell me what it says.";
    let ask = json!({"to": "laptop/webapp", "text": request, "title": "Demo"});
    let asked = laptop.post("/v1/asks", &ask).await.context("laptop/webapp could not be asked")?;
    let outer = asked.pointer("/task/id").and_then(Value::as_str).context("no task id in the answer")?.to_string();

    let program = env::this_program()?;
    let followed = show.follow(events, ("homeserver", "tests"), scene, &program, args.once);
    let id = match tokio::time::timeout(ONCE, followed).await {
        Ok(id) => id?,
        Err(_) => bail!("the task did not end within {} minutes", ONCE.as_secs() / 60),
    };
    let task = home.get(&task_path(&id, "")?).await?;
    let task = task.get("task").cloned().unwrap_or(Value::Null);
    let failed = show.result(&task);
    // The asker has the result in its hands when its own run ends.
    let outer = laptop.get(&task_path(&outer, "?wait=60")?).await?;
    show.asker(outer.get("task").unwrap_or(&Value::Null));
    if args.once {
        show.line("\nTo keep both machines, and to ask them yourself: demo, without --once.");
        return Ok(if failed { Exit::TaskFailed } else { Exit::Done });
    }
    show.next(scene, &id, &program);
    show.line("\nBoth machines go on until Ctrl-C.");
    std::future::pending().await
}
