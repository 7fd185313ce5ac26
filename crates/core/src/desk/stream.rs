//! Lanes whose harness is a program that stays: several messages, several turns, one process. A
//! run of it is a `Turn` row with `busy` saying whether it works; what is written to it are
//! deliveries, each attempted in that run and taken when the harness says so. After the run is
//! lost, the conversation that the harness kept decides what was read (`design.md`, "Exactly once").

use crate::id::{DeliveryNo, LaneNo, TaskNo, TurnNo};
use crate::row::{Delivery, DeliveryKind, DeliveryState, Ending, Turn, TurnHow, TurnState};
use crate::text::Text;
use crate::time::Now;

use super::{Desk, Landed};

impl Desk {
    /// Writes what may be written now: into a turn that works only what belongs to it, else the
    /// next thing in order. Starts the program when there is something to write and none runs.
    pub(super) fn advance_stream(&mut self, now: &Now, lane_no: LaneNo) {
        // Bounded: each round makes an attempt of one more delivery, or ends.
        while let Some(next) = self.next_of_stream(lane_no) {
            self.attempt_in_run(now, lane_no, next);
        }
    }

    fn next_of_stream(&mut self, lane_no: LaneNo) -> Option<DeliveryNo> {
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
        let fits = |d: &&std::sync::Arc<Delivery>| self.fits(d, busy, lane.holder);
        let next = planned.iter().filter_map(|no| self.deliveries.get(*no)).filter(fits);
        if let Some(delivery) = next.min_by_key(|d| (rank(d), d.no)) {
            return Some(delivery.no);
        }
        if busy || lane.holder.is_some() {
            return None;
        }
        let &(_, task) = self.index.queue.get(&lane_no)?.first()?;
        Some(self.plan_task(lane_no, task)?.no)
    }

    /// Whether a delivery may be written now. A task that gave its lane up gets it back only when
    /// nobody has it; two tasks never share a turn.
    fn fits(&self, delivery: &Delivery, busy: bool, holder: Option<TaskNo>) -> bool {
        let task = delivery.task.and_then(|no| self.tasks.get(no));
        if delivery.task.is_some() && task.is_none_or(|t| !t.open()) {
            return false;
        }
        match delivery.kind {
            // More on what is being worked on goes into the turn.
            DeliveryKind::Correction => delivery.task == holder,
            _ if busy => false,
            DeliveryKind::Result => true,
            DeliveryKind::Task | DeliveryKind::Answer | DeliveryKind::Recover => {
                holder.is_none() || holder == delivery.task
            }
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
        self.edit_turn(run, |t| {
            t.busy = true;
            t.task = delivery.task.or(t.task);
        });
        self.edit_lane(lane_no, |l| {
            l.turn = Some(run);
            l.holder = delivery.task.or(l.holder);
            l.not_before = None;
            l.waits_for = String::new();
        });
    }

    /// The harness has a delivery.
    pub(super) fn taken(&mut self, now: &Now, run: &Turn, no: DeliveryNo, attempt: u32) {
        let Some(delivery) = self.deliveries.get(no).cloned() else { return };
        if delivery.run == Some(run.no) && delivery.attempt == attempt {
            self.edit_turn(run.no, |t| t.busy = true);
            self.took(now, &delivery);
        }
    }

    /// A turn began or is over. One that nobody asked for makes the lane busy like any other.
    pub(super) fn busy(&mut self, now: &Now, run: &Turn, busy: bool, words: Option<&Text>) {
        let last = words.filter(|w| !w.is_empty()).map(|w| self.keep(w));
        self.edit_turn(run.no, |t| t.busy = busy);
        if busy {
            return;
        }
        for no in self.of_run(run.no) {
            if self.deliveries.get(no).is_some_and(|d| d.state == DeliveryState::Taken) {
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                self.forget_telling(now, no);
            }
        }
        let holder = self.lanes.get(run.lane).and_then(|l| l.holder);
        if let (Some(task), Some(_)) = (holder, last) {
            self.edit_task(task, |t| t.last_words = last);
        }
        // What has been written and not been taken yet begins the next turn by itself.
        let waiting = self
            .of_run(run.no)
            .iter()
            .any(|no| self.deliveries.get(*no).is_some_and(|d| d.state == DeliveryState::Attempting));
        if waiting {
            self.edit_turn(run.no, |t| t.busy = true);
        }
        self.advance(now, run.lane);
    }

    pub(super) fn of_run(&self, run: TurnNo) -> Vec<DeliveryNo> {
        self.deliveries.iter().filter(|(_, d)| d.run == Some(run)).map(|(no, _)| *no).collect()
    }

    /// The process has ended. If everything that was written is over, so is the run; else what
    /// became of it must be looked up.
    pub(super) fn stream_ended(&mut self, now: &Now, run: &Turn) {
        let open = |d: &Delivery| d.run == Some(run.no) && d.state != DeliveryState::Ended;
        if self.deliveries.iter().any(|(_, d)| open(d)) {
            self.edit_turn(run.no, |t| t.state = TurnState::Lost);
            return;
        }
        self.close(now, run, TurnHow::Exit(None));
        self.advance(now, run.lane);
    }

    /// What the conversation says of everything that was written in a lost run. What was not read
    /// is written again; what was read and cut off is recovered, never repeated; of a result a
    /// repeat is marked.
    pub(super) fn stream_settled(&mut self, now: &Now, run: &Turn, landed: &[(DeliveryNo, Landed)]) {
        let said = |no: DeliveryNo| landed.iter().find(|(n, _)| *n == no).map_or(Landed::Unknown, |(_, l)| *l);
        let mut recover: Vec<TaskNo> = Vec::new();
        let gone = self.is_gone(run.session);
        for no in self.of_run(run.no) {
            let Some(delivery) = self.deliveries.get(no).cloned() else { continue };
            let read = delivery.state == DeliveryState::Taken || said(no) == Landed::Yes;
            match delivery.state {
                DeliveryState::Planned | DeliveryState::Ended => continue,
                _ if gone => self.edit_delivery(no, |d| d.state = DeliveryState::Ended),
                _ if !read && said(no) == Landed::No => self.edit_delivery(no, |d| {
                    d.state = DeliveryState::Planned;
                    d.run = None;
                }),
                _ if delivery.kind == DeliveryKind::Result => {
                    self.edit_delivery(no, |d| {
                        d.state = DeliveryState::Planned;
                        d.run = None;
                        d.repeat = true;
                    });
                    self.renew_result(no);
                }
                _ => {
                    if read {
                        self.took(now, &delivery);
                    }
                    self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
                    recover.extend(delivery.task);
                }
            }
            if self.deliveries.get(no).is_some_and(|d| d.state == DeliveryState::Ended) {
                self.forget_telling(now, no);
            }
        }
        self.close(now, run, if landed.is_empty() { TurnHow::NeverBegan } else { TurnHow::Interrupted });
        recover.dedup();
        for task in recover {
            if self.tasks.get(task).is_some_and(|t| t.open() && !t.awaits_asker()) {
                self.plan_recover(run.session, run.lane, task);
            }
        }
        self.advance(now, run.lane);
    }

    fn plan_recover(&mut self, session: crate::id::SessionUid, lane: LaneNo, task: TaskNo) {
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
            let ends = over || given_up.is_some() && no == run.cause;
            self.edit_delivery(no, |d| {
                d.state = if ends { DeliveryState::Ended } else { DeliveryState::Planned };
                d.run = None;
            });
            if let (Some(why), Some(task), true) = (given_up, delivery.task, no == run.cause) {
                let text = format!("could not be started, three times in ten minutes: {why}");
                self.end(now, task, Ending::Failed, &Text::new(text));
            }
        }
    }
}

/// What goes first: what was begun before, then what a crash cut off, then answers, results, and
/// what was said more.
fn rank(delivery: &Delivery) -> u8 {
    match delivery.kind {
        _ if delivery.attempt > 0 => 0,
        DeliveryKind::Recover => 1,
        DeliveryKind::Answer => 2,
        DeliveryKind::Result => 3,
        DeliveryKind::Correction => 4,
        DeliveryKind::Task => 5,
    }
}
