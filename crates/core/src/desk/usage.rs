//! What turns used: whose each is, and its records, written with the fact that tells of it. Caps count
//! what the records say. It must not know how a harness tells what it used.

use std::sync::Arc;

use crate::id::{SessionUid, TaskNo, TurnNo};
use crate::row::{
    Account, Answered, BY_OWNER, BY_SHROOMS, Cause, Context, CostFrom, Delivery, DeliveryKind, RunOf, Spent, Turn,
    Usage, Used, price,
};
use crate::time::Now;

use super::Desk;

/// Characters of a model's name that a record holds; no model has a longer one.
const MAX_MODEL: usize = 100;
/// Answers of a turn that its row holds: the harness writes each to its file within a moment, and
/// several helpers may answer in it.
const MAX_ANSWERS: usize = 8;
/// Models of one turn that have records of their own. No turn uses more; one that did would be counted
/// as far as this.
const MAX_MODELS: usize = 32;

impl Desk {
    /// What a turn is for that this begins.
    fn cause_of(&self, delivery: &Delivery) -> Cause {
        match delivery.kind {
            DeliveryKind::Reminder | DeliveryKind::Recap => {
                Cause { by: BY_SHROOMS.to_string(), ..self.cause_of_task(delivery.task) }
            }
            _ => self.cause_of_task(delivery.task),
        }
    }

    fn cause_of_task(&self, task: Option<TaskNo>) -> Cause {
        let task = task.and_then(|no| self.tasks.get(no));
        let by = task.map_or_else(|| BY_OWNER.to_string(), |t| t.sender.label.clone());
        Cause { task: task.map(|t| t.id.clone()), by }
    }

    /// Something is written to a program that stays: it begins a turn, or joins the one that runs. A
    /// turn is its first task's, whatever else is in it.
    pub(super) fn joins_turn(&mut self, now: &Now, run: TurnNo, delivery: &Delivery, begins: bool) {
        let cause = self.cause_of(delivery);
        self.edit_turn(run, |t| match &t.used_by {
            Some(known) if !begins && (known.task.is_some() || cause.task.is_none()) => {}
            _ => {
                t.busy_since = t.busy_since.filter(|_| !begins).or(Some(now.served));
                t.used_by = Some(cause);
            }
        });
    }

    /// A turn begins that nothing was written for: it is the task's that has the lane.
    pub(super) fn own_turn(&mut self, now: &Now, run: &Turn) {
        let holder = self.lanes.get(run.lane).and_then(|l| l.holder);
        let cause = self.cause_of_task(holder);
        self.edit_turn(run.no, |t| {
            t.used_by = Some(cause);
            t.busy_since = Some(now.served);
        });
    }

    /// A turn is over: its records, and how far they go.
    pub(super) fn spend(&mut self, now: &Now, run: &Turn, spent: Spent) {
        self.count(now, run, &spent.used, run.busy);
        if let Some(context) = spent.context {
            self.context(run, context);
        }
        self.edit_turn(run.no, |t| {
            t.mark = spent.mark.or(t.mark.take());
            t.answers.clear();
            t.used_by = None;
            t.busy_since = None;
        });
    }

    /// What a run had used when it ended, and no turn's end told: counted once.
    pub(super) fn left(&mut self, now: &Now, run: &Turn, used: &[Used]) {
        if !run.counted {
            self.count(now, run, used, run.busy && !used.is_empty());
            self.edit_turn(run.no, |t| t.counted = true);
        }
    }

    /// A model has answered in mid-turn: kept until the turn's end says it.
    pub(super) fn answered(&mut self, run: &Turn, answer: Answered, context: Option<u64>) {
        if let Some(used) = context {
            self.context(run, Context { used, window: 0 });
        }
        self.edit_turn(run.no, |t| {
            t.answers.retain(|known| known.id != answer.id);
            t.answers.push(answer);
            let over = t.answers.len().saturating_sub(MAX_ANSWERS);
            t.answers.drain(..over);
        });
    }

    /// How full the conversation is.
    fn context(&mut self, run: &Turn, told: Context) {
        // What is not said stays.
        let keep = |now: u64, before: u64| if now > 0 { now } else { before };
        let before = self.lanes.get(run.lane).map(|l| l.context).unwrap_or_default();
        let context = Context { used: keep(told.used, before.used), window: keep(told.window, before.window) };
        if context != before {
            self.edit_lane(run.lane, |l| l.context = context);
        }
    }

    /// What a harness says of its account's limits; the newest counts, whichever session heard it.
    pub(super) fn account(&mut self, now: &Now, run: &Turn, said: Account) {
        let Some(session) = self.sessions.get(run.session) else { return };
        let account = self.meta.accounts.entry(session.harness.name().to_string()).or_default();
        account.hear(Account { at: now.wall, ..said });
    }

    /// What the records of a session's program say of it, also when it is gone.
    pub(super) fn run_of(&self, session: SessionUid) -> Option<RunOf> {
        let session = self.sessions.get(session)?;
        Some(RunOf { name: session.name.clone(), harness: session.harness.name().to_string() })
    }

    /// Writes the records; what they cost goes to the session and the machine.
    fn count(&mut self, now: &Now, run: &Turn, used: &[Used], is_turn: bool) {
        let Some(of) = self.run_of(run.session).or_else(|| run.of.clone()) else { return };
        let cause = run.used_by.clone().unwrap_or_else(|| self.cause_of_task(run.task));
        let busy = run.busy_since.map_or(0, |since| now.served - since);
        for (at, used) in used.iter().take(MAX_MODELS).enumerate() {
            let first = is_turn && at == 0;
            let prices = &self.place.settings.prices;
            let told = used.micros.map(|micros| (micros, CostFrom::Harness));
            let cost = told.or_else(|| Some((price(prices, &used.model)?.of(&used.tokens), CostFrom::Prices)));
            let record = Usage {
                no: self.next(),
                at: now.wall,
                day: super::limits::day(now),
                session: run.session,
                name: of.name.clone(),
                harness: of.harness.clone(),
                model: crate::text::cut(&used.model, MAX_MODEL),
                cause: cause.clone(),
                turns: u32::from(first),
                tokens: used.tokens,
                cost,
                busy_ms: if first { u64::try_from(busy).unwrap_or_default() } else { 0 },
            };
            self.usages.push(Arc::new(record));
            self.pay(now, run.session, cost.map_or(0, |(micros, _)| micros));
        }
    }
}
