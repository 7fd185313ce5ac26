//! Processes as `/proc` shows them, and signals that cannot hit a reused number.
//! Processes vanish while one reads: that is never an error here. It must not know of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpgid, getpgrp, getpid, kill_process, pidfd_open, pidfd_send_signal, set_child_subreaper,
};

use crate::wire::LAUNCHER_MARK;

/// 4 MiB: twice the kernel's usual bound on arguments and environment together (a quarter of an
/// 8 MiB stack), so that ours is never cut off and a read stays bounded.
const MAX_ENVIRON: u64 = 4 * 1024 * 1024;

/// Make this process the one to which orphans below it are handed, instead of init.
///
/// # Errors
/// Only on a kernel without it (before Linux 3.4).
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proc {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// Ticks since boot; together with the number it names a process for good.
    pub(crate) start: u64,
    /// A zombie: holds nothing, runs nothing, waits to be reaped.
    pub(crate) dead: bool,
}

pub(crate) fn own_pid() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// Every process that can be seen now, by number.
pub(crate) fn snapshot() -> io::Result<BTreeMap<i32, Proc>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
        if let Some(found) = look(pid) {
            all.insert(pid, found);
        }
    }
    Ok(all)
}

/// One process, if it is there.
pub(crate) fn look(pid: i32) -> Option<Proc> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in parentheses may hold anything, so that the fields are counted from the last `)`.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<Proc> {
    let end = stat.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // By proc_pid_stat(5): 3 state, 4 parent, 20 number of threads, 22 start time.
    let state = *fields.first()?;
    let threads: u64 = fields.get(17)?.parse().ok()?;
    Some(Proc {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
        // A first thread that has ended shows as a zombie while the others still run.
        dead: matches!(state, "Z" | "X" | "x") && threads <= 1,
    })
}

/// All below `roots`, without the roots themselves.
pub(crate) fn descendants(all: &BTreeMap<i32, Proc>, roots: &[i32]) -> BTreeSet<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for p in all.values() {
        children.entry(p.parent).or_default().push(p.pid);
    }
    let mut below = BTreeSet::new();
    let mut todo: Vec<i32> = roots.to_vec();
    while let Some(pid) = todo.pop() {
        for child in children.get(&pid).into_iter().flatten() {
            if below.insert(*child) {
                todo.push(*child);
            }
        }
    }
    below
}

/// Children of this process that it did not start: they came to it when their launcher died. What it
/// starts itself is a launcher, which says so in its environment, or is in its own process group; and
/// what is just being started is still this very program.
pub(crate) fn adopted(all: &BTreeMap<i32, Proc>) -> BTreeSet<i32> {
    let (me, group) = (own_pid(), getpgrp());
    let own = fs::read(format!("/proc/{me}/cmdline")).unwrap_or_default();
    let ours = |pid: i32| {
        let started = environ(pid).split(|b| *b == 0).any(|e| e.starts_with(format!("{LAUNCHER_MARK}=").as_bytes()));
        let beside = Pid::from_raw(pid).is_some_and(|pid| getpgid(Some(pid)).is_ok_and(|of| of == group));
        started || beside || fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == own)
    };
    all.values().filter(|p| p.parent == me && !p.dead && !ours(p.pid)).map(|p| p.pid).collect()
}

/// `pid` and all above it.
pub(crate) fn with_ancestors(all: &BTreeMap<i32, Proc>, pid: i32) -> BTreeSet<i32> {
    let mut line = BTreeSet::new();
    let mut at = pid;
    while at > 0 && line.insert(at) {
        at = all.get(&at).map_or(0, |p| p.parent);
    }
    line
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Signalled {
    Sent,
    Gone,
    Denied,
}

/// Signal exactly the process that was seen: a descriptor is opened first, then the start time is
/// compared, so that a number reused meanwhile is never hit.
pub(crate) fn signal(seen: &Proc, signal: Signal) -> Signalled {
    let Some(pid) = Pid::from_raw(seen.pid) else { return Signalled::Gone };
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if look(seen.pid).is_none_or(|now| now.start != seen.start) {
        return Signalled::Gone;
    }
    let sent = match &handle {
        Ok(handle) => pidfd_send_signal(handle, signal),
        // Some sandboxes refuse the newer call; the number is then the best there is.
        Err(Errno::NOSYS | Errno::PERM) => kill_process(pid, signal),
        Err(_) => return Signalled::Gone,
    };
    match sent {
        Ok(()) => Signalled::Sent,
        Err(Errno::PERM) => Signalled::Denied,
        Err(_) => Signalled::Gone,
    }
}

/// The environment a process began with; empty when it may not be read.
pub(crate) fn environ(pid: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) {
        // What was read before an error counts: the process may be ending.
        let _ = file.take(MAX_ENVIRON).read_to_end(&mut bytes);
    }
    bytes
}

/// Whether `environ` sets `name` to something that begins with `prefix`.
pub(crate) fn has_mark(environ: &[u8], name: &str, prefix: &str) -> bool {
    environ.split(|b| *b == 0).any(|entry| {
        entry
            .strip_prefix(name.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|value| value.starts_with(prefix.as_bytes()))
    })
}

/// A file by what stays the same under any name.
pub(crate) struct FileId {
    name: Vec<u8>,
    dev: u64,
    ino: u64,
}

impl FileId {
    /// `None` when there is no such file.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(meta) => Ok(Some(Self {
                name: path.file_name().map(|n| n.as_bytes().to_vec()).unwrap_or_default(),
                dev: meta.dev(),
                ino: meta.ino(),
            })),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Whether the process has a description of `file` open that holds a file lock. Merely having it
/// open (a backup, an editor) is no reason to end anyone.
pub(crate) fn holds_lock(pid: i32, file: &FileId) -> bool {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    entries.flatten().any(|entry| {
        // The name first: cheap, and no stat of foreign files, which may hang on a dead mount.
        let named =
            fs::read_link(entry.path()).ok().and_then(|t| t.file_name().map(|n| n.as_bytes().starts_with(&file.name)));
        if named != Some(true) {
            return false;
        }
        let same = fs::metadata(entry.path()).is_ok_and(|meta| meta.dev() == file.dev && meta.ino() == file.ino);
        let fd = entry.file_name();
        same && fs::read(Path::new(&format!("/proc/{pid}/fdinfo")).join(fd))
            .is_ok_and(|info| info.windows(5).any(|w| w == b"FLOCK"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_and_spaces_is_read() {
        let stat = b"7 (a) b (c)) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0";
        let found = parse_stat(7, stat).unwrap();
        assert_eq!((found.parent, found.start, found.dead), (3, 4242, false));
    }

    #[test]
    fn a_zombie_with_running_threads_is_not_dead() {
        let of = |threads| {
            let stat = format!("7 (x) Z 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 1 0");
            parse_stat(7, stat.as_bytes()).unwrap().dead
        };
        assert!(of(1));
        assert!(!of(2));
    }

    #[test]
    fn a_mark_is_a_whole_variable_and_a_prefix_of_its_value() {
        let env = b"A=1\0XMARK=id.1\0MARK=id.2\0";
        assert!(has_mark(env, "MARK", "id."));
        assert!(!has_mark(env, "MARK", "id.1"));
        assert!(!has_mark(env, "ARK", "id"));
    }

    #[test]
    fn a_signal_never_hits_a_reused_number() {
        let mut me = look(own_pid()).unwrap();
        me.start += 1;
        assert_eq!(signal(&me, Signal::KILL), Signalled::Gone);
    }

    #[test]
    fn descendants_and_ancestors_follow_the_parents() {
        let p = |pid, parent| (pid, Proc { pid, parent, start: 0, dead: false });
        let all: BTreeMap<_, _> = [p(1, 0), p(2, 1), p(3, 2), p(4, 1), p(5, 3)].into();
        assert_eq!(descendants(&all, &[2]), BTreeSet::from([3, 5]));
        assert_eq!(with_ancestors(&all, 3), BTreeSet::from([1, 2, 3]));
    }
}
