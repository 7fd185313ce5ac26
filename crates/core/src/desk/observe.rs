//! What became of a turn. Never refused; a word whose fence does not fit is late and changes
//! nothing. After a crash the trace decides: an exit is that result; begun without an exit is
//! interrupted; neither means that it never ran, and it is attempted again.

use std::sync::Arc;

use crate::id::{DeliveryNo, LaneNo, SessionUid, TaskNo};
use crate::row::{
    Delivery, DeliveryKind, DeliveryState, Ending, EndsBy, EventKind, Fence, Session, SessionState, Task, Turn,
    TurnHow, TurnState,
};
use crate::text::Text;
use crate::time::Now;

use super::{Desk, Exit, Retry, TurnFact};

/// Starts that came to nothing, of one delivery, before it is given up: three …
pub(super) const MISSES: usize = 3;
/// … within ten minutes of served time (`spec/tasks.md`, "States").
const MISSES_WITHIN_MS: i64 = 600_000;
/// Before a start is tried again that found something of an earlier run: a blink.
const AGAIN_SOON_MS: i64 = 200;
/// Before a start is tried again on a full disk: long enough not to spin, short enough not to be
/// noticed once there is room.
const AGAIN_DISK_MS: i64 = 2_000;
/// Before a start is tried again that failed by itself.
const AGAIN_COUNTED_MS: i64 = 1_000;

impl Desk {
    pub(super) fn observe_turn(&mut self, now: &Now, fence: Fence, fact: TurnFact) {
        let Some(turn) = self.turns.get(fence.turn).cloned() else {
            return;
        };
        if turn.attempt != fence.attempt || turn.boot != fence.boot || turn.state == TurnState::Ended {
            return;
        }
        match fact {
            TurnFact::Conversation { id, noted } => self.edit_lane(turn.lane, |l| {
                l.conversation = Some(id);
                l.noted = noted.or(l.noted.take());
            }),
            TurnFact::Taken { delivery, attempt } => self.taken(now, &turn, delivery, attempt),
            TurnFact::NotRun { delivery, attempt } => self.not_run(now, &turn, delivery, attempt),
            TurnFact::NotNeeded { delivery, attempt } => self.not_needed(&turn, delivery, attempt),
            TurnFact::Prompted { key, about } => self.prompted(now, &turn, key, about),
            TurnFact::PromptGone { key } => self.prompt_gone(now, &turn, &key),
            TurnFact::Seen { call } => self.seen(now, &turn, &call),
            TurnFact::Background { id, what, on } => self.background(now, &turn, id, what, on),
            TurnFact::Limit { until, text } => self.limit(now, &turn, until, &text),
            TurnFact::LongCall { name } => {
                let session = self.session_name(turn.session);
                let what = format!("a call of {name} runs for long");
                self.event(now, EventKind::Session, Some(&session), None, "long-call", &what);
            }
            TurnFact::Compacted => self.edit_lane(turn.lane, |l| l.recap = true),
            TurnFact::Failed { why } => {
                let why = why.map(|why| crate::text::first_line(&why, 200));
                if self.lanes.get(turn.lane).is_some_and(|l| l.failed != why) {
                    self.edit_lane(turn.lane, |l| l.failed = why);
                }
            }
            TurnFact::Busy => self.busy(now, &turn),
            TurnFact::Idle { words, spent } => self.idle(now, &turn, &words, spent),
            TurnFact::Left { used } => self.left(now, &turn, &used),
            TurnFact::Answered { answer, context } => self.answered(&turn, answer, context),
            TurnFact::Account(said) => self.account(now, &turn, said),
            TurnFact::Tool(used) => {
                if let Some(task) = turn.task.filter(|no| self.tasks.get(*no).is_some_and(|t| t.open())) {
                    self.edit_task(task, |t| t.evidence.tool(&used));
                }
            }
            TurnFact::Ended(exit) if turn.stream => match exit.spawn_error {
                None => self.stream_ended(now, &turn, &exit),
                Some(why) => self.never_began(now, &turn, &why, Retry::Counted),
            },
            TurnFact::Trace { began, exit, landed } if turn.stream => {
                self.stream_settled(now, &turn, began, exit.as_ref(), &landed);
            }
            // That it runs says nothing yet of what was written to it.
            TurnFact::Began if turn.stream => {}
            TurnFact::Began => self.began(now, &turn),
            // It was ended, and not by our word: the daemon that watched it is gone, or going.
            TurnFact::Ended(exit) | TurnFact::Trace { exit: Some(exit), .. } if exit.stopped && !turn.stopping => {
                self.interrupted(now, &turn, exit.words.as_str());
            }
            TurnFact::Ended(exit) | TurnFact::Trace { exit: Some(exit), .. } => {
                // What could not be started at all has not been delivered to anybody.
                if exit.spawn_error.is_none() {
                    self.began(now, &turn);
                }
                self.finished(now, &turn, exit);
            }
            TurnFact::Lost => {
                self.edit_turn(turn.no, |t| t.state = TurnState::Lost);
                self.end_prompts(now, turn.no);
            }
            TurnFact::Trace { began: true, exit: None, .. } => self.interrupted(now, &turn, ""),
            // Its worker has spoken: whatever the trace says, it must not run as if it had not.
            TurnFact::Trace { began: false, .. } | TurnFact::NeverBegan { .. } if self.is_taken(&turn) => {
                self.interrupted(now, &turn, "");
            }
            TurnFact::Trace { began: false, exit: None, .. } => {
                let retry = if turn.boot == self.meta.boot { Retry::Counted } else { Retry::Soon };
                self.never_began(now, &turn, "it was cut off before it began", retry);
            }
            TurnFact::NeverBegan { why, retry } => self.never_began(now, &turn, &why, retry),
        }
    }

    fn cause(&self, turn: &Turn) -> Option<Arc<Delivery>> {
        self.deliveries.get(turn.cause).cloned()
    }

    fn is_taken(&self, turn: &Turn) -> bool {
        self.deliveries.get(turn.cause).is_some_and(|d| d.state == DeliveryState::Taken)
    }

    fn task_of(&self, turn: &Turn) -> Option<Arc<Task>> {
        turn.task.and_then(|no| self.tasks.get(no).cloned())
    }

    /// The harness has it. The first sign of life of a program is that it was started, so it is
    /// delivered and begun at once.
    pub(super) fn began(&mut self, now: &Now, turn: &Turn) {
        let Some(delivery) = self.cause(turn) else {
            return;
        };
        self.took(now, &delivery);
    }

    /// A delivery is read, whatever is still on its way.
    pub(super) fn took(&mut self, now: &Now, delivery: &Delivery) {
        if delivery.state != DeliveryState::Attempting {
            return;
        }
        self.edit_delivery(delivery.no, |d| d.state = DeliveryState::Taken);
        self.brought(delivery);
        let task = delivery.task.and_then(|no| self.tasks.get(no)).cloned();
        let Some(task) = task.filter(|t| t.open()) else {
            return;
        };
        if matches!(delivery.kind, DeliveryKind::Result | DeliveryKind::Recap | DeliveryKind::Reminder) {
            // News for it, and no word of whoever asked it.
            if task.waiting {
                self.edit_task(task.no, |t| {
                    t.waiting = false;
                    t.changed = now.stamp();
                    t.seq += 1;
                });
            }
            return;
        }
        let unread = self.unread(delivery.lane, task.no);
        let answers = ends_wait(&task, delivery);
        self.edit_task(task.no, |t| {
            t.delivered.get_or_insert(now.stamp());
            t.started.get_or_insert(now.stamp());
            // Only what the asker said ends a wait for the asker.
            t.blocked &= !answers;
            t.pending = unread;
            t.waiting = false;
            t.hushed = None;
            // Its worker has it again.
            t.stalled = false;
            // Whoever asked has spoken: the ladder begins anew.
            if matches!(delivery.kind, DeliveryKind::Answer | DeliveryKind::Correction) {
                t.nudges = 0;
            }
            t.changed = now.stamp();
            t.seq += 1;
        });
        if self.tasks.get(task.no).is_some_and(|t| t.awaits_asker()) {
            self.release(task.no);
        }
        self.note(now, task.no, "");
        self.tell(now, task.no);
    }

    /// What the asker has said on a task that its worker has not read.
    fn unread(&self, lane: LaneNo, task: TaskNo) -> u32 {
        let said = |d: &Delivery| matches!(d.kind, DeliveryKind::Answer | DeliveryKind::Correction);
        let of_task = self.undelivered(lane).filter(|d| d.task == Some(task));
        of_task.map(|d| u32::from(said(d)) + u32::try_from(d.extra.len()).unwrap_or(u32::MAX)).sum()
    }

    /// What is to be written in a lane, or is written and not taken.
    pub(super) fn undelivered(&self, lane: LaneNo) -> impl Iterator<Item = &Arc<Delivery>> {
        let planned = self.index.planned.get(&lane).into_iter().flatten();
        let run = self.lanes.get(lane).and_then(|l| l.turn);
        let written = run.and_then(|run| self.index.written.get(&run)).into_iter().flatten();
        let rows: std::collections::BTreeSet<DeliveryNo> = planned.chain(written).copied().collect();
        let rows = rows.into_iter().filter_map(|no| self.deliveries.get(no));
        rows.filter(|d| matches!(d.state, DeliveryState::Planned | DeliveryState::Attempting))
    }

    /// What was taken and turned out not to have been read is unread again.
    pub(super) fn recount_unread(&mut self, delivery: &Delivery) {
        let said = matches!(delivery.kind, DeliveryKind::Answer | DeliveryKind::Correction);
        let Some(task) = delivery.task.filter(|_| said) else { return };
        let unread = self.unread(delivery.lane, task);
        self.edit_task(task, |t| {
            t.pending = unread;
            t.seq += 1;
        });
    }

    fn finished(&mut self, now: &Now, turn: &Turn, exit: Exit) {
        let how = if exit.stopped { TurnHow::Stopped } else { TurnHow::Exit(exit.code) };
        self.close(now, turn, how);
        if let Some(task) = turn.task.filter(|no| self.tasks.get(*no).is_some_and(|t| t.open())) {
            self.edit_task(task, |t| {
                t.evidence.turns += 1;
                t.evidence.exit_code = exit.code;
            });
        }
        let session = self.sessions.get(turn.session).cloned();
        if let Some(why) = &exit.spawn_error {
            self.cannot_start(now, session.as_deref(), why);
        }
        self.edit_delivery(turn.cause, |d| d.state = DeliveryState::Ended);
        self.forget_telling(now, turn.cause);
        let spawned = exit.spawn_error.is_none();
        if let Some(task) = self.task_of(turn).filter(|t| t.open() && !(t.blocked && spawned)) {
            let (ending, words) = outcome(&exit);
            // What the asker said meanwhile is read before the end is said: the last run decides.
            let unread = ending == Ending::Completed && self.unread(turn.lane, task.no) > 0;
            if !unread {
                self.end(now, task.no, ending, &words);
            }
        }
        self.advance(now, turn.lane);
    }

    /// Cut off after it had begun; `words` are the last that it said.
    fn interrupted(&mut self, now: &Now, turn: &Turn, words: &str) {
        self.began(now, turn);
        self.close(now, turn, TurnHow::Interrupted);
        let stopping = turn.stopping;
        let again = self.sessions.get(turn.session).is_some_and(|s| s.harness.reruns());
        let open = self.task_of(turn).filter(|t| t.open() && !t.blocked);
        let result = self.cause(turn).filter(|d| d.kind == DeliveryKind::Result);
        match (&open, result) {
            (_, Some(result)) if !stopping && !self.is_gone(turn.session) => {
                self.plan_again(result.no);
                self.renew_result(result.no);
            }
            (Some(_), None) if again && !stopping => self.plan_again(turn.cause),
            (Some(task), None) => {
                self.edit_delivery(turn.cause, |d| d.state = DeliveryState::Ended);
                let said = match words.trim_end() {
                    "" => INTERRUPTED.to_string(),
                    words => format!("{INTERRUPTED}\n\n{words}"),
                };
                self.end(now, task.no, Ending::Failed, &Text::new(said));
            }
            _ => {
                self.edit_delivery(turn.cause, |d| d.state = DeliveryState::Ended);
                self.forget_telling(now, turn.cause);
            }
        }
        self.advance(now, turn.lane);
    }

    fn plan_again(&mut self, no: DeliveryNo) {
        self.edit_delivery(no, |d| {
            d.state = DeliveryState::Planned;
            d.repeat = true;
        });
    }

    fn never_began(&mut self, now: &Now, turn: &Turn, why: &str, retry: Retry) {
        self.close(now, turn, TurnHow::NeverBegan);
        let task = self.task_of(turn);
        if turn.stream {
            self.stream_retry(now, turn, why, retry);
            return;
        }
        let over = turn.task.is_some() && task.as_ref().is_none_or(|t| !t.open());
        if over || self.is_gone(turn.session) {
            self.edit_delivery(turn.cause, |d| d.state = DeliveryState::Ended);
            self.forget_telling(now, turn.cause);
            self.advance(now, turn.lane);
            return;
        }
        self.edit_delivery(turn.cause, |d| d.state = DeliveryState::Planned);
        let misses = self.missed(now, turn.cause, retry);
        self.renew_result(turn.cause);
        if misses >= MISSES {
            let session = self.sessions.get(turn.session).cloned();
            self.cannot_start(now, session.as_deref(), why);
            self.edit_delivery(turn.cause, |d| d.state = DeliveryState::Ended);
            self.forget_telling(now, turn.cause);
            if let Some(task) = task {
                let text = format!("could not be started, three times in ten minutes: {why}");
                self.end(now, task.no, Ending::Failed, &Text::new(text));
            }
        } else {
            self.wait_before_again(now, turn, why, retry);
        }
        self.advance(now, turn.lane);
    }

    /// Counts a start that came to nothing; how many there were within the time.
    pub(super) fn missed(&mut self, now: &Now, no: DeliveryNo, retry: Retry) -> usize {
        let mut misses = 0;
        self.edit_delivery(no, |d| {
            if retry == Retry::Counted {
                d.misses.retain(|at| now.served - at < MISSES_WITHIN_MS);
                d.misses.push(now.served);
                misses = d.misses.len();
            }
        });
        misses
    }

    fn wait_before_again(&mut self, now: &Now, turn: &Turn, why: &str, retry: Retry) {
        let wait = match retry {
            Retry::Soon => AGAIN_SOON_MS,
            Retry::Disk => AGAIN_DISK_MS,
            Retry::Counted => AGAIN_COUNTED_MS,
        };
        self.edit_lane(turn.lane, |l| {
            l.not_before = Some(now.served + wait);
            l.waits_for = crate::text::cut(why, 200);
        });
    }

    /// The same for a program that stays, and for all that was to be written to it.
    fn stream_retry(&mut self, now: &Now, turn: &Turn, why: &str, retry: Retry) {
        let given_up = self.missed(now, turn.cause, retry) >= MISSES;
        self.stream_never_began(now, turn, given_up.then_some(why));
        if given_up {
            let session = self.sessions.get(turn.session).cloned();
            self.cannot_start(now, session.as_deref(), why);
        } else {
            self.wait_before_again(now, turn, why, retry);
        }
        self.advance(now, turn.lane);
    }

    /// A session whose program cannot be started keeps its queue until it is started again.
    pub(super) fn cannot_start(&mut self, now: &Now, session: Option<&Session>, why: &str) {
        let Some(session) = session.filter(|s| s.state == SessionState::Ready) else {
            return;
        };
        let why = crate::text::cut(why, 200);
        self.sessions.edit(session.uid, |s| s.state = SessionState::Stopped { why: why.clone() });
        self.line(session.uid, format!("stopped: {why}"));
        self.event(now, EventKind::Session, Some(&session.name), None, "stopped", &why);
    }

    /// Nothing is brought to a session that was removed.
    pub(super) fn is_gone(&self, session: SessionUid) -> bool {
        self.sessions.get(session).is_none_or(|s| s.removed.is_some())
    }

    pub(super) fn close(&mut self, now: &Now, turn: &Turn, how: TurnHow) {
        self.edit_turn(turn.no, |t| {
            t.state = TurnState::Ended;
            t.how = Some(how);
            t.ended = Some(now.stamp());
        });
        self.end_prompts(now, turn.no);
        self.edit_lane(turn.lane, |l| {
            l.quiet_since = now.served;
            l.turn = None;
            if l.renew {
                l.begin_anew();
            }
            // A program that stays may end between two turns of a task; the task goes on.
            if !turn.stream {
                l.holder = None;
            }
        });
    }
}

const INTERRUPTED: &str = "interrupted: the command was cut off after it had begun (a crash, or the end of its daemon), \
and it was not run again. Send a new message to run it again.";

/// What an exit says of a task whose worker said nothing itself.
fn outcome(exit: &Exit) -> (Ending, Text) {
    let words = exit.words.as_str().trim_end();
    if let Some(why) = &exit.spawn_error {
        return (Ending::Failed, Text::new(format!("could not be started: {why}")));
    }
    let reason = match (exit.code, exit.signal) {
        _ if exit.stopped => "interrupted: its session was stopped".to_string(),
        (Some(0), _) if words.is_empty() => return (Ending::Completed, Text::from("(no output)")),
        (Some(0), _) => return (Ending::Completed, Text::from(words)),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended without an exit code".to_string(),
    };
    let text = if words.is_empty() { reason } else { format!("{reason}\n\n{words}") };
    (Ending::Failed, Text::new(text))
}

/// Only what the asker said ends a wait for the asker; to a program that stays, what was said after
/// the question.
fn ends_wait(task: &Task, delivery: &Delivery) -> bool {
    if task.ends_by == EndsBy::Exit {
        return !(delivery.kind == DeliveryKind::Task && delivery.extra.is_empty());
    }
    let asked = task.question.map_or(0, |q| q.no);
    let said = delivery.text.filter(|_| matches!(delivery.kind, DeliveryKind::Answer | DeliveryKind::Correction));
    said.iter().chain(&delivery.extra).any(|t| t.no > asked)
}
