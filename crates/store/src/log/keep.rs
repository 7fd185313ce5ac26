//! What the log keeps: numbers its lines, writes them, and lets the oldest go in pieces that are no
//! larger than what comes in, so that no line pays for the past of its session. Must not know who
//! adds lines.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Transaction, params};

use super::{BYTES, LogBounds, LogLine, row_of};

/// Lines that go for each that comes, where there are too many …
const GO_FOR_ONE: usize = 3;
/// … and those that go besides, of each piece.
const GO: usize = 16;
/// Pages of the search's index that one commit puts together, and as many more for each of its lines: more
/// than it makes of each of the index's levels, so that they never pile up and have to be put together at
/// once.
const MERGE_PAGES: usize = 6;
const MERGE_FOR_ONE: usize = 2;

/// The lines of a session that are kept: from `first` to before `next`.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    first: i64,
    next: i64,
    bytes: i64,
    gone: bool,
}

impl Count {
    fn lines(&self) -> i64 {
        self.next - self.first
    }
}

pub(super) struct Kept {
    bounds: LogBounds,
    sessions: BTreeMap<i64, Count>,
    /// Sessions whose lines go.
    going: BTreeSet<i64>,
}

impl Kept {
    pub(super) fn read(db: &Connection, bounds: LogBounds) -> rusqlite::Result<Kept> {
        let mut rows = db.prepare("SELECT uid, first, next, bytes, gone FROM session")?;
        let read = rows.query_map([], |r| {
            let count = Count { first: r.get(1)?, next: r.get(2)?, bytes: r.get(3)?, gone: r.get(4)? };
            Ok((r.get(0)?, count))
        })?;
        let sessions: BTreeMap<i64, Count> = read.collect::<Result<_, _>>()?;
        let going = sessions.iter().filter(|(_, count)| count.gone).map(|(uid, _)| *uid).collect();
        Ok(Kept { bounds, sessions, going })
    }

    /// A session's lines go from here on.
    pub(super) fn forget(&mut self, session: i64) {
        if let Some(count) = self.sessions.get_mut(&session) {
            count.gone = true;
            self.going.insert(session);
        }
    }

    /// There are lines that go, whether others come or not.
    pub(super) fn is_clearing(&self) -> bool {
        !self.going.is_empty()
    }

    /// Writes lines, gives them their numbers, and lets a piece of what is too much go: all in one
    /// commit. After an error the counts are to be read again.
    pub(super) fn write(&mut self, db: &mut Connection, lines: &mut [LogLine]) -> rusqlite::Result<()> {
        let tx = db.transaction()?;
        let mut touched = BTreeSet::new();
        for line in lines.iter_mut() {
            let count = self.sessions.entry(line.session).or_insert(Count { first: 1, next: 1, ..Count::default() });
            line.seq = count.next;
            count.next += 1;
            count.bytes += line.bytes();
            touched.insert(line.session);
            let row = row_of(line.session, line.seq);
            tx.prepare_cached("INSERT INTO line (no, at, kind, task, text) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![row, line.at, line.kind, line.task, line.text])?;
            tx.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?.execute(params![row, line.text])?;
        }
        self.let_go(&tx, lines.len(), &mut touched)?;
        for uid in touched {
            match self.sessions.get(&uid) {
                Some(count) => {
                    let put = "INSERT INTO session (uid, first, next, bytes, gone) VALUES (?1, ?2, ?3, ?4, ?5)
                               ON CONFLICT (uid) DO UPDATE SET first = excluded.first, next = excluded.next,
                               bytes = excluded.bytes, gone = excluded.gone";
                    tx.prepare_cached(put)?.execute(params![uid, count.first, count.next, count.bytes, count.gone])?;
                }
                None => {
                    tx.prepare_cached("DELETE FROM session WHERE uid = ?1")?.execute([uid])?;
                }
            }
        }
        let pages = i64::try_from(MERGE_PAGES + lines.len() * MERGE_FOR_ONE).unwrap_or(i64::MAX);
        tx.prepare_cached("INSERT INTO words (words, rank) VALUES ('merge', ?1)")?.execute([pages])?;
        tx.commit()
    }

    fn let_go(&mut self, tx: &Transaction<'_>, came: usize, touched: &mut BTreeSet<i64>) -> rusqlite::Result<()> {
        let of_now: Vec<i64> = touched.iter().copied().collect();
        let mut left = came * GO_FOR_ONE + GO;
        for uid in of_now {
            let over = self.sessions.get(&uid).map_or(0, |count| count.lines() - self.bounds.lines);
            left -= self.drop_oldest(tx, uid, left.min(usize::try_from(over).unwrap_or(0)))?;
        }
        if let Some(uid) = self.going.first().copied() {
            touched.insert(uid);
            self.drop_oldest(tx, uid, left)?;
            if self.sessions.get(&uid).is_none_or(|count| count.lines() == 0) {
                // Its number is never given again, and neither are those of its lines.
                self.sessions.remove(&uid);
                self.going.remove(&uid);
            }
        } else if used(tx)? > self.bounds.bytes {
            // What they took is free when the index was put together, which takes its time: no more go
            // than the lines that come call for.
            let most = self.sessions.iter().max_by_key(|(_, count)| count.bytes).map(|(uid, _)| *uid);
            if let Some(uid) = most {
                touched.insert(uid);
                self.drop_oldest(tx, uid, left.min(came * GO_FOR_ONE))?;
            }
        }
        Ok(())
    }

    /// Drops so many of a session's oldest lines; how many it were.
    fn drop_oldest(&mut self, tx: &Transaction<'_>, uid: i64, most: usize) -> rusqlite::Result<usize> {
        let Some(count) = self.sessions.get_mut(&uid).filter(|_| most > 0) else { return Ok(0) };
        let until = count.next.min(count.first + i64::try_from(most).unwrap_or(i64::MAX));
        let (from, to) = (row_of(uid, count.first), row_of(uid, until));
        let sql = format!("SELECT coalesce(sum({BYTES}), 0) FROM line WHERE no >= ?1 AND no < ?2");
        let bytes: i64 = tx.prepare_cached(&sql)?.query_row([from, to], |r| r.get(0))?;
        for row in from..to {
            tx.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([row])?;
        }
        tx.prepare_cached("DELETE FROM line WHERE no >= ?1 AND no < ?2")?.execute([from, to])?;
        let dropped = usize::try_from(until - count.first).unwrap_or(0);
        count.first = until;
        count.bytes -= bytes;
        Ok(dropped)
    }
}

/// Bytes of the file that hold something.
fn used(db: &Connection) -> rusqlite::Result<i64> {
    let of = |name: &str| db.pragma_query_value(None, name, |r| r.get::<_, i64>(0));
    Ok((of("page_count")? - of("freelist_count")?) * of("page_size")?)
}
