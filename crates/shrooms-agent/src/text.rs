//! The text of a message: the words of the command line, a file, or stdin.
//! Must not know what it is for.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use shrooms_core::text::MAX_TEXT;

use crate::report::{self, Failure};

/// The arguments of a verb that takes a text.
#[derive(Debug, clap::Args)]
pub struct TextArgs {
    /// Take the text from this file
    #[arg(long, value_name = "PATH", conflicts_with = "words")]
    pub file: Option<PathBuf>,
    /// The text; several words are joined by spaces; - takes it from stdin
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    pub words: Vec<String>,
}

impl TextArgs {
    /// The text.
    ///
    /// # Errors
    /// It cannot be read, is too long, or is no text.
    pub fn read(&self) -> Result<String, Failure> {
        read(&self.words, self.file.as_deref())
    }
}

/// The text of these words, or of this file.
///
/// # Errors
/// It cannot be read, is too long, or is no text.
pub fn read(words: &[String], file: Option<&Path>) -> Result<String, Failure> {
    match (words, file) {
        (_, Some(path)) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
            from(file, &name)
        }
        ([word], None) if word == "-" => {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                report::note("reading the text from the terminal; end it with Ctrl-D");
            }
            from(stdin.lock(), "stdin")
        }
        (words, None) => Ok(words.join(" ")),
    }
}

fn from(source: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells that there is more.
    let limit = u64::try_from(MAX_TEXT).unwrap_or(u64::MAX).saturating_add(1);
    source.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error))?;
    if bytes.len() > MAX_TEXT {
        let hint = "put it where the other session can read it, and send its path";
        return Err(Failure::new(format!("{name} has more than {MAX_TEXT} bytes, the most of a text")).hint(hint));
    }
    String::from_utf8(bytes).map_err(|_| Failure::new(format!("{name} is not text in UTF-8")))
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::new(format!("{name} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_words_or_a_file_as_it_is() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(read(&words(&["run", "it  now"]), None).unwrap(), "run it  now");
        assert_eq!(read(&words(&["-", "x"]), None).unwrap(), "- x");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        std::fs::write(&path, " two\nlines\n").unwrap();
        assert_eq!(read(&[], Some(&path)).unwrap(), " two\nlines\n");
        std::fs::write(&path, vec![b'a'; MAX_TEXT]).unwrap();
        assert_eq!(read(&[], Some(&path)).unwrap().len(), MAX_TEXT);
        for bytes in [vec![b'a'; MAX_TEXT + 1], vec![0xff]] {
            std::fs::write(&path, bytes).unwrap();
            assert!(read(&[], Some(&path)).is_err());
        }
        assert!(read(&[], Some(&dir.path().join("none"))).is_err());
    }
}
