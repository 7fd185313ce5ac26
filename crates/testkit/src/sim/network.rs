//! What goes between machines: calls and their answers, each a packet that may be lost, late,
//! repeated, or cut off. Whoever called learns then that nobody was there, or that nobody can say.

use shrooms_core::desk::{AskFact, Done, Input, OutboxFact, ReportReq, Request, SendReq};
use shrooms_core::id::{AskNo, OutboxNo};
use shrooms_core::kind::Kind;
use shrooms_core::principal::Principal;
use shrooms_core::refusal::Refusal;
use shrooms_core::row::{Ask, AskBy, AskTo, Task};
use shrooms_core::text::Text;
use shrooms_core::time::Boot;
use shrooms_core::view;

use super::{Cuts, Sim, pair};

#[derive(Default)]
pub(super) struct Network {
    packets: Vec<Packet>,
    cuts: Cuts,
}

#[derive(Clone)]
struct Packet {
    from: usize,
    to: usize,
    /// The boot that waits for the answer.
    boot: Boot,
    call: Call,
    /// On its way back, with this.
    answer: Option<Answer>,
    /// A second copy, whose answer nobody waits for.
    ghost: bool,
}

#[derive(Clone)]
enum Call {
    Send { ask: AskNo, attempt: u32, send: Box<SendReq> },
    Look { ask: AskNo, attempt: u32, task: Option<String> },
    Cancel { ask: AskNo, attempt: u32, task: Option<String> },
    Report { row: OutboxNo, report: Box<ReportReq> },
}

#[derive(Clone, Debug)]
enum Answer {
    Ask(AskFact),
    Report(OutboxFact),
}

impl Network {
    /// Whether anything is under way between this machine and another.
    pub fn is_busy(&self, m: usize) -> bool {
        self.packets.iter().any(|p| p.from == m || p.to == m)
    }

    /// A machine is gone: nobody there waits for answers any more, and none come from there.
    pub fn hang_up(&mut self, m: usize) {
        self.packets.retain(|p| p.from != m || p.answer.is_none());
        for p in self.packets.iter_mut().filter(|p| p.to == m) {
            p.answer = Some(p.call.unsure());
        }
    }
}

impl Call {
    /// Nobody can say what became of it.
    fn unsure(&self) -> Answer {
        match self {
            Call::Report { .. } => Answer::Report(OutboxFact::Failed { why: "unsure".into() }),
            _ => Answer::Ask(AskFact::Unsure { why: "unsure".into() }),
        }
    }

    fn away(&self) -> Answer {
        match self {
            Call::Report { .. } => Answer::Report(OutboxFact::Failed { why: "away".into() }),
            _ => Answer::Ask(AskFact::Away { why: "away".into() }),
        }
    }
}

impl Sim {
    pub(super) fn reaches(&self, a: usize, b: usize) -> bool {
        !self.machines[b].off && !self.net.cuts.contains(&pair(a, b))
    }

    pub(super) fn cut(&mut self, a: usize, b: usize) {
        self.say(|| format!("cut: {a} and {b}"));
        self.net.cuts.insert(pair(a, b));
        self.seen.count("the wire was cut");
        for p in self.net.packets.iter_mut().filter(|p| pair(p.from, p.to) == pair(a, b)) {
            p.answer = Some(p.call.unsure());
        }
    }

    pub(super) fn heal(&mut self) {
        self.net.cuts.clear();
    }

    fn put(&mut self, from: usize, device: &str, call: Call) {
        let to = self.machines.iter().position(|o| o.device() == *device);
        let to = to.expect("a machine of the mesh");
        let boot = self.machines[from].world.now.boot;
        let answer = (!self.reaches(from, to)).then(|| call.away());
        self.net.packets.push(Packet { from, to, boot, call, answer, ghost: false });
    }

    fn ask_away(&self, m: usize, no: AskNo) -> (Ask, String, String) {
        let ask = (*self.machines[m].world.store.asks[&no]).clone();
        let AskTo::Device { id, session, .. } = &ask.to else { panic!("an ask of this machine is sent: {ask:?}") };
        let (id, session) = (id.clone(), session.clone());
        (ask, id, session)
    }

    pub(super) fn send_away(&mut self, m: usize, no: AskNo, attempt: u32) {
        let (ask, device, session) = self.ask_away(m, no);
        let world = &self.machines[m].world;
        let name = match ask.by {
            AskBy::Owner => "owner".to_string(),
            AskBy::Session(uid) => world.name_of(uid),
        };
        let text = world.store.blobs[&ask.text.no].clone();
        let send = SendReq {
            by: self.device(m),
            claim: Some(format!("{}/{name}", world.place.machine)),
            session,
            mid: ask.mid,
            task: None,
            digest: text.sha(),
            text,
            title: ask.title,
            context: ask.context,
            refs: ask.refs,
            fresh: ask.fresh,
            require: ask.require,
            vouched: true,
            ask: Some(world.desk.ask_id(no)),
            parts: None,
            canceled: ask.cancel,
            random: 7,
        };
        self.put(m, &device, Call::Send { ask: no, attempt, send: Box::new(send) });
    }

    pub(super) fn look_away(&mut self, m: usize, no: AskNo, attempt: u32) {
        let (ask, device, _) = self.ask_away(m, no);
        self.put(m, &device, Call::Look { ask: no, attempt, task: ask.task_id });
    }

    pub(super) fn cancel_away(&mut self, m: usize, no: AskNo, attempt: u32) {
        let (ask, device, _) = self.ask_away(m, no);
        self.put(m, &device, Call::Cancel { ask: no, attempt, task: ask.task_id });
    }

    pub(super) fn report_away(&mut self, m: usize, no: OutboxNo) {
        let store = &self.machines[m].world.store;
        let row = store.outbox[&no].clone();
        let report = ReportReq {
            device: self.machines[m].device(),
            ask: row.report.ask.clone(),
            task_id: row.report.task_id.clone(),
            seq: row.report.seq,
            state: row.report.state.clone(),
            text: row.report.text.map(|t| store.blobs[&t.no].clone()),
        };
        self.put(m, &row.device, Call::Report { row: no, report: Box::new(report) });
    }

    /// A machine as others know it.
    pub(super) fn device(&self, m: usize) -> Principal {
        let label = format!("{}.mesh", self.machines[m].world.place.machine);
        Principal::Device { id: self.machines[m].device(), label, right: Default::default(), meshes: Vec::new() }
    }

    /// One packet goes on, or does not.
    pub(super) fn net_step(&mut self) {
        let Some(at) = (!self.net.packets.is_empty()).then(|| self.dice.roll(self.net.packets.len())) else { return };
        let torn = self.mood == super::Mood::Torn;
        match self.dice.roll(if torn { 12 } else { 30 }) {
            0 => {
                let p = &mut self.net.packets[at];
                let what = if p.answer.is_some() { "an answer was lost" } else { "a packet was lost" };
                p.answer = Some(p.call.unsure());
                self.seen.count(what);
            }
            1 => {
                let copy = Packet { ghost: true, ..self.net.packets[at].clone() };
                if copy.answer.is_none() {
                    self.net.packets.push(copy);
                    self.seen.count("a packet came twice");
                }
                self.arrive(at);
            }
            2..4 => {}
            _ => self.arrive(at),
        }
    }

    /// All of them go on, to where they go.
    pub(super) fn net_all(&mut self) {
        while !self.net.packets.is_empty() {
            self.arrive(0);
        }
    }

    /// A packet comes to where it goes. A daemon that is cut off in between has done it, or not; whoever
    /// called cannot know.
    fn arrive(&mut self, at: usize) {
        let packet = self.net.packets.remove(at);
        let (from, to) = (packet.from, packet.to);
        if let Some(answer) = packet.answer {
            let waits = !packet.ghost && !self.machines[from].off && self.machines[from].world.now.boot == packet.boot;
            if waits {
                let input = match (packet.call, answer) {
                    (
                        Call::Send { ask, attempt, .. }
                        | Call::Look { ask, attempt, .. }
                        | Call::Cancel { ask, attempt, .. },
                        Answer::Ask(fact),
                    ) => Input::Ask(ask, attempt, fact),
                    (Call::Report { row, .. }, Answer::Report(fact)) => Input::Outbox(row, fact),
                    (_, answer) => panic!("an answer to something else: {answer:?}"),
                };
                self.input(from, input);
            }
            return;
        }
        let answer = if self.reaches(from, to) { self.serve(from, to, &packet.call) } else { packet.call.unsure() };
        let cut_off = self.dice.one_in(60);
        let answer = if cut_off { packet.call.unsure() } else { answer };
        if cut_off && !self.machines[to].off {
            self.crash(to, super::Point::Committed);
        }
        self.net.packets.push(Packet { answer: Some(answer), ..packet });
    }

    /// What the other machine's server does about a call.
    fn serve(&mut self, from: usize, to: usize, call: &Call) -> Answer {
        match call {
            Call::Send { send, .. } => {
                let answer = self.request(to, Request::Send((**send).clone()));
                Answer::Ask(self.fact(to, answer))
            }
            Call::Look { task, .. } => Answer::Ask(self.looked(to, task.as_deref())),
            Call::Cancel { task, .. } => {
                let Some(id) = task.clone() else { return call.away() };
                let cancel = Request::Cancel { by: self.device(from), task: id, why: None };
                let answer = match self.request(to, cancel) {
                    // It ended before: how, is to be seen.
                    Err(Refusal::Ended { .. }) => self.looked(to, task.as_deref()),
                    answer => self.fact(to, answer),
                };
                Answer::Ask(answer)
            }
            Call::Report { report, .. } => {
                let answer = self.request(to, Request::Report((**report).clone()));
                self.seen.count("told from away");
                Answer::Report(match answer {
                    Err(e) if e.kind() != Kind::NotFound => OutboxFact::Failed { why: e.to_string() },
                    _ => OutboxFact::Confirmed,
                })
            }
        }
    }

    fn looked(&self, to: usize, id: Option<&str>) -> AskFact {
        match id.map(|id| self.machines[to].world.store.task(id)) {
            None => AskFact::Away { why: "its task is not known yet".into() },
            Some(None) => AskFact::Gone { why: Text::from("gone") },
            Some(Some(task)) => self.shown(to, task),
        }
    }

    fn fact(&self, to: usize, answer: Result<Done, Refusal>) -> AskFact {
        match answer {
            Ok(Done::Task { task, .. }) => self.shown(to, &task),
            Ok(other) => panic!("a message was answered with {other:?}"),
            Err(refusal @ Refusal::NoTask { .. }) => AskFact::Gone { why: Text::new(refusal.to_string()) },
            Err(refusal) => AskFact::Refused { why: Text::new(refusal.to_string()) },
        }
    }

    fn shown(&self, to: usize, task: &Task) -> AskFact {
        let known = view::known(task);
        let text = known.text.map(|t| self.machines[to].world.store.blobs[&t.no].clone());
        AskFact::Task { task_id: task.id.clone(), seq: known.seq, state: known.state, text }
    }

    /// More on a task of another machine, said there and then.
    pub(super) fn send_more_away(&mut self, m: usize, there: usize, id: String) {
        if self.machines[m].world.batch || !self.reaches(m, there) {
            return;
        }
        let by = self.device(m);
        self.send(there, by, "", Some(id));
        self.seen.count("a follow-up from away");
    }
}
