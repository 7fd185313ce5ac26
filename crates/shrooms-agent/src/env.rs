//! What the process is given from outside: its arguments, environment, directory, and the time.
//! The one place that looks there; everything else gets plain values.
//! Must not know what they are for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use shrooms_outbound::Secret;

use crate::report::Failure;

/// What this program reads of its environment.
#[derive(Debug, Default)]
pub struct Env {
    /// `SHROOMS_AGENT_STATE`: the state directory of the daemon that is meant.
    pub state: Option<PathBuf>,
    /// `SHROOMS_AGENT_SESSION`: the name of the session that this process belongs to.
    pub session: Option<String>,
    /// `SHROOMS_AGENT_PASS`: which session of that daemon this process belongs to.
    pub pass: Option<Secret>,
    /// `XDG_DATA_HOME`.
    pub data_home: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
}

impl Env {
    /// Reads the environment. Empty values count as absent.
    pub fn read() -> Self {
        #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Env {
            state: var("SHROOMS_AGENT_STATE").map(PathBuf::from),
            session: var("SHROOMS_AGENT_SESSION").map(|name| name.to_string_lossy().into_owned()),
            // One that is no text was not given out by a daemon, and is refused as any wrong one.
            pass: var("SHROOMS_AGENT_PASS").map(|pass| Secret::new(pass.to_string_lossy())),
            data_home: var("XDG_DATA_HOME").map(PathBuf::from),
            home: var("HOME").map(PathBuf::from),
        }
    }

    /// The state directory if none is named: `shrooms-agent` where the user's programs keep data.
    pub fn default_state(&self) -> Option<PathBuf> {
        // By the standard, a relative one is to be ignored.
        let data = self.data_home.clone().filter(|path| path.is_absolute());
        let data = data.or_else(|| Some(self.home.as_ref()?.join(".local/share")));
        Some(data?.join("shrooms-agent"))
    }
}

/// Where Claude Code keeps its settings and conversations.
pub fn claude_dir() -> Option<PathBuf> {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    var("CLAUDE_CONFIG_DIR").or_else(|| Some(var("HOME")?.join(".claude")))
}

/// The program's name and its arguments.
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// This very program, to be started again as launcher, demo daemon or MCP server.
///
/// # Errors
/// The system does not say where it is.
pub fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(format!("this program's own path is not known: {error}")))
}

/// The directory that the program was started in.
///
/// # Errors
/// There is none any more.
pub fn directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::new(format!("there is no current directory: {error}")))
}

/// `PATH`: where programs are looked for.
pub fn search_path() -> String {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let path = std::env::var_os("PATH");
    path.map(|p| p.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `SHROOMS_AGENT_LOG`: which log lines are written, as tracing's filters; `info` unless set.
pub fn log_filter() -> String {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let filter = std::env::var("SHROOMS_AGENT_LOG");
    filter.ok().filter(|f| !f.is_empty()).unwrap_or_else(|| "info".into())
}

/// `SHROOMS_AGENT_LOG` where it asks for the details that only a search for a fault needs.
pub fn debug_filter() -> Option<String> {
    let filter = log_filter();
    (filter.contains("debug") || filter.contains("trace")).then_some(filter)
}

/// A directory as the daemon needs it, which runs elsewhere: from the root on.
///
/// # Errors
/// There is no current directory, or `..` leads to nothing.
pub fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::new(format!("the directory {} cannot be used: {error}", path.display()));
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        // What `..` means after a symbolic link, only the system knows.
        return path.canonicalize().map_err(failed);
    }
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::path::absolute(path).map_err(failed)
}

/// A fresh message id. Made here and not by the daemon, so that a send whose answer was lost can be
/// repeated as the same one.
///
/// # Errors
/// The system gives no random numbers.
pub fn message_id() -> Result<String, Failure> {
    #[allow(clippy::disallowed_methods, reason = "a name with the time in it for people; no rule reads it")]
    let now = SystemTime::now();
    let wall = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut random = [0; 4];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::new(format!("the system gives no random numbers: {error}")))?;
    Ok(shrooms_core::id::message_id(i64::try_from(wall).unwrap_or_default(), random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_directory_is_where_programs_keep_data() {
        let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        for (data_home, home, expected) in [
            ("/data", "/home/ann", "/data/shrooms-agent"),
            ("", "/home/ann", "/home/ann/.local/share/shrooms-agent"),
            ("relative", "/home/ann", "/home/ann/.local/share/shrooms-agent"),
            ("", "", ""),
        ] {
            let env = Env { data_home: path(data_home), home: path(home), ..Env::default() };
            assert_eq!(env.default_state(), path(expected), "{data_home:?} {home:?}");
        }
    }

    #[test]
    fn a_directory_is_made_absolute() {
        assert_eq!(absolute(Path::new("/a/b")).unwrap(), Path::new("/a/b"));
        assert!(absolute(Path::new("")).unwrap().is_absolute());
        let here = absolute(Path::new(".")).unwrap();
        assert_eq!(absolute(Path::new("src")).unwrap(), here.join("src"));
        assert_eq!(absolute(Path::new("src/..")).unwrap(), here.canonicalize().unwrap());
        assert!(absolute(Path::new("nowhere/..")).is_err());
    }

    #[test]
    fn message_ids_are_fresh() {
        let (one, two) = (message_id().unwrap(), message_id().unwrap());
        assert!(one.starts_with("cli-2") && one != two, "{one} {two}");
    }
}
