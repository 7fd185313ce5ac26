//! ListTasks: filters, order, pages that stay whole while tasks change, and what each task shows.

use serde_json::{Value, json};

use crate::shape::{self, check};
use crate::wire::{Agent, BOTH, Binding, HttpJson, JsonRpc, follow_up, message, state};
use crate::world::plain;

fn list(agent: &Agent, binding: Binding, params: &Value) -> Value {
    let page = agent.good(binding, "ListTasks", params);
    check(&shape::PAGE, &page);
    page
}

fn ids(page: &Value) -> Vec<String> {
    page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_string()).collect()
}

/// A task of this id, in this context, that has come as far as its id says.
fn sent(agent: &Agent, id: &str, context: &str) -> Value {
    let mut params = message(id, "go");
    params["message"]["contextId"] = json!(context);
    agent.task(JsonRpc, &params)
}

#[test]
fn filters_hold_and_the_newest_change_comes_first() {
    let world = plain(&["w", "v"]);
    let (w, v) = (world.session("w"), world.session("v"));
    let done = sent(&w, "tck-complete-task-1", "red");
    let open = sent(&w, "tck-input-required-1", "red");
    let failed = sent(&w, "tck-reject-task-1", "blue");
    let other = sent(&v, "tck-complete-task-1", "red");
    for binding in BOTH {
        let found = |agent: &Agent, params: Value| {
            let page = list(agent, binding, &params);
            assert_eq!(page["totalSize"], page["tasks"].as_array().unwrap().len(), "{page}");
            assert_eq!((&page["nextPageToken"], &page["pageSize"]), (&json!(""), &json!(50)));
            ids(&page)
        };
        let named = |tasks: &[&Value]| tasks.iter().map(|t| t["id"].as_str().unwrap().to_string()).collect::<Vec<_>>();
        assert_eq!(found(&w, json!({})), named(&[&failed, &open, &done]), "of this session alone");
        assert_eq!(found(&world.at("/a2a"), json!({})), named(&[&other, &failed, &open, &done]), "of the machine");
        assert_eq!(found(&world.at("/a2a"), json!({"tenant": "v"})), named(&[&other]));
        assert_eq!(found(&w, json!({"contextId": "red"})), named(&[&open, &done]));
        assert_eq!(found(&w, json!({"contextId": "re"})), named(&[]));
        assert_eq!(found(&w, json!({"status": "TASK_STATE_INPUT_REQUIRED"})), named(&[&open]));
        assert_eq!(found(&w, json!({"status": "TASK_STATE_WORKING"})), named(&[]));
        assert_eq!(found(&w, json!({"status": "TASK_STATE_UNSPECIFIED"})).len(), 3, "the proto's way to say nothing");
        assert_eq!(found(&w, json!({"status": "TASK_STATE_COMPLETED", "contextId": "blue"})), named(&[]));
        // Inclusive: the very moment counts, the next does not.
        let moment = open["status"]["timestamp"].as_str().unwrap();
        assert_eq!(found(&w, json!({"statusTimestampAfter": moment})), named(&[&failed, &open]));
        let last: jiff::Timestamp = failed["status"]["timestamp"].as_str().unwrap().parse().unwrap();
        let later = (last + jiff::Span::new().milliseconds(1)).to_string();
        assert_eq!(found(&w, json!({"statusTimestampAfter": later})), named(&[]));
        let zoned = moment.replace('Z', "+00:00");
        assert_eq!(found(&w, json!({"statusTimestampAfter": zoned})), named(&[&failed, &open]));
    }
}

#[test]
fn a_listed_task_shows_what_was_asked_for() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let made = sent(&w, "tck-artifact-text-1", "c");
    let mut open = sent(&w, "tck-input-required-1", "c");
    for n in 2..=3 {
        open = w.task(JsonRpc, &follow_up(&format!("tck-input-required-{n}"), &format!("answer {n}"), &open));
    }
    for binding in BOTH {
        let task = |params: Value, id: &Value| {
            let page = list(&w, binding, &params);
            page["tasks"].as_array().unwrap().iter().find(|t| t["id"] == *id).unwrap().clone()
        };
        // Not there unless asked for; asked for, there also if empty.
        for params in [json!({}), json!({"includeArtifacts": false})] {
            assert_eq!(task(params, &made["id"]).get("artifacts"), None);
        }
        let all = json!({"includeArtifacts": true});
        assert_eq!(task(all.clone(), &made["id"])["artifacts"], made["artifacts"]);
        assert_eq!(task(all, &open["id"])["artifacts"], json!([]));
        // Each like the task itself.
        for length in [Value::Null, json!(0), json!(1), json!(2), json!(9)] {
            let mut params = json!({"includeArtifacts": true});
            let mut one = json!({"id": open["id"]});
            if !length.is_null() {
                params["historyLength"] = length.clone();
                one["historyLength"] = length.clone();
            }
            let listed = task(params, &open["id"]);
            assert_eq!(listed, w.good(binding, "GetTask", &one), "{length}");
            let count = listed.get("history").map(|h| h.as_array().unwrap().len());
            let want = match length.as_u64() {
                Some(0) => None,
                // Three messages, and the two questions that were answered.
                Some(most) => Some((most as usize).min(5)),
                None => Some(5),
            };
            assert_eq!(count, want, "{length}");
        }
        let newest = task(json!({"historyLength": 1}), &open["id"]);
        assert_eq!(newest["history"][0]["parts"], json!([{"text": "answer 3"}]), "the newest are kept");
    }
}

#[test]
fn pages_are_whole_while_tasks_change_and_new_ones_come() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        let context = format!("{binding:?}");
        let named = |n: usize| format!("tck-input-required-{n}-{context}");
        let tasks: Vec<Value> = (0..6).map(|n| sent(&w, &named(n), &context)).collect();
        let asked = |token: &str| json!({"contextId": context, "pageSize": 2, "pageToken": token});
        let first = list(&w, binding, &asked(""));
        assert_eq!((&first["totalSize"], &first["pageSize"]), (&json!(6), &json!(2)));
        let mut seen = ids(&first);
        // One that was seen moves to the front, one that was not, too, and a new one comes.
        for moved in [5, 0] {
            w.good(JsonRpc, "CancelTask", &json!({"id": tasks[moved]["id"]}));
        }
        sent(&w, &named(6), &context);
        let mut token = first["nextPageToken"].as_str().unwrap().to_string();
        while !token.is_empty() {
            let page = list(&w, binding, &asked(&token));
            assert_eq!(page["totalSize"], 7);
            seen.extend(ids(&page));
            token = page["nextPageToken"].as_str().unwrap().to_string();
        }
        // What did not change is there once, in order; the rest is where a new list begins.
        let want: Vec<String> = [5, 4, 3, 2, 1].map(|n| tasks[n]["id"].as_str().unwrap().to_string()).into();
        assert_eq!(seen, want);
        let again = list(&w, binding, &json!({"contextId": context, "pageSize": 3}));
        assert_eq!(ids(&again)[1..], [tasks[0]["id"].as_str().unwrap(), tasks[5]["id"].as_str().unwrap()]);

        // A token belongs to its filters, and to its list; how much of each task is shown is free.
        let token = &first["nextPageToken"];
        let mut free = asked(token.as_str().unwrap());
        free["pageSize"] = json!(4);
        free["includeArtifacts"] = json!(true);
        free["historyLength"] = json!(0);
        assert_eq!(ids(&list(&w, binding, &free)), want[2..]);
        for other in [
            json!({"pageToken": token}),
            json!({"pageToken": token, "contextId": "other"}),
            json!({"pageToken": token, "contextId": context, "status": "TASK_STATE_COMPLETED"}),
            json!({"pageToken": token, "contextId": context, "statusTimestampAfter": "2020-01-01T00:00:00Z"}),
            json!({"pageToken": format!("{}x", token.as_str().unwrap()), "contextId": context}),
            json!({"pageToken": "0", "contextId": context}),
        ] {
            let fault = w.fault(binding, "ListTasks", &other);
            assert_eq!(
                (fault.reason.as_str(), fault.fields),
                ("INVALID_PARAMS", vec!["pageToken".to_string()]),
                "{other}"
            );
        }
        let fault = world.at("/a2a").fault(binding, "ListTasks", &asked(token.as_str().unwrap()));
        assert_eq!(fault.fields, ["pageToken"], "another list");
    }
}

#[test]
fn a_page_has_the_size_that_was_asked_for_and_a_bound() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for n in 0..3 {
        assert_eq!(state(&sent(&w, &format!("tck-complete-task-{n}"), "c")), "COMPLETED");
    }
    for binding in BOTH {
        for (size, got) in [(1, 1), (2, 2), (3, 3), (100, 3)] {
            let page = list(&w, binding, &json!({"pageSize": size}));
            assert_eq!((ids(&page).len(), &page["pageSize"]), (got, &json!(size)));
            assert_eq!(page["nextPageToken"] == "", got == 3, "{page}");
        }
        for size in [json!(0), json!(-1), json!(101), json!(5_000_000_000_u64), json!("x")] {
            let fault = w.fault(binding, "ListTasks", &json!({"pageSize": size}));
            assert_eq!(
                (fault.reason.as_str(), fault.fields),
                ("INVALID_PARAMS", vec!["pageSize".to_string()]),
                "{size}"
            );
        }
    }
    // In a query both spellings, flags as they are written in JSON.
    let page = w.good(HttpJson, "ListTasks", &json!({"page_size": 1, "include_artifacts": true}));
    assert_eq!((ids(&page).len(), page["tasks"][0]["artifacts"].is_array()), (1, true));
    assert_eq!(w.fault(HttpJson, "ListTasks", &json!({"includeArtifacts": "TRUE"})).fields, ["includeArtifacts"]);
}
