//! A program, as honest as it can be: it works on what it has stored, waits for its calls and for
//! persons, says what it does, and may die at any moment. A command reads what its run is for.

use std::collections::BTreeSet;
use std::sync::Arc;

use shrooms_core::desk::{Asked, Exit, Landed, Request, Retry, TurnFact, Word};
use shrooms_core::id::{DeliveryNo, TaskNo};
use shrooms_core::principal::Principal;
use shrooms_core::row::{DeliveryKind, Fence, Task, ToolUse};
use shrooms_core::text::Text;

use super::behaviour::Behaviour;
use super::life::{exit, wire};
use super::{At, Mood, Sim};

impl Sim {
    /// A program does one thing.
    pub(super) fn live(&mut self, at: At) {
        let (roll, heard, mood) = (self.dice.roll(100), self.dice.roll(4), self.mood);
        let behaves = self.behaves(at);
        if behaves == Behaviour::Slow && self.dice.one_in(2) {
            return;
        }
        let dies = behaves == Behaviour::Dying && self.dice.one_in(12);
        let p = self.program(at);
        match roll {
            _ if p.over => {}
            _ if !p.begun => self.begin(at),
            0 => p.exit(1),
            _ if dies && roll < 50 => p.exit(1),
            1 | 50.. if roll == 1 || dies => {
                p.pipe.truncate(heard);
                p.end(TurnFact::Lost);
            }
            2..25 if p.stop => p.exit(0),
            _ if p.command => self.run(at),
            _ if p.works => self.work(at),
            2 => p.exit(0),
            3..6 => self.start_unasked(at),
            6..16 if behaves == Behaviour::Late => self.start_unasked(at),
            16..20 if behaves == Behaviour::Late => self.update(at, true),
            // Something in the background waits for a person.
            8..20 if mood == Mood::Prompting => self.prompt(at),
            8..70 if mood == Mood::Refusing => self.refuse(at),
            8..11 => self.refuse(at),
            11..15 => self.beside(at),
            _ => self.take(at),
        }
    }

    /// Its account is at its limit for some minutes; its turn is over with that.
    fn limit(&mut self, at: At) {
        let until = self.machines[at.0].world.now.wall + 60_000 * (1 + self.dice.roll(9) as i64);
        let p = self.program(at);
        p.pipe.push_back(TurnFact::Limit { until, text: "five hours".into() });
        p.rest();
        self.seen.count("a limit");
    }

    fn start_unasked(&mut self, at: At) {
        let p = self.program(at);
        (p.works, p.unasked) = (true, true);
        p.pipe.push_back(TurnFact::Busy);
        self.seen.count("busy unasked");
    }

    /// Something goes on beside its turns, or has ended.
    fn beside(&mut self, at: At) {
        let new = self.id("b");
        let p = self.program(at);
        let (id, on) = p.beside.pop_first().map_or((new, true), |old| (old, false));
        if on {
            p.beside.insert(id.clone());
        }
        p.pipe.push_back(TurnFact::Background { id, what: "make".into(), on });
    }

    fn begin(&mut self, at: At) {
        let retry = self.dice.pick([Retry::Soon, Retry::Disk, Retry::Counted]).unwrap();
        let (roll, says) = (self.dice.roll(20), self.dice.one_in(2));
        let p = self.program(at);
        match roll {
            _ if p.stop => p.end(TurnFact::NeverBegan { why: "stopped".into(), retry: Retry::Soon }),
            0 | 1 => p.end(TurnFact::NeverBegan { why: "no".into(), retry }),
            2 => p.end(TurnFact::Ended(Exit { spawn_error: Some("no".into()), ..exit(1, false) })),
            _ => {
                p.begun = true;
                if p.command {
                    p.pipe.extend(says.then_some(TurnFact::Began));
                    self.read_at_once(at);
                }
            }
        }
    }

    /// A command has what it was run for from its first moment on.
    fn read_at_once(&mut self, at: At) {
        let Some((message, _)) = self.program(at).inbox.pop_front() else { return };
        let d = self.machines[at.0].world.store.deliveries[&message.0].clone();
        let p = self.program(at);
        p.works = true;
        p.fresh.push(message);
        p.tasks.extend(d.task);
        self.land(at);
    }

    /// It takes what was written next, into its turn or as the first of the next.
    pub(super) fn take(&mut self, at: At) {
        let (announced, stored) = (self.dice.one_in(2), self.dice.one_in(2));
        let Some((message, attempt)) = self.program(at).inbox.pop_front() else { return };
        let store = &self.machines[at.0].world.store;
        let (task, kind) = (store.deliveries[&message.0].task, store.deliveries[&message.0].kind);
        if kind == DeliveryKind::Wake {
            return self.woken(at, message.0, attempt);
        }
        let p = self.program(at);
        p.pipe.extend((announced && !p.works).then_some(TurnFact::Busy));
        p.pipe.push_back(TurnFact::Taken { delivery: message.0, attempt });
        p.works = true;
        p.fresh.push(message);
        p.tasks.extend(task);
        if stored {
            self.land(at);
        }
    }

    /// It will not give what was written next to its model, or there was nothing to say.
    fn refuse(&mut self, at: At) {
        let Some(((delivery, _), attempt)) = self.program(at).inbox.pop_front() else { return };
        let kind = self.machines[at.0].world.store.deliveries[&delivery].kind;
        if kind == DeliveryKind::Wake {
            return self.woken(at, delivery, attempt);
        }
        let empty = kind == DeliveryKind::Recap && self.dice.one_in(2);
        let p = self.program(at);
        p.pipe.push_back(match empty {
            true => TurnFact::NotNeeded { delivery, attempt },
            false => TurnFact::NotRun { delivery, attempt },
        });
        if !p.works {
            p.rest();
        }
        self.seen.count("refused");
    }

    /// That it runs is all that was wanted.
    fn woken(&mut self, at: At, delivery: DeliveryNo, attempt: u32) {
        let p = self.program(at);
        p.pipe.push_back(TurnFact::NotNeeded { delivery, attempt });
        if !p.works {
            p.rest();
        }
        self.seen.count("woken for nothing");
    }

    /// One thing in the run of a command.
    fn run(&mut self, at: At) {
        match self.dice.roll(8) {
            0 | 1 => self.update(at, false),
            2 | 3 => self.ask(at),
            4 | 5 => self.call(at),
            6 => self.on_ask(at),
            _ => {
                let code = self.dice.roll(2) as i32;
                self.program(at).exit(code);
            }
        }
    }

    /// One thing in a turn. Whoever works has stored what it works on.
    fn work(&mut self, at: At) {
        self.land(at);
        let (roll, mood, behaves) = (self.dice.roll(24), self.mood, self.behaves(at));
        let rarely = self.dice.one_in(4);
        if self.dice.one_in(6) {
            let used = ToolUse { name: "Bash".into(), ok: !rarely, command: None, code: None, file: None };
            self.program(at).pipe.push_back(TurnFact::Tool(used));
        }
        let p = self.program(at);
        let waits = p.calls.iter().any(|c| c.wanted && c.returned.is_none());
        let (silent, patient) = (behaves == Behaviour::Silent, mood == Mood::Asking && !rarely);
        match roll {
            _ if p.cut => p.rest(),
            0..3 if silent && !rarely => {}
            0..3 => self.update(at, behaves == Behaviour::Late),
            3..8 if mood == Mood::Prompting => self.prompt(at),
            // It asks, and lets it come as a turn.
            3 | 4 if mood == Mood::Asking => {
                self.ask(at);
                self.program(at).rest();
            }
            3..7 => self.ask(at),
            7 => self.prompt(at),
            8 => {
                let gone = p.prompts.pop_first().map(|key| TurnFact::PromptGone { key });
                p.pipe.extend(gone);
            }
            9..15 => self.call(at),
            15..18 if patient => self.call(at),
            15..17 => self.take(at),
            17 => self.refuse(at),
            18 if rarely => self.limit(at),
            18 => p.pipe.push_back(TurnFact::Compacted),
            19 => self.on_ask(at),
            20..22 if waits => {}
            _ if waits && patient => {}
            // One that waits for a person does not end its turn.
            _ if !p.prompts.is_empty() => {}
            22 => p.rest(),
            _ if silent => p.rest(),
            _ => {
                self.update(at, false);
                self.program(at).rest();
            }
        }
    }

    pub(super) fn me(&self, (m, lane): At) -> Principal {
        Principal::Session(self.machines[m].world.store.lanes[&lane].session)
    }

    /// Tasks that a conversation knows of; those that are over only if `late`.
    pub(super) fn known(&self, (m, lane): At, late: bool) -> Vec<Arc<Task>> {
        let store = &self.machines[m].world.store;
        let read = self.machines[m].model.lives[&lane].conversation.iter().map(|(no, _)| &store.deliveries[no]);
        let of = read.filter(|d| !matches!(d.kind, DeliveryKind::Result | DeliveryKind::Recap)).filter_map(|d| d.task);
        let of: BTreeSet<TaskNo> = of.collect();
        of.into_iter().map(|no| store.tasks[&no].clone()).filter(|t| late || t.open()).collect()
    }

    fn update(&mut self, at: At, late: bool) {
        let known = self.known(at, late);
        let Some(task) = self.dice.pick(known) else { return };
        let asks = self.dice.one_in(2) || self.mood == Mood::Asking && self.dice.one_in(2);
        let word = if asks { Word::Blocked } else { self.dice.pick([Word::Done, Word::Failed]).unwrap() };
        let (by, summary) = (self.me(at), Text::new(self.id("summary ")));
        let said =
            self.request(at.0, Request::Update { by, task: task.id.clone(), word, summary, made: Vec::new() }).is_ok();
        if said && word == Word::Blocked {
            let read = self.life(at).conversation.clone();
            self.life(at).blocked.insert(task.no, read);
        }
    }

    fn prompt(&mut self, at: At) {
        let (key, needs_person) = (self.id("p"), self.dice.one_in(2));
        let (tool, input, why) = ("Bash".into(), Text::from("{}"), String::new());
        let about = Asked::Permission { tool, input, why, suggestions: Vec::new(), needs_person };
        let p = self.program(at);
        p.prompts.insert(key.clone());
        p.pipe.push_back(TurnFact::Prompted { key, about });
        if self.mood == Mood::Prompting && !self.machines[at.0].world.batch {
            (0..4).for_each(|_| self.hear(at));
        }
    }

    /// What became of a run that was lost, by its trace, and by what its conversation says.
    pub(super) fn settle(&mut self, at: At, blind: bool) {
        let Some(fence) = self.life(at).settle.take() else { return };
        let program = self.life(at).program.clone().filter(|(of, _)| of.turn == fence.turn);
        let (began, exit) = program.map_or((false, None), |(_, p)| (p.begun, p.exit));
        let landed = self.landed(at, fence, blind);
        self.observe(at.0, fence, TurnFact::Trace { began, exit, landed });
    }

    fn landed(&mut self, at: At, fence: Fence, blind: bool) -> Vec<(DeliveryNo, Landed)> {
        let mut landed = Vec::new();
        for d in self.machines[at.0].world.desk.written_in(fence.turn) {
            let says = match self.life(at).conversation.contains(&wire(&d)) {
                _ if blind => Landed::Unknown,
                true => Landed::Yes,
                false => Landed::No,
            };
            landed.push((d.no, says));
            self.seen.count(format!("settled {says:?}"));
        }
        landed
    }

    /// A program does the next thing that it has to do, and nothing else.
    pub(super) fn finish(&mut self, at: At) {
        let Some((_, p)) = self.life(at).program.as_mut() else { return };
        match () {
            () if !p.pipe.is_empty() => self.hear(at),
            () if p.over => {}
            () if !p.begun && p.command => {
                p.begun = true;
                self.read_at_once(at);
            }
            () if !p.begun => p.begun = true,
            () if p.stop => p.exit(0),
            () if p.command => p.exit(0),
            () if !p.beside.is_empty() => self.beside(at),
            () if !p.inbox.is_empty() => self.take(at),
            () if p.works && p.prompts.is_empty() => self.wrap_up(at),
            () => {}
        }
    }

    /// A turn in which everything is said that can be said.
    fn wrap_up(&mut self, at: At) {
        self.land(at);
        for task in self.known(at, false).into_iter().filter(|t| !t.blocked) {
            if !self.waits_for_an_ask(at, task.no) {
                let (by, task, word) = (self.me(at), task.id.clone(), Word::Done);
                let _ = self
                    .request(at.0, Request::Update { by, task, word, summary: Text::from("done"), made: Vec::new() });
            }
        }
        self.program(at).rest();
    }
}
