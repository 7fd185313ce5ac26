//! Named points at which a test makes a process kill itself, as `kill -9` there would.
//! Only with the feature `crash-points`; without it nothing of this is in the program.

/// The launcher's points, in the order in which a run passes them:
/// nothing done; lock held and space reserved; `started` written; program running; everything ended
/// but `exit` not written; `exit` written but not reported.
pub const POINTS: [&str; 6] = [
    "launcher_before_lock",
    "launcher_before_started",
    "launcher_after_started",
    "launcher_after_spawn",
    "launcher_before_exit",
    "launcher_after_exit",
];

/// The environment variable from which a launcher (and who calls [`arm_from_env`]) arms itself (only with the feature).
pub const CRASH_AT: &str = "SHROOMS_CRASH_AT";

#[cfg(not(feature = "crash-points"))]
mod real {
    /// Does nothing without the feature `crash-points`.
    #[inline]
    pub fn arm(_spec: &str) {}

    /// Does nothing without the feature `crash-points`.
    #[inline]
    pub fn point(_name: &str) {}

    /// Does nothing without the feature `crash-points`.
    #[inline]
    pub fn arm_from_env() {}
}

#[cfg(feature = "crash-points")]
mod real {
    use std::fs::OpenOptions;
    use std::path::PathBuf;
    use std::sync::{Mutex, PoisonError};

    use rustix::process::{Signal, getpid, kill_process};

    struct Armed {
        name: String,
        left: u64,
        once: Option<PathBuf>,
    }

    static ARMED: Mutex<Vec<Armed>> = Mutex::new(Vec::new());

    /// Arm one point: `NAME[:N][@PATH]`. The `N`-th passing (first by default) kills this process;
    /// with a `PATH` only if the file there could be made by it, so that it happens once over
    /// several processes. Several specs are separated by commas; arming another keeps those before.
    pub fn arm(specs: &str) {
        specs.split(',').filter(|spec| !spec.is_empty()).for_each(arm_one);
    }

    fn arm_one(spec: &str) {
        let (what, once) = match spec.split_once('@') {
            Some((what, path)) => (what, Some(PathBuf::from(path))),
            None => (spec, None),
        };
        let (name, left) = match what.split_once(':') {
            Some((name, n)) => (name, n.parse().unwrap_or(1)),
            None => (what, 1),
        };
        let armed = Armed { name: name.to_owned(), left, once };
        ARMED.lock().unwrap_or_else(PoisonError::into_inner).push(armed);
    }

    /// Pass the point; does not return when it is armed and this is the passing it waits for.
    pub fn point(name: &str) {
        let mut all = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
        let mut die = false;
        for armed in all.iter_mut().filter(|a| a.name == name && a.left > 0) {
            armed.left -= 1;
            if armed.left == 0 {
                die |= armed
                    .once
                    .as_ref()
                    .is_none_or(|path| OpenOptions::new().write(true).create_new(true).open(path).is_ok());
            }
        }
        if die {
            while kill_process(getpid(), Signal::KILL).is_ok() {
                std::thread::park();
            }
        }
    }

    /// Arm what [`CRASH_AT`](super::CRASH_AT) says, if it is set.
    #[allow(clippy::disallowed_methods, reason = "a test's setting that must not be in any config")]
    pub fn arm_from_env() {
        if let Ok(spec) = std::env::var(super::CRASH_AT) {
            arm(&spec);
        }
    }
}

pub use real::{arm, arm_from_env, point};
