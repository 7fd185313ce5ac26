//! What a killed launcher left behind is found and ended before anything new runs on the lane.
//! Found by three signs, because tools shed each of them: the inherited lock, the mark in the
//! environment, the line of parents. It must not know why the launcher died.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::clock::Deadline;
use crate::proc::{self, FileId, Proc, Signalled};
use crate::wire::{LAUNCHER_MARK, MARK};
use crate::{Leftover, lock};

/// 20 ms between looks: a killed process is usually gone within a few.
const TICK: Duration = Duration::from_millis(20);

/// Two looks in a row must find nothing: one can miss a process that forked, or called exec, while
/// it was being read.
const CLEAN_LOOKS: u32 = 2;

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// So many processes were killed.
    pub ended: usize,
}

/// End whatever still holds the lock or bears a mark that begins with `mark_prefix`, and everything
/// below those; `Ok` when nothing of that is left and the lock is free (a missing lock file is).
///
/// A launcher that has lost its daemon is at work ending its run and writing the record: it gets
/// half of `within` for that, all else is killed at once. Allow more than twice 2 s at a daemon's
/// start. The calling process and those above it are never touched. Of the calling process's
/// children only those that were killed here are reaped. Dropping the future stops the work.
///
/// The prefix must be as narrow as the lane: running runs that it covers are ended, too.
///
/// A process that has shed all of these signs came to the calling process when its launcher died, if
/// that is a subreaper ([`become_subreaper`](crate::become_subreaper)): `adopted` ends those, too.
/// Allow it only for what a launcher of the calling process left, after that has gone: children of
/// launchers that live are never among them.
///
/// Not found: such a process where the caller has gone with the launcher.
///
/// # Errors
/// [`Leftover`]: the lane is not known to be clear.
pub async fn clear_leftovers(
    lock: &Path,
    mark_prefix: &str,
    within: Duration,
    adopted: bool,
) -> Result<Cleared, Leftover> {
    if mark_prefix.is_empty() {
        return Err(Leftover::NoPrefix);
    }
    let deadline = Deadline::after(within);
    let patience = Deadline::after(within / 2);
    let mut search = Search {
        lock: lock.to_owned(),
        prefix: mark_prefix.to_owned(),
        adopted,
        killed: BTreeSet::new(),
        unreaped: BTreeSet::new(),
    };
    let mut clean = 0;
    loop {
        let spare_launchers = !patience.passed();
        // One look at a time: work in another thread would go on after this future is dropped.
        let (back, look) = blocking(move || {
            let look = search.look(spare_launchers);
            (search, look)
        })
        .await?;
        search = back;
        let look = look?;
        clean = if look.alive.is_empty() && look.lock_free { clean + 1 } else { 0 };
        if clean == CLEAN_LOOKS {
            return Ok(Cleared { ended: search.killed.len() });
        }
        if deadline.passed() {
            return Err(if look.alive.is_empty() {
                Leftover::Held { lock: search.lock }
            } else {
                Leftover::Alive { pids: look.alive }
            });
        }
        tokio::time::sleep(TICK).await;
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "awaited at once; a look at /proc takes milliseconds, too long for the runtime's threads"
)]
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

struct Search {
    lock: PathBuf,
    prefix: String,
    adopted: bool,
    /// By number and start time.
    killed: BTreeSet<(i32, u64)>,
    unreaped: BTreeSet<(i32, u64)>,
}

struct Look {
    alive: Vec<i32>,
    lock_free: bool,
}

impl Search {
    /// Find, kill, reap, once.
    fn look(&mut self, spare_launchers: bool) -> io::Result<Look> {
        self.reap();
        let lock_free = lock::is_free(&self.lock)?;
        // With the lock free nobody holds it, and the costly look into descriptors is saved.
        let file = if lock_free { None } else { FileId::of(&self.lock)? };
        let all = proc::snapshot()?;
        let found = self.find(&all, file.as_ref());
        let at_work: Vec<i32> = found.iter().filter(|(_, launcher)| **launcher).map(|(pid, _)| *pid).collect();
        let spared = if spare_launchers {
            let mut spared = proc::descendants(&all, &at_work);
            spared.extend(&at_work);
            spared
        } else {
            BTreeSet::new()
        };
        // Launchers first: one that saw its program killed would write that down as its own end.
        let launchers = found.iter().filter(|(_, launcher)| **launcher);
        for (pid, launcher) in launchers.chain(found.iter().filter(|(_, launcher)| !**launcher)) {
            let Some(seen) = all.get(pid).filter(|_| !spared.contains(pid)) else { continue };
            if proc::signal(seen, Signal::KILL) == Signalled::Sent {
                self.killed.insert((seen.pid, seen.start));
                // A launcher that this process started is reaped by who waits for it.
                if !launcher {
                    self.unreaped.insert((seen.pid, seen.start));
                }
            }
        }
        self.reap();
        Ok(Look { alive: found.into_keys().collect(), lock_free })
    }

    /// All that is to be ended, and whether it is a launcher.
    fn find(&self, all: &BTreeMap<i32, Proc>, lock: Option<&FileId>) -> BTreeMap<i32, bool> {
        let protected = proc::with_ancestors(all, proc::own_pid());
        let mut found = BTreeMap::new();
        for p in all.values().filter(|p| !p.dead && !protected.contains(&p.pid)) {
            let environ = proc::environ(p.pid);
            let launcher = proc::has_mark(&environ, LAUNCHER_MARK, &self.prefix);
            if launcher
                || proc::has_mark(&environ, MARK, &self.prefix)
                || lock.is_some_and(|file| proc::holds_lock(p.pid, file))
            {
                found.insert(p.pid, launcher);
            }
        }
        if self.adopted {
            let orphans = proc::adopted(all).into_iter().filter(|pid| !protected.contains(pid));
            orphans.for_each(|pid| {
                found.entry(pid).or_insert(false);
            });
        }
        // Nothing above this process is among the roots, so that nothing beside it is below them.
        let roots: Vec<i32> = found.keys().copied().collect();
        for pid in proc::descendants(all, &roots) {
            if all.get(&pid).is_some_and(|p| !p.dead) {
                found.entry(pid).or_insert(false);
            }
        }
        found
    }

    /// Reap what was killed here as far as it is ours by now: when its parent died, it became so.
    fn reap(&mut self) {
        self.unreaped.retain(|(number, start)| {
            let Some(pid) = Pid::from_raw(*number) else { return false };
            // Gone, or another process under the same number: not ours to wait for.
            if proc::look(*number).is_none_or(|now| now.start != *start) {
                return false;
            }
            !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))
        });
    }
}
