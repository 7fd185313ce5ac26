//! Reading ProtoJSON: one place for its freedoms (both spellings of a name, null = absent, numbers
//! as strings) and for the field path that every refusal carries. Derived readers give neither the
//! path of a missing field nor these freedoms in one piece, so values are taken from a JSON tree.
//! Must not know any A2A type.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::{Map, Value};

/// Values that one body may hold, with the names of members: in memory each takes up to a hundred times
/// its bytes. A data part of more could not be given to a worker, whose text is bounded at 1 MiB.
pub const MAX_VALUES: usize = 250_000;

/// What is said of a body that holds more.
pub(crate) const TOO_MANY_VALUES: &str = "the body holds more than 250000 values: send less, or the address of it";

/// Whether a body holds no more values than [`MAX_VALUES`], counted before anything is made of them. Of
/// what is not JSON it says something, and nothing worse.
pub fn is_small_enough(body: &[u8]) -> bool {
    let (mut values, mut in_text, mut escaped) = (1usize, false, false);
    for byte in body {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => in_text = false,
            (true, _) => {}
            (false, b'"') => in_text = true,
            (false, b',' | b':' | b'[' | b'{') => values += 1,
            (false, _) => {}
        }
    }
    values <= MAX_VALUES
}

/// The largest number that a whole-number field may hold: `int32` of `a2a.proto`.
pub const INT32_MAX: u32 = i32::MAX as u32;

/// What is wrong with a value, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{problem}", .field, if .field.is_empty() { "" } else { ": " })]
pub struct Invalid {
    /// Path from the decoded value, in camelCase: `message.parts[1].raw`. Empty = the value itself.
    pub field: String,
    /// The problem in words for the caller; holds no secret and none of the value's text.
    pub problem: String,
}

/// Where in a value the reader stands. Lives on the stack and is written out only for a refusal,
/// so that a good request pays nothing for it.
#[derive(Debug, Clone, Copy)]
pub enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// The refusal of the value at this place.
    pub fn invalid(&self, problem: impl Into<String>) -> Invalid {
        Invalid { field: self.to_string(), problem: problem.into() }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Field(Path::Root, name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A type that is read from a JSON tree by the rules of this crate.
pub trait Decode: Sized {
    /// # Errors
    /// The first thing that is wrong, with its path from where `at` begins.
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid>;
}

/// Reads one value from its JSON tree.
///
/// # Errors
/// The first thing that is wrong, with its path.
pub fn decode<T: Decode>(value: Value) -> Result<T, Invalid> {
    T::decode(value, &Path::Root)
}

/// `Deserialize` for types that have `Decode`, through the JSON tree.
macro_rules! deserialize_by_decode {
    ($($name:ty),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::decode::deserialize(from)
            }
        }
    )+};
}
pub(crate) use deserialize_by_decode;

/// The body of [`deserialize_by_decode`].
pub(crate) fn deserialize<'de, T: Decode, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    decode(value).map_err(D::Error::custom)
}

/// The members of one JSON object, taken out by name.
pub(crate) struct Fields<'p> {
    map: Map<String, Value>,
    at: &'p Path<'p>,
    /// Whether any name has an underscore; if not, snake_case names need not be looked for.
    has_snake: bool,
}

impl<'p> Fields<'p> {
    pub fn of(value: Value, at: &'p Path<'p>) -> Result<Self, Invalid> {
        match value {
            Value::Object(map) => {
                let has_snake = map.keys().any(|key| key.contains('_'));
                Ok(Fields { map, at, has_snake })
            }
            _ => Err(at.invalid("must be an object")),
        }
    }

    /// The path of a member.
    pub fn at<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self.at, name)
    }

    /// The refusal of a member.
    pub fn invalid(&self, name: &str, problem: impl Into<String>) -> Invalid {
        self.at(name).invalid(problem)
    }

    /// Takes a member as it is; `null` is a value here.
    pub fn take_or_null(&mut self, name: &str) -> Result<Option<Value>, Invalid> {
        let camel = self.map.remove(name);
        if !self.has_snake {
            return Ok(camel);
        }
        let snake_name = snake(name);
        if snake_name == name {
            return Ok(camel);
        }
        let given = |value: &Option<Value>| value.as_ref().is_some_and(|v| !v.is_null());
        let snake = self.map.remove(&snake_name);
        if given(&camel) && given(&snake) {
            let problem = format!("is given twice, as `{name}` and as `{snake_name}`");
            return Err(self.invalid(name, problem));
        }
        Ok(if given(&snake) || camel.is_none() { snake } else { camel })
    }

    /// Takes a member; `null` = absent, as ProtoJSON has it.
    pub fn take(&mut self, name: &str) -> Result<Option<Value>, Invalid> {
        Ok(self.take_or_null(name)?.filter(|value| !value.is_null()))
    }

    /// An optional member.
    pub fn get<T: Decode>(&mut self, name: &str) -> Result<Option<T>, Invalid> {
        match self.take(name)? {
            Some(value) => T::decode(value, &self.at(name)).map(Some),
            None => Ok(None),
        }
    }

    /// A member that must be there.
    pub fn require<T: Decode>(&mut self, name: &str) -> Result<T, Invalid> {
        self.get(name)?.ok_or_else(|| self.invalid(name, "is required"))
    }

    /// An optional text; an empty one is absent (proto3 has no difference between the two).
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        Ok(self.get::<String>(name)?.filter(|value| !value.is_empty()))
    }

    /// A text that must be there and not empty.
    pub fn require_text(&mut self, name: &str) -> Result<String, Invalid> {
        let value: String = self.require(name)?;
        if value.is_empty() {
            return Err(self.invalid(name, "must not be empty"));
        }
        Ok(value)
    }

    /// What was not taken.
    pub fn rest(self) -> Map<String, Value> {
        self.map
    }
}

/// `historyLength` → `history_length`.
fn snake(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

impl Decode for String {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(at.invalid("must be a string")),
        }
    }
}

impl Decode for bool {
    /// Also from text: query parameters of the HTTP binding come as text and use the same reader.
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        match &value {
            Value::Bool(flag) => Ok(*flag),
            Value::String(text) if text == "true" => Ok(true),
            Value::String(text) if text == "false" => Ok(false),
            _ => Err(at.invalid("must be true or false")),
        }
    }
}

impl Decode for u32 {
    /// A proto `int32` that is not negative: `5`, `"5"`, `5.0`.
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        };
        // A double holds every int32 exactly, so one check serves all three spellings.
        match number {
            Some(n) if n.fract() == 0.0 && (0.0..=f64::from(INT32_MAX)).contains(&n) => Ok(n as u32),
            _ => Err(at.invalid(format!("must be a whole number from 0 to {INT32_MAX}"))),
        }
    }
}

impl Decode for Value {
    fn decode(value: Value, _: &Path<'_>) -> Result<Self, Invalid> {
        Ok(value)
    }
}

impl Decode for Map<String, Value> {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        match value {
            Value::Object(map) => Ok(map),
            _ => Err(at.invalid("must be an object")),
        }
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        match value {
            Value::Array(items) => {
                items.into_iter().enumerate().map(|(index, item)| T::decode(item, &Path::Item(at, index))).collect()
            }
            _ => Err(at.invalid("must be an array")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, PartialEq)]
    struct Probe {
        page_size: Option<u32>,
        flag: Option<bool>,
        names: Option<Vec<String>>,
    }

    impl Decode for Probe {
        fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
            let mut fields = Fields::of(value, at)?;
            Ok(Probe { page_size: fields.get("pageSize")?, flag: fields.get("flag")?, names: fields.get("names")? })
        }
    }

    fn check(input: Value, expected: Result<(Option<u32>, Option<bool>), &str>) {
        let got = decode::<Probe>(input.clone())
            .map(|probe| (probe.page_size, probe.flag))
            .map_err(|invalid| invalid.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    const RANGE: &str = "pageSize: must be a whole number from 0 to 2147483647";

    #[test]
    fn values_are_counted_and_what_stands_in_texts_is_not() {
        let list = |n: usize| format!("[{}0]", "0,".repeat(n - 1)).into_bytes();
        for (body, small) in [
            (b"".to_vec(), true),
            (list(MAX_VALUES - 1), true),
            (list(MAX_VALUES), false),
            (format!("{{\"a\":\"{}\"}}", ",".repeat(2 * MAX_VALUES)).into_bytes(), true),
            (format!("{{\"a\":\"\\\"{}\"}}", "[".repeat(2 * MAX_VALUES)).into_bytes(), true),
            (format!("{{\"a\":[{}]}}", "{\"b\":0},".repeat(MAX_VALUES / 3)).into_bytes(), false),
            (vec![b'['; MAX_VALUES + 1], false),
        ] {
            assert_eq!(is_small_enough(&body), small, "{} bytes", body.len());
        }
    }

    #[test]
    fn numbers_come_as_numbers_or_as_text() {
        for input in [json!(7), json!("7"), json!(7.0)] {
            check(json!({"pageSize": input}), Ok((Some(7), None)));
        }
        for input in [json!(-1), json!("-1"), json!(1.5), json!(""), json!("1e1"), json!(true)] {
            check(json!({"pageSize": input}), Err(RANGE));
        }
        check(json!({"pageSize": 2_147_483_647_u32}), Ok((Some(INT32_MAX), None)));
        check(json!({"pageSize": 2_147_483_648_u32}), Err(RANGE));
    }

    #[test]
    fn both_spellings_are_read_but_not_both_at_once() {
        check(json!({"page_size": 3}), Ok((Some(3), None)));
        check(json!({"page_size": 3, "pageSize": null}), Ok((Some(3), None)));
        check(json!({"page_size": null, "pageSize": 3}), Ok((Some(3), None)));
        check(
            json!({"page_size": 3, "pageSize": 3}),
            Err("pageSize: is given twice, as `pageSize` and as `page_size`"),
        );
    }

    #[test]
    fn null_is_absent_and_unknown_fields_are_ignored() {
        check(json!({"pageSize": null, "flag": null, "x": {"y": [1]}}), Ok((None, None)));
        check(json!({"flag": "true"}), Ok((None, Some(true))));
        check(json!({"flag": 1}), Err("flag: must be true or false"));
    }

    #[test]
    fn a_refusal_names_the_place() {
        check(json!([]), Err("must be an object"));
        check(json!({"names": ["a", 5]}), Err("names[1]: must be a string"));
        check(json!({"names": ["a", null]}), Err("names[1]: must be a string"));
        check(json!({"names": {}}), Err("names: must be an array"));
    }
}
