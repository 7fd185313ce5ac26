//! Telling the daemon something that has an id, until it is known that it has it.
//! Must not know what is told.

use serde::Serialize;
use serde_json::Value;
use shrooms_outbound::LocalError;

use crate::context::Context;
use crate::report::Failure;
use crate::wait::Patience;

/// Tells it again while it is not known whether it was taken: one id is one message.
///
/// # Errors
/// The daemon refused, is not there, or did not come back.
pub async fn tell(context: &Context, path: &str, body: &impl Serialize) -> Result<Value, Failure> {
    let mut patience = Patience::new();
    let mut unsure = false;
    loop {
        let error = match context.client.post(path, body).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        // A daemon that was not there from the start took nothing; one that went away may have.
        let again = matches!(error, LocalError::Broken(_)) || unsure && matches!(error, LocalError::NoDaemon { .. });
        if !again {
            return Err(context.failure(error));
        }
        unsure = true;
        patience.after(error).await.map_err(|error| {
            let failure = context.failure(error);
            Failure::new(format!("{failure}; whether it was taken is not known: task_status shows what you have asked"))
        })?;
    }
}
