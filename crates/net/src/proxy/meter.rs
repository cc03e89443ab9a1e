//! A stream that counts its bytes and notices silence.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::dial::Stream;

/// Fails when more bytes went through than were granted, in both directions
/// together, or when neither direction moved for too long.
pub(super) struct Metered {
    stream: Box<dyn Stream>,
    bytes_left: u64,
    idle: Duration,
    silence: Pin<Box<Sleep>>,
}

impl Metered {
    pub(super) fn new(stream: Box<dyn Stream>, bytes_max: u64, idle: Duration) -> Self {
        Self { stream, bytes_left: bytes_max, idle, silence: Box::pin(sleep(idle)) }
    }

    fn moved(&mut self, bytes: usize) -> io::Result<()> {
        self.silence.as_mut().reset(Instant::now() + self.idle);
        let left = u64::try_from(bytes).ok().and_then(|bytes| self.bytes_left.checked_sub(bytes));
        self.bytes_left = left.ok_or(io::ErrorKind::QuotaExceeded)?;
        Ok(())
    }

    /// The outcome of a poll, unless it has been silent for too long.
    fn or_silence<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_pending() {
            ready!(self.silence.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        polled
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        ready!(self.or_silence(cx, polled))?;
        Poll::Ready(self.moved(buf.filled().len().saturating_sub(before)))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        let written = ready!(self.or_silence(cx, polled))?;
        Poll::Ready(self.moved(written).map(|()| written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.or_silence(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
