//! The one thread that owns the desk and the store's writer: takes a batch, has the desk decide
//! each input, commits once, then answers, publishes and starts what is due. If a commit fails,
//! requests are refused and observations are kept and offered again; nothing more is observed
//! meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use shrooms_core::Desk;
use shrooms_core::desk::{Done, EffectKey, EffectKind, Input, LogNote, Request};
use shrooms_core::row::Change;
use shrooms_runner::crash;
use shrooms_store::{LogLine, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};

use crate::clock::Clock;
use crate::effects;
use crate::engine::Inner;
use crate::error::EngineError;

/// Inputs decided between two commits: enough to make a sync worth its while under load, few
/// enough that the first of them does not wait long.
const BATCH: usize = 256;
/// The longest that the desk goes without a look at the time; the watchdog's pass may be shorter.
const PASS: Duration = Duration::from_secs(30);
/// Events are kept for 7 days …
const FEED_MS: i64 = 7 * 86_400_000;
/// … and looked through once an hour.
const PRUNE_EVERY_MS: i64 = 3_600_000;
/// How soon a commit that failed is tried again.
const AGAIN: Duration = Duration::from_millis(500);

pub(crate) enum Message {
    Request(Box<Request>, Reply),
    Stop,
}

type Reply = oneshot::Sender<Result<Done, EngineError>>;

/// Ends the process when the desk's thread panics: a daemon whose desk is dead can promise
/// nothing, and the next start goes on from the rows. Dropped only by a panic.
struct Fault;

impl Drop for Fault {
    fn drop(&mut self) {
        tracing::error!("the desk has a fault: the daemon ends, and its next start goes on from what is committed");
        std::process::abort();
    }
}

pub(crate) struct DeskLoop {
    inner: Arc<Inner>,
    desk: Desk,
    store: Store,
    clock: Clock,
    requests: mpsc::Receiver<Message>,
    observations: mpsc::Receiver<Input>,
    /// Observations that are not committed yet.
    kept: Vec<Input>,
    /// Effects that this boot has started.
    started: BTreeSet<EffectKey>,
    /// Served time was last written at (ms).
    written: i64,
    failing: bool,
    /// When old events were last dropped (wall, ms).
    pruned: i64,
    /// When the desk was last told that time has passed (served, ms).
    ticked: i64,
    /// When orphans were last waited for (served, ms).
    reaped: i64,
}

impl DeskLoop {
    pub(crate) fn new(
        inner: Arc<Inner>,
        desk: Desk,
        store: Store,
        clock: Clock,
        requests: mpsc::Receiver<Message>,
        observations: mpsc::Receiver<Input>,
    ) -> DeskLoop {
        DeskLoop {
            inner,
            desk,
            store,
            clock,
            requests,
            observations,
            kept: Vec::new(),
            started: BTreeSet::new(),
            written: 0,
            failing: false,
            pruned: 0,
            ticked: 0,
            reaped: 0,
        }
    }

    /// Starts the thread; it holds the state's lock until it ends. Effects run on `main`.
    pub(crate) fn start(
        self,
        lock: shrooms_store::Lock,
        stopped: watch::Sender<bool>,
        main: tokio::runtime::Handle,
    ) -> Result<(), EngineError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|e| EngineError::Start(format!("no runtime for the desk: {e}")))?;
        let work = move || {
            let fault = Fault;
            runtime.block_on(self.run(main));
            std::mem::forget(fault);
            drop(lock);
            // Nobody listens when the engine's handles are gone already.
            let _ = stopped.send(true);
        };
        let spawned = std::thread::Builder::new().name("desk".into()).spawn(work);
        spawned.map(|_| ()).map_err(|e| EngineError::Start(format!("no thread for the desk: {e}")))
    }

    async fn run(mut self, main: tokio::runtime::Handle) {
        // Recovery: what the load itself decided is committed and carried out first.
        let mut batch = Vec::new();
        loop {
            self.decide(std::mem::take(&mut batch), &main);
            let wait = self.until_next();
            let failing = self.failing;
            let closed = tokio::select! {
                biased;
                seen = self.observations.recv(), if !failing => match seen {
                    Some(input) => { self.kept.push(input); false }
                    None => true,
                },
                message = self.requests.recv() => match message {
                    Some(Message::Request(request, reply)) => { batch.push((request, reply)); false }
                    Some(Message::Stop) | None => true,
                },
                () = tokio::time::sleep(wait) => false,
            };
            if closed {
                break;
            }
            while !self.failing && self.kept.len() < BATCH {
                match self.observations.try_recv() {
                    Ok(input) => self.kept.push(input),
                    Err(_) => break,
                }
            }
            let mut stop = false;
            while batch.len() < BATCH && !stop {
                match self.requests.try_recv() {
                    Ok(Message::Request(request, reply)) => batch.push((request, reply)),
                    Ok(Message::Stop) => stop = true,
                    Err(_) => break,
                }
            }
            if stop {
                self.decide(std::mem::take(&mut batch), &main);
                break;
            }
        }
        // What was seen last is worth one more commit; what is not committed is found by the next
        // start.
        while let Ok(input) = self.observations.try_recv() {
            self.kept.push(input);
        }
        self.decide(Vec::new(), &main);
        self.store.close();
    }

    fn until_next(&mut self) -> Duration {
        if self.failing {
            return AGAIN;
        }
        let served = self.clock.now().served;
        let due = self.desk.next_wake().map(|at| (at - served).max(1).unsigned_abs());
        let pass = self.pass();
        due.map_or(pass, |ms| Duration::from_millis(ms).min(pass))
    }

    /// The longest that the desk goes without a look at the time.
    fn pass(&self) -> Duration {
        Duration::from_secs(self.inner.settings.watchdog.pass_secs.into()).min(PASS)
    }

    fn decide(&mut self, requests: Vec<(Box<Request>, Reply)>, main: &tokio::runtime::Handle) {
        let now = self.clock.now();
        for input in &self.kept {
            // Observations are not refused.
            let _ = self.desk.handle(now, input.clone());
        }
        let mut answers: Vec<(Reply, Result<Done, EngineError>)> = Vec::new();
        for (request, reply) in requests {
            let loaded = self.store.load(&self.desk.wants(&request));
            let answer = match loaded {
                Ok(loaded) => {
                    self.desk.handle(now, Input::Request(request, Box::new(loaded))).map_err(EngineError::from)
                }
                Err(e) => Err(EngineError::from(e)),
            };
            answers.push((reply, answer));
        }
        let idle = self.kept.is_empty() && answers.is_empty();
        // However much comes in, time passes.
        if idle || now.served - self.ticked >= self.pass().as_millis() as i64 {
            self.ticked = now.served;
            // A tick cannot be refused either.
            let _ = self.desk.handle(now, Input::Tick);
        }
        if idle {
            self.inner.hub.sweep();
            self.inner.followers.sweep();
            self.inner.listeners.sweep();
            if now.served - self.reaped >= PASS.as_millis() as i64 {
                self.reaped = now.served;
                self.inner.reap();
            }
            self.prune(&now);
        }
        let changes = self.desk.take_changes();
        let lines = self.desk.take_lines();
        let only_time = changes.iter().all(|c| matches!(c, Change::Meta(_)));
        let committed = if only_time && now.served - self.written < PASS.as_millis() as i64 {
            Ok(())
        } else {
            self.commit(&changes).inspect(|()| self.written = now.served)
        };
        match committed {
            Ok(()) => {
                self.failing = false;
                self.kept.clear();
                self.desk.settled();
                for (reply, answer) in answers {
                    // Whoever asked may be gone; the answer stands in the store.
                    let _ = reply.send(answer);
                }
                self.inner.hub.publish(&changes);
                for change in &changes {
                    if let Change::Task(task) = change {
                        self.inner.followers.publish(task);
                    }
                }
                self.note(lines);
                self.carry_out(&changes, main);
            }
            Err(error) => self.refuse(answers, &error, now),
        }
    }

    /// Says in the logs of sessions what is committed. A daemon that ends in this moment has not said it.
    fn note(&self, lines: Vec<LogNote>) {
        for LogNote { session, text } in lines {
            let at = self.inner.clock.wall();
            self.inner.log_line(LogLine { seq: 0, session: session.0, at, kind: "note", task: None, text });
        }
    }

    /// Keeps what is over within its age, a piece at a time.
    fn prune(&mut self, now: &shrooms_core::Now) {
        if (now.wall - self.pruned).abs() < PRUNE_EVERY_MS || self.failing {
            return;
        }
        let days = self.inner.settings.limits.keep_days;
        let events = self.store.prune_events(now.wall - FEED_MS).map(|_| ());
        match events.and_then(|()| self.store.prune(now, days)) {
            // The rest with the next tick.
            Ok(true) => {}
            Ok(false) => self.pruned = now.wall,
            Err(error) => {
                self.pruned = now.wall;
                tracing::warn!(%error, "what is old could not be dropped; it is tried again");
            }
        }
    }

    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        crash::point("before_commit");
        self.store.commit(changes)?;
        crash::point("after_commit");
        Ok(())
    }

    /// Nothing of the batch is there: the desk is read again as the store has it.
    fn refuse(&mut self, answers: Vec<(Reply, Result<Done, EngineError>)>, error: &StoreError, now: shrooms_core::Now) {
        if !self.failing {
            tracing::error!(%error, "a commit failed; work that is seen meanwhile is kept and offered again");
        }
        self.failing = true;
        for (reply, answer) in answers {
            let answer = match answer {
                Err(refused @ EngineError::Refused(_)) => Err(refused),
                _ => Err(match error {
                    StoreError::Full { path } => EngineError::DiskFull { path: path.clone() },
                    other => EngineError::Start(format!("the store does not take changes: {other}")),
                }),
            };
            let _ = reply.send(answer);
        }
        let settings = self.inner.settings.clone();
        let place = shrooms_core::desk::Place::new(self.inner.machine(), settings);
        let read = self.store.meta().and_then(|meta| Ok((meta, self.store.open_rows()?)));
        match read {
            Ok((Some(mut meta), open)) => {
                // This boot's number was committed before anything else.
                meta.boot = self.inner.boot;
                self.desk = Desk::load(place, meta, open, &now);
            }
            Ok((None, _)) => tracing::error!("the store has lost its meta row"),
            Err(error) => tracing::error!(%error, "the store cannot be read back"),
        }
    }

    fn carry_out(&mut self, changes: &[Change], main: &tokio::runtime::Handle) {
        for change in changes {
            if let Change::Turn(turn) = change
                && turn.ended.is_some()
            {
                effects::tidy(&self.inner, turn, main);
                self.forget(turn.no.0, u32::MAX);
            }
            match change {
                Change::OutboxGone(no) => self.forget(no.0, u32::MAX),
                Change::Outbox(row) => self.forget(row.no.0, row.tries),
                Change::Ask(ask) => self.forget(ask.no.0, ask.attempt),
                _ => {}
            }
        }
        for effect in self.desk.take_due() {
            if self.inner.draining.is_cancelled() || !self.started.insert(effect.key()) {
                continue;
            }
            effects::start(&self.inner, &self.desk, effect, main);
        }
    }

    /// Forgets started effects of a row up to, and not with, `attempt`: they cannot be due again.
    fn forget(&mut self, row: i64, attempt: u32) {
        let from = EffectKey { row, kind: EffectKind::Run, attempt: 0 };
        let old: Vec<EffectKey> =
            self.started.range(from..).take_while(|k| k.row == row).filter(|k| k.attempt < attempt).copied().collect();
        for key in old {
            self.started.remove(&key);
        }
    }
}
