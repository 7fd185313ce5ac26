//! What a run of the simulation has been through, and whether that was enough: restarts in each
//! state of a task, at each point, with each behaviour of its program; and things that must have
//! happened.

use std::collections::BTreeMap;
use std::fmt;

use shrooms_core::row::{Gate, Task};

use super::behaviour::Behaviour;

/// Where a daemon was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Decided, and not committed.
    Decided,
    /// Committed; nobody was answered, nothing begun.
    Committed,
    /// What was due had begun.
    Begun,
    /// The program had said something that was not heard.
    Unheard,
    /// Something was under way between this machine and another.
    Asking,
}

/// Where a task stood then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stood {
    Queued,
    Parked,
    /// Planned or written, and not read.
    Delivering,
    Working,
    /// For an ask of its own.
    Waiting,
    /// For a person.
    Prompting,
    /// For its asker.
    Blocked,
    /// And the answer not read.
    Answered,
    Stalled,
    /// Over, and whoever asked has not been told.
    Untold,
}

const STOOD: [Stood; 10] = [
    Stood::Queued,
    Stood::Parked,
    Stood::Delivering,
    Stood::Working,
    Stood::Waiting,
    Stood::Prompting,
    Stood::Blocked,
    Stood::Answered,
    Stood::Stalled,
    Stood::Untold,
];
const POINTS: [Point; 5] = [Point::Decided, Point::Committed, Point::Begun, Point::Unheard, Point::Asking];

/// How often each cell must have been seen.
pub const ENOUGH: usize = 50;

/// Things that must have happened, each at least [`ENOUGH`] times.
const MUST: &[&str] = &[
    "a clock jumped",
    "a follow-up from away",
    "a late word",
    "a limit",
    "a machine was off",
    "a program rested",
    "a session was restarted",
    "a terminal had a conversation",
    "a packet came twice",
    "a packet was lost",
    "an answer was lost",
    "busy unasked",
    "commit failed",
    "offer fell back",
    "offer seen",
    "prompt answered",
    "read Answer",
    "read Correction",
    "read Recap",
    "read Recover",
    "read Reminder",
    "read Result",
    "read Say",
    "read Task",
    "read a repeat",
    "refused",
    "settled No",
    "settled Unknown",
    "settled Yes",
    "the wire was cut",
    "told from away",
    "woken for nothing",
    "task completed",
    "task failed",
    "task canceled",
    "task expired",
    "task rejected",
    "task stalled",
    "task unproven",
];

/// Counts of all that.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub scenarios: usize,
    pub steps: usize,
    cells: BTreeMap<(Stood, Point, Behaviour), usize>,
    happened: BTreeMap<String, usize>,
}

impl Coverage {
    pub(super) fn count(&mut self, what: impl Into<String>) {
        *self.happened.entry(what.into()).or_insert(0) += 1;
    }

    pub(super) fn restart(&mut self, stood: Stood, point: Point, behaves: Behaviour) {
        *self.cells.entry((stood, point, behaves)).or_insert(0) += 1;
    }

    /// Takes another one's counts in.
    pub fn add(&mut self, other: Coverage) {
        self.scenarios += other.scenarios;
        self.steps += other.steps;
        other.cells.into_iter().for_each(|(cell, n)| *self.cells.entry(cell).or_insert(0) += n);
        other.happened.into_iter().for_each(|(what, n)| *self.happened.entry(what).or_insert(0) += n);
    }

    /// What was seen too seldom.
    pub fn thin(&self) -> Vec<String> {
        let mut thin = Vec::new();
        for stood in STOOD {
            for point in POINTS {
                for behaves in Behaviour::ALL.into_iter().filter(|b| can_be(stood, *b)) {
                    let n = self.cells.get(&(stood, point, behaves)).copied().unwrap_or(0);
                    if n < ENOUGH {
                        thin.push(format!("{stood:?} × {point:?} × {behaves:?}: {n}"));
                    }
                }
            }
        }
        let few = |what: &&&str| self.happened.get(**what).copied().unwrap_or(0) < ENOUGH;
        thin.extend(MUST.iter().filter(few).map(|w| format!("{w}: {}", self.happened.get(*w).unwrap_or(&0))));
        thin
    }
}

/// A command asks no person, waits for nobody after its run, and gets no reminders.
fn can_be(stood: Stood, behaves: Behaviour) -> bool {
    let stays = matches!(stood, Stood::Waiting | Stood::Prompting | Stood::Stalled);
    behaves != Behaviour::Command || !stays
}

/// Where a task stands, of those that are counted.
pub(super) fn stood(task: &Task, untold: bool) -> Option<Stood> {
    Some(match () {
        () if !task.open() => return untold.then_some(Stood::Untold),
        () if task.gate == Gate::Parked && !task.dispatched => Stood::Parked,
        () if !task.dispatched => Stood::Queued,
        () if task.stalled => Stood::Stalled,
        () if task.awaits_asker() => Stood::Blocked,
        () if task.blocked => Stood::Answered,
        () if task.prompts > 0 => Stood::Prompting,
        () if task.waiting => Stood::Waiting,
        () if task.delivered.is_none() => Stood::Delivering,
        () => Stood::Working,
    })
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per = self.steps / self.scenarios.max(1);
        writeln!(f, "{} scenarios, {} steps ({per} for each, and its end)", self.scenarios, self.steps)?;
        writeln!(f, "\nrestarts, by the state of a task, the point, and how its program behaves:")?;
        write!(f, "{:<11}{:<11}", "", "")?;
        for behaves in Behaviour::ALL {
            write!(f, "{:>9}", format!("{behaves:?}"))?;
        }
        for stood in STOOD {
            for point in POINTS {
                write!(f, "\n{:<11}{:<11}", format!("{stood:?}"), format!("{point:?}"))?;
                for behaves in Behaviour::ALL {
                    match can_be(stood, behaves) {
                        true => {
                            write!(f, "{:>9}", self.cells.get(&(stood, point, behaves)).copied().unwrap_or(0))?;
                        }
                        false => write!(f, "{:>9}", "-")?,
                    }
                }
            }
        }
        writeln!(f, "\n\nand of what else happened:")?;
        for (what, n) in &self.happened {
            writeln!(f, "{n:>9}  {what}")?;
        }
        Ok(())
    }
}
