//! The command line. It must not know where its parts come from.

/// Variables by which a Claude Code tells the programs it starts that they are inside it: not for one
/// that a daemon starts, which may itself have been started there.
pub const NOT_INHERITED: [&str; 5] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// A new one under this id, a UUID.
    New(String),
    /// One that exists. Its system prompt stays the one it began with until it is compacted.
    Resume(String),
}

/// What it does without asking. There is no mode without any question here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// Asks for whatever its settings do not allow, also where they name another mode.
    Ask,
    AcceptEdits,
    /// A model judges, where the account has that; asks otherwise.
    Auto,
    /// Changes nothing.
    Plan,
}

#[derive(Clone, Debug)]
pub struct ClaudeSpec {
    pub program: String,
    pub conversation: Conversation,
    pub model: Option<String>,
    pub append_system_prompt: Option<String>,
    /// MCP servers besides those of its settings: JSON text, no secret in it (others of this machine
    /// can read a command line).
    pub mcp_config: Option<String>,
    /// Permission rules, such as `Bash(git log *)` or `mcp__server__tool`.
    pub allowed_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    /// None: by its settings.
    pub permission_mode: Option<PermissionMode>,
    /// The owner's own. What contradicts the rest is overruled by it.
    pub extra: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("{0} would end all questions about permissions: leave it out, or allow tools by name")]
    NoQuestions(String),
    #[error("{word}: {why}")]
    NotExtra { word: String, why: String },
    #[error("a conversation's id is a UUID, not {0:?}")]
    Conversation(String),
}

/// The whole command line, the program first.
///
/// # Errors
/// An option among the extra ones that would switch permissions off or break how it is driven, an id that
/// is none.
pub fn arguments(spec: &ClaudeSpec) -> Result<Vec<String>, ArgumentError> {
    super::extra::check_extra(&spec.extra)?;
    let mut all = vec![spec.program.clone(), "-p".into()];
    // First, so that an option that takes many words ends at the next and ours are the last word.
    all.extend(spec.extra.iter().cloned());
    for fixed in [
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--verbose",
        "--include-partial-messages",
        "--replay-user-messages",
        "--permission-prompt-tool=stdio",
    ] {
        all.push(fixed.into());
    }
    all.push(conversation(spec)?);
    let mut option = |name: &str, value: &str| all.push(assigned(name, value));
    if let Some(mode) = spec.permission_mode {
        option(
            "permission-mode",
            match mode {
                // Its help says `manual`, it calls itself `default`, and takes both.
                PermissionMode::Ask => "default",
                PermissionMode::AcceptEdits => "acceptEdits",
                PermissionMode::Auto => "auto",
                PermissionMode::Plan => "plan",
            },
        );
    }
    for (name, value) in
        [("model", &spec.model), ("append-system-prompt", &spec.append_system_prompt), ("mcp-config", &spec.mcp_config)]
    {
        if let Some(value) = value {
            option(name, value);
        }
    }
    // One each: a rule may have a comma or a space in its parentheses.
    spec.allowed_tools.iter().for_each(|rule| option("allowed-tools", rule));
    spec.disallowed_tools.iter().for_each(|rule| option("disallowed-tools", rule));
    Ok(all)
}

/// The command line for a person's terminal: the conversation, the model and the owner's own words; its
/// permissions are asked there.
///
/// # Errors
/// As for [`arguments`].
pub fn in_terminal(spec: &ClaudeSpec) -> Result<Vec<String>, ArgumentError> {
    super::extra::check_extra(&spec.extra)?;
    let mut all = vec![spec.program.clone()];
    all.extend(spec.extra.iter().cloned());
    all.push(conversation(spec)?);
    all.extend(spec.model.iter().map(|model| assigned("model", model)));
    Ok(all)
}

fn conversation(spec: &ClaudeSpec) -> Result<String, ArgumentError> {
    let (name, id) = match &spec.conversation {
        Conversation::New(id) => ("session-id", id),
        Conversation::Resume(id) => ("resume", id),
    };
    match is_uuid(id) {
        true => Ok(assigned(name, id)),
        false => Err(ArgumentError::Conversation(id.clone())),
    }
}

/// Always `--name=value`: no value is ever taken for an option.
fn assigned(name: &str, value: &str) -> String {
    format!("--{name}={value}")
}

/// 8-4-4-4-12 hexadecimal digits; also what makes an id safe in a path.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000-0000-4000-8000-000000000001";

    fn spec(conversation: Conversation) -> ClaudeSpec {
        ClaudeSpec {
            program: "claude".into(),
            conversation,
            model: None,
            append_system_prompt: None,
            mcp_config: None,
            allowed_tools: vec![],
            disallowed_tools: vec![],
            permission_mode: None,
            extra: vec![],
        }
    }

    #[track_caller]
    fn check(spec: &ClaudeSpec, expected: &str) {
        let fixed = "--input-format=stream-json --output-format=stream-json --verbose --include-partial-messages \
                     --replay-user-messages --permission-prompt-tool=stdio ";
        assert_eq!(arguments(spec).unwrap().join(" ").replace(fixed, "FIXED "), expected);
    }

    #[test]
    fn a_value_is_never_a_word_of_its_own() {
        check(&spec(Conversation::New(ID.into())), &format!("claude -p FIXED --session-id={ID}"));
        let mut all = spec(Conversation::Resume(ID.into()));
        all.model = Some("--help".into());
        all.append_system_prompt = Some("-x\ny".into());
        all.mcp_config = Some("{}".into());
        all.allowed_tools = vec!["Bash(git log *)".into(), "mcp__a__b".into()];
        all.disallowed_tools = vec!["WebFetch".into()];
        all.permission_mode = Some(PermissionMode::Ask);
        all.extra = vec!["--add-dir".into(), "/d".into()];
        let expected = format!(
            "claude -p --add-dir /d FIXED --resume={ID} --permission-mode=default --model=--help \
             --append-system-prompt=-x\ny --mcp-config={{}} --allowed-tools=Bash(git log *) \
             --allowed-tools=mcp__a__b --disallowed-tools=WebFetch"
        );
        check(&all, &expected);
    }

    #[test]
    fn permissions_are_never_switched_off() {
        for word in [
            "--dangerously-skip-permissions",
            "--allow-dangerously-skip-permissions",
            "bypassPermissions",
            "--permission-mode=bypassPermissions",
        ] {
            let mut spec = spec(Conversation::New(ID.into()));
            spec.extra = vec!["--effort=low".into(), word.into()];
            assert_eq!(arguments(&spec), Err(ArgumentError::NoQuestions(word.into())));
        }
    }

    #[test]
    fn an_id_that_is_no_uuid_is_refused() {
        for id in ["", "../../x", "00000000-0000-4000-8000-00000000000", "0000000g-0000-4000-8000-000000000001"] {
            assert!(arguments(&spec(Conversation::Resume(id.into()))).is_err(), "{id}");
        }
    }
}
