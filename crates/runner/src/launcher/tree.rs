//! Watches the program to its end, and ends everything below this process: as a subreaper it gets
//! every orphan back, so that "no child left" means that nothing of the run is alive.
//! It must not know of files or of the daemon.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::Signal;

use super::input::Feed;
use crate::clock::Deadline;
use crate::proc::{self, Signalled};

/// 2 s: the daemon is gone and may be back at once, waiting for the lock.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);
/// 50 ms between looks for newcomers while the tree may end by itself.
const TERM_TICK: Duration = Duration::from_millis(50);
/// 10 ms between rounds of KILL, which usually need one; growing to half a second for what the
/// kernel holds back.
const KILL_TICK: Duration = Duration::from_millis(10);
const KILL_TICK_MAX: Duration = Duration::from_millis(500);
/// 16 scans without a pause while new processes keep appearing: outruns what forks in a loop.
const KILL_ROUNDS: usize = 16;
/// 2 s for output that is still in the pipes: with everything ended only a process outside the
/// tree, to which a pipe was handed, can hold them open.
const DRAIN: Duration = Duration::from_secs(2);
/// 10 s when the daemon holds a stream's last lines up: as long as for the end itself.
const SLOW_DRAIN: Duration = Duration::from_secs(10);

/// What the threads of the launcher tell its main thread.
pub(super) enum Note {
    /// A child was reaped: its number, exit code, signal.
    Reaped(i32, Option<i32>, Option<i32>),
    NoChildren,
    Stop,
    DaemonGone,
    OutputEnded,
}

pub(super) struct Outcome {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stopped: bool,
}

enum Phase {
    Running,
    /// The input is at its end, nothing else was done.
    Closed(Deadline),
    /// TERM was sent to what was there.
    Asked(Deadline),
    Killing(Duration),
}

pub(super) struct Watch {
    notes: Receiver<Note>,
    grace: Duration,
    outputs: usize,
    asked: BTreeSet<(i32, u64)>,
    /// The input of a stream.
    feed: Option<Feed>,
}

impl Watch {
    pub(super) fn new(notes: Receiver<Note>, grace: Duration, feed: Option<Feed>) -> Self {
        // Two streams, stdout and stderr.
        Self { notes, grace, outputs: 2, asked: BTreeSet::new(), feed }
    }

    /// Until the program and everything it started have ended.
    pub(super) fn watch(&mut self, program: i32) -> Outcome {
        let mut outcome = Outcome { code: None, signal: None, stopped: false };
        let mut ended = false;
        let mut phase = Phase::Running;
        loop {
            match self.next(&phase) {
                Some(Note::Reaped(pid, code, signal)) if pid == program && !ended => {
                    ended = true;
                    (outcome.code, outcome.signal) = (code, signal);
                    if matches!(phase, Phase::Running | Phase::Closed(_)) {
                        // What it left in the background does not outlive it.
                        phase = Phase::Asked(Deadline::after(self.grace));
                    }
                }
                Some(Note::NoChildren) => return outcome,
                Some(Note::Stop) => {
                    outcome.stopped |= !ended;
                    if matches!(phase, Phase::Running) {
                        let grace = Deadline::after(self.grace);
                        phase = if self.cut_input() { Phase::Closed(grace) } else { Phase::Asked(grace) };
                    }
                }
                Some(Note::DaemonGone) => {
                    outcome.stopped |= !ended;
                    self.cut_input();
                    let soon = Deadline::after(self.grace.min(ORPHAN_GRACE));
                    phase = match phase {
                        Phase::Running | Phase::Closed(_) => Phase::Asked(soon),
                        Phase::Asked(until) => Phase::Asked(until.min(soon)),
                        killing @ Phase::Killing(_) => killing,
                    };
                }
                Some(Note::OutputEnded) => self.outputs = self.outputs.saturating_sub(1),
                Some(Note::Reaped(..)) | None => {}
            }
            phase = self.act(phase);
        }
    }

    /// Wait for the rest of the output, a bounded time; longer while it waits for the daemon.
    pub(super) fn drain(&mut self, is_stuck: impl Fn() -> bool) {
        let (soon, late) = (Deadline::after(DRAIN), Deadline::after(SLOW_DRAIN));
        while self.outputs > 0 && (!soon.passed() || is_stuck() && !late.passed()) {
            match self.notes.recv_timeout(TERM_TICK) {
                Ok(Note::OutputEnded) => self.outputs -= 1,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// End the input of a stream; false where there is none.
    fn cut_input(&self) -> bool {
        self.feed.as_ref().inspect(|feed| feed.cut()).is_some()
    }

    fn next(&self, phase: &Phase) -> Option<Note> {
        let wait = match phase {
            Phase::Running => return self.notes.recv().ok(),
            Phase::Closed(until) => until.left(),
            Phase::Asked(until) => until.left().min(TERM_TICK),
            Phase::Killing(tick) => *tick,
        };
        self.notes.recv_timeout(wait).ok()
    }

    fn act(&mut self, phase: Phase) -> Phase {
        match phase {
            Phase::Running => Phase::Running,
            Phase::Closed(until) if !until.passed() => Phase::Closed(until),
            Phase::Closed(_) => {
                self.ask();
                Phase::Asked(Deadline::after(self.grace))
            }
            Phase::Asked(until) if !until.passed() => {
                self.ask();
                Phase::Asked(until)
            }
            Phase::Asked(_) => {
                kill_all();
                Phase::Killing(KILL_TICK)
            }
            Phase::Killing(tick) => {
                kill_all();
                Phase::Killing((tick * 2).min(KILL_TICK_MAX))
            }
        }
    }

    /// TERM to each process once, also to those that appear later.
    fn ask(&mut self) {
        for found in below() {
            if self.asked.insert((found.pid, found.start)) {
                proc::signal(&found, Signal::TERM);
            }
        }
    }
}

fn kill_all() {
    let mut seen = BTreeSet::new();
    for _ in 0..KILL_ROUNDS {
        let mut new = false;
        for found in below() {
            if seen.insert((found.pid, found.start)) {
                new |= proc::signal(&found, Signal::KILL) == Signalled::Sent;
            }
        }
        if !new {
            return;
        }
    }
}

/// All living processes below this one; none when `/proc` cannot be read, which the next look may.
fn below() -> Vec<proc::Proc> {
    let Ok(all) = proc::snapshot() else { return Vec::new() };
    proc::descendants(&all, &[proc::own_pid()])
        .iter()
        .filter_map(|pid| all.get(pid))
        .filter(|p| !p.dead)
        .copied()
        .collect()
}
