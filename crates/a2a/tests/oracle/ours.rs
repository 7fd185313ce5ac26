//! Values of ours, of every type that we write, as chance makes them. Only what both sides can say:
//! the rest is in `differences`.

use proptest::bool;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use shrooms_a2a::card::{
    AgentCapabilities, AgentExtension, AgentInterface, AgentProvider, AgentSkill, BINDING_GRPC, BINDING_HTTP_JSON,
    BINDING_JSONRPC,
};
use shrooms_a2a::jsonrpc::Id;
use shrooms_a2a::types::*;
use shrooms_a2a::{A2aError, AgentCard, ErrorCode};

/// Any characters at all: controls, marks that turn the direction, those beyond 16 bits.
pub fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..6).prop_map(String::from_iter)
}

/// For what may not be empty.
pub fn word() -> impl Strategy<Value = String> {
    vec(any::<char>(), 1..6).prop_map(String::from_iter)
}

pub fn json_value() -> impl Strategy<Value = Value> {
    let finite = any::<f64>().prop_filter("JSON has no other", |number| number.is_finite());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        finite.prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn map_of(size: std::ops::Range<usize>) -> impl Strategy<Value = Map> {
    btree_map(text(), json_value(), size).prop_map(Map::from_iter)
}

fn map() -> impl Strategy<Value = Map> {
    map_of(0..4)
}

/// What fits an `int32` of the proto and is not negative.
fn count() -> impl Strategy<Value = u32> {
    prop_oneof![0..3_u32, Just(i32::MAX.cast_unsigned()), 0..=i32::MAX.cast_unsigned()]
}

pub fn timestamp() -> impl Strategy<Value = Timestamp> {
    // All that four digits of a year can say.
    let ends = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"].map(|end| end.parse::<Timestamp>().unwrap());
    prop_oneof![select(ends.to_vec()), (ends[0].0..=ends[1].0).prop_map(Timestamp)]
}

pub fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        text().prop_map(PartContent::Text),
        vec(any::<u8>(), 0..20).prop_map(PartContent::Raw),
        text().prop_map(PartContent::Url),
        json_value().prop_map(PartContent::Data),
    ];
    (content, of(word()), of(word()), of(map_of(1..4))).prop_map(|(content, filename, media_type, metadata)| Part {
        content,
        filename,
        media_type,
        metadata,
    })
}

pub fn message() -> impl Strategy<Value = Message> {
    let ids = (word(), of(word()), of(word()), select(vec![Role::User, Role::Agent]));
    let rest = (vec(part(), 1..4), of(map()), vec(text(), 0..3), vec(text(), 0..3));
    (ids, rest).prop_map(
        |((message_id, context_id, task_id, role), (parts, metadata, extensions, reference_task_ids))| Message {
            message_id,
            context_id,
            task_id,
            role,
            parts,
            metadata,
            extensions,
            reference_task_ids,
        },
    )
}

fn state() -> impl Strategy<Value = TaskState> {
    select(TaskState::all().collect::<Vec<_>>())
}

pub fn status() -> impl Strategy<Value = TaskStatus> {
    (state(), of(message()), of(timestamp())).prop_map(|(state, message, timestamp)| TaskStatus {
        state,
        message,
        timestamp,
    })
}

pub fn artifact() -> impl Strategy<Value = Artifact> {
    (word(), of(word()), of(word()), vec(part(), 0..3), of(map()), vec(text(), 0..3)).prop_map(
        |(artifact_id, name, description, parts, metadata, extensions)| Artifact {
            artifact_id,
            name,
            description,
            parts,
            metadata,
            extensions,
        },
    )
}

/// With a context, as our agents always give it.
pub fn task() -> impl Strategy<Value = Task> {
    (word(), word(), status(), of(vec(artifact(), 0..3)), of(vec(message(), 0..3)), of(map())).prop_map(
        |(id, context_id, status, artifacts, history, metadata)| Task {
            id,
            context_id: Some(context_id),
            status,
            artifacts,
            history,
            metadata,
        },
    )
}

pub fn stream_response() -> impl Strategy<Value = StreamResponse> {
    let status_update = (word(), text(), status(), of(map())).prop_map(|(task_id, context_id, status, metadata)| {
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent { task_id, context_id, status, metadata })
    });
    let artifact_update = (word(), text(), artifact(), bool::ANY, bool::ANY, of(map())).prop_map(
        |(task_id, context_id, artifact, append, last_chunk, metadata)| {
            StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append,
                last_chunk,
                metadata,
            })
        },
    );
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(StreamResponse::Message),
        status_update,
        artifact_update,
    ]
}

pub fn send_response() -> impl Strategy<Value = SendMessageResponse> {
    prop_oneof![task().prop_map(SendMessageResponse::Task), message().prop_map(SendMessageResponse::Message)]
}

pub fn list_result() -> impl Strategy<Value = ListTasksResult> {
    (vec(task(), 0..3), text(), count(), count()).prop_map(|(tasks, next_page_token, page_size, total_size)| {
        ListTasksResult { tasks, next_page_token, page_size, total_size }
    })
}

pub fn push_config() -> impl Strategy<Value = TaskPushNotificationConfig> {
    let authentication =
        (word(), of(word())).prop_map(|(scheme, credentials)| AuthenticationInfo { scheme, credentials });
    (of(word()), of(word()), of(word()), word(), of(word()), of(authentication)).prop_map(
        |(tenant, id, task_id, url, token, authentication)| TaskPushNotificationConfig {
            tenant,
            id,
            task_id,
            url,
            token,
            authentication,
        },
    )
}

/// Without `blocking`, which only shrooms and 0.3 have.
fn configuration() -> impl Strategy<Value = SendConfiguration> {
    let push = push_config().prop_map(|config| serde_json::to_value(config).unwrap());
    (vec(text(), 0..3), of(count()), of(bool::ANY), of(push)).prop_map(
        |(accepted_output_modes, history_length, return_immediately, task_push_notification_config)| {
            SendConfiguration {
                accepted_output_modes,
                history_length,
                return_immediately,
                blocking: None,
                task_push_notification_config,
            }
        },
    )
}

pub fn send_params() -> impl Strategy<Value = SendMessageParams> {
    (of(word()), message(), configuration(), of(map())).prop_map(|(tenant, message, configuration, metadata)| {
        SendMessageParams { tenant, message, configuration, metadata }
    })
}

pub fn get_params() -> impl Strategy<Value = GetTaskParams> {
    (word(), of(count()), of(word())).prop_map(|(id, history_length, tenant)| GetTaskParams {
        id,
        history_length,
        tenant,
    })
}

pub fn task_id_params() -> impl Strategy<Value = TaskIdParams> {
    (word(), of(word()), of(map())).prop_map(|(id, tenant, metadata)| TaskIdParams { id, tenant, metadata })
}

pub fn list_params() -> impl Strategy<Value = ListTasksParams> {
    let narrow = (of(word()), of(word()), of(state()), of(1..=MAX_PAGE_SIZE));
    let rest = (of(word()), of(count()), of(timestamp()), of(bool::ANY));
    (narrow, rest).prop_map(
        |(
            (tenant, context_id, status, page_size),
            (page_token, history_length, status_timestamp_after, include_artifacts),
        )| ListTasksParams {
            tenant,
            context_id,
            status,
            page_size,
            page_token,
            history_length,
            status_timestamp_after,
            include_artifacts,
        },
    )
}

/// Of Get and Delete.
pub fn push_params() -> impl Strategy<Value = PushConfigParams> {
    (of(word()), word(), word()).prop_map(|(tenant, task_id, id)| PushConfigParams {
        tenant,
        task_id,
        id: Some(id),
        page_size: None,
        page_token: None,
    })
}

/// Of List.
pub fn push_list_params() -> impl Strategy<Value = PushConfigParams> {
    (of(word()), word(), of(count()), of(word())).prop_map(|(tenant, task_id, page_size, page_token)| {
        PushConfigParams { tenant, task_id, id: None, page_size, page_token }
    })
}

fn interface() -> impl Strategy<Value = AgentInterface> {
    let http = (select(vec![BINDING_JSONRPC, BINDING_HTTP_JSON, "https://example.org/own"]), word());
    let grpc = (Just(BINDING_GRPC), Just("laptop.home:8090".to_owned()));
    (prop_oneof![http, grpc], select(vec!["1.0", "0.3"]), of(word())).prop_map(
        |((binding, url), protocol_version, tenant)| AgentInterface {
            url,
            protocol_binding: binding.into(),
            protocol_version: protocol_version.into(),
            tenant,
            extra: Map::new(),
        },
    )
}

fn capabilities() -> impl Strategy<Value = AgentCapabilities> {
    let extension = (text(), of(word()), of(bool::ANY), of(map())).prop_map(|(uri, description, required, params)| {
        AgentExtension { uri, description, required, params, extra: Map::new() }
    });
    (of(bool::ANY), of(bool::ANY), of(bool::ANY), vec(extension, 0..3)).prop_map(
        |(streaming, push_notifications, extended_agent_card, extensions)| AgentCapabilities {
            streaming,
            push_notifications,
            extended_agent_card,
            extensions,
            extra: Map::new(),
        },
    )
}

fn requirements() -> impl Strategy<Value = Vec<Value>> {
    let schemes = btree_map(text(), vec(text(), 0..3), 0..3);
    let requirement = schemes.prop_map(|schemes| {
        let lists = schemes.into_iter().map(|(name, scopes)| (name, json!({"list": scopes})));
        json!({"schemes": Map::from_iter(lists)})
    });
    vec(requirement, 0..3)
}

fn skill() -> impl Strategy<Value = AgentSkill> {
    let words = (text(), text(), text(), vec(text(), 0..3));
    (words, vec(text(), 0..3), vec(text(), 0..3), vec(text(), 0..3), requirements()).prop_map(
        |((id, name, description, tags), examples, input_modes, output_modes, security_requirements)| AgentSkill {
            id,
            name,
            description,
            tags,
            examples,
            input_modes,
            output_modes,
            security_requirements,
            extra: Map::new(),
        },
    )
}

fn security_schemes() -> impl Strategy<Value = Map> {
    let flow = json!({"authorizationUrl": "a", "tokenUrl": "t", "scopes": {"s": "d"}, "pkceRequired": true});
    let kinds = vec![
        json!({"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}),
        json!({"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT", "description": "d"}}),
        json!({"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}, "oauth2MetadataUrl": "m"}}),
        json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "u"}}),
        json!({"mtlsSecurityScheme": {}}),
    ];
    btree_map(text(), select(kinds), 0..3).prop_map(Map::from_iter)
}

/// Without fields that only a later version knows.
pub fn card() -> impl Strategy<Value = AgentCard> {
    let provider =
        (text(), text()).prop_map(|(url, organization)| AgentProvider { url, organization, extra: Map::new() });
    let signature = (text(), text(), map()).prop_map(
        |(protected, signature, header)| json!({"protected": protected, "signature": signature, "header": header}),
    );
    let words = (word(), text(), text(), of(text()), of(text()));
    let lists = (vec(interface(), 1..4), vec(text(), 0..3), vec(text(), 0..3), vec(skill(), 0..3));
    let rest = (of(provider), capabilities(), of(security_schemes()), requirements(), vec(signature, 0..2));
    (words, lists, rest).prop_map(
        |(
            (name, description, version, documentation_url, icon_url),
            (supported_interfaces, default_input_modes, default_output_modes, skills),
            (provider, capabilities, security_schemes, security_requirements, signatures),
        )| AgentCard {
            name,
            description,
            supported_interfaces,
            provider,
            version,
            documentation_url,
            capabilities,
            security_schemes,
            security_requirements,
            default_input_modes,
            default_output_modes,
            skills,
            signatures,
            icon_url,
            extra: Map::new(),
        },
    )
}

/// Text, whole numbers of 64 bits, null.
pub fn id() -> impl Strategy<Value = Id> {
    prop_oneof![text().prop_map(|text| Id::from(text.as_str())), any::<i64>().prop_map(Id::from), Just(Id::Null),]
}

pub fn error() -> impl Strategy<Value = A2aError> {
    let codes = select(ErrorCode::all().collect::<Vec<_>>());
    let coded = (codes, word(), text(), text())
        .prop_map(|(code, message, key, value)| A2aError::new(code, message).with(&key, value));
    let field = (word(), word()).prop_map(|(field, problem)| A2aError::invalid_params(field, problem));
    prop_oneof![coded, field]
}
