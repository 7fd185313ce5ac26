//! Stdin, watched for its end: when the client has gone, nobody waits for a result any more.
//! Must not know what is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A reader that says when it has ended.
pub struct Watched<R> {
    inner: R,
    gone: CancellationToken,
}

impl<R> Watched<R> {
    /// `gone` is cancelled at the end of `inner`.
    pub fn new(inner: R, gone: CancellationToken) -> Self {
        Watched { inner, gone }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        let ended = match &read {
            Poll::Ready(Ok(())) => buf.filled().len() == before && buf.capacity() > before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if ended {
            self.gone.cancel();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn the_end_is_said_and_only_the_end() {
        let gone = CancellationToken::new();
        let mut reader = Watched::new(&b"two"[..], gone.clone());
        let mut three = [0; 3];
        reader.read_exact(&mut three).await.unwrap();
        assert!(!gone.is_cancelled());
        assert_eq!(reader.read(&mut three).await.unwrap(), 0);
        assert!(gone.is_cancelled());
    }
}
