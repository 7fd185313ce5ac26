//! A store in memory: takes committed changes, refuses what a unique index would refuse, answers
//! what a desk wants to have read. It forgets nothing that a real one keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::desk::{Loaded, MessageKey, Wants};
use crate::id::{AskNo, DeliveryNo, LaneNo, MessageNo, OutboxNo, PromptNo, SessionUid, TaskNo, TurnNo};
use crate::row::{
    Ask, Change, Delivery, DeliveryKind, DeliveryState, Event, Lane, Message, Meta, Open, Outbox, Prompt, Session,
    Task, Turn,
};
use crate::text::{Text, TextRef};

#[derive(Clone)]
pub(super) struct Store {
    pub meta: Meta,
    pub blobs: BTreeMap<i64, Text>,
    pub sessions: BTreeMap<SessionUid, Arc<Session>>,
    pub lanes: BTreeMap<LaneNo, Arc<Lane>>,
    pub messages: BTreeMap<MessageNo, Arc<Message>>,
    pub tasks: BTreeMap<TaskNo, Arc<Task>>,
    pub deliveries: BTreeMap<DeliveryNo, Arc<Delivery>>,
    pub turns: BTreeMap<TurnNo, Arc<Turn>>,
    pub prompts: BTreeMap<PromptNo, Arc<Prompt>>,
    pub asks: BTreeMap<AskNo, Arc<Ask>>,
    pub outbox: BTreeMap<OutboxNo, Arc<Outbox>>,
    pub events: Vec<Arc<Event>>,
}

impl Store {
    pub fn new() -> Store {
        Store {
            meta: Meta::new("0123456789abcdef".into()),
            blobs: BTreeMap::new(),
            sessions: BTreeMap::new(),
            lanes: BTreeMap::new(),
            messages: BTreeMap::new(),
            tasks: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            turns: BTreeMap::new(),
            prompts: BTreeMap::new(),
            asks: BTreeMap::new(),
            outbox: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Meta(m) => {
                assert!(m.served >= self.meta.served, "served time went back");
                assert_eq!(m.last_event, self.events.len() as i64, "the feed is numbered without a gap");
                self.meta = m;
            }
            Change::Blob(no, text) => assert!(self.blobs.insert(no, text).is_none(), "text {no} is written twice"),
            Change::Session(s) => {
                let same = |o: &Session| o.name == s.name && o.removed.is_none() && o.uid != s.uid;
                assert!(s.removed.is_some() || !self.sessions.values().any(|o| same(o)), "two sessions {}", s.name);
                self.sessions.insert(s.uid, s);
            }
            Change::Lane(l) => drop(self.lanes.insert(l.no, l)),
            Change::Message(m) => {
                let key = MessageKey::of(&m);
                let same = |o: &Message| o.no != m.no && MessageKey::of(o) == key;
                assert!(!self.messages.values().any(|o| same(o)), "one message is two rows: {key:?}");
                self.messages.insert(m.no, m);
            }
            Change::Task(t) => {
                assert!(!self.tasks.values().any(|o| o.no != t.no && o.id == t.id), "two tasks {}", t.id);
                if let Some(old) = self.tasks.get(&t.no) {
                    assert_eq!(old.id, t.id, "a task's id never changes");
                    let kept = old.open() || (old.ending, old.result, old.ended) == (t.ending, t.result, t.ended);
                    assert!(kept, "the end of {} changed", t.id);
                    assert!(t.seq >= old.seq, "the changes of {} are counted up", t.id);
                    for (was, is) in [(old.delivered, t.delivered), (old.started, t.started), (old.acked, t.acked)] {
                        assert!(was.is_none() || was == is, "the receipt of {} changed", t.id);
                    }
                }
                assert!(t.open() || t.pending == 0, "an ended task waits for nothing: {t:?}");
                self.tasks.insert(t.no, t);
            }
            Change::Delivery(d) => {
                let first = |o: &Delivery| o.kind == DeliveryKind::Task && o.task == d.task && o.no != d.no;
                let twice = d.kind == DeliveryKind::Task && self.deliveries.values().any(|o| first(o));
                assert!(!twice, "a task is delivered as two deliveries: {d:?}");
                self.deliveries.insert(d.no, d);
            }
            Change::Turn(t) => drop(self.turns.insert(t.no, t)),
            Change::Prompt(p) => {
                if let Some(old) = self.prompts.get(&p.no) {
                    assert!(old.ended.is_none() || old == &p, "a prompt that is over changed: {p:?}");
                }
                self.prompts.insert(p.no, p);
            }
            Change::Ask(a) => {
                let same = |o: &Ask| o.no != a.no && (&o.agent, &o.mid) == (&a.agent, &a.mid);
                assert!(!self.asks.values().any(|o| same(o)), "two asks {} of {}", a.mid, a.agent);
                self.asks.insert(a.no, a);
            }
            Change::Outbox(o) => drop(self.outbox.insert(o.no, o)),
            Change::OutboxGone(no) => drop(self.outbox.remove(&no)),
            Change::Event(e) => {
                assert_eq!(e.seq, self.events.len() as i64 + 1, "the feed is numbered without a gap");
                self.events.push(e);
            }
        }
    }

    /// What a start reads.
    pub fn open(&self) -> Open {
        let lives = |uid: &SessionUid| self.sessions.get(uid).is_some_and(|s| s.removed.is_none());
        let open = |no: &TaskNo| self.tasks.get(no).is_some_and(|t| t.open());
        Open {
            sessions: rows(&self.sessions, |s| s.removed.is_none()),
            lanes: rows(&self.lanes, |l| l.turn.is_some() || lives(&l.session)),
            messages: rows(&self.messages, |m| open(&m.task)),
            tasks: rows(&self.tasks, |t| t.open()),
            deliveries: rows(&self.deliveries, |d| d.state != DeliveryState::Ended),
            turns: rows(&self.turns, |t| t.ended.is_none()),
            prompts: rows(&self.prompts, |p| p.ended.is_none()),
            asks: rows(&self.asks, |a| a.live()),
            outbox: rows(&self.outbox, |_| true),
        }
    }

    /// What is read before a request.
    pub fn load(&self, wants: &Wants) -> Loaded {
        let message = |key: &MessageKey| {
            let found = self.messages.values().find(|m| MessageKey::of(m) == *key);
            found.map(|m| (**m).clone())
        };
        let mut loaded = Loaded {
            message: wants.message.as_ref().and_then(message),
            removed: wants.removed.as_ref().and_then(|name| {
                let session = self.sessions.values().rev().find(|s| s.name == *name && s.removed.is_some())?;
                Some(((**session).clone(), (*self.lanes[&session.lane]).clone()))
            }),
            prompt: wants.prompt.and_then(|no| self.prompts.get(&no)).map(|p| (**p).clone()),
            task: wants.task.as_ref().and_then(|id| self.task(id).cloned()),
            ..Loaded::default()
        };
        if let (Some((ns, mid)), Some(task)) = (&wants.in_task, &loaded.task) {
            let (ns, mid) = (ns.clone(), mid.clone());
            loaded.message = message(&MessageKey { session: task.session, ns, mid, in_task: Some(task.no) });
        }
        if let (Some(message), None) = (&loaded.message, &loaded.task) {
            loaded.task = self.tasks.get(&message.task).cloned();
        }
        loaded.id_taken = wants.free_id.as_ref().is_some_and(|id| self.task(id).is_some());
        loaded.ask = wants.ask.and_then(|no| self.asks.get(&no)).map(|a| (**a).clone());
        if let Some((agent, mid)) = &wants.ask_mid {
            let found = self.asks.values().find(|a| (&a.agent, &a.mid) == (agent, mid));
            loaded.ask = found.map(|a| (**a).clone());
        }
        loaded
    }

    pub fn task(&self, id: &str) -> Option<&Arc<Task>> {
        self.tasks.values().find(|t| t.id == id)
    }

    /// The newest session of this name, also a removed one.
    pub fn session(&self, name: &str) -> Option<&Arc<Session>> {
        self.sessions.values().rfind(|s| s.name == name)
    }

    /// A text as tests show it: quoted, on one line, long ones by their length.
    pub fn shown(&self, text: Option<TextRef>) -> Option<String> {
        let text = self.blobs.get(&text?.no).expect("a row's text is committed with it");
        Some(show(text.as_str()))
    }

    /// The time of a task is over: it is dropped, and its messages stay as tombstones.
    pub fn drop_task(&mut self, id: &str) {
        let task = self.task(id).cloned().expect("a task to drop");
        assert!(!task.open(), "only ended tasks are dropped");
        self.tasks.remove(&task.no);
    }
}

pub(super) fn show(text: &str) -> String {
    match text.len() {
        0..=200 => format!("'{}'", text.split('\n').filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" | ")),
        n => format!("'<{n}>'"),
    }
}

fn rows<K, R: Clone>(table: &BTreeMap<K, Arc<R>>, open: impl Fn(&R) -> bool) -> Vec<R> {
    table.values().filter(|r| open(r)).map(|r| (**r).clone()).collect()
}
