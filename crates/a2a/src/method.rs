//! The operations by name, and the names that the 0.3 dialect had for them.
//! Must not know which of them an agent offers.

/// An operation of A2A 1.0, or the one that shrooms adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    SendMessage,
    SendStreamingMessage,
    GetTask,
    ListTasks,
    CancelTask,
    SubscribeToTask,
    CreateTaskPushNotificationConfig,
    GetTaskPushNotificationConfig,
    ListTaskPushNotificationConfigs,
    DeleteTaskPushNotificationConfig,
    GetExtendedAgentCard,
    /// Shrooms' extension: the asker says that it has the result.
    AckTask,
}

/// Method, its 1.0 name, its 0.3 name (specification 0.3, section 3.5.6).
const METHODS: [(Method, &str, Option<&str>); 12] = {
    use Method::*;
    [
        (SendMessage, "SendMessage", Some("message/send")),
        (SendStreamingMessage, "SendStreamingMessage", Some("message/stream")),
        (GetTask, "GetTask", Some("tasks/get")),
        (ListTasks, "ListTasks", Some("tasks/list")),
        (CancelTask, "CancelTask", Some("tasks/cancel")),
        (SubscribeToTask, "SubscribeToTask", Some("tasks/resubscribe")),
        (
            CreateTaskPushNotificationConfig,
            "CreateTaskPushNotificationConfig",
            Some("tasks/pushNotificationConfig/set"),
        ),
        (GetTaskPushNotificationConfig, "GetTaskPushNotificationConfig", Some("tasks/pushNotificationConfig/get")),
        (ListTaskPushNotificationConfigs, "ListTaskPushNotificationConfigs", Some("tasks/pushNotificationConfig/list")),
        (
            DeleteTaskPushNotificationConfig,
            "DeleteTaskPushNotificationConfig",
            Some("tasks/pushNotificationConfig/delete"),
        ),
        (GetExtendedAgentCard, "GetExtendedAgentCard", Some("agent/getAuthenticatedExtendedCard")),
        (AckTask, "AckTask", None),
    ]
};

impl Method {
    /// All methods.
    pub fn all() -> impl Iterator<Item = Method> {
        METHODS.iter().map(|row| row.0)
    }

    /// The 1.0 name: `SendMessage`.
    pub fn name(self) -> &'static str {
        METHODS[self as usize].1
    }

    /// From the 1.0 name; case counts.
    pub fn parse(name: &str) -> Option<Method> {
        METHODS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// From the name that the 0.3 dialect had for it: `message/send`.
    pub fn parse_v03(name: &str) -> Option<Method> {
        METHODS.iter().find(|row| row.2 == Some(name)).map(|row| row.0)
    }

    /// Whether it is answered by a stream of events.
    pub fn is_streaming(self) -> bool {
        matches!(self, Method::SendStreamingMessage | Method::SubscribeToTask)
    }

    /// Whether it is about push notification settings.
    pub fn is_push(self) -> bool {
        matches!(
            self,
            Method::CreateTaskPushNotificationConfig
                | Method::GetTaskPushNotificationConfig
                | Method::ListTaskPushNotificationConfigs
                | Method::DeleteTaskPushNotificationConfig
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum_and_reads_back() {
        for (index, (method, name, old)) in METHODS.into_iter().enumerate() {
            assert_eq!(method as usize, index);
            assert_eq!(method.name(), name);
            assert_eq!(Method::parse(name), Some(method));
            assert_eq!(Method::parse_v03(name), None);
            if let Some(old) = old {
                assert_eq!(Method::parse_v03(old), Some(method));
                assert_eq!(Method::parse(old), None);
            }
        }
        assert_eq!(Method::parse("sendMessage"), None);
        assert_eq!(Method::all().filter(|method| method.is_push()).count(), 4);
        assert_eq!(Method::all().filter(|method| method.is_streaming()).count(), 2);
    }
}
