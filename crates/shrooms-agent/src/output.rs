//! Printing results: what the API answered with `--json`, else text; tables on a terminal, and
//! lines with tabs for programs. What others wrote cannot steer the terminal.
//! Must not know what it prints.

use std::io::{self, ErrorKind, IsTerminal, Write};

use serde_json::Value;

use crate::report::Failure;

/// Where results go.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// The API's own answers, for programs.
    pub json: bool,
    /// Stdout is a terminal.
    pub terminal: bool,
}

impl Output {
    /// Looks at stdout.
    pub fn new(json: bool) -> Self {
        Output { json, terminal: io::stdout().is_terminal() }
    }

    /// Prints an answer: as it came, or what `text` makes of it. An empty text prints nothing, and
    /// neither does an answer without a body.
    ///
    /// # Errors
    /// Nothing more can be printed.
    pub fn show(self, answer: &Value, text: impl FnOnce(Output) -> String) -> Result<(), Failure> {
        if !self.json {
            return self.print(&text(self));
        }
        let text = match (answer, self.terminal) {
            (Value::Null, _) => String::new(),
            (answer, true) => format!("{answer:#}"),
            (answer, false) => answer.to_string(),
        };
        self.print(&text)
    }

    /// Prints lines.
    ///
    /// # Errors
    /// Nothing more can be printed.
    pub fn print(self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let safe = if self.terminal { plain(text) } else { text.to_owned() };
        let end = if safe.ends_with('\n') { "" } else { "\n" };
        let mut out = io::stdout().lock();
        let done = write!(out, "{safe}{end}").and_then(|()| out.flush());
        done.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::new(format!("the result cannot be printed: {error}")),
        })
    }

    /// Rows, each of one line: on a terminal under their heads and aligned, else with tabs.
    pub fn table<const N: usize>(self, heads: [&str; N], rows: &[[String; N]]) -> String {
        let rows = rows.iter().map(|row| row.each_ref().map(|cell| one_line(cell)));
        if !self.terminal {
            return rows.map(|row| row.join("\t") + "\n").collect();
        }
        let rows: Vec<[String; N]> = rows.collect();
        if rows.is_empty() {
            return String::new();
        }
        aligned(std::iter::once(heads.map(str::to_owned)).chain(rows).collect())
    }

    /// Rows of as many cells as there are heads: on a terminal aligned and without columns that are empty
    /// throughout, else all of them with tabs.
    pub fn columns(self, heads: &[&str], rows: &[Vec<String>]) -> String {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
        if !self.terminal {
            return rows.iter().map(|row| row.join("\t") + "\n").collect();
        }
        if rows.is_empty() {
            return String::new();
        }
        let is_used = |at: &usize| rows.iter().any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty()));
        let used: Vec<usize> = (0..heads.len()).filter(is_used).collect();
        let heads: Vec<String> = heads.iter().map(ToString::to_string).collect();
        let all = std::iter::once(&heads).chain(&rows);
        aligned(all.map(|row| used.iter().filter_map(|at| row.get(*at).cloned()).collect::<Vec<_>>()).collect())
    }

    /// Names and values, a line each.
    pub fn pairs(self, rows: &[[String; 2]]) -> String {
        let rows: Vec<[String; 2]> = rows.iter().map(|row| row.each_ref().map(|cell| one_line(cell))).collect();
        if self.terminal { aligned(rows) } else { rows.iter().map(|row| row.join("\t") + "\n").collect() }
    }
}

/// Pads every cell but the last of a row.
fn aligned<R: AsRef<[String]>>(rows: Vec<R>) -> String {
    let length = |cell: &String| cell.chars().count();
    let width = |column: usize| rows.iter().filter_map(|row| row.as_ref().get(column)).map(length).max().unwrap_or(0);
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.as_ref().iter().zip(&widths) {
            line.push_str(cell);
            // Two blanks tell columns apart where a cell holds one itself.
            line.extend(std::iter::repeat_n(' ', width - length(cell) + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Without the characters that steer a terminal or turn the order of others around; new lines and
/// tabs stay.
pub fn plain(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || turns(*c))).collect()
}

/// On one line: what others wrote cannot look like a row of its own.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    plain(&words.join(" "))
}

/// A time of the API for people, without seconds, for what is kept no finer.
pub fn to_the_minute(at: &str) -> String {
    match at.get(..16) {
        Some(minutes) => minutes.replacen('T', " ", 1),
        None => at.to_owned(),
    }
}

/// A time of the API for people: to the second.
pub fn short_time(at: &str) -> String {
    match at.get(..19) {
        Some(seconds) => seconds.replacen('T', " ", 1),
        None => at.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Output = Output { json: false, terminal: false };
    const TERMINAL: Output = Output { json: false, terminal: true };

    #[test]
    fn tables_are_for_terminals_and_tabs_for_programs() {
        let rows = [["a/b".to_owned(), "x y".into()], ["käse/c".into(), "z\n\tw".into()]];
        assert_eq!(PROGRAM.table(["AGENT", "IS"], &rows), "a/b\tx y\nkäse/c\tz w\n");
        assert_eq!(TERMINAL.table(["AGENT", "IS"], &rows), "AGENT   IS\na/b     x y\nkäse/c  z w\n");
        assert_eq!(TERMINAL.table(["AGENT"], &[]), "");
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        for (text, safe) in [
            ("plain\n\ttext\n", "plain\n\ttext\n"),
            ("\u{1b}]0;title\u{7}\u{1b}[31mred\r\n", "]0;title[31mred\n"),
            ("\u{9b}31m\u{7f}\u{0}", "31m"),
            ("a\u{202e}b\u{2066}c", "abc"),
            ("käse 🍄 e\u{301}", "käse 🍄 e\u{301}"),
        ] {
            assert_eq!(plain(text), safe, "{text:?}");
        }
        assert_eq!(one_line(" a\nb\tc\u{1b}d "), "a b cd");
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(short_time("2026-11-30T09:15:04.120Z"), "2026-11-30 09:15:04");
        assert_eq!(short_time("soon"), "soon");
    }
}
