//! A part of a message or an artifact: one content of four kinds.
//! Must not know what may be done with a kind: `url` is an address here, nothing fetches it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::Map;
use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};

/// One piece of content. Exactly one kind; a part with none or two is refused on reading.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub content: PartContent,
    pub filename: Option<String>,
    pub media_type: Option<String>,
    pub metadata: Option<Map>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    Text(String),
    /// A file's bytes; base64 on the wire.
    Raw(Vec<u8>),
    /// Where a file may be found.
    Url(String),
    /// Any JSON value, `null` too.
    Data(Value),
}

impl Part {
    /// A part that is text and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Part::of(PartContent::Text(text.into()))
    }

    /// A part of this content and nothing else.
    pub fn of(content: PartContent) -> Self {
        Part { content, filename: None, media_type: None, metadata: None }
    }

    /// The text, if the part is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Text(text) => Some(text),
            _ => None,
        }
    }
}

const READ: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, READ);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, READ);

/// Both alphabets, padded or not (ProtoJSON); a mix of the alphabets is refused.
fn from_base64(text: &str, at: &Path<'_>) -> Result<Vec<u8>, Invalid> {
    let engine = if text.bytes().any(|b| b == b'-' || b == b'_') { &URL_SAFE } else { &STANDARD };
    engine.decode(text).map_err(|_| at.invalid("must be base64"))
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match &self.content {
            PartContent::Text(text) => map.serialize_entry("text", text)?,
            PartContent::Raw(bytes) => map.serialize_entry("raw", &STANDARD.encode(bytes))?,
            PartContent::Url(url) => map.serialize_entry("url", url)?,
            PartContent::Data(value) => map.serialize_entry("data", value)?,
        }
        if let Some(filename) = &self.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("mediaType", media_type)?;
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

impl Decode for Part {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let text = fields.get("text")?.map(PartContent::Text);
        let raw = match fields.get::<String>("raw")? {
            Some(raw) => Some(PartContent::Raw(from_base64(&raw, &fields.at("raw"))?)),
            None => None,
        };
        let url = fields.get("url")?.map(PartContent::Url);
        let data = fields.take_or_null("data")?;
        let data_is_null = data.as_ref().is_some_and(Value::is_null);

        let mut others = [text, raw, url].into_iter().flatten();
        let (first, second) = (others.next(), others.next());
        let content = match (first, second, data) {
            (_, Some(_), _) => None,
            // `data: null` alone is the value null; beside a content it is a writer's empty member.
            (Some(content), None, Some(_)) if data_is_null => Some(content),
            (Some(_), None, Some(_)) => None,
            (Some(content), None, None) => Some(content),
            (None, None, Some(value)) => Some(PartContent::Data(value)),
            (None, None, None) => {
                return Err(at.invalid("must have one of text, raw, url or data"));
            }
        };
        Ok(Part {
            content: content.ok_or_else(|| at.invalid("must have only one of text, raw, url or data"))?,
            filename: fields.text("filename")?,
            media_type: fields.text("mediaType")?,
            metadata: fields.get("metadata")?,
        })
    }
}

deserialize_by_decode!(Part);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    /// What is read, written back; or the refusal.
    fn check(input: Value, expected: Result<Value, &str>) {
        let got =
            from_value::<Part>(input.clone()).map(|part| to_value(part).unwrap()).map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    #[test]
    fn a_part_has_exactly_one_content() {
        for good in [
            json!({"text": ""}),
            json!({"url": "https://example.com/a"}),
            json!({"data": null}),
            json!({"data": [1, {"a": null}]}),
            json!({"raw": "AAE=", "filename": "a.bin", "mediaType": "x/y", "metadata": {"k": 1}}),
        ] {
            check(good.clone(), Ok(good));
        }
        check(json!({"text": "a", "url": null, "data": null}), Ok(json!({"text": "a"})));
        check(json!({"text": "a", "media_type": "t/p", "filename": ""}), Ok(json!({"text": "a", "mediaType": "t/p"})));
        let two = "must have only one of text, raw, url or data";
        check(json!({"text": "a", "url": "b"}), Err(two));
        check(json!({"text": "a", "data": 1}), Err(two));
        check(json!({"raw": "", "text": "", "data": null}), Err(two));
        let none = "must have one of text, raw, url or data";
        check(json!({}), Err(none));
        check(json!({"text": null, "kind": "text"}), Err(none));
        check(json!("a"), Err("must be an object"));
    }

    #[test]
    fn bytes_come_in_any_base64_and_go_out_in_the_standard_one() {
        for spelling in ["+/8=", "+/8", "-_8=", "-_8"] {
            check(json!({"raw": spelling}), Ok(json!({"raw": "+/8="})));
        }
        for bad in ["+_8=", "a", "a b=", "AA=A", "é"] {
            check(json!({"raw": bad}), Err("raw: must be base64"));
        }
    }

    #[test]
    fn a_number_is_written_as_it_was_read() {
        for number in ["-1.0998438702954494e-178", "0.1", "1.7976931348623157e+308", "-0.0", "18446744073709551615"] {
            let part: Part = serde_json::from_str(&format!(r#"{{"data":{number}}}"#)).unwrap();
            assert_eq!(serde_json::to_string(&part).unwrap(), format!(r#"{{"data":{number}}}"#));
        }
    }

    #[test]
    fn metadata_is_an_object() {
        check(json!({"text": "a", "metadata": null}), Ok(json!({"text": "a"})));
        check(json!({"text": "a", "metadata": []}), Err("metadata: must be an object"));
        check(json!({"text": "a", "metadata": "x"}), Err("metadata: must be an object"));
    }
}
