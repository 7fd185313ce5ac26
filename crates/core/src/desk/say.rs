//! A person's own messages to a session: not tasks; each is read once, in order
//! (`spec/tasks.md`, "Queue").

use crate::id::{DeliveryNo, MessageNo, TaskNo};
use crate::principal::{Ns, Principal};
use crate::refusal::{Refusal, when};
use crate::row::{Delivery, DeliveryKind, EventKind, Message};
use crate::text::{Text, cut};
use crate::time::Now;

use super::send::check_bounds;
use super::{Desk, Done, Loaded, MessageKey};

/// Messages of a person that may wait in one session.
pub const MAX_SAID: usize = 100;

/// The task of a message that asked for none.
pub(super) const NO_TASK: TaskNo = TaskNo(0);

impl Desk {
    /// What makes two messages of a person the same: they are no tasks, and share no ids with them.
    pub(super) fn said_key(&self, by: &Principal, session: &str, mid: &str) -> Option<MessageKey> {
        let session = self.session_by_name(session)?.uid;
        Some(MessageKey { session, ns: Ns(format!("say/{}", by.ns().0)), mid: mid.to_string(), in_task: None })
    }

    pub(super) fn say(
        &mut self,
        now: &Now,
        by: &Principal,
        name: &str,
        mid: String,
        text: Text,
        loaded: &Loaded,
    ) -> Result<Done, Refusal> {
        self.owners_only(by, "speaking to a session as a person")?;
        check_bounds(&text, None, &mid, None, &[])?;
        let session = self.find_session(name)?;
        if !session.harness.stays() {
            return Err(Refusal::NoConversation { name: session.name.clone() });
        }
        let Some(key) = self.said_key(by, name, &mid) else {
            return Err(Refusal::NoConversation { name: session.name.clone() });
        };
        let known = self.index.messages.get(&key).and_then(|no| self.messages.get(*no)).map(|m| (**m).clone());
        if let Some(message) = known.or_else(|| loaded.message.clone()) {
            if message.digest != text.sha() {
                let task = format!("a message to {}", session.name);
                return Err(Refusal::OtherText { mid: cut(&mid, 80), when: when(message.at.wall), task });
            }
            return Ok(Done::Said { made: false });
        }
        let waiting = self.undelivered(session.lane).filter(|d| d.kind == DeliveryKind::Say).count();
        if waiting >= MAX_SAID {
            return Err(Refusal::TooManySaid { name: session.name.clone(), waiting });
        }
        let kept = self.keep(&text);
        let message = Message {
            no: MessageNo(self.next()),
            session: session.uid,
            ns: key.ns,
            mid,
            in_task: None,
            ask: None,
            digest: text.sha(),
            task: NO_TASK,
            task_id: String::new(),
            text: Some(kept),
            parts: None,
            at: now.stamp(),
            ended: None,
            dropped: Some(now.stamp()),
        };
        self.insert_message(message);
        let no = DeliveryNo(self.next());
        let from = self.sender(by, None).label;
        self.insert_delivery(Delivery {
            text: Some(kept),
            from: Some(from),
            ..Delivery::planned(no, session.uid, session.lane, DeliveryKind::Say)
        });
        self.event(now, EventKind::Session, Some(&session.name), None, "said", text.as_str());
        self.advance(now, session.lane);
        Ok(Done::Said { made: true })
    }
}
