//! Agent cards. Required fields are always printed; on reading, what a card says beyond the known
//! fields is kept, so that it is written back as it came.
//! Must not know how a card is found, cached, signed or checked; a signature is checked over the
//! bytes that came, not over these types.

use serde::Serialize;
use serde_json::Value;

use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};
use crate::types::Map;

/// What an agent says of itself. Reading needs only what a call needs, a name and a good interface,
/// for other agents' cards are often incomplete.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    pub name: String,
    pub description: String,
    /// The preferred one first; never empty on a card that was read.
    pub supported_interfaces: Vec<AgentInterface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Of the agent, not of A2A.
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    pub capabilities: AgentCapabilities,
    /// By name, as they came: each is a one-of that only an authenticating client reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_schemes: Option<Map>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<Value>,
    /// Media types.
    pub default_input_modes: Vec<String>,
    /// Media types.
    pub default_output_modes: Vec<String>,
    pub skills: Vec<AgentSkill>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map,
}

impl AgentCard {
    /// The first interface of this binding and version, in the card's order.
    pub fn interface(&self, binding: &str, version: &str) -> Option<&AgentInterface> {
        self.supported_interfaces
            .iter()
            .find(|interface| interface.protocol_binding == binding && interface.protocol_version == version)
    }

    /// A declared extension.
    pub fn extension(&self, uri: &str) -> Option<&AgentExtension> {
        self.capabilities.extensions.iter().find(|extension| extension.uri == uri)
    }
}

/// The binding over JSON-RPC.
pub const BINDING_JSONRPC: &str = "JSONRPC";
/// The binding over plain HTTP.
pub const BINDING_HTTP_JSON: &str = "HTTP+JSON";
/// The binding over gRPC.
pub const BINDING_GRPC: &str = "GRPC";

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// Absolute; `host:port` for gRPC.
    pub url: String,
    /// One of the `BINDING_…`, or a URI.
    pub protocol_binding: String,
    /// `1.0`
    pub protocol_version: String,
    /// To be copied into every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(flatten)]
    pub extra: Map,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AgentProvider {
    pub url: String,
    pub organization: String,
    #[serde(flatten)]
    pub extra: Map,
}

/// Absent and false differ in a card's signed form, so the flags keep their presence.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    #[serde(flatten)]
    pub extra: Map,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AgentExtension {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Some(true): a client that does not list the extension is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Map>,
    #[serde(flatten)]
    pub extra: Map,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Media types; empty = the card's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types; empty = the card's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<Value>,
    #[serde(flatten)]
    pub extra: Map,
}

impl Decode for AgentCard {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let card = AgentCard {
            name: fields.require_text("name")?,
            description: fields.get("description")?.unwrap_or_default(),
            supported_interfaces: fields.get("supportedInterfaces")?.unwrap_or_default(),
            provider: fields.get("provider")?,
            version: fields.get("version")?.unwrap_or_default(),
            documentation_url: fields.get("documentationUrl")?,
            capabilities: fields.get("capabilities")?.unwrap_or_default(),
            security_schemes: fields.get("securitySchemes")?,
            security_requirements: fields.get("securityRequirements")?.unwrap_or_default(),
            default_input_modes: fields.get("defaultInputModes")?.unwrap_or_default(),
            default_output_modes: fields.get("defaultOutputModes")?.unwrap_or_default(),
            skills: fields.get("skills")?.unwrap_or_default(),
            signatures: fields.get("signatures")?.unwrap_or_default(),
            icon_url: fields.get("iconUrl")?,
            extra: Map::new(),
        };
        if card.supported_interfaces.is_empty() {
            let problem = "must hold at least one interface (a card of A2A 0.3 has none)";
            return Err(fields.invalid("supportedInterfaces", problem));
        }
        let extra = fields.rest();
        Ok(AgentCard { extra, ..card })
    }
}

impl Decode for AgentInterface {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(AgentInterface {
            url: fields.require_text("url")?,
            protocol_binding: fields.require_text("protocolBinding")?,
            protocol_version: fields.require_text("protocolVersion")?,
            tenant: fields.text("tenant")?,
            extra: fields.rest(),
        })
    }
}

impl Decode for AgentProvider {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(AgentProvider {
            url: fields.get("url")?.unwrap_or_default(),
            organization: fields.get("organization")?.unwrap_or_default(),
            extra: fields.rest(),
        })
    }
}

impl Decode for AgentCapabilities {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(AgentCapabilities {
            streaming: fields.get("streaming")?,
            push_notifications: fields.get("pushNotifications")?,
            extended_agent_card: fields.get("extendedAgentCard")?,
            extensions: fields.get("extensions")?.unwrap_or_default(),
            extra: fields.rest(),
        })
    }
}

impl Decode for AgentExtension {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(AgentExtension {
            uri: fields.get("uri")?.unwrap_or_default(),
            description: fields.text("description")?,
            required: fields.get("required")?,
            params: fields.get("params")?,
            extra: fields.rest(),
        })
    }
}

impl Decode for AgentSkill {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(AgentSkill {
            id: fields.get("id")?.unwrap_or_default(),
            name: fields.get("name")?.unwrap_or_default(),
            description: fields.get("description")?.unwrap_or_default(),
            tags: fields.get("tags")?.unwrap_or_default(),
            examples: fields.get("examples")?.unwrap_or_default(),
            input_modes: fields.get("inputModes")?.unwrap_or_default(),
            output_modes: fields.get("outputModes")?.unwrap_or_default(),
            security_requirements: fields.get("securityRequirements")?.unwrap_or_default(),
            extra: fields.rest(),
        })
    }
}

deserialize_by_decode!(AgentCard, AgentInterface, AgentProvider, AgentCapabilities, AgentExtension, AgentSkill,);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    fn check(input: Value, expected: Result<Value, &str>) {
        let got = from_value::<AgentCard>(input.clone())
            .map(|card| to_value(card).unwrap())
            .map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    #[test]
    fn required_fields_are_always_printed() {
        assert_eq!(
            to_value(AgentCard::default()).unwrap(),
            json!({"name": "", "description": "", "supportedInterfaces": [], "version": "",
                "capabilities": {}, "defaultInputModes": [], "defaultOutputModes": [], "skills": []}),
        );
        assert_eq!(
            to_value(AgentSkill::default()).unwrap(),
            json!({"id": "", "name": "", "description": "", "tags": []}),
        );
    }

    fn full() -> Value {
        json!({
            "name": "laptop/fileware", "description": "d", "version": "1",
            "supportedInterfaces": [
                {"url": "http://a/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
                {"url": "http://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
                    "tenant": "t", "x-a": 1},
            ],
            "provider": {"url": "u", "organization": "o", "x-b": 2},
            "documentationUrl": "", "iconUrl": "i",
            "capabilities": {"streaming": true, "pushNotifications": false, "skillQuery": true,
                "extensions": [{"uri": "urn:x", "description": "d", "required": false,
                    "params": {"a": 1}, "x-c": 3}]},
            "securitySchemes": {"key": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
            "securityRequirements": [{"schemes": {"key": {"list": []}}}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "n", "description": "d", "tags": ["t"],
                "examples": ["e"], "inputModes": ["a/b"], "outputModes": ["a/b"],
                "securityRequirements": [{}], "x-d": 4}],
            "signatures": [{"protected": "p", "signature": "s"}],
            "futureField": {"deep": [1, null]},
        })
    }

    #[test]
    fn a_card_is_written_as_it_was_read_with_what_is_unknown() {
        check(full(), Ok(full()));
    }

    #[test]
    fn a_card_needs_a_name_and_an_interface_that_can_be_called() {
        let interface = json!({"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        check(json!({"supportedInterfaces": [interface]}), Err("name: is required"));
        let old = json!({"name": "n", "url": "http://a", "protocolVersion": "0.3.0"});
        check(old, Err("supportedInterfaces: must hold at least one interface (a card of A2A 0.3 has none)"));
        check(
            json!({"name": "n", "supportedInterfaces": [interface, {"url": "u"}]}),
            Err("supportedInterfaces[1].protocolBinding: is required"),
        );
        let card: AgentCard = from_value(json!({"name": "n", "supported_interfaces": [interface]})).unwrap();
        assert_eq!(card.supported_interfaces.len(), 1);
    }

    #[test]
    fn an_interface_is_chosen_in_the_cards_order() {
        let card: AgentCard = from_value(full()).unwrap();
        let chosen = card.interface(BINDING_JSONRPC, "1.0").unwrap();
        assert_eq!((chosen.url.as_str(), chosen.tenant.as_deref()), ("http://a", Some("t")));
        assert_eq!(card.interface(BINDING_JSONRPC, "0.3"), None);
        assert!(card.extension("urn:x").is_some());
        assert!(card.extension("urn:y").is_none());
    }
}
