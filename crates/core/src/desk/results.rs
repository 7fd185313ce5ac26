//! How the outcome of an ask reaches the session that asked: as one turn, once; again, and marked,
//! when that turn was cut off. A question is an outcome, too; each is told for itself
//! (`spec/tasks.md`, "The asker's side").

use crate::id::{AskNo, DeliveryNo, SessionUid, TaskNo};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{Ask, AskBy, AskState, AskTo, Delivery, DeliveryKind, DeliveryState, Known, Offer, Turn};
use crate::text::TextRef;
use crate::time::Now;
use crate::view::State;

use super::{Desk, Done, Mutant, Seen};

impl Desk {
    /// A session whose harness takes turns gets the outcome as one, unless it has it already.
    pub(super) fn plan_result(&mut self, now: &Now, no: AskNo) {
        let Some(ask) = self.asks.get(no).cloned() else {
            return;
        };
        let AskBy::Session(uid) = ask.by else { return };
        let Some(session) = self.sessions.get(uid).filter(|s| s.harness.takes_turns() && s.removed.is_none()) else {
            return;
        };
        // One that is offered waits for its call's end.
        if ask.told || is_offered(&ask) {
            return;
        }
        if let Some(telling) = ask.telling {
            // What has not left yet brings the newest; what is being read is followed by it.
            let held = self.deliveries.get(telling).is_some_and(|d| match d.state {
                DeliveryState::Planned => true,
                DeliveryState::Attempting => self.deliveries.is_dirty(telling),
                DeliveryState::Taken | DeliveryState::Ended => false,
            });
            if held {
                self.edit_delivery(telling, |d| d.text = outcome(&ask));
            }
            return;
        }
        let (lane, session, stays) = (session.lane, session.uid, session.harness.stays());
        let delivery = DeliveryNo(self.next());
        // The task that waits for it has the lane again with it.
        let parent = ask.parent.filter(|no| stays && self.tasks.get(*no).is_some_and(|t| t.open()));
        self.insert_delivery(Delivery {
            ask: Some(no),
            task: parent,
            text: outcome(&ask),
            ..Delivery::planned(delivery, session, lane, DeliveryKind::Result)
        });
        self.edit_ask(no, |a| a.telling = Some(delivery));
        self.advance(now, lane);
    }

    /// The session has what a delivery brought; it is told, if that is still the newest.
    pub(super) fn brought(&mut self, delivery: &Delivery) {
        let Some(ask) = delivery.ask.and_then(|no| self.asks.get(no).cloned()) else {
            return;
        };
        if outcome(&ask) == delivery.text {
            self.edit_ask(ask.no, |a| a.told = true);
        }
    }

    /// A result that is to be brought again brings what is known now: nothing, if its question was
    /// answered meanwhile.
    pub(super) fn renew_result(&mut self, no: DeliveryNo) {
        let Some(ask) = self.deliveries.get(no).and_then(|d| d.ask).and_then(|ask| self.asks.get(ask).cloned()) else {
            return;
        };
        let over = !has_outcome(&ask);
        self.edit_delivery(no, |d| {
            d.text = outcome(&ask);
            if over {
                d.state = DeliveryState::Ended;
            }
        });
        self.edit_ask(ask.no, |a| {
            a.told = false;
            if over {
                a.telling = None;
            }
        });
        if over {
            self.waits_on(&ask);
        }
    }

    /// A task that was to go on with an outcome that is none any more waits on, and not with the lane.
    fn waits_on(&mut self, ask: &Ask) {
        if let Some(parent) = ask.parent.filter(|no| self.tasks.get(*no).is_some_and(|t| t.waiting)) {
            self.release(parent);
        }
    }

    /// The turn that brought a result is over. News that came meanwhile is brought by the next; what
    /// may have been read before is marked there, too.
    pub(super) fn forget_telling(&mut self, now: &Now, delivery: DeliveryNo) {
        let Some(over) = self.deliveries.get(delivery).cloned() else { return };
        let Some(ask) = over.ask.and_then(|no| self.asks.get(no).cloned()) else { return };
        if ask.telling == Some(delivery) {
            let again = self.breaks(Mutant::TellsTwice);
            self.edit_ask(ask.no, |a| {
                a.telling = None;
                a.told &= !again;
            });
            if has_outcome(&ask) {
                self.plan_result(now, ask.no);
            }
            let again = self.asks.get(ask.no).and_then(|a| a.telling).filter(|_| over.repeat);
            if let Some(again) = again {
                self.edit_delivery(again, |d| d.repeat |= d.text == over.text);
            }
        }
    }

    pub(super) fn drop_telling(&mut self, no: AskNo) {
        let Some(ask) = self.asks.get(no).cloned() else { return };
        let Some(delivery) = ask.telling else { return };
        if self.deliveries.get(delivery).is_some_and(|d| d.state == DeliveryState::Planned) {
            self.edit_delivery(delivery, |d| d.state = DeliveryState::Ended);
            self.edit_ask(no, |a| a.telling = None);
            self.waits_on(&ask);
        }
    }

    /// Whoever asked has the outcome in its hands: nothing more is told. What it was shown may be
    /// ahead of the worker's report; then it is taken in first, as told.
    pub(super) fn told(&mut self, now: &Now, no: AskNo, seen: Option<Seen>) -> Done {
        self.take_in(now, no, seen);
        if self.asks.get(no).is_some_and(|a| !a.open() && !self.is_awaited(a)) {
            self.edit_ask(no, |a| a.told = true);
            self.drop_telling(no);
        }
        Done::Nothing
    }

    /// The outcome goes out as the return of a tool call of the session that asked. Until that
    /// session's turn ends nothing else brings it; what is not shown as read by then comes as a turn.
    pub(super) fn offer(
        &mut self,
        now: &Now,
        by: &Principal,
        no: AskNo,
        call: String,
        seen: Option<Seen>,
    ) -> Result<Done, Refusal> {
        let ask = self.asks.get(no).cloned().ok_or(Refusal::NoAsk { id: no.0.to_string() })?;
        let Principal::Session(uid) = by else { return Ok(self.told(now, no, seen)) };
        if ask.by != AskBy::Session(*uid) {
            return Err(Refusal::NoAsk { id: no.0.to_string() });
        }
        let run = self.sessions.get(*uid).and_then(|s| self.lanes.get(s.lane)).and_then(|l| l.turn);
        let works = run.and_then(|no| self.turns.get(no)).is_some_and(|t| t.busy && t.boot == self.meta.boot);
        let shows = self.sessions.get(*uid).is_some_and(|s| s.harness.stays());
        if !shows {
            return Ok(self.told(now, no, seen));
        }
        // A call that outlived its turn shows nothing any more: a turn brings the outcome.
        if works && call.len() <= MAX_CALL {
            let shown_seq = seen.as_ref().map(|s| s.seq);
            self.take_in(now, no, seen);
            // Told already, or shown through another call of this turn: that one counts.
            let shown = |a: &Ask| is_offered(a) && a.offered.as_ref().is_some_and(|o| o.seen);
            let wanted = |a: &&std::sync::Arc<Ask>| has_outcome(a) && !a.told && !shown(a);
            let known = self.asks.get(no).filter(wanted).and_then(|a| a.known.as_ref()).map(|k| k.seq);
            // What is shown may be older than what is known by now.
            let seq =
                known.map(|k| (k, shown_seq.unwrap_or(k))).filter(|(k, shown)| shown >= k).map(|(_, shown)| shown);
            if let Some(seq) = seq {
                self.edit_ask(no, |a| a.offered = Some(Offer { call, seq, seen: false }));
                self.drop_telling(no);
            }
        }
        Ok(Done::Nothing)
    }

    /// The session has the return of a call in its conversation.
    pub(super) fn seen(&mut self, now: &Now, run: &Turn, call: &str) {
        let is = |a: &Ask| a.offered.as_ref().is_some_and(|o| o.call == call);
        let offered: Vec<AskNo> = self.asks_of(run.session).filter(|a| is(a)).map(|a| a.no).collect();
        for no in offered {
            let seen = self.asks.get(no).is_some_and(|a| is_offered(a) && !self.is_awaited_by_another(a, run.task));
            if seen {
                self.edit_ask(no, |a| a.offered.iter_mut().for_each(|o| o.seen = true));
            } else {
                self.edit_ask(no, |a| a.offered = None);
                self.plan_result(now, no);
            }
        }
    }

    /// The calls of a session's turn are over: what was not seen is told as a turn; after a crash
    /// marked as perhaps a repeat.
    pub(super) fn end_offers(&mut self, now: &Now, session: SessionUid, cut_off: bool) {
        let offered: Vec<AskNo> = self.asks_of(session).filter(|a| a.offered.is_some()).map(|a| a.no).collect();
        for no in offered {
            let trusts = self.breaks(Mutant::TrustsOffers);
            let told = |a: &Ask| !cut_off && is_offered(a) && a.offered.as_ref().is_some_and(|o| o.seen || trusts);
            let told = self.asks.get(no).is_some_and(|a| told(a));
            self.edit_ask(no, |a| {
                a.offered = None;
                a.told |= told;
            });
            if self.asks.get(no).is_some_and(|a| has_outcome(a)) {
                self.plan_result(now, no);
            }
            if let Some(telling) = self.asks.get(no).and_then(|a| a.telling).filter(|_| cut_off) {
                self.edit_delivery(telling, |d| d.repeat = true);
            }
        }
    }

    /// The asks of a session that are not over, or not told.
    pub(super) fn asks_of(&self, session: SessionUid) -> impl Iterator<Item = &std::sync::Arc<Ask>> {
        self.index.asked.get(&session).into_iter().flatten().filter_map(|no| self.asks.get(*no))
    }

    /// A task gave its lane up to wait for this: only a turn of its own goes on with it.
    fn is_awaited(&self, ask: &Ask) -> bool {
        ask.parent.and_then(|no| self.tasks.get(no)).is_some_and(|t| t.open() && t.waiting)
    }

    fn is_awaited_by_another(&self, ask: &Ask, by: Option<TaskNo>) -> bool {
        self.is_awaited(ask) && ask.parent != by
    }

    /// What was read from the worker's machine before its report came.
    fn take_in(&mut self, now: &Now, no: AskNo, seen: Option<Seen>) {
        let Some(ask) = self.asks.get(no).cloned() else { return };
        let away = matches!(ask.to, AskTo::Device { .. });
        let fresh = |s: &Seen| ask.known.as_ref().is_none_or(|k| k.seq < s.seq);
        // A question that is shown now is old news when its report comes.
        let asks = seen.as_ref().filter(|s| ask.open() && away && fresh(s) && s.state == State::InputRequired.word());
        if let Some(seen) = asks {
            let text = seen.text.as_ref().map(|t| self.keep(t));
            self.edit_ask(no, |a| {
                a.state = AskState::Open;
                a.task_id = Some(seen.task_id.clone());
                a.known = Some(Known { seq: seen.seq, state: seen.state.clone(), text });
                a.told = false;
            });
            self.ask_event(now, no);
        }
        let news = |s: &Seen| fresh(s) && State::is_final(&s.state);
        if let Some(seen) = seen.filter(|s| ask.open() && away && news(s)) {
            let text = seen.text.as_ref().map(|t| self.keep(t));
            self.edit_ask(no, |a| {
                a.state = AskState::Ended;
                a.trying = false;
                a.ended = Some(now.stamp());
                a.task_id = Some(seen.task_id);
                a.known = Some(Known { seq: seen.seq, state: seen.state, text });
            });
            self.ask_event(now, no);
        }
    }
}

/// Longest id of a tool call that is kept, in bytes: every scheme seen has under a hundred.
const MAX_CALL: usize = 512;

/// The newest outcome is on its way through a tool call.
fn is_offered(ask: &Ask) -> bool {
    ask.offered.as_ref().is_some_and(|o| ask.known.as_ref().is_some_and(|k| k.seq <= o.seq))
}

/// Something that whoever asked is to be told: a question, or the end.
pub(super) fn has_outcome(ask: &Ask) -> bool {
    !ask.open() || ask.known.as_ref().is_some_and(|k| k.state == State::InputRequired.word())
}

/// The text of what is known.
fn outcome(ask: &Ask) -> Option<TextRef> {
    ask.known.as_ref().and_then(|k| k.text)
}
