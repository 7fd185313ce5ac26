//! How the outcome of an ask reaches the session that asked: as one turn, once; again, and marked,
//! when that turn was cut off. A question is an outcome, too; each is told for itself
//! (`spec/tasks.md`, "The asker's side").

use crate::id::{AskNo, DeliveryNo};
use crate::row::{Ask, AskBy, AskState, AskTo, Delivery, DeliveryKind, DeliveryState, Known};
use crate::text::TextRef;
use crate::time::Now;
use crate::view::State;

use super::{Desk, Done, Seen};

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
        if ask.told {
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
        let (lane, session) = (session.lane, session.uid);
        let delivery = DeliveryNo(self.next());
        self.insert_delivery(Delivery {
            ask: Some(no),
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
    }

    /// The turn that brought a result is over. News that came meanwhile is brought by the next.
    pub(super) fn forget_telling(&mut self, now: &Now, delivery: DeliveryNo) {
        let Some(ask) = self.deliveries.get(delivery).and_then(|d| d.ask).and_then(|no| self.asks.get(no).cloned())
        else {
            return;
        };
        if ask.telling == Some(delivery) {
            self.edit_ask(ask.no, |a| a.telling = None);
            if has_outcome(&ask) {
                self.plan_result(now, ask.no);
            }
        }
    }

    pub(super) fn drop_telling(&mut self, no: AskNo) {
        let Some(delivery) = self.asks.get(no).and_then(|a| a.telling) else {
            return;
        };
        if self.deliveries.get(delivery).is_some_and(|d| d.state == DeliveryState::Planned) {
            self.edit_delivery(delivery, |d| d.state = DeliveryState::Ended);
            self.edit_ask(no, |a| a.telling = None);
        }
    }

    /// Whoever asked has the outcome in its hands: nothing more is told. What it was shown may be
    /// ahead of the worker's report; then it is taken in first, as told.
    pub(super) fn told(&mut self, now: &Now, no: AskNo, seen: Option<Seen>) -> Done {
        let Some(ask) = self.asks.get(no).cloned() else { return Done::Nothing };
        let away = matches!(ask.to, AskTo::Device { .. });
        let news = |s: &Seen| ask.known.as_ref().is_none_or(|k| k.seq < s.seq) && State::is_final(&s.state);
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
        if self.asks.get(no).is_some_and(|a| !a.open()) {
            self.edit_ask(no, |a| a.told = true);
            self.drop_telling(no);
        }
        Done::Nothing
    }
}

/// Something that whoever asked is to be told: a question, or the end.
fn has_outcome(ask: &Ask) -> bool {
    !ask.open() || ask.known.as_ref().is_some_and(|k| k.state == State::InputRequired.word())
}

/// The text of what is known.
fn outcome(ask: &Ask) -> Option<TextRef> {
    ask.known.as_ref().and_then(|k| k.text)
}
