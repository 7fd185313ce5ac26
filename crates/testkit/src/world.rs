//! One machine in a box: a desk, a store in memory, a clock that is set by hand, and the engine's
//! loop around them: read what is wanted, decide, commit, let go, start what is due. After every
//! commit it holds the desk against the store.

use std::collections::{BTreeMap, BTreeSet};

use shrooms_core::desk::{Desk, Done, Effect, EffectKey, Input, LogNote, Place, Request};
use shrooms_core::id::{LaneNo, SessionUid, TurnNo};
use shrooms_core::principal::Principal;
use shrooms_core::refusal::Refusal;
use shrooms_core::rights::Right;
use shrooms_core::row::{Change, DeliveryState, Fence, Task};
use shrooms_core::time::{Boot, Now};

use crate::store::Store;

/// What a machine is called where nobody says.
pub const MACHINE: &str = "home";
/// 2026-10-08 09:15:02 UTC.
const START: i64 = 1_791_450_902_000;

/// One machine, and all that happened on it.
pub struct World {
    pub desk: Desk,
    pub store: Store,
    pub now: Now,
    pub place: Place,
    /// Every turn that was committed, with the name that its session had, in order.
    pub turns: Vec<(String, Fence)>,
    /// Effects that were started since this was last taken.
    pub effects: Vec<Effect>,
    /// Lines for the logs of sessions, as they were committed.
    pub lines: Vec<LogNote>,
    /// Inputs are kept in one batch until it is committed.
    pub batch: bool,
    /// The desk is read back from the store after every commit.
    pub reloads: bool,
    /// The desk is held against its rows after every so-manieth commit.
    pub thorough: u64,
    commits: u64,
    started: BTreeSet<EffectKey>,
    ever_run: BTreeSet<TurnNo>,
}

impl Default for World {
    fn default() -> World {
        World::new(Place::new(MACHINE.into(), Default::default()), "0123456789abcdef")
    }
}

impl World {
    /// A machine with nothing on it, whose state was made with these random digits.
    pub fn new(place: Place, incarnation: &str) -> World {
        let store = Store::new(incarnation);
        let now = Now { wall: START, served: 0, boot: Boot(1) };
        let desk = Desk::load(place.clone(), store.meta.clone(), store.open(), &now);
        let mut world = World {
            desk,
            store,
            now,
            place,
            turns: Vec::new(),
            effects: Vec::new(),
            lines: Vec::new(),
            batch: false,
            reloads: false,
            thorough: 1,
            commits: 0,
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
            let nothing = changes.iter().all(|c| matches!(c, Change::Meta(_) | Change::Audit(_)));
            let lines = self.desk.take_lines();
            let nothing = nothing && (answer.is_ok() || lines.is_empty());
            self.lines.extend(lines);
            assert!(answer.is_ok() || nothing, "a refused request changes nothing but the log: {changes:?}");
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
        self.lines.extend(self.desk.take_lines());
        self.store.check();
        self.desk.settled();
        self.start_due();
        self.check();
        if self.reloads {
            self.desk = self.load();
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
        self.desk = self.load();
        self.commit();
    }

    /// The batch cannot be committed: the desk is read back from the store, in the same boot.
    pub fn fail_commit(&mut self) {
        let _ = self.desk.take_changes();
        self.desk = self.load();
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

    /// `owner`, a session's name, `@DEVICE` or `@DEVICE.MESH`, or `@DEVICE:RIGHT` of one that has less than
    /// the owner.
    pub fn principal(&self, name: &str) -> Principal {
        match name.strip_prefix('@') {
            _ if name == "owner" => Principal::Owner,
            Some(device) => {
                let (device, right) = device.split_once(':').unwrap_or((device, "owner"));
                let right = Right::parse(right).expect("a right");
                let (name, mesh) = device.split_once('.').unwrap_or((device, "mesh"));
                let (id, label) = (format!("id-{name}"), format!("{name}.{mesh}"));
                Principal::Device { id, label, right, meshes: vec![mesh.to_string()] }
            }
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
    fn check(&mut self) {
        self.check_lanes();
        self.check_effects();
        self.commits += 1;
        if self.commits.is_multiple_of(self.thorough) {
            self.check_against_the_store();
        }
    }

    fn check_lanes(&self) {
        let mut running = BTreeMap::<LaneNo, TurnNo>::new();
        for turn in self.store.open_turns() {
            let other = running.insert(turn.lane, turn.no);
            assert!(other.is_none(), "two turns in one lane: {other:?} and {turn:?}");
        }
        for lane in self.store.lanes.values() {
            assert_eq!(running.get(&lane.no).copied(), lane.turn, "a lane knows its turn");
            let holder = lane.holder.and_then(|no| self.store.tasks.get(&no));
            // What is on its way to a stalled task takes it up again.
            let comes = |no| self.desk.deliveries().any(|d| d.task == Some(no) && d.state != DeliveryState::Taken);
            let may = |t: &Task| t.open() && !t.awaits_asker() && (!t.stalled || comes(t.no));
            assert!(holder.is_none_or(|t| may(t)), "a lane is held by {holder:?}");
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
        let mut made = self.load();
        let left: Vec<_> = made.take_changes();
        assert!(left.is_empty(), "work that could have been begun was left: {left:?}");
        self.desk.same_as(&made).expect("the same rows give the same desk");
        for desk in [&self.desk, &made] {
            desk.sound(&self.now).expect("what is kept is what the rows say");
        }
    }

    fn load(&self) -> Desk {
        Desk::load(self.place.clone(), self.store.meta.clone(), self.store.open(), &self.now)
    }
}
