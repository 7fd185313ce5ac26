//! The end of a scenario: everybody is honest and lively, all machines run and reach each other.
//! Then nothing stays open, and all that was said holds.

use shrooms_core::desk::{Hand, Request};
use shrooms_core::principal::Principal;
use shrooms_core::row::{Ask, AskBy, AskTo, AskedBy, DeliveryKind, DeliveryState, Ending, EndsBy, Gate, Task};
use shrooms_core::view;

use super::Sim;

/// Rounds of a minute after which everything must be over.
const ROUNDS: usize = 300;

impl Sim {
    pub(super) fn come_to_an_end(&mut self) {
        self.say(|| "the end".into());
        self.heal();
        (0..self.machines.len()).for_each(|m| self.switch_on(m));
        for round in 0..ROUNDS {
            for m in 0..self.machines.len() {
                self.be_helpful(m);
                if round == ROUNDS / 2 {
                    self.give_up_fresh(m);
                }
            }
            self.net_all();
            self.pass(60_000);
            if (0..self.machines.len()).all(|m| self.is_over(m)) {
                self.count_ends();
                (0..self.machines.len()).for_each(|m| self.check_end(m));
                return self.check_stopped();
            }
        }
        let mut left = String::new();
        for machine in &self.machines {
            let store = &machine.world.store;
            let tasks: Vec<_> = store.tasks.values().filter(|t| t.open()).collect();
            let asks: Vec<_> = store.asks.values().filter(|a| a.live()).collect();
            let deliveries: Vec<_> = store.deliveries.values().filter(|d| d.state != DeliveryState::Ended).collect();
            let (outbox, lanes) = (&store.outbox, &store.lanes);
            left += &format!("\n{tasks:?}\n{asks:?}\n{deliveries:?}\n{outbox:?}\n{lanes:?}");
        }
        panic!("it does not come to an end: {left}");
    }

    /// Persons and programs of a machine do what is waited for.
    fn be_helpful(&mut self, m: usize) {
        let sessions = self.machines[m].world.store.sessions.values().filter(|s| s.removed.is_none());
        let sessions: Vec<_> = sessions.map(|s| (s.name.clone(), s.lane)).collect();
        let by = Principal::Owner;
        let _ = self.request(m, Request::Resume { by: by.clone() });
        for (name, _) in &sessions {
            let _ = self.request(m, Request::Detach { by: by.clone(), name: name.clone() });
            let _ = self.request(m, Request::StartSession { by: by.clone(), name: name.clone() });
        }
        self.answer_prompts(m, true);
        let tasks: Vec<_> = self.machines[m].world.store.tasks.values().filter(|t| t.open()).cloned().collect();
        for task in tasks {
            if task.gate == Gate::Parked && !task.dispatched {
                let _ = self.request(m, Request::Queue { by: by.clone(), task: task.id.clone(), hand: Hand::Release });
            }
            if task.awaits_asker() {
                self.send(m, by.clone(), "", Some(task.id.clone()));
            }
        }
        self.finish_all(m);
        // What reminders did not help is for a person.
        for (name, lane) in sessions {
            let mut tasks = self.machines[m].world.store.tasks.values();
            if tasks.any(|t| t.lane == lane && t.open() && t.stalled) {
                self.say_to(m, &name);
            }
        }
    }

    /// A task that is to begin afresh waits for what its session has asked; where that waits behind it,
    /// only a person, or the end of its day, can help.
    fn give_up_fresh(&mut self, m: usize) {
        let tasks = self.machines[m].world.store.tasks.values();
        let tasks: Vec<_> = tasks.filter(|t| t.open() && t.fresh && !t.dispatched).map(|t| t.id.clone()).collect();
        for task in tasks {
            self.seen.count("a fresh task waited in vain");
            let _ = self.request(m, Request::Cancel { by: Principal::Owner, task, why: None });
        }
    }

    fn finish_all(&mut self, m: usize) {
        for lane in self.machines[m].model.lives.keys().copied().collect::<Vec<_>>() {
            self.settle((m, lane), false);
            // A program that does not rest by then shows in what is left.
            (0..100).for_each(|_| self.finish((m, lane)));
        }
    }

    fn is_over(&self, m: usize) -> bool {
        let store = &self.machines[m].world.store;
        let (tasks, asks) = (store.tasks.values().any(|t| t.open()), store.asks.values().any(|a| a.live()));
        !tasks
            && !asks
            && store.outbox.is_empty()
            && !store.deliveries.values().any(|d| d.state != DeliveryState::Ended)
    }

    fn check_end(&self, m: usize) {
        let store = &self.machines[m].world.store;
        for ask in store.asks.values() {
            self.check_true(m, ask);
            let AskBy::Session(uid) = ask.by else { continue };
            let session = &store.sessions[&uid];
            let lives = &self.machines[m].model.lives;
            let read =
                self.outcome(m, ask).is_some_and(|o| lives.get(&session.lane).is_some_and(|l| l.read.contains(&o)));
            // A command of the owner's is run by no result; one that is gone, or was, is told nothing.
            let told = ask.told && (read || !session.harness.stays());
            let gone = self.machines[m].removed.contains(&uid) || !session.harness.takes_turns();
            assert!(told || gone, "told: {}, read: {read}: {ask:?}", ask.told);
        }
        for task in store.tasks.values() {
            self.check_done(m, task);
        }
    }

    /// What whoever asked believes is so.
    fn check_true(&self, m: usize, ask: &Ask) {
        let known = ask.known.as_ref().expect("an ask that is over, and how");
        let AskTo::Device { id, .. } = &ask.to else {
            let AskTo::Here { task } = ask.to else { return };
            let task = &self.machines[m].world.store.tasks[&task];
            assert_eq!(&view::known(task).state, &known.state, "an ask and its task: {ask:?}, {task:?}");
            return;
        };
        let there = self.machines.iter().position(|o| o.device() == *id).expect("a machine of the mesh");
        let by = AskedBy::Device { id: self.machines[m].device(), ask: self.machines[m].world.desk.ask_id(ask.no) };
        // The same message may have come before, from somebody else of the owner's.
        let of = |t: &&std::sync::Arc<Task>| t.asked_by.as_ref() == Some(&by) || ask.task_id.as_ref() == Some(&t.id);
        let tasks: Vec<_> = self.machines[there].world.store.tasks.values().filter(of).collect();
        let is = |t: &Task| {
            let now = view::known(t);
            now.state == known.state && self.text(there, now.text) == self.text(m, known.text)
        };
        match known.state.as_str() {
            "refused" => assert!(tasks.is_empty(), "refused, and there is a task: {ask:?}, {tasks:?}"),
            // It was never sent; or cancelled in the moment in which it was.
            "canceled" if tasks.is_empty() => {}
            "failed" if self.text(m, known.text).starts_with("failed: for 24 hours nobody could say") => {}
            _ => assert!(tasks.iter().any(|t| is(t)), "{known:?} of {ask:?} is not so: {tasks:?}"),
        }
        let made = tasks.iter().filter(|t| t.asked_by.as_ref() == Some(&by)).count();
        assert!(made <= 1, "one message is two tasks: {tasks:?}");
    }

    /// A task that is said to be done was read by whoever did it, or the owner said so.
    fn check_done(&self, m: usize, task: &Task) {
        if task.ending != Some(Ending::Completed) {
            return;
        }
        let store = &self.machines[m].world.store;
        let read = self.machines[m].model.lives.get(&task.lane).is_some_and(|l| {
            let of = |no| &store.deliveries[no];
            l.conversation.iter().any(|(no, _)| of(no).kind == DeliveryKind::Task && of(no).task == Some(task.no))
        });
        let by_owner = self.text(m, task.result).starts_with("by the owner");
        assert!(
            read || by_owner || task.ends_by == EndsBy::Word && task.delivered.is_some(),
            "done, and never read: {task:?}"
        );
    }

    /// In the end nothing is due.
    fn check_stopped(&mut self) {
        for m in 0..self.machines.len() {
            let names = self.machines[m].world.store.sessions.values().filter(|s| s.removed.is_none());
            let names: Vec<_> = names.map(|s| s.name.clone()).collect();
            for name in names {
                let _ = self.request(m, Request::StopSession { by: Principal::Owner, name });
            }
            // What an end cut off is to be settled.
            (0..2).for_each(|_| self.finish_all(m));
            let due: Vec<_> = self.machines[m].world.desk.due().collect();
            assert!(due.is_empty(), "in the end nothing is due: {due:?}");
        }
    }
}
