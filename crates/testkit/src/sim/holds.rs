//! What must hold after every step. What holds for the desk alone is in the world's own checks: one
//! turn a lane, no final state changes, one delivery of a task, no run of an earlier boot started,
//! indexes as the rows say.

use shrooms_core::row::{Ask, Delivery, DeliveryKind, DeliveryState, Ending, TurnState};

use super::Sim;

fn open(d: &Delivery) -> bool {
    d.state != DeliveryState::Ended
}

/// Joins a turn that runs.
fn joins(d: &Delivery) -> bool {
    matches!(d.kind, DeliveryKind::Say | DeliveryKind::Correction)
}

impl Sim {
    /// What the desk has just decided to write may be written now.
    pub(super) fn check_decided(&mut self, m: usize) {
        let machine = &self.machines[m];
        let desk = &machine.world.desk;
        let all = desk.deliveries().filter(|d| d.state == DeliveryState::Attempting && d.run.is_some()).cloned();
        let (old, new): (Vec<_>, Vec<_>) = all.partition(|d| machine.model.attempts.contains(&(d.no, d.attempt)));
        for d in &new {
            let asked = desk.prompts().any(|p| p.lane == d.lane && p.open());
            assert!(!asked, "written to a program that waits for a person: {d:?}");
            let program = machine.model.lives.get(&d.lane).and_then(|l| l.program.as_ref());
            let works = program.is_some_and(|(of, p)| Some(of.turn) == d.run && p.heard_works);
            let others = new.iter().any(|o| o.run == d.run && o.no != d.no && !joins(o));
            let turn = works || others || old.iter().any(|o| o.run == d.run);
            assert!(joins(d) || !turn, "a turn runs, and gets {d:?}");
            let first = [DeliveryKind::Task, DeliveryKind::Answer, DeliveryKind::Recover];
            let first = |o: &Delivery| first.contains(&o.kind) && o.state == DeliveryState::Planned;
            let late = d.kind == DeliveryKind::Correction;
            let late = late && desk.deliveries().any(|o| o.task == d.task && first(o));
            assert!(!late, "more on a task goes before the task: {d:?}");
            self.check_woken(m, d);
        }
        let made: Vec<_> = new.iter().map(|d| (d.no, d.attempt)).collect();
        self.machines[m].model.attempts.extend(made);
    }

    /// Nobody is woken by a timer without open work that nobody works on.
    fn check_woken(&self, m: usize, d: &Delivery) {
        if d.kind != DeliveryKind::Reminder {
            return;
        }
        let machine = &self.machines[m];
        for no in &d.about {
            let Some(t) = machine.world.desk.task(*no) else { panic!("a reminder of a task that is over: {d:?}") };
            let works = t.open() && t.delivered.is_some() && !t.blocked && !t.waiting && !t.stalled;
            assert!(works, "a reminder of what nobody is to work on: {t:?}");
            let most = machine.world.place.settings.watchdog.reminders();
            assert!(t.nudges <= most, "more reminders than there are: {t:?}");
        }
        let lane = machine.world.desk.lane(d.lane).expect("the reminder's lane");
        let hour = machine.world.now.served - 3_600_000;
        let recent = lane.reminded.iter().filter(|at| **at > hour).count();
        assert!(recent <= machine.world.place.settings.watchdog.per_hour as usize, "too many reminders: {lane:?}");
    }

    pub(super) fn check(&mut self, m: usize) {
        self.check_kept(m);
        self.check_prompts(m);
        self.check_tasks(m);
        self.check_bounds(m);
    }

    /// What was acknowledged is there.
    fn check_kept(&self, m: usize) {
        let (machine, store) = (&self.machines[m], &self.machines[m].world.store);
        assert!(machine.tasks.iter().all(|no| store.tasks.contains_key(no)), "an acknowledged task is lost");
        assert!(machine.asks.iter().all(|no| store.asks.contains_key(no)), "an acknowledged ask is lost");
    }

    fn check_prompts(&self, m: usize) {
        let world = &self.machines[m].world;
        for p in world.store.prompts.values().filter(|p| p.open()) {
            let run = &world.store.turns[&p.run];
            let asks = run.state == TurnState::Running && run.boot == world.now.boot;
            assert!(asks, "open, and its program is gone, or going: {p:?}");
        }
    }

    /// Somebody works on every task that was begun, or it waits for something that comes.
    fn check_tasks(&mut self, m: usize) {
        let store = &self.machines[m].world.store;
        let planned = |d: &&Delivery| d.kind == DeliveryKind::Reminder && d.state == DeliveryState::Planned;
        for no in store.deliveries.values().map(|d| &**d).filter(planned).flat_map(|d| &d.about) {
            let blocked = store.tasks.get(no).filter(|t| t.open() && t.blocked);
            assert!(blocked.is_none(), "a reminder is planned of what waits for its asker: {blocked:?}");
        }
        for t in store.tasks.values().filter(|t| t.open()) {
            let prompts = store.prompts.values().filter(|p| p.open() && p.task == Some(t.no)).count();
            assert_eq!(t.prompts as usize, prompts, "prompts of {t:?}");
            let comes = store.deliveries.values().any(|d| open(d) && d.task == Some(t.no));
            let holds = store.lanes[&t.lane].holder == Some(t.no);
            // A question that it was told waits for the task, not the task for it.
            let asks = |a: &Ask| a.live() && !(a.open() && a.told && self.outcome(m, a).is_some());
            let asks = t.waiting && store.asks.values().any(|a| a.parent == Some(t.no) && asks(a));
            match (t.blocked, t.waiting) {
                _ if !t.dispatched || !store.sessions[&t.session].harness.stays() => {}
                (true, true) => panic!("it waits for its asker, and for its ask: {t:?}"),
                (true, _) => assert!(t.pending == 0 || comes, "answered, and no answer comes: {t:?}"),
                (_, true) if holds => assert!(comes, "it waits, and has the lane: {t:?}"),
                (_, true) => assert!(comes || asks, "it waits for nothing: {t:?}"),
                _ => assert!(holds || comes || t.stalled || t.hushed.is_some(), "nobody works on it: {t:?}"),
            }
        }
    }

    /// Everything has its bound.
    fn check_bounds(&self, m: usize) {
        let world = &self.machines[m].world;
        let limits = &world.place.settings.limits;
        let served = i64::from(limits.expire_hours) * 3_600_000;
        for t in world.store.tasks.values().filter(|t| t.expired) {
            let age = t.ended.expect("an expired task has ended").served - t.stored.served;
            assert!(age >= served, "expired after {age} ms of served time: {t:?}");
        }
        for lane in world.store.lanes.values() {
            let waiting = world.store.tasks.values().filter(|t| t.lane == lane.no && t.open() && !t.dispatched).count();
            assert!(waiting <= limits.queue as usize, "{waiting} tasks wait in {lane:?}");
        }
        for t in world.store.outbox.values() {
            let same = world.store.outbox.values().filter(|o| o.report.task == t.report.task).count();
            assert_eq!(same, 1, "a task has more than one report: {t:?}");
        }
        if limits.turns > 0 {
            let unasked =
                |no| {
                    self.machines[m].model.lives.values().any(|l| {
                        l.program.as_ref().is_some_and(|(of, p)| of.turn == no && (p.unasked || p.heard_works))
                    })
                };
            let works = world.store.open_turns().filter(|t| t.busy || !t.stream);
            let works = works.filter(|t| t.boot == world.now.boot && !unasked(t.no)).count();
            assert!(works <= limits.turns as usize, "{works} turns work, of {}", limits.turns);
        }
    }

    /// A clock jumps; none passes. Nothing is begun, ended or reminded of by that.
    pub(super) fn jump(&mut self, m: usize, ms: i64) {
        self.say(|| format!("{m}: the clock jumps by {ms} ms"));
        self.seen.count("a clock jumped");
        self.machines[m].world.now.wall += ms;
        if self.machines[m].off {
            return;
        }
        let ended = |sim: &Sim| {
            let store = &sim.machines[m].world.store;
            let tasks = store.tasks.values().filter(|t| !t.open()).count();
            (tasks, store.tasks.values().map(|t| t.nudges).sum::<u32>())
        };
        let before = ended(self);
        self.machines[m].world.pass(0);
        self.after(m);
        assert_eq!(ended(self), before, "a jump of the clock ended tasks, or reminded of them");
        // The next pass of the watchdog finds nothing that was not due without it.
        self.pass(30_000);
    }

    /// How tasks ended, for the count.
    pub(super) fn count_ends(&mut self) {
        for m in 0..self.machines.len() {
            let tasks: Vec<_> = self.machines[m].world.store.tasks.values().cloned().collect();
            for t in tasks {
                if t.unproven {
                    self.seen.count("task unproven");
                }
                match t.ending {
                    Some(Ending::Canceled) if t.expired => self.seen.count("task expired"),
                    Some(ending) => self.seen.count(format!("task {}", ending.word())),
                    None => {}
                }
            }
            let stalled = self.machines[m].world.store.events.iter().filter(|e| e.state == "stalled").count();
            (0..stalled).for_each(|_| self.seen.count("task stalled"));
            let rested = self.machines[m].world.store.events.iter().filter(|e| e.state == "rests").count();
            (0..rested).for_each(|_| self.seen.count("a program rested"));
        }
    }
}
