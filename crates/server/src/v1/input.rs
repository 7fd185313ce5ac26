//! What a request holds, read strictly: an unknown or missing field is refused by its name, so that
//! a mistyped one is never passed over in silence. Every rejection is a [`Problem`].

use std::fmt::Display;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess};
use serde_json::{Map, Value};
use shrooms_core::{id, text};
use shrooms_engine::Engine;

use crate::problem::Problem;

/// The body, as JSON.
pub(super) struct Body<T>(pub(super) T);

/// A body that says nothing: absent, or `{}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// What stands behind the `?`.
pub(super) struct Asked<T>(pub(super) T);

/// The one part of the path that varies, decoded.
pub(super) struct Part(pub(super) String);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|e| Problem::bad(e.body_text()).with_status(e.status()))?;
        body(&bytes).map(Body)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(query)| Asked(query)).map_err(|e| Problem::bad(in_query(&e.body_text())))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Part {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::<String>::from_request_parts(parts, state).await;
        read.map(|Path(part)| Part(part)).map_err(|e| Problem::bad(format!("the address is not right: {e}")))
    }
}

/// A JSON object as a value.
fn body<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Problem> {
    let members = match bytes.is_empty() {
        true => Map::new(),
        false => match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => members,
            Ok(_) => return Err(Problem::bad("the body must be a JSON object")),
            Err(e) => return Err(Problem::bad(format!("the body is not JSON: {e}"))),
        },
    };
    object(members)
}

/// An object's members as a value.
pub(super) fn object<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, Problem> {
    let mut wrong = None;
    let members = Members { rest: members.into_iter(), value: None, wrong: &mut wrong };
    T::deserialize(MapAccessDeserializer::new(members)).map_err(|e| {
        let what = text::cut(&e.to_string(), LONGEST);
        Problem::bad(match wrong {
            Some((field, kind)) => format!("{}: {}", text::cut(&field, 80), value_problem(&what, kind)),
            None => what,
        })
    })
}

/// An error names a field and what is expected, not a page of what was sent.
const LONGEST: usize = 300;

/// In serde's words a value is shown, which may be a whole text: its kind is enough. What is wrong
/// inside of a list is not the list's kind.
fn value_problem(what: &str, kind: &str) -> String {
    match what.split_once("expected ") {
        Some((_, expected)) if kind != LIST => format!("must be {expected}, not {kind}"),
        _ => what.to_string(),
    }
}

const LIST: &str = "a list";

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "that number",
        Value::String(_) => "a text",
        Value::Array(_) => LIST,
        Value::Object(_) => "an object",
    }
}

/// The query's error without the sentence before it.
fn in_query(what: &str) -> String {
    let what = what.strip_prefix("Failed to deserialize query string: ").unwrap_or(what);
    format!("the query is not right: {}", text::cut(what, LONGEST))
}

/// The members of an object, one by one, remembering which one could not be read.
struct Members<'a> {
    rest: serde_json::map::IntoIter,
    value: Option<(String, Value)>,
    wrong: &'a mut Option<(String, &'static str)>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(key.as_str().into_deserializer());
        self.value = Some((key, value));
        read.map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Self::Error> {
        let (key, value) = self.value.take().unwrap_or_default();
        let kind = kind(&value);
        seed.deserialize(value).inspect_err(|_| *self.wrong = Some((key, kind)))
    }
}

/// `1`, `true`, `0` or `false` in a query.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match String::deserialize(from)?.as_str() {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(serde::de::Error::custom("expected 1 or 0")),
    }
}

/// A number of things asked for, within its bounds.
pub(super) fn within<N: PartialOrd + Display>(name: &str, given: N, least: N, most: N) -> Result<N, Problem> {
    if given < least || given > most {
        return Err(Problem::bad(format!("{name}: must be from {least} to {most}, not {given}")));
    }
    Ok(given)
}

/// Longest name of a model, in bytes: those of today's harnesses have less than a hundred.
const MAX_MODEL: usize = 200;

/// A model's name, as it can stand on a command line; blank = by the harness's own settings.
pub(super) fn model(given: Option<String>) -> Result<Option<String>, Problem> {
    let bad = |m: &String| m.len() > MAX_MODEL || m.contains(char::is_control);
    if given.as_ref().is_some_and(bad) {
        return Err(Problem::bad(format!("model: must be at most {MAX_MODEL} bytes, on one line")));
    }
    Ok(given.map(|m| m.trim().to_string()))
}

/// A message's id: the given one, or a fresh one.
pub(super) fn message_id(engine: &Engine, given: Option<String>) -> Result<String, Problem> {
    match given {
        Some(given) if given.is_empty() => Err(Problem::bad("id: must not be empty (leave it out for a fresh one)")),
        Some(given) => Ok(given),
        None => {
            let [a, b, c, d, ..] = engine.random()?.to_be_bytes();
            Ok(id::message_id(engine.wall(), [a, b, c, d]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Given {
        to: String,
        #[serde(default)]
        now: bool,
        seq: Option<u32>,
        refs: Option<Vec<String>>,
    }

    fn check(json: &str, want: Result<(&str, bool, Option<u32>), &str>) {
        let got = body::<Given>(&Bytes::copy_from_slice(json.as_bytes())).map_err(|p| p.detail);
        let got = got.as_ref().map(|g| (g.to.as_str(), g.now, g.seq)).map_err(String::as_str);
        assert_eq!(got, want, "{json}");
    }

    #[test]
    fn a_body_that_is_not_right_is_refused_by_the_field() {
        check(r#"{"to": "a", "now": true, "seq": 3, "refs": ["x"]}"#, Ok(("a", true, Some(3))));
        check(r#"{"to": "a", "seq": null}"#, Ok(("a", false, None)));
        check(r#"{"now": true}"#, Err("missing field `to`"));
        check("", Err("missing field `to`"));
        check(r#"{"to": "a", "too": 1}"#, Err("unknown field `too`, expected one of `to`, `now`, `seq`, `refs`"));
        check(r#"{"to": 5}"#, Err("to: must be a string, not that number"));
        check(r#"{"to": "a", "now": "yes"}"#, Err("now: must be a boolean, not a text"));
        check(r#"{"to": "a", "seq": -1}"#, Err("seq: must be u32, not that number"));
        check(r#"{"to": "a", "refs": [1]}"#, Err("refs: invalid type: integer `1`, expected a string"));
        check("[]", Err("the body must be a JSON object"));
        check("{", Err("the body is not JSON: EOF while parsing an object at line 1 column 1"));
    }

    #[test]
    fn a_model_is_what_a_command_line_can_hold() {
        let long = "x".repeat(MAX_MODEL + 1);
        for (given, want) in [
            (None, Ok(None)),
            (Some(""), Ok(Some(""))),
            (Some(" opus "), Ok(Some("opus"))),
            (Some("claude-opus-4[1m]"), Ok(Some("claude-opus-4[1m]"))),
            (Some("a\0b"), Err(())),
            (Some("a\nb"), Err(())),
            (Some(long.as_str()), Err(())),
        ] {
            let got = model(given.map(str::to_string));
            assert_eq!(got.as_ref().map(Option::as_deref).map_err(|_| ()), want, "{given:?}");
        }
    }

    #[test]
    fn nothing_is_nothing_or_an_empty_object() {
        for (json, good) in [("", true), ("{}", true), (r#"{"why": 1}"#, false), ("null", false)] {
            assert_eq!(body::<Nothing>(&Bytes::copy_from_slice(json.as_bytes())).is_ok(), good, "{json}");
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Paged {
        limit: Option<u32>,
        #[serde(default, deserialize_with = "flag")]
        all: bool,
    }

    #[tokio::test]
    async fn a_query_that_is_not_right_is_refused_by_the_field() {
        for (query, want) in [
            ("", Ok((None, false))),
            ("limit=3&all=1", Ok((Some(3), true))),
            ("all=false", Ok((None, false))),
            ("limit=many", Err("limit: invalid digit found in string")),
            ("all=yes", Err("all: expected 1 or 0")),
            ("al=1", Err("al: unknown field `al`, expected `limit` or `all`")),
        ] {
            let (mut parts, ()) = axum::http::Request::get(format!("/v1/asks?{query}")).body(()).unwrap().into_parts();
            let read = Asked::<Paged>::from_request_parts(&mut parts, &()).await;
            let got = read.map(|Asked(p)| (p.limit, p.all)).map_err(|p| p.detail);
            let want = want.map_err(|w| format!("the query is not right: {w}"));
            assert_eq!(got, want, "{query}");
        }
    }
}
