//! The one handler behind both bindings: an operation in, a reply out. Capabilities and required
//! extensions are checked before anything else, so that a refusal has no side effect.

use std::pin::Pin;

use futures_util::Stream;
use shrooms_a2a::{A2aError, ErrorCode, Method, Operation, StreamResponse};
use shrooms_core::desk::Request;
use shrooms_core::rights::Action;

use super::frame::Outcome;
use super::refusal::refused;
use super::scope::Scope;
use super::{cancel_task, get_task, list_tasks, send_message, stream};
use crate::app::Capabilities;

/// The events of a stream, until it ends.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<StreamResponse, A2aError>> + Send>>;
/// An answer that is still to come; the request is committed.
pub(super) type Coming = Pin<Box<dyn Future<Output = Result<Outcome, A2aError>> + Send>>;

/// What an operation is answered with.
pub(super) enum Reply {
    Now(Box<Outcome>),
    Later(Coming),
    Events(Events),
}

impl Reply {
    pub(super) fn now(outcome: Outcome) -> Reply {
        Reply::Now(Box::new(outcome))
    }
}

/// Carries an operation out. `extensions` are the URIs that the client wants.
pub(super) async fn answer(scope: Scope, operation: Operation, extensions: &[String]) -> Result<Reply, A2aError> {
    let capabilities = scope.app.config.capabilities();
    if let Some(uri) = capabilities.missing_extension(extensions) {
        return Err(A2aError::new(
            ErrorCode::ExtensionSupportRequired,
            format!("this agent requires the extension {uri}: list it in the header A2A-Extensions"),
        )
        .with("extension", uri));
    }
    offered(&capabilities, operation.method())?;
    allowed(&scope, operation.method()).await?;
    let scope = of_tenant(scope, operation.tenant())?;
    match operation {
        Operation::SendMessage(params) => send_message::answer(scope, params).await,
        Operation::SendStreamingMessage(params) => stream::send(scope, params).await,
        Operation::SubscribeToTask(params) => stream::subscribe(scope, params).await,
        Operation::GetTask(params) => get_task::answer(&scope, params).await.map(Reply::now),
        Operation::ListTasks(params) => list_tasks::answer(&scope, params).await.map(Reply::now),
        Operation::CancelTask(params) => cancel_task::answer(&scope, params).await.map(Reply::now),
        Operation::AckTask(params) => cancel_task::ack(&scope, params).await.map(Reply::now),
        // Refused above.
        Operation::GetExtendedAgentCard | Operation::Push(..) => {
            Err(A2aError::new(ErrorCode::InternalError, "this operation is offered and not there"))
        }
    }
}

/// Whether the caller may do this at all; what it may see of others' tasks is the scope's to say.
async fn allowed(scope: &Scope, method: Method) -> Result<(), A2aError> {
    let looks = matches!(method, Method::GetTask | Method::ListTasks | Method::SubscribeToTask);
    if scope.by.may(Action::Ask) || looks && scope.by.may(Action::Look) {
        return Ok(());
    }
    let what = method.name().to_string();
    let attempt = Request::Attempt { by: scope.by.clone(), action: Action::Ask, what };
    scope.app.engine.request(attempt).await.map_err(refused).map(drop)
}

/// Whether an operation is one that the card says is there.
fn offered(capabilities: &Capabilities, method: Method) -> Result<(), A2aError> {
    if method.is_streaming() && !capabilities.streaming {
        return Err(A2aError::new(
            ErrorCode::UnsupportedOperation,
            "streaming is not offered here (the card says so): use SendMessage, which waits, or GetTask",
        ));
    }
    if method.is_push() {
        return Err(A2aError::new(
            ErrorCode::PushNotificationNotSupported,
            "push notifications are not offered (the card says so): use SendMessage, which waits, SubscribeToTask or GetTask",
        ));
    }
    if method == Method::GetExtendedAgentCard {
        return Err(A2aError::new(
            ErrorCode::UnsupportedOperation,
            "there is no extended card: the public one has everything",
        ));
    }
    Ok(())
}

/// A tenant is a session, by its name: at the machine's address it chooses one, elsewhere it may not
/// be another.
fn of_tenant(scope: Scope, tenant: Option<&str>) -> Result<Scope, A2aError> {
    match (tenant, &scope.session) {
        (None, _) => Ok(scope),
        (Some(tenant), None) => Ok(Scope { session: Some(tenant.to_string()), ..scope }),
        (Some(tenant), Some(session)) if tenant == session => Ok(scope),
        (Some(_), Some(_)) => {
            Err(A2aError::invalid_params("tenant", "is not the session of this address: leave it out"))
        }
    }
}
