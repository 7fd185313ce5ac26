//! What a verb is given: which daemon is meant, its client, and where results go.
//! Must not know any verb.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use shrooms_outbound::{LocalClient, LocalError, Secret, segment};

use crate::cli::Globals;
use crate::env::{Env, absolute};
use crate::output::Output;
use crate::report::Failure;

/// The socket's name in the state directory.
const SOCKET: &str = "agent.sock";

/// Which daemon is meant: the one of this state directory.
#[derive(Debug)]
pub struct Place {
    /// Its state directory, absolute.
    pub state: PathBuf,
    /// Told by `--state`, so that a command that is proposed must say it, too.
    by_flag: bool,
    /// The session that this process belongs to, if it is one of that daemon: how its asks are marked.
    pub session: Option<String>,
    /// The pass of the session that this process belongs to, if it is one of that daemon.
    pass: Option<Secret>,
}

impl Place {
    /// By `--state`, else the environment, else the default.
    ///
    /// # Errors
    /// None of them names a directory.
    pub fn new(globals: &Globals, env: Env) -> Result<Self, Failure> {
        let named = globals.state.clone().or_else(|| env.state.clone()).or_else(|| env.default_state());
        let nowhere = || Failure::new("no state directory: set HOME, or name one with --state DIR");
        let state = absolute(&named.ok_or_else(nowhere)?)?;
        // A pass is another daemon's business when another one is meant.
        let own = globals.state.is_none() || env.state.as_deref() == Some(state.as_path());
        let session = env.session.filter(|_| own && env.pass.is_some());
        Ok(Place { state, by_flag: globals.state.is_some(), session, pass: env.pass.filter(|_| own) })
    }

    /// Where its daemon listens.
    pub fn socket(&self) -> PathBuf {
        self.state.join(SOCKET)
    }

    /// A command to propose, for the same daemon.
    pub fn command(&self, words: &str) -> String {
        let mut command = format!("shrooms-agent {words}");
        if self.by_flag {
            command.push_str(&format!(" --state {}", quoted(&self.state.to_string_lossy())));
        }
        command
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !word.is_empty() && word.chars().all(bare) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What every client verb is given.
#[derive(Debug)]
pub struct Context {
    pub place: Place,
    pub client: LocalClient,
    pub out: Output,
}

impl Context {
    /// The client of that place's daemon. Nothing is called yet.
    ///
    /// # Errors
    /// The session's pass cannot be sent.
    pub fn new(place: Place, json: bool) -> Result<Self, Failure> {
        let client = LocalClient::new(place.socket(), place.pass.as_ref())
            .map_err(|error| Failure::of(error, &place.command("serve")))?;
        Ok(Context { place, client, out: Output::new(json) })
    }

    /// Asks the daemon.
    ///
    /// # Errors
    /// As the person is to read it.
    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.client.get(path).await.map_err(|error| self.failure(error))
    }

    /// Tells the daemon.
    ///
    /// # Errors
    /// As the person is to read it.
    pub async fn post<T: Serialize + ?Sized>(&self, path: &str, body: &T) -> Result<Value, Failure> {
        self.client.post(path, body).await.map_err(|error| self.failure(error))
    }

    /// Tells the daemon something that has an id, so that it may be told again: where the answer was
    /// lost, the error says how.
    ///
    /// # Errors
    /// As the person is to read it.
    pub async fn post_once<T: Serialize + ?Sized>(&self, path: &str, body: &T, id: &str) -> Result<Value, Failure> {
        let unsure = |error: LocalError| {
            let broken = matches!(error, LocalError::Broken(_));
            let failure = self.failure(error);
            if !broken {
                return failure;
            }
            failure.hint(format!(
                "whether it was taken is not known: the same command with --id {id} is safe, for one id is one message"
            ))
        };
        self.client.post(path, body).await.map_err(unsure)
    }

    /// An error of the client as the person is to read it.
    pub fn failure(&self, error: LocalError) -> Failure {
        Failure::of(error, &self.place.command("serve"))
    }
}

/// `/v1/tasks/REF` and what follows it.
///
/// # Errors
/// The reference cannot be a part of a path.
pub fn task_path(reference: &str, rest: &str) -> Result<String, Failure> {
    path("tasks", reference, rest)
}

/// `/v1/sessions/NAME` and what follows it.
///
/// # Errors
/// The name cannot be a part of a path.
pub fn session_path(name: &str, rest: &str) -> Result<String, Failure> {
    path("sessions", name, rest)
}

/// A text as a value of a query.
pub fn query_value(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn path(kind: &str, name: &str, rest: &str) -> Result<String, Failure> {
    let name = segment(name).ok_or_else(|| Failure::new(format!("{name:?} is no name")))?;
    Ok(format!("/v1/{kind}/{name}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(flag: Option<&str>, in_env: Option<&str>) -> Place {
        let globals = Globals { state: flag.map(PathBuf::from), json: false, socket: None };
        let env = Env {
            state: in_env.map(PathBuf::from),
            session: Some("build".into()),
            pass: Some(Secret::new("p")),
            home: Some("/home/ann".into()),
            ..Env::default()
        };
        Place::new(&globals, env).unwrap()
    }

    #[test]
    fn the_flag_wins_over_the_environment_over_the_default() {
        for (flag, in_env, state, has_pass, command) in [
            (None, None, "/home/ann/.local/share/shrooms-agent", true, "shrooms-agent serve"),
            (None, Some("/s"), "/s", true, "shrooms-agent serve"),
            (Some("/f"), Some("/s"), "/f", false, "shrooms-agent serve --state /f"),
            (Some("/s"), Some("/s"), "/s", true, "shrooms-agent serve --state /s"),
            (Some("/my s"), None, "/my s", false, "shrooms-agent serve --state '/my s'"),
        ] {
            let place = place(flag, in_env);
            assert_eq!(place.state, PathBuf::from(state));
            assert_eq!(place.socket(), PathBuf::from(state).join("agent.sock"));
            assert_eq!(place.pass.is_some(), has_pass, "{state}");
            assert_eq!(place.session.is_some(), has_pass, "{state}");
            assert_eq!(place.command("serve"), command);
        }
        assert!(Place::new(&Globals::default(), Env::default()).is_err());
    }

    #[test]
    fn names_are_one_part_of_a_path() {
        assert_eq!(task_path("homeserver/tests:c-1", "/ack").unwrap(), "/v1/tasks/homeserver%2Ftests%3Ac-1/ack");
        assert_eq!(session_path("tests", "").unwrap(), "/v1/sessions/tests");
        assert!(session_path("..", "").is_err());
        assert_eq!(query_value("a b&ü=.."), "a%20b%26%C3%BC%3D..");
    }
}
