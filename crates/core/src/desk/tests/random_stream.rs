//! Scripts that nobody wrote, of programs that stay: an honest model of one in each lane (`program`)
//! against the desk, with crashes, commits that fail and words that are heard late. `world` checks
//! what it checks of every script; here, besides, everything is read once, nothing is written where
//! it must not be, no task is forgotten, and in the end all has come to its end.

mod program;

use std::collections::{BTreeMap, BTreeSet};

use super::dice::Dice;
use super::world::World;
use crate::desk::{Done, Effect, Input, Request, SendReq, TurnFact, Word};
use crate::id::{DeliveryNo, LaneNo};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{Ask, AskBy, Delivery, DeliveryKind, DeliveryState, Fence, Harness, PromptAnswer, TurnState};
use crate::text::Text;
use program::{Life, Program, exit, outcome, wire};

const SESSIONS: [&str; 4] = ["tool", "a", "b", "c"];

/// What must have happened, and how often, or too little was tested.
const SEEN: &[(&str, usize)] = &[
    ("a task waits for its ask", 300),
    ("busy unasked", 50),
    ("offer fell back", 10),
    ("offer seen", 10),
    ("prompt answered", 100),
    ("read Answer", 15),
    ("read Correction", 25),
    ("read Recap", 50),
    ("read Recover", 15),
    ("read Reminder", 1),
    ("read Result", 250),
    ("read Say", 100),
    ("read Task", 300),
    ("read a repeat", 30),
    ("refused", 100),
    ("settled No", 100),
    ("settled Unknown", 50),
    ("settled Yes", 100),
];

#[test]
fn whatever_a_program_that_stays_lives_through_it_reads_each_thing_once_and_every_task_ends() {
    let mut seen = BTreeMap::<String, usize>::new();
    for seed in 0..60 {
        // Shown when it fails.
        println!("seed {seed}");
        let mut play = Play::new(seed);
        (0..300).for_each(|_| play.step());
        play.come_to_an_end();
        play.model.seen.into_iter().for_each(|(what, n)| *seen.entry(what).or_insert(0) += n);
    }
    // The scripts do get to where it matters.
    for &(what, often) in SEEN {
        assert!(seen.get(what).is_some_and(|n| *n >= often), "{what}: less than {often}: {seen:#?}");
    }
}

/// All that is not the daemon's. A commit that fails has not been in it either.
#[derive(Clone, Default)]
struct Model {
    lives: BTreeMap<LaneNo, Life>,
    /// Attempts that the desk was seen to make.
    attempts: BTreeSet<(DeliveryNo, u32)>,
    seen: BTreeMap<String, usize>,
    ids: u32,
}

struct Play {
    world: World,
    dice: Dice,
    /// What programs do more than usual: 1 to wait for persons, 2 to refuse, 3 to ask each other.
    mood: u64,
    model: Model,
}

fn open(d: &Delivery) -> bool {
    d.state != DeliveryState::Ended
}

fn add(name: &str) -> Request {
    let argv = vec!["/bin/true".into()];
    let harness = match name {
        "tool" => Harness::Command { argv, framed: false, rerun_on_crash: false, takes_turns: false },
        _ => Harness::Claude { model: None, auto_approve: name == "c" },
    };
    Request::AddSession { by: Principal::Owner, name: name.into(), harness, dir: "/tmp".into() }
}

/// The daemon's side.
impl Play {
    fn new(seed: u64) -> Play {
        let mut play = Play { world: World::new(), dice: Dice(seed), mood: seed % 4, model: Model::default() };
        // Two that ask each other get further than three.
        for name in &SESSIONS[..3 + seed as usize / 4 % 2] {
            play.request(add(name)).unwrap();
        }
        play
    }

    fn step(&mut self) {
        match self.dice.roll(100) {
            0 => {
                for life in self.model.lives.values_mut() {
                    life.settle = None;
                    life.program.iter_mut().for_each(|(_, p)| {
                        p.end(TurnFact::Lost);
                        p.pipe.clear();
                    });
                }
                self.world.crash();
                self.after();
            }
            how @ 1..15 => {
                let kept = self.model.clone();
                self.world.batch = true;
                (0..=self.dice.roll(4)).for_each(|_| self.act());
                self.world.batch = false;
                if how < 5 {
                    // Requests are refused then, and what was heard is heard again.
                    self.model = kept;
                    self.world.fail_commit();
                } else {
                    self.world.commit();
                }
                self.after();
            }
            15..20 => {
                let ms = self.dice.pick([1, 200, 1_000, 60_000, 600_000]).unwrap();
                self.pass(ms);
            }
            _ => self.act(),
        }
    }

    fn act(&mut self) {
        let (mut heard, mut live, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for (lane, life) in &self.model.lives {
            let program = life.program.as_ref().map(|(_, p)| p);
            heard.extend(program.filter(|p| !p.pipe.is_empty()).map(|_| *lane));
            live.extend(program.filter(|p| !p.over).map(|_| *lane));
            lost.extend(life.settle.map(|_| *lane));
        }
        match (self.dice.roll(24), self.dice.pick(heard), self.dice.pick(live), self.dice.pick(lost)) {
            (0..7, Some(lane), ..) => (0..=self.dice.roll(2)).for_each(|_| self.hear(lane)),
            (7..15, _, Some(lane), _) => (0..=self.dice.roll(4)).for_each(|_| self.live(lane)),
            (15..17, ..) => self.command(),
            (_, _, _, Some(lane)) if self.dice.one_in(2) => {
                let blind = self.dice.one_in(4);
                self.settle(lane, blind);
            }
            _ => self.owner(),
        }
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.model.seen.entry(what.into()).or_insert(0) += 1;
    }

    fn id(&mut self, prefix: &str) -> String {
        self.model.ids += 1;
        format!("{prefix}{}", self.model.ids)
    }

    fn life(&mut self, lane: LaneNo) -> &mut Life {
        self.model.lives.entry(lane).or_default()
    }

    fn program(&mut self, lane: LaneNo) -> &mut Program {
        &mut self.life(lane).program.as_mut().expect("a program").1
    }

    fn request(&mut self, request: Request) -> Result<Done, Refusal> {
        let answer = self.world.request(request);
        self.after();
        answer
    }

    fn observe(&mut self, fence: Fence, fact: TurnFact) {
        // The world has made sure that it was not refused.
        let _ = self.world.input(Input::Turn(fence, fact));
        self.after();
    }

    fn pass(&mut self, ms: i64) {
        self.world.pass(ms);
        self.after();
    }

    fn after(&mut self) {
        self.check_decided();
        if !self.world.batch {
            self.carry_out();
            self.check();
        }
    }

    /// What is due is done, as far as it is the daemon's to do.
    fn carry_out(&mut self) {
        for effect in std::mem::take(&mut self.world.effects) {
            let (store, lives) = (&self.world.store, &mut self.model.lives);
            match effect {
                Effect::Run { fence, .. } if store.turns[&fence.turn].stream => {
                    let life = lives.entry(fence.lane).or_default();
                    assert!(life.program.as_ref().is_none_or(|(_, p)| p.is_gone()), "two programs in {fence:?}");
                    life.program = Some((fence, Program::default()));
                }
                Effect::Settle { fence, .. } if store.turns[&fence.turn].stream => {
                    lives.entry(fence.lane).or_default().settle = Some(fence);
                }
                Effect::Write { fence, delivery, attempt } => {
                    let d = &store.deliveries[&delivery];
                    let life = lives.get_mut(&fence.lane).unwrap();
                    assert!(!life.conversation.contains(&wire(d)), "written, and was read: {d:?}");
                    let shows = [DeliveryKind::Task, DeliveryKind::Answer, DeliveryKind::Correction].contains(&d.kind);
                    assert!(shows || d.extra.is_empty(), "its text has no place for more: {d:?}");
                    let (of, program) = life.program.as_mut().unwrap();
                    assert_eq!(*of, fence, "written to nobody");
                    program.inbox.push_back((wire(d), attempt));
                }
                Effect::Interrupt { fence, .. } => {
                    // What was written and not begun would go on after it.
                    let p = self.program(fence.lane);
                    p.cut = p.works || !p.inbox.is_empty();
                }
                Effect::Stop { fence } if store.turns[&fence.turn].stream => self.program(fence.lane).stop = true,
                Effect::Answer { fence, prompt } => {
                    let key = store.prompts[&prompt].key.clone();
                    let p = self.program(fence.lane);
                    p.prompts.remove(&key);
                    p.pipe.extend((!p.over).then_some(TurnFact::PromptGone { key }));
                    self.count("prompt answered");
                }
                _ => {}
            }
        }
    }

    /// The daemon hears the next thing that a program has said.
    fn hear(&mut self, lane: LaneNo) {
        let Some((fence, program)) = self.life(lane).program.as_mut() else { return };
        let (fence, Some(fact)) = (*fence, program.pipe.pop_front()) else { return };
        match &fact {
            TurnFact::Busy | TurnFact::Taken { .. } => program.heard_works = true,
            TurnFact::Idle { .. } => program.heard_works = false,
            _ => {}
        }
        let asks = self.world.desk.asks.iter().map(|(_, a)| a);
        let offered = asks.filter(|a| a.by == AskBy::Session(fence.session) && a.offered.is_some());
        let offered: Vec<_> = offered.map(|a| a.no).collect();
        let tasks = self.world.desk.tasks.iter().map(|(_, t)| t);
        let asking: Vec<_> = tasks.filter(|t| t.blocked).map(|t| t.no).collect();
        self.observe(fence, fact.clone());
        for no in offered.into_iter().filter(|_| matches!(fact, TurnFact::Idle { .. })) {
            let told = self.world.desk.asks.get(no).is_none_or(|a| a.told);
            self.count(if told { "offer seen" } else { "offer fell back" });
        }
        let TurnFact::Taken { delivery, .. } = fact else { return };
        for task in asking {
            let asks = self.world.desk.tasks.get(task).is_none_or(|t| t.blocked);
            let before = self.life(lane).blocked.get(&task).is_some_and(|b| b.iter().any(|w| w.0 == delivery));
            assert!(asks || !before, "{delivery:?} was read before the question that it ends: {task:?}");
        }
    }
}

/// Everybody else.
impl Play {
    fn send(&mut self, by: Principal, session: &str, task: Option<String>) {
        // Some message ids are used twice.
        let mid = if self.dice.one_in(10) { format!("m{}", self.dice.roll(9)) } else { self.id("m") };
        let text = Text::from("x");
        let _ = self.request(Request::Send(SendReq {
            by,
            claim: None,
            session: session.into(),
            mid,
            task,
            digest: text.sha(),
            text,
            title: None,
            context: None,
            refs: Vec::new(),
            fresh: false,
            require: Vec::new(),
            vouched: false,
            ask: None,
            random: 7,
        }));
    }

    fn say(&mut self, session: &str) {
        let (session, mid) = (session.to_string(), self.id("s"));
        let _ = self.request(Request::Say { by: Principal::Owner, session, mid, text: Text::from("x") });
    }

    fn owner(&mut self) {
        let asks = self.dice.one_in(2);
        let tasks = self.world.store.tasks.values().filter(|t| t.open() && (!asks || t.awaits_asker())).cloned();
        let (task, name) = (self.dice.pick(tasks), self.dice.pick(SESSIONS).unwrap());
        let (by, task) = (Principal::Owner, task.map(|t| t.id.clone()));
        let request = match (self.dice.roll(24), task) {
            (0..2, _) => return self.send(by, name, None),
            (2..10, Some(task)) if self.mood != 3 || self.dice.one_in(3) => return self.send(by, "", Some(task)),
            (10..12, _) => return self.say(name),
            (12..16, _) => return self.answer_prompts(false),
            (16, Some(task)) => Request::Cancel { by, task, why: None },
            (17, Some(task)) if self.dice.one_in(2) => {
                let word = self.dice.pick([Word::Done, Word::Blocked]).unwrap();
                Request::Update { by, task, word, summary: Text::from("by the owner") }
            }
            (18, _) if self.dice.one_in(2) => Request::Interrupt { by, name: name.into() },
            (18, _) => Request::StopSession { by, name: name.into() },
            (19 | 20, _) => Request::StartSession { by, name: name.into() },
            (21, _) if self.dice.one_in(8) => Request::RemoveSession { by, name: name.into() },
            // Refused where the name is taken.
            (22, _) => add(name),
            (23, Some(task)) => Request::Ack { by, task },
            _ => return,
        };
        let _ = self.request(request);
    }

    fn answer_prompts(&mut self, all: bool) {
        let open: Vec<_> = self.world.store.prompts.values().filter(|p| p.open()).map(|p| p.no).collect();
        let picked = if all { open } else { self.dice.pick(open).into_iter().collect() };
        for no in picked {
            let deny = !all && self.dice.one_in(3);
            let allow = PromptAnswer::Allow { always: Vec::new() };
            let answer = if deny { PromptAnswer::Deny { why: "no".into() } } else { allow };
            let _ = self.request(Request::AnswerPrompt { by: Principal::Owner, no, answer });
        }
    }

    /// The program of the session that runs a command.
    fn command(&mut self) {
        let turns = self.world.store.turns.values().filter(|t| t.ended.is_none() && !t.stream);
        let Some(turn) = self.dice.pick(turns.cloned()) else { return };
        let fence = self.world.turns.iter().map(|(_, f)| *f).find(|f| f.turn == turn.no).unwrap();
        let exit = exit(self.dice.roll(2) as i32, turn.stopping);
        let old = turn.boot != self.world.now.boot || turn.state == TurnState::Lost;
        let fact = match self.dice.roll(4) {
            0 if old => TurnFact::Trace { began: true, exit: None, landed: vec![] },
            _ if old => TurnFact::Trace { began: true, exit: Some(exit), landed: vec![] },
            0 => TurnFact::Began,
            _ => TurnFact::Ended(exit),
        };
        self.observe(fence, fact);
    }
}

/// What must hold, always and in the end.
impl Play {
    /// What the desk has just decided to write may be written now.
    fn check_decided(&mut self) {
        let desk = &self.world.desk;
        let all = desk.deliveries.iter().map(|(_, d)| d.clone());
        let all = all.filter(|d| d.state == DeliveryState::Attempting && d.run.is_some());
        let (old, new): (Vec<_>, Vec<_>) = all.partition(|d| self.model.attempts.contains(&(d.no, d.attempt)));
        let joins = |d: &Delivery| matches!(d.kind, DeliveryKind::Say | DeliveryKind::Correction);
        for d in &new {
            let asked = desk.prompts.iter().any(|(_, p)| p.lane == d.lane && p.open());
            assert!(!asked, "written to a program that waits for a person: {d:?}");
            let program = self.model.lives.get(&d.lane).and_then(|l| l.program.as_ref());
            let works = program.is_some_and(|(of, p)| Some(of.turn) == d.run && p.heard_works);
            let others = new.iter().any(|o| o.run == d.run && o.no != d.no && !joins(o));
            let turn = works || others || old.iter().any(|o| o.run == d.run);
            assert!(joins(d) || !turn, "a turn runs, and gets {d:?}");
            let first = [DeliveryKind::Task, DeliveryKind::Answer, DeliveryKind::Recover];
            let first = |o: &Delivery| first.contains(&o.kind) && o.state == DeliveryState::Planned;
            let late = d.kind == DeliveryKind::Correction;
            let late = late && desk.deliveries.iter().any(|(_, o)| o.task == d.task && first(o));
            assert!(!late, "more on a task goes before the task: {d:?}");
        }
        self.model.attempts.extend(new.iter().map(|d| (d.no, d.attempt)));
    }

    fn check(&mut self) {
        let store = &self.world.store;
        for p in store.prompts.values().filter(|p| p.open()) {
            let run = &store.turns[&p.run];
            let asks = run.state == TurnState::Running && run.boot == self.world.now.boot;
            assert!(asks, "open, and its program is gone, or going: {p:?}");
        }
        for t in store.tasks.values().filter(|t| t.open()) {
            let prompts = store.prompts.values().filter(|p| p.open() && p.task == Some(t.no)).count();
            assert_eq!(t.prompts as usize, prompts, "prompts of {t:?}");
            let comes = store.deliveries.values().any(|d| open(d) && d.task == Some(t.no));
            let holds = store.lanes[&t.lane].holder == Some(t.no);
            // A question that it was told waits for the task, not the task for it.
            let asks = |a: &Ask| a.live() && !(a.open() && a.told && outcome(a).is_some());
            let asks = store.asks.values().any(|a| a.parent == Some(t.no) && asks(a));
            match (t.blocked, t.waiting) {
                _ if !t.dispatched || !store.sessions[&t.session].harness.stays() => {}
                (true, true) => panic!("it waits for its asker, and for its ask: {t:?}"),
                (true, _) => assert!(t.pending == 0 || comes, "answered, and no answer comes: {t:?}"),
                (_, true) if holds => assert!(comes, "it waits, and has the lane: {t:?}"),
                (_, true) => assert!(comes || asks, "it waits for nothing: {t:?}"),
                _ => assert!(holds || comes || t.stalled || t.hushed.is_some(), "nobody works on it: {t:?}"),
            }
        }
        if store.tasks.values().any(|t| t.waiting) {
            self.count("a task waits for its ask");
        }
    }

    /// Everybody is honest and lively: nothing stays open.
    fn come_to_an_end(&mut self) {
        for _ in 0..200 {
            let sessions = self.world.store.sessions.values().filter(|s| s.removed.is_none());
            let sessions: Vec<_> = sessions.map(|s| (s.name.clone(), s.lane)).collect();
            for (name, _) in &sessions {
                let _ = self.request(Request::StartSession { by: Principal::Owner, name: name.clone() });
            }
            self.answer_prompts(true);
            let asking = self.world.store.tasks.values().filter(|t| t.awaits_asker()).map(|t| t.id.clone());
            for task in asking.collect::<Vec<_>>() {
                self.send(Principal::Owner, "", Some(task));
            }
            self.finish_all();
            (0..9).for_each(|_| self.command());
            // What reminders did not help is for a person.
            for (name, lane) in sessions {
                let mut tasks = self.world.store.tasks.values();
                if tasks.any(|t| t.lane == lane && t.open() && t.stalled) {
                    self.say(&name);
                }
            }
            self.pass(60_000);
            if self.is_all_over() {
                return self.check_end();
            }
        }
        let store = &self.world.store;
        let tasks: Vec<_> = store.tasks.values().filter(|t| t.open()).collect();
        let asks: Vec<_> = store.asks.values().filter(|a| a.live()).collect();
        let left: Vec<_> = store.deliveries.values().filter(|d| open(d)).collect();
        panic!("it does not come to an end: {tasks:#?} {asks:#?} {left:#?} {:#?}", store.lanes);
    }

    fn finish_all(&mut self) {
        for lane in self.model.lives.keys().copied().collect::<Vec<_>>() {
            self.settle(lane, false);
            // A program that does not rest by then shows in what is left.
            (0..100).for_each(|_| self.finish(lane));
        }
    }

    fn is_all_over(&self) -> bool {
        let store = &self.world.store;
        let (tasks, asks) = (store.tasks.values().any(|t| t.open()), store.asks.values().any(|a| a.live()));
        !tasks && !asks && !store.deliveries.values().any(|d| open(d))
    }

    fn check_end(&mut self) {
        for ask in self.world.store.asks.values() {
            let AskBy::Session(uid) = ask.by else { continue };
            let session = &self.world.store.sessions[&uid];
            let read = outcome(ask).is_some_and(|o| self.model.lives[&session.lane].read.contains(&o));
            assert!(ask.told && read || session.removed.is_some(), "told: {}, read: {read}: {ask:?}", ask.told);
        }
        for name in SESSIONS {
            let _ = self.request(Request::StopSession { by: Principal::Owner, name: name.into() });
        }
        // What an end cut off is to be settled.
        (0..2).for_each(|_| self.finish_all());
        let due: Vec<_> = self.world.desk.due().collect();
        assert!(due.is_empty(), "in the end nothing is due: {due:?}");
    }
}
