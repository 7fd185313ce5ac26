//! From stored rows to a desk, and the editing of rows with their indexes. Recovery is nothing
//! more than this: the same rows give the same effects.

use std::sync::Arc;

use crate::id::{DeliveryNo, LaneNo, PromptNo, TaskNo, TurnNo};
use crate::row::{Ask, Delivery, DeliveryState, Gate, Lane, Message, Meta, Open, Outbox, Prompt, Task, Turn};
use crate::time::{Boot, Now};

use super::table::Table;
use super::{Desk, Index, Loaded, MessageKey, Place, Wake};

impl Desk {
    /// A desk over the rows that are open, for a new boot. `now.boot` must be one more than the
    /// stored one at the daemon's start, and the same after a failed commit.
    pub fn load(place: Place, mut meta: Meta, open: Open, now: &Now) -> Desk {
        let new_boot = meta.boot != now.boot;
        meta.boot = now.boot;
        let mut desk = Desk {
            place,
            meta,
            meta_dirty: new_boot,
            sessions: Table::of(open.sessions.into_iter().map(|r| (r.uid, r))),
            lanes: Table::of(open.lanes.into_iter().map(|r| (r.no, r))),
            messages: Table::of(open.messages.into_iter().map(|r| (r.no, r))),
            tasks: Table::of(open.tasks.into_iter().map(|r| (r.no, r))),
            deliveries: Table::of(open.deliveries.into_iter().map(|r| (r.no, r))),
            turns: Table::of(open.turns.into_iter().map(|r| (r.no, r))),
            prompts: Table::of(open.prompts.into_iter().map(|r| (r.no, r))),
            asks: Table::of(open.asks.into_iter().map(|r| (r.no, r))),
            outbox: Table::of(open.outbox.into_iter().map(|r| (r.no, r))),
            gone: Default::default(),
            blobs: Vec::new(),
            events: Vec::new(),
            audits: Vec::new(),
            lines: Vec::new(),
            devices: open.devices.into_iter().map(|d| (d.id.clone(), d)).collect(),
            met: Vec::new(),
            usages: Vec::new(),
            noted: Default::default(),
            index: Index::default(),
            effects: Default::default(),
            fresh: Vec::new(),
            watched: now.served,
            day: now.wall.div_euclid(86_400_000),
        };
        desk.build(&desk.clock(now));
        desk
    }

    fn build(&mut self, now: &Now) {
        let names: Vec<_> = self.sessions.iter().map(|(uid, s)| (s.name.clone(), *uid)).collect();
        self.index.names.extend(names);
        for (no, lane) in self.lanes.iter() {
            self.index.wakes.extend(lane.not_before.map(|at| (at, Wake::Lane(*no))));
        }
        for m in all(&self.messages) {
            self.index_message(&m);
        }
        for task in all(&self.tasks) {
            self.index_task(&task);
        }
        for delivery in all(&self.deliveries) {
            self.index_delivery(&delivery);
        }
        for row in all(&self.outbox) {
            self.index.reports.entry(row.report.task).or_default().insert(row.no);
            self.outbox_effects(now, &row);
        }
        for turn in all(&self.turns) {
            self.index_working(&turn);
            self.turn_effects(&turn);
        }
        for delivery in all(&self.deliveries) {
            self.delivery_effects(&delivery);
        }
        for prompt in all(&self.prompts) {
            self.index.prompts.entry(prompt.run).or_default().insert(prompt.no);
            self.prompt_effects(&prompt);
            self.wake_for_prompt(&prompt);
        }
        // Their programs are gone with their daemon.
        let gone: Vec<TurnNo> =
            self.turns.iter().filter(|(_, t)| t.boot != self.meta.boot).map(|(no, _)| *no).collect();
        for run in gone {
            self.end_prompts(now, run);
        }
        for ask in all(&self.asks) {
            self.index_ask(&ask);
            self.ask_effects(&ask);
            self.advance_ask(now, ask.no);
        }
        let lanes: Vec<LaneNo> = self.lanes.iter().map(|(no, _)| *no).collect();
        for lane in lanes {
            self.advance(now, lane);
        }
    }

    fn index_task(&mut self, task: &Task) {
        self.index.task_ids.insert(task.id.clone(), task.no);
        let open = self.index.open.entry(task.lane).or_default();
        if task.open() {
            open.insert(task.no);
        } else {
            open.remove(&task.no);
        }
        let queue = self.index.queue.entry(task.lane).or_default();
        let key = (task.position, task.no);
        if task.open() && !task.dispatched && task.gate == Gate::Open {
            queue.insert(key);
        } else {
            queue.remove(&key);
        }
    }

    fn index_delivery(&mut self, delivery: &Delivery) {
        let planned = self.index.planned.entry(delivery.lane).or_default();
        if delivery.state == DeliveryState::Planned {
            planned.insert(delivery.no);
        } else {
            planned.remove(&delivery.no);
        }
        if let Some(run) = delivery.run {
            self.index.written.entry(run).or_default().insert(delivery.no);
        }
    }

    fn index_ask(&mut self, ask: &Ask) {
        self.index.asks.insert((ask.agent.clone(), ask.mid.clone()), ask.no);
        if let Some(uid) = ask.asker() {
            self.index.asked.entry(uid).or_default().insert(ask.no);
        }
        if let Some(task) = ask.task_here() {
            self.index.asked_here.entry(task).or_default().insert(ask.no);
        }
    }

    /// Takes in what was read for one request, until its commit.
    pub(super) fn adopt(&mut self, loaded: &Loaded) {
        if let Some(task) = &loaded.task {
            self.index.task_ids.insert(task.id.clone(), task.no);
            self.tasks.lend(task.no, task.clone());
        }
        if let Some(prompt) = &loaded.prompt {
            self.prompts.lend(prompt.no, Arc::new(prompt.clone()));
        }
        if let Some(ask) = &loaded.ask {
            self.asks.lend(ask.no, Arc::new(ask.clone()));
        }
    }

    pub(super) fn insert_task(&mut self, task: Task) {
        self.index_task(&task);
        self.tasks.insert(task.no, task);
    }

    /// Changes a task's row. Its place in the queue may not change with anything else.
    pub(super) fn edit_task(&mut self, no: TaskNo, change: impl FnOnce(&mut Task)) {
        let before = self.tasks.get(no).map(|t| (t.lane, t.position));
        let outcome = |t: &Task| t.has_outcome().then_some((t.ending, t.question, t.gate));
        let was = self.tasks.get(no).and_then(|t| outcome(t));
        self.tasks.edit(no, |t| {
            change(t);
            if outcome(t) != was {
                t.outcome = if t.has_outcome() { t.seq } else { 0 };
            }
        });
        if let Some((lane, position)) = before {
            self.index.queue.entry(lane).or_default().remove(&(position, no));
        }
        if let Some(task) = self.tasks.get(no).cloned() {
            self.index_task(&task);
        }
    }

    fn index_message(&mut self, message: &Message) {
        self.index.messages.insert(MessageKey::of(message), message.no);
        self.index.of_ask.extend(message.ask.clone().map(|key| (key, message.no)));
        self.index.by_task.entry(message.task).or_default().push(message.no);
    }

    pub(super) fn insert_message(&mut self, message: Message) {
        self.index_message(&message);
        self.messages.insert(message.no, message);
    }

    pub(super) fn insert_delivery(&mut self, delivery: Delivery) {
        self.index_delivery(&delivery);
        self.deliveries.insert(delivery.no, delivery);
    }

    pub(super) fn edit_delivery(&mut self, no: DeliveryNo, change: impl FnOnce(&mut Delivery)) {
        let run = self.deliveries.get(no).and_then(|d| d.run);
        super::drop_from(&mut self.index.written, run, no);
        self.deliveries.edit(no, change);
        if let Some(delivery) = self.deliveries.get(no).cloned() {
            self.index_delivery(&delivery);
            self.delivery_effects(&delivery);
        }
    }

    pub(super) fn insert_turn(&mut self, turn: Turn) {
        self.index_working(&turn);
        self.turn_effects(&turn);
        self.turns.insert(turn.no, turn);
    }

    pub(super) fn edit_turn(&mut self, no: TurnNo, change: impl FnOnce(&mut Turn)) {
        self.turns.edit(no, change);
        if let Some(turn) = self.turns.get(no).cloned() {
            self.index_working(&turn);
            self.turn_effects(&turn);
            // What is to be written depends on whether the program takes it.
            let written = if turn.stream { self.of_run(no) } else { Vec::new() };
            let prompts: Vec<_> = self.prompts_of(no).cloned().collect();
            for prompt in prompts {
                self.prompt_effects(&prompt);
            }
            for delivery in written {
                if let Some(delivery) = self.deliveries.get(delivery).cloned() {
                    self.delivery_effects(&delivery);
                }
            }
        }
    }

    pub(super) fn insert_prompt(&mut self, prompt: Prompt) {
        self.prompt_effects(&prompt);
        self.wake_for_prompt(&prompt);
        self.index.prompts.entry(prompt.run).or_default().insert(prompt.no);
        self.prompts.insert(prompt.no, prompt);
    }

    pub(super) fn edit_prompt(&mut self, no: PromptNo, change: impl FnOnce(&mut Prompt)) {
        self.prompts.edit(no, change);
        if let Some(prompt) = self.prompts.get(no).cloned() {
            self.prompt_effects(&prompt);
        }
    }

    pub(super) fn insert_lane(&mut self, lane: Lane) {
        self.index.wakes.extend(lane.not_before.map(|at| (at, Wake::Lane(lane.no))));
        self.lanes.insert(lane.no, lane);
    }

    pub(super) fn edit_lane(&mut self, no: LaneNo, change: impl FnOnce(&mut Lane)) {
        self.lanes.edit(no, change);
        if let Some(at) = self.lanes.get(no).and_then(|l| l.not_before) {
            self.index.wakes.insert((at, Wake::Lane(no)));
        }
    }

    pub(super) fn insert_ask(&mut self, ask: Ask) {
        self.index_ask(&ask);
        self.ask_effects(&ask);
        self.asks.insert(ask.no, ask);
    }

    pub(super) fn edit_ask(&mut self, no: crate::id::AskNo, change: impl FnOnce(&mut Ask)) {
        self.asks.edit(no, change);
        if let Some(ask) = self.asks.get(no).cloned() {
            self.ask_effects(&ask);
        }
    }

    pub(super) fn insert_outbox(&mut self, now: &Now, row: Outbox) {
        self.index.reports.entry(row.report.task).or_default().insert(row.no);
        self.outbox_effects(now, &row);
        self.outbox.insert(row.no, row);
    }

    pub(super) fn remove_outbox(&mut self, no: crate::id::OutboxNo) {
        if let Some(row) = self.outbox.remove(no) {
            if let Some(all) = self.index.reports.get_mut(&row.report.task) {
                all.remove(&no);
                if all.is_empty() {
                    self.index.reports.remove(&row.report.task);
                }
            }
            self.drop_effects(no.0);
            self.gone.insert(no);
        }
    }

    /// The boot that this desk serves.
    pub fn boot(&self) -> Boot {
        self.meta.boot
    }
}

fn all<K: Ord + Copy, R: Clone>(table: &Table<K, R>) -> Vec<Arc<R>> {
    table.iter().map(|(_, r)| r.clone()).collect()
}
