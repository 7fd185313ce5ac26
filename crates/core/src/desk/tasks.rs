//! How a task ends, blocks and is acknowledged, and who is told. Nothing changes a final state.

use std::sync::Arc;

use crate::id::TaskNo;
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::rights::{Action, Right};
use crate::row::{AskedBy, DeliveryKind, DeliveryState, Ending, EventKind, Made, Outbox, Report, Task, TurnState};
use crate::text::{MAX_TEXT, Text};
use crate::time::Now;
use crate::view;

use super::{Desk, Done, Mutant, NewMade, Wake, Word};

impl Desk {
    pub(super) fn find_task(&self, id: &str) -> Result<Arc<Task>, Refusal> {
        self.task_by_id(id).cloned().ok_or_else(|| Refusal::NoTask { id: crate::text::cut(id, 200) })
    }

    pub(super) fn update(
        &mut self,
        now: &Now,
        by: &Principal,
        id: &str,
        word: Word,
        summary: Text,
        made: &[NewMade],
    ) -> Result<Done, Refusal> {
        if summary.len() > MAX_TEXT {
            return Err(Refusal::TooLong { what: "summary", len: summary.len(), max: MAX_TEXT });
        }
        let task = self.find_task(id)?;
        if let Some(word) = word.scripted().filter(|_| !self.is_scripted(&task)) {
            return Err(Refusal::BadWord { word: word.into() });
        }
        check_made(&task, made)?;
        match by {
            Principal::Device { .. } => return Err(Refusal::UpdateFromAway),
            Principal::Session(uid) if *uid != task.session => {
                let owner = self.session_name(task.session);
                return Err(Refusal::NotYourTask { id: task.id.clone(), owner });
            }
            Principal::Session(_) | Principal::Owner => {}
        }
        if let Some(Refusal::Ended { id, state, when, .. }) = self.refuse_ended(&task) {
            return Err(Refusal::Ended { id, state, when, hint: "" });
        }
        if word == Word::Blocked && summary.as_str().trim().is_empty() {
            return Err(Refusal::EmptyText);
        }
        if word == Word::Blocked && !task.dispatched {
            return Err(Refusal::NotBegun { id: task.id.clone() });
        }
        if matches!(by, Principal::Session(_)) {
            self.spoke(now, &task);
        }
        // A claim without what was required goes back once; then it stands, and is marked.
        let missing = task.require.iter().any(|proof| !task.evidence.proves(*proof));
        if word == Word::Done && missing && matches!(by, Principal::Session(_)) {
            let again = task.given_back;
            self.edit_task(task.no, |t| {
                t.given_back = true;
                t.unproven = again;
                t.changed = now.stamp();
                t.seq += 1;
            });
            if !again {
                let session = self.session_name(task.session);
                self.event(now, EventKind::Task, Some(&session), Some(&task.id), "given-back", "done without proof");
                return self.task_done(task.no);
            }
        }
        self.keep_made(task.no, made);
        match word {
            Word::Done => self.end(now, task.no, Ending::Completed, &summary),
            Word::Failed => self.end(now, task.no, Ending::Failed, &summary),
            Word::Blocked => self.block(now, task.no, &summary),
            Word::Rejected => self.end(now, task.no, Ending::Rejected, &summary),
            Word::Working => self.say_meanwhile(now, task.no, &summary),
            Word::Direct => {
                self.edit_task(task.no, |t| t.direct = true);
                self.end(now, task.no, Ending::Completed, &summary);
            }
        }
        self.advance(now, task.lane);
        self.task_done(task.no)
    }

    fn is_scripted(&self, task: &Task) -> bool {
        self.sessions.get(task.session).is_some_and(|s| s.harness.is_scripted())
    }

    /// Adds to what the task has made. The change that the same word makes shows it.
    fn keep_made(&mut self, no: TaskNo, made: &[NewMade]) {
        for new in made {
            let parts = self.keep(&new.parts);
            self.edit_task(no, |t| {
                let id = format!("{}-{}", t.mid, t.made.len() + 1);
                t.made.push(Made { id, name: new.name.clone(), parts });
            });
        }
    }

    fn say_meanwhile(&mut self, now: &Now, no: TaskNo, words: &Text) {
        let text = (!words.is_empty()).then(|| self.keep(words));
        self.edit_task(no, |t| {
            t.last_words = text.or(t.last_words);
            t.changed = now.stamp();
            t.seq += 1;
        });
        self.note(now, no, words.as_str());
    }

    /// A worker that speaks of a task has it, also where its start has not been seen yet: what it
    /// says comes after its start, and is not undone by that.
    fn spoke(&mut self, now: &Now, task: &Task) {
        let turn = self.lanes.get(task.lane).and_then(|l| l.turn).and_then(|t| self.turns.get(t).cloned());
        match turn {
            // It may have been told of it by any of what was written to it.
            Some(turn) if turn.stream => self.edit_task(task.no, |t| {
                t.delivered.get_or_insert(now.stamp());
                t.started.get_or_insert(now.stamp());
            }),
            Some(turn) if turn.task == Some(task.no) => self.began(now, &turn),
            _ => {}
        }
    }

    pub(super) fn task_done(&self, no: TaskNo) -> Result<Done, Refusal> {
        let task = self.tasks.get(no).cloned().ok_or(Refusal::NoTask { id: no.0.to_string() })?;
        Ok(Done::Task { task, made: false })
    }

    pub(super) fn cancel(&mut self, now: &Now, by: &Principal, id: &str, why: Option<String>) -> Result<Done, Refusal> {
        let task = self.find_task(id)?;
        self.asker_only(by, &task)?;
        if let Some(refusal) = self.refuse_ended(&task) {
            return Err(refusal);
        }
        let who = self.sender(by, None).label;
        let text = match why {
            Some(why) => Text::new(format!("canceled by {who}: {}", crate::text::cut(&why, 1_000))),
            None => Text::new(format!("canceled by {who}")),
        };
        self.end(now, task.no, Ending::Canceled, &text);
        self.advance(now, task.lane);
        self.task_done(task.no)
    }

    /// A session, and a device that is not the owner's, speak only for what they asked themselves;
    /// the owner and other machines' daemons for whatever they name.
    pub(super) fn asker_only(&self, by: &Principal, task: &Task) -> Result<(), Refusal> {
        match by {
            Principal::Session(uid) if task.sender.principal != *by => {
                let asker = task.sender.label.clone();
                let session = self.session_name(*uid);
                Err(Refusal::NotYourAsk { id: task.id.clone(), asker, session })
            }
            Principal::Device { right, .. } if *right != Right::Owner => {
                self.allowed(by, Action::Ask)?;
                match by.is_same(&task.sender.principal) {
                    true => Ok(()),
                    // What is another's is not there for it.
                    false => Err(Refusal::NoTask { id: task.id.clone() }),
                }
            }
            _ => Ok(()),
        }
    }

    pub(super) fn ack(&mut self, now: &Now, by: &Principal, id: &str) -> Result<Done, Refusal> {
        let task = self.find_task(id)?;
        self.asker_only(by, &task)?;
        if task.acked.is_none() {
            self.edit_task(task.no, |t| t.acked = Some(now.stamp()));
            let name = self.session_name(task.session);
            self.event(now, EventKind::Task, Some(&name), Some(&task.id), "acknowledged", "");
        }
        self.task_done(task.no)
    }

    /// The worker needs something from the asker. The lane is free for others meanwhile.
    fn block(&mut self, now: &Now, no: TaskNo, question: &Text) {
        let text = self.keep(question);
        self.edit_task(no, |t| {
            t.blocked = true;
            t.waiting = false;
            t.hushed = None;
            t.question = Some(text);
            t.questions.push(text);
            // What was asked long ago is not worth an ever larger row.
            if t.questions.len() > MAX_QUESTIONS {
                t.questions.remove(0);
            }
            t.dispatched = true;
            t.changed = now.stamp();
            t.seq += 1;
        });
        self.release(no);
        self.void_reminders(no);
        self.note(now, no, question.as_str());
        self.tell(now, no);
    }

    /// The one place where a task ends. An ended one is left as it is.
    pub(super) fn end(&mut self, now: &Now, no: TaskNo, ending: Ending, words: &Text) {
        let Some(task) = self.tasks.get(no).cloned() else {
            return;
        };
        if !task.open() && !self.breaks(Mutant::EndsTwice) {
            return;
        }
        let mut words = words.clone();
        if ending == Ending::Canceled && self.may_have_begun(&task) {
            words = Text::new(format!("{}\n\n{PERHAPS}", words.as_str()));
        }
        let held = self.lanes.get(task.lane).is_some_and(|l| l.holder == Some(no));
        let text = (!words.is_empty()).then(|| self.keep(&words));
        self.edit_task(no, |t| {
            t.ending = Some(ending);
            t.result = text;
            t.ended = Some(now.stamp());
            t.changed = now.stamp();
            t.seq += 1;
            t.pending = 0;
            t.prompts = 0;
            t.waiting = false;
            t.stalled = false;
            t.hushed = None;
            t.overdue = false;
        });
        self.release(no);
        self.void_reminders(no);
        self.void_deliveries(task.lane, no);
        // A turn that works on what was cancelled is of no more use; after any other end it is
        // left to finish by itself.
        if ending == Ending::Canceled {
            let turn = self.lanes.get(task.lane).and_then(|l| l.turn).and_then(|t| self.turns.get(t).cloned());
            let turn = turn.filter(|t| t.task == Some(no) && t.state == TurnState::Running);
            if let Some(run) = turn.as_ref().filter(|t| t.stream) {
                if held && run.busy {
                    self.edit_turn(run.no, |t| t.interrupts += 1);
                }
            } else if let Some(turn) = turn {
                self.edit_turn(turn.no, |t| {
                    t.state = TurnState::Stopping;
                    t.stopping = true;
                });
            }
        }
        if task.fresh && !task.dispatched {
            // What is not started while it waits may be now.
            self.index.wakes.insert((now.served, Wake::Lane(task.lane)));
        }
        self.note(now, no, words.as_str());
        self.tell(now, no);
    }

    /// It was being given to its worker, and no sign of life has come back.
    fn may_have_begun(&self, task: &Task) -> bool {
        let lane = self.lanes.get(task.lane);
        let run = lane.and_then(|l| l.turn).and_then(|no| self.turns.get(no));
        let written = run.map(|t| self.of_run(t.no)).unwrap_or_default();
        let causes = run.map(|t| t.cause).into_iter().chain(written);
        let mut under_way = causes.filter_map(|no| self.deliveries.get(no));
        let of_it =
            |d: &std::sync::Arc<crate::row::Delivery>| d.state == DeliveryState::Attempting && d.task == Some(task.no);
        task.delivered.is_none() && under_way.any(of_it)
    }

    /// The task gives its lane up; it gets it back only by a dispatch.
    pub(super) fn release(&mut self, no: TaskNo) {
        let Some(lane) = self.tasks.get(no).map(|t| t.lane) else {
            return;
        };
        if self.lanes.get(lane).is_some_and(|l| l.holder == Some(no)) {
            self.edit_lane(lane, |l| l.holder = None);
        }
    }

    fn void_deliveries(&mut self, lane: crate::id::LaneNo, task: TaskNo) {
        let planned: Vec<_> = self.index.planned.get(&lane).into_iter().flatten().copied().collect();
        for no in planned {
            let Some(delivery) = self.deliveries.get(no).filter(|d| d.task == Some(task)) else { continue };
            // The outcome of an ask is the session's, whatever it was asked for.
            let stays = matches!(delivery.kind, DeliveryKind::Result | DeliveryKind::Recap);
            self.edit_delivery(no, |d| match stays {
                true => d.task = None,
                false => d.state = DeliveryState::Ended,
            });
        }
    }

    /// A line in the feed with the state as others see it now.
    pub(super) fn note(&mut self, now: &Now, no: TaskNo, summary: &str) {
        let Some(task) = self.tasks.get(no).cloned() else {
            return;
        };
        let name = self.session_name(task.session);
        let state = view::state(&task).word();
        self.event(now, EventKind::Task, Some(&name), Some(&task.id), state, summary);
    }

    /// Tells whoever asked: all asks of this machine that it is for in this same commit, another
    /// machine by the outbox. A report that has not gone yet is replaced: only the newest is worth telling.
    pub(super) fn tell(&mut self, now: &Now, no: TaskNo) {
        let Some(task) = self.tasks.get(no).cloned() else {
            return;
        };
        for ask in self.index.asked_here.get(&no).cloned().unwrap_or_default() {
            self.hear(now, ask, &view::known(&task));
        }
        match &task.asked_by {
            None | Some(AskedBy::Here(_)) => {}
            Some(AskedBy::Device { id, ask }) => {
                let stale: Vec<_> = self.index.reports.get(&no).into_iter().flatten().copied().collect();
                for row in stale {
                    self.remove_outbox(row);
                }
                if !task.has_outcome() {
                    return;
                }
                let known = view::known(&task);
                let row = Outbox {
                    no: crate::id::OutboxNo(self.next()),
                    device: id.clone(),
                    report: Report {
                        ask: ask.clone(),
                        task: no,
                        task_id: task.id.clone(),
                        seq: known.seq,
                        state: known.state,
                        text: known.text,
                    },
                    tries: 0,
                    not_before: now.served,
                    made: now.stamp(),
                };
                self.insert_outbox(now, row);
            }
        }
    }
}

/// Questions of a worker that its task shows: the newest.
pub const MAX_QUESTIONS: usize = 50;
/// Things that one task may have made.
pub const MAX_MADE: usize = 20;
/// Bytes of all that one task has made, as the wire has them: a file of 10 MiB in base64, and some
/// room, so that an answer with all of it stays under what clients take (16 MiB).
pub const MAX_MADE_BYTES: usize = 14 << 20;

fn check_made(task: &Task, made: &[NewMade]) -> Result<(), Refusal> {
    let count = task.made.len() + made.len();
    if !made.is_empty() && count > MAX_MADE {
        return Err(Refusal::TooManyMade { id: task.id.clone(), made: count, max: MAX_MADE });
    }
    let before: u64 = task.made.iter().map(|m| m.parts.len).sum();
    let len = made.iter().map(|m| m.parts.len()).sum::<usize>().saturating_add(before as usize);
    match !made.is_empty() && len > MAX_MADE_BYTES {
        true => Err(Refusal::TooLong { what: "files of this task", len, max: MAX_MADE_BYTES }),
        false => Ok(()),
    }
}

/// Beside the end of a task that was cancelled in the moment in which it was given to its worker.
const PERHAPS: &str = "(it was being started: it may have begun)";
