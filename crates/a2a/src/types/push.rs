//! Push notification settings of a task.
//! Must not know whether an address may be called: that guard stands where connections are opened.

use serde::Serialize;
use serde_json::Value;

use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};

/// Where changes of a task are posted to. Also the params of CreateTaskPushNotificationConfig.
#[derive(Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPushNotificationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Set by the server if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Absent where the settings come inside of a SendMessage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub url: String,
    /// A secret of the receiver; not to be shown to anyone else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// How the notifications authenticate themselves: `Authorization: {scheme} {credentials}`.
#[derive(Clone, PartialEq, Eq, Default, Serialize)]
pub struct AuthenticationInfo {
    pub scheme: String,
    /// A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

// By hand, so that no log line shows a secret.
impl std::fmt::Debug for TaskPushNotificationConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskPushNotificationConfig")
            .field("tenant", &self.tenant)
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AuthenticationInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthenticationInfo").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

impl Decode for AuthenticationInfo {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(AuthenticationInfo { scheme: fields.require_text("scheme")?, credentials: fields.text("credentials")? })
    }
}

impl Decode for TaskPushNotificationConfig {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(TaskPushNotificationConfig {
            tenant: fields.text("tenant")?,
            id: fields.text("id")?,
            task_id: fields.text("taskId")?,
            url: fields.require_text("url")?,
            token: fields.text("token")?,
            authentication: fields.get("authentication")?,
        })
    }
}

/// Params of Get-, List- and DeleteTaskPushNotificationConfig(s).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfigParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub task_id: String,
    /// Required by Get and Delete, absent in List; whoever answers checks that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

impl Decode for PushConfigParams {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(PushConfigParams {
            tenant: fields.text("tenant")?,
            task_id: fields.require_text("taskId")?,
            id: fields.text("id")?,
            page_size: fields.get("pageSize")?,
            page_token: fields.text("pageToken")?,
        })
    }
}

/// The result of ListTaskPushNotificationConfigs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfigsResult {
    pub configs: Vec<TaskPushNotificationConfig>,
    /// Empty on the last page.
    pub next_page_token: String,
}

impl Decode for PushConfigsResult {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(PushConfigsResult {
            configs: fields.get("configs")?.unwrap_or_default(),
            next_page_token: fields.get("nextPageToken")?.unwrap_or_default(),
        })
    }
}

deserialize_by_decode!(AuthenticationInfo, TaskPushNotificationConfig, PushConfigParams, PushConfigsResult);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    fn check(input: Value, expected: Result<Value, &str>) {
        let got = from_value::<TaskPushNotificationConfig>(input.clone())
            .map(|config| to_value(config).unwrap())
            .map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    #[test]
    fn only_the_address_is_required() {
        let full = json!({"taskId": "t", "id": "i", "url": "https://a", "token": "x",
            "authentication": {"scheme": "Bearer", "credentials": "y"}});
        check(full.clone(), Ok(full));
        check(json!({"url": "https://a", "task_id": ""}), Ok(json!({"url": "https://a"})));
        check(json!({}), Err("url: is required"));
        check(json!({"url": "u", "authentication": {}}), Err("authentication.scheme: is required"));
    }

    #[test]
    fn a_list_of_settings_may_lack_what_is_empty() {
        let empty = json!({"configs": [], "nextPageToken": ""});
        assert_eq!(to_value(from_value::<PushConfigsResult>(json!({})).unwrap()).unwrap(), empty);
        let one = json!({"configs": [{"url": "u"}], "nextPageToken": "p"});
        assert_eq!(to_value(from_value::<PushConfigsResult>(one.clone()).unwrap()).unwrap(), one);
    }

    #[test]
    fn secrets_are_not_in_the_debug_form() {
        let config: TaskPushNotificationConfig = from_value(json!({"url": "u", "token": "sesame",
            "authentication": {"scheme": "Bearer", "credentials": "sesame"}}))
        .unwrap();
        assert!(!format!("{config:?} {:?}", config.authentication).contains("sesame"));
    }
}
