//! What every handler is given: the engine, the settings, who asks.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use shrooms_core::Principal;
use shrooms_engine::Engine;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::a2a::Changed;
use crate::listen::Listening;
use crate::problem::Problem;

/// Settings of the server that do not come from the engine.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub version: String,
    /// The daemon's search path for programs (`PATH`).
    pub path: String,
    /// Claude Code, as the engine has it.
    pub claude: String,
    /// Sessions of the tests' scripted harness may be made.
    pub allow_scripted: bool,
    /// For conformance kits alone.
    pub profile: Option<Profile>,
}

/// The named test profile (`docs/conformance.md`): what conformance kits need that no user does.
/// Message ids do not make messages the same, a session is meant where none is named, and files of
/// every type are taken. What the daemon sees of a worker's run is not shown: it grows without a
/// change of the task, and a kit wants two readers of a task to see the same to the byte.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The session that is meant where none is named.
    pub session: String,
    pub offers: Offers,
}

/// What the card of a test profile says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offers {
    /// All that there is.
    All,
    /// Nothing beyond what must be there.
    Nothing,
    /// A client must speak an extension that only kits know.
    RequiredExtension,
}

/// Between a kit's message id and what makes it another one each time.
const AGAIN: char = '~';

impl Profile {
    /// A kit sends the same id for different messages: each is made its own.
    pub(crate) fn message_id(&self, id: &str, random: u64) -> String {
        format!("{id}{AGAIN}{random:016x}")
    }
}

/// What the card offers, and the handler holds to.
pub(crate) struct Capabilities {
    pub(crate) streaming: bool,
    pub(crate) required: Option<&'static str>,
}

/// The extension that the compatibility kit declares itself unable to speak.
const OF_THE_KIT: &str = "urn:a2a:tck:required-extension";

impl ServerConfig {
    /// A message's id as its sender chose it.
    pub(crate) fn sent_id<'a>(&self, id: &'a str) -> &'a str {
        let of_kit = || id.rsplit_once(AGAIN).map(|(sent, _)| sent);
        self.profile.as_ref().and_then(|_| of_kit()).unwrap_or(id)
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        let offers = self.profile.as_ref().map(|p| p.offers);
        Capabilities {
            streaming: offers != Some(Offers::Nothing),
            required: (offers == Some(Offers::RequiredExtension)).then_some(OF_THE_KIT),
        }
    }
}

impl Capabilities {
    /// An extension that a client must list and does not.
    pub(crate) fn missing_extension(&self, listed: &[String]) -> Option<&'static str> {
        self.required.filter(|uri| !listed.iter().any(|l| l == uri))
    }

    /// Whether it is one of those on the card.
    pub(crate) fn has_extension(&self, uri: &str) -> bool {
        uri == shrooms_a2a::shrooms::EXTENSION_URI || self.required == Some(uri)
    }
}

/// What the router holds. No handler can have it: an [`App`] comes out of it for one caller alone.
#[derive(Clone)]
pub(crate) struct Doorway(App);

impl Doorway {
    pub(crate) fn new(app: App) -> Doorway {
        Doorway(app)
    }

    /// For whoever establishes who asks, and what they may: nothing of a session is read by it.
    pub(crate) fn unseen(&self) -> &App {
        &self.0
    }

    /// What handlers of this caller's requests are given.
    pub(crate) fn for_caller(&self, by: &Principal) -> App {
        App { engine: self.0.engine.seen_by(by), ..self.0.clone() }
    }
}

/// The app as the caller of this request sees it: sessions that are not there for its mesh cannot be read
/// with it. In place of axum's own, which does not know who asks.
pub(crate) struct State<T>(pub(crate) T);

impl FromRequestParts<Doorway> for State<App> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Doorway) -> Result<State<App>, Problem> {
        let caller = parts.extensions.get::<Caller>();
        let Caller(by) = caller.ok_or_else(|| Problem::refused("nobody asks"))?;
        Ok(State(door.for_caller(by)))
    }
}

/// Shared by all handlers, for one caller.
#[derive(Clone)]
pub(crate) struct App {
    /// As the caller sees it.
    pub(crate) engine: Engine,
    pub(crate) config: Arc<ServerConfig>,
    /// The addresses that are listened on, and why others are not.
    pub(crate) listening: Listening,
    /// Room for bodies as JSON, in KiB.
    pub(crate) json: Arc<Semaphore>,
    /// Room for events of streams that are large, in KiB.
    pub(crate) events: Arc<Semaphore>,
    /// Turns of bodies that are large.
    pub(crate) large: Arc<Semaphore>,
    /// Since when each card is as it is.
    pub(crate) changed: Arc<Changed>,
    /// The server ends: streams and waits give up.
    pub(crate) shutdown: CancellationToken,
}

/// A request that another machine hands on for a device; an extension of such requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forwarded;

/// Where a device's request comes from; an extension of such requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct From(pub(crate) std::net::IpAddr);

/// Who asks, as established from the connection; an extension of every request.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Principal);
