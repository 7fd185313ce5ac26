//! Who did what: a line of the audit log for each request that changes something, in the same commit
//! as the change; and the devices that this machine has met (`spec/access.md`, "Rights").

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::id::SessionUid;
use crate::name::FilesFrom;
use crate::principal::Principal;
use crate::refusal::Refusal;
use crate::rights::{OnMesh, Right, pin};
use crate::row::{Audit, Device, PromptAnswer};
use crate::text::cut;
use crate::time::Now;

use super::{Desk, Done, Hand, ReportReq, Request, Word};

/// Refused attempts of one sender that have a line of their own within an hour of served time; what
/// comes after them says nothing new.
const REFUSED_PER_HOUR: u32 = 60;
/// Reports of one device within such an hour: two for each task that an hour's loop guard lets through
/// to ten sessions. The device sets their pace.
const REPORTS_PER_HOUR: u32 = 600;
/// As people read it.
const OWNER: &str = "the owner";
const HOUR_MS: i64 = 3_600_000;
/// A device that goes on calling is noted once a minute.
pub const NOTED_EVERY_MS: i64 = 60_000;
/// Devices that are remembered: as many as a mesh may have. Further ones are not.
pub const MAX_DEVICES: usize = 4_096;

/// A request as the log has it.
pub(super) struct Deed {
    by: Principal,
    /// Who it says that it is from.
    claim: Option<String>,
    what: &'static str,
    about: String,
    /// Why it was not done, where that is known without the desk.
    failed: Option<String>,
    /// The sessions that it is of.
    of: BTreeSet<SessionUid>,
}

impl Deed {
    /// `None` for what changes nothing that is anybody's business.
    pub(super) fn of(request: &Request) -> Option<Deed> {
        let deed = |by: &Principal, what, about: &str| {
            Some(Deed {
                by: by.clone(),
                claim: None,
                what,
                about: about.to_string(),
                failed: None,
                of: BTreeSet::new(),
            })
        };
        match request {
            Request::Send(send) => {
                let what = if send.task.is_some() { "answer" } else { "send" };
                let about = send.task.as_deref().unwrap_or(&send.session);
                Some(Deed { claim: send.claim.clone(), ..deed(&send.by, what, about)? })
            }
            Request::Update { by, task, word, .. } => {
                let what = match word {
                    Word::Done | Word::Direct => "done",
                    Word::Blocked => "blocked",
                    Word::Failed | Word::Rejected => "failed",
                    Word::Working => "working",
                };
                deed(by, what, task)
            }
            Request::Cancel { by, task, .. } => deed(by, "cancel", task),
            Request::Ask(ask) => deed(&ask.by, "ask", &ask.agent),
            // What a report says has its line where it is news (`reported`); here are those that are refused.
            Request::Report(report) => {
                let (id, label) = (report.device.clone(), report.device.clone());
                let by = Principal::Device { id, label, right: Right::Owner, meshes: Vec::new() };
                deed(&by, "report", &report.task_id)
            }
            Request::Ack { .. } | Request::CancelAsk { .. } | Request::Told { .. } | Request::Offer { .. } => None,
            Request::Met(_) | Request::Mesh { .. } => None,
            Request::Say { by, session, .. } => deed(by, "say", session),
            Request::AnswerPrompt { by, no, answer } => {
                let word = match answer {
                    PromptAnswer::Allow { .. } => "allow",
                    PromptAnswer::Deny { .. } => "deny",
                    PromptAnswer::Answers(_) => "answer-question",
                };
                deed(by, word, &format!("prompt {}", no.0))
            }
            Request::AddSession { by, new } => deed(by, "session-add", &new.name),
            Request::StopSession { by, name } => deed(by, "session-stop", name),
            Request::StartSession { by, name } => deed(by, "session-start", name),
            Request::RestartSession { by, name } => deed(by, "session-restart", name),
            Request::Attach { by, name } => deed(by, "attach", name),
            Request::Detach { by, name } => deed(by, "detach", name),
            Request::Queue { by, task, hand } => {
                let what = match hand {
                    Hand::Move { .. } => "move",
                    Hand::Park => "park",
                    Hand::Release => "release",
                };
                deed(by, what, task)
            }
            Request::Pause { by } => deed(by, "pause", "everything"),
            Request::Resume { by } => deed(by, "resume", "everything"),
            Request::RenameSession { by, name, to } => deed(by, "session-rename", &format!("{name} to {to}")),
            Request::SetSession { by, name, set } => {
                // The settings that it sets, by name; their values are seen in the session.
                deed(by, "settings", &format!("{name}: {}", set.named().join(", ")))
            }
            Request::UndoRemove { by, name } => deed(by, "session-undo-remove", name),
            Request::NewConversation { by, name, .. } => deed(by, "session-new", name),
            Request::Interrupt { by, name } => deed(by, "interrupt", name),
            Request::RemoveSession { by, name } => deed(by, "session-remove", name),
            Request::Attempt { by, what, .. } => deed(by, "refused", what),
            Request::Elsewhere { by, what, about, failed } => {
                Some(Deed { failed: failed.clone(), ..deed(by, what, about)? })
            }
        }
    }
}

impl Deed {
    pub(super) fn of_sessions(self, of: BTreeSet<SessionUid>) -> Deed {
        Deed { of, ..self }
    }
}

impl Desk {
    /// Writes the line of a request that was decided. One that came again, and changed nothing, has
    /// its line already.
    pub(super) fn audit(&mut self, now: &Now, deed: Deed, answer: &Result<Done, Refusal>) {
        let (mut about, outcome) = match answer {
            Ok(Done::Task { made: false, .. }) if matches!(deed.what, "send" | "answer") => return,
            Ok(Done::Ask { made: false, .. } | Done::Said { made: false }) => return,
            Ok(_) if deed.what == "report" => return,
            Ok(Done::Task { task, .. }) => (task.id.clone(), "ok".to_string()),
            Ok(_) => {
                let outcome = deed.failed.map_or_else(|| "ok".to_string(), |why| format!("failed: {why}"));
                (deed.about, outcome)
            }
            Err(refusal) => (deed.about, format!("refused: {refusal}")),
        };
        if let (Ok(Done::Ask { ask, .. }), "ask") = (answer, deed.what) {
            about = format!("{}: {}", ask.agent, ask.mid);
        }
        let from = match &deed.by {
            Principal::Owner => "owner".to_string(),
            Principal::Session(uid) => format!("session {}", self.session_name(*uid)),
            Principal::Device { id, .. } => id.clone(),
        };
        let who = self.sender(&deed.by, deed.claim.as_deref()).label;
        if answer.is_err() && !self.notes(now, &from, REFUSED_PER_HOUR) {
            return;
        }
        // What was refused as not there has no session, for whoever tried.
        let hidden = |uid: &SessionUid| self.sessions.get(*uid).is_some_and(|s| !deed.by.sees(s));
        let mut of: Vec<SessionUid> = deed.of.iter().copied().filter(|uid| answer.is_ok() || !hidden(uid)).collect();
        if let Ok(Done::Session(session)) = answer {
            of.retain(|uid| *uid != session.uid);
            of.push(session.uid);
        }
        self.write_audit(now, who, from, deed.what, &about, &outcome, of);
    }

    /// The device that was asked said something new of a task.
    pub(super) fn reported(&mut self, now: &Now, report: &ReportReq, agent: &str) {
        if !self.notes(now, &format!("reports of {}", report.device), REPORTS_PER_HOUR) {
            return;
        }
        let who = self.devices.get(&report.device).map_or_else(|| report.device.clone(), |d| d.label.clone());
        let about = format!("{agent}: {}", report.task_id);
        let of = self.ask_no(&report.ask).and_then(|no| self.asks.get(no)).and_then(|a| a.asker());
        self.write_audit(now, who, report.device.clone(), "report", &about, &report.state, Vec::from_iter(of));
    }

    #[allow(clippy::too_many_arguments, reason = "the columns of a line")]
    fn write_audit(
        &mut self,
        now: &Now,
        who: String,
        from: String,
        what: &str,
        about: &str,
        outcome: &str,
        of: Vec<SessionUid>,
    ) {
        self.meta.last_audit += 1;
        self.audits.push(Arc::new(Audit {
            no: self.meta.last_audit,
            at: now.wall,
            who: cut(&who, 300),
            from: cut(&from, 200),
            what: what.to_string(),
            about: cut(about, 300),
            outcome: cut(outcome, 300),
            of,
        }));
    }

    /// Whether one more line of this kind is within its bound of an hour.
    fn notes(&mut self, now: &Now, kind: &str, bound: u32) -> bool {
        self.noted.retain(|_, (since, _)| now.served - *since < HOUR_MS);
        let (_, count) = self.noted.entry(kind.to_string()).or_insert((now.served, 0));
        *count = count.saturating_add(1);
        *count <= bound
    }

    /// A device called, or answered.
    pub(super) fn met(&mut self, now: &Now, device: Device) -> Done {
        let known = self.devices.get(&device.id);
        let version = match (device.version.as_str(), known) {
            ("", Some(known)) => known.version.clone(),
            _ => cut(&device.version, 40),
        };
        let met = Device { seen: now.wall, version, label: cut(&device.label, 200), ..device };
        let again = known.is_some_and(|known| {
            let since = now.wall - known.seen;
            known.label == met.label && known.version == met.version && (0..NOTED_EVERY_MS).contains(&since)
        });
        if !again && (known.is_some() || self.devices.len() < MAX_DEVICES) {
            self.devices.insert(met.id.clone(), met.clone());
            self.met.push(Arc::new(met));
        }
        Done::Nothing
    }

    /// The devices that are on the mesh now: what was given to a name (rights, leave to hand files over)
    /// is bound to the one that has it, and is in the log.
    pub(super) fn mesh(&mut self, now: &Now, devices: &[OnMesh]) -> Done {
        let given = self.place.settings.grants.clone();
        let senders = self.sessions.iter().flat_map(|(_, s)| &s.accept_files_from);
        let senders: Vec<FilesFrom> = senders.filter_map(|text| FilesFrom::parse(text).ok()).collect();
        let names = given.names().chain(senders.iter().map(FilesFrom::machine)).collect();
        let pins = pin(&names, &self.meta.given.pins, devices);
        let said = given.said();
        // A new state that says nothing of its own has nothing to tell.
        if said != self.meta.given.said && !(self.meta.given.said.is_empty() && given.is_plain()) {
            self.write_audit(now, OWNER.to_string(), "the config".to_string(), "rights", "devices", &said, Vec::new());
        }
        let before = std::mem::replace(&mut self.meta.given, crate::row::Given { said, pins: pins.clone() });
        for (label, id) in pins.iter().filter(|(label, _)| !before.pins.contains_key(*label)) {
            let (from, right) = match given.named.get(label) {
                Some(right) => ("the config", right.word()),
                None => ("accept_files_from", "files"),
            };
            let about = format!("{label} = {id}");
            self.write_audit(now, OWNER.to_string(), from.to_string(), "right", &about, right, Vec::new());
        }
        Done::Nothing
    }
}
