//! Devices of the mesh as this machine knows them: what they may, and when they were last seen. Must not
//! know how the mesh is asked, nor what a right allows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use shrooms_core::desk::{MAX_DEVICES, NOTED_EVERY_MS, Request};
use shrooms_core::rights::{OnMesh, Pins, Right};
use shrooms_core::row::Device;
use shrooms_core::{Principal, near};
use shrooms_mesh::Machine;

use crate::engine::Engine;
use crate::error::EngineError;

fn on_mesh(machine: &Machine) -> OnMesh {
    OnMesh {
        id: machine.id.0.clone(),
        label: machine.label(),
        name: machine.name.clone(),
        of_another: machine.of_another,
    }
}

/// When each device was last noted, and what it said of itself: the desk's own rule, asked before, so that
/// a call costs no turn of it. Where there are more devices than it knows, some are asked about more often.
#[derive(Default)]
pub(crate) struct Noted(Mutex<BTreeMap<String, (i64, String)>>);

impl Noted {
    /// Whether it is to be noted now; from then on it was.
    fn is_due(&self, id: &str, version: &str, now: i64) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(id);
        let again = known.is_some_and(|(at, said)| {
            (0..NOTED_EVERY_MS).contains(&(now - at)) && (version.is_empty() || said == version)
        });
        if again {
            return false;
        }
        if all.len() >= MAX_DEVICES {
            all.clear();
        }
        all.insert(id.to_string(), (now, version.to_string()));
        true
    }
}

impl Engine {
    /// A device of the mesh, with what it may do here now.
    pub fn device(&self, machine: &Machine) -> Principal {
        let device = on_mesh(machine);
        let right = self.0.settings.grants.of(&self.pins(), &device);
        let meshes = vec![machine.mesh.clone().unwrap_or_default()];
        Principal::Device { id: device.id, label: device.label, right, meshes }
    }

    fn pins(&self) -> Arc<Pins> {
        self.0.pins.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether something that the owner gave to this name is for the device with this identity.
    pub fn is_bound(&self, name: &str, id: &str) -> bool {
        self.pins().get(name).is_some_and(|bound| bound == id)
    }

    /// What is given to the device with this identity, wherever it is.
    pub fn right_of(&self, id: &str) -> Option<Right> {
        let machine = self.0.mesh.machines().iter().find(|m| m.id.0 == id).cloned()?;
        match self.device(&machine) {
            Principal::Device { right, .. } => Some(right),
            Principal::Owner | Principal::Session(_) => None,
        }
    }

    /// What was given to names (rights, leave to hand files over) is bound to the devices that have them now. To be called
    /// at the start, and whenever the mesh's names have changed.
    ///
    /// # Errors
    /// The state cannot be written; rights by name that are not bound yet are then the lesser ones.
    pub async fn bind_rights(&self) -> Result<(), EngineError> {
        let machines = self.0.mesh.machines();
        let me = self.0.mesh.me();
        let others = machines.iter().filter(|m| m.id != me.id);
        let devices = others.map(|machine| on_mesh(machine)).collect();
        self.request(Request::Mesh { devices }).await?;
        let pins = self.read(|r| r.meta()).await?.given.pins;
        *self.0.pins.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pins);
        Ok(())
    }

    /// What a person should know of the mesh's names: what is wrong with the list, and rights that are
    /// given to nobody who is on it now.
    pub fn warnings(&self) -> Vec<String> {
        let machines = self.0.mesh.machines();
        let known: Vec<OnMesh> = machines.iter().map(|machine| on_mesh(machine)).collect();
        let all = |device: &OnMesh| [device.id.clone(), device.label.clone(), device.name.clone()];
        let names: Vec<String> = known.iter().skip(1).flat_map(all).collect();
        let own = known.first().map(all).unwrap_or_default();
        let unmet = self.0.settings.grants.named.keys().filter(|name| !names.contains(name)).map(|name| {
            if own.contains(name) {
                return format!("mesh_devices: {name} is this machine itself, which no right is given to");
            }
            let hint = near::hint(&near::near(name, names.iter().map(String::as_str)));
            format!("mesh_devices: {name} is no machine of the mesh now{hint}")
        });
        self.0.mesh.warnings().iter().cloned().chain(unmet).collect()
    }

    /// A device called, or answered; `version` is what its daemon says of itself, if it did.
    pub async fn met(&self, machine: &Machine, version: &str) {
        if !self.0.noted.is_due(&machine.id.0, version, self.wall()) {
            return;
        }
        let device = Device { id: machine.id.0.clone(), label: machine.label(), seen: 0, version: version.to_string() };
        if let Err(error) = self.request(Request::Met(device)).await {
            tracing::debug!(%error, "that a device was seen could not be kept");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_goes_on_calling_is_noted_once_a_minute_and_when_it_says_something_new() {
        let noted = Noted::default();
        for (at, version, due) in [
            (0, "", true),
            (59_999, "", false),
            (60_000, "", true),
            (60_001, "0.1.0", true),
            (60_002, "0.1.0", false),
            (60_003, "", false),
            (60_004, "0.2.0", true),
            // The clock was set back.
            (10, "0.2.0", true),
        ] {
            assert_eq!(noted.is_due("home/1", version, at), due, "{at} {version}");
        }
        assert!(noted.is_due("home/2", "", 10));
    }
}
