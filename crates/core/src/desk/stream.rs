//! Lanes whose harness is a program that stays: several messages, several turns, one process. A
//! run of it is a `Turn` row with `busy` saying whether it works; what is written to it are
//! deliveries, each attempted in that run and taken when the harness says so. After the run is
//! lost, the conversation that the harness kept decides what was read (`design.md`, "Exactly once").

use crate::id::{DeliveryNo, LaneNo, TaskNo, TurnNo};
use crate::principal::Principal;
use crate::row::{Delivery, DeliveryKind, DeliveryState, Ending, Spent, Turn, TurnState};
use crate::text::Text;
use crate::time::Now;

use super::{Desk, Mutant, Retry};

impl Desk {
    /// Writes what may be written now: into a turn that works only what belongs to it, else the
    /// next thing in order. Starts the program when there is something to write and none runs.
    pub(super) fn advance_stream(&mut self, now: &Now, lane_no: LaneNo) {
        // Bounded: each round makes an attempt of one more delivery, or ends.
        while let Some(next) = self.next_of_stream(now, lane_no) {
            let busy = self.lanes.get(lane_no).and_then(|l| l.turn).and_then(|no| self.turns.get(no));
            if !busy.is_some_and(|t| t.busy) && !self.may_begin(lane_no) {
                return;
            }
            self.attempt_in_run(now, lane_no, next);
        }
    }

    fn next_of_stream(&mut self, now: &Now, lane_no: LaneNo) -> Option<DeliveryNo> {
        let lane = self.lanes.get(lane_no)?.clone();
        let run = lane.turn.and_then(|no| self.turns.get(no)).cloned();
        let mut busy = false;
        if let Some(run) = &run {
            // What is being ended, or was lost, takes nothing more.
            if run.state != TurnState::Running || run.boot != self.meta.boot {
                return None;
            }
            busy = run.busy;
        }
        let planned: Vec<DeliveryNo> = self.index.planned.get(&lane_no).into_iter().flatten().copied().collect();
        // Nothing is written to a program that waits for a person.
        if self.is_prompting(lane_no) {
            return None;
        }
        let fits = |d: &&std::sync::Arc<Delivery>| self.fits(d, busy, lane.holder);
        let next = planned.iter().filter_map(|no| self.deliveries.get(*no)).filter(fits);
        if let Some(delivery) = next.min_by_key(|d| (rank(d), d.no)) {
            return Some(delivery.no);
        }
        if busy || lane.holder.is_some() && !self.breaks(Mutant::SharesLane) {
            return None;
        }
        let &(_, task) = self.index.queue.get(&lane_no)?.first()?;
        if self.tasks.get(task).is_some_and(|t| t.fresh) && !self.is_fresh(now, lane_no, task) {
            // One that was rejected makes room for the next; what its end brought may have begun by now.
            let rejected = self.tasks.get(task).is_none_or(|t| !t.open());
            return if rejected { self.next_of_stream(now, lane_no) } else { None };
        }
        // What is not begun stays in the queue.
        if !self.may_begin(lane_no) {
            return None;
        }
        Some(self.plan_task(lane_no, task)?.no)
    }

    /// Whether a task that is to begin on a fresh conversation may be begun now; what has to be done
    /// before it is. One that may not be fresh any more is rejected.
    fn is_fresh(&mut self, now: &Now, lane_no: LaneNo, task: TaskNo) -> bool {
        let Some(lane) = self.lanes.get(lane_no).cloned() else { return false };
        let Some(session) = self.sessions.get(lane.session).cloned() else { return false };
        if !session.fresh_by_agents && self.tasks.get(task).is_some_and(|t| t.sender.principal != Principal::Owner) {
            let why = "'shrooms/fresh' is not possible here any more: the session's owner does not allow it";
            self.end(now, task, Ending::Rejected, &Text::from(why));
            return false;
        }
        if self.is_needed(lane_no, lane.session) {
            return false;
        }
        if lane.turn.is_some() {
            self.renew(now, lane_no);
            return false;
        }
        if lane.used {
            self.renew(now, lane_no);
        }
        true
    }

    /// Whether a delivery may be written now. A task that gave its lane up gets it back only when
    /// nobody has it; two tasks never share a turn.
    pub(super) fn fits(&self, delivery: &Delivery, busy: bool, holder: Option<TaskNo>) -> bool {
        let task = delivery.task.and_then(|no| self.tasks.get(no));
        if delivery.task.is_some() && task.is_none_or(|t| !t.open()) {
            return false;
        }
        match delivery.kind {
            // More on what is being worked on goes into the turn; on what was and gave the lane up,
            // when nobody has it.
            DeliveryKind::Correction if self.first_is_planned(delivery) => false,
            DeliveryKind::Correction => {
                let begun = task.is_some_and(|t| t.delivered.is_some());
                delivery.task == holder || !busy && holder.is_none() && begun
            }
            DeliveryKind::Say => true,
            _ if busy => false,
            // What waits for its asker does not have the lane.
            DeliveryKind::Task | DeliveryKind::Recover | DeliveryKind::Reminder
                if task.is_some_and(|t| t.awaits_asker()) =>
            {
                false
            }
            _ => match self.holds(delivery) {
                Some(task) => holder.is_none_or(|held| held == task),
                None => true,
            },
        }
    }

    /// Whether what a correction is more on is still to be written itself.
    fn first_is_planned(&self, more: &Delivery) -> bool {
        let planned = self.index.planned.get(&more.lane).into_iter().flatten();
        let first = |d: &Delivery| matches!(d.kind, DeliveryKind::Task | DeliveryKind::Answer | DeliveryKind::Recover);
        planned.filter_map(|no| self.deliveries.get(*no)).any(|d| d.task == more.task && first(d))
    }

    /// The task that has the lane with a delivery. News for one that waits for its asker does not
    /// give it the lane.
    fn holds(&self, delivery: &Delivery) -> Option<TaskNo> {
        let task = delivery.task.and_then(|no| self.tasks.get(no))?;
        match delivery.kind {
            DeliveryKind::Say | DeliveryKind::Wake => None,
            DeliveryKind::Result | DeliveryKind::Recap if task.blocked || task.stalled => None,
            _ => Some(task.no),
        }
    }

    fn attempt_in_run(&mut self, now: &Now, lane_no: LaneNo, no: DeliveryNo) {
        let Some(delivery) = self.deliveries.get(no).cloned() else { return };
        let running = self.lanes.get(lane_no).and_then(|l| l.turn);
        let run = match running {
            Some(run) => run,
            None => {
                let run = TurnNo(self.next());
                self.insert_turn(Turn {
                    no: run,
                    session: delivery.session,
                    lane: lane_no,
                    boot: now.boot,
                    attempt: 1,
                    cause: no,
                    task: None,
                    stream: true,
                    busy: true,
                    of: self.run_of(delivery.session),
                    busy_since: None,
                    used_by: None,
                    mark: None,
                    answers: Vec::new(),
                    counted: false,
                    background: Vec::new(),
                    interrupts: 0,
                    state: TurnState::Running,
                    stopping: false,
                    how: None,
                    begun: now.stamp(),
                    ended: None,
                });
                run
            }
        };
        let attempt = delivery.attempt + 1;
        let extra = match delivery.kind {
            DeliveryKind::Correction => Vec::new(),
            _ => self.take_along(lane_no, &delivery),
        };
        self.edit_delivery(no, |d| {
            d.state = DeliveryState::Attempting;
            d.attempt = attempt;
            d.run = Some(run);
            d.extra.extend(extra);
        });
        let holds = self.holds(&delivery);
        let begins = self.turns.get(run).is_some_and(|t| !t.busy || t.used_by.is_none());
        self.joins_turn(now, run, &delivery, begins);
        self.edit_turn(run, |t| {
            t.busy = true;
            t.task = delivery.task.or(t.task);
        });
        self.edit_lane(lane_no, |l| {
            l.turn = Some(run);
            l.used |= delivery.kind != DeliveryKind::Wake;
            l.holder = holds.or(l.holder);
            l.not_before = None;
            l.waits_for = String::new();
        });
    }

    /// The harness has a delivery.
    pub(super) fn taken(&mut self, now: &Now, run: &Turn, no: DeliveryNo, attempt: u32) {
        let Some(delivery) = self.deliveries.get(no).cloned() else { return };
        if delivery.run == Some(run.no) && delivery.attempt == attempt {
            if !run.busy {
                self.joins_turn(now, run.no, &delivery, true);
            }
            self.edit_turn(run.no, |t| t.busy = true);
            self.took(now, &delivery);
            // What is worked on has the lane, also where it gave it up before it was read.
            let works = |no: &TaskNo| self.tasks.get(*no).is_some_and(|t| t.open() && !t.blocked && !t.waiting);
            let free = self.lanes.get(run.lane).is_some_and(|l| l.holder.is_none());
            if let Some(task) = self.holds(&delivery).filter(works).filter(|_| free) {
                self.edit_lane(run.lane, |l| l.holder = Some(task));
                self.advance(now, run.lane);
            }
        }
    }

    /// A turn began; one that nobody asked for is that of the task that has the lane.
    pub(super) fn busy(&mut self, now: &Now, run: &Turn) {
        let holder = self.lanes.get(run.lane).and_then(|l| l.holder);
        if !run.busy {
            self.own_turn(now, run);
            self.edit_turn(run.no, |t| {
                t.busy = true;
                t.task = holder;
            });
            // What waited for room goes into a turn that runs.
            self.advance(now, run.lane);
        }
    }

    /// A turn is over.
    pub(super) fn idle(&mut self, now: &Now, run: &Turn, words: &Text, spent: Spent) {
        self.spend(now, run, spent);
        let last = (!words.is_empty()).then(|| self.keep(words));
        // What has been written and not been taken yet begins the next turn by itself.
        let written = self.of_run(run.no).into_iter().filter_map(|no| self.deliveries.get(no));
        let unread: Vec<_> = written.filter(|d| d.state == DeliveryState::Attempting).cloned().collect();
        self.edit_turn(run.no, |t| {
            t.busy = !unread.is_empty();
            t.task = unread.iter().find_map(|d| d.task);
        });
        for delivery in &unread {
            self.joins_turn(now, run.no, delivery, false);
        }
        self.edit_lane(run.lane, |l| {
            l.quiet_since = now.served;
            // A turn that a limit did not cut off.
            l.resumed &= l.limited.is_some();
        });
        for no in self.of_run(run.no) {
            if self.deliveries.get(no).is_some_and(|d| d.state == DeliveryState::Taken) {
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                self.forget_telling(now, no);
            }
        }
        let holder = self.lanes.get(run.lane).and_then(|l| l.holder);
        if let (Some(task), Some(_)) = (holder, last) {
            self.edit_task(task, |t| {
                t.last_words = last;
                t.changed = now.stamp();
                t.seq += 1;
            });
        }
        // Calls that were answered are in the conversation by now, or never will be.
        self.end_offers(now, run.session, false);
        // What came to be written just now goes on with it.
        if !self.turns.get(run.no).is_some_and(|t| t.busy) {
            self.let_wait(now, run.lane);
        }
        self.turn_over(now, run.lane);
        if self.lanes.get(run.lane).is_some_and(|l| l.recap) && !self.is_gone(run.session) {
            self.plan_recap(run.session, run.lane);
        }
        self.advance(now, run.lane);
    }

    /// A task whose turn is over and that waits for an ask of its own gives its lane up meanwhile:
    /// two agents that ask each other both go on.
    fn let_wait(&mut self, now: &Now, lane: LaneNo) {
        let Some(holder) = self.lanes.get(lane).and_then(|l| l.holder) else { return };
        let session = self.tasks.get(holder).map(|t| t.session);
        // A question that it was told waits for the task, not the task for it.
        let asks = |a: &crate::row::Ask| a.told && super::results::has_outcome(a);
        let is = |a: &std::sync::Arc<crate::row::Ask>| a.parent == Some(holder) && a.open() && !asks(a);
        let waits = session.is_some_and(|uid| self.asks_of(uid).any(is));
        let unread = self.planned_for(lane, holder);
        if waits && !unread && self.tasks.get(holder).is_some_and(|t| t.open()) {
            self.edit_task(holder, |t| {
                t.waiting = true;
                t.changed = now.stamp();
                t.seq += 1;
            });
            self.edit_lane(lane, |l| l.holder = None);
        }
    }

    /// Whether something is still to be written to a task.
    pub(super) fn planned_for(&self, lane: LaneNo, task: TaskNo) -> bool {
        let planned = self.index.planned.get(&lane).into_iter().flatten();
        planned.filter_map(|no| self.deliveries.get(*no)).any(|d| d.task == Some(task))
    }

    /// What the session owes and has asked is said to it again, where there is anything.
    pub(super) fn plan_recap(&mut self, session: crate::id::SessionUid, lane: LaneNo) {
        self.edit_lane(lane, |l| l.recap = false);
        let holder = self.lanes.get(lane).and_then(|l| l.holder);
        let owes = self.index.open.get(&lane).into_iter().flatten().filter_map(|no| self.tasks.get(*no));
        let owes = owes.filter(|t| t.dispatched).count() > 0;
        let asks = self.asks_of(session).any(|a| a.open());
        if owes || asks {
            let no = DeliveryNo(self.next());
            let recap = Delivery { task: holder, ..Delivery::planned(no, session, lane, DeliveryKind::Recap) };
            self.insert_delivery(recap);
        }
    }

    /// What was to be written turned out to hold nothing.
    pub(super) fn not_needed(&mut self, run: &Turn, no: DeliveryNo, attempt: u32) {
        let ours = |d: &Delivery| d.run == Some(run.no) && d.attempt == attempt && d.state == DeliveryState::Attempting;
        if self.deliveries.get(no).is_some_and(|d| ours(d)) {
            self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
        }
    }

    /// The harness will not give a message to its model. It is written again, three times.
    pub(super) fn not_run(&mut self, now: &Now, run: &Turn, no: DeliveryNo, attempt: u32) {
        let Some(delivery) = self.deliveries.get(no).cloned() else { return };
        let ours = delivery.run == Some(run.no) && delivery.attempt == attempt;
        if !ours || delivery.state != DeliveryState::Attempting {
            return;
        }
        let given_up = self.missed(now, no, Retry::Counted) >= super::observe::MISSES;
        let over = delivery.task.is_some_and(|t| self.tasks.get(t).is_none_or(|t| !t.open()));
        // A person's message and a result wait for the session to start again.
        let waits = matches!(delivery.kind, DeliveryKind::Say | DeliveryKind::Result);
        let gone = self.is_gone(run.session);
        let ends = gone || !waits && (given_up || over);
        self.edit_delivery(no, |d| {
            d.state = if ends { DeliveryState::Ended } else { DeliveryState::Planned };
            d.run = None;
            d.task = d.task.filter(|_| ends || !over);
        });
        match gone {
            true => self.forget_telling(now, no),
            false => {
                self.renew_result(no);
                self.renew_reminder(no);
            }
        }
        let why = "its program did not take it, three times in ten minutes";
        if given_up && waits {
            let session = self.sessions.get(run.session).cloned();
            self.cannot_start(now, session.as_deref(), why);
        } else if let (Some(task), true) = (delivery.task, given_up) {
            self.end(now, task, Ending::Failed, &Text::from(why));
        }
        self.advance(now, run.lane);
    }

    pub(super) fn of_run(&self, run: TurnNo) -> Vec<DeliveryNo> {
        self.index.written.get(&run).into_iter().flatten().copied().collect()
    }
}

/// What goes first: what was begun before, then what a crash cut off, what a person says, then
/// answers, results, and what was said more.
fn rank(delivery: &Delivery) -> u8 {
    match delivery.kind {
        _ if delivery.attempt > 0 => 0,
        DeliveryKind::Recover | DeliveryKind::Recap => 1,
        DeliveryKind::Reminder => 7,
        DeliveryKind::Say => 2,
        DeliveryKind::Answer => 3,
        DeliveryKind::Result => 4,
        DeliveryKind::Correction => 5,
        DeliveryKind::Task => 6,
        DeliveryKind::Wake => 8,
    }
}
