//! What makes lanes wait although they have work: everything is paused, too many turns run, the
//! account of the harness is at its limit.

use crate::id::{LaneNo, SessionUid};
use crate::row::{EventKind, Lane, Session, Turn};
use crate::time::Now;

use super::{Desk, Mutant};

/// A limit that is said to last longer is taken for one of eight days: the longest that any account
/// has is a week.
const LONGEST_LIMIT_MS: i64 = 8 * 86_400_000;

impl Desk {
    /// Whether another turn may begin. A lane that may not is looked at again when one has ended.
    pub(super) fn may_begin(&mut self, lane: LaneNo) -> bool {
        let most = self.place.settings.limits.turns as usize;
        if most == 0 || self.index.working.len() < most || self.breaks(Mutant::IgnoresCap) {
            return true;
        }
        self.index.capped.insert(lane);
        false
    }

    /// Turns that have ended make room for lanes that wait for it.
    pub(super) fn use_room(&mut self, now: &Now) {
        let most = self.place.settings.limits.turns as usize;
        // Bounded: each lane that waits is looked at once.
        for _ in 0..self.index.capped.len() {
            if most != 0 && self.index.working.len() >= most {
                return;
            }
            let next = self.index.capped.iter().copied().min_by_key(|lane| self.oldest_work(*lane));
            let Some(lane) = next else { return };
            self.index.capped.remove(&lane);
            self.advance(now, lane);
        }
    }

    /// The number of what has waited longest in a lane: rows are numbered as they come.
    fn oldest_work(&self, lane: LaneNo) -> i64 {
        let planned = self.index.planned.get(&lane).and_then(|p| p.first()).map_or(i64::MAX, |d| d.0);
        let queued = self.index.queue.get(&lane).and_then(|q| q.first()).map_or(i64::MAX, |(_, task)| task.0);
        planned.min(queued)
    }

    pub(super) fn index_working(&mut self, turn: &Turn) {
        match turn.ended.is_none() && (turn.busy || !turn.stream) {
            true => self.index.working.insert(turn.no),
            false => self.index.working.remove(&turn.no),
        };
    }

    /// The account of a lane's harness is at its limit: the lane waits. A second one at once stops the
    /// session.
    pub(super) fn limit(&mut self, now: &Now, run: &Turn, until: i64, text: &str) {
        let Some(lane) = self.lanes.get(run.lane).cloned() else { return };
        let until = until.clamp(now.wall, now.wall + LONGEST_LIMIT_MS);
        let name = self.session_name(run.session);
        if lane.resumed {
            let session = self.sessions.get(run.session).cloned();
            self.edit_lane(lane.no, |l| l.resumed = false);
            return self.cannot_start(
                now,
                session.as_deref(),
                "its account is at its limit again, right after a reset",
            );
        }
        if lane.limited != Some(until) {
            self.edit_lane(lane.no, |l| l.limited = Some(until));
            let at = crate::refusal::when(until);
            self.event(now, EventKind::Session, Some(&name), None, "limited", &format!("until {at}: {text}"));
        }
    }

    /// What was spent goes to the day of its session and of the machine.
    pub(super) fn pay(&mut self, now: &Now, session: SessionUid, micros: u64) {
        let day = day(now);
        let add = |(of, sum): (i64, u64)| if of == day { (day, sum.saturating_add(micros)) } else { (day, micros) };
        if micros > 0 {
            self.meta.spent = add(self.meta.spent);
            self.sessions.edit(session, |s| s.spent = add(s.spent));
        }
    }

    /// Whether the day's money of a session, or of the machine, is spent: its lanes wait.
    pub(super) fn is_over_cap(&self, now: &Now, session: &Session) -> bool {
        let day = day(now);
        let over = |cap: u64, (of, sum): (i64, u64)| cap > 0 && of == day && sum >= cap;
        over(session.daily_micros, session.spent) || over(self.place.settings.limits.daily_micros, self.meta.spent)
    }

    /// With a new day there is money again.
    pub(super) fn lift_caps(&mut self, now: &Now) {
        let day = day(now);
        if std::mem::replace(&mut self.day, day) == day {
            return;
        }
        let lanes: Vec<LaneNo> = self.lanes.iter().map(|(no, _)| *no).collect();
        for lane in lanes {
            self.advance(now, lane);
        }
    }

    /// Lanes whose limit is over go on, once; or wait for a person, if they are set to.
    pub(super) fn lift_limits(&mut self, now: &Now) {
        let over = |l: &Lane| l.limited.is_some_and(|until| until <= now.wall);
        let lanes: Vec<LaneNo> = self.lanes.iter().filter(|(_, l)| over(l)).map(|(no, _)| *no).collect();
        for no in lanes {
            let Some(lane) = self.lanes.get(no).cloned() else { continue };
            self.edit_lane(no, |l| {
                l.limited = None;
                l.resumed = true;
                l.quiet_since = now.served;
            });
            let name = self.session_name(lane.session);
            self.event(now, EventKind::Session, Some(&name), None, "limit-over", "");
            // What was cut off by it is gone on with.
            if lane.holder.is_some_and(|task| !self.planned_for(no, task)) {
                self.plan_recap(lane.session, no);
            }
            if !self.place.settings.limits.resume_after_limit {
                self.edit_lane(no, |l| l.resumed = false);
                let session = self.sessions.get(lane.session).cloned();
                let why = "its account was at its limit, and it is not to go on by itself";
                self.cannot_start(now, session.as_deref(), why);
            }
            self.advance(now, no);
        }
    }
}

/// The day of UTC, since 1970.
pub(super) fn day(now: &Now) -> i64 {
    crate::time::day_of(now.wall)
}
