//! JSON-RPC 2.0 as A2A uses it: one object for one call, params by name, every call answered.
//! `request` and `response` are the server's side, `client` the other one.
//! Must not know HTTP: bodies come and go as bytes, and sizes are bounded before they get here.

mod client;
mod id;
mod request;
mod response;

pub use client::{ResponseError, parse_response, request, task_result};
pub use id::{Id, Number};
pub use request::{Refused, Request, decode_params};
pub use response::{failure, success};

pub use crate::error::RemoteError;
