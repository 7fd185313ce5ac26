//! The owner's hand: on the queue, on all work at once, on a session's name, settings and
//! conversation. Nothing here is a session's to do.

use std::sync::Arc;

use crate::id::{LaneNo, SessionUid, TaskNo};
use crate::name::check_session_name;
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{Ending, EventKind, Gate, Harness, Session, SessionSet, SessionState, Task};
use crate::text::Text;
use crate::time::Now;

use super::{Desk, Done, Hand, Loaded};

/// Tasks that a refusal names.
const NAMED: usize = 5;

impl Desk {
    /// Moves, sets aside or takes up again a task that waits.
    pub(super) fn queue(&mut self, now: &Now, by: &Principal, id: &str, hand: Hand) -> Result<Done, Refusal> {
        self.owners_only(by, "changing a queue")?;
        let task = self.find_task(id)?;
        if let Some(refusal) = self.refuse_ended(&task) {
            return Err(refusal);
        }
        if task.dispatched {
            return Err(Refusal::NotWaiting { id: task.id.clone() });
        }
        let (gate, word) = match hand {
            Hand::Move { place } => {
                self.move_to(&task, place)?;
                (task.gate, "moved")
            }
            Hand::Park => (Gate::Parked, "parked"),
            Hand::Release => (Gate::Open, "released"),
        };
        self.edit_task(task.no, |t| {
            t.gate = gate;
            t.changed = now.stamp();
            t.seq += 1;
        });
        let session = self.session_name(task.session);
        self.event(now, EventKind::Task, Some(&session), Some(&task.id), word, "");
        self.tell(now, task.no);
        self.advance(now, task.lane);
        self.task_done(task.no)
    }

    /// The places stay as they are; who has which of them changes.
    fn move_to(&mut self, task: &Task, place: u32) -> Result<(), Refusal> {
        if task.gate == Gate::Parked {
            return Err(Refusal::NotWaiting { id: task.id.clone() });
        }
        let queue: Vec<(i64, TaskNo)> = self.index.queue.get(&task.lane).into_iter().flatten().copied().collect();
        let mut order: Vec<TaskNo> = queue.iter().map(|(_, no)| *no).filter(|no| *no != task.no).collect();
        let at = (place.max(1) as usize - 1).min(order.len());
        order.insert(at, task.no);
        for ((position, was), no) in queue.into_iter().zip(order) {
            if was != no {
                self.edit_task(no, |t| t.position = position);
            }
        }
        Ok(())
    }

    /// Nothing new is started or written on this machine; what runs goes on.
    pub(super) fn pause(&mut self, now: &Now, by: &Principal) -> Result<Done, Refusal> {
        self.owners_only(by, "pausing everything")?;
        if self.meta.paused.is_none() {
            let by = self.sender(by, None).label;
            self.meta.paused = Some(by.clone());
            self.event(now, EventKind::Machine, None, None, "paused", &format!("by {by}"));
        }
        Ok(Done::Nothing)
    }

    pub(super) fn resume(&mut self, now: &Now, by: &Principal) -> Result<Done, Refusal> {
        self.owners_only(by, "resuming everything")?;
        if self.meta.paused.take().is_some() {
            let by = format!("by {}", self.sender(by, None).label);
            self.event(now, EventKind::Machine, None, None, "resumed", &by);
            let lanes: Vec<LaneNo> = self.lanes.iter().map(|(no, _)| *no).collect();
            for lane in lanes {
                self.advance(now, lane);
            }
        }
        Ok(Done::Nothing)
    }

    /// Another name; everything else stays, the ids of its tasks, too.
    pub(super) fn rename(&mut self, now: &Now, by: &Principal, name: &str, to: String) -> Result<Done, Refusal> {
        self.owners_only(by, "renaming a session")?;
        let session = self.find_session(name)?;
        check_session_name(&to)?;
        if to != session.name && self.session_by_name(&to).is_some() {
            return Err(Refusal::NameTaken { name: to });
        }
        self.index.names.remove(&session.name);
        self.index.names.insert(to.clone(), session.uid);
        self.sessions.edit(session.uid, |s| s.name = to.clone());
        self.line_by(session.uid, &format!("renamed from {} to {to}", session.name), by);
        self.event(now, EventKind::Session, Some(&to), None, "renamed", &format!("was {}", session.name));
        self.session_done(session.uid, &to)
    }

    /// Changes what the owner may set about a session.
    pub(super) fn set_session(
        &mut self,
        now: &Now,
        by: &Principal,
        name: &str,
        set: SessionSet,
    ) -> Result<Done, Refusal> {
        self.owners_only(by, "a session's settings")?;
        let session = self.find_session(name)?;
        set.check(&session.harness)?;
        let mut after = (*session).clone();
        set.apply(&mut after);
        self.hides_from(by, &after)?;
        self.sessions.edit(session.uid, |s| set.apply(s));
        for (setting, value) in set.values() {
            self.line_by(session.uid, &format!("{setting}: {value}"), by);
        }
        self.event(now, EventKind::Session, Some(&session.name), None, "set", &set.shown());
        self.prompts_set(now, &session, &set);
        self.advance(now, session.lane);
        self.session_done(session.uid, name)
    }

    /// Brings back a session that was removed, with its conversation; its tasks stay ended.
    pub(super) fn undo_remove(
        &mut self,
        now: &Now,
        by: &Principal,
        name: &str,
        loaded: &Loaded,
    ) -> Result<Done, Refusal> {
        self.owners_only(by, "bringing back a session")?;
        if self.session_by_name(name).is_some() {
            return Err(Refusal::NameInUse { name: name.to_string() });
        }
        let found = loaded.removed.clone();
        let kept = |s: &Session| s.removed.is_some() && s.may_come_back(now);
        let (session, lane) = found.filter(|(s, _)| kept(s)).ok_or_else(|| self.not_there(by, name))?;
        let (uid, no) = (session.uid, lane.no);
        self.check_adoptable(&lane.conversation_id(&self.meta.incarnation))?;
        if self.lanes.get(no).is_none() {
            self.insert_lane(lane);
        }
        self.sessions.insert(uid, Session { removed: None, state: SessionState::Ready, ..session });
        self.index.names.insert(name.to_string(), uid);
        self.line_by(uid, "brought back", by);
        self.event(now, EventKind::Session, Some(name), None, "brought-back", "");
        self.advance(now, no);
        self.session_done(uid, name)
    }

    /// The session goes on in a new conversation. With open tasks only if they are to be cancelled.
    pub(super) fn new_conversation(
        &mut self,
        now: &Now,
        by: &Principal,
        name: &str,
        cancel: bool,
    ) -> Result<Done, Refusal> {
        self.owners_only(by, "a new conversation")?;
        let session = self.find_session(name)?;
        if matches!(session.harness, Harness::Command { takes_turns: false, .. }) {
            return Err(Refusal::NoConversation { name: session.name.clone() });
        }
        self.refuse_attached(&session)?;
        let open: Vec<Arc<Task>> = self.begun(session.lane);
        if !open.is_empty() && !cancel {
            let ids: Vec<&str> = open.iter().take(NAMED).map(|t| t.id.as_str()).collect();
            let more = if open.len() > NAMED { format!(" and {} more", open.len() - NAMED) } else { String::new() };
            return Err(Refusal::OpenTasks { name: session.name.clone(), tasks: ids.join(", ") + &more });
        }
        for task in open {
            self.end(now, task.no, Ending::Canceled, &Text::from("canceled: its session began a new conversation"));
        }
        self.renew(now, session.lane);
        self.line_by(session.uid, "a new conversation", by);
        self.event(now, EventKind::Session, Some(&session.name), None, "new-conversation", "");
        self.advance(now, session.lane);
        self.session_done(session.uid, name)
    }

    /// Tasks of a lane that its conversation knows of.
    fn begun(&self, lane: LaneNo) -> Vec<Arc<Task>> {
        let open = self.index.open.get(&lane).into_iter().flatten().filter_map(|no| self.tasks.get(*no));
        open.filter(|t| t.dispatched).cloned().collect()
    }

    /// The next run of a lane begins a new conversation; the one that runs is ended.
    pub(super) fn renew(&mut self, now: &Now, lane: LaneNo) {
        match self.lanes.get(lane).and_then(|l| l.turn) {
            Some(_) => {
                self.edit_lane(lane, |l| l.renew = true);
                self.stop_turn(now, lane);
            }
            None => self.edit_lane(lane, |l| l.begin_anew()),
        }
    }

    /// Whether a fresh start may happen now: nothing that is open needs the conversation.
    pub(super) fn is_needed(&self, lane: LaneNo, session: SessionUid) -> bool {
        let tasks = self.begun(lane).iter().any(|t| t.open());
        tasks || self.asks_of(session).any(|a| !a.told)
    }
}
