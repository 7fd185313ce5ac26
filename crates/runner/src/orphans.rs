//! Reaping what a subreaper adopts: processes whose launcher was killed come back to the daemon, and
//! stay as zombies when nobody waits for them. Its own children are left to whoever started them.

use rustix::process::{Pid, WaitOptions, waitpid};

use crate::proc;

/// Waits for every dead child of this process that is not in `own` (launchers that somebody else
/// waits for). Never blocks; says how many were reaped.
pub fn reap_orphans(own: &[i32]) -> usize {
    let me = proc::own_pid();
    let Ok(all) = proc::snapshot() else { return 0 };
    let dead = all.values().filter(|p| p.parent == me && p.dead && !own.contains(&p.pid));
    dead.filter_map(|p| Pid::from_raw(p.pid))
        .filter(|pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_))))
        .count()
}
