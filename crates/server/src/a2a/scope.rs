//! Which sessions and tasks a call can name: at a session's address its own alone. What it may not
//! see answers as what is not there.

use shrooms_a2a::types::Message;
use shrooms_a2a::{A2aError, ErrorCode, shrooms as keys};
use shrooms_core::row::{Session, Task};
use shrooms_core::{Principal, near};

use super::refusal::refused;
use crate::app::App;

/// Who calls, and where.
pub(super) struct Scope {
    pub(super) app: App,
    pub(super) by: Principal,
    /// The session in the path, or the tenant; absent at the machine's own address.
    pub(super) session: Option<String>,
}

impl Scope {
    /// The session that a message is for: in the path, in its metadata, or by its task.
    pub(super) async fn session_of(&self, message: &Message) -> Result<Session, A2aError> {
        let of_metadata = || keys::text(message.metadata.as_ref(), keys::SESSION).map(str::to_string);
        let fallback = || self.app.config.profile.as_ref().map(|p| p.session.clone());
        let named = self.session.clone().or_else(of_metadata);
        let found = match message.task_id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => self.task_row(id).await?,
            None => None,
        };
        // A task is its session's, whatever that is called by now.
        let named = match &found {
            Some(task) => named.filter(|name| !is_named_after(task, name)),
            None => named.or_else(fallback),
        };
        if let Some(name) = named {
            return self.session_named(&name).await;
        }
        let uid = found.map(|t| t.session).ok_or_else(|| {
            A2aError::invalid_params(
                "message.metadata.shrooms/session",
                "says which session is meant: or post to /a2a/SESSION",
            )
        })?;
        let row = self.app.engine.read(move |r| r.session(uid)).await.map_err(refused)?;
        row.filter(|s| s.removed.is_none())
            .ok_or_else(|| A2aError::invalid_params("session", "the task's session is not there any more"))
    }

    pub(super) async fn session_named(&self, name: &str) -> Result<Session, A2aError> {
        let wanted = name.to_string();
        let found = self.app.engine.read(move |r| r.session_named(&wanted)).await.map_err(refused)?;
        if let Some(session) = found {
            return Ok(session);
        }
        let names = self.app.engine.read(|r| r.session_names()).await.map_err(refused)?;
        let hint = near::hint(&near::near(name, names.iter().map(String::as_str)));
        let shown = shrooms_core::text::cut(name, 80);
        let machine = self.app.engine.machine();
        Err(A2aError::new(ErrorCode::InvalidParams, format!("no session '{shown}' on {machine}{hint}")))
    }

    /// The task of this id, if it is there for this caller.
    pub(super) async fn task_row(&self, id: &str) -> Result<Option<Task>, A2aError> {
        let id = id.to_string();
        let found = self.app.engine.read(move |r| r.task(&id)).await.map_err(refused)?;
        Ok(found.filter(|task| self.by.guest().is_none() || self.by.is_same(&task.sender.principal)))
    }

    /// The task of this id, if it may be named here. A bare message id means the session's task of
    /// that name.
    pub(super) async fn task(&self, id: &str) -> Result<Task, A2aError> {
        let mut found = self.task_row(id).await?;
        if let (Some(name), Some(task)) = (&self.session, &found)
            && is_named_after(task, name)
        {
            return found.ok_or_else(|| A2aError::task_not_found(id));
        }
        let session = match &self.session {
            Some(name) => Some(self.session_named(name).await?),
            None => None,
        };
        if let (None, Some(session), false) = (&found, &session, id.contains(':')) {
            found = self.task_row(&shrooms_core::id::task_id(&session.name, id)).await?;
        }
        found
            .filter(|t| session.as_ref().is_none_or(|s| s.uid == t.session))
            .ok_or_else(|| A2aError::task_not_found(&shrooms_core::text::cut(id, 200)))
    }
}

/// Whether the task's id was made from this name: its session may be called otherwise by now.
fn is_named_after(task: &Task, name: &str) -> bool {
    task.id.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
}
