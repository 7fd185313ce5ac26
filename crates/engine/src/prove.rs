//! Starts a harness once, before a session is made of it: that it is there, comes up, has a login and
//! stays. A session that could never work is refused with the reason. Nothing is kept of a trial, and
//! no message is written in one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use shrooms_core::id;
use shrooms_core::row::Harness;
use shrooms_core::text::cut;
use shrooms_runner::claude::{self, Conversation};
use shrooms_runner::codec::{Codec, Event};
use shrooms_runner::{Ended, Input, Run, RunEvent, RunSpec};
use thiserror::Error;
use tokio::time::{sleep, timeout};

use crate::Engine;
use crate::effects::{make_dir, stream::spec};
use crate::engine::{Inner, random};
use crate::error::EngineError;

/// A harness must be up within 7 s, so that who adds a session hears within 10 (`spec/runner.md`,
/// "Spawned means the harness answered"). Claude Code takes about a second.
const UP: Duration = Duration::from_secs(7);
/// It must stay until 2 s after its start, so that one which dies after a second is found out …
const STAYS: Duration = Duration::from_secs(2);
/// … and for half a second after it said that it is up.
const SETTLES: Duration = Duration::from_millis(500);
/// Between asking it to end and ending it: it has done nothing that could be lost.
const GRACE_MS: u64 = 400;
/// One that is not gone by then, with all that it started, is killed with its launcher.
const ENDS: Duration = Duration::from_millis(1_500);
/// How long what such a launcher leaves may take to end: it is killed outright.
const CLEARED: Duration = Duration::from_secs(2);
/// Bytes of what it printed that a reason holds.
const WHY: usize = 1_000;
/// Trials that may run at once: each is a whole harness.
pub(crate) const AT_ONCE: usize = 4;

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Trial {
    pub harness: Harness,
    /// Absolute path of the directory that it is to work in.
    pub dir: String,
    /// The owner's own arguments.
    pub args: Vec<String>,
    /// A conversation that it must be able to go on in.
    pub conversation: Option<String>,
}

/// A harness that came up and stayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proven {
    /// The login that it found; whether it is accepted shows with the first turn. `None` where it does not
    /// say, and for a command, which has none.
    pub login: Option<String>,
}

/// Why no session can be made of it.
#[derive(Debug, Error)]
pub enum NotProven {
    #[error("{0}")]
    Config(String),
    #[error("{why}{said}")]
    Ended { why: String, said: String },
    #[error(
        "Claude Code is not logged in: run it once yourself (claude) as the user that the daemon runs as, or give the daemon's environment an ANTHROPIC_API_KEY; then add the session again"
    )]
    NoLogin,
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Engine {
    /// Tries a harness; takes about two seconds, and 10 at most. A command is not run: it runs once for
    /// each task.
    ///
    /// # Errors
    /// Why it cannot be a session's.
    pub async fn prove(&self, trial: Trial) -> Result<Proven, NotProven> {
        if !trial.harness.stays() {
            return Ok(Proven::default());
        }
        // Never closed.
        let _place = self.0.trials.acquire().await;
        prove(&self.0, trial).await
    }
}

async fn prove(inner: &Arc<Inner>, trial: Trial) -> Result<Proven, NotProven> {
    let no = format!("{:016x}", random()?);
    // Named like a lane, so that what a crash leaves of it is cleared at the next start.
    let dir = inner.state.join("run").join(format!("lane-trial-{no}"));
    let spec = made(inner, &trial, &no, dir.clone());
    let proven = match spec {
        Ok(spec) => {
            let (lock, mark) = (spec.lock.clone(), spec.mark.clone());
            let (proven, ended) = match shrooms_runner::start(&inner.launcher, &["__run"], spec).await {
                Ok(run) => watched(inner, run).await,
                Err(e) => (Err(NotProven::Config(e.to_string())), true),
            };
            if !ended && let Err(error) = shrooms_runner::clear_leftovers(&lock, &mark, CLEARED, true).await {
                tracing::warn!(%error, "what a trial started does not end");
            }
            proven
        }
        Err(e) => Err(e),
    };
    if let Err(error) = tokio::fs::remove_dir_all(&dir).await {
        tracing::debug!(%error, dir = %dir.display(), "a trial's directory stays behind until the next start");
    }
    proven
}

fn made(inner: &Inner, trial: &Trial, no: &str, dir: PathBuf) -> Result<RunSpec, NotProven> {
    let Harness::Claude { model, .. } = &trial.harness else {
        return Err(NotProven::Config("its harness is not in this version".into()));
    };
    let conversation = match &trial.conversation {
        Some(id) => Conversation::Resume(id.clone()),
        None => Conversation::New(id::trial_id(&inner.incarnation, no)),
    };
    let spec = spec::plain(inner, model.clone(), trial.args.clone(), conversation);
    let program = claude::arguments(&spec).map_err(|e| NotProven::Config(e.to_string()))?;
    let at = dir.join("turn-1");
    make_dir(&at).map_err(|e| NotProven::Config(format!("cannot make {}: {e}", at.display())))?;
    Ok(RunSpec {
        lock: dir.join("lock"),
        dir: at,
        mark: format!("{}/trial-{no}/1", inner.mark),
        program,
        cwd: trial.dir.clone().into(),
        env: BTreeMap::new(),
        env_remove: spec::not_inherited(),
        stdin: Input::Stream,
        grace_ms: GRACE_MS,
    })
}

/// Waits until it is up and has stayed, and ends it; whether it, and all that it started, has ended.
async fn watched(inner: &Inner, mut run: Run) -> (Result<Proven, NotProven>, bool) {
    let begun = inner.clock.monotonic();
    let mut over = Box::pin(sleep(UP));
    let mut codec = claude::Claude::new();
    let mut proven = Proven::default();
    let (mut up, mut no_login, mut last) = (false, false, String::new());
    let mut hello = codec.hello();
    let ended = loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = &mut over => break None,
        };
        match event {
            Some(RunEvent::Started { .. }) => {
                if let Some(line) = hello.take() {
                    // One that does not read it ends, or is not up in time.
                    tokio::select! {
                        _ = run.write(line) => {}
                        () = &mut over => break None,
                    }
                }
            }
            Some(RunEvent::Line(line)) => {
                let mut events = Vec::new();
                codec.feed(&line, &mut events);
                for event in events {
                    match event {
                        Event::Login(Some(found)) => proven.login = Some(found),
                        Event::Login(None) => no_login = true,
                        Event::Ready if !up => {
                            up = true;
                            // Whichever is later.
                            let rest = STAYS.saturating_sub(millis(inner.clock.monotonic() - begun)).max(SETTLES);
                            over = Box::pin(sleep(rest));
                        }
                        Event::TurnEnded(end) => last = end.why.unwrap_or(last),
                        _ => {}
                    }
                }
                if up && no_login {
                    break None;
                }
            }
            Some(RunEvent::Words { line, .. }) => last = line,
            Some(RunEvent::Dropped(_)) => {}
            Some(RunEvent::Ended(ended)) => break Some(ended),
            None => break Some(Ended::Lost),
        }
    };
    let after = inner.clock.monotonic() - begun;
    let mut all_ended = !matches!(ended, Some(Ended::Lost));
    if ended.is_none() {
        run.stop();
        let ends = async {
            loop {
                match run.next().await {
                    Some(RunEvent::Words { line, .. }) => last = line,
                    Some(RunEvent::Ended(Ended::Lost)) | None => break false,
                    Some(RunEvent::Ended(_)) => break true,
                    Some(_) => {}
                }
            }
        };
        all_ended = timeout(ENDS, ends).await.unwrap_or(false);
        if !all_ended {
            run.kill();
        }
    }
    (verdict(ended, up, no_login, proven, &last, after), all_ended)
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

/// What came of a trial.
fn verdict(
    ended: Option<Ended>,
    up: bool,
    no_login: bool,
    proven: Proven,
    last: &str,
    after_ms: i64,
) -> Result<Proven, NotProven> {
    let said = |text: &str| match cut(text.trim(), WHY) {
        text if text.is_empty() => String::new(),
        text => format!(": {text}"),
    };
    match ended {
        None if no_login => Err(NotProven::NoLogin),
        None if up => Ok(proven),
        None => {
            let why = format!("Claude Code did not answer within {} s", UP.as_secs());
            Err(NotProven::Ended { why, said: said(last) })
        }
        Some(Ended::Exit(record)) => {
            let how = match (&record.spawn_error, record.code, record.signal) {
                (Some(why), ..) => return Err(NotProven::Config(format!("Claude Code cannot be started: {why}"))),
                (_, Some(code), _) => format!("ended with exit code {code}"),
                (_, _, Some(signal)) => format!("was ended by signal {signal}"),
                _ => "ended".to_string(),
            };
            let why = format!("Claude Code {how} {:.1} s after its start", millis(after_ms).as_secs_f64());
            let tail = if record.tail.trim().is_empty() { last.to_string() } else { record.tail };
            Err(NotProven::Ended { why, said: said(&tail) })
        }
        Some(Ended::Refused { text, .. }) => Err(NotProven::Config(text)),
        Some(Ended::Lost) => Err(NotProven::Config("its launcher was killed: try again".into())),
    }
}
