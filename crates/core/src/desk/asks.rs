//! The asker's side. An ask is stored, then sent; an unknown outcome is sent again under the same
//! message id; what the worker's machine says is taken in order of its numbers; an outcome reaches
//! an asking session once (`spec/tasks.md`, "The asker's side").

use std::sync::Arc;

use crate::id::{AskNo, OutboxNo, TaskNo};
use crate::principal::Principal;
use crate::refusal::{Refusal, when};
use crate::rights::Action;
use crate::row::{Ask, AskBy, AskState, AskTo, AskedBy, EventKind, Known};
use crate::text::Text;
use crate::time::Now;
use crate::view::State;

use super::send::check_bounds;
use super::{AskFact, AskReq, Desk, Done, Loaded, MAX_ASKS, Mutant, OutboxFact, ReportReq, SendReq, Target, Wake};

/// How often an open ask is looked at although its worker's machine reports by itself: a net
/// under the reports, not the way that news travels.
const LOOK_EVERY_MS: i64 = 600_000;
/// An ask of which nobody knows whether it arrived is sent again for 24 h.
const UNSURE_FOR_MS: i64 = 86_400_000;
/// The longest gap between two tries to reach a machine that is away.
const LONGEST_GAP_MS: i64 = 30_000;

/// The gap after the n-th try in a row that failed (milliseconds of served time): 1, 2, 4 … 30 s.
pub(super) fn gap(fails: u32) -> i64 {
    (1_000i64 << fails.min(5)).min(LONGEST_GAP_MS)
}

/// The id under which another machine names an ask: the state that it is of, and its number.
pub fn ask_id(incarnation: &str, no: AskNo) -> String {
    format!("{}-{}", incarnation.get(..8).unwrap_or("0"), no.0)
}

impl Desk {
    /// The id under which another machine names an ask of this one.
    pub fn ask_id(&self, no: AskNo) -> String {
        ask_id(&self.meta.incarnation, no)
    }

    pub(super) fn ask_no(&self, id: &str) -> Option<AskNo> {
        let (incarnation, no) = id.split_once('-')?;
        let ours = self.meta.incarnation.get(..8).unwrap_or("0");
        (incarnation == ours).then(|| no.parse().ok().map(AskNo))?
    }

    pub(super) fn ask(&mut self, now: &Now, req: AskReq, loaded: &Loaded) -> Result<Done, Refusal> {
        self.allowed(&req.by, Action::Work)?;
        check_bounds(&req.text, None, &req.mid, req.context.as_deref(), &req.refs)?;
        let key = (req.agent.clone(), req.mid.clone());
        let known = self.index.asks.get(&key).and_then(|no| self.asks.get(*no).cloned());
        let by = match &req.by {
            Principal::Session(uid) => AskBy::Session(*uid),
            Principal::Owner | Principal::Device { .. } => AskBy::Owner,
        };
        let known = known.or_else(|| loaded.ask.clone().map(Arc::new));
        let again = known.as_ref().filter(|a| a.by == by && was_refused(a)).map(|a| (a.no, a.attempt));
        if let Some(ask) = known.filter(|_| again.is_none()) {
            // The owner may see everybody's; a session gets none but its own.
            if ask.by != by && by != AskBy::Owner {
                let by = match ask.by {
                    AskBy::Owner => "the owner".to_string(),
                    AskBy::Session(uid) => format!("the session '{}'", self.session_name(uid)),
                };
                return Err(Refusal::IdOfAnother { mid: req.mid, by });
            }
            if ask.text.sha != req.text.sha() {
                let task = ask.task_id.clone().unwrap_or_else(|| ask.agent.clone());
                return Err(Refusal::OtherText { mid: req.mid, when: when(ask.made.wall), task });
            }
            let task = self.task_of_ask(&ask);
            return Ok(Done::Ask { ask, task, made: false });
        }
        if self.asks.len() >= MAX_ASKS {
            return Err(Refusal::TooManyAsks { asks: self.asks.len() });
        }
        // One that was refused left nothing there: the same id is a new try of it.
        let (no, attempt) = again.unwrap_or_else(|| (AskNo(self.next()), 0));
        // Before it makes a task, which may begin in that very turn.
        let parent = self.works_on(by);
        let (to, task) = match &req.to {
            Target::Device { id, machine, session } => {
                let to = AskTo::Device { id: id.clone(), machine: machine.clone(), session: session.clone() };
                (to, None)
            }
            Target::Here { session } => {
                let send = SendReq {
                    by: req.by.clone(),
                    claim: None,
                    session: session.clone(),
                    mid: req.mid.clone(),
                    task: None,
                    text: req.text.clone(),
                    digest: req.digest,
                    title: req.title.clone(),
                    context: req.context.clone(),
                    refs: req.refs.clone(),
                    fresh: req.fresh,
                    require: req.require.clone(),
                    vouched: false,
                    ask: None,
                    parts: None,
                    canceled: false,
                    random: req.random,
                };
                let (task, _) = self.send_new(now, send, loaded, Some(AskedBy::Here(no)))?;
                (AskTo::Here { task: task.no }, Some(task))
            }
        };
        let text = self.keep(&req.text);
        let here = task.as_ref();
        let ask = Ask {
            no,
            mid: req.mid,
            by,
            to,
            agent: req.agent,
            title: req.title,
            text,
            state: if here.is_some() { AskState::Open } else { AskState::Unsent },
            task_id: here.map(|t| t.id.clone()),
            known: here.map(|t| crate::view::known(t)),
            attempt,
            trying: false,
            fails: 0,
            boot: now.boot,
            not_before: 0,
            unsure: false,
            context: req.context,
            refs: req.refs,
            fresh: req.fresh,
            require: req.require,
            now_only: req.now_only,
            cancel: false,
            told: false,
            parent,
            offered: None,
            telling: None,
            made: now.stamp(),
            ended: None,
        };
        self.insert_ask(ask);
        if let Some(task) = &task {
            // The message was known already (sent past this machine's asks): word of it goes to
            // this ask from here on.
            if task.asked_by.is_none() && task.open() {
                self.edit_task(task.no, |t| t.asked_by = Some(AskedBy::Here(no)));
            }
            if !task.open() {
                self.over(now, no);
            } else if self.asks.get(no).is_some_and(|a| super::results::has_outcome(a)) {
                // A question that stands already, and is not asked again.
                self.plan_result(now, no);
            }
        }
        self.ask_event(now, no);
        self.advance_ask(now, no);
        let ask = self.asks.get(no).cloned().ok_or(Refusal::NoAsk { id: no.0.to_string() })?;
        let task = self.task_of_ask(&ask).or(task);
        Ok(Done::Ask { ask, task, made: true })
    }

    /// The task that a session's turn works on now: what it asks, it asks for that.
    fn works_on(&self, by: AskBy) -> Option<TaskNo> {
        let AskBy::Session(uid) = by else { return None };
        let lane = self.lanes.get(self.sessions.get(uid)?.lane)?;
        let task = self.turns.get(lane.turn?)?.task?;
        self.tasks.get(task).is_some_and(|t| t.open()).then_some(task)
    }

    fn task_of_ask(&self, ask: &Ask) -> Option<Arc<crate::row::Task>> {
        match ask.to {
            AskTo::Here { task } => self.tasks.get(task).cloned(),
            AskTo::Device { .. } => None,
        }
    }

    /// Makes the next try of an ask to another machine, when its time has come.
    pub(super) fn advance_ask(&mut self, now: &Now, no: AskNo) {
        let Some(ask) = self.asks.get(no).cloned() else {
            return;
        };
        let under_way = ask.trying && ask.boot == self.meta.boot;
        if !ask.open() || under_way || matches!(ask.to, AskTo::Here { .. }) {
            return;
        }
        let first_of_boot = ask.boot != self.meta.boot;
        if ask.not_before > now.served && !first_of_boot {
            self.index.wakes.insert((ask.not_before, Wake::Ask(no)));
            return;
        }
        let boot = self.meta.boot;
        self.edit_ask(no, |a| {
            // A try of an earlier boot may have arrived.
            a.unsure |= a.trying && a.state == AskState::Unsent;
            a.trying = true;
            a.attempt += 1;
            a.boot = boot;
        });
    }

    pub(super) fn observe_ask(&mut self, now: &Now, no: AskNo, attempt: u32, fact: AskFact) {
        let Some(ask) = self.asks.get(no).cloned() else {
            return;
        };
        if !ask.open() || !ask.trying || ask.attempt != attempt || ask.boot != self.meta.boot {
            return;
        }
        let fact = match fact {
            AskFact::Unsure { why } if self.breaks(Mutant::TakesSilenceForAnEnd) => {
                AskFact::Gone { why: Text::new(why) }
            }
            fact => fact,
        };
        let gone = matches!(fact, AskFact::Gone { .. });
        match fact {
            AskFact::Task { task_id, seq, state, text } => {
                // Looking at what has not changed keeps no texts.
                let news = ask.known.as_ref().is_none_or(|k| k.seq < seq);
                let text = text.filter(|_| news).map(|t| self.keep(&t));
                let cancelled = ask.cancel && ask.state == AskState::Open;
                self.edit_ask(no, |a| {
                    a.state = AskState::Open;
                    a.task_id = Some(task_id);
                    a.trying = false;
                    a.unsure = false;
                    // A cancel that has not ended it is not repeated at once.
                    a.fails = if cancelled { a.fails + 1 } else { 0 };
                    a.not_before = match a.cancel {
                        true if cancelled => now.served + gap(a.fails - 1),
                        true => now.served,
                        false => now.served + LOOK_EVERY_MS,
                    };
                });
                self.hear(now, no, &Known { seq, state, text });
            }
            // It goes on there, and its end is still heard of.
            AskFact::Refused { .. } if ask.cancel && ask.state == AskState::Open => {
                self.edit_ask(no, |a| {
                    a.trying = false;
                    a.cancel = false;
                    a.not_before = now.served + LOOK_EVERY_MS;
                });
                self.ask_event(now, no);
            }
            AskFact::Refused { why } | AskFact::Gone { why } if ask.state == AskState::Unsent || gone => {
                let unsure = ask.unsure && ask.state == AskState::Unsent;
                let why = if unsure { Text::new(format!("{}\n\n{PERHAPS}", why.as_str())) } else { why };
                let text = Some(self.keep(&why));
                let state = if ask.state == AskState::Open { "failed" } else { "refused" };
                let seq = ask.known.as_ref().map_or(1, |k| k.seq.saturating_add(1));
                self.edit_ask(no, |a| a.trying = false);
                self.hear(now, no, &Known { seq, state: state.into(), text });
            }
            AskFact::Away { .. } if ask.cancel && ask.state == AskState::Unsent && !ask.unsure => {
                self.edit_ask(no, |a| a.trying = false);
                self.cancel_unsent(now, no);
            }
            AskFact::Away { why } if ask.now_only && ask.state == AskState::Unsent && !ask.unsure => {
                let text = Some(self.keep(&Text::new(why)));
                self.edit_ask(no, |a| a.trying = false);
                self.hear(now, no, &Known { seq: 1, state: "refused".into(), text });
            }
            // A look that was refused says nothing about the task.
            AskFact::Away { .. } | AskFact::Unsure { .. } | AskFact::Refused { .. } | AskFact::Gone { .. } => {
                let unsure = matches!(fact, AskFact::Unsure { .. }) && ask.state == AskState::Unsent;
                self.edit_ask(no, |a| {
                    a.trying = false;
                    a.fails += 1;
                    a.unsure |= unsure;
                    a.not_before = now.served + gap(a.fails - 1);
                });
                let given_up = ask.unsure && now.served - ask.made.served > UNSURE_FOR_MS;
                if given_up && ask.state == AskState::Unsent {
                    let why = Text::from("failed: for 24 hours nobody could say whether it arrived");
                    let text = Some(self.keep(&why));
                    self.hear(now, no, &Known { seq: 1, state: "failed".into(), text });
                } else if ask.fails == 0 && ask.state == AskState::Unsent {
                    self.ask_event(now, no);
                }
            }
        }
        self.advance_ask(now, no);
    }

    /// Takes in what the worker's machine says, if it is news.
    pub(super) fn hear(&mut self, now: &Now, no: AskNo, known: &Known) {
        let Some(ask) = self.asks.get(no).cloned() else {
            return;
        };
        let old = ask.known.as_ref().is_some_and(|k| k.seq >= known.seq);
        if !ask.open() || old && !self.breaks(Mutant::TakesOldNews) {
            return;
        }
        // Something else of its task changed: it is the same outcome.
        let same = ask.known.as_ref().is_some_and(|k| (&k.state, k.text) == (&known.state, known.text));
        self.edit_ask(no, |a| {
            let offered = a.offered.as_mut().filter(|o| same && a.known.as_ref().is_some_and(|k| k.seq <= o.seq));
            offered.into_iter().for_each(|o| o.seq = o.seq.max(known.seq));
            a.known = Some(known.clone());
            // Each outcome is told: that of a question does not stand for that of the end.
            a.told &= same;
        });
        if same {
            return;
        }
        if State::is_final(&known.state) {
            self.over(now, no);
        } else if known.state == State::InputRequired.word() {
            self.plan_result(now, no);
        } else {
            // A question that was answered meanwhile.
            self.drop_telling(no);
        }
        self.ask_event(now, no);
    }

    fn over(&mut self, now: &Now, no: AskNo) {
        self.edit_ask(no, |a| {
            a.state = AskState::Ended;
            a.trying = false;
            a.ended = Some(now.stamp());
        });
        self.plan_result(now, no);
    }

    pub(super) fn cancel_ask(&mut self, now: &Now, no: AskNo) -> Result<Done, Refusal> {
        let ask = self.asks.get(no).cloned().ok_or(Refusal::NoAsk { id: no.0.to_string() })?;
        if !ask.open() {
            let state = ask.known.as_ref().map_or("ended", |k| final_word(&k.state));
            let at = when(ask.ended.map_or(0, |s| s.wall));
            return Err(Refusal::Ended {
                id: ask.task_id.clone().unwrap_or(ask.mid.clone()),
                state,
                when: at,
                hint: "",
            });
        }
        match &ask.to {
            AskTo::Here { task } => {
                let id = self.tasks.get(*task).map(|t| t.id.clone()).unwrap_or_default();
                let by = match ask.by {
                    AskBy::Owner => Principal::Owner,
                    AskBy::Session(uid) => Principal::Session(uid),
                };
                self.cancel(now, &by, &id, None)?;
            }
            AskTo::Device { .. }
                if ask.state == AskState::Unsent && ask.attempt == 0
                    || ask.state == AskState::Unsent && !ask.trying && !ask.unsure
                    || ask.state == AskState::Unsent && self.breaks(Mutant::CancelsUnsure) =>
            {
                self.cancel_unsent(now, no);
            }
            AskTo::Device { .. } => {
                self.edit_ask(no, |a| {
                    a.cancel = true;
                    a.not_before = now.served;
                });
                self.advance_ask(now, no);
            }
        }
        let ask = self.asks.get(no).cloned().unwrap_or(ask);
        Ok(Done::Ask { ask, task: None, made: false })
    }

    fn cancel_unsent(&mut self, now: &Now, no: AskNo) {
        let text = Some(self.keep(&Text::from("canceled before it was sent")));
        self.hear(now, no, &Known { seq: 1, state: "canceled".into(), text });
    }

    pub(super) fn report(&mut self, now: &Now, report: ReportReq, loaded: &Loaded) -> Result<Done, Refusal> {
        let unknown = || Refusal::NoAsk { id: crate::text::cut(&report.ask, 80) };
        let no = self.ask_no(&report.ask).ok_or_else(unknown)?;
        let held = self.asks.get(no).map(|a| (**a).clone());
        let ask = held.or_else(|| loaded.ask.clone()).ok_or_else(unknown)?;
        match &ask.to {
            AskTo::Device { id, .. } if *id == report.device => {}
            _ => return Err(Refusal::WrongReporter { ask: report.ask }),
        }
        // An earlier try had arrived after all, and its task is there: what is so counts, not what was
        // said of a later try.
        if was_refused(&ask) && self.asks.len() < MAX_ASKS {
            self.insert_ask(Ask {
                state: AskState::Open,
                known: None,
                told: false,
                ended: None,
                trying: false,
                boot: now.boot,
                ..ask.clone()
            });
        }
        let ask = self.asks.get(no).map_or(ask, |a| (**a).clone());
        // The same message made another task there, in a session that took the name of one that is gone:
        // this ask is about the first.
        let same = ask.task_id.as_ref().is_none_or(|t| *t == report.task_id);
        let newer = ask.known.as_ref().is_none_or(|k| k.seq < report.seq) || self.breaks(Mutant::TakesOldNews);
        let news = same && ask.open() && newer;
        if news {
            self.reported(now, &report, &ask.agent);
            let text = report.text.as_ref().map(|t| self.keep(t));
            self.edit_ask(no, |a| {
                a.state = AskState::Open;
                a.task_id = Some(report.task_id.clone());
                a.unsure = false;
                // Whatever try was under way, this is its answer.
                a.trying = false;
                a.fails = 0;
                a.not_before = if a.cancel { now.served } else { now.served + LOOK_EVERY_MS };
            });
            self.hear(now, no, &Known { seq: report.seq, state: report.state, text });
            self.advance_ask(now, no);
        }
        Ok(Done::Nothing)
    }

    pub(super) fn observe_outbox(&mut self, now: &Now, no: OutboxNo, fact: OutboxFact) {
        match fact {
            OutboxFact::Confirmed => self.remove_outbox(no),
            OutboxFact::Failed { .. } => {
                self.outbox.edit(no, |row| {
                    row.tries += 1;
                    row.not_before = now.served + gap(row.tries - 1);
                });
                if let Some(row) = self.outbox.get(no).cloned() {
                    self.outbox_effects(now, &row);
                }
            }
        }
    }

    pub(super) fn ask_event(&mut self, now: &Now, no: AskNo) {
        let Some(ask) = self.asks.get(no).cloned() else {
            return;
        };
        let by = match ask.by {
            AskBy::Owner => None,
            AskBy::Session(uid) => Some(self.session_name(uid)),
        };
        let state = ask.known.as_ref().map_or("unsent", |k| k.state.as_str());
        let task = ask.task_id.clone().unwrap_or_else(|| ask.mid.clone());
        self.event(now, EventKind::Ask, by.as_deref(), Some(&task), state, &ask.agent);
    }
}

/// Beside a refusal of a later try.
const PERHAPS: &str = "(an earlier try got no answer: whether that one arrived cannot be said)";

/// It came to nothing on the other side: there is no task of it.
fn was_refused(ask: &Ask) -> bool {
    !ask.open() && ask.known.as_ref().is_some_and(|k| k.state == "refused")
}

fn final_word(state: &str) -> &'static str {
    match state {
        "completed" => "completed",
        "failed" => "failed",
        "rejected" => "rejected",
        "canceled" => "canceled",
        _ => "refused",
    }
}
