//! What the program prints: cut into lines, its end kept for the exit record, and all of it relayed
//! as far as the daemon keeps up. A slow daemon must never hold a command up: lines are dropped and
//! counted instead. The stdout of a stream is the other way round. It must not know what lines mean.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::clock::Deadline;
use crate::wire::{self, MAX_STREAM_LINE, ToDaemon};

/// 40 lines: what a person reads of a failed command before opening its log.
const TAIL_LINES: usize = 40;
/// 64 KiB: half of the space reserved for the record, so that usual escaping fits.
const TAIL_BYTES: usize = 64 * 1024;
/// 16 KiB: a line without end must not fill the memory; longer lines come in pieces.
const MAX_PIECE: usize = 16 * 1024;
/// 4 MiB of lines wait for the daemon: bursts of a build log fit, and many launchers do not hurt. A
/// longer line of a stream waits alone.
const QUEUE_BYTES: usize = 4 * 1024 * 1024;
/// What a queued line costs besides its text, so that empty lines are bounded, too.
const LINE_COST: usize = 64;

/// 64 KiB: a pipe's whole content at once.
const CHUNK: usize = 64 * 1024;

pub(super) fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to the daemon. Only [`Outbox::line`] waits.
#[derive(Clone)]
pub(super) struct Outbox(Arc<(Mutex<Queue>, Condvar)>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Item>,
    bytes: usize,
    dropped: u64,
    /// So many lines of a stream wait for room.
    stuck: u64,
    /// No more lines of a stream are taken.
    last_line: bool,
    /// Nothing more is taken.
    closing: bool,
    /// The writer has written everything, or the daemon is gone.
    done: bool,
}

enum Item {
    Message(ToDaemon),
    Line(Vec<u8>),
}

impl Item {
    fn cost(&self) -> usize {
        match self {
            Self::Message(ToDaemon::Words { line, .. }) => line.len() + LINE_COST,
            Self::Message(_) => 0,
            Self::Line(line) => line.len() + LINE_COST,
        }
    }

    fn write(&self, control: &mut UnixStream) -> io::Result<()> {
        match self {
            Self::Message(message) => control.write_all(&wire::line(message)?),
            Self::Line(line) => {
                control.write_all(&wire::line(&ToDaemon::Line(line.len()))?)?;
                control.write_all(line)
            }
        }
    }
}

impl Outbox {
    /// # Errors
    /// When the system has no thread left.
    pub(super) fn start(control: UnixStream) -> io::Result<Self> {
        let outbox = Self(Arc::new((Mutex::new(Queue::default()), Condvar::new())));
        let writer = outbox.clone();
        thread::Builder::new().name("to-daemon".into()).spawn(move || writer.write_all(control))?;
        Ok(outbox)
    }

    pub(super) fn words(&self, line: &str, stderr: bool) {
        let mut queue = guard(&self.0.0);
        if queue.closing || queue.done {
            return;
        }
        let words = Item::Message(ToDaemon::Words { line: line.to_owned(), stderr });
        if queue.bytes + words.cost() > QUEUE_BYTES {
            queue.dropped += 1;
            return;
        }
        queue.put(words);
        self.0.1.notify_all();
    }

    /// A line of a stream: waits until there is room.
    fn line(&self, line: Vec<u8>) {
        let line = Item::Line(line);
        let (queue, changed) = &*self.0;
        let mut queue = guard(queue);
        queue.stuck += 1;
        while queue.bytes > 0 && queue.bytes + line.cost() > QUEUE_BYTES && !queue.done && !queue.last_line {
            queue = changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.stuck -= 1;
        if !queue.last_line {
            queue.put(line);
            changed.notify_all();
        }
    }

    /// A line of a stream that is longer than any may be.
    fn too_long(&self) {
        guard(&self.0.0).dropped += 1;
    }

    /// Whether a line of a stream waits for the daemon.
    pub(super) fn is_stuck(&self) -> bool {
        guard(&self.0.0).stuck > 0
    }

    /// Take no more lines of a stream; those that still wait are lost and counted.
    pub(super) fn end_lines(&self) {
        let mut queue = guard(&self.0.0);
        queue.last_line = true;
        queue.dropped += queue.stuck;
        self.0.1.notify_all();
    }

    /// What must not be dropped: a few messages a run, and one for each input of a stream.
    pub(super) fn tell(&self, message: ToDaemon) {
        guard(&self.0.0).put(Item::Message(message));
        self.0.1.notify_all();
    }

    /// Take nothing more, and wait until all is written, the daemon is gone, or the time is over.
    pub(super) fn finish(&self, within: Duration) {
        let (queue, changed) = &*self.0;
        let mut queue = guard(queue);
        queue.closing = true;
        changed.notify_all();
        let deadline = Deadline::after(within);
        while !queue.done && !deadline.passed() {
            queue = changed.wait_timeout(queue, deadline.left()).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn write_all(&self, mut control: UnixStream) {
        while let Some(item) = self.take() {
            if item.write(&mut control).is_err() {
                break;
            }
        }
        let mut queue = guard(&self.0.0);
        queue.done = true;
        queue.waiting.clear();
        self.0.1.notify_all();
    }

    fn take(&self) -> Option<Item> {
        let (queue, changed) = &*self.0;
        let mut queue = guard(queue);
        loop {
            if let Some(item) = queue.waiting.pop_front() {
                queue.bytes = queue.bytes.saturating_sub(item.cost());
                // There is room now.
                changed.notify_all();
                return Some(item);
            }
            if queue.closing {
                return None;
            }
            queue = changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Queue {
    fn put(&mut self, item: Item) {
        if self.done {
            return;
        }
        // Before the item, so that the gap shows where it was.
        if self.dropped > 0 {
            self.waiting.push_back(Item::Message(ToDaemon::Dropped(self.dropped)));
            self.dropped = 0;
        }
        self.bytes += item.cost();
        self.waiting.push_back(item);
    }
}

/// The last lines, of both streams as they were read.
#[derive(Default)]
struct Tail {
    pieces: VecDeque<(String, bool)>,
    bytes: usize,
}

impl Tail {
    fn push(&mut self, text: &str, whole: bool) {
        self.pieces.push_back((text.to_owned(), whole));
        self.bytes += text.len() + 1;
        while self.pieces.len() > TAIL_LINES || self.bytes > TAIL_BYTES {
            let Some((first, _)) = self.pieces.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(first.len() + 1);
        }
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes);
        for (piece, whole) in &self.pieces {
            text.push_str(piece);
            if *whole {
                text.push('\n');
            }
        }
        if text.ends_with('\n') {
            text.pop();
        }
        text
    }
}

/// Where both streams of a program go.
#[derive(Clone)]
pub(super) struct Sink {
    tail: Arc<Mutex<Tail>>,
    outbox: Outbox,
}

impl Sink {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self { tail: Arc::default(), outbox }
    }

    /// The last lines so far.
    pub(super) fn tail(&self) -> String {
        guard(&self.tail).text()
    }

    /// Read a stream to its end.
    pub(super) fn pump(&self, mut stream: impl Read, stderr: bool) {
        let mut lines = Lines::default();
        // 8 KiB: half a piece, so that a piece is never cut far beyond its bound.
        let mut chunk = [0; 8 * 1024];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => lines.feed(chunk.get(..n).unwrap_or_default(), |text, whole| {
                    self.put(text, whole, stderr);
                }),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        lines.end(|text, whole| self.put(text, whole, stderr));
    }

    /// Read the stdout of a stream to its end, in whole lines.
    pub(super) fn pump_lines(&self, stream: impl Read) {
        let mut from = BufReader::with_capacity(CHUNK, stream);
        loop {
            let mut line = Vec::new();
            // One byte more than a line may have, and its end.
            let limit = MAX_STREAM_LINE as u64 + 2;
            if !from.by_ref().take(limit).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                return;
            }
            let mut whole = line.pop_if(|last| *last == b'\n').is_some();
            if line.len() <= MAX_STREAM_LINE {
                self.outbox.line(line);
                continue;
            }
            while !whole {
                line.clear();
                match from.by_ref().take(CHUNK as u64).read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 => whole = line.last() == Some(&b'\n'),
                    _ => break,
                }
            }
            self.outbox.too_long();
        }
    }

    fn put(&self, text: &str, whole: bool, stderr: bool) {
        // Under one lock, so that the tail and the daemon see both streams in the same order.
        let mut tail = guard(&self.tail);
        tail.push(text, whole);
        self.outbox.words(text, stderr);
    }
}

/// Cuts bytes into lines, and lines that are too long into pieces between characters.
#[derive(Default)]
struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    fn feed(&mut self, mut bytes: &[u8], mut put: impl FnMut(&str, bool)) {
        while let Some(at) = bytes.iter().position(|b| *b == b'\n') {
            let (line, rest) = bytes.split_at(at);
            self.pending.extend_from_slice(line);
            self.cut(&mut put);
            let line = self.pending.strip_suffix(b"\r").unwrap_or(&self.pending);
            put(&String::from_utf8_lossy(line), true);
            self.pending.clear();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.pending.extend_from_slice(bytes);
        self.cut(&mut put);
    }

    fn cut(&mut self, put: &mut impl FnMut(&str, bool)) {
        while self.pending.len() > MAX_PIECE {
            // A character of UTF-8 has at most three more bytes, each 10xxxxxx.
            let continues = |at: &usize| self.pending.get(*at).is_some_and(|b| b & 0xc0 == 0x80);
            let mut at = MAX_PIECE;
            while at > MAX_PIECE - 3 && continues(&at) {
                at -= 1;
            }
            let rest = self.pending.split_off(at);
            put(&String::from_utf8_lossy(&self.pending), false);
            self.pending = rest;
        }
    }

    fn end(&mut self, mut put: impl FnMut(&str, bool)) {
        if !self.pending.is_empty() {
            put(&String::from_utf8_lossy(&self.pending), true);
            self.pending.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<(String, bool)> {
        let mut all = Vec::new();
        let mut lines = Lines::default();
        for chunk in chunks {
            lines.feed(chunk, |text, whole| all.push((text.to_owned(), whole)));
        }
        lines.end(|text, whole| all.push((text.to_owned(), whole)));
        all
    }

    #[test]
    fn lines_are_whole_however_they_arrive() {
        let expected = vec![("ab".to_owned(), true), (String::new(), true), ("c".to_owned(), true)];
        assert_eq!(lines(&[b"a", b"b\r\n\nc"]), expected);
        assert_eq!(lines(&[b"ab\n", b"\nc\n"]), expected);
    }

    #[test]
    fn a_line_without_end_comes_in_pieces_cut_between_characters() {
        let text = "é".repeat(20 * 1024);
        let odd = format!("x{text}");
        let pieces = lines(&[odd.as_bytes()]);
        assert!(pieces.iter().all(|(p, _)| p.len() <= MAX_PIECE && !p.contains('\u{fffd}')));
        assert_eq!(pieces.iter().map(|(p, _)| p.as_str()).collect::<String>(), odd);
        assert_eq!(pieces.iter().filter(|(_, whole)| *whole).count(), 1);
    }

    #[test]
    fn a_tail_is_the_last_40_lines_and_at_most_64_kib() {
        let mut tail = Tail::default();
        for n in 0..100 {
            tail.push(&n.to_string(), true);
        }
        let expected: Vec<String> = (60..100).map(|n| n.to_string()).collect();
        assert_eq!(tail.text(), expected.join("\n"));
        for _ in 0..40 {
            tail.push(&"x".repeat(MAX_PIECE - 1), true);
        }
        assert!(tail.text().len() <= TAIL_BYTES);
        assert!(tail.text().len() > TAIL_BYTES - MAX_PIECE);
    }

    #[test]
    fn a_daemon_that_does_not_read_costs_lines_and_never_time() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let outbox = Outbox::start(theirs).unwrap();
        let line = "x".repeat(10 * 1024);
        for _ in 0..2_000 {
            outbox.words(&line, false);
        }
        outbox.tell(ToDaemon::Started { pid: 1 });
        let reader = thread::spawn(move || {
            let (mut words, mut dropped, mut started) = (0, 0, false);
            for line in io::BufReader::new(ours).lines() {
                match serde_json::from_str(&line.unwrap()).unwrap() {
                    ToDaemon::Words { .. } => words += 1,
                    ToDaemon::Dropped(n) => dropped += n,
                    ToDaemon::Started { .. } => started = true,
                    _ => {}
                }
            }
            (words, dropped, started)
        });
        outbox.finish(Duration::from_secs(30));
        drop(outbox);
        let (words, dropped, started) = reader.join().unwrap();
        assert_eq!(words + dropped, 2_000);
        assert!(dropped > 1_000 && started);
    }

    #[test]
    fn a_daemon_that_does_not_read_holds_a_stream_up_until_its_last_line() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let outbox = Outbox::start(theirs).unwrap();
        let (out, mut program) = io::pipe().unwrap();
        let sink = Sink::new(outbox.clone());
        let pump = thread::spawn(move || sink.pump_lines(out));
        let line = [vec![b'x'; QUEUE_BYTES], b"\r\n".to_vec()].concat();
        program.write_all(&line).unwrap();
        program.write_all(&line).unwrap();
        // The first is in the socket, the second waits; the third has no room.
        program.write_all(&line).unwrap();
        let end = Deadline::after(Duration::from_secs(30));
        while !outbox.is_stuck() && !end.passed() {
            thread::yield_now();
        }
        assert!(outbox.is_stuck());
        outbox.end_lines();
        drop(program);
        pump.join().unwrap();
        outbox.tell(ToDaemon::Started { pid: 1 });
        let reader = thread::spawn(move || {
            let mut from = BufReader::new(ours);
            let (mut lines, mut dropped, mut text) = (0, 0, String::new());
            while from.read_line(&mut text).unwrap() > 0 {
                match serde_json::from_str(&text).unwrap() {
                    ToDaemon::Line(length) => {
                        let mut line = vec![0; length];
                        from.read_exact(&mut line).unwrap();
                        assert!(line.iter().take(QUEUE_BYTES).all(|b| *b == b'x') && length == QUEUE_BYTES + 1);
                        lines += 1;
                    }
                    ToDaemon::Dropped(n) => dropped += n,
                    _ => {}
                }
                text.clear();
            }
            (lines, dropped)
        });
        outbox.finish(Duration::from_secs(30));
        drop(outbox);
        assert_eq!(reader.join().unwrap(), (2, 1));
    }

    #[test]
    fn an_endless_line_of_a_stream_is_left_out_and_counted() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let outbox = Outbox::start(theirs).unwrap();
        let endless = io::repeat(b'x').take(MAX_STREAM_LINE as u64 + 100);
        Sink::new(outbox.clone()).pump_lines(endless.chain(&b"\nafter"[..]));
        outbox.finish(Duration::from_secs(30));
        drop(outbox);
        let mut all = String::new();
        BufReader::new(ours).read_to_string(&mut all).unwrap();
        assert_eq!(all, "{\"dropped\":1}\n{\"line\":5}\nafter");
    }
}
