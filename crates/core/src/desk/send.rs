//! A message comes in: one message id is one task, whatever is sent how often (`spec/tasks.md`,
//! "Names and identity"). Checks first, all of them; then rows.

use std::sync::Arc;

use crate::id::{DeliveryNo, MessageNo, TaskNo, hashed_task_id, task_id};
use crate::name::AgentRef;
use crate::near;
use crate::principal::{Principal, Sender};
use crate::refusal::{Refusal, when};
use crate::rights::{Action, Right};
use crate::row::{AskedBy, Delivery, DeliveryKind, EndsBy, EventKind, Gate, Message, Session, SessionState, Task};
use crate::text::{MAX_TEXT, Text};
use crate::time::Now;

use super::{Desk, Done, Loaded, MAX_PENDING, MessageKey, Mutant, Request, SendReq, Wants};

/// The loop guard counts an hour of served time.
const HOUR_MS: i64 = 3_600_000;
/// Longest message id that is taken, in bytes: long enough for every id scheme seen, short enough
/// for an index.
pub const MAX_MESSAGE_ID: usize = 512;
/// Longest context id that is taken, in bytes.
pub const MAX_CONTEXT: usize = 512;
/// Bytes of a message's parts as they are kept: its text, written with an escape for every byte.
pub const MAX_PARTS: usize = 6 * MAX_TEXT;
/// Tasks that one message may refer to.
pub const MAX_REFS: usize = 100;

impl Desk {
    /// What has to be read from the store before `request` is handled.
    pub fn wants(&self, request: &Request) -> Wants {
        let mut wants = Wants::default();
        match request {
            Request::Send(send) => self.want_send(&mut wants, send),
            Request::Ask(ask) => {
                if let super::Target::Here { session } = &ask.to {
                    let key = self.session_by_name(session).map(|s| MessageKey {
                        session: s.uid,
                        ns: ask.by.ns(),
                        mid: ask.mid.clone(),
                        in_task: None,
                    });
                    self.want_message(&mut wants, key, session);
                }
                let key = (ask.agent.clone(), ask.mid.clone());
                if !self.index.asks.contains_key(&key) {
                    wants.ask_mid = Some(key);
                }
            }
            Request::UndoRemove { name, .. } => wants.removed = Some(name.clone()),
            Request::Update { task, .. }
            | Request::Cancel { task, .. }
            | Request::Ack { task, .. }
            | Request::Queue { task, .. } => {
                if self.task_by_id(task).is_none() {
                    wants.task = Some(task.clone());
                }
            }
            Request::Say { by, session, mid, .. } => {
                let key = self.said_key(by, session, mid);
                wants.message = key.filter(|k| !self.index.messages.contains_key(k));
            }
            Request::AnswerPrompt { no, .. } => {
                wants.prompt = self.prompts.get(*no).is_none().then_some(*no);
            }
            Request::CancelAsk { no } | Request::Told { no, .. } | Request::Offer { no, .. } => {
                wants.ask = self.asks.get(*no).is_none().then_some(*no);
            }
            Request::Report(report) => {
                let no = self.ask_no(&report.ask);
                wants.ask = no.filter(|no| self.asks.get(*no).is_none());
            }
            Request::AddSession { .. }
            | Request::StopSession { .. }
            | Request::StartSession { .. }
            | Request::RestartSession { .. }
            | Request::Attach { .. }
            | Request::Detach { .. }
            | Request::Interrupt { .. }
            | Request::Pause { .. }
            | Request::Resume { .. }
            | Request::RenameSession { .. }
            | Request::SetSession { .. }
            | Request::NewConversation { .. }
            | Request::Attempt { .. }
            | Request::Elsewhere { .. }
            | Request::Met(_)
            | Request::Mesh { .. }
            | Request::RemoveSession { .. } => {}
        }
        wants
    }

    fn want_send(&self, wants: &mut Wants, send: &SendReq) {
        match &send.task {
            // Of an ended task the desk has no messages, also while it has the task itself.
            Some(id) if self.task_by_id(id).is_none_or(|t| !t.open()) => {
                wants.task = Some(id.clone());
                wants.in_task = Some((send.by.ns(), send.mid.clone()));
            }
            Some(_) => {}
            None => {
                let key = self.session_by_name(&send.session).map(|s| MessageKey {
                    session: s.uid,
                    ns: send.by.ns(),
                    mid: send.mid.clone(),
                    in_task: None,
                });
                self.want_message(wants, key, &send.session);
                wants.of_ask = send.ask_key().filter(|key| !self.index.of_ask.contains_key(key));
            }
        }
    }

    fn want_message(&self, wants: &mut Wants, key: Option<MessageKey>, session: &str) {
        let Some(key) = key else { return };
        if self.index.messages.contains_key(&key) {
            return;
        }
        let id = task_id(session, &key.mid);
        if !self.index.task_ids.contains_key(&id) {
            wants.free_id = Some(id);
        }
        wants.message = Some(key);
    }

    pub(super) fn send(&mut self, now: &Now, send: SendReq, loaded: &Loaded) -> Result<Done, Refusal> {
        self.allowed(&send.by, Action::Ask)?;
        check_bounds(&send.text, send.parts.as_ref(), &send.mid, send.context.as_deref(), &send.refs)?;
        match send.task.clone() {
            Some(id) => self.send_more(now, &id, send, loaded),
            None => {
                let (by, canceled) = (send.by.clone(), send.canceled);
                let (task, made) = self.send_new(now, send, loaded, None)?;
                match canceled && task.open() {
                    true => self.cancel(now, &by, &task.id, None),
                    false => Ok(Done::Task { task, made }),
                }
            }
        }
    }

    pub(super) fn find_session(&self, name: &str) -> Result<Arc<Session>, Refusal> {
        self.session_by_name(name).cloned().ok_or_else(|| Refusal::NoSession {
            name: crate::text::cut(name, 80),
            machine: self.place.machine.clone(),
            hint: near::hint(&near::near(name, self.index.names.keys().map(String::as_str))),
        })
    }

    /// A new task, or the one that this message made before. `asked_by` overrides where word of
    /// it goes (an ask of this machine).
    pub(super) fn send_new(
        &mut self,
        now: &Now,
        send: SendReq,
        loaded: &Loaded,
        asked_by: Option<AskedBy>,
    ) -> Result<(Arc<Task>, bool), Refusal> {
        // Sent again by the daemon that asked: its session may have another name by now, and another
        // session that one.
        let sent = send.ask_key().and_then(|key| self.index.of_ask.get(&key));
        let sent = sent.and_then(|no| self.messages.get(*no)).map(|m| (**m).clone());
        if let Some(message) = sent.or_else(|| loaded.of_ask.clone()).filter(|_| !self.breaks(Mutant::ForgetsIds)) {
            return self.same_again(&message, &send, loaded);
        }
        let session = self.find_session(&send.session)?;
        let ns = send.by.ns();
        let key = MessageKey { session: session.uid, ns: ns.clone(), mid: send.mid.clone(), in_task: None };
        let known = self.index.messages.get(&key).and_then(|no| self.messages.get(*no));
        let known = known.map(|m| (**m).clone()).or_else(|| loaded.message.clone());
        if let Some(message) = known.filter(|_| !self.breaks(Mutant::ForgetsIds)) {
            return self.same_again(&message, &send, loaded);
        }
        let may = session.fresh_by_agents || send.by == Principal::Owner || !session.harness.stays();
        if send.fresh && !may {
            return Err(Refusal::FreshImpossible { name: session.name.clone() });
        }
        let open = self.index.open.get(&session.lane).into_iter().flatten().filter_map(|no| self.tasks.get(*no));
        let waiting = open.filter(|t| !t.dispatched).count();
        if waiting >= self.place.settings.limits.queue as usize {
            return Err(Refusal::QueueFull { name: session.name.clone(), waiting });
        }
        let from = self.guarded(now, &session, &send)?;
        if let Some(device) = from {
            let since = now.served - HOUR_MS;
            self.sessions.edit(session.uid, |s| {
                s.asked.values_mut().for_each(|times| times.retain(|at| *at > since));
                s.asked.retain(|_, times| !times.is_empty());
                s.asked.entry(device).or_default().push(now.served);
            });
        }
        let literal = task_id(&session.name, &send.mid);
        let taken = loaded.id_taken || self.index.task_ids.contains_key(&literal);
        let no = TaskNo(self.next());
        let id = if taken { hashed_task_id(&session.name, &format!("{}/{}", ns.0, no.0), &send.mid) } else { literal };
        let request = self.keep(&send.text);
        let parts = send.parts.as_ref().map(|parts| self.keep(parts));
        let sender = self.sender(&send.by, send.claim.as_deref());
        let asked_by = asked_by.or_else(|| match (&send.by, &send.ask) {
            (Principal::Device { id, .. }, Some(ask)) => Some(AskedBy::Device { id: id.clone(), ask: ask.clone() }),
            _ => None,
        });
        let message = Message {
            no: MessageNo(self.next()),
            session: session.uid,
            ns: ns.clone(),
            mid: send.mid.clone(),
            in_task: None,
            ask: send.ask_key(),
            digest: send.digest,
            task: no,
            task_id: id.clone(),
            text: Some(request),
            parts,
            at: now.stamp(),
            ended: None,
            dropped: None,
        };
        let task = Task {
            no,
            id: id.clone(),
            session: session.uid,
            lane: session.lane,
            sender,
            ns,
            mid: send.mid,
            ends_by: if session.harness.stays() { EndsBy::Word } else { EndsBy::Exit },
            gate: Gate::Open,
            position: no.0,
            title: send.title,
            request,
            context: send.context.unwrap_or_else(|| format!("ctx-{:016x}", send.random)),
            refs: send.refs,
            // A command is always fresh.
            fresh: send.fresh && session.harness.stays(),
            dispatched: false,
            blocked: false,
            question: None,
            questions: Vec::new(),
            last_words: None,
            made: Vec::new(),
            direct: false,
            pending: 0,
            prompts: 0,
            evidence: Default::default(),
            require: send.require,
            given_back: false,
            unproven: false,
            nudges: 0,
            last_nudge: None,
            stalled: false,
            hushed: None,
            overdue: false,
            expired: false,
            waiting: false,
            ending: None,
            result: None,
            stored: now.stamp(),
            delivered: None,
            started: None,
            ended: None,
            changed: now.stamp(),
            seq: 1,
            outcome: 0,
            acked: None,
            asked_by,
        };
        self.insert_message(message);
        self.insert_task(task);
        self.event(now, EventKind::Task, Some(&session.name), Some(&id), "submitted", send.text.as_str());
        if !send.canceled {
            self.advance(now, session.lane);
        }
        let task = self.tasks.get(no).cloned().ok_or(Refusal::NoTask { id })?;
        Ok((task, true))
    }

    /// The loop guard: so many new tasks of agents in an hour, from one device to one session. The
    /// device that is to be counted; nothing is, of what the owner sends.
    fn guarded(&self, now: &Now, session: &Session, send: &SendReq) -> Result<Option<String>, Refusal> {
        let owners = |claim: &str| claim.ends_with("/owner");
        let device = match &send.by {
            Principal::Owner => return Ok(None),
            Principal::Session(_) => String::new(),
            // Its own daemon says that it was the owner there, and nobody else can say that it did.
            Principal::Device { right: Right::Owner, .. }
                if send.vouched && send.claim.as_deref().is_some_and(owners) =>
            {
                return Ok(None);
            }
            Principal::Device { id, .. } => id.clone(),
        };
        let since = now.served - HOUR_MS;
        let recent = session.asked.get(&device).into_iter().flatten().filter(|at| **at > since).count();
        let limit = self.place.settings.limits.agent_tasks_per_hour;
        match recent >= limit as usize {
            true => Err(Refusal::LoopGuard { name: session.name.clone(), limit }),
            false => Ok(Some(device)),
        }
    }

    /// The same message id again: the task as it stands, if it is the same text.
    fn same_again(&self, message: &Message, send: &SendReq, loaded: &Loaded) -> Result<(Arc<Task>, bool), Refusal> {
        let at = when(message.at.wall);
        if message.digest != send.digest {
            let mid = crate::text::cut(&send.mid, 80);
            return Err(Refusal::OtherText { mid, when: at, task: message.task_id.clone() });
        }
        let task = self.tasks.get(message.task).or(loaded.task.as_ref());
        match task {
            Some(task) => Ok((task.clone(), false)),
            None => {
                let mid = crate::text::cut(&send.mid, 80);
                let at = when(message.ended.unwrap_or(message.at).wall);
                Err(Refusal::LongGone { mid, task: message.task_id.clone(), when: at })
            }
        }
    }

    /// More on a task that the asker sent before: the answer it waits for, or a correction.
    fn send_more(&mut self, now: &Now, id: &str, send: SendReq, loaded: &Loaded) -> Result<Done, Refusal> {
        let task = self.task_by_id(id).cloned().ok_or_else(|| Refusal::NoTask { id: crate::text::cut(id, 200) })?;
        let key = MessageKey { session: task.session, ns: send.by.ns(), mid: send.mid.clone(), in_task: Some(task.no) };
        let known = self.index.messages.get(&key).and_then(|no| self.messages.get(*no));
        if let Some(message) = known.map(|m| (**m).clone()).or_else(|| loaded.message.clone()) {
            let (task, made) = self.same_again(&message, &send, loaded)?;
            return Ok(Done::Task { task, made });
        }
        // The message that made the task, sent again with the task's id on it, is no answer.
        if send.mid == task.mid && send.by.ns() == task.ns {
            if send.text.sha() != task.request.sha {
                let (mid, when) = (crate::text::cut(&send.mid, 80), when(task.stored.wall));
                return Err(Refusal::OtherText { mid, when, task: task.id.clone() });
            }
            return Ok(Done::Task { task, made: false });
        }
        self.asker_only(&send.by, &task)?;
        if let Some(refusal) = self.refuse_ended(&task) {
            return Err(refusal);
        }
        if task.pending >= MAX_PENDING {
            return Err(Refusal::TooManyAnswers { id: id.to_string(), waiting: task.pending as usize });
        }
        let text = self.keep(&send.text);
        let parts = send.parts.as_ref().map(|parts| self.keep(parts));
        let first = task.blocked && task.pending == 0;
        let message = Message {
            no: MessageNo(self.next()),
            session: task.session,
            ns: key.ns,
            mid: key.mid,
            in_task: key.in_task,
            ask: None,
            digest: send.digest,
            task: task.no,
            task_id: task.id.clone(),
            text: Some(text),
            parts,
            at: now.stamp(),
            ended: None,
            dropped: None,
        };
        let from = self.sender(&send.by, send.claim.as_deref()).label;
        let delivery = Delivery {
            from: Some(from).filter(|f| *f != task.sender.label),
            task: Some(task.no),
            text: Some(text),
            ..Delivery::planned(
                DeliveryNo(self.next()),
                task.session,
                task.lane,
                if first { DeliveryKind::Answer } else { DeliveryKind::Correction },
            )
        };
        self.insert_message(message);
        self.insert_delivery(delivery);
        self.edit_task(task.no, |t| {
            t.pending += 1;
            t.changed = now.stamp();
            t.seq += 1;
        });
        let name = self.session_name(task.session);
        let state = if first { "answered" } else { "more" };
        self.event(now, EventKind::Task, Some(&name), Some(&task.id), state, send.text.as_str());
        self.tell(now, task.no);
        self.advance(now, task.lane);
        let task = self.tasks.get(task.no).cloned().unwrap_or(task);
        Ok(Done::Task { task, made: true })
    }

    /// The words that people and the worker read for a sender (`spec/tasks.md`, "What the worker
    /// reads").
    pub(super) fn sender(&self, by: &Principal, claim: Option<&str>) -> Sender {
        let claim = claim.filter(|c| is_claim(c));
        let label = match (by, claim) {
            (Principal::Owner, _) => "the owner".to_string(),
            (Principal::Session(uid), _) => {
                format!("this machine ({}/{})", self.place.machine, self.session_name(*uid))
            }
            (Principal::Device { label, .. }, Some(claim)) => format!("{label} ({claim})"),
            (Principal::Device { label, .. }, None) => label.clone(),
        };
        let claim = claim.filter(|_| matches!(by, Principal::Device { .. })).map(str::to_string);
        Sender { principal: by.clone(), claim, label }
    }

    pub(super) fn refuse_ended(&self, task: &Task) -> Option<Refusal> {
        let ending = task.ending.filter(|_| !self.breaks(Mutant::EndsTwice))?;
        Some(Refusal::Ended {
            id: task.id.clone(),
            state: ending.word(),
            when: when(task.ended.map_or(0, |s| s.wall)),
            hint: ": send a new message, and name this task in referenceTaskIds",
        })
    }

    pub(super) fn serves(&self, session: &Session) -> bool {
        session.state == SessionState::Ready && session.attached.is_none()
    }
}

/// `MACHINE/SESSION`, or `MACHINE/owner`, in plain characters: anything else is no claim, and is
/// not shown.
fn is_claim(text: &str) -> bool {
    let plain = text.len() <= 200 && text.chars().all(|c| c.is_ascii_graphic() && !"()[],".contains(c));
    let owner = text.strip_suffix("/owner").is_some_and(|machine| !machine.is_empty() && !machine.contains('/'));
    plain && (AgentRef::parse(text).is_ok_and(|a| a.machine.is_some()) || owner)
}

/// What is too long is refused before anything else is looked at.
pub(super) fn check_bounds(
    text: &Text,
    parts: Option<&Text>,
    mid: &str,
    context: Option<&str>,
    refs: &[String],
) -> Result<(), Refusal> {
    if text.as_str().trim().is_empty() {
        return Err(Refusal::EmptyText);
    }
    if mid.is_empty() {
        return Err(Refusal::NoMessageId);
    }
    for (what, len, max) in [
        ("text", text.len(), MAX_TEXT),
        ("message id", mid.len(), MAX_MESSAGE_ID),
        ("context id", context.map_or(0, str::len), MAX_CONTEXT),
        ("message with all its parts", parts.map_or(0, Text::len), MAX_PARTS),
    ] {
        if len > max {
            return Err(Refusal::TooLong { what, len, max });
        }
    }
    if refs.len() > MAX_REFS {
        return Err(Refusal::TooManyRefs { refs: refs.len(), max: MAX_REFS });
    }
    Ok(())
}
