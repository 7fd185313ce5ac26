//! A fake shrooms daemon: `GET /status` on its control socket.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Held, Manner, Server};

/// A fake shrooms daemon; it has joined no mesh until a test says so.
pub struct FakeShrooms {
    status: Arc<Held<Value>>,
    server: Server,
}

impl FakeShrooms {
    /// Starts one whose socket is `path`.
    pub fn at(path: &Path) -> FakeShrooms {
        let status = Arc::new(Held(std::sync::Mutex::new(json!({"name": "", "waiting": true, "version": "fake"}))));
        let shown = status.clone();
        let server = Server::start(
            path,
            Box::new(move |target| match target {
                "/status" => (200, shown.get().to_string()),
                _ => (404, "404 page not found".into()),
            }),
        );
        FakeShrooms { status, server }
    }

    /// Says exactly this.
    pub fn say(&self, status: Value) {
        self.status.change(|held| *held = status);
    }

    /// It has joined meshes (label, own address) as `name`, with peers (name, label, address).
    pub fn joined(&self, name: &str, meshes: &[(&str, &str)], peers: &[(&str, &str, &str)]) {
        self.say(json!({
            "name": name,
            "version": "fake",
            "overlay": meshes.first().map_or("", |mesh| mesh.1),
            "dns": {"suffix": "mesh"},
            "meshes": meshes.iter().map(|(label, overlay)| json!({
                "label": label, "overlay": overlay, "interface": "shrooms0", "peers": peers.len(),
            })).collect::<Vec<_>>(),
            "peers": peers.iter().map(|(name, mesh, overlay)| json!({
                "name": name, "mesh": mesh, "overlay": overlay, "online": true, "services": null,
            })).collect::<Vec<_>>(),
        }));
    }

    /// How it answers from now on.
    pub fn manner(&self, manner: Manner) {
        self.server.manner(manner);
    }

    /// Goes away, with its socket.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    /// Comes back as it was.
    pub fn resume(&mut self) {
        self.server.resume();
    }

    /// What it was asked, as `GET TARGET for HOST`.
    pub fn asked(&self) -> Vec<String> {
        self.server.asked()
    }
}
