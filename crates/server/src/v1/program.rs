//! Where a new session works and what it runs, checked before it is kept: a session that could
//! never start is refused, with what to change. Blocking; must not know sessions or the desk.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// Bytes that a command and its arguments may have: the system takes no single argument over
/// 128 KiB, and nobody writes one of a hundred thousand by hand.
const MAX_COMMAND: usize = 100_000;

/// A directory and a command that can be run in it.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) dir: String,
    pub(super) argv: Vec<String>,
}

/// Checks both; `path` is where programs without a slash are looked for.
pub(super) fn check(dir: &str, argv: Vec<String>, path: &str) -> Result<Checked, Problem> {
    let dir = directory(dir)?;
    let argv = command(&dir, argv, path)?;
    let text = dir.to_str().ok_or_else(|| Problem::bad("dir: its real name is not text in UTF-8"))?;
    Ok(Checked { dir: text.to_string(), argv })
}

/// Where a program is that is run in no directory of its own: given by its path, or on the search path.
pub(super) fn find(program: &str, path: &str) -> Result<String, Problem> {
    command(Path::new("/"), vec![program.to_string()], path).map(|argv| argv.concat())
}

fn directory(dir: &str) -> Result<PathBuf, Problem> {
    if !Path::new(dir).is_absolute() {
        return Err(Problem::bad(format!("dir: must be an absolute path, not '{dir}'")));
    }
    let real = Path::new(dir).canonicalize();
    let real = real.map_err(|e| Problem::bad(format!("dir: '{dir}' cannot be used ({e}): make it first")))?;
    if !real.is_dir() {
        return Err(Problem::bad(format!("dir: '{dir}' is not a directory")));
    }
    Ok(real)
}

/// The words as they are kept: the first as it was given, unless it was found on the search path.
fn command(dir: &Path, mut argv: Vec<String>, path: &str) -> Result<Vec<String>, Problem> {
    let program = argv.first().filter(|p| !p.is_empty());
    let program = program.ok_or_else(|| Problem::bad("command: must hold a program, then its arguments"))?;
    if argv.iter().map(String::len).sum::<usize>() > MAX_COMMAND {
        return Err(Problem::bad(format!("command: at most {MAX_COMMAND} bytes are taken: put the rest in a file")));
    }
    if argv.iter().any(|word| word.contains('\0')) {
        return Err(Problem::bad("command: no word may hold a NUL character"));
    }
    if program.contains('/') {
        // An absolute one replaces the directory.
        runs(&dir.join(program)).map_err(|why| Problem::bad(format!("command: '{program}' {why}")))?;
        return Ok(argv);
    }
    let places = path.split(':').map(Path::new).filter(|p| p.is_absolute());
    let found = places.map(|place| place.join(program)).find(|file| runs(file).is_ok());
    let found = found.as_deref().and_then(Path::to_str).ok_or_else(|| {
        Problem::bad(format!(
            "command: no program '{program}' on the daemon's search path ({path}): give its path, or ./{program} for \
             one in the directory"
        ))
    })?;
    if let Some(first) = argv.first_mut() {
        *first = found.to_string();
    }
    Ok(argv)
}

fn runs(file: &Path) -> Result<(), String> {
    let found: Metadata = file.metadata().map_err(|e| format!("cannot be found: {e}"))?;
    if !found.is_file() {
        return Err("is not a program".into());
    }
    if found.permissions().mode() & 0o111 == 0 {
        return Err(format!("may not be run: chmod +x {}", file.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(dir: &str, command: &[&str], path: &str) -> Result<Vec<String>, String> {
        let argv = command.iter().map(ToString::to_string).collect();
        check(dir, argv, path).map(|c| c.argv).map_err(|p| p.detail)
    }

    #[test]
    fn a_program_is_found_where_it_would_be_run() {
        for (dir, command, path, want) in [
            ("/bin", &["/bin/sh", "-c", "x"][..], "", Some("/bin/sh")),
            ("/bin", &["./sh"][..], "", Some("./sh")),
            ("/", &["bin/sh"][..], "", Some("bin/sh")),
            ("/", &["sh"][..], "/nowhere::relative:/bin:/usr/bin", Some("/bin/sh")),
            ("/bin", &["sh"][..], "", None),
            ("/bin", &["sh"][..], ".", None),
            ("/", &["./sh"][..], "/bin", None),
            ("/", &["/etc/passwd"][..], "", None),
            ("/", &["/bin"][..], "", None),
            ("/", &[][..], "/bin", None),
            ("/", &[""][..], "/bin", None),
            ("/", &["sh", "a\0b"][..], "/bin", None),
            ("bin", &["sh"][..], "/bin", None),
            ("/nowhere", &["sh"][..], "/bin", None),
            ("/etc/passwd", &["sh"][..], "/bin", None),
        ] {
            let got = checked(dir, command, path);
            assert_eq!(got.as_ref().ok().map(|argv| argv[0].as_str()), want, "{dir} {command:?} {path}: {got:?}");
        }
    }

    #[test]
    fn what_is_refused_names_the_field() {
        for (dir, command, starts) in [
            ("here", &["sh"][..], "dir: must be an absolute path"),
            ("/nowhere", &["sh"][..], "dir: '/nowhere' cannot be used"),
            ("/", &["nosuch"][..], "command: no program 'nosuch' on the daemon's search path (/bin)"),
            ("/", &["/etc/passwd"][..], "command: '/etc/passwd' may not be run"),
        ] {
            let detail = checked(dir, command, "/bin").unwrap_err();
            assert!(detail.starts_with(starts), "{detail}");
        }
    }
}
