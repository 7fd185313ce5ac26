//! A tool's input: strictly read, and its schema as short as it can be, for a model reads it with
//! every session.
//! Must not know any tool.

use std::sync::Arc;

use rmcp::model::JsonObject;
use rmcp::schemars::JsonSchema;
use rmcp::schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shrooms_core::name::TaskRef;

use crate::report::Failure;

/// What was given, as the tool's input.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, Failure> {
    serde_path_to_error::deserialize(Value::Object(given.unwrap_or_default())).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.inner().to_string());
        // These name the field themselves.
        let named = why.starts_with("unknown field") || why.starts_with("missing field") || path == ".";
        Failure::new(if named { format!("bad input: {why}") } else { format!("bad input: {path}: {why}") })
    })
}

/// A task's reference as it was written, if it can be one.
///
/// # Errors
/// It cannot.
pub fn task(text: &str) -> Result<&str, Failure> {
    let text = text.trim();
    let parsed = TaskRef::parse(text);
    parsed.map(|_| text).map_err(|refusal| Failure::new(format!("bad input: task: {refusal}")))
}

/// An optional text, if it says anything: models write an empty one for one that they leave out.
pub fn said(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// The input's schema.
pub fn schema<T: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shorten(&mut schema);
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}

/// Without what a model does not need: Rust's names and number formats, and that null is absent.
fn shorten(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for key in ["title", "format"] {
        if map.get(key).is_some_and(Value::is_string) {
            map.remove(key);
        }
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".into(), one);
        }
    }
    map.retain(|key, value| key != "default" || *value != json!(null));
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(shorten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[schemars(crate = "rmcp::schemars")]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Example {
        /// Who
        title: String,
        /// How many
        #[schemars(range(min = 1, max = 9))]
        limit: Option<u32>,
    }

    #[test]
    fn a_schema_holds_what_a_model_needs() {
        let expected = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["title"],
            "properties": {
                "title": {"type": "string", "description": "Who"},
                "limit": {"type": "integer", "description": "How many", "minimum": 1, "maximum": 9},
            },
        });
        assert_eq!(Value::Object(schema::<Example>().as_ref().clone()), expected);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (given, error) in [
            (json!({"title": "a"}), ""),
            (json!({"title": "a", "limit": null}), ""),
            (json!({}), "bad input: missing field `title`"),
            (json!({"title": "a", "to": 1}), "bad input: unknown field `to`, expected `title` or `limit`"),
            (json!({"title": "a", "limit": "9"}), "bad input: limit: invalid type: string \"9\", expected u32"),
        ] {
            let Value::Object(map) = given.clone() else { continue };
            let got = read::<Example>(Some(map)).err().map(|failure| failure.to_string()).unwrap_or_default();
            assert_eq!(got, error, "{given}");
        }
        assert!(read::<Example>(None).is_err());
    }

    #[test]
    fn an_empty_text_says_nothing() {
        assert_eq!(said(Some(&" a ".into())), Some("a"));
        assert_eq!(said(Some(&" ".into())), None);
        assert_eq!(said(None), None);
    }
}
