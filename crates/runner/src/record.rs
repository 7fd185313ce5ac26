//! The files of a run, which say what is true about it after any crash: `started` before the
//! program, `exit` after everything ended, in space that was reserved before it began.
//! It must not know how the run is supervised.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::clock::wall_ms;
use crate::wire::{ExitRecord, Input};

const STARTED: &str = "started";
const EXIT: &str = "exit";
const EXIT_PART: &str = "exit.part";
const STDIN: &str = "stdin";
pub(crate) const RESULT_FILE: &str = "result";

/// 128 KiB: the tail (at most 64 KiB) with usual escaping, and the rest. What escapes to more is cut.
const RESERVED: usize = 128 * 1024;

/// 1 MiB, as much as a message may have.
const MAX_RESULT: u64 = 1024 * 1024;

/// The first word of an exit record, so that a foreign or empty file is not taken for one.
const MAGIC: &str = "shrooms-exit-1";

/// What a run left in its directory. Final only when nothing of the run is alive any more, that is
/// after `Ended` or after [`clear_leftovers`](crate::clear_leftovers) said so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The program may have run. False: it has not, and will not.
    pub started: bool,
    /// How it ended; absent when that was never written whole.
    pub exit: Option<ExitRecord>,
    /// What the program wrote to `$SHROOMS_RESULT`: the first 1 MiB, bytes that are no UTF-8 replaced.
    pub result: Option<String>,
}

/// Read what a run left.
///
/// # Errors
/// When the directory is missing (which is not the same as a run that did not start) or something
/// cannot be read: then nothing is known.
pub fn read_trace(dir: &Path) -> io::Result<Trace> {
    fs::read_dir(dir)?;
    let started = dir.join(STARTED).try_exists()?;
    let mut exit = read_exit(&dir.join(EXIT))?;
    if exit.is_none() {
        // Written whole, but killed before the new name: as true as the other.
        exit = read_exit(&dir.join(EXIT_PART))?;
    }
    let result =
        read_plain(&dir.join(RESULT_FILE), MAX_RESULT)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Trace { started, exit, result })
}

/// A plain file's first `limit` bytes; `None` when it is missing or anything but a plain file. The
/// program can put what it likes there: a link is not followed and a pipe not waited for.
fn read_plain(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A link or a socket, by what Linux says of them.
        Err(e) if not_openable(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn not_openable(e: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(e), Some(Errno::LOOP | Errno::NXIO))
}

fn read_exit(path: &Path) -> io::Result<Option<ExitRecord>> {
    Ok(read_plain(path, RESERVED as u64)?.and_then(|bytes| decode(&bytes)))
}

/// `MAGIC LENGTH CHECKSUM\n` and that many bytes of JSON.
fn encode(record: &ExitRecord) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(record)?;
    let mut bytes = format!("{MAGIC} {} {:016x}\n", body.len(), checksum(&body)).into_bytes();
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// `None` for anything that is not a whole record: torn, empty, or of zeros.
fn decode(bytes: &[u8]) -> Option<ExitRecord> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let mut words = std::str::from_utf8(bytes.get(..end)?).ok()?.split(' ');
    if words.next()? != MAGIC {
        return None;
    }
    let length: usize = words.next()?.parse().ok()?;
    let sum = u64::from_str_radix(words.next()?, 16).ok()?;
    let body = bytes.get(end + 1..)?.get(..length)?;
    if checksum(body) != sum {
        return None;
    }
    serde_json::from_slice(body).ok()
}

/// FNV-1a: against torn writes, not against anyone.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, b| (sum ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// A run's directory before its program: what must be on disk is, or nothing is.
pub(crate) struct Prepared {
    /// The text for the program's stdin, at its beginning; none for a stream.
    pub(crate) stdin: Option<File>,
    pub(crate) exit: Reserved,
}

/// Whether the directory was used by an earlier run.
pub(crate) fn used(dir: &Path) -> io::Result<bool> {
    Ok(dir.join(STARTED).try_exists()? || dir.join(EXIT).try_exists()?)
}

/// Write the input and reserve the space for the exit record.
///
/// # Errors
/// Leaves nothing behind then.
pub(crate) fn prepare(dir: &Path, stdin: &Input) -> io::Result<Prepared> {
    let written = match stdin {
        Input::Text(text) => write_input(&dir.join(STDIN), text).map(Some),
        Input::Stream => Ok(None),
    };
    let made = written.and_then(|stdin| Ok(Prepared { stdin, exit: Reserved::make(dir)? }));
    if made.is_err() {
        undo(dir);
    }
    made
}

/// Say durably that the program may run from here on.
///
/// # Errors
/// Leaves nothing behind then.
pub(crate) fn write_started(dir: &Path, mark: &str) -> io::Result<()> {
    let text = serde_json::json!({ "mark": mark, "at_ms": wall_ms() }).to_string();
    let written = create(&dir.join(STARTED))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| sync_dir(dir));
    if written.is_err() {
        undo(dir);
    }
    written
}

/// Take away what `prepare` and `write_started` made: the program was not run. What cannot be
/// removed makes the run look started, which is the safe side.
pub(crate) fn undo(dir: &Path) {
    for name in [EXIT_PART, STDIN, STARTED] {
        let _ = fs::remove_file(dir.join(name));
    }
    let _ = sync_dir(dir);
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn write_input(path: &Path, text: &str) -> io::Result<File> {
    // A launcher that was killed before `started` may have left one.
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    // Not for the text, which no one needs after a crash: a delayed ENOSPC shows here.
    file.sync_all()?;
    File::open(path)
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The space for the exit record: real blocks on disk, so that a disk that fills up meanwhile
/// cannot take a result away.
pub(crate) struct Reserved(File);

impl Reserved {
    fn make(dir: &Path) -> io::Result<Self> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(dir.join(EXIT_PART))?;
        // Zeros are written, not allocated by a call: some file systems know no such call, and
        // others keep the promise only until the space is needed.
        file.write_all(&vec![0; RESERVED])?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// Write the record in place, durably, and give it its final name. The tail loses its beginning
    /// where it does not fit. Returns the record as it is on disk.
    ///
    /// # Errors
    /// When the disk fails, or the directory is gone: the record can still be reported.
    pub(crate) fn write(mut self, dir: &Path, mut record: ExitRecord) -> io::Result<ExitRecord> {
        let bytes = loop {
            let bytes = encode(&record)?;
            if bytes.len() <= RESERVED {
                break bytes;
            }
            // A quarter a step: keeps most of it in the few steps that escaping can need.
            let cut = (record.tail.len() / 4).max(1);
            let cut =
                (cut..=record.tail.len()).find(|at| record.tail.is_char_boundary(*at)).unwrap_or(record.tail.len());
            record.tail.drain(..cut);
            if record.tail.is_empty() {
                // Only a spawn error of this size is left, which no system call gives.
                record.spawn_error = record.spawn_error.map(|_| "cannot start the program".into());
            }
        };
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&bytes)?;
        self.0.sync_all()?;
        let part = dir.join(EXIT_PART);
        if fs::rename(&part, dir.join(EXIT)).is_err() {
            // The program removed the file under us (its directory is writable to it).
            let mut file = create(&part)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&part, dir.join(EXIT))?;
        }
        sync_dir(dir)?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tail: &str) -> ExitRecord {
        ExitRecord { code: Some(0), signal: None, spawn_error: None, stopped: false, tail: tail.to_owned(), at_ms: 5 }
    }

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn an_exit_record_torn_at_any_byte_is_no_exit() {
        let bytes = encode(&record("all of it")).unwrap();
        for cut in 0..bytes.len() {
            let mut torn = bytes[..cut].to_vec();
            torn.resize(RESERVED, 0);
            assert_eq!(decode(&torn), None, "cut at {cut}");
        }
        assert_eq!(decode(&bytes), Some(record("all of it")));
    }

    #[test]
    fn a_torn_exit_file_is_no_exit_and_a_whole_part_is_one() {
        let dir = dir();
        let bytes = encode(&record("x")).unwrap();
        fs::write(dir.path().join(STARTED), "").unwrap();
        fs::write(dir.path().join(EXIT), &bytes[..bytes.len() - 1]).unwrap();
        let trace = read_trace(dir.path()).unwrap();
        assert_eq!((trace.started, trace.exit), (true, None));
        fs::write(dir.path().join(EXIT_PART), &bytes).unwrap();
        assert_eq!(read_trace(dir.path()).unwrap().exit, Some(record("x")));
    }

    #[test]
    fn reserved_space_alone_is_no_exit() {
        let dir = dir();
        prepare(dir.path(), &"".into()).unwrap();
        assert_eq!(read_trace(dir.path()).unwrap(), Trace::default());
    }

    #[test]
    fn a_tail_that_escapes_to_more_than_the_space_keeps_its_end() {
        let dir = dir();
        let prepared = prepare(dir.path(), &"".into()).unwrap();
        let tail = format!("{}end", "\u{1}".repeat(64 * 1024));
        let written = prepared.exit.write(dir.path(), record(&tail)).unwrap();
        assert!(written.tail.ends_with("end") && written.tail.len() > 8 * 1024);
        assert_eq!(read_trace(dir.path()).unwrap().exit, Some(written));
        assert_eq!(fs::metadata(dir.path().join(EXIT)).unwrap().len(), RESERVED as u64);
    }

    #[test]
    fn a_record_is_written_also_when_the_program_removed_its_place() {
        let dir = dir();
        let prepared = prepare(dir.path(), &"".into()).unwrap();
        fs::remove_file(dir.path().join(EXIT_PART)).unwrap();
        prepared.exit.write(dir.path(), record("x")).unwrap();
        assert_eq!(read_trace(dir.path()).unwrap().exit, Some(record("x")));
    }

    #[test]
    fn a_missing_directory_is_an_error_and_not_a_run_that_did_not_start() {
        assert!(read_trace(Path::new("/nonexistent/run")).is_err());
    }

    #[test]
    fn a_result_that_is_a_link_or_a_pipe_is_not_read() {
        let dir = dir();
        let result = dir.path().join(RESULT_FILE);
        std::os::unix::fs::symlink("/etc/passwd", &result).unwrap();
        assert_eq!(read_trace(dir.path()).unwrap().result, None);
        fs::remove_file(&result).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &result,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(read_trace(dir.path()).unwrap().result, None);
    }

    #[test]
    fn a_result_is_cut_at_a_mebibyte_and_read_as_lossy_text() {
        let dir = dir();
        let mut bytes = vec![b'a'; 2 * 1024 * 1024];
        bytes[0] = 0xff;
        fs::write(dir.path().join(RESULT_FILE), bytes).unwrap();
        let result = read_trace(dir.path()).unwrap().result.unwrap();
        assert!(result.starts_with("\u{fffd}aa"));
        assert_eq!(result.chars().count(), 1024 * 1024);
    }
}
