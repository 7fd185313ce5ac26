//! The params of the methods, as they come in and as a client sends them.
//! Must not know which tasks exist or what a caller may see.

use serde::Serialize;
use serde_json::Value;

use super::{Map, Message, Task, TaskState, Timestamp};
use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};

/// Tasks on a page if the caller names no size (specification 3.1.4).
pub const DEFAULT_PAGE_SIZE: u32 = 50;
/// The most tasks on a page (specification 3.1.4); asking for more is refused.
pub const MAX_PAGE_SIZE: u32 = 100;

/// Params of SendMessage and SendStreamingMessage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SendMessageParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub message: Message,
    #[serde(skip_serializing_if = "SendConfiguration::is_empty")]
    pub configuration: SendConfiguration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SendConfiguration {
    /// Media types that the caller can take; empty = any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
    /// The most messages of history in the answer; absent = no limit, 0 = no history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_immediately: Option<bool>,
    /// Of shrooms and of 0.3: the opposite of `return_immediately`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<bool>,
    /// Push settings as they came, unchecked: an agent that does not push refuses them whatever
    /// they hold. One that does decodes a [`super::TaskPushNotificationConfig`] from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_push_notification_config: Option<Value>,
}

impl SendConfiguration {
    fn is_empty(&self) -> bool {
        *self == SendConfiguration::default()
    }
}

impl SendMessageParams {
    /// Params with nothing but the message.
    pub fn of(message: Message) -> Self {
        SendMessageParams { tenant: None, message, configuration: SendConfiguration::default(), metadata: None }
    }

    /// Whether the caller waits until the task ends or is interrupted (specification 3.2.2: yes,
    /// unless it says otherwise). A contradiction of the two flags is refused on reading.
    pub fn waits(&self) -> bool {
        let configuration = &self.configuration;
        configuration.blocking != Some(false) && configuration.return_immediately != Some(true)
    }
}

impl Decode for SendConfiguration {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let push = match fields.take("taskPushNotificationConfig")? {
            Some(push) => Some(push),
            // The name before 1.0.0: dropping it silently would promise calls that never come.
            None => fields.take("pushNotificationConfig")?,
        };
        let configuration = SendConfiguration {
            accepted_output_modes: fields.get("acceptedOutputModes")?.unwrap_or_default(),
            history_length: fields.get("historyLength")?,
            return_immediately: fields.get("returnImmediately")?,
            blocking: fields.get("blocking")?,
            task_push_notification_config: push,
        };
        if configuration.blocking.is_some() && configuration.blocking == configuration.return_immediately {
            let problem = "contradicts returnImmediately; give only one of the two";
            return Err(fields.invalid("blocking", problem));
        }
        Ok(configuration)
    }
}

impl Decode for SendMessageParams {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let mut params = SendMessageParams {
            tenant: fields.text("tenant")?,
            message: fields.require("message")?,
            configuration: fields.get("configuration")?.unwrap_or_default(),
            metadata: fields.get("metadata")?,
        };
        // The original shrooms put them beside the message.
        if let Some(ids) = fields.get("referenceTaskIds")?
            && params.message.reference_task_ids.is_empty()
        {
            params.message.reference_task_ids = ids;
        }
        Ok(params)
    }
}

/// Params of GetTask.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskParams {
    pub id: String,
    /// The most messages of history in the answer; absent = no limit, 0 = no history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

impl From<&str> for GetTaskParams {
    /// Of this task, with all there is of it.
    fn from(id: &str) -> Self {
        GetTaskParams { id: id.to_owned(), ..GetTaskParams::default() }
    }
}

impl Decode for GetTaskParams {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(GetTaskParams {
            id: fields.require_text("id")?,
            history_length: fields.get("historyLength")?,
            tenant: fields.text("tenant")?,
        })
    }
}

/// Params of CancelTask, SubscribeToTask and AckTask.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TaskIdParams {
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
}

impl From<&str> for TaskIdParams {
    /// Of this task, with nothing said beside it.
    fn from(id: &str) -> Self {
        TaskIdParams { id: id.to_owned(), ..TaskIdParams::default() }
    }
}

impl Decode for TaskIdParams {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(TaskIdParams {
            id: fields.require_text("id")?,
            tenant: fields.text("tenant")?,
            metadata: fields.get("metadata")?,
        })
    }
}

/// Params of ListTasks; all of them narrow the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// 1 to [`MAX_PAGE_SIZE`]; absent = [`DEFAULT_PAGE_SIZE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    /// The most messages of history in each task; absent = no limit, 0 = no history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Tasks whose status is of this moment or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_timestamp_after: Option<Timestamp>,
    /// Absent = no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_artifacts: Option<bool>,
}

impl ListTasksParams {
    /// The page size that holds, in tasks.
    pub fn page_size(&self) -> u32 {
        self.page_size.unwrap_or(DEFAULT_PAGE_SIZE)
    }
}

impl Decode for ListTasksParams {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        // Unspecified is the proto's way to say nothing.
        let unspecified = |v: &Value| *v == "TASK_STATE_UNSPECIFIED" || *v == "" || *v == 0;
        let status = match fields.take("status")?.filter(|value| !unspecified(value)) {
            Some(value) => Some(TaskState::decode(value, &fields.at("status"))?),
            None => None,
        };
        let page_size: Option<u32> = fields.get("pageSize")?;
        if page_size.is_some_and(|size| !(1..=MAX_PAGE_SIZE).contains(&size)) {
            let problem = format!("must be from 1 to {MAX_PAGE_SIZE}");
            return Err(fields.invalid("pageSize", problem));
        }
        Ok(ListTasksParams {
            tenant: fields.text("tenant")?,
            context_id: fields.text("contextId")?,
            status,
            page_size,
            page_token: fields.text("pageToken")?,
            history_length: fields.get("historyLength")?,
            status_timestamp_after: fields.get("statusTimestampAfter")?,
            include_artifacts: fields.get("includeArtifacts")?,
        })
    }
}

/// The result of ListTasks. All four are always printed (specification 3.1.4). On reading they may
/// be missing: the original shrooms gives only `tasks`, and `null` for none.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResult {
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// The page size that was used, in tasks.
    pub page_size: u32,
    /// Tasks that match, on all pages.
    pub total_size: u32,
}

impl Decode for ListTasksResult {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(ListTasksResult {
            tasks: fields.get("tasks")?.unwrap_or_default(),
            next_page_token: fields.get("nextPageToken")?.unwrap_or_default(),
            page_size: fields.get("pageSize")?.unwrap_or_default(),
            total_size: fields.get("totalSize")?.unwrap_or_default(),
        })
    }
}

deserialize_by_decode!(
    SendConfiguration,
    SendMessageParams,
    GetTaskParams,
    TaskIdParams,
    ListTasksParams,
    ListTasksResult,
);

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{from_value, json, to_value};

    fn check<T: DeserializeOwned + Serialize>(input: Value, expected: Result<Value, &str>) {
        let got =
            from_value::<T>(input.clone()).map(|params| to_value(params).unwrap()).map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    fn send(configuration: Value) -> Value {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        json!({"message": message, "configuration": configuration})
    }

    #[test]
    fn a_caller_waits_unless_it_says_otherwise() {
        for (configuration, waits) in [
            (json!(null), true),
            (json!({}), true),
            (json!({"returnImmediately": false}), true),
            (json!({"returnImmediately": true}), false),
            (json!({"return_immediately": true}), false),
            (json!({"blocking": true}), true),
            (json!({"blocking": false}), false),
            (json!({"blocking": true, "returnImmediately": false}), true),
            (json!({"blocking": false, "returnImmediately": true}), false),
        ] {
            let params: SendMessageParams = from_value(send(configuration.clone())).unwrap();
            assert_eq!(params.waits(), waits, "{configuration}");
        }
        for both in [true, false] {
            check::<SendMessageParams>(
                send(json!({"blocking": both, "returnImmediately": both})),
                Err("configuration.blocking: contradicts returnImmediately; give only one of the two"),
            );
        }
    }

    #[test]
    fn a_send_is_written_back_without_empty_members() {
        let bare = send(json!({}))["message"].clone();
        check::<SendMessageParams>(send(json!({})), Ok(json!({"message": bare})));
        let full = send(json!({"acceptedOutputModes": ["text/plain"], "historyLength": 0,
            "returnImmediately": true, "taskPushNotificationConfig": {"url": "u"}}));
        check::<SendMessageParams>(full.clone(), Ok(full));
    }

    #[test]
    fn push_settings_are_seen_under_their_older_name_too() {
        for name in ["taskPushNotificationConfig", "task_push_notification_config", "pushNotificationConfig"] {
            let params: SendMessageParams = from_value(send(json!({name: {"odd": 1}}))).unwrap();
            assert_eq!(params.configuration.task_push_notification_config, Some(json!({"odd": 1})));
        }
    }

    #[test]
    fn a_refusal_has_the_path_from_the_params() {
        check::<SendMessageParams>(json!({}), Err("message: is required"));
        check::<SendMessageParams>(json!([]), Err("must be an object"));
        check::<SendMessageParams>(
            json!({"message": {"messageId": "m", "role": 1, "parts": [{"text": "a"}, {"text": "a", "url": "b"}]}}),
            Err("message.parts[1]: must have only one of text, raw, url or data"),
        );
        check::<SendMessageParams>(
            send(json!({"historyLength": -1})),
            Err("configuration.historyLength: must be a whole number from 0 to 2147483647"),
        );
    }

    #[test]
    fn reference_task_ids_are_read_from_either_place() {
        let mut input = send(json!({}));
        input["referenceTaskIds"] = json!(["a"]);
        let params: SendMessageParams = from_value(input.clone()).unwrap();
        assert_eq!(params.message.reference_task_ids, ["a"]);
        input["message"]["referenceTaskIds"] = json!(["b"]);
        let params: SendMessageParams = from_value(input).unwrap();
        assert_eq!(params.message.reference_task_ids, ["b"]);
    }

    #[test]
    fn task_params_need_an_id() {
        check::<GetTaskParams>(json!({"id": "t", "history_length": "2"}), Ok(json!({"id": "t", "historyLength": 2})));
        check::<GetTaskParams>(json!({"id": ""}), Err("id: must not be empty"));
        check::<TaskIdParams>(json!({"id": "t", "metadata": {"a": 1}}), Ok(json!({"id": "t", "metadata": {"a": 1}})));
        check::<TaskIdParams>(json!({}), Err("id: is required"));
    }

    #[test]
    fn a_list_is_narrowed_by_what_is_given() {
        check::<ListTasksParams>(json!({}), Ok(json!({})));
        check::<ListTasksParams>(json!({"status": 0, "contextId": "", "pageToken": ""}), Ok(json!({})));
        // As the query of the HTTP binding gives it: all text.
        check::<ListTasksParams>(
            json!({"contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": "10",
                "historyLength": "0", "includeArtifacts": "true", "pageToken": "p",
                "statusTimestampAfter": "2026-01-31T09:05:00Z"}),
            Ok(json!({"contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 10,
                "historyLength": 0, "includeArtifacts": true, "pageToken": "p",
                "statusTimestampAfter": "2026-01-31T09:05:00.000Z"})),
        );
        for size in [0, 101] {
            check::<ListTasksParams>(json!({"pageSize": size}), Err("pageSize: must be from 1 to 100"));
        }
        check::<ListTasksParams>(json!({"status": "busy"}), Err("status: must be a state such as TASK_STATE_WORKING"));
    }

    #[test]
    fn a_list_result_prints_all_four_and_reads_what_there_is() {
        let empty = json!({"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0});
        check::<ListTasksResult>(json!({"tasks": null}), Ok(empty.clone()));
        assert_eq!(to_value(ListTasksResult::default()).unwrap(), empty);
    }
}
