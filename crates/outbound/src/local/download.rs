//! An answer of the daemon that is too large to be held: its pieces, one after the other.
//! Must not know what they say.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;

use crate::LocalError;
use crate::http::root;

/// The longest that the daemon may take for the next piece.
const SILENCE: Duration = Duration::from_secs(60);

/// An answer that is being read.
#[derive(Debug)]
pub struct Download(Response);

impl Download {
    pub(crate) fn new(response: Response) -> Self {
        Download(response)
    }

    /// The next piece; `None` when it was whole.
    ///
    /// # Errors
    /// `Broken` when it was cut off or went silent.
    pub async fn next(&mut self) -> Result<Option<Bytes>, LocalError> {
        let silent = |_| LocalError::Broken(format!("the daemon was silent for {} s", SILENCE.as_secs()));
        let cut = |error| LocalError::Broken(format!("the answer was cut off: {}", root(&error)));
        tokio::time::timeout(SILENCE, self.0.chunk()).await.map_err(silent)?.map_err(cut)
    }
}
