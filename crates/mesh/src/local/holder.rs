//! Which processes hold a socket, from /proc/PID/fd, and of whom each of them descends: only what was
//! the same before and after counts. What cannot be read proves nothing: a process of another user,
//! one that made itself undumpable, a socket that is on its way from one process to another.

use std::fmt;
use std::fs;
use std::path::Path;

use super::process::{Line, lineage, started};

/// How many descriptors are looked at for one question, all its tries together: a second or so. More
/// are of no common host, and a process may open many so that the question takes long.
const LOOKS: usize = 1_000_000;

/// How often the holders are looked for again when one was gone before it was known: a child between
/// fork and exec has what its parent has open, and lets it go at once.
const TRIES: usize = 4;

/// Why it is not known who holds a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unproven {
    /// No living process that may be looked into has it open.
    Nobody,
    /// Whoever had it open had let it go, or was gone, before it was known whose process it is.
    Moving,
    /// There are more open files than are looked at.
    TooMany,
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unproven::Nobody => "no process that may be looked into has it open",
            Unproven::Moving => "it went from process to process",
            Unproven::TooMany => "there are too many open files to look through",
        })
    }
}

/// The [`Line`] of every process that has the socket with this inode open, never none. Each of them
/// held it before and after its line was read, and was the same process.
///
/// Blocking: reads the descriptors of every process that this one may look into.
///
/// # Errors
/// Nobody was found, or it cannot be said who it is: nothing is known then.
pub fn lines_of_holders(inode: u64) -> Result<Vec<Line>, Unproven> {
    let mut search = Search { wanted: format!("socket:[{inode}]"), left: LOOKS };
    let mut why = Unproven::Nobody;
    for _ in 0..TRIES {
        let holders = search.holders()?;
        if holders.is_empty() {
            // One that hands it on to a child may have been missed between the two.
            continue;
        }
        why = Unproven::Moving;
        let mut lines = Vec::new();
        for pid in &holders {
            lines.extend(search.line_of(*pid)?);
        }
        if lines.len() == holders.len() {
            return Ok(lines);
        }
    }
    Err(why)
}

struct Search {
    /// What the descriptor links to.
    wanted: String,
    /// How many more descriptors may be looked at.
    left: usize,
}

impl Search {
    fn holders(&mut self) -> Result<Vec<i32>, Unproven> {
        let mut found = Vec::new();
        for pid in numbers(Path::new("/proc")) {
            if self.holds(pid)? {
                found.push(pid);
            }
        }
        Ok(found)
    }

    /// Whether a process has it open. Its threads have one table of descriptors, that of the first;
    /// where that one has ended, its table is empty and the others are asked. (A thread may have made
    /// its table its own: who does has hidden the socket, and nobody is taken for another for it.)
    fn holds(&mut self, pid: i32) -> Result<bool, Unproven> {
        if let Some(holds) = self.has(Path::new(&format!("/proc/{pid}/fd")))? {
            return Ok(holds);
        }
        let tasks = format!("/proc/{pid}/task");
        for thread in numbers(Path::new(&tasks)) {
            if thread != pid && self.has(Path::new(&format!("{tasks}/{thread}/fd")))? == Some(true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether it is in this table; `None` when nothing is, or it cannot be read.
    fn has(&mut self, table: &Path) -> Result<Option<bool>, Unproven> {
        let mut any = None;
        for entry in fs::read_dir(table).into_iter().flatten().flatten() {
            self.left = self.left.checked_sub(1).ok_or(Unproven::TooMany)?;
            if fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == self.wanted.as_str()) {
                return Ok(Some(true));
            }
            any = Some(false);
        }
        Ok(any)
    }

    /// The line of a holder, if it is one still and the same process.
    fn line_of(&mut self, pid: i32) -> Result<Option<Line>, Unproven> {
        let Some(line) = lineage(pid) else { return Ok(None) };
        let same = self.holds(pid)? && started(pid) == line.first().map(|(_, started)| *started);
        Ok(same.then_some(line))
    }
}

/// The names in a directory of /proc that are numbers.
fn numbers(directory: &Path) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::process::{Child, ChildStdin, Command, Stdio};

    use super::*;

    fn connected() -> (TcpStream, TcpStream, u64) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let inode = fs::metadata(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap().ino();
        (client, listener.accept().unwrap().0, inode)
    }

    fn me() -> i32 {
        super::super::own_pid().unwrap()
    }

    /// Looks until these hold it, and nobody else: a child of another test that was forked and has not
    /// become its program yet has what this process has open.
    #[track_caller]
    fn until(inode: u64, expected: Result<&[i32], Unproven>) {
        let mut expected = expected.map(<[i32]>::to_vec);
        if let Ok(pids) = &mut expected {
            pids.sort_unstable();
        }
        let mut got: Result<Vec<i32>, Unproven> = Err(Unproven::Nobody);
        for _ in 0..200 {
            got = lines_of_holders(inode).map(|lines| lines.iter().map(|line| line[0].0).collect());
            if let Ok(pids) = &mut got {
                pids.sort_unstable();
            }
            if got == expected {
                return;
            }
        }
        assert_eq!(got, expected);
    }

    #[test]
    fn a_socket_is_its_holders_until_it_is_closed() {
        let (client, _server, inode) = connected();
        assert!(lines_of_holders(inode).unwrap().contains(&lineage(me()).unwrap()));
        let twice = client.try_clone().unwrap();
        drop(client);
        until(inode, Ok(&[me()]));
        drop(twice);
        until(inode, Err(Unproven::Nobody));
    }

    /// A program that has the socket as its error output, until its input ends.
    struct Holder(Child, Option<ChildStdin>);

    impl Drop for Holder {
        fn drop(&mut self) {
            drop(self.1.take());
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Runs Python with the socket as its error output, waits for its first line.
    #[allow(clippy::disallowed_methods, reason = "real processes are what is tested")]
    fn python(test: &str, client: &TcpStream, program: &str) -> Option<(Holder, String)> {
        let spawned = Command::new("python3")
            .args(["-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::os::fd::OwnedFd::from(client.try_clone().unwrap()))
            .spawn();
        let Ok(mut child) = spawned else {
            println!("SKIPPED: {test}: no python3");
            return None;
        };
        let input = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some((Holder(child, input), line.trim().to_owned()))
    }

    #[test]
    fn a_child_that_inherited_it_holds_it_alone_or_with_its_parent() {
        let (client, _server, inode) = connected();
        let program = "import sys; print('ready', flush=True); sys.stdin.read()";
        let Some((holder, _)) = python("a_child_that_inherited_it", &client, program) else { return };
        let child = i32::try_from(holder.0.id()).unwrap();
        until(inode, Ok(&[me(), child]));
        drop(client);
        until(inode, Ok(&[child]));
        drop(holder);
        until(inode, Err(Unproven::Nobody));
    }

    #[test]
    fn a_socket_that_is_on_its_way_is_nobodys() {
        let (client, _server, inode) = connected();
        let program = "
import os, socket, sys
a, b = socket.socketpair()
socket.send_fds(a, [b'x'], [2]); os.close(2)
print('ready', flush=True); sys.stdin.read()";
        let Some((holder, _)) = python("a_socket_that_is_on_its_way_is_nobodys", &client, program) else { return };
        drop(client);
        until(inode, Err(Unproven::Nobody));
        drop(holder);
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_still_holds_it() {
        let (client, _server, inode) = connected();
        let program = "
import ctypes, os, sys, threading
def rest():
    while open('/proc/%d/stat' % os.getpid()).read().rsplit(')', 1)[1].split()[0] != 'Z': pass
    print('ready', flush=True); sys.stdin.read(); os._exit(0)
threading.Thread(target=rest).start()
libc = ctypes.CDLL(None); libc.pthread_exit(None)
";
        let Some((holder, said)) = python("a_process_whose_first_thread_has_ended", &client, program) else { return };
        assert_eq!(said, "ready");
        drop(client);
        let child = i32::try_from(holder.0.id()).unwrap();
        // Root is shown an empty table, others none.
        assert_eq!(fs::read_dir(format!("/proc/{child}/fd")).into_iter().flatten().count(), 0);
        until(inode, Ok(&[child]));
    }

    #[test]
    fn one_that_may_not_be_looked_into_is_not_guessed_at() {
        const TEST: &str = "one_that_may_not_be_looked_into_is_not_guessed_at";
        let (client, _server, inode) = connected();
        let program = "
import ctypes, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print('ready', flush=True); sys.stdin.read()";
        let Some((mut holder, _)) = python(TEST, &client, program) else { return };
        drop(client);
        if fs::read_dir(format!("/proc/{}/fd", holder.0.id())).is_ok() {
            println!("SKIPPED: {TEST}: this user may look into every process");
            until(inode, Ok(&[i32::try_from(holder.0.id()).unwrap()]));
        } else {
            until(inode, Err(Unproven::Nobody));
        }
        // It lived all the while.
        holder.1.as_mut().unwrap().write_all(b"x").unwrap();
        assert!(holder.0.try_wait().unwrap().is_none());
    }

    #[test]
    fn more_descriptors_than_are_looked_at_prove_nothing() {
        let (_client, _server, inode) = connected();
        let mut search = Search { wanted: format!("socket:[{inode}]"), left: 2 };
        assert_eq!(search.holders(), Err(Unproven::TooMany));
    }
}
