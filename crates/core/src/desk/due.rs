//! What should be under way, as a function of stored rows: each effect with a key (row, attempt).
//! The engine starts a key at most once in a boot. What an earlier boot began is never started
//! again; only the question what became of it is due.

use crate::id::{AskNo, DeliveryNo, OutboxNo, PromptNo};
use crate::row::{Ask, AskState, AskTo, Delivery, DeliveryState, Fence, Outbox, Prompt, PromptState, Turn, TurnState};
use crate::time::Now;

use super::{Desk, Mutant, Wake};

/// Which effect: what, of which row, the how-manieth try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectKey {
    pub row: i64,
    pub kind: EffectKind,
    pub attempt: u32,
}

/// What an effect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    Run,
    Stop,
    Interrupt,
    Write,
    Answer,
    Settle,
    Send,
    Look,
    CancelAway,
    Report,
}

/// Something to be done outside, once the rows that ask for it are committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start the harness for a delivery.
    Run { fence: Fence, delivery: DeliveryNo },
    /// End a turn that runs.
    Stop { fence: Fence },
    /// Cut the turn of a program that stays short; the program goes on.
    Interrupt { fence: Fence, nth: u32 },
    /// Write a delivery to a program that stays.
    Write { fence: Fence, delivery: DeliveryNo, attempt: u32 },
    /// Give a program that stays the answer to its prompt.
    Answer { fence: Fence, prompt: PromptNo },
    /// Find out what became of a turn, after ending every process of it.
    Settle { fence: Fence, delivery: DeliveryNo },
    /// Send an ask to the worker's machine.
    Send { ask: AskNo, attempt: u32 },
    /// Look how an ask stands there.
    Look { ask: AskNo, attempt: u32 },
    /// Tell the worker's machine that an ask is cancelled.
    CancelAway { ask: AskNo, attempt: u32 },
    /// Tell another machine of a task's change.
    Report { outbox: OutboxNo, tries: u32 },
}

impl Effect {
    /// Its key.
    pub fn key(&self) -> EffectKey {
        let (row, kind, attempt) = match self {
            Effect::Run { fence, .. } => (fence.turn.0, EffectKind::Run, fence.attempt),
            Effect::Stop { fence } => (fence.turn.0, EffectKind::Stop, fence.attempt),
            Effect::Interrupt { fence, nth } => (fence.turn.0, EffectKind::Interrupt, *nth),
            Effect::Write { delivery, attempt, .. } => (delivery.0, EffectKind::Write, *attempt),
            Effect::Answer { fence, prompt } => (prompt.0, EffectKind::Answer, fence.attempt),
            Effect::Settle { fence, .. } => (fence.turn.0, EffectKind::Settle, fence.attempt),
            Effect::Send { ask, attempt } => (ask.0, EffectKind::Send, *attempt),
            Effect::Look { ask, attempt } => (ask.0, EffectKind::Look, *attempt),
            Effect::CancelAway { ask, attempt } => (ask.0, EffectKind::CancelAway, *attempt),
            Effect::Report { outbox, tries } => (outbox.0, EffectKind::Report, *tries),
        };
        EffectKey { row, kind, attempt }
    }
}

impl Desk {
    /// Effects that became due since the last call. The engine drops keys it has started already.
    pub fn take_due(&mut self) -> Vec<Effect> {
        let fresh = std::mem::take(&mut self.fresh);
        // What came and went before its commit was never due.
        fresh.into_iter().filter(|e| self.effects.get(&e.key()) == Some(e)).collect()
    }

    /// All effects that are due now, for checks and after a reload.
    pub fn due(&self) -> impl Iterator<Item = &Effect> {
        self.effects.values()
    }

    /// The served time (ms) at which the desk wants a tick, if nothing else comes before.
    pub fn next_wake(&self) -> Option<i64> {
        self.index.wakes.first().map(|(at, _)| *at)
    }

    pub(super) fn drop_effects(&mut self, row: i64) {
        let from = EffectKey { row, kind: EffectKind::Run, attempt: 0 };
        let keys: Vec<EffectKey> =
            self.effects.range(from..).take_while(|(k, _)| k.row == row).map(|(k, _)| *k).collect();
        for key in keys {
            self.effects.remove(&key);
        }
    }

    fn set_effects(&mut self, row: i64, wanted: impl IntoIterator<Item = Effect>) {
        let wanted: Vec<Effect> = wanted.into_iter().collect();
        let from = EffectKey { row, kind: EffectKind::Run, attempt: 0 };
        let stale: Vec<EffectKey> = self
            .effects
            .range(from..)
            .take_while(|(k, _)| k.row == row)
            .map(|(k, _)| *k)
            .filter(|k| !wanted.iter().any(|e| e.key() == *k))
            .collect();
        for key in stale {
            self.effects.remove(&key);
        }
        for effect in wanted {
            if self.effects.insert(effect.key(), effect.clone()).is_none() {
                self.fresh.push(effect);
            }
        }
    }

    pub(super) fn turn_effects(&mut self, turn: &Turn) {
        let fence = fence(turn);
        let run = Effect::Run { fence, delivery: turn.cause };
        let settle = Effect::Settle { fence, delivery: turn.cause };
        let wanted = match turn.state {
            TurnState::Ended => vec![],
            _ if turn.boot != self.meta.boot && !self.breaks(Mutant::RunsAgain) => vec![settle],
            TurnState::Lost => vec![settle],
            TurnState::Running if turn.interrupts > 0 => {
                vec![run, Effect::Interrupt { fence, nth: turn.interrupts }]
            }
            TurnState::Running => vec![run],
            TurnState::Stopping => vec![run, Effect::Stop { fence }],
        };
        self.set_effects(turn.no.0, wanted);
    }

    pub(super) fn delivery_effects(&mut self, delivery: &Delivery) {
        let run = delivery.run.and_then(|no| self.turns.get(no)).filter(|t| t.boot == self.meta.boot);
        let due = run.filter(|t| t.state == TurnState::Running && delivery.state == DeliveryState::Attempting);
        let write = due.map(|t| Effect::Write { fence: fence(t), delivery: delivery.no, attempt: delivery.attempt });
        self.set_effects(delivery.no.0, write);
    }

    pub(super) fn prompt_effects(&mut self, prompt: &Prompt) {
        let run = self.turns.get(prompt.run).filter(|t| t.boot == self.meta.boot && t.state == TurnState::Running);
        let answered = prompt.ended.is_none() && matches!(prompt.state, PromptState::Answered { .. });
        let due = run.filter(|_| answered).map(|t| Effect::Answer { fence: fence(t), prompt: prompt.no });
        self.set_effects(prompt.no.0, due);
    }

    pub(super) fn ask_effects(&mut self, ask: &Ask) {
        let away = matches!(ask.to, AskTo::Device { .. });
        let under_way = ask.trying && ask.boot == self.meta.boot;
        let (no, attempt) = (ask.no, ask.attempt);
        let wanted = match ask.state {
            _ if !away || !under_way => None,
            AskState::Unsent => Some(Effect::Send { ask: no, attempt }),
            AskState::Open if ask.cancel => Some(Effect::CancelAway { ask: no, attempt }),
            AskState::Open => Some(Effect::Look { ask: no, attempt }),
            AskState::Ended => None,
        };
        self.set_effects(ask.no.0, wanted);
    }

    pub(super) fn outbox_effects(&mut self, now: &Now, row: &Outbox) {
        let due = row.not_before <= now.served;
        if !due {
            self.index.wakes.insert((row.not_before, Wake::Outbox(row.no)));
        }
        self.set_effects(row.no.0, due.then_some(Effect::Report { outbox: row.no, tries: row.tries }));
    }

    /// Acts on every wake-up whose time has come.
    pub(super) fn wake_up(&mut self, now: &Now) {
        self.lift_caps(now);
        self.use_room(now);
        while let Some(&(at, wake)) = self.index.wakes.first() {
            if at > now.served {
                break;
            }
            self.index.wakes.pop_first();
            match wake {
                Wake::Lane(no) => self.advance(now, no),
                Wake::Ask(no) => self.advance_ask(now, no),
                Wake::Outbox(no) => {
                    if let Some(row) = self.outbox.get(no).cloned() {
                        self.outbox_effects(now, &row);
                    }
                }
                Wake::Prompt(no) => self.deny_late(now, no),
            }
        }
    }
}

fn fence(turn: &Turn) -> Fence {
    Fence { session: turn.session, lane: turn.lane, turn: turn.no, boot: turn.boot, attempt: turn.attempt }
}
