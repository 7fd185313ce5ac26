//! Sessions come, stop, start and go. A removed one's tasks end as canceled, with their askers
//! told; its name is free at once and inherits nothing.

use std::sync::Arc;

use crate::id::{LaneNo, SessionUid};
use crate::name::check_session_name;
use crate::principal::Principal;
use crate::refusal::{Refusal, allows};
use crate::rights::Action;
use crate::row::{DeliveryState, Ending, EventKind, Lane, LaneKind, Session, SessionState, TurnState};
use crate::text::Text;
use crate::time::Now;

use super::{Desk, Done, MAX_SESSIONS, NewSession};

impl Desk {
    pub(super) fn add_session(&mut self, now: &Now, by: &Principal, new: NewSession) -> Result<Done, Refusal> {
        self.owners_only(by, "adding a session")?;
        let NewSession { name, harness, dir, set, conversation, worktree } = new;
        check_session_name(&name)?;
        if self.session_by_name(&name).is_some() {
            return Err(Refusal::NameTaken { name });
        }
        if self.sessions.len() >= MAX_SESSIONS {
            return Err(Refusal::TooManySessions { sessions: self.sessions.len() });
        }
        if let Some(id) = &conversation {
            self.check_adoptable(id)?;
        }
        set.check(&harness)?;
        let uid = SessionUid(self.next());
        let lane = LaneNo(self.next());
        let mut row = Session { worktree, ..Session::new(uid, name.clone(), harness, dir, lane, now.stamp()) };
        set.apply(&mut row);
        self.insert_lane(Lane {
            no: lane,
            session: uid,
            kind: LaneKind::Main,
            generation: 0,
            conversation: None,
            used: conversation.is_some(),
            adopted: conversation,
            noted: None,
            failed: None,
            recap: false,
            renew: false,
            limited: None,
            resumed: false,
            context: Default::default(),
            quiet_since: now.served,
            reminded: Vec::new(),
            crashes: Vec::new(),
            turn: None,
            holder: None,
            not_before: None,
            waits_for: String::new(),
        });
        self.sessions.insert(uid, row);
        self.index.names.insert(name.clone(), uid);
        self.line_by(uid, "added", by);
        for (setting, value) in set.values() {
            self.line_by(uid, &format!("{setting}: {value}"), by);
        }
        self.event(now, EventKind::Session, Some(&name), None, "added", "");
        self.advance(now, lane);
        self.session_done(uid, &name)
    }

    pub(super) fn stop_session(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        self.owners_only(by, "stopping a session")?;
        let session = self.find_session(name)?;
        let why = format!("by {}", self.sender(by, None).label);
        let said = why.clone();
        self.sessions.edit(session.uid, |s| s.state = SessionState::Stopped { why });
        self.stop_turn(now, session.lane);
        self.line_by(session.uid, "stopped", by);
        self.event(now, EventKind::Session, Some(name), None, "stopped", &said);
        self.session_done(session.uid, name)
    }

    pub(super) fn start_session(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        self.owners_only(by, "starting a session")?;
        let session = self.find_session(name)?;
        self.sessions.edit(session.uid, |s| s.state = SessionState::Ready);
        self.line_by(session.uid, "started", by);
        self.event(now, EventKind::Session, Some(name), None, "started", "");
        self.advance(now, session.lane);
        self.session_done(session.uid, name)
    }

    pub(super) fn remove_session(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        self.owners_only(by, "removing a session")?;
        let session = self.find_session(name)?;
        self.refuse_attached(&session)?;
        // Removed first: nothing that ends below is brought to it or started in it.
        self.sessions.edit(session.uid, |s| {
            s.state = SessionState::Removed;
            s.removed = Some(now.stamp());
        });
        self.index.names.remove(name);
        let open: Vec<_> = self.index.open.get(&session.lane).into_iter().flatten().copied().collect();
        let words = Text::new(format!("canceled: the session '{name}' was removed"));
        for task in open {
            self.end(now, task, Ending::Canceled, &words);
        }
        let asks: Vec<_> = self.asks_of(session.uid).map(|a| a.no).collect();
        for ask in asks {
            self.drop_telling(ask);
            // Refused only where it has ended already: nothing is left to cancel then.
            let _ = self.cancel_ask(now, ask);
        }
        // Nothing is written to it any more.
        for no in self.index.planned.get(&session.lane).cloned().unwrap_or_default() {
            self.edit_delivery(no, |d| d.state = DeliveryState::Ended);
            self.forget_telling(now, no);
        }
        self.stop_turn(now, session.lane);
        self.line_by(session.uid, "removed", by);
        self.event(now, EventKind::Session, Some(name), None, "removed", "");
        self.session_done(session.uid, name)
    }

    pub(super) fn stop_turn(&mut self, now: &Now, lane: LaneNo) {
        let turn = self.lanes.get(lane).and_then(|l| l.turn).and_then(|t| self.turns.get(t).cloned());
        if let Some(turn) = turn.filter(|t| t.state == TurnState::Running) {
            self.edit_turn(turn.no, |t| {
                t.state = TurnState::Stopping;
                t.stopping = true;
            });
            self.end_prompts(now, turn.no);
        }
    }

    pub(super) fn session_done(&self, uid: SessionUid, name: &str) -> Result<Done, Refusal> {
        let row: Option<Arc<Session>> = self.sessions.get(uid).cloned();
        row.map(Done::Session).ok_or_else(|| Refusal::NoSession {
            name: name.to_string(),
            machine: self.place.machine.clone(),
            hint: String::new(),
        })
    }
}

impl Desk {
    pub(super) fn owners_only(&self, by: &Principal, what: &'static str) -> Result<(), Refusal> {
        allows(by, Action::Own, &self.place.machine, what)
    }

    /// Whether this is the principal's to ask for.
    pub(super) fn allowed(&self, by: &Principal, action: Action) -> Result<(), Refusal> {
        allows(by, action, &self.place.machine, "this")
    }
}
