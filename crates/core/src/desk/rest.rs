//! Programs that have nothing to do, and those that are to run all the same: one that rests is
//! stopped, and goes on in its conversation with the next message; one that is kept running is
//! started whenever it is not there (`spec/runner.md`, "Harnesses").

use crate::id::{DeliveryNo, LaneNo};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{Delivery, DeliveryKind, EventKind, Lane, Session, SessionState, TurnState};
use crate::time::Now;

use super::{Desk, Done};

impl Desk {
    /// Stops every program that has rested for long enough. Looked at with the watchdog's pass.
    pub(super) fn let_sleep(&mut self, now: &Now) {
        let idle = i64::from(self.place.settings.sessions.idle_secs) * 1_000;
        if idle == 0 {
            return;
        }
        let rested = |l: &Lane| now.served - l.quiet_since >= idle && self.rests(l);
        let lanes: Vec<LaneNo> = self.lanes.iter().filter(|(_, l)| rested(l)).map(|(no, _)| *no).collect();
        for no in lanes {
            self.stop_turn(now, no);
            let Some(uid) = self.lanes.get(no).map(|l| l.session) else { continue };
            let session = self.session_name(uid);
            let secs = self.place.settings.sessions.idle_secs;
            let what = format!("nothing to do for {secs} s: its program is stopped until the next message");
            self.line(uid, what.clone());
            self.event(now, EventKind::Session, Some(&session), None, "rests", &what);
        }
    }

    /// Whether a lane's program runs and has nothing to do: no turn, no command beside it, no prompt,
    /// no open task, nothing to be written.
    fn rests(&self, lane: &Lane) -> bool {
        let Some(run) = lane.turn.and_then(|no| self.turns.get(no)) else { return false };
        let runs = run.stream && run.state == TurnState::Running && run.boot == self.meta.boot;
        let works = run.busy || !run.background.is_empty() || self.is_prompting(lane.no);
        let planned = self.index.planned.get(&lane.no).is_some_and(|p| !p.is_empty());
        let open = self.index.open.get(&lane.no).is_some_and(|o| !o.is_empty());
        let kept = self.sessions.get(lane.session).is_some_and(|s| s.keep_running);
        runs && !works && !planned && !open && !kept
    }

    /// Has a program that is to be kept running started, if it is not there.
    pub(super) fn wake_if_kept(&mut self, lane: LaneNo, session: &Session) {
        let gone = self.lanes.get(lane).is_some_and(|l| l.turn.is_none());
        // What is planned besides may not start it: it can wait for something, or come to nothing.
        let planned = self.index.planned.get(&lane).into_iter().flatten().filter_map(|no| self.deliveries.get(*no));
        let woken = planned.into_iter().any(|d| d.kind == DeliveryKind::Wake);
        // A task that is to begin on a fresh conversation starts it itself, and would have to end it first.
        let head = self.index.queue.get(&lane).and_then(|q| q.first()).and_then(|(_, no)| self.tasks.get(*no));
        let afresh = head.is_some_and(|t| t.fresh);
        if session.keep_running && gone && !woken && !afresh {
            self.plan_wake(lane, session);
        }
    }

    fn plan_wake(&mut self, lane: LaneNo, session: &Session) {
        let no = DeliveryNo(self.next());
        self.insert_delivery(Delivery::planned(no, session.uid, lane, DeliveryKind::Wake));
    }

    /// Ends what runs and starts it again in the same conversation; one that was stopped serves again.
    /// What a turn was at is told to the worker as cut off.
    pub(super) fn restart_session(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        self.owners_only(by, "restarting a session")?;
        let session = self.find_session(name)?;
        self.refuse_attached(&session)?;
        self.sessions.edit(session.uid, |s| s.state = SessionState::Ready);
        self.edit_lane(session.lane, |l| {
            l.crashes.clear();
            l.not_before = None;
        });
        self.stop_turn(now, session.lane);
        if session.harness.stays() {
            self.plan_wake(session.lane, &session);
        }
        self.line_by(session.uid, "restarted", by);
        let by = format!("by {}", self.sender(by, None).label);
        self.event(now, EventKind::Session, Some(name), None, "restarted", &by);
        self.advance(now, session.lane);
        self.session_done(session.uid, name)
    }
}
