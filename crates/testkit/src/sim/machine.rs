//! The daemon's side of one machine: what is due is done, what programs say is heard, and it may be
//! cut off at any point.

use std::collections::{BTreeMap, BTreeSet};

use shrooms_core::desk::{Done, Effect, Input, Place, TurnFact};
use shrooms_core::id::{AskNo, DeliveryNo, LaneNo, SessionUid, TaskNo};
use shrooms_core::row::{AskBy, AskState, Fence};

use super::behaviour::Behaviour;
use super::coverage::{Point, stood};
use super::life::{Life, Program, wire};
use super::{At, Sim};
use crate::world::World;

pub(super) struct Machine {
    pub world: World,
    pub model: Model,
    /// By session, for its life.
    pub behaves: BTreeMap<LaneNo, Behaviour>,
    /// It does not run.
    pub off: bool,
    /// Answers that wait for their commit.
    pub answers: Vec<Done>,
    /// Tasks and asks that somebody was told are kept.
    pub tasks: BTreeSet<TaskNo>,
    pub asks: BTreeSet<AskNo>,
    /// Sessions that were ever removed.
    pub removed: BTreeSet<SessionUid>,
}

/// All that is not the daemon's. A commit that fails has not been in it either.
#[derive(Clone, Default)]
pub(super) struct Model {
    pub lives: BTreeMap<LaneNo, Life>,
    /// Attempts that the desk was seen to make.
    pub attempts: BTreeSet<(DeliveryNo, u32)>,
}

impl Machine {
    pub fn new(place: Place, incarnation: &str) -> Machine {
        let mut world = World::new(place, incarnation);
        world.thorough = 4;
        Machine {
            world,
            model: Model::default(),
            behaves: BTreeMap::new(),
            off: false,
            answers: Vec::new(),
            tasks: BTreeSet::new(),
            asks: BTreeSet::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Its identity on the mesh.
    pub fn device(&self) -> String {
        format!("id-{}", self.world.place.machine)
    }
}

impl Sim {
    pub(super) fn behaves(&self, (m, lane): At) -> Behaviour {
        self.machines[m].behaves.get(&lane).copied().unwrap_or(Behaviour::Lively)
    }

    /// What was answered after its commit is held on to.
    pub(super) fn acknowledge(&mut self, m: usize) {
        let machine = &mut self.machines[m];
        if machine.world.batch {
            return;
        }
        for done in std::mem::take(&mut machine.answers) {
            match done {
                Done::Task { task, .. } => {
                    assert!(machine.world.store.tasks.contains_key(&task.no), "answered, and not stored: {task:?}");
                    machine.tasks.insert(task.no);
                }
                Done::Ask { ask, .. } => {
                    assert!(machine.world.store.asks.contains_key(&ask.no), "answered, and not stored: {ask:?}");
                    machine.asks.insert(ask.no);
                }
                Done::Session(session) => machine.removed.extend(session.removed.map(|_| session.uid)),
                Done::Nothing | Done::Prompt(_) | Done::Said { .. } => {}
            }
        }
    }

    pub(super) fn crash_somewhere(&mut self, m: usize) {
        if self.machines[m].off {
            return;
        }
        // Programs may have said things that nobody has heard.
        if self.dice.one_in(2) {
            for lane in self.machines[m].model.lives.keys().copied().collect::<Vec<_>>() {
                if self.life((m, lane)).program.is_some() {
                    (0..4).for_each(|_| self.live((m, lane)));
                }
            }
        }
        self.crash(m, Point::Begun);
    }

    /// The daemon is gone at once, and starts again.
    pub(super) fn crash(&mut self, m: usize, point: Point) {
        self.say(|| format!("{m}: crash ({point:?})"));
        self.count_restart(m, point);
        self.end_all(m);
        self.machines[m].world.crash();
        self.after(m);
    }

    /// Which states of tasks this restart is one for.
    fn count_restart(&mut self, m: usize, point: Point) {
        let machine = &self.machines[m];
        let store = &machine.world.store;
        let busy = self.net.is_busy(m);
        let reported: BTreeSet<TaskNo> = store.outbox.values().map(|o| o.report.task).collect();
        let asked = |t: &TaskNo| {
            store.asks.values().any(|a| {
                let here = matches!(a.to, shrooms_core::row::AskTo::Here { task } if task == *t);
                here && a.state == AskState::Ended && !a.told && matches!(a.by, AskBy::Session(_)) && a.live()
            })
        };
        let mut cells = Vec::new();
        for t in store.tasks.values() {
            let untold = !t.open() && (reported.contains(&t.no) || asked(&t.no));
            let Some(stood) = stood(t, untold) else { continue };
            let life = machine.model.lives.get(&t.lane);
            let unheard = life.and_then(|l| l.program.as_ref()).is_some_and(|(_, p)| !p.pipe.is_empty());
            let at = match point {
                Point::Begun if unheard => Point::Unheard,
                Point::Begun if busy => Point::Asking,
                point => point,
            };
            cells.push((stood, at, self.behaves((m, t.lane))));
        }
        cells.into_iter().for_each(|(stood, at, behaves)| self.seen.restart(stood, at, behaves));
    }

    /// Every process of a daemon ends with it, and what they said is lost.
    fn end_all(&mut self, m: usize) {
        let machine = &mut self.machines[m];
        machine.answers.clear();
        machine.world.effects.clear();
        for life in machine.model.lives.values_mut() {
            life.settle = None;
            if let Some((_, p)) = life.program.as_mut() {
                p.end(TurnFact::Lost);
                p.pipe.clear();
            }
        }
        self.net.hang_up(m);
    }

    pub(super) fn switch_off(&mut self, m: usize) {
        if !self.machines[m].off {
            self.say(|| format!("{m}: off"));
            self.count_restart(m, Point::Begun);
            self.end_all(m);
            self.machines[m].off = true;
            self.seen.count("a machine was off");
        }
    }

    pub(super) fn switch_on(&mut self, m: usize) {
        if std::mem::take(&mut self.machines[m].off) {
            self.say(|| format!("{m}: on"));
            self.machines[m].world.crash();
            self.after(m);
        }
    }

    /// So much time passes on all machines; one that is off does not serve.
    pub(super) fn pass(&mut self, ms: i64) {
        self.say(|| format!("{ms} ms pass"));
        for m in 0..self.machines.len() {
            if self.machines[m].off {
                self.machines[m].world.now.wall += ms;
            } else {
                self.machines[m].world.pass(ms);
                self.after(m);
            }
        }
    }

    /// What is due is done, as far as it is the daemon's to do.
    pub(super) fn carry_out(&mut self, m: usize) {
        for effect in std::mem::take(&mut self.machines[m].world.effects) {
            self.say(|| format!("{m}: due: {effect:?}"));
            let machine = &mut self.machines[m];
            let (store, lives) = (&machine.world.store, &mut machine.model.lives);
            match effect {
                Effect::Run { fence, .. } => {
                    let life = lives.entry(fence.lane).or_default();
                    assert!(life.program.as_ref().is_none_or(|(_, p)| p.is_gone()), "two programs in {fence:?}");
                    let turn = &store.turns[&fence.turn];
                    let mut program = Program { command: !turn.stream, ..Program::default() };
                    if !turn.stream {
                        let d = &store.deliveries[&turn.cause];
                        program.inbox.push_back((wire(d), d.attempt));
                    }
                    life.program = Some((fence, program));
                }
                Effect::Settle { fence, .. } => lives.entry(fence.lane).or_default().settle = Some(fence),
                Effect::Write { fence, delivery, attempt } => self.write((m, fence.lane), fence, delivery, attempt),
                Effect::Interrupt { fence, .. } => {
                    // What was written and not begun would go on after it.
                    let p = self.program((m, fence.lane));
                    p.cut = p.works || !p.inbox.is_empty();
                }
                Effect::Stop { fence } => self.program((m, fence.lane)).stop = true,
                Effect::Answer { fence, prompt } => {
                    let key = store.prompts[&prompt].key.clone();
                    let p = self.program((m, fence.lane));
                    p.prompts.remove(&key);
                    p.pipe.extend((!p.over).then_some(TurnFact::PromptGone { key }));
                    self.seen.count("prompt answered");
                }
                Effect::Send { ask, attempt } => self.send_away(m, ask, attempt),
                Effect::Look { ask, attempt } => self.look_away(m, ask, attempt),
                Effect::CancelAway { ask, attempt } => self.cancel_away(m, ask, attempt),
                Effect::Report { outbox, .. } => self.report_away(m, outbox),
            }
        }
    }

    /// The daemon hears the next thing that a program has said.
    pub(super) fn hear(&mut self, at: At) {
        let (m, _) = at;
        let Some((fence, program)) = self.life(at).program.as_mut() else { return };
        let (fence, Some(fact)) = (*fence, program.pipe.pop_front()) else { return };
        match &fact {
            TurnFact::Busy | TurnFact::Taken { .. } => program.heard_works = true,
            TurnFact::Idle { .. } => program.heard_works = false,
            _ => {}
        }
        let desk = &self.machines[m].world.desk;
        let offered = desk.asks().filter(|a| a.by == AskBy::Session(fence.session) && a.offered.is_some());
        let offered: Vec<_> = offered.map(|a| a.no).collect();
        let asking: Vec<_> = desk.tasks().filter(|t| t.blocked).map(|t| t.no).collect();
        self.observe(m, fence, fact.clone());
        for no in offered.into_iter().filter(|_| matches!(fact, TurnFact::Idle { .. })) {
            let told = self.machines[m].world.desk.ask_row(no).is_none_or(|a| a.told);
            self.seen.count(if told { "offer seen" } else { "offer fell back" });
        }
        let TurnFact::Taken { delivery, .. } = fact else { return };
        for task in asking {
            let asks = self.machines[m].world.desk.task(task).is_none_or(|t| t.blocked);
            let before = self.life(at).blocked.get(&task).is_some_and(|b| b.iter().any(|w| w.0 == delivery));
            assert!(asks || !before, "{delivery:?} was read before the question that it ends: {task:?}");
        }
    }

    /// A word about a turn that is over, or about none: it changes nothing.
    pub(super) fn late(&mut self, m: usize) {
        let fences = self.machines[m].world.turns.iter().map(|(_, f)| *f).collect::<Vec<Fence>>();
        let Some(mut fence) = self.dice.pick(fences) else { return };
        if self.machines[m].world.batch {
            return;
        }
        if self.machines[m].world.store.turns[&fence.turn].ended.is_none() {
            match self.dice.one_in(2) {
                true => fence.attempt += 1,
                false => fence.boot.0 += 1,
            }
        }
        let fact = match self.dice.roll(5) {
            0 => TurnFact::Began,
            1 => TurnFact::Lost,
            2 => TurnFact::Busy,
            3 => TurnFact::Trace { began: true, exit: None, landed: Vec::new() },
            _ => TurnFact::Ended(super::life::exit(0, false)),
        };
        let before = self.machines[m].world.store.events.len();
        let _ = self.machines[m].world.input(Input::Turn(fence, fact));
        let store = &self.machines[m].world.store;
        assert_eq!(store.events.len(), before, "a late word changed something");
        self.seen.count("a late word");
        self.after(m);
    }
}
