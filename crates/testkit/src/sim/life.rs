//! A lane's conversation, and the last program that had it open. What a program has stored is in its
//! conversation for good; what it has not stored it has never read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use shrooms_core::desk::{Exit, TurnFact};
use shrooms_core::id::{AskNo, DeliveryNo, TaskNo};
use shrooms_core::row::{Delivery, Fence, Spent};
use shrooms_core::text::Text;

/// What a harness knows a message by: another for each time that it is said once more although it may
/// have been read.
pub(super) type Wire = (DeliveryNo, u32);

pub(super) fn wire(d: &Delivery) -> Wire {
    (d.no, if d.repeat { d.attempt } else { 0 })
}

/// An outcome of an ask: its state and text.
pub(super) type Outcome = (AskNo, String);

#[derive(Clone, Default)]
pub(super) struct Life {
    pub conversation: BTreeSet<Wire>,
    /// Outcomes that are in it.
    pub read: BTreeSet<Outcome>,
    /// What it asked, by message id, and for which of its tasks.
    pub asked: BTreeMap<String, Option<TaskNo>>,
    /// What had been read when a task was last blocked.
    pub blocked: BTreeMap<TaskNo, BTreeSet<Wire>>,
    pub program: Option<(Fence, Program)>,
    /// What became of a run is to be found out.
    pub settle: Option<Fence>,
}

#[derive(Clone, Default)]
pub(super) struct Program {
    /// It is a command's: its run is what was written to it.
    pub command: bool,
    pub begun: bool,
    pub over: bool,
    pub exit: Option<Exit>,
    /// Its end was asked for.
    pub stop: bool,
    /// What was written and not taken, with the attempts' numbers.
    pub inbox: VecDeque<(Wire, u32)>,
    /// A turn runs; as far as the daemon has heard.
    pub works: bool,
    pub heard_works: bool,
    /// A turn began that nobody asked for; what was written into it may make another.
    pub unasked: bool,
    /// This turn, or the next, is cut short.
    pub cut: bool,
    /// Taken, or read as the return of a call, and not stored yet: lost, if it dies now.
    pub fresh: Vec<Wire>,
    pub shown: Vec<Outcome>,
    /// Tasks that the turn has messages of.
    pub tasks: BTreeSet<TaskNo>,
    pub prompts: BTreeSet<String>,
    /// What runs beside its turns.
    pub beside: BTreeSet<String>,
    pub calls: Vec<Call>,
    /// What it has said and the daemon has not heard.
    pub pipe: VecDeque<TurnFact>,
}

/// A call of `ask_agent` that has not shown its return.
#[derive(Clone)]
pub(super) struct Call {
    pub id: String,
    pub mid: String,
    /// The model still waits for it.
    pub wanted: bool,
    pub returned: Option<Outcome>,
}

impl Program {
    pub fn end(&mut self, word: TurnFact) {
        self.over = true;
        self.fresh.clear();
        self.shown.clear();
        self.pipe.push_back(word);
    }

    pub fn exit(&mut self, code: i32) {
        self.exit = Some(exit(code, self.stop));
        self.end(TurnFact::Ended(exit(code, self.stop)));
    }

    /// A turn is over, with all that belonged to it.
    pub fn rest(&mut self) {
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
