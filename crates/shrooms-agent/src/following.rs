//! A stream of the daemon's that is read on over its restarts: no event is shown twice or left out.
//! Must not know what the events are.

use shrooms_outbound::LocalError;

use crate::context::Context;
use crate::report::Failure;
use crate::wait::Patience;

/// Shows every event from `path` on, which is given the id of the last one; ends with an error alone.
///
/// # Errors
/// There is no daemon at the start, none for too long later, or nothing more can be shown.
pub async fn follow(
    context: &Context,
    mut last: Option<String>,
    path: impl Fn(Option<&str>) -> Result<String, Failure>,
    show: impl Fn(&str) -> Result<(), Failure>,
) -> Result<std::convert::Infallible, Failure> {
    let mut patience = Patience::new();
    // Without a daemon at the start there is nothing to be patient for.
    let mut stream = context.client.events(&path(last.as_deref())?).await.map_err(|error| context.failure(error))?;
    loop {
        let mut error = match stream.next().await {
            Ok(Some(event)) => {
                patience.restore();
                show(&event.data)?;
                last = event.id.or(last);
                continue;
            }
            // It stops, perhaps only to start again.
            Ok(None) => LocalError::Broken("the daemon has ended the stream".into()),
            Err(error) => error,
        };
        stream = loop {
            patience.after(error).await.map_err(|error| context.failure(error))?;
            match context.client.events(&path(last.as_deref())?).await {
                Ok(stream) => break stream,
                Err(again) => error = again,
            }
        };
    }
}
