//! A store in memory: takes committed changes, refuses what a unique index would refuse, answers
//! what a desk wants to have read. It forgets nothing that a real one keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shrooms_core::desk::{Loaded, MessageKey, Wants};
use shrooms_core::id::{AskNo, DeliveryNo, LaneNo, MessageNo, OutboxNo, PromptNo, SessionUid, TaskNo, TurnNo};
use shrooms_core::row::{
    Ask, AskKey, Audit, Change, Delivery, DeliveryKind, DeliveryState, Device, Event, Lane, Message, Meta, Open,
    Outbox, Prompt, Session, Task, Turn, Usage,
};
use shrooms_core::text::{Text, TextRef};

#[derive(Clone)]
pub struct Store {
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
    pub audit: Vec<Arc<Audit>>,
    pub devices: BTreeMap<String, Arc<Device>>,
    pub usage: Vec<Arc<Usage>>,
    /// The unique indexes of the real one.
    keys: BTreeMap<MessageKey, MessageNo>,
    of_ask: BTreeMap<AskKey, MessageNo>,
    ids: BTreeMap<String, TaskNo>,
    asked: BTreeMap<(String, String), AskNo>,
    first: BTreeMap<TaskNo, DeliveryNo>,
    running: BTreeSet<TurnNo>,
}

impl Store {
    /// An empty one, whose state was made with these random digits.
    pub fn new(incarnation: &str) -> Store {
        Store {
            meta: Meta::new(incarnation.into()),
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
            keys: BTreeMap::new(),
            audit: Vec::new(),
            devices: BTreeMap::new(),
            usage: Vec::new(),
            of_ask: BTreeMap::new(),
            ids: BTreeMap::new(),
            asked: BTreeMap::new(),
            first: BTreeMap::new(),
            running: BTreeSet::new(),
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
            Change::Session(s) => drop(self.sessions.insert(s.uid, s)),
            Change::Lane(l) => drop(self.lanes.insert(l.no, l)),
            Change::Message(m) => {
                let key = MessageKey::of(&m);
                let known = *self.keys.entry(key.clone()).or_insert(m.no);
                assert_eq!(known, m.no, "one message is two rows: {key:?}");
                if let Some(key) = &m.ask {
                    let known = *self.of_ask.entry(key.clone()).or_insert(m.no);
                    assert_eq!(known, m.no, "one ask is two messages: {key:?}");
                }
                self.messages.insert(m.no, m);
            }
            Change::Task(t) => {
                let known = *self.ids.entry(t.id.clone()).or_insert(t.no);
                assert_eq!(known, t.no, "two tasks {}", t.id);
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
                if let Some(task) = d.task.filter(|_| d.kind == DeliveryKind::Task) {
                    let first = *self.first.entry(task).or_insert(d.no);
                    assert_eq!(first, d.no, "a task is delivered as two deliveries: {d:?}");
                }
                self.deliveries.insert(d.no, d);
            }
            Change::Turn(t) => {
                match t.ended {
                    None => self.running.insert(t.no),
                    Some(_) => self.running.remove(&t.no),
                };
                self.turns.insert(t.no, t);
            }
            Change::Prompt(p) => {
                if let Some(old) = self.prompts.get(&p.no) {
                    assert!(old.ended.is_none() || old == &p, "a prompt that is over changed: {p:?}");
                }
                self.prompts.insert(p.no, p);
            }
            Change::Ask(a) => {
                let known = *self.asked.entry((a.agent.clone(), a.mid.clone())).or_insert(a.no);
                assert_eq!(known, a.no, "two asks {} of {}", a.mid, a.agent);
                self.asks.insert(a.no, a);
            }
            Change::Outbox(o) => drop(self.outbox.insert(o.no, o)),
            Change::OutboxGone(no) => drop(self.outbox.remove(&no)),
            Change::Event(e) => {
                assert_eq!(e.seq, self.events.len() as i64 + 1, "the feed is numbered without a gap");
                self.events.push(e);
            }
            Change::Audit(a) => {
                assert_eq!(a.no, self.audit.len() as i64 + 1, "the audit log is numbered without a gap");
                self.audit.push(a);
            }
            Change::Device(d) => drop(self.devices.insert(d.id.clone(), d)),
            Change::Usage(u) => self.usage.push(u),
        }
    }

    /// What holds between the changes of two commits: names that change hands do so within one.
    pub fn check(&self) {
        let mut names = BTreeSet::new();
        for s in self.sessions.values().filter(|s| s.removed.is_none()) {
            assert!(names.insert(&s.name), "two sessions {}", s.name);
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
            turns: self.open_turns().map(|t| (**t).clone()).collect(),
            prompts: rows(&self.prompts, |p| p.ended.is_none()),
            asks: rows(&self.asks, |a| a.live()),
            outbox: rows(&self.outbox, |_| true),
            devices: rows(&self.devices, |_| true),
        }
    }

    /// What is read before a request.
    pub fn load(&self, wants: &Wants) -> Loaded {
        let message = |key: &MessageKey| self.keys.get(key).map(|no| (*self.messages[no]).clone());
        let mut loaded = Loaded {
            message: wants.message.as_ref().and_then(message),
            of_ask: wants.of_ask.as_ref().and_then(|key| self.of_ask.get(key)).map(|no| (*self.messages[no]).clone()),
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
        if let (Some(message), None) = (loaded.of_ask.as_ref().or(loaded.message.as_ref()), &loaded.task) {
            loaded.task = self.tasks.get(&message.task).cloned();
        }
        let of_task = loaded.task.as_ref().map(|t| t.session);
        let of = of_task.or(loaded.prompt.as_ref().map(|p| p.session));
        loaded.session = of.and_then(|uid| self.sessions.get(&uid)).map(|s| (**s).clone());
        loaded.id_taken = wants.free_id.as_ref().is_some_and(|id| self.task(id).is_some());
        loaded.ask = wants.ask.and_then(|no| self.asks.get(&no)).map(|a| (**a).clone());
        if let Some(no) = wants.ask_mid.as_ref().and_then(|key| self.asked.get(key)) {
            loaded.ask = self.asks.get(no).map(|a| (**a).clone());
        }
        loaded
    }

    /// The task with this id.
    pub fn task(&self, id: &str) -> Option<&Arc<Task>> {
        self.ids.get(id).and_then(|no| self.tasks.get(no))
    }

    /// Turns that have not ended.
    pub fn open_turns(&self) -> impl Iterator<Item = &Arc<Turn>> {
        self.running.iter().map(|no| &self.turns[no])
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
        self.ids.remove(id);
    }
}

pub fn show(text: &str) -> String {
    match text.len() {
        0..=200 => format!("'{}'", text.split('\n').filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" | ")),
        n => format!("'<{n}>'"),
    }
}

fn rows<K, R: Clone>(table: &BTreeMap<K, Arc<R>>, open: impl Fn(&R) -> bool) -> Vec<R> {
    table.values().filter(|r| open(r)).map(|r| (**r).clone()).collect()
}
