//! Argument forms: what is written in the seeds must be read, with flags anywhere.

use super::*;
use clap::CommandFactory;

fn read(line: &str) -> Result<String, String> {
    let words = words(line);
    match parse(words) {
        Ok(cli) => Ok(format!("{:?} {:?}", cli.verb, cli.globals)),
        Err(error) => Err(error.to_string()),
    }
}

/// As a shell splits it, with double quotes only.
fn words(line: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["shrooms-agent".into()];
    for (index, piece) in line.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(piece.split_whitespace().map(OsString::from)),
            _ => words.push(piece.into()),
        }
    }
    words
}

/// All of these are the same command.
#[track_caller]
fn same(lines: &[&str]) {
    let [first, rest @ ..] = lines else { return };
    let expected = read(first).unwrap();
    for line in rest {
        assert_eq!(read(line).unwrap(), expected, "{line}");
    }
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn the_examples_of_the_seed_are_read() {
    for line in [
        "a2a list",
        r#"a2a send --wait homeserver/review "Is the nightly build green?""#,
        r#"a2a send --title "Nightly build" homeserver/review "Is it green?""#,
        r#"a2a send --fresh --title "Audit foray" proteus/auditor "Audit ~/foray at main.""#,
        r#"a2a reply --wait homeserver/review:cli-20261008T091502-3f9a1c2e "Yes, main.""#,
        "a2a get homeserver/review:cli-20261008T091502-3f9a1c2e",
        "a2a cancel homeserver/review:cli-20261008T091502-3f9a1c2e",
        "a2a ack homeserver/review:cli-20261008T091502-3f9a1c2e",
        r#"a2a update review:cli-20261008T091502-3f9a1c2e done "Two problems: ...""#,
        "a2a list --socket /run/shrooms/shrooms.sock",
        "a2a send [fd00::1]/review hello",
        "a2a send localhost/review hello",
    ] {
        assert!(read(line).is_ok(), "{line}: {:?}", read(line));
    }
}

#[test]
fn flags_stand_anywhere() {
    same(&[
        "a2a send --wait --title T --timeout 5 homeserver/review one two",
        "a2a send homeserver/review one two --wait --title T --timeout 5",
        "a2a send homeserver/review --title=T one --wait two --timeout=5",
        "a2a send --timeout 5 --wait homeserver/review --title T -- one two",
    ]);
    same(&[
        "--state /s --json --socket /x a2a get a/b:c",
        "a2a --json --state=/s get a/b:c --socket /x",
        "a2a get a/b:c --socket=/x --state /s --json",
    ]);
    same(&["session add t --dir /d --framed -- make -j2 --wait", "session add --framed --dir=/d t -- make -j2 --wait"]);
}

#[test]
fn two_dashes_end_the_flags() {
    assert!(read("a2a send a/b -- --wait is a word").unwrap().contains(r#"words: ["--wait", "is", "a", "word"]"#));
    assert!(read("a2a send -- a/b -").unwrap().contains(r#"words: ["-"]"#));
    assert!(read("a2a send a/b --what is this").is_err());
}

#[test]
fn without_a_verb_the_daemon_is_meant() {
    same(&["serve", ""]);
    same(&["serve --state /s", "--state /s", "--state=/s", "--state /s serve"]);
    same(&["serve --json --socket /x", "--json --socket /x"]);
    assert!(read("--help").unwrap_err().contains("Usage: shrooms-agent"));
    assert!(read("--json --help").unwrap_err().contains("Usage: shrooms-agent"));
    assert!(read("--version").unwrap_err().starts_with("shrooms-agent "));
    let unknown = read("--nonsense").unwrap_err();
    assert!(unknown.contains("--nonsense") && unknown.contains("shrooms-agent serve"), "{unknown}");
    assert!(read("sesion list").unwrap_err().contains("session"));
}

#[test]
fn what_cannot_be_is_refused_with_what_to_write() {
    for (line, part) in [
        ("a2a send homeserver/review", "<TEXT"),
        ("a2a send nothing/ hi", "MACHINE/SESSION, for example"),
        ("a2a get review", "SESSION:MESSAGE-ID"),
        ("a2a send a/b hi --file x", "cannot be used with"),
        ("a2a send a/b hi --timeout 5", "--wait"),
        ("a2a get a/b:c --wait --timeout soon", "invalid digit"),
        ("a2a update a:b finished x", "done, blocked, failed"),
        ("a2a update a:b done", "<SUMMARY"),
        ("session add owner -- make", "reserved"),
        ("session add ../x -- make", "cannot be a session's name"),
        ("session add tests make test", "--"),
        ("session log tests --limit many", "--limit"),
        ("a2a", "Usage: shrooms-agent a2a"),
    ] {
        let error = read(line).expect_err(line);
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[test]
fn every_verb_has_a_help_with_examples() {
    fn check(command: &clap::Command, path: &str) {
        if command.has_subcommands() {
            return command.get_subcommands().for_each(|sub| check(sub, &format!("{path} {}", sub.get_name())));
        }
        // The daemon's own verbs are not of this file.
        if matches!(command.get_name(), "serve" | "demo") {
            return;
        }
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.starts_with("Examples:\n") && help.contains(path), "{path}: {help}");
        assert!(command.get_about().is_some(), "{path}");
    }
    check(&Cli::command(), "shrooms-agent");
}

#[test]
fn the_examples_in_the_help_are_read() {
    fn examples(command: &clap::Command, found: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
        found.extend(lines.filter_map(|line| line.split_once("shrooms-agent ")).map(|(_, rest)| rest.to_owned()));
        command.get_subcommands().for_each(|sub| examples(sub, found));
    }
    let mut found = Vec::new();
    examples(&Cli::command(), &mut found);
    assert!(found.len() > 20, "{found:?}");
    for line in found {
        let line = line.split(" | ").next().unwrap().replace('\'', "\"");
        assert!(read(&line).is_ok(), "{line}: {:?}", read(&line));
    }
}
