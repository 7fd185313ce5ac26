//! Writing one answer. Also the `data:` of a stream's event, which is a whole answer.
//! Must not know what it answers.

use serde::Serialize;

use super::Id;
use crate::error::{A2aError, ErrorCode};

/// Room for the frame and a small task, so that most answers are written without growing.
const START_BYTES: usize = 512;

/// The answer with a result. A result that cannot be printed becomes an InternalError.
pub fn success<T: Serialize + ?Sized>(id: &Id, result: &T) -> Vec<u8> {
    frame(id, b",\"result\":", result).unwrap_or_else(|_| {
        let message = "the result could not be written";
        failure(id, &A2aError::new(ErrorCode::InternalError, message))
    })
}

/// The answer with a refusal.
pub fn failure(id: &Id, error: &A2aError) -> Vec<u8> {
    // Text, numbers and maps with text keys: nothing in it can fail to print.
    frame(id, b",\"error\":", &error.json_rpc()).unwrap_or_default()
}

/// By hand, so that the id is put in as it came and the result is walked once.
fn frame<T: Serialize + ?Sized>(id: &Id, member: &[u8], value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(START_BYTES);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(&mut out);
    out.extend_from_slice(member);
    serde_json::to_writer(&mut out, value)?;
    out.push(b'}');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn check(got: Vec<u8>, expected: &str) {
        assert_eq!(String::from_utf8(got).unwrap(), expected);
    }

    #[test]
    fn an_answer_echoes_the_id_with_its_type() {
        check(success(&Id::from("1"), "r"), r#"{"jsonrpc":"2.0","id":"1","result":"r"}"#);
        check(success(&Id::from(1), &[1]), r#"{"jsonrpc":"2.0","id":1,"result":[1]}"#);
        check(success(&Id::Null, &()), r#"{"jsonrpc":"2.0","id":null,"result":null}"#);
    }

    #[test]
    fn a_refusal_has_code_message_and_typed_data() {
        check(
            failure(&Id::from(2), &A2aError::new(ErrorCode::Paused, "paused \"now\"")),
            concat!(
                r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32059,"message":"paused \"now\"","data":[{"#,
                r#""@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PAUSED","#,
                r#""domain":"shrooms-agent","metadata":{}}]}}"#,
            ),
        );
    }

    #[test]
    fn a_result_that_cannot_be_printed_is_an_internal_error() {
        let bad = BTreeMap::from([((1, 2), 3)]);
        let answer: serde_json::Value = serde_json::from_slice(&success(&Id::from(3), &bad)).unwrap();
        assert_eq!(answer["error"]["code"], -32603);
        assert_eq!(answer["id"], 3);
    }
}
