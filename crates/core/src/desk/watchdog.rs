//! Workers that went quiet, and tasks whose time is over. A pass looks at every lane with open work:
//! a started task that nobody works on is reminded of, on a ladder that ends; without open work
//! nobody is ever woken (`spec/tasks.md`, "The watchdog", "Expiry").

use std::sync::Arc;

use crate::id::{DeliveryNo, LaneNo, TaskNo};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{
    Background, Delivery, DeliveryKind, DeliveryState, Ending, EndsBy, EventKind, Lane, Task, Turn, TurnState,
};
use crate::text::{Text, cut};
use crate::time::Now;

use super::{Desk, Done, Mutant};

/// How long an interrupt of the owner's keeps reminders away.
const HUSH_MS: i64 = 3_600_000;
const HOUR_MS: i64 = 3_600_000;
/// A report is tried for 90 days.
const REPORTED_FOR_MS: i64 = 90 * 86_400_000;
/// Things beside the turns that one run is remembered with: more are not told apart from work.
const MAX_BACKGROUND: usize = 1_000;

impl Desk {
    /// One pass, when its time has come.
    pub(super) fn watch(&mut self, now: &Now) {
        let pass = i64::from(self.place.settings.watchdog.pass_secs) * 1_000;
        if now.served - self.watched < pass {
            return;
        }
        self.watched = now.served;
        self.lift_limits(now);
        self.give_up_reports(now);
        let lanes: Vec<LaneNo> =
            self.index.open.iter().filter(|(_, open)| !open.is_empty()).map(|(no, _)| *no).collect();
        for lane in lanes {
            self.expire(now, lane);
            self.remind(now, lane);
        }
        self.let_sleep(now);
    }

    /// A machine that was not there for 90 days is told no more.
    fn give_up_reports(&mut self, now: &Now) {
        let old = |made: i64| now.wall - made >= REPORTED_FOR_MS;
        let rows: Vec<_> = self.outbox.iter().filter(|(_, o)| old(o.made.wall)).map(|(no, _)| *no).collect();
        for no in rows {
            self.remove_outbox(no);
        }
    }

    /// Reminds the worker of a lane, or says that it is stalled.
    fn remind(&mut self, now: &Now, lane_no: LaneNo) {
        let Some(lane) = self.lanes.get(lane_no).cloned() else { return };
        let serves = self.sessions.get(lane.session).is_some_and(|s| self.serves(s));
        let over = self.sessions.get(lane.session).is_some_and(|s| self.is_over_cap(now, s));
        let waits = self.meta.paused.is_some() || lane.limited.is_some() || over;
        if !serves || waits || !self.is_quiet(now, &lane) {
            return;
        }
        let due = self.unfinished(now, &lane);
        let quiet = now.served - lane.quiet_since;
        let ladder = self.place.settings.watchdog.clone();
        let stalled_after = i64::from(ladder.stalled_after_secs) * 1_000;
        let on = self.breaks(Mutant::RemindsOn);
        let gap = |sent: u32| ladder.gap_ms(sent).or(on.then_some(0));
        let (last, reminded): (Vec<_>, Vec<_>) = due.into_iter().partition(|t| gap(t.nudges).is_none());
        for task in last.iter().filter(|_| quiet >= stalled_after) {
            self.stall(now, task);
        }
        let about: Vec<TaskNo> =
            reminded.iter().filter(|t| gap(t.nudges).is_some_and(|gap| quiet >= gap)).map(|t| t.no).collect();
        let recent = lane.reminded.iter().filter(|at| now.served - **at < HOUR_MS).count();
        let Some(&first) = about.first().filter(|_| recent < ladder.per_hour as usize) else {
            return self.advance(now, lane_no);
        };
        self.edit_lane(lane_no, |l| {
            l.reminded.retain(|at| now.served - at < HOUR_MS);
            l.reminded.push(now.served);
        });
        for task in &about {
            self.edit_task(*task, |t| {
                t.nudges += 1;
                t.last_nudge = Some(now.stamp());
                t.changed = now.stamp();
                t.seq += 1;
            });
        }
        let no = DeliveryNo(self.next());
        let reminder = Delivery::planned(no, lane.session, lane_no, DeliveryKind::Reminder);
        self.insert_delivery(Delivery { task: Some(first), about, ..reminder });
        self.advance(now, lane_no);
    }

    /// Nothing runs in it, in a turn or beside one, and nobody is asked anything.
    fn is_quiet(&mut self, now: &Now, lane: &Lane) -> bool {
        // What waits for another task, or for the lane, goes nowhere by itself.
        let planned = self.index.planned.get(&lane.no).into_iter().flatten();
        let goes = planned.filter_map(|no| self.deliveries.get(*no)).any(|d| self.fits(d, false, lane.holder));
        if goes || self.is_prompting(lane.no) {
            return false;
        }
        let Some(run) = lane.turn.and_then(|no| self.turns.get(no)).cloned() else { return true };
        if run.busy || !run.stream || run.state != TurnState::Running || run.boot != self.meta.boot {
            return false;
        }
        let long = i64::from(self.place.settings.watchdog.long_background_secs) * 1_000;
        let over = |b: &Background| !b.long && now.served - b.since >= long;
        for background in run.background.iter().filter(|b| over(b)) {
            let session = self.session_name(run.session);
            let what = format!("runs in the background for long: {}", background.what);
            self.event(now, EventKind::Session, Some(&session), None, "long-background", &what);
        }
        if run.background.iter().any(over) {
            self.edit_turn(run.no, |t| t.background.iter_mut().filter(|b| over(b)).for_each(|b| b.long = true));
        }
        run.background.iter().all(|b| b.long || over(b))
    }

    /// Tasks of a lane that its worker has and has said nothing of, the oldest first. One that gave the
    /// lane up is not among them while another has it.
    fn unfinished(&self, now: &Now, lane: &Lane) -> Vec<Arc<Task>> {
        let open = self.index.open.get(&lane.no).into_iter().flatten().filter_map(|no| self.tasks.get(*no));
        let wakes = self.breaks(Mutant::WakesBlocked);
        let is = |t: &&Arc<Task>| {
            let waits = t.blocked && !wakes || t.waiting || t.stalled;
            let worked_on = t.ends_by == EndsBy::Word && t.delivered.is_some() && !waits;
            let hushed = t.hushed.is_some_and(|until| until > now.served);
            worked_on && !hushed && lane.holder.is_none_or(|held| held == t.no)
        };
        open.filter(is).cloned().collect()
    }

    /// A reminder that has not been written does not name a task that has said something meanwhile.
    pub(super) fn void_reminders(&mut self, task: TaskNo) {
        let Some(lane) = self.tasks.get(task).map(|t| t.lane) else { return };
        for no in self.index.planned.get(&lane).cloned().unwrap_or_default() {
            if self.deliveries.get(no).is_some_and(|d| d.about.contains(&task)) {
                self.renew_reminder(no);
            }
        }
    }

    /// A reminder that is to be written (again) names what is still to be reminded of; nothing, and it
    /// is not written.
    pub(super) fn renew_reminder(&mut self, no: DeliveryNo) {
        let Some(reminder) = self.deliveries.get(no).filter(|d| d.kind == DeliveryKind::Reminder).cloned() else {
            return;
        };
        let works =
            |no: &TaskNo| self.tasks.get(*no).is_some_and(|t| t.open() && !t.blocked && !t.waiting && !t.stalled);
        let about: Vec<TaskNo> = reminder.about.iter().copied().filter(works).collect();
        self.edit_delivery(no, |d| {
            match about.first() {
                Some(first) => d.task = Some(*first),
                None => d.state = DeliveryState::Ended,
            }
            d.about = about;
        });
    }

    /// All reminders were in vain: the owner is told, and the lane is free for others.
    fn stall(&mut self, now: &Now, task: &Task) {
        self.edit_task(task.no, |t| {
            t.stalled = true;
            t.changed = now.stamp();
            t.seq += 1;
        });
        self.release(task.no);
        let session = self.session_name(task.session);
        let what = "its worker went quiet, and reminders did not help";
        self.event(now, EventKind::Task, Some(&session), Some(&task.id), "stalled", what);
        self.tell(now, task.no);
    }

    /// Ends the tasks of a lane whose time is over, never in mid-turn.
    fn expire(&mut self, now: &Now, lane: LaneNo) {
        let after = i64::from(self.place.settings.limits.expire_hours) * HOUR_MS;
        let open = self.index.open.get(&lane).into_iter().flatten().filter_map(|no| self.tasks.get(*no));
        let by_wall = self.breaks(Mutant::ExpiresByWall);
        let age = |t: &Task| if by_wall { now.wall - t.stored.wall } else { now.served - t.stored.served };
        let over: Vec<Arc<Task>> = open.filter(|t| age(t) >= after).cloned().collect();
        for task in over {
            let turn = self.lanes.get(lane).and_then(|l| l.turn).and_then(|no| self.turns.get(no));
            let worked_on = turn.is_some_and(|t| t.task == Some(task.no) && (t.busy || !t.stream));
            if worked_on && !task.overdue {
                self.edit_task(task.no, |t| t.overdue = true);
                let session = self.session_name(task.session);
                self.event(now, EventKind::Task, Some(&session), Some(&task.id), "overdue", "ends with its turn");
            } else if !worked_on {
                self.expire_now(now, &task);
            }
        }
    }

    fn expire_now(&mut self, now: &Now, task: &Task) {
        let hours = self.place.settings.limits.expire_hours;
        self.edit_task(task.no, |t| t.expired = true);
        let words = format!("expired: nobody finished it within {hours} hours of being asked (while the daemon ran)");
        self.end(now, task.no, Ending::Canceled, &Text::new(words));
        self.advance(now, task.lane);
    }

    /// What a turn's end means for the task that has the lane: its time may be over, or the owner may
    /// have set it aside for a while.
    pub(super) fn turn_over(&mut self, now: &Now, lane: LaneNo) {
        let holder = self.lanes.get(lane).and_then(|l| l.holder).and_then(|no| self.tasks.get(no)).cloned();
        let Some(task) = holder else { return };
        if task.overdue {
            self.expire_now(now, &task);
        } else if task.hushed.is_some() {
            self.release(task.no);
        }
    }

    /// Something goes on beside the turns of a run, or has ended.
    pub(super) fn background(&mut self, now: &Now, run: &Turn, id: String, what: String, on: bool) {
        let known = run.background.iter().any(|b| b.id == id);
        if on == known || on && run.background.len() >= MAX_BACKGROUND {
            return;
        }
        self.edit_turn(run.no, |t| match on {
            true => t.background.push(Background { id, what: cut(&what, 200), since: now.served, long: false }),
            false => t.background.retain(|b| b.id != id),
        });
        self.edit_lane(run.lane, |l| l.quiet_since = now.served);
    }

    /// Cuts the turn that runs short. What it worked on gives the lane up, and is left alone for an
    /// hour.
    pub(super) fn interrupt(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        if matches!(by, Principal::Session(_)) {
            return Err(Refusal::OwnersOnly { what: "interrupting a session" });
        }
        let session = self.find_session(name)?;
        let lane = self.lanes.get(session.lane).cloned();
        let run = lane.as_ref().and_then(|l| l.turn).and_then(|no| self.turns.get(no)).cloned();
        let nothing = || Refusal::NothingRuns { name: session.name.clone() };
        let run = run.filter(|t| t.stream && t.busy && t.state == TurnState::Running).ok_or_else(nothing)?;
        self.edit_turn(run.no, |t| t.interrupts += 1);
        if let Some(task) = lane.and_then(|l| l.holder) {
            self.edit_task(task, |t| t.hushed = Some(now.served + HUSH_MS));
        }
        let by = format!("by {}", self.sender(by, None).label);
        self.event(now, EventKind::Session, Some(&session.name), None, "interrupted", &by);
        Ok(Done::Session(session))
    }
}
