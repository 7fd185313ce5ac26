//! What a program does with its tools beside saying how a task ended: it asks, and reads what comes
//! back; and what it was written is read, once.

use shrooms_core::desk::{AskReq, Request, Seen, Target};
use shrooms_core::id::{DeliveryNo, TaskNo};
use shrooms_core::principal::Principal;
use shrooms_core::row::{Ask, AskBy, AskTo, Delivery, DeliveryKind, Known, Message};
use shrooms_core::text::{Text, TextRef};
use shrooms_core::view;

use super::life::{Call, Outcome, wire};
use super::{At, Mood, SESSIONS, Sim};

impl Sim {
    pub(super) fn write(&mut self, at: At, fence: shrooms_core::row::Fence, delivery: DeliveryNo, attempt: u32) {
        let d = self.machines[at.0].world.store.deliveries[&delivery].clone();
        let life = self.life(at);
        assert!(!life.conversation.contains(&wire(&d)), "written, and was read: {d:?}");
        let shows = [DeliveryKind::Task, DeliveryKind::Answer, DeliveryKind::Correction].contains(&d.kind);
        assert!(shows || d.extra.is_empty(), "its text has no place for more: {d:?}");
        let (of, program) = life.program.as_mut().expect("a program to write to");
        assert_eq!(*of, fence, "written to nobody");
        program.inbox.push_back((wire(&d), attempt));
    }

    /// What was taken is in the conversation, and survives the process.
    pub(super) fn land(&mut self, at: At) {
        let shown = std::mem::take(&mut self.program(at).shown);
        self.life(at).read.extend(shown);
        for message in std::mem::take(&mut self.program(at).fresh) {
            let d = self.machines[at.0].world.store.deliveries[&message.0].clone();
            let again = self.is_read_again(at, &d);
            let reruns = self.machines[at.0].world.store.sessions[&d.session].harness.reruns();
            let may = (d.kind == DeliveryKind::Result || reruns) && d.repeat;
            assert!(!again || may, "read twice: {d:?}");
            let brought = d.ask.map(|no| (no, d.text));
            let outcome = brought.map(|(no, text)| {
                let known = self.machines[at.0].world.store.asks[&no].known.clone();
                let state = known.filter(|k| k.text == text).map_or("?".into(), |k| k.state);
                (no, format!("{state} {}", self.text(at.0, text)))
            });
            let life = self.life(at);
            assert!(life.conversation.insert(message), "the same message read twice: {d:?}");
            life.read.extend(outcome);
            self.seen.count(format!("read {:?}", d.kind));
            if d.repeat {
                self.seen.count("read a repeat");
            }
        }
    }

    /// Whether the same was read before. A question whose answer may be lost is asked again.
    fn is_read_again(&self, (m, lane): At, d: &Delivery) -> bool {
        let store = &self.machines[m].world.store;
        let told = d.ask.is_some_and(|no| !self.answered_since(m, &store.asks[&no], d.text));
        let same =
            |o: &Delivery| o.no == d.no || told && o.ask == d.ask && self.text(m, o.text) == self.text(m, d.text);
        self.machines[m].model.lives[&lane].conversation.iter().any(|(no, _)| same(&store.deliveries[no]))
    }

    /// Whether something was said on an ask's task after the question that this text is.
    fn answered_since(&self, m: usize, ask: &Ask, text: Option<TextRef>) -> bool {
        let Some((there, task)) = self.task_of(m, ask) else { return false };
        let store = &self.machines[there].world.store;
        let question = match ask.to {
            AskTo::Here { .. } => text,
            AskTo::Device { .. } => {
                store.tasks[&task].question.filter(|q| self.text(there, Some(*q)) == self.text(m, text))
            }
        };
        let later = |m: &&std::sync::Arc<Message>| m.task == task && question.is_none_or(|q| m.no.0 > q.no);
        question.is_some() && store.messages.values().any(|m| later(&m))
            || question.is_none() && ask.open() && store.tasks[&task].question.is_some()
    }

    /// The task of an ask, wherever it is.
    pub(super) fn task_of(&self, m: usize, ask: &Ask) -> Option<(usize, TaskNo)> {
        match &ask.to {
            AskTo::Here { task } => Some((m, *task)),
            AskTo::Device { id, .. } => {
                let there = self.machines.iter().position(|o| o.device() == *id)?;
                let task = self.machines[there].world.store.task(ask.task_id.as_ref()?)?;
                Some((there, task.no))
            }
        }
    }

    pub(super) fn text(&self, m: usize, text: Option<TextRef>) -> &str {
        text.and_then(|t| self.machines[m].world.store.blobs.get(&t.no)).map_or("", |t| t.as_str())
    }

    /// What is to be told of an ask, if there is anything.
    pub(super) fn outcome(&self, m: usize, ask: &Ask) -> Option<Outcome> {
        let known = ask.known.as_ref().filter(|k| !ask.open() || k.state == "input-required")?;
        Some((ask.no, format!("{} {}", known.state, self.text(m, known.text))))
    }

    /// What it asked for a task has not come back.
    pub(super) fn waits_for_an_ask(&self, (m, lane): At, task: TaskNo) -> bool {
        let machine = &self.machines[m];
        let life = &machine.model.lives[&lane];
        let read = |a: &Ask| !a.open() && self.outcome(m, a).is_some_and(|o| life.read.contains(&o));
        let waits = |a: &Ask| life.asked.get(&a.mid) == Some(&Some(task)) && !read(a);
        machine.world.store.asks.values().any(|a| waits(a))
    }

    pub(super) fn target(&mut self, m: usize, session: &str) -> (String, Target) {
        let there = self.dice.roll(self.machines.len());
        let (machine, session) = (self.machines[there].world.place.machine.clone(), session.to_string());
        let agent = format!("{machine}/{session}");
        match there == m {
            true => (agent, Target::Here { session }),
            false => (agent, Target::Device { id: self.machines[there].device(), machine, session }),
        }
    }

    pub(super) fn ask_req(&mut self, m: usize, by: Principal, session: &str, mid: String) -> AskReq {
        let (agent, to) = self.target(m, session);
        let text = Text::new(format!("please: {mid}"));
        AskReq {
            by,
            to,
            agent,
            mid,
            digest: text.sha(),
            text,
            title: None,
            context: None,
            refs: Vec::new(),
            fresh: self.dice.one_in(12),
            require: Vec::new(),
            now_only: self.dice.one_in(8),
            random: 7,
        }
    }

    pub(super) fn ask(&mut self, at: At) {
        let alike = self.mood == Mood::Asking || self.dice.one_in(2);
        let session = self.dice.pick(&SESSIONS[if alike { 3 } else { 0 }..]).unwrap();
        let (by, mid, id) = (self.me(at), self.id("q"), self.id("call"));
        let of: Vec<TaskNo> = self.program(at).tasks.iter().copied().collect();
        let of = self.dice.pick(of);
        self.life(at).asked.insert(mid.clone(), of);
        self.program(at).calls.push(Call { id, mid: mid.clone(), wanted: true, returned: None });
        let req = self.ask_req(at.0, by, session, mid);
        let _ = self.request(at.0, Request::Ask(req));
    }

    /// What a waiting call would return now: by this machine's ask, or by the task itself, seen before
    /// its report comes.
    fn returns(&mut self, at: At, ask: &Ask) -> Option<(Outcome, Option<Seen>)> {
        let (m, _) = at;
        let mine = self.outcome(m, ask);
        let away = self.task_of(m, ask).filter(|(there, _)| *there != m && self.reaches(m, *there));
        let seen = |known: &Known, task_id: &str, of: usize| Seen {
            task_id: task_id.to_string(),
            seq: known.seq,
            state: known.state.clone(),
            text: known.text.map(|_| Text::new(self.text(of, known.text).to_string())),
        };
        if let Some((there, no)) = away.filter(|_| ask.open()) {
            let task = self.machines[there].world.store.tasks[&no].clone();
            let known = view::known(&task);
            let is = view::State::is_final(&known.state) || known.state == "input-required";
            let what = (ask.no, format!("{} {}", known.state, self.text(there, known.text)));
            return is.then(|| (what, Some(seen(&known, &task.id, there))));
        }
        let known = ask.known.clone().zip(ask.task_id.clone());
        mine.map(|outcome| (outcome, known.map(|(k, task)| seen(&k, &task, m))))
    }

    /// A call returns, or its return is read. One that nobody waits for any more returns to nobody.
    pub(super) fn call(&mut self, at: At) {
        let (m, lane) = at;
        let calls = self.machines[m].model.lives[&lane].program.iter().flat_map(|(_, p)| p.calls.clone());
        let calls: Vec<Call> = calls.collect();
        let Some(call) = self.dice.pick(calls) else { return };
        if let Some(returned) = call.returned {
            self.program(at).calls.retain(|c| c.id != call.id);
            if call.wanted {
                let p = self.program(at);
                p.shown.push(returned);
                p.pipe.push_back(shrooms_core::desk::TurnFact::Seen { call: call.id });
            }
            return;
        }
        let ask = self.machines[m].world.store.asks.values().find(|a| a.mid == call.mid).cloned();
        let Some((ask, (outcome, seen))) = ask.and_then(|a| self.returns(at, &a).map(|r| (a, r))) else { return };
        let calls = self.program(at).calls.iter_mut();
        calls.filter(|c| c.id == call.id).for_each(|c| c.returned = Some(outcome.clone()));
        let (by, no) = (self.me(at), ask.no);
        if self.request(m, Request::Offer { by, no, call: call.id.clone(), seen }).is_err() {
            self.program(at).calls.retain(|c| c.id != call.id);
        }
    }

    /// It answers a question, or says more, or wants it no longer.
    pub(super) fn on_ask(&mut self, at: At) {
        let (m, lane) = at;
        let by = self.machines[m].world.store.lanes[&lane].session;
        let asks = self.machines[m].world.store.asks.values().filter(|a| a.by == AskBy::Session(by) && a.open());
        let asks: Vec<_> = asks.cloned().collect();
        let Some(ask) = self.dice.pick(asks) else { return };
        match self.task_of(m, &ask) {
            Some((there, task)) if !self.dice.one_in(5) => {
                let id = self.machines[there].world.store.tasks[&task].id.clone();
                let by = Principal::Session(by);
                match there == m {
                    true => self.send(m, by, "", Some(id)),
                    false => self.send_more_away(m, there, id),
                }
            }
            _ => drop(self.request(m, Request::CancelAsk { no: ask.no })),
        }
    }
}
