//! Drives a program that stays: starts it under its launcher, writes to it what the desk has
//! committed, in order, and tells the desk what is seen of it. What happens in the harness comes
//! through its codec; what it means is the desk's.

pub(super) mod count;
mod seen;
pub(crate) mod spec;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use shrooms_core::desk::{Input, Retry, TurnFact};
use shrooms_core::row::{Fence, Lane, PromptAnswer, PromptState, Session};
use shrooms_runner::codec::Codec;
use shrooms_runner::{Ended, Run, RunEvent, WriteError, claude, companion, crash};
use tokio::time::{Sleep, sleep};

use super::run::{ANSWER, exit, lacks_something, log, not_run};
use crate::engine::Inner;
use crate::live::{Begun, Command, Pass, Written};
use crate::wording;
use seen::Seen;

/// How long a program may take to say that it is up: Claude Code takes half a second, and its MCP
/// servers on a slow disk some more.
const UP: Duration = Duration::from_secs(60);
/// A turn that was interrupted and does not stop by then is ended with its program
/// (`spec/tasks.md`, "Cancel").
const INTERRUPTED: Duration = Duration::from_secs(5);
/// It prints its options in less than a second.
const HELP: Duration = Duration::from_secs(10);
/// Claude Code goes on with what a conversation was begun with, whatever a later start says, unless it is
/// told this.
const AFRESH: &str = "--system-prompt-snapshot=off";
/// Bytes of stderr that the reason of a failed start holds.
const WHY: usize = 1_000;

pub(super) async fn run(inner: &Arc<Inner>, fence: Fence, session: Arc<Session>, lane: Option<Arc<Lane>>) {
    let me = inner.clone();
    let of = session.clone();
    let make = move || -> Result<_, (String, Retry)> {
        let lane = lane.ok_or_else(|| ("its conversation is gone".to_string(), Retry::Counted))?;
        let conversation = lane.conversation_id(&me.incarnation);
        let made = spec::of(&me, fence, &of, &lane)?;
        let count = count::prepare(&me, &conversation, &made.spec.dir)?;
        Ok((made, count, conversation))
    };
    let made = tokio::task::spawn_blocking(make).await;
    let fact = match made.unwrap_or_else(|e| Err((format!("internal: {e}"), Retry::Counted))) {
        Ok((made, count, conversation)) => start(inner, fence, session, made, count, conversation).await,
        Err((why, retry)) => TurnFact::NeverBegan { why, retry },
    };
    inner.observe(Input::Turn(fence, fact)).await;
}

async fn start(
    inner: &Arc<Inner>,
    fence: Fence,
    session: Arc<Session>,
    made: spec::Made,
    count: count::Count,
    conversation: String,
) -> TurnFact {
    let spec::Made { mut spec, noted, afresh } = made;
    if afresh && inner.renders_afresh().await {
        spec.program.push(AFRESH.into());
    }
    let pass = match Pass::make() {
        Ok(pass) => pass,
        Err(e) => return TurnFact::NeverBegan { why: format!("no random bits: {e}"), retry: Retry::Counted },
    };
    spec.env.insert("SHROOMS_AGENT_PASS".into(), pass.expose().to_string());
    let begun = inner.live.begin(fence.turn, fence.session, pass);
    if begun.stopped {
        return TurnFact::NeverBegan { why: "it was stopped before it began".into(), retry: Retry::Soon };
    }
    crash::point("before_start");
    let dir = spec.dir.clone();
    let run = match shrooms_runner::start(&inner.launcher, &["__run"], spec).await {
        Ok(run) => run,
        Err(e) => {
            let retry = if lacks_something(&e) { Retry::Disk } else { Retry::Counted };
            return TurnFact::NeverBegan { why: e.to_string(), retry };
        }
    };
    inner.live.started(fence.turn, run.launcher_pid());
    crash::point("after_start");
    let driver = Driver {
        inner: inner.clone(),
        fence,
        session,
        seen: Seen::new(inner.clone(), fence, noted, count),
        codec: Box::new(claude::Claude::new()),
        held: VecDeque::new(),
        lines: VecDeque::new(),
        interrupt_next: false,
        deadline: Some(Box::pin(sleep(UP))),
        overdue: None,
        draining: false,
    };
    let (ended, driver) = driver.drive(run, begun).await;
    match ended {
        // What it was to be given is still held here.
        Ended::Exit(record) if !driver.seen.is_up() && record.spawn_error.is_none() => never_up(&driver, record),
        Ended::Exit(record) => {
            driver.seen.left(conversation).await;
            crash::point("exit_seen");
            TurnFact::Ended(exit(record, None))
        }
        ended => {
            tracing::debug!(dir = %dir.display(), "a run left no exit");
            not_run(inner, fence, ended).await
        }
    }
}

/// It ended before it was ready for anything.
fn never_up(driver: &Driver, record: shrooms_runner::ExitRecord) -> TurnFact {
    if record.stopped && !driver.seen.was_slow {
        return TurnFact::NeverBegan { why: "it was stopped before it was up".into(), retry: Retry::Soon };
    }
    let said = shrooms_core::text::cut(record.tail.trim(), WHY);
    let how = match (driver.seen.was_slow, record.code, record.signal) {
        (true, ..) => format!("it did not answer within {} s", UP.as_secs()),
        (_, Some(code), _) => format!("it ended with exit code {code} before it was up"),
        (_, _, Some(signal)) => format!("it was ended by signal {signal} before it was up"),
        _ => "it ended before it was up".to_string(),
    };
    let why = if said.is_empty() { how } else { format!("{how}: {said}") };
    TurnFact::NeverBegan { why, retry: Retry::Counted }
}

impl Inner {
    /// Whether Claude Code can be told what is true of its session now, in a conversation that was begun
    /// with something else. Versions that know no such option do so anyway. Asked once.
    async fn renders_afresh(&self) -> bool {
        let ask = async {
            let program = std::path::Path::new(&self.harnesses.claude);
            let said = companion::run_to_end(program, &["--help"], std::path::Path::new("/"));
            match tokio::time::timeout(HELP, said).await {
                Ok(Ok(Ok(help))) => help.contains("--system-prompt-snapshot"),
                other => {
                    tracing::warn!(?other, "Claude Code does not say which options it has");
                    false
                }
            }
        };
        *self.afresh.get_or_init(|| ask).await
    }
}

type Writing = Pin<Box<dyn Future<Output = Result<(), WriteError>> + Send>>;

/// A line for the program, and the crash points around it.
struct Line {
    text: String,
    before: &'static str,
    after: &'static str,
}

/// One run, while it goes on.
struct Driver {
    inner: Arc<Inner>,
    fence: Fence,
    session: Arc<Session>,
    seen: Seen,
    codec: Box<dyn Codec>,
    /// Commands that wait until it is up.
    held: VecDeque<Command>,
    lines: VecDeque<Line>,
    /// The turn that is about to begin is interrupted at once.
    interrupt_next: bool,
    /// Until then it must be up, or an interrupted turn must have stopped.
    deadline: Option<Pin<Box<Sleep>>>,
    overdue: Option<Pin<Box<Sleep>>>,
    draining: bool,
}

impl Driver {
    async fn drive(mut self, mut run: Run, begun: Begun) -> (Ended, Driver) {
        let Begun { stop, mut commands, .. } = begun;
        let mut writing: Option<(Writing, &'static str)> = None;
        let patience = self.inner.grace * 3 + ANSWER;
        if let Some(hello) = self.codec.hello() {
            self.lines.push_back(Line { text: hello, before: "stream_started", after: "" });
        }
        let long_call = Duration::from_secs(u64::from(self.inner.settings.watchdog.long_call_secs));
        let mut long: Option<Pin<Box<Sleep>>> = None;
        let mut long_told = false;
        loop {
            if !self.seen.uses_tools() {
                (long, long_told) = (None, false);
            } else if long.is_none() && !long_told {
                long = Some(Box::pin(sleep(long_call)));
            }
            if writing.is_none()
                && let Some(line) = self.lines.pop_front()
            {
                crash::point(line.before);
                writing = Some((Box::pin(run.write(line.text)), line.after));
            }
            let draining = self.inner.draining.clone();
            let event = tokio::select! {
                event = run.next() => event,
                Some(command) = commands.recv() => {
                    self.command(command).await;
                    continue;
                }
                done = written(&mut writing) => {
                    crash::point(done.1);
                    writing = None;
                    // A program that takes nothing more is about to end; its end says what became of it.
                    if let Err(error) = done.0 {
                        tracing::debug!(%error, turn = self.fence.turn.0, "a line was not written");
                        self.lines.clear();
                    }
                    continue;
                }
                () = stop.notified() => {
                    run.stop();
                    self.overdue.get_or_insert_with(|| Box::pin(sleep(patience)));
                    continue;
                }
                () = late(&mut self.overdue) => {
                    tracing::warn!(turn = self.fence.turn.0, "a launcher does not answer a stop: it is killed");
                    run.kill();
                    self.overdue = None;
                    continue;
                }
                () = late(&mut self.deadline), if self.overdue.is_none() => {
                    self.deadline = None;
                    self.seen.was_slow = !self.seen.is_up();
                    tracing::warn!(turn = self.fence.turn.0, up = self.seen.is_up(), "a program does not answer: it is stopped");
                    run.stop();
                    self.overdue = Some(Box::pin(sleep(patience)));
                    continue;
                }
                () = late(&mut long) => {
                    // Told once, however long it goes on.
                    (long, long_told) = (None, true);
                    self.seen.long_call().await;
                    continue;
                }
                () = draining.cancelled(), if !self.draining => {
                    self.draining = true;
                    self.rest(&run, patience);
                    continue;
                }
            };
            match event {
                Some(RunEvent::Line(line)) => {
                    self.line(&line).await;
                    self.rest(&run, patience);
                }
                Some(RunEvent::Started { .. }) => {}
                Some(RunEvent::Words { line, .. }) => log(&self.inner, self.fence, None, "error", line),
                Some(RunEvent::Dropped(n)) => {
                    let text = format!("({n} lines came too fast and were not kept here)");
                    log(&self.inner, self.fence, None, "note", text);
                }
                Some(RunEvent::Ended(ended)) => return (ended, self),
                None => return (Ended::Lost, self),
            }
        }
    }

    /// While the daemon drains, a program is stopped as soon as it rests.
    fn rest(&mut self, run: &Run, patience: Duration) {
        if self.draining && !self.seen.works() && self.overdue.is_none() {
            run.stop();
            self.overdue = Some(Box::pin(sleep(patience)));
        }
    }

    /// What it printed.
    async fn line(&mut self, line: &str) {
        let mut events = Vec::new();
        self.codec.feed(line, &mut events);
        for event in events {
            let was_up = self.seen.is_up();
            if let Some(reply) = self.seen.event(event).await {
                self.lines.push_back(Line { text: reply, before: "", after: "" });
            }
            if self.seen.is_up() && !was_up {
                self.deadline = None;
                for command in std::mem::take(&mut self.held) {
                    self.command(command).await;
                }
            }
            if self.seen.works() && std::mem::take(&mut self.interrupt_next) {
                self.interrupt();
            }
            if self.seen.is_up() && !self.seen.works() && !self.interrupt_next {
                self.deadline = None;
            }
        }
    }

    /// What the desk wants of it.
    async fn command(&mut self, command: Command) {
        if !self.seen.is_up() {
            return self.held.push_back(command);
        }
        match command {
            Command::Write(written) => self.write(*written).await,
            // What was written and not begun would go on after it.
            Command::Interrupt if !self.seen.works() && self.seen.waits() => {
                self.interrupt_next = true;
                self.deadline = Some(Box::pin(sleep(INTERRUPTED)));
            }
            Command::Interrupt if self.seen.works() => self.interrupt(),
            Command::Interrupt => {}
            Command::Answer(prompt) => {
                let line = match &prompt.state {
                    PromptState::Answered { answer: PromptAnswer::Allow { always }, .. } => {
                        self.codec.allow(&prompt.key, always)
                    }
                    PromptState::Answered { answer: PromptAnswer::Deny { why }, .. } => {
                        let why = if why.trim().is_empty() { "Your owner does not allow this." } else { why.as_str() };
                        self.codec.deny(&prompt.key, why)
                    }
                    PromptState::Answered { answer: PromptAnswer::Answers(answers), .. } => {
                        self.codec.answer(&prompt.key, answers)
                    }
                    PromptState::Open | PromptState::Withdrawn { .. } => None,
                };
                if let Some(text) = line {
                    self.lines.push_back(Line { text, before: "before_answer", after: "" });
                }
                let gone = TurnFact::PromptGone { key: prompt.key.clone() };
                self.inner.observe(Input::Turn(self.fence, gone)).await;
            }
        }
    }

    fn interrupt(&mut self) {
        let text = self.codec.interrupt();
        self.lines.push_back(Line { text, before: "", after: "" });
        self.deadline.get_or_insert_with(|| Box::pin(sleep(INTERRUPTED)));
    }

    async fn write(&mut self, written: Written) {
        let id = super::wire_id(&self.inner, &written.delivery);
        let (me, session) = (self.inner.clone(), self.session.clone());
        let (no, attempt) = (written.no, written.attempt);
        let task = written.task.clone();
        let text =
            tokio::task::spawn_blocking(move || wording::for_model(&me.reader, &me.machine(), &session, &written));
        match text.await {
            Ok(Ok(text)) if text.is_empty() => {
                self.inner.observe(Input::Turn(self.fence, TurnFact::NotNeeded { delivery: no, attempt })).await;
                self.seen.rested().await;
            }
            Ok(Ok(text)) => {
                self.seen.write(&id, no, attempt, task, &text);
                let text = self.codec.message(&id, &text);
                self.lines.push_back(Line { text, before: "before_write", after: "after_write" });
            }
            Ok(Err(error)) => self.cannot(no, attempt, &error.to_string()).await,
            Err(error) => self.cannot(no, attempt, &error.to_string()).await,
        }
    }

    async fn cannot(&mut self, no: shrooms_core::id::DeliveryNo, attempt: u32, why: &str) {
        tracing::error!(why, delivery = no.0, "what is to be written cannot be read");
        let fact = TurnFact::NotRun { delivery: no, attempt };
        self.inner.observe(Input::Turn(self.fence, fact)).await;
        self.seen.rested().await;
    }
}

async fn written(writing: &mut Option<(Writing, &'static str)>) -> (Result<(), WriteError>, &'static str) {
    match writing {
        Some((line, after)) => (line.await, after),
        None => std::future::pending().await,
    }
}

async fn late(overdue: &mut Option<Pin<Box<Sleep>>>) {
    match overdue {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}
