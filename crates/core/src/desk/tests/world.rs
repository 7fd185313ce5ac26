//! One machine in a box: a desk, a store in memory, a clock that is set by hand, and the engine's
//! loop around them: read what is wanted, decide, commit, let go, start what is due. After every
//! commit it holds the desk against the store.

use std::collections::BTreeSet;

use super::store::Store;
use crate::desk::{Desk, Done, Effect, EffectKey, Input, Place, Request, Wake};
use crate::id::{SessionUid, TurnNo};
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{AskTo, Change, Fence, Gate, SessionState};
use crate::settings::Settings;
use crate::time::{Boot, Now};

pub(super) const MACHINE: &str = "home";
/// 2026-10-08 09:15:02 UTC.
const START: i64 = 1_791_450_902_000;

pub(super) struct World {
    pub desk: Desk,
    pub store: Store,
    pub now: Now,
    /// Every turn that was committed, with the name that its session had, in order.
    pub turns: Vec<(String, Fence)>,
    /// Effects that were started since this was last taken.
    pub effects: Vec<Effect>,
    /// Inputs are kept in one batch until it is committed.
    pub batch: bool,
    /// The desk is read back from the store after every commit.
    pub reloads: bool,
    pub settings: Settings,
    started: BTreeSet<EffectKey>,
    ever_run: BTreeSet<TurnNo>,
}

impl World {
    pub fn new() -> World {
        let store = Store::new();
        let now = Now { wall: START, served: 0, boot: Boot(1) };
        let desk = load(&store, &now, &Settings::default());
        let mut world = World {
            desk,
            store,
            now,
            turns: Vec::new(),
            effects: Vec::new(),
            batch: false,
            reloads: false,
            settings: Settings::default(),
            started: BTreeSet::new(),
            ever_run: BTreeSet::new(),
        };
        world.commit();
        world
    }

    pub fn request(&mut self, request: Request) -> Result<Done, Refusal> {
        let loaded = self.store.load(&self.desk.wants(&request));
        self.input(Input::Request(Box::new(request), Box::new(loaded)))
    }

    pub fn input(&mut self, input: Input) -> Result<Done, Refusal> {
        let observed = !matches!(input, Input::Request(..));
        let answer = self.desk.handle(self.now, input);
        assert!(!observed || answer.is_ok(), "an observation or a tick is never refused");
        if !self.batch {
            let changes = self.desk.take_changes();
            let nothing = changes.iter().all(|c| matches!(c, Change::Meta(_)));
            assert!(answer.is_ok() || nothing, "a refused request changes nothing: {changes:?}");
            self.apply(changes);
        }
        answer
    }

    /// Commits what was decided, and starts what is due.
    pub fn commit(&mut self) {
        let changes = self.desk.take_changes();
        self.apply(changes);
    }

    fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            if let Change::Turn(t) = &change
                && !self.store.turns.contains_key(&t.no)
            {
                let name = self.name_of(t.session);
                let (session, lane, turn, boot, attempt) = (t.session, t.lane, t.no, t.boot, t.attempt);
                self.turns.push((name, Fence { session, lane, turn, boot, attempt }));
            }
            self.store.apply(change);
        }
        self.desk.settled();
        self.start_due();
        self.check();
        if self.reloads {
            self.desk = load(&self.store, &self.now, &self.settings);
            self.start_due();
        }
    }

    fn start_due(&mut self) {
        for effect in self.desk.take_due() {
            assert!(self.desk.due().any(|d| *d == effect), "{effect:?} is no longer due");
            if !self.started.insert(effect.key()) {
                continue;
            }
            if let Effect::Run { fence, .. } = &effect {
                assert!(self.ever_run.insert(fence.turn), "a turn is started twice: {fence:?}");
            }
            self.effects.push(effect);
        }
    }

    /// The daemon is gone at once, and starts again.
    pub fn crash(&mut self) {
        self.now = Now { served: self.store.meta.served, boot: Boot(self.now.boot.0 + 1), ..self.now };
        self.started.clear();
        self.desk = load(&self.store, &self.now, &self.settings);
        self.commit();
    }

    /// The batch cannot be committed: the desk is read back from the store, in the same boot.
    pub fn fail_commit(&mut self) {
        let _ = self.desk.take_changes();
        self.desk = load(&self.store, &self.now, &self.settings);
        self.commit();
    }

    pub fn pass(&mut self, ms: i64) {
        self.now.wall += ms;
        self.now.served += ms;
        let _ = self.input(Input::Tick);
    }

    pub fn name_of(&self, uid: SessionUid) -> String {
        let stored = self.store.sessions.get(&uid).map(|s| s.name.clone());
        stored.or_else(|| self.desk.session(uid).map(|s| s.name.clone())).unwrap_or_default()
    }

    /// The turn that a session's lane has.
    pub fn turn_of(&self, session: &str) -> Option<Fence> {
        let lane = self.store.session(session)?.lane;
        let turn = self.store.lanes.get(&lane)?.turn?;
        self.turns.iter().map(|(_, f)| *f).find(|f| f.turn == turn)
    }

    pub fn principal(&self, name: &str) -> Principal {
        match name.strip_prefix('@') {
            _ if name == "owner" => Principal::Owner,
            Some(device) => Principal::Device { id: format!("id-{device}"), label: format!("{device}.mesh") },
            None => Principal::Session(self.uid(name)),
        }
    }

    /// `NAME`, or `old:NAME` for the one that had the name first.
    fn uid(&self, name: &str) -> SessionUid {
        let found = match name.strip_prefix("old:") {
            Some(old) => self.store.sessions.values().find(|s| s.name == old),
            None => self.store.session(name),
        };
        found.unwrap_or_else(|| panic!("no session {name}")).uid
    }

    /// What must hold after every commit, whatever happened before.
    pub fn check(&self) {
        self.check_lanes();
        self.check_effects();
        self.check_against_the_store();
    }

    fn check_lanes(&self) {
        for lane in self.store.lanes.values() {
            let running: Vec<_> =
                self.store.turns.values().filter(|t| t.lane == lane.no && t.ended.is_none()).collect();
            assert!(running.len() <= 1, "two turns in one lane: {running:?}");
            assert_eq!(running.first().map(|t| t.no), lane.turn, "a lane knows its turn");
            let holder = lane.holder.and_then(|no| self.store.tasks.get(&no));
            assert!(holder.is_none_or(|t| t.open() && !t.awaits_asker() && !t.stalled), "a lane is held by {holder:?}");
            let stays = self.store.sessions.get(&lane.session).is_some_and(|s| s.harness.stays());
            assert!(stays || lane.holder.is_none() || lane.turn.is_some(), "a lane is held without a turn");
            let waits = lane.not_before.is_some() || !lane.waits_for.is_empty();
            assert!(!waits || lane.turn.is_none(), "a lane that works waits for nothing: {lane:?}");
        }
    }

    fn check_effects(&self) {
        for effect in self.desk.due() {
            match effect {
                Effect::Run { fence, .. }
                | Effect::Stop { fence }
                | Effect::Interrupt { fence, .. }
                | Effect::Write { fence, .. }
                | Effect::Answer { fence, .. } => {
                    assert_eq!(fence.boot, self.now.boot, "a turn of an earlier boot is due: {effect:?}");
                }
                Effect::Settle { fence, .. } => {
                    assert!(self.store.turns[&fence.turn].ended.is_none(), "settled already: {effect:?}");
                }
                Effect::Send { ask, .. } | Effect::Look { ask, .. } | Effect::CancelAway { ask, .. } => {
                    assert!(self.store.asks[ask].open(), "an ask that is over is worked on: {effect:?}");
                }
                Effect::Report { outbox, .. } => assert!(self.store.outbox.contains_key(outbox)),
            }
            assert!(self.started.contains(&effect.key()), "due, and never given to be started: {effect:?}");
        }
    }

    /// A desk made from the store's rows is the same desk, and finds nothing left to do.
    fn check_against_the_store(&self) {
        let mut fresh = load(&self.store, &self.now, &self.settings);
        let left: Vec<_> = fresh.take_changes();
        assert!(left.is_empty(), "work that could have been begun was left: {left:?}");
        assert_eq!(all(fresh.due()), all(self.desk.due()), "the same rows give the same effects");
        assert_eq!(all(fresh.sessions.iter()), all(self.desk.sessions.iter()));
        assert_eq!(all(fresh.messages.iter()), all(self.desk.messages.iter()));
        assert_eq!(all(fresh.tasks.iter()), all(self.desk.tasks.iter()));
        assert_eq!(all(fresh.deliveries.iter()), all(self.desk.deliveries.iter()));
        assert_eq!(all(fresh.turns.iter()), all(self.desk.turns.iter()));
        assert_eq!(all(fresh.prompts.iter()), all(self.desk.prompts.iter()));
        assert_eq!(all(fresh.asks.iter()), all(self.desk.asks.iter()));
        assert_eq!(all(fresh.outbox.iter()), all(self.desk.outbox.iter()));
        let (kept, made) = (&self.desk.index, &fresh.index);
        assert_eq!(kept.names, made.names);
        assert_eq!(kept.task_ids, made.task_ids);
        assert_eq!(kept.messages, made.messages);
        assert_eq!(all(&kept.by_task), all(&made.by_task));
        assert_eq!(filled(&kept.written), filled(&made.written), "what was written in a run is what a scan gives");
        assert_eq!(filled(&kept.prompts), filled(&made.prompts));
        assert_eq!(filled(&kept.asked), filled(&made.asked));
        assert_eq!(kept.working, made.working);
        assert_eq!(kept.asks, made.asks);
        assert_eq!(kept.reports, made.reports);
        assert_eq!(filled(&kept.queue), filled(&made.queue), "the queue's index is what a scan gives");
        assert_eq!(filled(&kept.open), filled(&made.open));
        assert_eq!(filled(&kept.planned), filled(&made.planned));
        self.check_queue();
        for desk in [&self.desk, &fresh] {
            self.check_wakes(desk);
        }
    }

    fn check_queue(&self) {
        for lane in self.store.lanes.values() {
            let mut waiting: Vec<_> = (self.store.tasks.values())
                .filter(|t| t.lane == lane.no && t.open() && !t.dispatched && t.gate == Gate::Open)
                .map(|t| (t.position, t.no))
                .collect();
            waiting.sort();
            let kept = self.desk.index.queue.get(&lane.no).map(all).unwrap_or_default();
            assert_eq!(kept.into_iter().copied().collect::<Vec<_>>(), waiting, "the queue is what a full scan says");
        }
    }

    /// Whatever waits for a time is looked at again then.
    fn check_wakes(&self, desk: &Desk) {
        let wakes = &desk.index.wakes;
        for (no, lane) in desk.lanes.iter() {
            let serves = desk.session(lane.session).is_some_and(|s| s.state == SessionState::Ready);
            if let Some(at) = lane.not_before.filter(|at| serves && *at > self.now.served) {
                assert!(wakes.contains(&(at, Wake::Lane(*no))), "nothing wakes {lane:?}");
            }
        }
        for (no, ask) in desk.asks.iter().filter(|(_, a)| a.open() && !a.trying) {
            let away = matches!(ask.to, AskTo::Device { .. });
            assert!(!away || wakes.contains(&(ask.not_before, Wake::Ask(*no))), "nothing wakes {ask:?}");
        }
        for (no, row) in desk.outbox.iter().filter(|(_, o)| o.not_before > self.now.served) {
            assert!(wakes.contains(&(row.not_before, Wake::Outbox(*no))), "nothing wakes {row:?}");
        }
    }
}

fn load(store: &Store, now: &Now, settings: &Settings) -> Desk {
    Desk::load(Place { machine: MACHINE.into(), settings: settings.clone() }, store.meta.clone(), store.open(), now)
}

fn all<T>(rows: impl IntoIterator<Item = T>) -> Vec<T> {
    rows.into_iter().collect()
}

fn filled<K, T>(sets: &std::collections::BTreeMap<K, BTreeSet<T>>) -> Vec<(&K, &BTreeSet<T>)> {
    sets.iter().filter(|(_, s)| !s.is_empty()).collect()
}
