//! Scripts that nobody wrote: 200 random steps over three sessions, with crashes and commits that
//! fail at random points. `world` checks after every commit what must always hold (one turn a
//! lane, final states, one delivery of a task, no run of an earlier boot, indexes, recovery); in
//! the end everything must come to its end.

use std::sync::Arc;

use super::dice::Dice;
use super::world::World;
use crate::desk::{AskFact, AskReq, Done, Exit, Input, OutboxFact, ReportReq, Request, Retry, SendReq, Target};
use crate::desk::{TurnFact, Word};
use crate::id::TurnNo;
use crate::principal::Principal;
use crate::row::{Ask, AskBy, AskTo, DeliveryState, Fence, Harness, SessionState, Task, TurnState};
use crate::text::Text;
use crate::time::Boot;

const SESSIONS: [&str; 3] = ["one", "again", "turns"];

#[test]
fn whatever_happens_and_wherever_it_stops_every_task_is_what_it_was_or_honestly_marked() {
    let mut seen = Seen::default();
    for seed in 0..50 {
        let mut dice = Dice(seed);
        let mut world = World::new();
        for name in SESSIONS {
            add(&mut world, name);
        }
        for _ in 0..200 {
            step(&mut world, &mut dice);
        }
        seen.count(&world);
        come_to_an_end(&mut world);
    }
    // The scripts do get to where it matters.
    let Seen { tasks, blocked, repeats, told, reports, boots } = seen;
    assert!(tasks > 500 && blocked > 50 && repeats > 50 && told > 50 && reports > 20 && boots > 300, "{seen:?}");
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    tasks: usize,
    blocked: usize,
    repeats: usize,
    told: usize,
    reports: usize,
    boots: usize,
}

impl Seen {
    fn count(&mut self, world: &World) {
        self.tasks += world.store.tasks.len();
        self.blocked += world.store.tasks.values().filter(|t| t.question.is_some()).count();
        self.repeats += world.store.deliveries.values().filter(|d| d.attempt > 1).count();
        self.told += world.store.asks.values().filter(|a| a.told && matches!(a.by, AskBy::Session(_))).count();
        self.reports += world.store.outbox.len();
        self.boots += world.now.boot.0 as usize;
    }
}

fn add(world: &mut World, name: &str) {
    let harness = Harness::Command {
        argv: vec!["/bin/true".into()],
        framed: false,
        rerun_on_crash: name == "again",
        takes_turns: name == "turns",
    };
    let request = Request::AddSession { by: Principal::Owner, name: name.into(), harness, dir: "/tmp".into() };
    // Refused where the name is taken: that is a step, too.
    let _ = world.request(request);
}

fn step(world: &mut World, dice: &mut Dice) {
    match dice.roll(100) {
        0..4 => world.crash(),
        4..9 => {
            world.batch = true;
            for _ in 0..=dice.roll(3) {
                act(world, dice);
            }
            world.batch = false;
            world.fail_commit();
        }
        9..24 => {
            world.batch = true;
            for _ in 0..=dice.roll(4) {
                act(world, dice);
            }
            world.batch = false;
            world.commit();
        }
        24..34 => {
            let ms = [1, 200, 1_000, 2_000, 30_000, 600_000][dice.roll(6)];
            world.pass(ms);
        }
        _ => act(world, dice),
    }
}

fn act(world: &mut World, dice: &mut Dice) {
    match dice.roll(20) {
        0..5 => ask_for(world, request(world, dice)),
        5..7 => ask_for(world, ask(dice, world)),
        7..13 => turn(world, dice),
        13 => late(world, dice),
        14 | 15 => away(world, dice),
        16 => outbox(world, dice),
        17 => ask_for(world, on_ask(world, dice)),
        18 => ask_for(world, on_session(dice)),
        _ if dice.one_in(6) => {
            ask_for(
                world,
                Some(Request::RemoveSession { by: Principal::Owner, name: dice.pick(SESSIONS).unwrap().into() }),
            );
        }
        _ => add(world, dice.pick(SESSIONS).unwrap()),
    }
}

/// What is acknowledged after its commit is in the store.
fn ask_for(world: &mut World, request: Option<Request>) {
    let Some(request) = request else { return };
    let answer = world.request(request);
    if world.batch {
        return;
    }
    match answer {
        Ok(Done::Task { task, .. }) => assert_eq!(world.store.tasks.get(&task.no), Some(&task)),
        Ok(Done::Ask { ask, .. }) => assert_eq!(world.store.asks.get(&ask.no), Some(&ask)),
        Ok(Done::Session(session)) => assert_eq!(world.store.sessions.get(&session.uid), Some(&session)),
        Ok(Done::Prompt(prompt)) => assert_eq!(world.store.prompts.get(&prompt.no), Some(&prompt)),
        Ok(Done::Nothing | Done::Said { .. }) | Err(_) => {}
    }
}

fn principal(world: &World, dice: &mut Dice) -> Principal {
    match dice.roll(4) {
        0 => Principal::Owner,
        1 => world.principal("@laptop"),
        _ => world.principal(dice.pick(SESSIONS).unwrap()),
    }
}

fn a_task(world: &World, dice: &mut Dice) -> Option<Arc<Task>> {
    let open: Vec<_> = world.store.tasks.values().filter(|t| t.open()).cloned().collect();
    let all: Vec<_> = world.store.tasks.values().cloned().collect();
    if dice.one_in(5) { dice.pick(all) } else { dice.pick(open) }
}

fn request(world: &World, dice: &mut Dice) -> Option<Request> {
    let by = principal(world, dice);
    let task = a_task(world, dice);
    match (dice.roll(10), task) {
        (0..3, _) => Some(send(dice.pick(SESSIONS).unwrap(), None, by, dice)),
        (3..6, Some(t)) => Some(send("one", Some(t.id.clone()), by, dice)),
        (6 | 7, Some(t)) => {
            let word = dice.pick([Word::Done, Word::Failed, Word::Blocked, Word::Blocked])?;
            // Mostly of one that has begun, by its own session: that is what workers say.
            let begun = world.store.tasks.values().filter(|t| t.open() && t.dispatched).cloned().collect::<Vec<_>>();
            let t = if dice.one_in(4) { t } else { begun.get(dice.roll(begun.len().max(1))).cloned().unwrap_or(t) };
            let by = if dice.one_in(4) { by } else { Principal::Session(t.session) };
            let summary = Text::from(["", "a", "b"][dice.roll(3)]);
            Some(Request::Update { by, task: t.id.clone(), word, summary })
        }
        (8, Some(t)) => Some(Request::Cancel { by, task: t.id.clone(), why: None }),
        (_, Some(t)) => Some(Request::Ack { by, task: t.id.clone() }),
        (_, None) => None,
    }
}

fn send(session: &str, task: Option<String>, by: Principal, dice: &mut Dice) -> Request {
    let text = Text::from(["x", "x", "x", "y"][dice.roll(4)]);
    Request::Send(SendReq {
        by,
        claim: None,
        session: session.into(),
        mid: format!("m{}", dice.roll(40)),
        task,
        digest: text.sha(),
        text,
        title: None,
        context: None,
        refs: Vec::new(),
        fresh: false,
        require: Vec::new(),
        vouched: false,
        ask: dice.one_in(2).then(|| format!("A{}", dice.roll(99))),
        random: 7,
    })
}

fn ask(dice: &mut Dice, world: &World) -> Option<Request> {
    let session: String = dice.pick(SESSIONS)?.into();
    let by = if dice.one_in(2) { principal(world, dice) } else { world.principal("turns") };
    let (agent, to) = match dice.one_in(2) {
        true => (format!("home/{session}"), Target::Here { session }),
        false => {
            let agent = format!("laptop/{session}");
            (agent, Target::Device { id: "id-laptop".into(), machine: "laptop".into(), session })
        }
    };
    let text = Text::from("x");
    Some(Request::Ask(AskReq {
        by,
        to,
        agent,
        mid: format!("a{}", dice.roll(30)),
        digest: text.sha(),
        text,
        title: None,
        context: None,
        refs: Vec::new(),
        fresh: false,
        require: Vec::new(),
        now_only: dice.one_in(8),
        random: 7,
    }))
}

fn an_ask(world: &World, dice: &mut Dice) -> Option<Arc<Ask>> {
    let open: Vec<_> = world.store.asks.values().filter(|a| a.open()).cloned().collect();
    let all: Vec<_> = world.store.asks.values().cloned().collect();
    if dice.one_in(3) { dice.pick(all) } else { dice.pick(open) }
}

fn on_ask(world: &World, dice: &mut Dice) -> Option<Request> {
    let ask = an_ask(world, dice)?;
    let seq = ask.known.as_ref().map_or(0, |k| k.seq) + dice.roll(3) as u32;
    Some(match dice.roll(3) {
        0 => Request::Told { no: ask.no, seen: None },
        1 => Request::CancelAsk { no: ask.no },
        _ => {
            let state = ["working", "input-required", "completed", "failed"][dice.roll(4)].to_string();
            let (ask, task_id) = (world.desk.ask_id(ask.no), format!("one:{}", ask.mid));
            Request::Report(ReportReq { device: "id-laptop".into(), ask, task_id, seq, state, text: some_text(dice) })
        }
    })
}

fn some_text(dice: &mut Dice) -> Option<Text> {
    dice.one_in(2).then(|| Text::from("said"))
}

fn on_session(dice: &mut Dice) -> Option<Request> {
    let (by, name) = (Principal::Owner, dice.pick(SESSIONS)?.to_string());
    Some(match dice.roll(3) {
        0 => Request::StopSession { by, name },
        _ => Request::StartSession { by, name },
    })
}

fn exit(dice: &mut Dice) -> Exit {
    Exit {
        code: Some(dice.roll(2) as i32),
        signal: None,
        spawn_error: dice.one_in(12).then(|| "no such program".to_string()),
        stopped: dice.one_in(6),
        words: Text::from("words"),
    }
}

/// A word about a turn that is under way, as it could be seen by then.
fn turn(world: &mut World, dice: &mut Dice) {
    let open: Vec<TurnNo> = world.store.turns.values().filter(|t| t.ended.is_none()).map(|t| t.no).collect();
    let Some(no) = dice.pick(open) else { return };
    let turn = world.store.turns[&no].clone();
    let fence = world.turns.iter().map(|(_, f)| *f).find(|f| f.turn == no).unwrap();
    let taken = world.store.deliveries[&turn.cause].state == DeliveryState::Taken;
    let fact = match turn.boot != world.now.boot || turn.state == TurnState::Lost {
        true => match dice.roll(3) {
            0 => trace(true, Some(exit(dice))),
            1 if !taken => trace(false, None),
            _ => trace(true, None),
        },
        false => match dice.roll(6) {
            0 | 1 => TurnFact::Began,
            2 if !taken => {
                let retry = dice.pick([Retry::Soon, Retry::Disk, Retry::Counted]).unwrap();
                TurnFact::NeverBegan { why: "no".into(), retry }
            }
            3 => TurnFact::Lost,
            _ => TurnFact::Ended(exit(dice)),
        },
    };
    // The world has made sure that it was not refused.
    let _ = world.input(Input::Turn(fence, fact));
}

/// A word about any turn there ever was, or about none.
fn late(world: &mut World, dice: &mut Dice) {
    let over: Vec<Fence> = world.turns.iter().map(|(_, f)| *f).collect();
    let Some(mut fence) = dice.pick(over) else { return };
    let ended = world.store.turns[&fence.turn].ended.is_some();
    if !ended {
        match dice.one_in(2) {
            true => fence.attempt += 1,
            false => fence.boot = Boot(fence.boot.0 + 1),
        }
    }
    let before = (world.store.tasks.clone(), world.store.turns.clone(), world.store.deliveries.clone());
    let fact = match dice.roll(4) {
        0 => TurnFact::Began,
        1 => TurnFact::Lost,
        2 => trace(true, None),
        _ => TurnFact::Ended(exit(dice)),
    };
    let _ = world.input(Input::Turn(fence, fact));
    if !world.batch {
        let after = (world.store.tasks.clone(), world.store.turns.clone(), world.store.deliveries.clone());
        assert_eq!(before, after, "a late word changed something");
    }
}

fn away(world: &mut World, dice: &mut Dice) {
    let Some(ask) = an_ask(world, dice) else { return };
    let seq = ask.known.as_ref().map_or(0, |k| k.seq) + dice.roll(3) as u32;
    let fact = match dice.roll(6) {
        0 => AskFact::Away { why: "away".into() },
        1 => AskFact::Unsure { why: "unsure".into() },
        2 if dice.one_in(3) => AskFact::Refused { why: Text::from("no") },
        _ => {
            let state = ["submitted", "working", "input-required", "completed"][dice.roll(4)].to_string();
            AskFact::Task { task_id: format!("one:{}", ask.mid), seq, state, text: some_text(dice) }
        }
    };
    let attempt = ask.attempt - u32::from(dice.one_in(6) && ask.attempt > 0);
    let _ = world.input(Input::Ask(ask.no, attempt, fact));
}

fn outbox(world: &mut World, dice: &mut Dice) {
    let rows: Vec<_> = world.store.outbox.keys().copied().collect();
    let Some(no) = dice.pick(rows) else { return };
    let fact = match dice.one_in(3) {
        true => OutboxFact::Confirmed,
        false => OutboxFact::Failed { why: "away".into() },
    };
    let _ = world.input(Input::Outbox(no, fact));
}

/// Everybody does what is asked of them: no task, turn, ask or report of this machine stays.
fn come_to_an_end(world: &mut World) {
    for round in 0..2_000 {
        let sessions: Vec<_> = world.store.sessions.values().filter(|s| s.removed.is_none()).cloned().collect();
        for s in sessions.iter().filter(|s| s.state != SessionState::Ready) {
            world.request(Request::StartSession { by: Principal::Owner, name: s.name.clone() }).unwrap();
        }
        let turns: Vec<_> = world.store.turns.values().filter(|t| t.ended.is_none()).cloned().collect();
        for t in &turns {
            let fence = world.turns.iter().map(|(_, f)| *f).find(|f| f.turn == t.no).unwrap();
            let exit =
                Exit { code: Some(0), signal: None, spawn_error: None, stopped: false, words: Text::from("end") };
            let old = t.boot != world.now.boot || t.state == TurnState::Lost;
            let fact = if old { trace(true, Some(exit)) } else { TurnFact::Ended(exit) };
            let _ = world.input(Input::Turn(fence, fact));
        }
        let waiting: Vec<_> = world.store.tasks.values().filter(|t| t.awaits_asker()).cloned().collect();
        for t in &waiting {
            let mut dice = Dice(round);
            let Request::Send(send) = send("one", Some(t.id.clone()), Principal::Owner, &mut dice) else { continue };
            let mid = format!("end-{round}");
            world.request(Request::Send(SendReq { mid, ..send })).unwrap();
        }
        let asks: Vec<_> = world.store.asks.values().filter(|a| a.open() && a.trying).cloned().collect();
        for a in &asks {
            let seq = a.known.as_ref().map_or(0, |k| k.seq) + 1;
            let (task_id, state) = (format!("one:{}", a.mid), "completed".to_string());
            let _ = world.input(Input::Ask(a.no, a.attempt, AskFact::Task { task_id, seq, state, text: None }));
        }
        let reports: Vec<_> = world.store.outbox.keys().copied().collect();
        for no in reports {
            let _ = world.input(Input::Outbox(no, OutboxFact::Confirmed));
        }
        world.pass(60_000);
        if at_rest(world) {
            return told(world);
        }
    }
    panic!("it does not come to an end: {:?}", world.desk.due().collect::<Vec<_>>());
}

fn at_rest(world: &World) -> bool {
    let store = &world.store;
    let open = store.tasks.values().any(|t| t.open()) || store.asks.values().any(|a| a.live());
    let busy = store.turns.values().any(|t| t.ended.is_none()) || !store.outbox.is_empty();
    !open && !busy && world.desk.due().count() == 0
}

/// Every outcome has reached the session that asked for it, if that is there and takes turns.
fn told(world: &World) {
    for ask in world.store.asks.values() {
        let AskBy::Session(uid) = ask.by else { continue };
        let session = &world.store.sessions[&uid];
        let takes = session.harness.takes_turns() && session.removed.is_none();
        assert!(ask.told || !takes, "the outcome was never told: {ask:?}");
        if let AskTo::Here { task } = ask.to {
            let task = &world.store.tasks[&task];
            assert!(!task.open(), "an ask is over and its task is not: {ask:?} {task:?}");
        }
    }
}

/// What a crash left of a program that does not stay.
fn trace(began: bool, exit: Option<Exit>) -> TurnFact {
    TurnFact::Trace { began, exit, landed: Vec::new() }
}
