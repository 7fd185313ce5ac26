//! When to look again at a task of another machine: its agent's stream says so at once; where it has
//! none, or it breaks off for good, time does. It must not know how the task stands: that is asked.

use std::sync::Arc;
use std::time::Duration;

use shrooms_a2a::StreamResponse;
use shrooms_outbound::{AgentOptions, Follow, Peer, StreamLimits, segment};

use crate::engine::{Engine, Inner};

/// Looks out for changes of one task.
pub struct Progress {
    inner: Arc<Inner>,
    peer: Peer,
    session: String,
    id: String,
    /// Between two looks where nothing says when.
    otherwise: Duration,
    state: State,
    /// Something happened that was not told yet.
    news: bool,
}

/// Between two changes that are told: a machine must not set the pace of this one.
const LEAST: Duration = Duration::from_millis(200);

enum State {
    New,
    Following(Box<Follow>),
    /// Its agent cannot be followed.
    Not,
}

impl Engine {
    /// Looks out for changes of a task of another machine's session. Where its agent cannot be
    /// followed, each `otherwise` is taken for one.
    pub fn progress(&self, peer: Peer, session: &str, id: &str, otherwise: Duration) -> Progress {
        let (session, id) = (session.to_string(), id.to_string());
        Progress { inner: self.0.clone(), peer, session, id, otherwise, state: State::New, news: false }
    }
}

impl Progress {
    /// Returns when the task may have changed since this was last called, the first time as soon as
    /// nothing can be missed any more. Nothing is lost when the call is dropped.
    pub async fn changed(&mut self) {
        loop {
            if self.news {
                tokio::time::sleep(LEAST).await;
                self.news = false;
                return;
            }
            match &mut self.state {
                State::New => {
                    self.state = match self.follow().await {
                        Some(follow) => State::Following(Box::new(follow)),
                        None => State::Not,
                    };
                }
                State::Following(follow) => match follow.next().await {
                    // What the worker says meanwhile changes nothing.
                    Ok(Some(StreamResponse::ArtifactUpdate(_))) => {}
                    Ok(Some(_)) => self.news = true,
                    Ok(None) => {
                        self.state = State::Not;
                        self.news = true;
                    }
                    Err(error) => {
                        tracing::debug!(%error, task = self.id, "a task cannot be followed: it is looked at by time");
                        self.state = State::Not;
                    }
                },
                State::Not => {
                    tokio::time::sleep(self.otherwise).await;
                    // It may have begun to stream meanwhile, or the machine to answer again.
                    self.state = State::New;
                    return;
                }
            }
        }
    }

    async fn follow(&self) -> Option<Follow> {
        let base = format!("/a2a/{}", segment(&self.session)?);
        let now = Duration::from_millis(self.inner.clock.wall().unsigned_abs());
        // A stream that breaks off is a reason to look, which says whether the machine is still there.
        let limits = StreamLimits { tries: 0, ..StreamLimits::default() };
        let options = AgentOptions { limits, ..AgentOptions::default() };
        match self.inner.outbound.agent(&self.peer, &base, options, now).await {
            Ok(agent) => Some(agent.follow(&self.id)),
            Err(error) => {
                tracing::debug!(%error, task = self.id, "an agent cannot be followed: its task is looked at by time");
                None
            }
        }
    }
}
