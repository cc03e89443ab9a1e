//! Messages over pipes: one JSON value a line.
//!
//! A line that is too long, and too many lines that are no messages, end the
//! connection and are remembered as the reason. Memory is bounded by one message.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use super::Seen;
use crate::error::Fault;
use crate::limits::{MESSAGE_BYTES_MAX, NESTING_MAX, NONSENSE_MAX};

/// What of a line that is no message is remembered, in characters.
const SAMPLE_MAX: usize = 120;

/// News that somebody here waits for; other news is not even read.
const NEWS: [&str; 2] = ["notifications/tools/list_changed", "notifications/subscriptions/acknowledged"];

/// The pipes of a program.
pub(crate) struct Pipes<R, W> {
    read: BufReader<R>,
    // Kept over calls: reading is dropped whenever there is something to send.
    line: Vec<u8>,
    nonsense: usize,
    write: Arc<Mutex<Option<W>>>,
    seen: Arc<Seen>,
}

impl<R: AsyncRead + Unpin, W> Pipes<R, W> {
    pub(crate) fn new(read: R, write: W, seen: Arc<Seen>) -> Self {
        let write = Arc::new(Mutex::new(Some(write)));
        Self { read: BufReader::new(read), line: Vec::new(), nonsense: 0, write, seen }
    }

    /// Reads on until a line is whole. `None` at the end, or when a line has none.
    async fn fill_line(&mut self) -> Option<()> {
        loop {
            let available = match self.read.fill_buf().await {
                Ok([]) | Err(_) => {
                    self.seen.broke(Fault::Closed);
                    return None;
                }
                Ok(available) => available,
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            if self.line.len() + taken > MESSAGE_BYTES_MAX {
                self.seen.broke(Fault::Oversized { max: MESSAGE_BYTES_MAX });
                return None;
            }
            self.line.extend_from_slice(available.get(..taken).unwrap_or_default());
            self.read.consume(taken);
            if end.is_some() {
                return Some(());
            }
        }
    }

    /// The message of a whole line; `None` for one nobody waits for.
    fn message(&mut self) -> Result<Option<RxJsonRpcMessage<RoleClient>>, Fault> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        if text.is_empty() || is_unread_news(text) {
            return Ok(None);
        }
        match serde_json::from_slice(text) {
            Ok(message) => Ok(Some(message)),
            // Somebody may wait for this very one, and it will not come any flatter.
            Err(_) if is_too_deep(text) => Err(Fault::Nested { max: NESTING_MAX }),
            Err(_) => {
                self.nonsense += 1;
                if self.nonsense <= NONSENSE_MAX {
                    return Ok(None);
                }
                let sample = String::from_utf8_lossy(text).chars().take(SAMPLE_MAX).collect();
                Err(Fault::Nonsense { lines: self.nonsense, sample })
            }
        }
    }
}

/// Whether a text opens more lists and objects within each other than are read.
fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'[' | b'{' if !is_quoted => depth += 1,
            b']' | b'}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > NESTING_MAX {
            return true;
        }
    }
    false
}

/// The part of a message that says what it is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    id: Option<IgnoredAny>,
}

fn is_unread_news(text: &[u8]) -> bool {
    serde_json::from_slice::<Head<'_>>(text).is_ok_and(|head| {
        head.id.is_none() && head.method.is_some_and(|method| !NEWS.contains(&method.as_ref()))
    })
}

impl<R, W> Transport<RoleClient> for Pipes<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            write.write_all(&line).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.fill_line().await?;
            match self.message() {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(fault) => {
                    self.seen.broke(fault);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.write.lock().await.take());
        Ok(())
    }
}
