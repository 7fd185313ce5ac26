//! Everybody who is no program: the owner on each machine, and agents of other devices.

use shrooms_core::desk::{Hand, NewSession, Request, SendReq, Word};
use shrooms_core::principal::Principal;
use shrooms_core::row::{AskBy, Gate, Harness, PromptAnswer, Proof, SessionSet};
use shrooms_core::text::Text;

use super::behaviour::Behaviour;
use super::{Mood, SESSIONS, Sim};

impl Sim {
    /// A session of this name, on this machine; refused where the name is taken.
    pub(super) fn add(&mut self, m: usize, name: &str) {
        let argv = vec!["/bin/true".into()];
        let command = |rerun_on_crash, takes_turns| {
            let framed = false;
            Harness::Command { argv, framed, rerun_on_crash, takes_turns }
        };
        let harness = match name {
            "tool" => command(false, false),
            "again" => command(true, false),
            "turns" => command(false, true),
            _ => Harness::Claude { model: None, auto_approve: name == "c" },
        };
        let stays = harness.stays();
        let behaves = Behaviour::ALL[self.dice.roll(Behaviour::ALL.len() - 1)];
        let behaves = match self.mood {
            _ if !stays => Behaviour::Command,
            Mood::Quiet if self.dice.one_in(2) => Behaviour::Silent,
            _ => behaves,
        };
        // Where people are asked much, or nobody says anything, what that is about would not be reached.
        let keep = stays && !matches!(self.mood, Mood::Prompting | Mood::Quiet) && self.dice.one_in(4);
        let set = SessionSet { keep_running: keep.then_some(true), ..SessionSet::default() };
        let new = NewSession { set, ..NewSession::new(name, harness, "/tmp") };
        let add = Request::AddSession { by: Principal::Owner, new: Box::new(new) };
        if self.request(m, add).is_ok() {
            let lane = self.machines[m].world.desk.session_by_name(name).expect("the session that was added").lane;
            self.machines[m].behaves.insert(lane, behaves);
            if self.dice.one_in(2) {
                self.let_begin_afresh(m, name, true);
            }
        }
    }

    pub(super) fn send(&mut self, m: usize, by: Principal, session: &str, task: Option<String>) {
        // Some message ids are used twice.
        let mid = if self.dice.one_in(10) { format!("m{}", self.dice.roll(9)) } else { self.id("m") };
        let text = Text::new(format!("please: {mid}"));
        let request = Request::Send(SendReq {
            by,
            claim: None,
            session: session.into(),
            mid,
            task,
            digest: text.sha(),
            text,
            title: None,
            context: None,
            refs: Vec::new(),
            fresh: self.dice.one_in(12),
            require: if self.dice.one_in(8) { vec![Proof::ToolCalls] } else { Vec::new() },
            vouched: false,
            ask: None,
            parts: None,
            canceled: false,
            random: 7,
        });
        let _ = self.request(m, request);
    }

    pub(super) fn say_to(&mut self, m: usize, session: &str) {
        let (session, mid) = (session.to_string(), self.id("s"));
        let _ = self.request(m, Request::Say { by: Principal::Owner, session, mid, text: Text::from("x") });
    }

    pub(super) fn people(&mut self, m: usize) {
        let asks = self.dice.one_in(2);
        let tasks = self.machines[m].world.store.tasks.values();
        let tasks: Vec<_> = tasks.filter(|t| t.open() && (!asks || t.awaits_asker())).cloned().collect();
        let (task, name) = (self.dice.pick(tasks), self.dice.pick(SESSIONS).unwrap());
        let task = task.map(|t| t.id.clone());
        let by = Principal::Owner;
        let request = match (self.dice.roll(40), task) {
            (0..3, _) => return self.send(m, by, name, None),
            (3..11, Some(task)) if self.mood != Mood::Asking || self.dice.one_in(3) => {
                return self.send(m, by, "", Some(task));
            }
            (11..13, _) => return self.say_to(m, name),
            (13..17, _) if self.mood == Mood::Prompting && !self.dice.one_in(3) => return,
            (13..17, _) => return self.answer_prompts(m, false),
            (17, Some(task)) => Request::Cancel { by, task, why: None },
            (18, Some(task)) if self.dice.one_in(2) => {
                let word = self.dice.pick([Word::Done, Word::Blocked]).unwrap();
                Request::Update { by, task, word, summary: Text::new(self.id("by the owner ")), made: Vec::new() }
            }
            (19, _) if self.dice.one_in(2) => Request::Interrupt { by, name: name.into() },
            (19, _) => Request::StopSession { by, name: name.into() },
            (20 | 21, _) => Request::StartSession { by, name: name.into() },
            (22, _) if self.dice.one_in(8) => Request::RemoveSession { by, name: name.into() },
            (23, _) if self.dice.one_in(2) => return self.add(m, name),
            (23, _) => Request::UndoRemove { by, name: name.into() },
            (24, Some(task)) => Request::Ack { by, task },
            (25..27, _) => return self.ask_as_owner(m, name),
            (27, _) => return self.on_own_asks(m),
            (28..32, _) => return self.queue(m),
            (32, _) if self.dice.one_in(3) => Request::Pause { by },
            (32 | 33, _) => Request::Resume { by },
            (34, _) => Request::NewConversation { by, name: name.into(), cancel: self.dice.one_in(4) },
            (35, _) => {
                let may = self.dice.one_in(3);
                return self.let_begin_afresh(m, name, may);
            }
            (36, _) => return self.send_from_elsewhere(m, name),
            (37, _) if self.dice.one_in(3) => {
                let to = self.dice.pick(SESSIONS).unwrap().to_string();
                Request::RenameSession { by, name: name.into(), to }
            }
            (38..41, _) if matches!(self.mood, Mood::Prompting | Mood::Quiet) => return,
            (38..41, _) if self.mood == Mood::Asking && !self.dice.one_in(4) => return,
            (38, _) if self.dice.one_in(3) => Request::RestartSession { by, name: name.into() },
            (39, _) if self.dice.one_in(4) => Request::Attach { by, name: name.into() },
            (39..41, _) => Request::Detach { by, name: name.into() },
            _ => return,
        };
        let what = match request {
            Request::RestartSession { .. } => Some("a session was restarted"),
            Request::Attach { .. } => Some("a terminal had a conversation"),
            _ => None,
        };
        if self.request(m, request).is_ok() {
            what.into_iter().for_each(|what| self.seen.count(what));
        }
    }

    fn let_begin_afresh(&mut self, m: usize, name: &str, may: bool) {
        let set = SessionSet { fresh_by_agents: Some(may), ..Default::default() };
        let _ = self.request(m, Request::SetSession { by: Principal::Owner, name: name.into(), set });
    }

    fn send_from_elsewhere(&mut self, m: usize, name: &str) {
        let by = Principal::Device {
            id: "id-tablet".into(),
            label: "tablet.mesh".into(),
            right: Default::default(),
            meshes: Vec::new(),
        };
        self.send(m, by, name, None);
    }

    fn ask_as_owner(&mut self, m: usize, name: &str) {
        let mid = if self.dice.one_in(6) { format!("o{}", self.dice.roll(5)) } else { self.id("o") };
        let req = self.ask_req(m, Principal::Owner, name, mid);
        let _ = self.request(m, Request::Ask(req));
    }

    fn on_own_asks(&mut self, m: usize) {
        let asks = self.machines[m].world.store.asks.values().filter(|a| a.by == AskBy::Owner);
        let asks: Vec<_> = asks.map(|a| a.no).collect();
        let Some(no) = self.dice.pick(asks) else { return };
        let request = match self.dice.roll(3) {
            0 => Request::CancelAsk { no },
            _ => Request::Told { no, seen: None },
        };
        let _ = self.request(m, request);
    }

    /// The owner's hand on what waits.
    fn queue(&mut self, m: usize) {
        let tasks = self.machines[m].world.store.tasks.values().filter(|t| t.open() && !t.dispatched);
        let tasks: Vec<_> = tasks.cloned().collect();
        let Some(task) = self.dice.pick(tasks) else { return };
        let hand = match self.dice.roll(5) {
            0 | 1 => Hand::Park,
            2 if task.gate == Gate::Parked => Hand::Release,
            _ => Hand::Move { place: self.dice.roll(4) as u32 },
        };
        let _ = self.request(m, Request::Queue { by: Principal::Owner, task: task.id.clone(), hand });
    }

    pub(super) fn answer_prompts(&mut self, m: usize, all: bool) {
        let open = self.machines[m].world.store.prompts.values().filter(|p| p.open());
        let open: Vec<_> = open.map(|p| p.no).collect();
        let picked = if all { open } else { self.dice.pick(open).into_iter().collect() };
        for no in picked {
            let deny = !all && self.dice.one_in(3);
            let allow = PromptAnswer::Allow { always: Vec::new() };
            let answer = if deny { PromptAnswer::Deny { why: "no".into() } } else { allow };
            let _ = self.request(m, Request::AnswerPrompt { by: Principal::Owner, no, answer });
        }
    }
}
