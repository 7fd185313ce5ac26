//! Of whom a process descends, from /proc/PID/stat. Processes come and go while it is read.

use std::fs;

/// Deeper trees are not of a person's making; a bound, should ids be reused into a circle.
const DEEPEST: usize = 256;

/// A process, its parent, and so on: each one's id and start time.
pub type Line = Vec<(i32, u64)>;

/// This process's id. `None` where /proc is that of other processes (of another pid namespace):
/// then nothing in it says anything of a process that is known by its id here.
#[must_use]
pub fn own_pid() -> Option<i32> {
    let shown: u32 = fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
    (shown == std::process::id()).then(|| i32::try_from(shown).ok()).flatten()
}

/// The process itself, its parent, and so on up to the first of the host (or of this pid
/// namespace), each with its start time in clock ticks since boot: an id and a start time together
/// name one process for ever. Empty when there is no such process.
#[must_use]
pub fn ancestors(pid: i32) -> Line {
    let mut chain = Line::new();
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

/// The same, whole: up to the first process of the host or of this pid namespace, and read twice
/// alike. A process gets another parent only when the one it has dies, and one further up: so a line
/// that was the same twice was true in between, whoever died or got whose id.
///
/// `None` when the process is gone, or when it cannot be followed to the end because somebody died
/// meanwhile, tried a few times: whose process it is must not be guessed.
#[must_use]
pub fn lineage(pid: i32) -> Option<Line> {
    let mut before = ancestors(pid);
    for _ in 0..TRIES {
        let last = before.last()?.0;
        let whole = stat(last).is_some_and(|s| s.parent <= 0);
        let line = ancestors(pid);
        if whole && line == before {
            return Some(line);
        }
        before = line;
    }
    None
}

/// How often a line that broke off is read again: a parent that dies is replaced at once.
const TRIES: usize = 8;

/// When a process was started, as [`Line`] has it; `None` when it is gone.
pub(super) fn started(pid: i32) -> Option<u64> {
    stat(pid).map(|stat| stat.started)
}

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
    fn a_whole_line_goes_up_to_the_first_process() {
        let family = family();
        assert_eq!(own_pid(), Some(me()));
        let line = lineage(family.child).unwrap();
        assert_eq!(line, ancestors(family.child));
        assert_eq!(line[2].0, me());
        assert_eq!(stat(line.last().unwrap().0).unwrap().parent, 0);
        assert_eq!(lineage(i32::MAX), None);
        assert_eq!(lineage(0), None, "a process of another pid namespace has no id here");
    }
}
