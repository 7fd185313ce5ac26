//! What a model was given to read, and what a conversation holds: messages, and returns of tools.

use serde_json::Value;

/// One request to the model.
#[derive(Debug)]
pub struct Request {
    /// Whose session made it, as its note says: `MACHINE/SESSION`.
    pub agent: String,
    pub model: String,
    /// Its system prompt.
    pub system: String,
    /// The user's messages in order: in each its texts, without the notes that the harness adds.
    pub said: Vec<Vec<String>>,
    /// Name of the tool and what it returned, in order.
    pub returns: Vec<(String, String)>,
}

impl Request {
    pub fn of(entry: Value) -> Request {
        let system = entry["system"].as_str().unwrap_or_default();
        let agent = system.split("You are the agent ").nth(1).and_then(|rest| rest.split(' ').next());
        let mut request = Request {
            agent: agent.unwrap_or_default().to_string(),
            model: entry["model"].as_str().unwrap_or_default().to_string(),
            system: system.to_string(),
            said: Vec::new(),
            returns: Vec::new(),
        };
        let mut tools: Vec<(String, String)> = Vec::new();
        for message in entry["body"]["messages"].as_array().into_iter().flatten() {
            let blocks = blocks(&message["content"]);
            if message["role"] == "assistant" {
                let used = blocks.iter().filter(|block| block["type"] == "tool_use");
                tools.extend(used.map(|block| (word(&block["id"]), word(&block["name"]))));
                continue;
            }
            if message["role"] != "user" {
                continue;
            }
            let mut said = Vec::new();
            for block in &blocks {
                if block["type"] == "tool_result" {
                    let id = word(&block["tool_use_id"]);
                    let name = tools.iter().find(|(used, _)| *used == id).map_or("?", |(_, name)| name.as_str());
                    request.returns.push((name.to_string(), texts(&block["content"])));
                } else if block["type"] == "text" && !is_note(&word(&block["text"])) {
                    said.push(word(&block["text"]));
                }
            }
            if !said.is_empty() {
                request.said.push(said);
            }
        }
        request
    }

    /// All texts of the user.
    pub fn texts(&self) -> Vec<&str> {
        self.said.iter().flatten().map(String::as_str).collect()
    }

    /// How often the user says something that begins so.
    pub fn begins(&self, head: &str) -> usize {
        self.texts().iter().filter(|text| text.starts_with(head)).count()
    }

    /// What this tool returned, in order.
    pub fn returns_of(&self, tool: &str) -> Vec<&str> {
        let of = self.returns.iter().filter(|(name, _)| name.ends_with(tool));
        of.map(|(_, text)| text.as_str()).collect()
    }
}

/// A note of the harness's own.
fn is_note(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>") && !text.contains("new message")
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        other => other.as_array().cloned().unwrap_or_default(),
    }
}

fn texts(content: &Value) -> String {
    let texts: Vec<String> = blocks(content).iter().map(|block| word(&block["text"])).collect();
    texts.join("\n")
}

/// The messages of a conversation's rows that were written to it, in order: those that began a turn,
/// and those that were put into one.
pub fn written(rows: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| row["isSidechain"] != true && row["isMeta"] != true) {
        match row["type"].as_str() {
            Some("user") => {
                let message = blocks(&row["message"]["content"]);
                let said = message.iter().filter(|block| block["type"] == "text").map(|block| word(&block["text"]));
                found.extend(said);
            }
            Some("attachment") if row["attachment"]["type"] == "queued_command" => {
                found.push(texts(&row["attachment"]["prompt"]));
            }
            _ => {}
        }
    }
    found
}

/// What the tools of a conversation's rows returned, in order.
pub fn returned(rows: &[Value]) -> Vec<String> {
    let users = rows.iter().filter(|row| row["type"] == "user" && row["isSidechain"] != true);
    let blocks = users.flat_map(|row| blocks(&row["message"]["content"]));
    blocks.filter(|block| block["type"] == "tool_result").map(|block| texts(&block["content"])).collect()
}
