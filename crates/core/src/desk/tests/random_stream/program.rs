//! A program that stays, as honest as it can be: what it has stored is in its conversation for good,
//! what it has not stored it has never read; it works on what it has stored, waits for its calls and
//! for persons, says what it does, and may die at any moment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{Play, SESSIONS};
use crate::desk::{AskReq, Asked, Exit, Landed, Request, Retry, Seen, Target, TurnFact, Word};
use crate::id::{AskNo, DeliveryNo, LaneNo, TaskNo};
use crate::principal::Principal;
use crate::row::{Ask, AskBy, AskTo, Delivery, DeliveryKind, Fence, Message, Spent, Task};
use crate::text::Text;

/// What a harness knows a message by: another for each time that it is said once more although it may
/// have been read.
pub(super) type Wire = (DeliveryNo, u32);

pub(super) fn wire(d: &Delivery) -> Wire {
    (d.no, if d.repeat { d.attempt } else { 0 })
}

/// An outcome of an ask, by its text.
pub(super) type Outcome = (AskNo, Option<i64>);

pub(super) fn outcome(ask: &Ask) -> Option<Outcome> {
    let known = ask.known.as_ref().filter(|k| !ask.open() || k.state == "input-required")?;
    Some((ask.no, known.text.map(|t| t.no)))
}

/// A lane's conversation, and the last program that had it open.
#[derive(Clone, Default)]
pub(super) struct Life {
    pub conversation: BTreeSet<Wire>,
    /// Outcomes that are in it.
    pub read: BTreeSet<Outcome>,
    /// What it asked, by message id, and for which of its tasks.
    asked: BTreeMap<String, Option<TaskNo>>,
    /// What had been read when a task was last blocked.
    pub blocked: BTreeMap<TaskNo, BTreeSet<Wire>>,
    pub program: Option<(Fence, Program)>,
    /// What became of a run is to be found out.
    pub settle: Option<Fence>,
}

#[derive(Clone, Default)]
pub(super) struct Program {
    begun: bool,
    pub over: bool,
    exit: Option<Exit>,
    /// Its end was asked for.
    pub stop: bool,
    /// What was written and not taken, with the attempts' numbers.
    pub inbox: VecDeque<(Wire, u32)>,
    /// A turn runs; as far as the daemon has heard.
    pub works: bool,
    pub heard_works: bool,
    /// This turn, or the next, is cut short.
    pub cut: bool,
    /// Taken, or read as the return of a call, and not stored yet: lost, if it dies now.
    fresh: Vec<Wire>,
    shown: Vec<Outcome>,
    /// Tasks that the turn has messages of.
    tasks: BTreeSet<TaskNo>,
    pub prompts: BTreeSet<String>,
    calls: Vec<Call>,
    /// What it has said and the daemon has not heard.
    pub pipe: VecDeque<TurnFact>,
}

/// A call of `ask_agent` that has not shown its return.
#[derive(Clone)]
struct Call {
    id: String,
    mid: String,
    /// The model still waits for it.
    wanted: bool,
    returned: Option<Outcome>,
}

impl Program {
    pub fn end(&mut self, word: TurnFact) {
        self.over = true;
        self.fresh.clear();
        self.shown.clear();
        self.pipe.push_back(word);
    }

    fn exit(&mut self, code: i32) {
        self.exit = Some(exit(code, self.stop));
        self.end(TurnFact::Ended(exit(code, self.stop)));
    }

    /// A turn is over, with all that belonged to it.
    fn rest(&mut self) {
        let gone = std::mem::take(&mut self.prompts).into_iter().map(|key| TurnFact::PromptGone { key });
        self.pipe.extend(gone);
        self.pipe.push_back(TurnFact::Idle { words: Text::from("words"), spent: Spent::default() });
        self.calls.iter_mut().for_each(|c| c.wanted = false);
        self.tasks.clear();
        (self.works, self.cut) = (false, false);
    }

    /// It has ended, and that was heard.
    pub fn is_gone(&self) -> bool {
        self.over && self.pipe.is_empty()
    }
}

pub(super) fn exit(code: i32, stopped: bool) -> Exit {
    Exit { code: Some(code), signal: None, spawn_error: None, stopped, words: Text::from("words") }
}

impl Play {
    /// A program does one thing.
    pub(super) fn live(&mut self, lane: LaneNo) {
        let (roll, heard, mood) = (self.dice.roll(100), self.dice.roll(4), self.mood);
        let p = self.program(lane);
        match roll {
            _ if p.over => {}
            _ if !p.begun => self.begin(lane),
            0 => p.exit(1),
            1 => {
                p.pipe.truncate(heard);
                p.end(TurnFact::Lost);
            }
            2..25 if p.stop => p.exit(0),
            _ if p.works => self.work(lane),
            2 => p.exit(0),
            3..8 => {
                p.works = true;
                p.pipe.push_back(TurnFact::Busy);
                self.count("busy unasked");
            }
            // Something in the background waits for a person.
            8..20 if mood == 1 => self.prompt(lane),
            8..70 if mood == 2 => self.refuse(lane),
            8..11 => self.refuse(lane),
            _ => self.take(lane),
        }
    }

    fn begin(&mut self, lane: LaneNo) {
        let retry = self.dice.pick([Retry::Soon, Retry::Disk, Retry::Counted]).unwrap();
        let roll = self.dice.roll(20);
        let p = self.program(lane);
        match roll {
            _ if p.stop => p.end(TurnFact::NeverBegan { why: "stopped".into(), retry: Retry::Soon }),
            0 | 1 => p.end(TurnFact::NeverBegan { why: "no".into(), retry }),
            2 => p.end(TurnFact::Ended(Exit { spawn_error: Some("no".into()), ..exit(1, false) })),
            _ => p.begun = true,
        }
    }

    /// It takes what was written next, into its turn or as the first of the next.
    fn take(&mut self, lane: LaneNo) {
        let (announced, stored) = (self.dice.one_in(2), self.dice.one_in(2));
        let Some((message, attempt)) = self.program(lane).inbox.pop_front() else { return };
        let task = self.world.store.deliveries[&message.0].task;
        let p = self.program(lane);
        p.pipe.extend((announced && !p.works).then_some(TurnFact::Busy));
        p.pipe.push_back(TurnFact::Taken { delivery: message.0, attempt });
        p.works = true;
        p.fresh.push(message);
        p.tasks.extend(task);
        if stored {
            self.land(lane);
        }
    }

    /// It will not give what was written next to its model, or there was nothing to say.
    fn refuse(&mut self, lane: LaneNo) {
        let Some(((delivery, _), attempt)) = self.program(lane).inbox.pop_front() else { return };
        let empty = self.world.store.deliveries[&delivery].kind == DeliveryKind::Recap && self.dice.one_in(2);
        let p = self.program(lane);
        p.pipe.push_back(match empty {
            true => TurnFact::NotNeeded { delivery, attempt },
            false => TurnFact::NotRun { delivery, attempt },
        });
        if !p.works {
            p.rest();
        }
        self.count("refused");
    }

    /// What was taken is in the conversation, and survives the process.
    fn land(&mut self, lane: LaneNo) {
        let shown = std::mem::take(&mut self.program(lane).shown);
        self.life(lane).read.extend(shown);
        for message in std::mem::take(&mut self.program(lane).fresh) {
            let store = &self.world.store;
            let d = store.deliveries[&message.0].clone();
            let life = self.model.lives.get_mut(&lane).unwrap();
            // A question whose answer may be lost is asked again.
            let to = d.ask.map(|no| store.asks[&no].to.clone());
            let later = |m: &Message| d.text.is_some_and(|t| m.no.0 > t.no) && to == Some(AskTo::Here { task: m.task });
            let told = to.is_some() && !store.messages.values().any(|m| later(m));
            let same = |o: &Delivery| o.no == d.no || told && (o.ask, o.text) == (d.ask, d.text);
            let again = life.conversation.iter().any(|(no, _)| same(&store.deliveries[no]));
            assert!(!again || d.kind == DeliveryKind::Result && d.repeat, "read twice: {d:?}");
            assert!(life.conversation.insert(message), "the same message read twice: {d:?}");
            life.read.extend(d.ask.map(|ask| (ask, d.text.map(|t| t.no))));
            self.count(format!("read {:?}", d.kind));
            if d.repeat {
                self.count("read a repeat");
            }
        }
    }

    /// One thing in a turn. Whoever works has stored what it works on.
    fn work(&mut self, lane: LaneNo) {
        self.land(lane);
        let (roll, mood) = (self.dice.roll(24), self.mood);
        let p = self.program(lane);
        let waits = p.calls.iter().any(|c| c.wanted && c.returned.is_none());
        match roll {
            _ if p.cut => p.rest(),
            0..3 => self.update(lane),
            3..6 if mood == 1 => self.prompt(lane),
            3..7 => self.ask(lane),
            7 => self.prompt(lane),
            8 => {
                let gone = p.prompts.pop_first().map(|key| TurnFact::PromptGone { key });
                p.pipe.extend(gone);
            }
            9..15 => self.call(lane),
            15..17 => self.take(lane),
            17 => self.refuse(lane),
            18 => p.pipe.push_back(TurnFact::Compacted),
            19 => self.on_ask(lane),
            20..22 if waits => {}
            // One that waits for a person does not end its turn.
            _ if !p.prompts.is_empty() => {}
            22 => p.rest(),
            _ => {
                self.update(lane);
                self.program(lane).rest();
            }
        }
    }

    fn me(&self, lane: LaneNo) -> Principal {
        Principal::Session(self.world.store.lanes[&lane].session)
    }

    /// Tasks that a conversation knows of, and that are not over.
    fn known(&self, lane: LaneNo) -> Vec<Arc<Task>> {
        let store = &self.world.store;
        let read = self.model.lives[&lane].conversation.iter().map(|(no, _)| &store.deliveries[no]);
        let of = read.filter(|d| !matches!(d.kind, DeliveryKind::Result | DeliveryKind::Recap)).filter_map(|d| d.task);
        let of: BTreeSet<TaskNo> = of.collect();
        of.into_iter().map(|no| store.tasks[&no].clone()).filter(|t| t.open()).collect()
    }

    fn update(&mut self, lane: LaneNo) {
        let Some(task) = self.dice.pick(self.known(lane)) else { return };
        let asks = self.dice.one_in(2) || self.mood == 3 && self.dice.one_in(2);
        let word = if asks { Word::Blocked } else { self.dice.pick([Word::Done, Word::Failed]).unwrap() };
        let (by, summary) = (self.me(lane), Text::new(self.id("summary ")));
        let said = self.request(Request::Update { by, task: task.id.clone(), word, summary }).is_ok();
        if said && word == Word::Blocked {
            let read = self.life(lane).conversation.clone();
            self.life(lane).blocked.insert(task.no, read);
        }
    }

    fn ask(&mut self, lane: LaneNo) {
        let alike = self.mood == 3 || self.dice.one_in(2);
        let session: String = self.dice.pick(&SESSIONS[usize::from(alike)..]).unwrap().to_string();
        let (by, mid, id, text) = (self.me(lane), self.id("q"), self.id("call"), Text::from("x"));
        let of = self.program(lane).tasks.clone();
        let of = self.dice.pick(of);
        self.life(lane).asked.insert(mid.clone(), of);
        self.program(lane).calls.push(Call { id, mid: mid.clone(), wanted: true, returned: None });
        let _ = self.request(Request::Ask(AskReq {
            by,
            agent: format!("home/{session}"),
            to: Target::Here { session },
            mid,
            digest: text.sha(),
            text,
            title: None,
            context: None,
            refs: Vec::new(),
            fresh: false,
            require: Vec::new(),
            now_only: false,
            random: 7,
        }));
    }

    /// A call returns, or its return is read. One that nobody waits for any more returns to nobody.
    fn call(&mut self, lane: LaneNo) {
        let ask = |c: &Call| self.world.store.asks.values().find(|a| a.mid == c.mid && outcome(a).is_some()).cloned();
        let calls = self.model.lives[&lane].program.iter().flat_map(|(_, p)| p.calls.clone());
        let calls = calls.map(|c| (ask(&c), c)).filter(|(a, c)| a.is_some() || c.returned.is_some());
        let Some((ask, call)) = self.dice.pick(calls) else { return };
        match (call.returned, ask) {
            (Some(returned), _) => {
                self.program(lane).calls.retain(|c| c.id != call.id);
                if call.wanted {
                    let p = self.program(lane);
                    p.shown.push(returned);
                    p.pipe.push_back(TurnFact::Seen { call: call.id });
                }
            }
            (None, Some(ask)) => {
                let calls = self.program(lane).calls.iter_mut();
                calls.filter(|c| c.id == call.id).for_each(|c| c.returned = outcome(&ask));
                let (by, no, id) = (self.me(lane), ask.no, call.id.clone());
                let seen = ask.known.clone().zip(ask.task_id.clone()).map(|(k, task_id)| {
                    let text = k.text.map(|t| self.world.store.blobs[&t.no].clone());
                    Seen { task_id, seq: k.seq, state: k.state, text }
                });
                if self.request(Request::Offer { by, no, call: id, seen }).is_err() {
                    self.program(lane).calls.retain(|c| c.id != call.id);
                }
            }
            (None, _) => {}
        }
    }

    /// It answers a question, or says more, or wants it no longer.
    fn on_ask(&mut self, lane: LaneNo) {
        let by = self.world.store.lanes[&lane].session;
        let asks = self.world.store.asks.values().filter(|a| a.by == AskBy::Session(by) && a.open());
        let Some(ask) = self.dice.pick(asks.cloned()) else { return };
        match ask.task_id.clone() {
            Some(task) if !self.dice.one_in(5) => self.send(Principal::Session(by), "", Some(task)),
            _ => drop(self.request(Request::CancelAsk { no: ask.no })),
        }
    }

    fn prompt(&mut self, lane: LaneNo) {
        let (key, needs_person) = (self.id("p"), self.dice.one_in(2));
        let (tool, input, why) = ("Bash".into(), Text::from("{}"), String::new());
        let about = Asked::Permission { tool, input, why, suggestions: Vec::new(), needs_person };
        let p = self.program(lane);
        p.prompts.insert(key.clone());
        p.pipe.push_back(TurnFact::Prompted { key, about });
    }

    /// What became of a run that was lost, by what its conversation says.
    pub(super) fn settle(&mut self, lane: LaneNo, blind: bool) {
        let Some(fence) = self.life(lane).settle.take() else { return };
        let program = self.life(lane).program.clone().filter(|(of, _)| of.turn == fence.turn);
        let (began, exit) = program.map_or((false, None), |(_, p)| (p.begun, p.exit));
        let mut landed = Vec::new();
        for d in self.world.desk.written_in(fence.turn) {
            let says = match self.life(lane).conversation.contains(&wire(&d)) {
                _ if blind => Landed::Unknown,
                true => Landed::Yes,
                false => Landed::No,
            };
            landed.push((d.no, says));
            self.count(format!("settled {says:?}"));
        }
        self.observe(fence, TurnFact::Trace { began, exit, landed });
    }

    /// A program does the next thing that it has to do, and nothing else.
    pub(super) fn finish(&mut self, lane: LaneNo) {
        let Some((_, p)) = self.life(lane).program.as_mut() else { return };
        match () {
            () if !p.pipe.is_empty() => self.hear(lane),
            () if p.over => {}
            () if !p.begun => p.begun = true,
            () if p.stop => p.exit(0),
            () if !p.inbox.is_empty() => self.take(lane),
            () if p.works && p.prompts.is_empty() => self.wrap_up(lane),
            () => {}
        }
    }

    /// A turn in which everything is said that can be said.
    fn wrap_up(&mut self, lane: LaneNo) {
        self.land(lane);
        for task in self.known(lane).into_iter().filter(|t| !t.blocked) {
            let life = &self.model.lives[&lane];
            let read = |a: &Ask| !a.open() && outcome(a).is_some_and(|o| life.read.contains(&o));
            let waits = |a: &Ask| life.asked.get(&a.mid) == Some(&Some(task.no)) && !read(a);
            if !self.world.store.asks.values().any(|a| waits(a)) {
                let (by, task, word) = (self.me(lane), task.id.clone(), Word::Done);
                let _ = self.request(Request::Update { by, task, word, summary: Text::from("done") });
            }
        }
        self.program(lane).rest();
    }
}
