//! What the model of a session says is heard by whoever follows its task while it works; a file that
//! it hands over by the tool comes with the result.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::model::{rule, say, shell, tool};

#[test]
fn a_models_words_are_heard_while_it_works_and_its_file_comes_with_the_result() {
    let test = "a_models_words_are_heard_while_it_works_and_its_file_comes_with_the_result";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add_auto("review");
    let held = shell(&format!("printf found > report.txt; until [ -e '{}' ]; do sleep 0.05; done", lab.word("go")));
    let done = json!({"task": "review:m1", "state": "done", "summary": "See the report.", "files": ["report.txt"]});
    let steps =
        [vec![say("I am looking at it now."), held], vec![tool("task_update", done)], vec![say("That was all.")]];
    lab.model.rules(&[rule("Look at the branch", &steps)]);

    let body = json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Look at the branch."}]}});
    let body = body.to_string();
    let mut stream = UnixStream::connect(home.state.join("agent.sock")).unwrap();
    let head = "POST /a2a/review/message:stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    write!(stream, "{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).unwrap();
    let (mut partial, mut made, mut states) = (String::new(), Vec::new(), Vec::new());
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(data).unwrap();
        let artifact = &event["artifactUpdate"]["artifact"];
        if artifact["metadata"]["shrooms/partial"] == true {
            partial.push_str(artifact["parts"][0]["text"].as_str().unwrap());
            if partial.contains("I am looking at it now.") {
                lab.touch("go");
            }
        } else if let Some(name) = artifact["name"].as_str() {
            made.push((name.to_string(), artifact["parts"][0].clone()));
        }
        if let Some(state) = event["statusUpdate"]["status"]["state"].as_str() {
            states.push(state.to_string());
        }
    }
    assert!(partial.starts_with("I am looking at it now."), "{partial:?}");
    let file = json!({"raw": "Zm91bmQ=", "filename": "report.txt", "mediaType": "text/plain"});
    let result = json!({"text": "See the report."});
    assert_eq!(made, [("report.txt".to_string(), file), ("result".to_string(), result)]);
    assert_eq!(states.last().map(String::as_str), Some("TASK_STATE_COMPLETED"), "{states:?}");
}
