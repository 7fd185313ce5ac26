//! `GET /v1/harnesses` and `GET /v1/meshes`: what a session of this machine can be made with, and the
//! meshes that one can be kept to.

use axum::Json;
use serde::Serialize;
use shrooms_core::Kind;

use super::program;
use crate::app::{App, State};
use crate::problem::Problem;

#[derive(Serialize)]
pub(super) struct Harnesses {
    harnesses: Vec<Harness>,
}

#[derive(Serialize)]
struct Harness {
    name: &'static str,
    title: &'static str,
    caps: Caps,
    /// Where its program is; null where there is none yet, or that is the owner's to say.
    found: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Serialize)]
struct Caps {
    /// It asks before it uses a tool.
    approve: bool,
    /// Conversations that began outside can be listed and continued.
    takeover: bool,
}

pub(super) async fn list(State(app): State<App>) -> Result<Json<Harnesses>, Problem> {
    let config = app.config.clone();
    let looked = tokio::task::spawn_blocking(move || program::find(&config.claude, &config.path)).await;
    let looked = looked.map_err(|e| Problem::new(Kind::Internal, format!("the look for programs broke off: {e}")))?;
    let (found, why) = match looked {
        Ok(path) => (Some(path), None),
        Err(_) => {
            let claude = &app.config.claude;
            let why = format!(
                "'{claude}' is not there: install it (https://code.claude.com), or start the daemon with --claude PATH"
            );
            (None, Some(why))
        }
    };
    let claude =
        Harness { name: "claude", title: "Claude Code", caps: Caps { approve: true, takeover: true }, found, why };
    let command = Harness {
        name: "command",
        title: "A command of yours",
        caps: Caps { approve: false, takeover: false },
        found: None,
        why: Some("each session names its own program".to_string()),
    };
    Ok(Json(Harnesses { harnesses: vec![claude, command] }))
}

#[derive(Serialize)]
pub(super) struct Meshes {
    meshes: Vec<String>,
}

pub(super) async fn meshes(State(app): State<App>) -> Json<Meshes> {
    Json(Meshes { meshes: app.engine.mesh_labels() })
}
