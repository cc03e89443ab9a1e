//! What of a server's messages gets through: answers always, its questions a few
//! at a time, of its news only that its tools changed.
//!
//! The loop behind starts a task for everything it is handed, so whatever a
//! server can send without end must be bounded before it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::Seen;
use crate::limits::QUESTIONS_MAX;

/// A transport with a screen before it.
pub(crate) struct Screen<T> {
    inner: T,
    seen: Arc<Seen>,
    acknowledged: bool,
}

impl<T> Screen<T> {
    pub(crate) fn new(inner: T, seen: Arc<Seen>) -> Self {
        Self { inner, seen, acknowledged: false }
    }

    fn lets_through(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
            JsonRpcMessage::Request(_) => {
                let open = self.seen.questions.fetch_add(1, Ordering::AcqRel);
                if open >= QUESTIONS_MAX {
                    self.seen.questions.fetch_sub(1, Ordering::AcqRel);
                }
                open < QUESTIONS_MAX
            }
            JsonRpcMessage::Notification(news) => match &news.notification {
                ServerNotification::ToolListChangedNotification(_) => {
                    self.seen.list_changed();
                    false
                }
                // We listen to one stream of news; what it begins with is waited for.
                ServerNotification::SubscriptionsAcknowledgedNotification(_) => {
                    !std::mem::replace(&mut self.acknowledged, true)
                }
                _ => false,
            },
        }
    }
}

/// Counts a question as answered, whatever becomes of the answer.
struct Answered(Arc<Seen>);

impl Drop for Answered {
    fn drop(&mut self) {
        self.0.questions.fetch_sub(1, Ordering::AcqRel);
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Screen<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && matches!(request.request, rmcp::model::ClientRequest::SubscriptionsListenRequest(_))
        {
            self.acknowledged = false;
        }
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let answered = is_answer.then(|| Answered(Arc::clone(&self.seen)));
        let sending = self.inner.send(item);
        async move {
            let _answered = answered;
            sending.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            if self.lets_through(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
