//! What a person types, as an expression of the full-text index: words are found by their beginnings,
//! what stands in quotes as it stands there, and all of it must occur. Whatever is typed is one.

use rusqlite::{Connection, OptionalExtension};

use crate::StoreError;

/// Characters of a query: what somebody types or pastes as one sentence …
const MAX_CHARS: usize = 400;
/// … and words in it: each is looked for by itself.
const MAX_WORDS: usize = 20;
/// Words that begin like a given one and are looked for one by one; more are gone through all.
const MAX_BEGINNINGS: usize = 64;
/// Beginnings of so many letters have an index of their own (`file`, `prefix`).
const INDEXED: std::ops::RangeInclusive<usize> = 2..=3;

/// A piece of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Words as the index has them; the last one may go on.
    Beginning(Vec<String>),
    /// The same, whole.
    Phrase(Vec<String>),
}

/// The tokenizer of the index, by itself: says which words a text has, and where.
pub(super) struct Words(Connection);

impl Words {
    pub(super) fn new() -> rusqlite::Result<Words> {
        let db = Connection::open_in_memory()?;
        db.execute_batch(
            "CREATE VIRTUAL TABLE one USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2');
             CREATE VIRTUAL TABLE word USING fts5vocab (one, instance);",
        )?;
        Ok(Words(db))
    }

    /// The words of a text, in their order, as the index has them.
    fn of(&self, text: &str) -> rusqlite::Result<Vec<String>> {
        self.put(text)?;
        let mut read = self.0.prepare_cached("SELECT term FROM word ORDER BY offset")?;
        read.query_map([], |r| r.get(0))?.collect()
    }

    /// A piece of a text about what an expression finds in it, of so many words.
    pub(super) fn snippet(&self, text: &str, expression: &str, words: i64) -> rusqlite::Result<Option<String>> {
        self.put(text)?;
        let mut cut = self.0.prepare_cached("SELECT snippet(one, 0, '', '', '…', ?2) FROM one WHERE one MATCH ?1")?;
        cut.query_row(rusqlite::params![expression, words], |r| r.get(0)).optional()
    }

    fn put(&self, text: &str) -> rusqlite::Result<()> {
        self.0.prepare_cached("DELETE FROM one")?.execute([])?;
        self.0.prepare_cached("INSERT INTO one (rowid, text) VALUES (1, ?1)")?.execute([text])?;
        Ok(())
    }

    /// Reads a query.
    ///
    /// # Errors
    /// It holds no word, or too much.
    pub(super) fn pieces(&self, query: &str) -> Result<Vec<Piece>, StoreError> {
        let bad = |why: String| Err(StoreError::Query { why });
        if query.chars().count() > MAX_CHARS {
            return bad(format!("at most {MAX_CHARS} characters can be searched for: take the words that matter"));
        }
        let mut pieces = Vec::new();
        // Every second part stands in quotes, or behind one that was not closed.
        for (n, part) in query.split('"').enumerate() {
            let is_phrase = n % 2 == 1;
            let texts: Vec<&str> = if is_phrase { vec![part] } else { part.split_whitespace().collect() };
            for text in texts {
                let words = self.of(text)?;
                match (words.is_empty(), is_phrase) {
                    (true, _) => {}
                    (false, true) => pieces.push(Piece::Phrase(words)),
                    (false, false) => pieces.push(Piece::Beginning(words)),
                }
            }
        }
        let words: usize = pieces
            .iter()
            .map(|p| match p {
                Piece::Beginning(w) | Piece::Phrase(w) => w.len(),
            })
            .sum();
        match words {
            0 => bad("there is no word to search for: letters and digits are searched, nothing else".into()),
            n if n > MAX_WORDS => bad(format!("at most {MAX_WORDS} words can be searched for: take those that matter")),
            _ => Ok(pieces),
        }
    }
}

/// The expression of a query for the log behind this connection; `None`: no line has such a word.
pub(super) fn expression(db: &Connection, pieces: &[Piece]) -> rusqlite::Result<Option<String>> {
    let mut all = Vec::new();
    for piece in pieces {
        all.push(match piece {
            Piece::Phrase(words) => phrase(words),
            Piece::Beginning(words) => match beginning(db, words)? {
                Some(expression) => expression,
                None => return Ok(None),
            },
        });
    }
    Ok(Some(all.join(" AND ")))
}

/// As the index reads it: words are letters and digits alone, and so in quotes nothing else.
fn phrase(words: &[String]) -> String {
    format!("\"{}\"", words.join(" ").replace('"', "\"\""))
}

fn beginning(db: &Connection, words: &[String]) -> rusqlite::Result<Option<String>> {
    let Some((last, before)) = words.split_last() else { return Ok(None) };
    let letters = last.chars().count();
    if letters < *INDEXED.start() {
        return Ok(Some(phrase(words)));
    }
    if INDEXED.contains(&letters) {
        return Ok(Some(format!("{} *", phrase(words))));
    }
    // One by one they are met from the newest line on; as a beginning they would all be gone through
    // before the first is found.
    let terms = terms(db, last)?;
    Ok(match terms.len() {
        0 => None,
        n if n > MAX_BEGINNINGS => Some(format!("{} *", phrase(words))),
        _ => {
            let each = terms.iter().map(|term| phrase(&[before, std::slice::from_ref(term)].concat()));
            Some(format!("({})", each.collect::<Vec<_>>().join(" OR ")))
        }
    })
}

/// The words of the index that begin so; one more than are looked for one by one, where there are more.
fn terms(db: &Connection, beginning: &str) -> rusqlite::Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    let mut next = db.prepare_cached("SELECT term FROM term WHERE term >= ?1 LIMIT 1")?;
    let mut from = beginning.to_string();
    while found.len() <= MAX_BEGINNINGS {
        let mut rows = next.query([&from])?;
        let Some(row) = rows.next()? else { break };
        let term: String = row.get(0)?;
        if !term.starts_with(beginning) {
            break;
        }
        // The first that can be behind it: a step of the index for each word, not for each of its places.
        from = format!("{term}\u{1}");
        found.push(term);
    }
    Ok(found)
}
