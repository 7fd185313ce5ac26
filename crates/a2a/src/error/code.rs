//! Every code that is answered, with its form on each binding, in one table.
//! A2A's nine as in specification 1.0.1, section 5.4 (1.0.0 had other HTTP and gRPC forms).
//! Must not know when a code is used.

/// Domain of A2A's and JSON-RPC's own reasons.
pub const A2A_DOMAIN: &str = "a2a-protocol.org";
/// Domain of the reasons that shrooms adds.
pub const SHROOMS_DOMAIN: &str = "shrooms-agent";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    InternalError,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    /// Too many tasks made by agents, from one device to one session.
    LoopGuard,
    /// The session takes no tasks from inside of cages.
    CagedAskersRefused,
    /// A fresh conversation was asked for and cannot be had.
    FreshImpossible,
    /// The caller lacks a right; the message names it.
    NotAllowed,
    /// Too many agents asked one another in a row.
    ChainTooDeep,
    /// The session is among those that wait for this task.
    ChainLoop,
    /// The task's deadline leaves no time.
    Deadline,
    /// The money for this is spent.
    Budget,
    /// The session's queue holds all that it may.
    QueueFull,
    /// The session or the machine is paused.
    Paused,
}

struct Row {
    code: ErrorCode,
    json_rpc: i32,
    http: u16,
    grpc: &'static str,
    reason: &'static str,
}

const fn row(code: ErrorCode, json_rpc: i32, http: u16, grpc: &'static str, reason: &'static str) -> Row {
    Row { code, json_rpc, http, grpc, reason }
}

const PRECONDITION: &str = "FAILED_PRECONDITION";
const ARGUMENT: &str = "INVALID_ARGUMENT";
const EXHAUSTED: &str = "RESOURCE_EXHAUSTED";
const DENIED: &str = "PERMISSION_DENIED";

#[rustfmt::skip]
const ROWS: [Row; 24] = {
    use ErrorCode::*;
    [
        row(ParseError, -32700, 400, ARGUMENT, "PARSE_ERROR"),
        row(InvalidRequest, -32600, 400, ARGUMENT, "INVALID_REQUEST"),
        row(MethodNotFound, -32601, 404, "UNIMPLEMENTED", "METHOD_NOT_FOUND"),
        row(InvalidParams, -32602, 400, ARGUMENT, "INVALID_PARAMS"),
        row(InternalError, -32603, 500, "INTERNAL", "INTERNAL_ERROR"),
        row(TaskNotFound, -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
        row(TaskNotCancelable, -32002, 400, PRECONDITION, "TASK_NOT_CANCELABLE"),
        row(PushNotificationNotSupported, -32003, 400, PRECONDITION, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        row(UnsupportedOperation, -32004, 400, PRECONDITION, "UNSUPPORTED_OPERATION"),
        row(ContentTypeNotSupported, -32005, 400, ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED"),
        row(InvalidAgentResponse, -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
        row(ExtendedAgentCardNotConfigured, -32007, 400, PRECONDITION, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
        row(ExtensionSupportRequired, -32008, 400, PRECONDITION, "EXTENSION_SUPPORT_REQUIRED"),
        row(VersionNotSupported, -32009, 400, PRECONDITION, "VERSION_NOT_SUPPORTED"),
        row(LoopGuard, -32050, 429, EXHAUSTED, "LOOP_GUARD"),
        row(CagedAskersRefused, -32051, 403, DENIED, "CAGED_ASKERS_REFUSED"),
        row(FreshImpossible, -32052, 400, PRECONDITION, "FRESH_IMPOSSIBLE"),
        row(NotAllowed, -32053, 403, DENIED, "NOT_ALLOWED"),
        row(ChainTooDeep, -32054, 400, PRECONDITION, "CHAIN_TOO_DEEP"),
        row(ChainLoop, -32055, 400, PRECONDITION, "CHAIN_LOOP"),
        row(Deadline, -32056, 400, PRECONDITION, "DEADLINE"),
        row(Budget, -32057, 400, PRECONDITION, "BUDGET"),
        row(QueueFull, -32058, 429, EXHAUSTED, "QUEUE_FULL"),
        row(Paused, -32059, 503, "UNAVAILABLE", "PAUSED"),
    ]
};

impl ErrorCode {
    /// All codes.
    pub fn all() -> impl Iterator<Item = ErrorCode> {
        ROWS.iter().map(|row| row.code)
    }

    fn row(self) -> &'static Row {
        const TABLE: &[Row; 24] = &ROWS;
        &TABLE[self as usize]
    }

    /// The number in a JSON-RPC error.
    pub fn json_rpc(self) -> i32 {
        self.row().json_rpc
    }

    /// The HTTP status of the HTTP+JSON binding. Over JSON-RPC the status stays 200.
    pub fn http_status(self) -> u16 {
        self.row().http
    }

    /// The name of the gRPC status; also in the body of the HTTP+JSON binding.
    pub fn grpc_status(self) -> &'static str {
        self.row().grpc
    }

    /// The reason in the ErrorInfo, unique in its domain.
    pub fn reason(self) -> &'static str {
        self.row().reason
    }

    /// The domain of the reason.
    pub fn domain(self) -> &'static str {
        if (-32059..=-32050).contains(&self.json_rpc()) { SHROOMS_DOMAIN } else { A2A_DOMAIN }
    }

    /// From the number in a JSON-RPC error.
    pub fn from_json_rpc(code: i64) -> Option<Self> {
        let row = ROWS.iter().find(|row| i64::from(row.json_rpc) == code)?;
        Some(row.code)
    }

    /// From the HTTP status of an agent's refusal that gave no reason, and the name of its gRPC
    /// status. `None` where the two leave several meanings open.
    pub fn from_http(status: u16, grpc_status: &str) -> Option<Self> {
        match (status, grpc_status) {
            (404, "UNIMPLEMENTED") => Some(ErrorCode::MethodNotFound),
            (404, _) => Some(ErrorCode::TaskNotFound),
            (400, "INVALID_ARGUMENT") => Some(ErrorCode::InvalidParams),
            // The table of 1.0.0 had these two.
            (409, _) => Some(ErrorCode::TaskNotCancelable),
            (415, _) => Some(ErrorCode::ContentTypeNotSupported),
            (500, _) => Some(ErrorCode::InternalError),
            (501, _) => Some(ErrorCode::UnsupportedOperation),
            _ => None,
        }
    }

    /// From an ErrorInfo's domain and reason.
    pub fn from_reason(domain: &str, reason: &str) -> Option<Self> {
        ErrorCode::all().find(|code| code.reason() == reason && code.domain() == domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum_and_reads_back() {
        for (index, code) in ErrorCode::all().enumerate() {
            assert_eq!(code as usize, index);
            assert_eq!(ErrorCode::from_json_rpc(code.json_rpc().into()), Some(code));
            assert_eq!(ErrorCode::from_reason(code.domain(), code.reason()), Some(code));
        }
    }

    #[test]
    fn every_http_status_fits_its_grpc_status() {
        for code in ErrorCode::all() {
            let expected = match code.grpc_status() {
                "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => 400,
                "PERMISSION_DENIED" => 403,
                "NOT_FOUND" | "UNIMPLEMENTED" => 404,
                "RESOURCE_EXHAUSTED" => 429,
                "INTERNAL" => 500,
                "UNAVAILABLE" => 503,
                other => panic!("{other}"),
            };
            assert_eq!(code.http_status(), expected, "{code:?}");
        }
    }

    #[test]
    fn what_is_not_ours_is_not_guessed() {
        assert_eq!(ErrorCode::from_json_rpc(-32060), None);
        assert_eq!(ErrorCode::from_reason(A2A_DOMAIN, "QUEUE_FULL"), None);
        assert_eq!(ErrorCode::from_reason("example.org", "TASK_NOT_FOUND"), None);
    }
}
