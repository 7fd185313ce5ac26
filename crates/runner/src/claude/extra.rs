//! Arguments of the owner's for Claude Code: which may stand beside those that it is driven with. It must
//! not know what a session is.

use super::arguments::ArgumentError;

/// Options that would break how it is driven, or that something else here is for, and what to do instead
/// (Claude Code 2.1.332, `claude --help`).
const TAKEN: &[(&str, &str)] = &[
    ("print", OURS),
    ("input-format", OURS),
    ("output-format", OURS),
    ("permission-prompt-tool", OURS),
    ("permission-prompts", OURS),
    ("session-id", OURS),
    ("resume", OURS),
    ("continue", OURS),
    ("fork-session", OURS),
    ("from-pr", OURS),
    ("teleport", OURS),
    ("no-session-persistence", "its conversation must outlast its program"),
    ("safe-mode", "it would have none of the tools to work with other agents"),
    ("permission-mode", "permissions are asked of you, or set auto_approve"),
    ("model", "set model"),
    ("append-system-prompt", "set role"),
    ("append-system-prompt-file", "set role"),
    ("worktree", ELSEWHERE),
    ("tmux", ELSEWHERE),
    ("cloud", ELSEWHERE),
    ("environment", ELSEWHERE),
    ("bg", ELSEWHERE),
    ("background", ELSEWHERE),
    ("desktop", ELSEWHERE),
    ("remote-control", ELSEWHERE),
    ("remote-control-session-name-prefix", ELSEWHERE),
    ("ide", ELSEWHERE),
    ("help", ENDS),
    ("version", ENDS),
    ("replay-user-messages", OURS),
    ("include-partial-messages", OURS),
    ("verbose", OURS),
    ("prompt-suggestions", "it would begin turns that nobody asked for"),
    ("json-schema", "a task is finished by the worker's word, not by the shape of its text"),
];
const OURS: &str = "the daemon says it itself";
const ELSEWHERE: &str = "its session would run somewhere else";
const ENDS: &str = "its program would end at once";
/// The name of our MCP server.
const SERVER: &str = "\"shrooms\"";

/// Whether these may be given to it.
///
/// # Errors
/// The first that may not, and what to do instead.
pub fn check_extra(extra: &[String]) -> Result<(), ArgumentError> {
    let refused = |word: &str, why: &str| {
        Err(ArgumentError::NotExtra { word: word.chars().take(80).collect(), why: why.to_string() })
    };
    let mut option = "";
    for (at, word) in extra.iter().enumerate() {
        if word.contains("dangerously-skip-permissions") || word.contains("bypassPermissions") {
            return Err(ArgumentError::NoQuestions(word.clone()));
        }
        if option == "mcp-config" && word.contains(SERVER) {
            return refused(word, "the MCP server shrooms is the daemon's own: call yours otherwise");
        }
        let Some(named) = word.strip_prefix('-') else {
            if at == 0 {
                return refused(word, "the first word must be an option (--NAME): what it is to do is asked by tasks");
            }
            continue;
        };
        let Some(named) = named.strip_prefix('-').filter(|name| !name.is_empty()) else {
            return refused(word, "write an option in full (--NAME), and a value that begins with '-' as --NAME=VALUE");
        };
        let (name, value) = named.split_once('=').unwrap_or((named, ""));
        if let Some((_, why)) = TAKEN.iter().find(|(taken, _)| *taken == name) {
            return refused(&format!("--{name}"), why);
        }
        if name == "mcp-config" && value.contains(SERVER) {
            return refused("--mcp-config", "the MCP server shrooms is the daemon's own: call yours otherwise");
        }
        option = name;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(extra: &[&str], wrong: &str) {
        let extra: Vec<String> = extra.iter().map(ToString::to_string).collect();
        let said = check_extra(&extra).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(if wrong.is_empty() { said.is_empty() } else { said.contains(wrong) }, "{extra:?}: '{said}'");
    }

    #[test]
    fn what_drives_it_is_the_daemons_and_the_rest_is_the_owners() {
        check(&[], "");
        check(&["--add-dir", "/srv/a", "/srv/b", "--effort=high"], "");
        check(&["--allowed-tools", "Bash(git log *)", "--debug-file=/tmp/x"], "");
        check(&["--settings", "{\"env\": {\"A\": \"-1\"}}", "--strict-mcp-config", "--system-prompt=Be short."], "");
        check(&["--mcp-config", "{\"mcpServers\": {\"db\": {\"command\": \"db\"}}}"], "");
        for (name, _) in TAKEN {
            check(&[&format!("--{name}")], &format!("--{name}: "));
            check(&["--effort", "high", &format!("--{name}=x")], &format!("--{name}: "));
        }
        check(&["--output-format", "json"], "the daemon says it itself");
        check(&["--model", "opus"], "set model");
        check(&["--append-system-prompt=x"], "set role");
        check(&["hello"], "the first word must be an option");
        check(&["mcp", "list"], "the first word must be an option");
        for short in ["-p", "-c", "-r", "-pc", "-h", "-", "--", "-1"] {
            check(&["--effort", "high", short], "write an option in full");
        }
        check(&["--mcp-config={\"mcpServers\": {\"shrooms\": {}}}"], "call yours otherwise");
        check(&["--mcp-config", "a.json", "{\"mcpServers\": {\"shrooms\": {}}}"], "call yours otherwise");
        check(&["--dangerously-skip-permissions"], "would end all questions");
        check(
            &["--settings", "{\"permissions\": {\"defaultMode\": \"bypassPermissions\"}}"],
            "would end all questions",
        );
    }
}
