//! What an agent offers by its card, asked before a call: what it does not offer is refused here in
//! the words that it would use itself.
//! Must not know how a call is sent.

use shrooms_a2a::shrooms::EXTENSION_URI;
use shrooms_a2a::{A2aError, AgentCard, ErrorCode, Method, Operation};

/// Whether the card offers an operation.
///
/// # Errors
/// The refusal that the agent's own answer would be.
pub(super) fn check(card: &AgentCard, operation: &Operation) -> Result<(), A2aError> {
    let capabilities = &card.capabilities;
    let refuse = |code, what: &str| Err(A2aError::new(code, format!("by its card, {} {what}", card.name)));
    let unsupported = |what| refuse(ErrorCode::UnsupportedOperation, what);
    let pushes = match operation {
        Operation::Push(..) => true,
        Operation::SendMessage(params) | Operation::SendStreamingMessage(params) => {
            params.configuration.task_push_notification_config.is_some()
        }
        _ => false,
    };
    if pushes && capabilities.push_notifications != Some(true) {
        return refuse(ErrorCode::PushNotificationNotSupported, "sends no push notifications");
    }
    match operation.method() {
        method if method.is_streaming() && capabilities.streaming != Some(true) => {
            unsupported("does not stream; send without a stream, and get the task")
        }
        Method::GetExtendedAgentCard if capabilities.extended_agent_card != Some(true) => {
            unsupported("has no extended card")
        }
        Method::AckTask if card.extension(EXTENSION_URI).is_none() => {
            unsupported("does not know the extension that AckTask belongs to")
        }
        _ => Ok(()),
    }
}

/// The extensions to ask for: what the caller wants, and what the card requires if the caller knows
/// it.
///
/// # Errors
/// The card requires one that the caller does not know.
pub(super) fn extensions(card: &AgentCard, wanted: &[String], known: &[String]) -> Result<Vec<String>, A2aError> {
    let mut asked = wanted.to_vec();
    for extension in card.capabilities.extensions.iter().filter(|extension| extension.required == Some(true)) {
        if asked.contains(&extension.uri) {
            continue;
        }
        if !known.contains(&extension.uri) {
            let uri: String = extension.uri.chars().filter(|c| !c.is_control()).take(URI_CHARS).collect();
            let message = format!("{} takes only callers that know the extension {uri}", card.name);
            return Err(A2aError::new(ErrorCode::ExtensionSupportRequired, message));
        }
        asked.push(extension.uri.clone());
    }
    Ok(asked)
}

/// Of a card's URI in an error: enough to know it by.
const URI_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    fn card(capabilities: Value) -> AgentCard {
        let interface = json!({"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        from_value(json!({"name": "n", "supportedInterfaces": [interface], "capabilities": capabilities})).unwrap()
    }

    #[track_caller]
    fn check(capabilities: Value, method: Method, configuration: Value, expected: Option<ErrorCode>) {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let params = json!({"id": "t", "message": message, "configuration": configuration});
        let operation = Operation::decode(method, Some(params)).unwrap();
        let got = super::check(&card(capabilities.clone()), &operation).map_err(|error| error.code);
        assert_eq!(got.err(), expected, "{} {capabilities}", method.name());
    }

    #[test]
    fn what_is_optional_is_asked_for_only_where_it_is_offered() {
        let ack = json!({"extensions": [{"uri": EXTENSION_URI}]});
        let push = ErrorCode::PushNotificationNotSupported;
        let other = ErrorCode::UnsupportedOperation;
        for method in Method::all() {
            let refused = match method {
                Method::SendMessage | Method::GetTask | Method::ListTasks | Method::CancelTask => None,
                method if method.is_push() => Some(push),
                _ => Some(other),
            };
            check(json!({}), method, json!({}), refused);
            let none = json!({"streaming": false, "pushNotifications": false, "extendedAgentCard": false});
            check(none, method, json!({}), refused);
            let mut all = json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": true});
            all["extensions"] = ack["extensions"].clone();
            check(all, method, json!({"taskPushNotificationConfig": {"url": "u"}}), None);
        }
    }

    #[test]
    fn settings_inside_of_a_message_need_the_capability_too() {
        let settings = json!({"taskPushNotificationConfig": {"url": "u"}});
        let refused = Some(ErrorCode::PushNotificationNotSupported);
        check(json!({"streaming": true}), Method::SendMessage, settings.clone(), refused);
        check(json!({"streaming": true}), Method::SendStreamingMessage, settings, refused);
    }

    #[test]
    fn a_required_extension_is_asked_for_only_if_it_is_known() {
        let card = card(json!({"extensions": [
            {"uri": "urn:must", "required": true},
            {"uri": "urn:may", "required": false},
            {"uri": "urn:unsaid"},
        ]}));
        let ask = |wanted: &[&str], known: &[&str]| {
            let own = |uris: &[&str]| uris.iter().map(|uri| (*uri).to_owned()).collect::<Vec<_>>();
            extensions(&card, &own(wanted), &own(known)).map_err(|error| error.code)
        };
        assert_eq!(ask(&[], &[]), Err(ErrorCode::ExtensionSupportRequired));
        assert_eq!(ask(&["urn:may"], &["urn:may"]), Err(ErrorCode::ExtensionSupportRequired));
        assert_eq!(ask(&[], &["urn:must", "urn:may"]), Ok(vec!["urn:must".into()]));
        assert_eq!(ask(&["urn:x"], &["urn:must"]), Ok(vec!["urn:x".into(), "urn:must".into()]));
        assert_eq!(ask(&["urn:must"], &[]), Ok(vec!["urn:must".into()]));
    }
}
