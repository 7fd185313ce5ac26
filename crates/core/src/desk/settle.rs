//! After a program that stays has ended: what became of what was written to it. The conversation
//! that the harness kept decides what was read; what was read and cut off is recovered, never
//! repeated (`design.md`, "Exactly once").

use std::sync::Arc;

use crate::id::{DeliveryNo, LaneNo, SessionUid, TaskNo};
use crate::row::{Delivery, DeliveryKind, DeliveryState, Ending, EventKind, Turn, TurnHow, TurnState};
use crate::text::Text;
use crate::time::Now;

use super::{Desk, Exit, Landed, Mutant};

/// A program that ended by itself so often …
const CRASHES: usize = 3;
/// … within ten minutes of served time is not started again by itself (`spec/runner.md`).
const CRASHES_WITHIN_MS: i64 = 600_000;

impl Desk {
    /// The process has ended. If everything that was written is over, so is the run; else what
    /// became of it must be looked up.
    pub(super) fn stream_ended(&mut self, now: &Now, run: &Turn, exit: &Exit) {
        let open = |no: &DeliveryNo| self.deliveries.get(*no).is_some_and(|d| d.state != DeliveryState::Ended);
        if run.busy || self.of_run(run.no).iter().any(open) {
            self.edit_turn(run.no, |t| t.state = TurnState::Lost);
            self.end_prompts(now, run.no);
            return;
        }
        self.settled_run(now, run, TurnHow::Exit(exit.code), Some(exit));
    }

    /// What the conversation says of everything that was written in a lost run.
    pub(super) fn stream_settled(
        &mut self,
        now: &Now,
        run: &Turn,
        began: bool,
        exit: Option<&Exit>,
        landed: &[(DeliveryNo, Landed)],
    ) {
        let said = |no: DeliveryNo| landed.iter().find(|(n, _)| *n == no).map_or(Landed::Unknown, |(_, l)| *l);
        let mut recover: Vec<TaskNo> = Vec::new();
        let (mut written, mut any_read) = (false, false);
        for no in self.of_run(run.no) {
            let Some(delivery) = self.deliveries.get(no).cloned() else { continue };
            if matches!(delivery.state, DeliveryState::Attempting | DeliveryState::Taken) {
                let read = if began { said(no) } else { Landed::No };
                (written, any_read) = (true, any_read || read != Landed::No);
                recover.extend(self.settle_delivery(now, &delivery, read));
            }
        }
        // A turn that nobody asked for may have been cut off, too; one that was only about to begin was not.
        let cut_off = run.busy && began && (any_read || !written);
        let holder = self.lanes.get(run.lane).and_then(|l| l.holder);
        recover.extend(holder.filter(|no| cut_off && !self.planned_for(run.lane, *no)));
        recover.sort();
        recover.dedup();
        for task in recover {
            if self.tasks.get(task).is_some_and(|t| t.open() && !t.awaits_asker()) && !self.is_gone(run.session) {
                self.plan_recover(run.session, run.lane, task);
            }
        }
        let idle = self.index.planned.get(&run.lane).is_none_or(std::collections::BTreeSet::is_empty);
        if cut_off && idle && !self.is_gone(run.session) {
            self.plan_recap(run.session, run.lane);
        }
        let how = if began { TurnHow::Interrupted } else { TurnHow::NeverBegan };
        self.settled_run(now, run, how, exit);
    }

    fn settled_run(&mut self, now: &Now, run: &Turn, how: TurnHow, exit: Option<&Exit>) {
        self.close(now, run, how);
        // Whether the return of a call was read before the end cannot be said.
        self.end_offers(now, run.session, true);
        let ours = run.stopping || run.boot != self.meta.boot || exit.is_some_and(|e| e.stopped);
        if !ours {
            self.crashed(now, run, exit);
        }
        self.advance(now, run.lane);
    }

    /// Counts an end that nobody asked for; the third within the time stops the session, and fails
    /// the task that was being worked on.
    fn crashed(&mut self, now: &Now, run: &Turn, exit: Option<&Exit>) {
        let mut crashes = 0;
        self.edit_lane(run.lane, |l| {
            l.crashes.retain(|at| now.served - at < CRASHES_WITHIN_MS);
            l.crashes.push(now.served);
            crashes = l.crashes.len();
        });
        let session = self.sessions.get(run.session).cloned();
        let name = session.as_ref().map(|s| s.name.clone()).unwrap_or_default();
        let last = exit.map(|e| e.words.as_str().trim().to_string()).unwrap_or_default();
        let said = if last.is_empty() { String::new() } else { format!(": {}", crate::text::cut(&last, 500)) };
        self.line(run.session, format!("its program ended by itself{said}"));
        self.event(now, EventKind::Session, Some(&name), None, "crashed", &last);
        if crashes < CRASHES {
            return;
        }
        self.edit_lane(run.lane, |l| l.crashes.clear());
        let why = "its program ended by itself, three times in ten minutes";
        self.cannot_start(now, session.as_deref(), why);
        let holder = self.lanes.get(run.lane).and_then(|l| l.holder);
        if let Some(task) = holder.or(run.task).filter(|no| self.tasks.get(*no).is_some_and(|t| t.open())) {
            let said = if last.is_empty() { why.to_string() } else { format!("{why}\n\n{last}") };
            self.end(now, task, Ending::Failed, &Text::new(said));
        }
    }

    /// One delivery of a lost run; the task that is to be told of what was cut off.
    fn settle_delivery(&mut self, now: &Now, delivery: &Arc<Delivery>, read: Landed) -> Option<TaskNo> {
        let no = delivery.no;
        let over = delivery.task.is_some_and(|t| self.tasks.get(t).is_none_or(|t| !t.open()));
        let again = |d: &mut Delivery| {
            d.state = DeliveryState::Planned;
            d.run = None;
        };
        let mut recover = None;
        match (read, delivery.kind) {
            _ if self.is_gone(delivery.session) => self.edit_delivery(no, |d| d.state = DeliveryState::Ended),
            (Landed::No, _) if self.breaks(Mutant::LosesUnread) => {
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
            }
            (Landed::Yes, _) if self.breaks(Mutant::WritesAgain) && !over => self.edit_delivery(no, again),
            (_, DeliveryKind::Result) => {
                self.edit_delivery(no, |d| {
                    again(d);
                    d.repeat |= read != Landed::No;
                    // A task that ended meanwhile takes no lane any more.
                    d.task = d.task.filter(|_| !over);
                });
                self.renew_result(no);
            }
            (Landed::No, kind) if !over && kind != DeliveryKind::Reminder => {
                self.edit_delivery(no, again);
                self.recount_unread(delivery);
            }
            (_, DeliveryKind::Reminder) => {
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                recover = delivery.task.filter(|_| read != Landed::No);
            }
            (_, DeliveryKind::Recap) => {
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                self.edit_lane(delivery.lane, |l| l.recap = true);
            }
            (_, DeliveryKind::Say) => {
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                let name = self.session_name(delivery.session);
                let what = match read {
                    Landed::Unknown => "whether your message was read cannot be said; it is not repeated",
                    _ => "your message was read; what was done about it was cut off",
                };
                self.event(now, EventKind::Session, Some(&name), None, "cut-off", what);
            }
            _ => {
                if read == Landed::Yes {
                    self.took(now, delivery);
                }
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                recover = delivery.task;
            }
        }
        if self.deliveries.get(no).is_some_and(|d| d.state == DeliveryState::Ended) {
            self.forget_telling(now, no);
        }
        recover
    }

    fn plan_recover(&mut self, session: SessionUid, lane: LaneNo, task: TaskNo) {
        let text = self.tasks.get(task).map(|t| t.request);
        let no = DeliveryNo(self.next());
        self.insert_delivery(Delivery {
            task: Some(task),
            text,
            ..Delivery::planned(no, session, lane, DeliveryKind::Recover)
        });
    }

    /// The program could not be started: what was to be written is planned again, and given up
    /// when that was the third time.
    pub(super) fn stream_never_began(&mut self, now: &Now, run: &Turn, given_up: Option<&str>) {
        for no in self.of_run(run.no) {
            let Some(delivery) = self.deliveries.get(no).cloned() else { continue };
            if delivery.state == DeliveryState::Ended {
                continue;
            }
            let over = delivery.task.is_some_and(|t| self.tasks.get(t).is_none_or(|t| !t.open()));
            // A person's message and a result wait for the session to start again.
            let waits = matches!(delivery.kind, DeliveryKind::Say | DeliveryKind::Result);
            let ends = over && !waits || given_up.is_some() && no == run.cause && !waits || self.is_gone(run.session);
            self.edit_delivery(no, |d| {
                d.state = if ends { DeliveryState::Ended } else { DeliveryState::Planned };
                d.run = None;
                // A task that ended meanwhile takes no lane any more.
                d.task = d.task.filter(|_| ends || !over);
            });
            match ends {
                true => self.forget_telling(now, no),
                false => {
                    self.renew_result(no);
                    self.renew_reminder(no);
                }
            }
            if let (Some(why), Some(task), true) = (given_up, delivery.task, no == run.cause && !waits) {
                let text = format!("could not be started, three times in ten minutes: {why}");
                self.end(now, task, Ending::Failed, &Text::new(text));
            }
        }
    }
}
