//! One list of error kinds and one table of what each means outside: the exit code of the command
//! line, the HTTP status, the JSON-RPC code. Every error of every crate maps to one of these.

/// What kind of thing went wrong, from the point of view of whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The request itself is wrong: correct it and try again.
    User,
    /// The configuration is wrong: the owner has to change it.
    Config,
    /// Understood, and not allowed.
    Refused,
    /// No such thing, or none that this caller may see.
    NotFound,
    /// It does not fit the state that things are in.
    Conflict,
    /// Not now: a machine is away, a disk is full, a queue is full.
    Unavailable,
    /// Our fault.
    Internal,
}

impl Kind {
    /// Exit code of the command line.
    pub fn exit(self) -> u8 {
        1
    }

    /// HTTP status of the `/v1` API.
    pub fn http(self) -> u16 {
        match self {
            Kind::User | Kind::Config => 400,
            Kind::Refused => 403,
            Kind::NotFound => 404,
            Kind::Conflict => 409,
            Kind::Unavailable => 503,
            Kind::Internal => 500,
        }
    }

    /// The word in `problem+json` and logs.
    pub fn word(self) -> &'static str {
        match self {
            Kind::User => "bad-request",
            Kind::Config => "config",
            Kind::Refused => "refused",
            Kind::NotFound => "not-found",
            Kind::Conflict => "conflict",
            Kind::Unavailable => "unavailable",
            Kind::Internal => "internal",
        }
    }
}
