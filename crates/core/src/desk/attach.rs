//! A conversation has one writer: the daemon's program, or a terminal that took it over for a
//! while. And a conversation that began in a terminal is one session's, not two
//! (`spec/runner.md`, "Harnesses").

use crate::principal::Principal;
use crate::refusal::{Refusal, when};
use crate::row::{Attached, EventKind, Session};
use crate::text::cut;
use crate::time::Now;

use super::{Desk, Done};

impl Desk {
    /// Hands the conversation of a session that is not at work to a terminal: its program is ended,
    /// and what comes meanwhile waits.
    pub(super) fn attach(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        self.owners_only(by, "attaching to a session")?;
        if *by != Principal::Owner {
            return Err(Refusal::NotInTerminal);
        }
        let session = self.find_session(name)?;
        if !session.harness.stays() {
            return Err(Refusal::NoConversation { name: session.name.clone() });
        }
        self.refuse_attached(&session)?;
        let run = self.lanes.get(session.lane).and_then(|l| l.turn).and_then(|no| self.turns.get(no));
        if run.is_some_and(|t| t.busy) || self.is_prompting(session.lane) {
            return Err(Refusal::AtWork { name: session.name.clone() });
        }
        self.line_by(session.uid, "a terminal has the conversation", by);
        let by = self.sender(by, None).label;
        self.sessions.edit(session.uid, |s| s.attached = Some(Attached { by, since: now.stamp() }));
        self.stop_turn(now, session.lane);
        self.event(now, EventKind::Session, Some(name), None, "attached", "a terminal has its conversation");
        self.session_done(session.uid, name)
    }

    /// The terminal has ended: the session goes on, with what has come meanwhile.
    pub(super) fn detach(&mut self, now: &Now, by: &Principal, name: &str) -> Result<Done, Refusal> {
        self.owners_only(by, "detaching a session")?;
        let session = self.find_session(name)?;
        if session.attached.is_none() {
            return Err(Refusal::NotAttached { name: session.name.clone() });
        }
        self.sessions.edit(session.uid, |s| s.attached = None);
        self.edit_lane(session.lane, |l| {
            // The terminal may have begun it.
            l.used = true;
            l.quiet_since = now.served;
        });
        self.line(session.uid, "the terminal gave the conversation back");
        self.event(now, EventKind::Session, Some(name), None, "detached", "");
        self.advance(now, session.lane);
        self.session_done(session.uid, name)
    }

    /// What would pull a conversation from under a terminal waits for it.
    pub(super) fn refuse_attached(&self, session: &Session) -> Result<(), Refusal> {
        match &session.attached {
            Some(Attached { by, since }) => {
                let (name, by) = (session.name.clone(), by.clone());
                Err(Refusal::Attached { name, by, since: when(since.wall) })
            }
            None => Ok(()),
        }
    }

    /// A conversation that some session has is not another's.
    pub(super) fn check_adoptable(&self, id: &str) -> Result<(), Refusal> {
        let has = |s: &Session| {
            let lane = self.lanes.get(s.lane);
            lane.is_some_and(|l| l.conversation_id(&self.meta.incarnation) == id)
        };
        match self.sessions.iter().find(|(_, s)| s.removed.is_none() && has(s)) {
            Some((_, s)) => Err(Refusal::ConversationTaken { id: cut(id, 80), name: s.name.clone() }),
            None => Ok(()),
        }
    }
}
