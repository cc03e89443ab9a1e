//! One HTTP/1 request and its answer on a connection of its own.
//!
//! No task is spawned: whoever waits for the answer, and then for its body, drives
//! the connection, so dropping either ends it.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::dial::Stream;

/// Most bytes of a response's head.
const HEAD_MAX: usize = 64 * 1024;

type Connection = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of an answer, with the connection it arrives on.
pub(crate) struct Driven {
    connection: Option<Connection>,
    body: Incoming,
}

/// Sends the request and waits for the head of the answer.
pub(crate) async fn send<B>(
    stream: Box<dyn Stream>,
    request: http::Request<B>,
) -> Result<http::Response<Driven>, hyper::Error>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(HEAD_MAX).handshake(TokioIo::new(stream)).await?;
    // What goes wrong on the connection is also told to the one who waits for the answer.
    let mut connection: Option<Connection> = Some(Box::pin(async move { drop(connection.await) }));
    let mut answer = std::pin::pin!(sender.send_request(request));
    let response = poll_fn(|cx| {
        drive(&mut connection, cx);
        answer.as_mut().poll(cx)
    })
    .await?;
    Ok(response.map(|body| Driven { connection, body }))
}

fn drive(connection: &mut Option<Connection>, cx: &mut Context<'_>) {
    if connection.as_mut().is_some_and(|running| running.as_mut().poll(cx).is_ready()) {
        *connection = None;
    }
}

impl Body for Driven {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        drive(&mut self.connection, cx);
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
