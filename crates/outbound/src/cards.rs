//! Agent cards: fetched, kept as long as their headers allow, and asked for again with what is known
//! of them (RFC 9111, as far as one client with one entry for each agent needs it).
//! Must not know which interface of a card is called, nor read a clock: the time is handed in.

mod freshness;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, ETAG, HeaderMap, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;
use shrooms_a2a::{A2aError, AgentCard, ErrorCode, decode};

use crate::call::{Call, unsure, within};
use crate::http::{self, Answer, VERSION};
use crate::{CALL_TIMEOUT, CallError, Peer};
use freshness::{Age, Freshness};

/// The most that is read of a card: one with some hundred skills of a few hundred characters each
/// stays below 100 KiB.
pub const CARD_MAX: usize = 256 << 10;

/// A person's machines have some ten sessions each; more cards than this are not of one fleet. The
/// one that was not used for the longest time goes first: it can be had again.
const CARDS_MAX: usize = 64;

/// Where a card is, below the address of its agent (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/agent-card.json";

/// A card, and where it was fetched.
type Key = (Peer, String);

/// The cards that are kept.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    kept: Mutex<BTreeMap<Key, Kept>>,
}

#[derive(Debug, Clone)]
struct Kept {
    card: Arc<AgentCard>,
    etag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
    freshness: Freshness,
    /// When the agent last said that this is its card.
    checked: Duration,
    used: Duration,
}

impl Kept {
    fn age(&self, now: Duration) -> Age {
        self.freshness.at(now.saturating_sub(self.checked))
    }

    /// What asks for the card only if it is another one by now.
    fn conditions(&self) -> HeaderMap {
        let conditions = [(IF_NONE_MATCH, &self.etag), (IF_MODIFIED_SINCE, &self.modified)];
        conditions.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }
}

impl Cards {
    /// The card of the agent at `base`, from here or from there. `now` is the time by any clock that
    /// counts on from a fixed moment; if it goes back, a card counts as new for longer.
    ///
    /// # Errors
    /// `Away` if no whole answer came: a repeat is safe. `Refused` if what came is no card, and
    /// `Http` for another status than success.
    pub async fn get(
        &self,
        client: &Client,
        peer: &Peer,
        base: &str,
        now: Duration,
    ) -> Result<Arc<AgentCard>, CallError> {
        let base = base.trim_end_matches('/');
        let key = (peer.clone(), base.to_owned());
        let held = self.held(&key, now);
        if let Some(held) = &held
            && held.age(now) == Age::Fresh
        {
            return Ok(Arc::clone(&held.card));
        }
        let answer = match fetch(client, peer, base, held.as_ref()).await {
            Ok(answer) => answer,
            // If nothing can be connected to, the call that the card is for would go the same way.
            Err(CallError::Unsure(why)) => return self.stale(held, now, CallError::Away(why)),
            Err(error) => return Err(error),
        };
        match (answer.status, held) {
            (StatusCode::NOT_MODIFIED, Some(held)) => Ok(self.renew(key, held, &answer, now)),
            (status, held) if status.is_server_error() || is_for_now(status) => {
                self.stale(held, now, CallError::http(&answer))
            }
            (status, _) => {
                let card = match status.is_success() {
                    true => read(peer, base, &answer.body),
                    false => Err(CallError::http(&answer)),
                };
                match card {
                    Ok(card) => Ok(self.keep(key, card, &answer, now)),
                    // What the agent says now counts, also when it is no card.
                    Err(error) => {
                        self.locked().remove(&key);
                        Err(error)
                    }
                }
            }
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self, key: &Key, now: Duration) -> Option<Kept> {
        let mut kept = self.locked();
        let held = kept.get_mut(key)?;
        held.used = now;
        Some(held.clone())
    }

    /// The card that could not be asked for again, for a while.
    fn stale(&self, held: Option<Kept>, now: Duration, error: CallError) -> Result<Arc<AgentCard>, CallError> {
        match held {
            Some(held) if held.age(now) == Age::Usable => Ok(held.card),
            _ => Err(error),
        }
    }

    fn renew(&self, key: Key, held: Kept, answer: &Answer, now: Duration) -> Arc<AgentCard> {
        let given = |name| answer.headers.get(name).cloned();
        let renewed = Kept {
            etag: given(ETAG).or(held.etag),
            modified: given(LAST_MODIFIED).or(held.modified),
            freshness: Freshness::of(&answer.headers).unwrap_or(held.freshness),
            checked: now,
            ..held
        };
        self.insert(key, renewed)
    }

    fn keep(&self, key: Key, card: AgentCard, answer: &Answer, now: Duration) -> Arc<AgentCard> {
        let given = |name| answer.headers.get(name).cloned();
        let card = Kept {
            card: Arc::new(card),
            etag: given(ETAG),
            modified: given(LAST_MODIFIED),
            freshness: Freshness::of(&answer.headers).unwrap_or_default(),
            checked: now,
            used: now,
        };
        self.insert(key, card)
    }

    fn insert(&self, key: Key, card: Kept) -> Arc<AgentCard> {
        let given = Arc::clone(&card.card);
        let mut kept = self.locked();
        if !card.freshness.may_be_kept() {
            kept.remove(&key);
            return given;
        }
        if kept.len() >= CARDS_MAX && !kept.contains_key(&key) {
            let oldest = kept.iter().min_by_key(|(_, card)| card.used).map(|(key, _)| key.clone());
            oldest.and_then(|key| kept.remove(&key));
        }
        kept.insert(key, card);
        given
    }
}

/// Whether a refusal is of this moment only.
fn is_for_now(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

async fn fetch(client: &Client, peer: &Peer, base: &str, held: Option<&Kept>) -> Result<Answer, CallError> {
    let mut headers = held.map(Kept::conditions).unwrap_or_default();
    headers.extend([VERSION, (ACCEPT, http::JSON)]);
    let call = Call { verb: Method::GET, target: format!("{base}{WELL_KNOWN}"), headers, body: None };
    within(peer, CALL_TIMEOUT, async {
        let response = call.send(client, peer).await?;
        http::read_up_to(response, CARD_MAX).await.map_err(|why| unsure(peer, &format!("its card: {why}")))
    })
    .await
}

fn read(peer: &Peer, base: &str, body: &[u8]) -> Result<AgentCard, CallError> {
    let bad = |why: String| {
        let message = format!("{}{base} has no card that can be read: {why}", peer.name);
        CallError::Refused(A2aError::new(ErrorCode::InvalidAgentResponse, message).into())
    };
    let value: Value = serde_json::from_slice(body).map_err(|_| bad("it is not JSON".into()))?;
    decode(value).map_err(|invalid| bad(invalid.to_string()))
}
