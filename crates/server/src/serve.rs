//! Serving: accept loops of our own, so that slow headers and too many connections have bounds,
//! and an end that lets requests finish.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use shrooms_core::Kind;
use shrooms_engine::Engine;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::app::{App, Doorway, ServerConfig};
use crate::listen::{Listeners, ServeError};
use crate::principal::{self, Peer, Refreshed};
use crate::problem::Problem;
use crate::room::{Room, Whose};
use crate::{a2a, guard, v1};

/// How long a client may take for its headers (seed: 10 s).
const HEADERS: Duration = Duration::from_secs(10);
/// How long a client may take nothing of what it asked for; then its connection ends, for each one
/// holds a place and what it did not take. Longer than a machine sleeps between two acknowledgements.
const STUCK: Duration = Duration::from_secs(60);
/// How long requests that run may go on after the end was asked for.
const FINISH: Duration = Duration::from_secs(5);
/// After a failed accept (out of descriptors), before the next.
const BREATH: Duration = Duration::from_millis(100);

/// A server over bound sockets.
pub struct Server {
    app: App,
    listeners: Listeners,
}

impl Server {
    /// Puts the engine behind the sockets; nothing is accepted before [`Server::run`].
    pub fn new(engine: Engine, listeners: Listeners, config: ServerConfig) -> Server {
        let app = App {
            engine,
            config: Arc::new(config),
            listening: listeners.listening(),
            json: Arc::new(Semaphore::new(guard::AT_ONCE_KIB)),
            events: Arc::new(Semaphore::new(a2a::EVENTS_KIB)),
            large: Arc::new(Semaphore::new(guard::LARGE_AT_ONCE)),
            changed: Arc::default(),
            shutdown: CancellationToken::new(),
        };
        Server { app, listeners }
    }

    /// Serves until `shutdown`; then takes nothing new, ends streams and waits, and lets requests
    /// finish for five seconds.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), ServeError> {
        let router = router(Doorway::new(self.app.clone()));
        let door = Arc::new(Door {
            app: self.app.clone(),
            router,
            room: Room::new(),
            refreshed: Refreshed::default(),
            connections: TaskTracker::new(),
            closing: CancellationToken::new(),
        });
        let loops = TaskTracker::new();
        let unix = self.listeners.unix;
        let at = door.clone();
        spawn(&loops, async move {
            loop {
                let Some(permit) = at.room.socket().await else { return };
                match unix.accept().await {
                    Ok((stream, _)) => {
                        let credentials = stream.peer_cred();
                        let door = at.clone();
                        spawn(&at.connections, async move {
                            let peer = principal::of_socket(&door.app.engine, credentials).await;
                            let share = match &peer {
                                Peer::Local { below: Some(uid) } => match door.room.share(Whose::Session(*uid)) {
                                    Some(share) => Some(share),
                                    None => {
                                        return tracing::info!(
                                            session = uid.0,
                                            "closed: it has as many connections as it may"
                                        );
                                    }
                                },
                                _ => None,
                            };
                            door.serve(stream, peer).await;
                            drop(share);
                            drop(permit);
                        });
                    }
                    Err(error) => breathe(&error).await,
                }
            }
        });
        let keeping = CancellationToken::new();
        let (at, until) = (door.clone(), keeping.clone());
        spawn(&loops, self.listeners.tcp.keep(until, move |tcp, on, stop| spawn(on, accept(at.clone(), tcp, stop))));
        shutdown.cancelled().await;
        door.app.shutdown.cancel();
        keeping.cancel();
        door.closing.cancel();
        door.room.close();
        door.connections.close();
        if tokio::time::timeout(FINISH, door.connections.wait()).await.is_err() {
            tracing::info!("some connections did not end in time");
        }
        Ok(())
    }
}

/// Takes connections at one address until `stop`.
async fn accept(at: Arc<Door>, tcp: TcpListener, stop: CancellationToken) {
    while let Some(Some(permit)) = stop.run_until_cancelled(at.room.tcp()).await {
        let Some(accepted) = stop.run_until_cancelled(tcp.accept()).await else { return };
        match accepted {
            Ok((stream, from)) => {
                let Some(share) = at.room.share(Whose::Address(from.ip())) else {
                    tracing::info!(%from, "closed: this address has as many connections as it may");
                    continue;
                };
                let door = at.clone();
                spawn(&at.connections, async move {
                    let Ok(to) = stream.local_addr() else { return };
                    // Without it small answers wait for an acknowledgement; that it cannot be set
                    // means that the peer is gone.
                    let _ = stream.set_nodelay(true);
                    match principal::of_address(&door.app.engine, &door.refreshed, from, to).await {
                        Some(peer) => door.serve(stream, peer).await,
                        None => tracing::info!(%from, "closed: the address is no machine of the mesh"),
                    }
                    drop((permit, share));
                });
            }
            Err(error) => breathe(&error).await,
        }
    }
}

async fn breathe(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(BREATH).await;
}

#[allow(clippy::disallowed_methods, reason = "the one place where the server spawns; tracked")]
fn spawn(on: &TaskTracker, work: impl Future<Output = ()> + Send + 'static) {
    on.spawn(work);
}

struct Door {
    app: App,
    router: Router,
    room: Room,
    refreshed: Refreshed,
    connections: TaskTracker,
    closing: CancellationToken,
}

impl Door {
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, peer: Peer) {
        let router = self.router.clone();
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            router.clone().oneshot(request)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(STUCK));
        let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), service);
        tokio::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = self.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

fn router(door: Doorway) -> Router {
    Router::new()
        .route("/.well-known/agent-card.json", get(a2a::cards::machine))
        .merge(a2a::routes())
        .merge(v1::routes(&door))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_that_way)
        // The guard has the bound, and says what to do.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(door.clone(), guard::check))
        .layer(middleware::from_fn(catch))
        .with_state(door)
}

/// A panic in a handler is our fault and is said as such; the connection lives on.
async fn catch(request: Request, next: middleware::Next) -> Response {
    use futures_util::FutureExt;
    match std::panic::AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => Problem::new(Kind::Internal, "this daemon has a fault: see its log").into_response(),
    }
}

async fn nowhere(request: Request) -> Problem {
    Problem::not_found(format!("there is nothing at {}: see docs/api.md", shown(request.uri().path())))
}

async fn not_that_way(request: Request) -> Problem {
    let what = format!("{} is not possible at {}", request.method(), shown(request.uri().path()));
    Problem::bad(what).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

fn shown(path: &str) -> String {
    shrooms_core::text::cut(path, 200)
}
