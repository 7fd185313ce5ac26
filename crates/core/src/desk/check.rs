//! For the testkit: what a desk keeps in memory, held against one made of its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use crate::row::{Ask, AskTo, Delivery, Gate, Prompt, SessionState, Task};
use crate::time::Now;

use super::table::Table;
use super::{Desk, Wake};

/// Holds, or says what does not.
type Check = Result<(), String>;

impl Desk {
    /// The tasks that it holds, committed or not.
    pub fn tasks(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.tasks.iter().map(|(_, t)| t)
    }

    /// The deliveries that it holds, committed or not.
    pub fn deliveries(&self) -> impl Iterator<Item = &Arc<Delivery>> {
        self.deliveries.iter().map(|(_, d)| d)
    }

    /// The prompts that it holds, committed or not.
    pub fn prompts(&self) -> impl Iterator<Item = &Arc<Prompt>> {
        self.prompts.iter().map(|(_, p)| p)
    }

    /// The asks that it holds, committed or not.
    pub fn asks(&self) -> impl Iterator<Item = &Arc<Ask>> {
        self.asks.iter().map(|(_, a)| a)
    }

    /// Whether another desk, made of this one's rows, is the same one.
    ///
    /// # Errors
    /// What is different.
    pub fn same_as(&self, made: &Desk) -> Check {
        let effects = |d: &Desk| d.due().cloned().collect::<Vec<_>>();
        same("effects", &effects(self), &effects(made))?;
        rows("sessions", &self.sessions, &made.sessions)?;
        rows("messages", &self.messages, &made.messages)?;
        rows("tasks", &self.tasks, &made.tasks)?;
        rows("deliveries", &self.deliveries, &made.deliveries)?;
        rows("turns", &self.turns, &made.turns)?;
        rows("prompts", &self.prompts, &made.prompts)?;
        rows("asks", &self.asks, &made.asks)?;
        rows("outbox", &self.outbox, &made.outbox)?;
        let (kept, made) = (&self.index, &made.index);
        same("names", &kept.names, &made.names)?;
        same("task ids", &kept.task_ids, &made.task_ids)?;
        same("message keys", &kept.messages, &made.messages)?;
        same("messages of asks", &kept.of_ask, &made.of_ask)?;
        same("messages of tasks", &kept.by_task, &made.by_task)?;
        same("deliveries of runs", &filled(&kept.written), &filled(&made.written))?;
        same("prompts of runs", &filled(&kept.prompts), &filled(&made.prompts))?;
        same("asks of sessions", &filled(&kept.asked), &filled(&made.asked))?;
        same("asks for tasks here", &filled(&kept.asked_here), &filled(&made.asked_here))?;
        same("working turns", &kept.working, &made.working)?;
        same("ask keys", &kept.asks, &made.asks)?;
        same("reports", &kept.reports, &made.reports)?;
        same("queues", &filled(&kept.queue), &filled(&made.queue))?;
        same("open tasks", &filled(&kept.open), &filled(&made.open))?;
        same("planned deliveries", &filled(&kept.planned), &filled(&made.planned))
    }

    /// Whether each lane's queue is what a look at all tasks gives, and whatever waits for a time is
    /// looked at again then.
    ///
    /// # Errors
    /// What is not.
    pub fn sound(&self, now: &Now) -> Check {
        for (no, _) in self.lanes.iter() {
            let waits = |t: &&Arc<Task>| t.lane == *no && t.open() && !t.dispatched && t.gate == Gate::Open;
            let all: BTreeSet<_> = self.tasks().filter(waits).map(|t| (t.position, t.no)).collect();
            same("a queue", &self.index.queue.get(no).cloned().unwrap_or_default(), &all)?;
        }
        let wakes = &self.index.wakes;
        for (no, lane) in self.lanes.iter() {
            let serves = self.session(lane.session).is_some_and(|s| s.state == SessionState::Ready);
            let at = lane.not_before.filter(|at| serves && *at > now.served);
            woken(at.is_none_or(|at| wakes.contains(&(at, Wake::Lane(*no)))), lane)?;
        }
        for (no, ask) in self.asks.iter().filter(|(_, a)| a.open() && !a.trying) {
            let away = matches!(ask.to, AskTo::Device { .. });
            woken(!away || wakes.contains(&(ask.not_before, Wake::Ask(*no))), ask)?;
        }
        for (no, row) in self.outbox.iter().filter(|(_, o)| o.not_before > now.served) {
            woken(wakes.contains(&(row.not_before, Wake::Outbox(*no))), row)?;
        }
        for prompt in self.prompts().filter(|p| p.open()) {
            let secs = self.session(prompt.session).map_or(0, |s| s.prompt_timeout);
            let at = Some(prompt.made.served + i64::from(secs) * 1_000).filter(|at| secs > 0 && *at > now.served);
            woken(at.is_none_or(|at| wakes.contains(&(at, Wake::Prompt(prompt.no)))), prompt)?;
        }
        Ok(())
    }
}

fn woken(is: bool, what: &impl Debug) -> Check {
    if is { Ok(()) } else { Err(format!("nothing wakes {what:?}")) }
}

fn same<T: PartialEq + Debug>(what: &str, kept: &T, made: &T) -> Check {
    if kept == made { Ok(()) } else { Err(format!("{what}: kept is {kept:?}, made of the rows {made:?}")) }
}

fn rows<K: Ord + Copy + Debug, R: Clone + PartialEq + Debug>(
    what: &str,
    kept: &Table<K, R>,
    made: &Table<K, R>,
) -> Check {
    if let Some((kept, made)) = kept.iter().zip(made.iter()).find(|(kept, made)| kept != made) {
        return Err(format!("{what}: kept is {kept:?}, made of the rows {made:?}"));
    }
    same(what, &kept.len(), &made.len())
}

fn filled<K: Ord, T>(sets: &BTreeMap<K, BTreeSet<T>>) -> Vec<(&K, &BTreeSet<T>)> {
    sets.iter().filter(|(_, s)| !s.is_empty()).collect()
}
