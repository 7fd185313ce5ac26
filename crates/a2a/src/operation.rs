//! One operation with its params, whichever binding it came by: what the server answers and what a
//! client asks. Here a method's name and a JSON tree become typed values.
//! Must not know the bindings' paths, headers or frames.

use serde_json::{Map, Value};

use crate::error::A2aError;
use crate::jsonrpc::decode_params;
use crate::method::Method;
use crate::types::{GetTaskParams, ListTasksParams, SendMessageParams, TaskIdParams};

/// An operation, ready to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    SendMessage(SendMessageParams),
    SendStreamingMessage(SendMessageParams),
    GetTask(GetTaskParams),
    ListTasks(ListTasksParams),
    CancelTask(TaskIdParams),
    SubscribeToTask(TaskIdParams),
    GetExtendedAgentCard,
    /// The extension's: the asker has the result.
    AckTask(TaskIdParams),
    /// One of the four about push notifications, with its params unread: an agent that does not push
    /// refuses them whatever they hold.
    Push(Method, Map<String, Value>),
}

impl Operation {
    /// Reads the params of a method; absent ones count as `{}`.
    ///
    /// # Errors
    /// InvalidParams with the path of the bad field.
    pub fn decode(method: Method, params: Option<Value>) -> Result<Operation, A2aError> {
        Ok(match method {
            Method::SendMessage => Operation::SendMessage(decode_params(params)?),
            Method::SendStreamingMessage => Operation::SendStreamingMessage(decode_params(params)?),
            Method::GetTask => Operation::GetTask(decode_params(params)?),
            Method::ListTasks => Operation::ListTasks(decode_params(params)?),
            Method::CancelTask => Operation::CancelTask(decode_params(params)?),
            Method::SubscribeToTask => Operation::SubscribeToTask(decode_params(params)?),
            Method::AckTask => Operation::AckTask(decode_params(params)?),
            // What stands in its params (a tenant at most) changes nothing.
            Method::GetExtendedAgentCard => {
                decode_params::<Map<String, Value>>(params)?;
                Operation::GetExtendedAgentCard
            }
            Method::CreateTaskPushNotificationConfig
            | Method::GetTaskPushNotificationConfig
            | Method::ListTaskPushNotificationConfigs
            | Method::DeleteTaskPushNotificationConfig => Operation::Push(method, decode_params(params)?),
        })
    }

    /// Its method.
    pub fn method(&self) -> Method {
        match self {
            Operation::SendMessage(_) => Method::SendMessage,
            Operation::SendStreamingMessage(_) => Method::SendStreamingMessage,
            Operation::GetTask(_) => Method::GetTask,
            Operation::ListTasks(_) => Method::ListTasks,
            Operation::CancelTask(_) => Method::CancelTask,
            Operation::SubscribeToTask(_) => Method::SubscribeToTask,
            Operation::GetExtendedAgentCard => Method::GetExtendedAgentCard,
            Operation::AckTask(_) => Method::AckTask,
            Operation::Push(method, _) => *method,
        }
    }

    /// The tenant that it names, if any.
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Operation::SendMessage(params) | Operation::SendStreamingMessage(params) => params.tenant.as_deref(),
            Operation::GetTask(params) => params.tenant.as_deref(),
            Operation::ListTasks(params) => params.tenant.as_deref(),
            Operation::CancelTask(params) | Operation::SubscribeToTask(params) | Operation::AckTask(params) => {
                params.tenant.as_deref()
            }
            Operation::GetExtendedAgentCard => None,
            Operation::Push(_, params) => params.get("tenant").and_then(Value::as_str).filter(|t| !t.is_empty()),
        }
    }
}

impl Operation {
    /// Its params as a client writes them, with the tenant of the interface that is called instead of
    /// the operation's own.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub fn params(&self, tenant: Option<&str>) -> Result<Map<String, Value>, serde_json::Error> {
        let value = match self {
            Operation::SendMessage(params) | Operation::SendStreamingMessage(params) => serde_json::to_value(params)?,
            Operation::GetTask(params) => serde_json::to_value(params)?,
            Operation::ListTasks(params) => serde_json::to_value(params)?,
            Operation::CancelTask(params) | Operation::SubscribeToTask(params) | Operation::AckTask(params) => {
                serde_json::to_value(params)?
            }
            Operation::GetExtendedAgentCard => Value::Null,
            Operation::Push(_, params) => Value::Object(params.clone()),
        };
        let mut params = match value {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        match tenant {
            Some(tenant) => params.insert("tenant".into(), Value::String(tenant.to_owned())),
            None => params.remove("tenant"),
        };
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_method_reads_its_params_and_gives_itself_back() {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        for method in Method::all() {
            let params = json!({"id": "t", "tenant": "w", "message": message});
            let operation = Operation::decode(method, Some(params)).unwrap();
            assert_eq!(operation.method(), method);
            let tenant = (method != Method::GetExtendedAgentCard).then_some("w");
            assert_eq!(operation.tenant(), tenant, "{}", method.name());
        }
    }

    #[test]
    fn a_client_writes_what_was_read_with_the_interfaces_tenant() {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        for method in Method::all() {
            let params = json!({"id": "t", "taskId": "t", "tenant": "claimed", "message": message});
            let operation = Operation::decode(method, Some(params)).unwrap();
            assert_eq!(operation.params(None).unwrap().get("tenant"), None);
            let written = operation.params(Some("w")).unwrap();
            assert_eq!(written.get("tenant"), Some(&json!("w")), "{}", method.name());
            let read = Operation::decode(method, Some(Value::Object(written.clone()))).unwrap();
            assert_eq!(read.params(Some("w")).unwrap(), written, "{}", method.name());
        }
    }

    #[test]
    fn params_that_are_needed_are_missed_by_name() {
        for (method, missed) in [
            (Method::SendMessage, Some("message: is required")),
            (Method::SendStreamingMessage, Some("message: is required")),
            (Method::GetTask, Some("id: is required")),
            (Method::ListTasks, None),
            (Method::CancelTask, Some("id: is required")),
            (Method::SubscribeToTask, Some("id: is required")),
            (Method::AckTask, Some("id: is required")),
            (Method::GetExtendedAgentCard, None),
            (Method::GetTaskPushNotificationConfig, None),
        ] {
            let got = Operation::decode(method, None).map_err(|error| error.message);
            assert_eq!(got.as_ref().err().map(String::as_str), missed, "{}", method.name());
            assert!(Operation::decode(method, Some(json!([]))).is_err(), "{}", method.name());
        }
    }
}
