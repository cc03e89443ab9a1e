//! A stream that counts its bytes, and the clock that notices its silence.
//!
//! The clock runs beside the stream, not inside it: where the other side takes
//! nothing, nobody asks the stream for more, and a clock in it would stand still.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::dial::Stream;

/// When the bytes of an outbound connection last moved; `None` while there is no
/// connection whose silence counts. Clones are one clock.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<watch::Sender<Option<Instant>>>);

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Activity {
    /// From now on silence counts.
    pub(super) fn begin(&self) {
        self.0.send_replace(Some(Instant::now()));
    }

    /// Bytes moved. Nobody is woken: who waits looks again at the end of its wait.
    fn moved(&self) {
        self.0.send_if_modified(|last| {
            *last = last.map(|_| Instant::now());
            false
        });
    }

    fn end(&self) {
        self.0.send_replace(None);
    }

    /// Comes back once nothing has moved for so long.
    pub(super) async fn silent_for(&self, idle: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let last = *changes.borrow_and_update();
            match last {
                Some(last) if last.elapsed() >= idle => return,
                Some(last) => sleep_until(last + idle).await,
                // The sender is ours, so this cannot fail.
                None => drop(changes.changed().await),
            }
        }
    }
}

/// Fails when more bytes went through than were granted, in both directions
/// together, and tells the clock of every byte.
pub(super) struct Metered {
    stream: Box<dyn Stream>,
    bytes_left: u64,
    activity: Activity,
}

impl Metered {
    pub(super) fn new(stream: Box<dyn Stream>, bytes_max: u64, activity: Activity) -> Self {
        Self { stream, bytes_left: bytes_max, activity }
    }

    fn moved(&mut self, bytes: usize) -> io::Result<()> {
        self.activity.moved();
        let left = u64::try_from(bytes).ok().and_then(|bytes| self.bytes_left.checked_sub(bytes));
        self.bytes_left = left.ok_or(io::ErrorKind::QuotaExceeded)?;
        Ok(())
    }
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.activity.end();
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        Poll::Ready(self.moved(buf.filled().len().saturating_sub(before)))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        Poll::Ready(self.moved(written).map(|()| written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
