//! Names of files that somebody else chose: what is left of one is a name in one directory, with
//! nothing in it that a path, a shell or a terminal would take for more.

/// Characters that are kept of a name: file systems take 255 bytes, and a character has up to four.
const MAX_NAME: usize = 60;

/// The last piece of a path, cleaned; `file` if nothing is left.
pub fn cleaned(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("");
    let plain = last.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' });
    let plain: String = plain.take(MAX_NAME).collect();
    match plain.trim_start_matches(['.', '-']) {
        "" => "file".to_string(),
        name => name.to_string(),
    }
}

/// The name to try where the ones before were taken: `report.txt`, `report-2.txt` …
pub fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_string();
    }
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
        _ => format!("{name}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cleaned() {
        for (given, want) in [
            ("report.txt", "report.txt"),
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a b.txt", "a_b.txt"),
            (".bashrc", "bashrc"),
            ("-rf", "rf"),
            ("a;rm -rf $HOME", "a_rm_-rf__HOME"),
            ("käse.md", "käse.md"),
            ("a\0b\n", "a_b_"),
            ("..", "file"),
            ("", "file"),
        ] {
            assert_eq!(cleaned(given), want, "{given:?}");
        }
        assert_eq!(cleaned(&"ä".repeat(300)).chars().count(), MAX_NAME);
    }

    #[test]
    fn a_taken_name_is_numbered_before_its_ending() {
        for (name, number, want) in [
            ("a.txt", 1, "a.txt"),
            ("a.txt", 2, "a-2.txt"),
            ("a.tar.gz", 3, "a.tar-3.gz"),
            ("Makefile", 2, "Makefile-2"),
            (".x", 2, ".x-2"),
        ] {
            assert_eq!(numbered(name, number), want);
        }
    }
}
