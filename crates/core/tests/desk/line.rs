//! How a line of a script is read: its words, and whether what it did is what it says.

/// The same items in any order; `*` stands for any text. A refusal is named by a part of its
/// message.
pub fn same(want: &str, got: &[String]) -> bool {
    let mut left: Vec<&String> = got.iter().collect();
    let items = split(want, ';');
    let items: Vec<&str> = items.iter().map(|i| i.trim()).filter(|i| !i.is_empty() && *i != "nothing").collect();
    let fits = |item: &str, got: &str| match (item.strip_prefix("refused "), got.strip_prefix("refused ")) {
        (Some(part), Some(whole)) => whole.contains(part.trim_matches('\'')),
        _ => like(item, got),
    };
    let found = items.iter().all(|item| {
        let at = left.iter().position(|got| fits(item, got));
        at.map(|at| left.remove(at)).is_some()
    });
    found && left.is_empty()
}

fn like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            let ends = tail.char_indices().map(|(at, _)| at).chain([tail.len()]);
            ends.into_iter().any(|at| like(rest, &tail[at..]))
        }),
    }
}

fn split(text: &str, at: char) -> Vec<String> {
    let (mut out, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        quoted ^= c == '\'';
        match out.last_mut() {
            Some(last) if quoted || c != at => last.push(c),
            _ => out.push(String::new()),
        }
    }
    out
}

/// Words of a command; `'quoted text'` is one, and `<N>` in one stands for N letters.
pub fn words(command: &str) -> Vec<String> {
    let parts = split(command, ' ').into_iter().filter(|w| !w.is_empty());
    parts.map(|w| expand(w.strip_prefix('\'').and_then(|w| w.strip_suffix('\'')).unwrap_or(&w))).collect()
}

fn expand(word: &str) -> String {
    let long = word.split_once('<').and_then(|(head, rest)| Some((head, rest.split_once('>')?)));
    match long.and_then(|(head, (n, tail))| Some((head, n.parse::<usize>().ok()?, tail))) {
        Some((head, n, tail)) => format!("{head}{}{tail}", "x".repeat(n)),
        None => word.to_string(),
    }
}

/// Takes `KEY VALUE` out of the words, wherever it stands.
pub fn option(words: &mut Vec<&str>, key: &str) -> Option<String> {
    let at = words.iter().position(|w| *w == key)?;
    words.remove(at);
    Some(words.remove(at).to_string())
}
