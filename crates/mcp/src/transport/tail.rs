//! The end of what a program complains about, in bounded memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::untrusted::escape_page;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

use crate::limits::COMPLAINT_BYTES_MAX;

/// Reads a stream to its end and keeps the last part. Dropping it stops reading.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reading: JoinHandle<()>,
}

impl Tail {
    /// Starts reading: a full pipe would stop the program.
    pub(crate) fn of(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let kept = Arc::<Mutex<VecDeque<u8>>>::default();
        let reading = tokio::spawn(fill(Arc::clone(&kept), stream));
        Self { kept, reading }
    }

    /// What was said last, as a person may see it.
    pub(crate) fn text(&self) -> String {
        let kept: Vec<u8> =
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        escape_page(String::from_utf8_lossy(&kept).trim())
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn fill(kept: Arc<Mutex<VecDeque<u8>>>, mut stream: impl AsyncRead + Unpin) {
    let mut buffer = vec![0_u8; 4096];
    // A stream that breaks is a stream that ends.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(buffer.get(..count).unwrap_or_default());
        let excess = kept.len().saturating_sub(COMPLAINT_BYTES_MAX);
        kept.drain(..excess);
    }
}
