//! Reading one call. What is wrong with it is answered, with its id wherever that can be read.
//! Must not know which methods exist.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Id, failure};
use crate::decode::{Decode, TOO_MANY_VALUES, decode, is_small_enough};
use crate::error::{A2aError, ErrorCode};

/// One call. `params` is unread: [`Request::params`] decodes it once the method is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    /// Absent and null are the same.
    pub params: Option<Value>,
}

/// A body that is not a call, and the id to answer under.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub id: Id,
    pub error: A2aError,
}

impl Refused {
    /// The answer's body.
    pub fn to_bytes(&self) -> Vec<u8> {
        failure(&self.id, &self.error)
    }
}

/// The members of a call, each of any type, so that a wrong one can still be answered by id.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    jsonrpc: Value,
    // Borrowed and present even if null: a missing id and a null one differ.
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Value,
    #[serde(default)]
    params: Value,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

impl Request {
    /// Reads a body.
    ///
    /// # Errors
    /// -32700 with a null id for what is not JSON (or nests deeper than 127 levels); -32600 for
    /// batches, other values, a version other than 2.0, a missing method, and a call without an id.
    pub fn parse(bytes: &[u8]) -> Result<Request, Refused> {
        let refuse = |id, code, message: &str| Refused { id, error: A2aError::new(code, message) };
        let invalid = |id, message| refuse(id, ErrorCode::InvalidRequest, message);
        if !is_small_enough(bytes) {
            return Err(invalid(Id::Null, TOO_MANY_VALUES));
        }
        let envelope: Envelope<'_> = match first_byte(bytes) {
            Some(b'{') => serde_json::from_slice(bytes).map_err(|error| {
                if error.is_data() {
                    invalid(Id::Null, "a member of the request is given twice")
                } else {
                    refuse(Id::Null, ErrorCode::ParseError, "the body is not JSON")
                }
            })?,
            first => {
                let message = match (serde_json::from_slice::<IgnoredAny>(bytes), first) {
                    (Err(_), _) => {
                        return Err(refuse(Id::Null, ErrorCode::ParseError, "the body is not JSON"));
                    }
                    (Ok(_), Some(b'[')) => "batches are not taken; send one request object in each body",
                    (Ok(_), _) => "the body is not a request object",
                };
                return Err(invalid(Id::Null, message));
            }
        };

        let id = match envelope.id.map(Id::from_raw) {
            Some(Some(id)) => Some(id),
            Some(None) => {
                return Err(invalid(Id::Null, "`id` must be a string, a number or null"));
            }
            None => None,
        };
        let known = || id.clone().unwrap_or_default();
        if envelope.jsonrpc != "2.0" {
            return Err(invalid(known(), "`jsonrpc` must be \"2.0\""));
        }
        let method = match envelope.method {
            Value::String(method) if !method.is_empty() => method,
            _ => return Err(invalid(known(), "`method` must be the name of a method")),
        };
        let Some(id) = id else {
            let message = "this request has no `id`; every call here needs one, since each is answered";
            return Err(invalid(Id::Null, message));
        };
        let params = Some(envelope.params).filter(|params| !params.is_null());
        Ok(Request { id, method, params })
    }

    /// Takes the params out and reads them; see [`decode_params`].
    ///
    /// # Errors
    /// InvalidParams with the path of the bad field.
    pub fn params<T: Decode>(&mut self) -> Result<T, A2aError> {
        decode_params(self.params.take())
    }
}

/// Reads params; absent ones count as `{}`.
///
/// # Errors
/// InvalidParams (-32602) with the path of the bad field in `google.rpc.BadRequest`.
pub fn decode_params<T: Decode>(params: Option<Value>) -> Result<T, A2aError> {
    let params = params.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    if !params.is_object() {
        return Err(A2aError::invalid_params("params", "must be an object"));
    }
    decode(params).map_err(A2aError::from)
}

fn first_byte(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|b| !b" \t\r\n".contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{SendMessageParams, TaskIdParams};
    use serde_json::json;

    /// The id as text and the method; or the id as text, the code and a piece of the message.
    fn check(body: &str, expected: Result<(&str, &str), (&str, i32, &str)>) {
        match (Request::parse(body.as_bytes()), expected) {
            (Ok(request), Ok((id, method))) => {
                assert_eq!((request.id.to_string().as_str(), request.method.as_str()), (id, method));
            }
            (Err(refused), Err((id, code, piece))) => {
                let got = (refused.id.to_string(), refused.error.code.json_rpc());
                assert_eq!((got.0.as_str(), got.1), (id, code), "{body}");
                assert!(refused.error.message.contains(piece), "{body}: {}", refused.error);
            }
            (got, _) => panic!("{body}: {got:?}"),
        }
    }

    #[test]
    fn an_id_is_kept_exactly_as_sent() {
        for id in [r#""a\n""#, "5", "-0.50", "1e3", "123456789012345678901234567890", "null", r#""""#] {
            let body = format!(r#" {{"jsonrpc":"2.0","id":{id},"method":"M"}} "#);
            check(&body, Ok((id, "M")));
        }
        for id in ["true", "{}", "[1]"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"M"}}"#);
            check(&body, Err(("null", -32600, "`id` must be")));
        }
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_with_a_null_id() {
        for body in ["", " ", "{", "hello", r#"{"id":1,}"#, r#"{"id":1} x"#, "[1,", "{'id':1}"] {
            check(body, Err(("null", -32700, "not JSON")));
        }
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"M","params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        check(&deep, Err(("null", -32700, "not JSON")));
        assert!(Request::parse(b"{\"id\":\"\xff\"}").is_err());
    }

    #[test]
    fn what_is_not_one_request_is_invalid() {
        check("[]", Err(("null", -32600, "batches")));
        check(r#" [{"jsonrpc":"2.0","id":1,"method":"M"}]"#, Err(("null", -32600, "batches")));
        for body in ["null", "5", r#""x""#] {
            check(body, Err(("null", -32600, "not a request object")));
        }
        check(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"M"}"#, Err(("null", -32600, "twice")));
    }

    #[test]
    fn a_bad_request_is_answered_under_its_id() {
        for version in [r#""jsonrpc":"1.0","#, r#""jsonrpc":2.0,"#, ""] {
            check(&format!(r#"{{{version}"id":7,"method":"M"}}"#), Err(("7", -32600, "`jsonrpc`")));
        }
        for method in [r#""method":"","#, r#""method":5,"#, ""] {
            check(&format!(r#"{{"jsonrpc":"2.0",{method}"id":"a"}}"#), Err((r#""a""#, -32600, "`method`")));
        }
        check(r#"{"jsonrpc":"2.0","method":"M"}"#, Err(("null", -32600, "every call here needs one")));
    }

    #[test]
    fn the_answer_to_a_refused_body_is_json() {
        let refused = Request::parse(br#"{"id":7}"#).unwrap_err();
        let answer: Value = serde_json::from_slice(&refused.to_bytes()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
    }

    #[test]
    fn params_are_read_by_name_with_the_path_of_what_is_bad() {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"M","params":{"id":"t"}}"#;
        let mut request = Request::parse(body).unwrap();
        assert_eq!(request.params::<TaskIdParams>().unwrap().id, "t");

        for (params, message) in [
            (None, "message: is required"),
            (Some(json!([1])), "params: must be an object"),
            (
                Some(json!({"message": {"messageId": "m", "role": 1, "parts": [{"text": ""}, {}]}})),
                "message.parts[1]: must have one of text, raw, url or data",
            ),
        ] {
            let error = decode_params::<SendMessageParams>(params).unwrap_err();
            assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidParams, message));
        }
    }
}
