//! Of whom a process descends and who holds a socket, from /proc/PID.
//! Everything here is a snapshot: processes come and go while it is read, and what vanished is
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Deeper trees are not of a person's making; a bound, should ids be reused into a circle.
const DEEPEST: usize = 256;

/// Whether any process of `among` has the socket with this inode open.
///
/// A process whose descriptors cannot be read (gone, another user's, one that made itself
/// undumpable) does not count as a holder. Blocking: reads a directory per process.
#[must_use]
pub fn holders(inode: u64, among: &[i32]) -> bool {
    let wanted = format!("socket:[{inode}]");
    among.iter().any(|pid| {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        descriptors
            .flatten()
            .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str()))
    })
}

/// The processes of `roots` that are alive, and everything that descends from them, in no
/// particular order, each once. A process whose parent died belongs to the subreaper above it.
///
/// Blocking: reads one file per process of the host.
#[must_use]
pub fn descendants_of(roots: &[i32]) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let mut alive = BTreeSet::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Some(stat) = stat(pid) {
            alive.insert(pid);
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<i32> = roots.iter().copied().filter(|pid| alive.contains(pid)).collect();
    while let Some(pid) = open.pop() {
        if found.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found.into_iter().collect()
}

/// The process itself, its parent, and so on up to the first of the host (or of this pid
/// namespace), each with its start time in clock ticks since boot: an id and a start time together
/// name one process for ever. Empty when there is no such process.
#[must_use]
pub fn ancestors(pid: i32) -> Vec<(i32, u64)> {
    let mut chain: Vec<(i32, u64)> = Vec::new();
    let mut next = pid;
    while next > 0 && chain.len() < DEEPEST {
        let Some(stat) = stat(next) else { break };
        // A parent younger than its child is another process that got the id of one that died.
        if chain.last().is_some_and(|(_, child)| stat.started > *child) {
            break;
        }
        chain.push((next, stat.started));
        next = stat.parent;
    }
    chain
}

/// The same, whole: up to the first process of the host or of this pid namespace. `None` when the
/// process is gone, or when it cannot be followed to the end because somebody died meanwhile, tried
/// a few times: whose process it is must not be guessed.
#[must_use]
pub fn lineage(pid: i32) -> Option<Vec<(i32, u64)>> {
    (0..TRIES).find_map(|_| {
        let line = ancestors(pid);
        let last = line.last()?.0;
        let whole = stat(last).is_some_and(|s| s.parent <= 0);
        whole.then_some(line)
    })
}

/// How often a line that broke off is read again: a parent that dies is replaced at once.
const TRIES: usize = 5;

struct Stat {
    parent: i32,
    started: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    // Not text: a process may call itself anything.
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// `PID (NAME) STATE PPID … STARTTIME …`, where NAME may hold spaces and parentheses, so the
/// columns are counted from the last parenthesis: the parent is the 2nd, the start the 20th.
fn parse(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut columns = rest.split_ascii_whitespace();
    let parent = columns.nth(1)?.parse().ok()?;
    let started = columns.nth(17)?.parse().ok()?;
    Some(Stat { parent, started })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(i32, u64)>) {
        assert_eq!(parse(text).map(|stat| (stat.parent, stat.started)), expected, "for {text:?}");
    }

    #[test]
    fn a_process_name_may_hold_spaces_and_parentheses() {
        let rest = "S 41 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        check(&format!("42 (cat) {rest}"), Some((41, 98765)));
        check(&format!("42 (a b) c (d) {rest}"), Some((41, 98765)));
        check(&format!("42 () R 1 1) {rest}"), Some((41, 98765)));
        check("42 (cat) S 41", None);
        check("", None);
    }

    /// A shell with a child of its own, both alive until the shell's input ends.
    struct Family {
        shell: Child,
        child: i32,
    }

    #[allow(clippy::disallowed_methods, reason = "real processes are what is tested")]
    fn family() -> Family {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; read line; kill $!"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Family { shell, child: line.trim().parse().unwrap() }
    }

    impl Drop for Family {
        fn drop(&mut self) {
            drop(self.shell.stdin.take());
            let _ = self.shell.wait();
        }
    }

    fn me() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn ancestors_are_the_process_itself_then_upwards_with_start_times() {
        let family = family();
        let shell = i32::try_from(family.shell.id()).unwrap();
        let chain = ancestors(family.child);
        let pids: Vec<i32> = chain.iter().map(|(pid, _)| *pid).collect();
        assert_eq!(pids[..3], [family.child, shell, me()]);
        assert!(chain.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{chain:?}");
        assert_eq!(ancestors(me())[0], chain[2], "a start time never changes");
        assert_eq!(ancestors(i32::MAX), []);
        assert_eq!(ancestors(0), []);
        assert_eq!(ancestors(-1), []);
    }

    #[test]
    fn descendants_are_the_roots_that_live_and_all_below() {
        let family = family();
        let shell = i32::try_from(family.shell.id()).unwrap();
        let mut expected = vec![shell, family.child];
        expected.sort_unstable();
        assert_eq!(descendants_of(&[shell]), expected);
        assert_eq!(descendants_of(&[shell, family.child, i32::MAX]), expected);
        assert_eq!(descendants_of(&[family.child]), [family.child]);
        assert!(descendants_of(&[me()]).contains(&family.child));
        assert_eq!(descendants_of(&[]), Vec::<i32>::new());
        assert_eq!(descendants_of(&[i32::MAX]), Vec::<i32>::new());
    }
}
