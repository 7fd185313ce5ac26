//! Sessions that their owner keeps to some meshes: for a device of another one they are not there. This
//! is decided here once, before a request is looked at, so that no rule can forget it; what is read
//! beside the desk is held back in the engine (`spec/access.md`, "The mesh").

use std::collections::BTreeSet;

use crate::id::{PromptNo, SessionUid};
use crate::near;
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::row::{AskBy, Prompt, Session, Task};
use crate::text::cut;

use super::{Desk, Loaded, Request, SendReq, Target};

/// What a request names that may be hidden from its caller.
enum Named<'a> {
    /// Nothing that is a session's.
    Nothing,
    Session(&'a str),
    /// A session that was removed.
    Removed(&'a str),
    Task(&'a str),
    Prompt(PromptNo),
}

impl Desk {
    /// Whether all that a request names is there for its caller.
    ///
    /// # Errors
    /// The same as for what is not there.
    pub(super) fn conceal(&self, request: &Request, loaded: &Loaded) -> Result<(), Refusal> {
        let (Some(by @ Principal::Device { .. }), named) = named(request) else { return Ok(()) };
        // Sent before, when it could be: the same message is the same task.
        if matches!(request, Request::Send(send) if self.was_sent(send, loaded)) {
            return Ok(());
        }
        match named {
            Named::Nothing => Ok(()),
            Named::Session(name) => match self.session_by_name(name) {
                Some(session) if by.sees(session) => Ok(()),
                _ => Err(self.not_there(by, name)),
            },
            Named::Removed(name) => {
                let taken = self.session_by_name(name).map(|session| &**session);
                match taken.or(loaded.removed.as_ref().map(|(session, _)| session)) {
                    Some(session) if by.sees(session) => Ok(()),
                    _ => Err(self.not_there(by, name)),
                }
            }
            Named::Task(id) => match self.task_by_id(id) {
                Some(task) if !self.may_see_task(by, task, loaded) => Err(Refusal::NoTask { id: cut(id, 200) }),
                _ => Ok(()),
            },
            Named::Prompt(no) => match self.prompt_row(no, loaded).map(|p| p.session) {
                Some(uid) if !self.may_see(by, uid, loaded) => Err(Refusal::NoPrompt { id: no.0 }),
                _ => Ok(()),
            },
        }
    }

    /// What a device gave itself stays in its reach, whatever became of the session: it is told how it
    /// ends.
    fn may_see_task(&self, by: &Principal, task: &Task, loaded: &Loaded) -> bool {
        by.is_same(&task.sender.principal) || self.may_see(by, task.session, loaded)
    }

    /// A session that was removed is no longer held: then it is as it was read.
    fn may_see(&self, by: &Principal, uid: SessionUid, loaded: &Loaded) -> bool {
        let held = self.sessions.get(uid).map(|s| by.sees(s));
        held.or_else(|| loaded.session.as_ref().filter(|s| s.uid == uid).map(|s| by.sees(s))).unwrap_or(true)
    }

    fn prompt_row<'a>(&'a self, no: PromptNo, loaded: &'a Loaded) -> Option<&'a Prompt> {
        self.prompts.get(no).map(|p| &**p).or(loaded.prompt.as_ref())
    }

    /// Whether the device has sent this message before, and it was taken.
    fn was_sent(&self, send: &SendReq, loaded: &Loaded) -> bool {
        let of_ask = send.ask_key().is_some_and(|key| self.index.of_ask.contains_key(&key));
        of_ask || loaded.of_ask.is_some()
    }

    /// The refusal of a name, with those that the caller may have meant.
    pub(super) fn not_there(&self, by: &Principal, name: &str) -> Refusal {
        let shown =
            self.sessions.iter().filter(|(_, s)| s.removed.is_none() && by.sees(s)).map(|(_, s)| s.name.as_str());
        Refusal::NoSession {
            name: cut(name, 80),
            machine: self.place.machine.clone(),
            hint: near::hint(&near::near(name, shown)),
        }
    }

    /// The sessions that a request is of: whose it is, and which it names. To be asked before it is
    /// carried out, since then a name may be gone.
    pub(super) fn sessions_of(&self, request: &Request, loaded: &Loaded) -> BTreeSet<SessionUid> {
        let (by, named) = named(request);
        let mut all = BTreeSet::new();
        if let Some(Principal::Session(uid)) = by {
            all.insert(*uid);
        }
        let of_task = |id: &str| {
            let held = self.task_by_id(id).map(|t| t.session);
            held.or_else(|| loaded.task.as_ref().filter(|t| t.id == id).map(|t| t.session))
        };
        all.extend(match named {
            Named::Nothing => None,
            Named::Session(name) => self.session_by_name(name).map(|s| s.uid),
            Named::Removed(_) => loaded.removed.as_ref().map(|(s, _)| s.uid),
            Named::Task(id) => of_task(id),
            Named::Prompt(no) => self.prompt_row(no, loaded).map(|p| p.session),
        });
        if let Request::Report(report) = request {
            let ask = self.ask_no(&report.ask).and_then(|no| self.asks.get(no).map(|a| a.by));
            all.extend(ask.or(loaded.ask.as_ref().map(|a| a.by)).and_then(|by| match by {
                AskBy::Session(uid) => Some(uid),
                AskBy::Owner => None,
            }));
        }
        all
    }

    /// Whether a change would take a session away from who makes it.
    pub(super) fn hides_from(&self, by: &Principal, session: &Session) -> Result<(), Refusal> {
        match by {
            Principal::Device { meshes, .. } if !by.sees(session) => {
                let of =
                    meshes.iter().map(|mesh| if mesh.is_empty() { "a mesh without a label" } else { mesh.as_str() });
                let of = of.collect::<Vec<_>>().join(" and ");
                Err(Refusal::HidesFromYou { of, machine: self.place.machine.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Whose a request is, and what it names.
fn named(request: &Request) -> (Option<&Principal>, Named<'_>) {
    match request {
        Request::Send(send) => match &send.task {
            Some(task) => (Some(&send.by), Named::Task(task)),
            None => (Some(&send.by), Named::Session(&send.session)),
        },
        Request::Ask(ask) => match &ask.to {
            Target::Here { session } => (Some(&ask.by), Named::Session(session)),
            Target::Device { .. } => (Some(&ask.by), Named::Nothing),
        },
        Request::Update { by, task, .. }
        | Request::Cancel { by, task, .. }
        | Request::Ack { by, task }
        | Request::Queue { by, task, .. } => (Some(by), Named::Task(task)),
        Request::Say { by, session: name, .. }
        | Request::StopSession { by, name }
        | Request::StartSession { by, name }
        | Request::RestartSession { by, name }
        | Request::Attach { by, name }
        | Request::Detach { by, name }
        | Request::RenameSession { by, name, .. }
        | Request::SetSession { by, name, .. }
        | Request::NewConversation { by, name, .. }
        | Request::Interrupt { by, name }
        | Request::RemoveSession { by, name } => (Some(by), Named::Session(name)),
        Request::UndoRemove { by, name } => (Some(by), Named::Removed(name)),
        Request::AnswerPrompt { by, no, .. } => (Some(by), Named::Prompt(*no)),
        // A name that is taken is taken, also where its session is not shown.
        Request::AddSession { by, .. }
        | Request::Offer { by, .. }
        | Request::Pause { by }
        | Request::Resume { by }
        | Request::Attempt { by, .. }
        | Request::Elsewhere { by, .. } => (Some(by), Named::Nothing),
        // A report is of an ask of this machine, and says nothing of its session; the others are this
        // daemon's own.
        Request::Report(_)
        | Request::CancelAsk { .. }
        | Request::Told { .. }
        | Request::Met(_)
        | Request::Mesh { .. } => (None, Named::Nothing),
    }
}
