//! What a lane does next. One holder, one turn at a time; answers to blocked tasks first, then
//! results of its own asks, then the oldest task (`spec/tasks.md`, "Queue"). An attempt is a row
//! before it is a process.

use crate::id::{DeliveryNo, LaneNo, TaskNo, TurnNo};
use crate::row::{Delivery, DeliveryKind, DeliveryState, Turn, TurnState};
use crate::text::TextRef;
use crate::time::Now;

use super::Desk;

impl Desk {
    /// Starts the next attempt of a lane, if it is free and there is one to make.
    pub(super) fn advance(&mut self, now: &Now, lane_no: LaneNo) {
        let Some(lane) = self.lanes.get(lane_no).cloned() else {
            return;
        };
        let Some(session) = self.sessions.get(lane.session).cloned() else {
            return;
        };
        let waits = self.meta.paused.is_some() || lane.limited.is_some() || self.is_over_cap(now, &session);
        if waits || !self.serves(&session) || lane.not_before.is_some_and(|at| at > now.served) {
            return;
        }
        if session.harness.stays() {
            self.wake_if_kept(lane_no, &session);
            self.advance_stream(now, lane_no);
            return;
        }
        if lane.turn.is_some() {
            return;
        }
        if let Some(next) = self.next_delivery(lane_no) {
            if self.may_begin(lane_no) {
                self.attempt(now, lane_no, next);
            }
            return;
        }
        let Some(&(_, task_no)) = self.index.queue.get(&lane_no).and_then(|q| q.first()) else {
            return;
        };
        if !self.may_begin(lane_no) {
            return;
        }
        if let Some(delivery) = self.plan_task(lane_no, task_no) {
            self.attempt(now, lane_no, delivery.no);
        }
    }

    /// Takes a task out of the queue: from here on its delivery says how far it is.
    pub(super) fn plan_task(&mut self, lane: LaneNo, task_no: TaskNo) -> Option<Delivery> {
        let task = self.tasks.get(task_no).cloned()?;
        let delivery = Delivery {
            task: Some(task_no),
            text: Some(task.request),
            ..Delivery::planned(DeliveryNo(self.next()), task.session, lane, DeliveryKind::Task)
        };
        self.edit_task(task_no, |t| t.dispatched = true);
        self.insert_delivery(delivery.clone());
        Some(delivery)
    }

    /// The planned delivery that goes before every new task: one that was begun before and has to
    /// be made again, then answers, then results.
    fn next_delivery(&self, lane: LaneNo) -> Option<DeliveryNo> {
        let planned = self.index.planned.get(&lane)?;
        let rank = |d: &Delivery| match d.kind {
            _ if d.attempt > 0 => 0,
            DeliveryKind::Answer => 1,
            DeliveryKind::Result => 2,
            DeliveryKind::Correction => 3,
            DeliveryKind::Task
            | DeliveryKind::Recover
            | DeliveryKind::Recap
            | DeliveryKind::Reminder
            | DeliveryKind::Wake
            | DeliveryKind::Say => 4,
        };
        planned
            .iter()
            .filter_map(|no| self.deliveries.get(*no))
            .filter(|d| self.may_go(d))
            .min_by_key(|d| (rank(d), d.no))
            .map(|d| d.no)
    }

    /// A correction waits until its task is one that a run can be started for: one that is in the
    /// queue takes it along when it starts, one that is blocked gets it after its answer. A task
    /// that was said to be blocked before it began, or before a run of it was made again, waits for
    /// its asker like any other.
    fn may_go(&self, delivery: &Delivery) -> bool {
        let task = delivery.task.and_then(|no| self.tasks.get(no));
        let waits = task.is_some_and(|t| t.awaits_asker());
        match delivery.kind {
            DeliveryKind::Correction => {
                !waits && task.is_some_and(|t| t.open() && t.dispatched && (t.blocked || t.delivered.is_some()))
            }
            DeliveryKind::Task | DeliveryKind::Answer => !waits,
            DeliveryKind::Result
            | DeliveryKind::Recover
            | DeliveryKind::Recap
            | DeliveryKind::Reminder
            | DeliveryKind::Wake
            | DeliveryKind::Say => true,
        }
    }

    /// What else the asker has said on the task meanwhile goes with the delivery.
    pub(super) fn take_along(&mut self, lane: LaneNo, delivery: &Delivery) -> Vec<TextRef> {
        // The texts of the others have no place for more.
        if delivery.task.is_none()
            || !matches!(delivery.kind, DeliveryKind::Task | DeliveryKind::Answer | DeliveryKind::Correction)
        {
            return Vec::new();
        }
        let planned: Vec<DeliveryNo> = self.index.planned.get(&lane).into_iter().flatten().copied().collect();
        let mut extra = Vec::new();
        for no in planned {
            let Some(other) = self.deliveries.get(no).cloned() else {
                continue;
            };
            if other.task == delivery.task && other.kind == DeliveryKind::Correction && no != delivery.no {
                extra.extend(other.text);
                self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
            }
        }
        extra
    }

    fn attempt(&mut self, now: &Now, lane: LaneNo, no: DeliveryNo) {
        let Some(delivery) = self.deliveries.get(no).cloned() else {
            return;
        };
        let attempt = delivery.attempt + 1;
        let extra = self.take_along(lane, &delivery);
        self.edit_delivery(no, |d| {
            d.state = DeliveryState::Attempting;
            d.attempt = attempt;
            d.extra.extend(extra);
        });
        let turn = Turn {
            no: TurnNo(self.next()),
            session: delivery.session,
            lane,
            boot: now.boot,
            attempt,
            cause: no,
            task: delivery.task,
            stream: false,
            busy: false,
            of: None,
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
        };
        let turn_no = turn.no;
        self.insert_turn(turn);
        self.edit_lane(lane, |l| {
            l.turn = Some(turn_no);
            l.holder = delivery.task;
            l.not_before = None;
            l.waits_for = String::new();
        });
    }
}
