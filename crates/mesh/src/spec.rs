//! The value of `--mesh`: where names come from.
//! One type, so that the binary, the config and the errors spell it the same way.

use std::fmt;
use std::path::PathBuf;

use crate::{MeshError, near};

/// Where the names of the mesh come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeshSpec {
    /// The first of shrooms and Tailscale that answers, else loopback until one does.
    Auto,
    /// This machine alone, on 127.0.0.1 and ::1.
    Loopback,
    /// A TOML file of machines.
    File(PathBuf),
    /// The shrooms daemon.
    Shrooms,
    /// tailscaled.
    Tailscale,
}

/// The words without `file:`; it takes a path and is handled apart.
const WORDS: [(&str, MeshSpec); 4] = [
    ("auto", MeshSpec::Auto),
    ("loopback", MeshSpec::Loopback),
    ("shrooms", MeshSpec::Shrooms),
    ("tailscale", MeshSpec::Tailscale),
];

impl MeshSpec {
    /// Reads `auto`, `loopback`, `shrooms`, `tailscale` or `file:PATH`.
    ///
    /// # Errors
    /// [`MeshError::Spec`] for anything else, with what may have been meant.
    pub fn parse(text: &str) -> Result<Self, MeshError> {
        if let Some(path) = text.strip_prefix("file:") {
            if path.is_empty() {
                return Err(MeshError::Spec { given: text.to_owned(), near: vec!["file:PATH".to_owned()] });
            }
            return Ok(Self::File(PathBuf::from(path)));
        }
        match WORDS.iter().find(|(word, _)| *word == text) {
            Some((_, spec)) => Ok(spec.clone()),
            None if text.contains('/') || text.ends_with(".toml") => {
                Err(MeshError::Spec { given: text.to_owned(), near: vec![format!("file:{text}")] })
            }
            None => {
                Err(MeshError::Spec { given: text.to_owned(), near: near(text, WORDS.iter().map(|(word, _)| *word)) })
            }
        }
    }
}

impl fmt::Display for MeshSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::File(path) = self {
            return write!(out, "file:{}", path.display());
        }
        match WORDS.iter().find(|(_, spec)| spec == self) {
            Some((word, _)) => out.write_str(word),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let got = match MeshSpec::parse(text) {
            Ok(spec) => format!("{spec:?} = {spec}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "for {text:?}");
    }

    #[test]
    fn mesh_words_are_read_and_printed_alike() {
        check("auto", "Auto = auto");
        check("loopback", "Loopback = loopback");
        check("shrooms", "Shrooms = shrooms");
        check("tailscale", "Tailscale = tailscale");
        check("file:/etc/mesh.toml", "File(\"/etc/mesh.toml\") = file:/etc/mesh.toml");
    }

    #[test]
    fn other_words_are_refused_with_what_was_meant() {
        const CHOICE: &str = "use auto, loopback, file:PATH, shrooms or tailscale";
        check("lopback", &format!("--mesh lopback is not known: did you mean loopback? ({CHOICE})"));
        check("./m.toml", &format!("--mesh ./m.toml is not known: did you mean file:./m.toml? ({CHOICE})"));
        check("file:", &format!("--mesh file: is not known: did you mean file:PATH? ({CHOICE})"));
        check("zerotier", &format!("--mesh zerotier is not known ({CHOICE})"));
    }
}
