//! Devices of the mesh as this machine knows them: what they may, and when they were last seen. Must not
//! know how the mesh is asked, nor what a right allows.

use std::sync::{Arc, PoisonError};

use shrooms_core::Principal;
use shrooms_core::desk::Request;
use shrooms_core::rights::Right;
use shrooms_core::row::Device;
use shrooms_mesh::Machine;

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// A device of the mesh, with what it may do here now.
    pub fn device(&self, machine: &Machine) -> Principal {
        let (id, label) = (machine.id.0.clone(), machine.label());
        let pins = self.0.pins.read().unwrap_or_else(PoisonError::into_inner).clone();
        let right = self.0.settings.grants.of(&pins, &id, &label);
        Principal::Device { id, label, right }
    }

    /// What is given to the device with this identity, wherever it is.
    pub fn right_of(&self, id: &str) -> Option<Right> {
        let machine = self.0.mesh.machines().iter().find(|m| m.id.0 == id).cloned()?;
        match self.device(&machine) {
            Principal::Device { right, .. } => Some(right),
            Principal::Owner | Principal::Session(_) => None,
        }
    }

    /// Rights that were given by name are bound to the devices that have those names now. To be called
    /// at the start, and whenever the mesh's names have changed.
    ///
    /// # Errors
    /// The state cannot be written; rights by name that are not bound yet are then the lesser ones.
    pub async fn bind_rights(&self) -> Result<(), EngineError> {
        let machines = self.0.mesh.machines();
        let me = self.0.mesh.me();
        let others = machines.iter().filter(|m| m.id != me.id);
        let devices = others.map(|m| (m.id.0.clone(), m.label())).collect();
        self.request(Request::Mesh { devices }).await?;
        let pins = self.read(|r| r.meta()).await?.given.pins;
        *self.0.pins.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pins);
        Ok(())
    }

    /// A device called, or answered; `version` is what its daemon says of itself, if it did.
    pub async fn met(&self, machine: &Machine, version: &str) {
        let device = Device { id: machine.id.0.clone(), label: machine.label(), seen: 0, version: version.to_string() };
        if let Err(error) = self.request(Request::Met(device)).await {
            tracing::debug!(%error, "that a device was seen could not be kept");
        }
    }
}
