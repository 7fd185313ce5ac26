//! The engine as one caller sees it: a device to whom some sessions are not there reads none of what is
//! theirs. Decided at this one place for all that is read; for what is asked of the desk, in the desk.

use std::sync::Arc;

use shrooms_core::Principal;
use shrooms_core::id::SessionUid;
use shrooms_core::row::SessionSet;
use shrooms_store::{Reader, StoreError};

use crate::engine::{Engine, Inner};

impl Engine {
    /// The same engine for this caller: what it reads is what there is for them.
    #[must_use]
    pub fn seen_by(&self, by: &Principal) -> Engine {
        let bound = matches!(by, Principal::Device { .. }).then(|| Arc::new(by.clone()));
        Engine(self.0.clone(), bound)
    }

    /// Whether a session, also one that was removed, is not there for the caller.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub async fn hides(&self, session: SessionUid) -> Result<bool, crate::EngineError> {
        if self.1.is_none() {
            return Ok(false);
        }
        self.read(move |r| Ok(r.hidden().has(session))).await
    }

    /// What tells callers apart who see different things: nothing for this machine's own.
    pub fn sees_as(&self) -> String {
        match self.1.as_deref() {
            Some(Principal::Device { meshes, .. }) => meshes.join(" "),
            _ => String::new(),
        }
    }

    /// Labels of this machine's meshes, those that are not served, too.
    pub fn mesh_labels(&self) -> Vec<String> {
        let meshes = self.mesh().meshes();
        let mut labels: Vec<String> = meshes.iter().filter_map(|mesh| mesh.label.clone()).collect();
        labels.sort();
        labels.dedup();
        labels
    }

    /// Whether the settings can be taken, as far as this machine's programs go.
    ///
    /// # Errors
    /// Why not, and what to do instead.
    pub fn check_set(&self, set: &SessionSet) -> Result<(), String> {
        let args = set.args.as_deref().unwrap_or_default();
        shrooms_runner::claude::check_extra(args).map_err(|error| format!("args: {error}"))
    }
}

/// The reader of a caller: of a device, one from which is kept what is not there for it.
pub(crate) fn reader(inner: &Inner, by: Option<&Principal>) -> Result<Option<Reader>, StoreError> {
    match by {
        Some(by @ Principal::Device { id, .. }) => inner.reader.for_device(id, |session| by.sees(session)).map(Some),
        _ => Ok(None),
    }
}
