//! A small HTTP server for tests: one play for each request, all written down.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What is done with a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Play {
    /// Answered in one piece.
    Json,
    /// Answered on a stream, after news.
    Stream,
    /// A stream that ends before the answer.
    BrokenStream,
    /// The connection is closed before an answer.
    HangUp,
    /// Nothing comes.
    Silent,
    /// A stream that drips comments and never answers.
    Drip,
    /// More than is taken.
    Huge,
    /// Text that is no message.
    Nonsense,
    /// Sent elsewhere, with this status.
    Redirect(u16, String),
    /// This status alone.
    Status(u16),
}

/// How the server opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Age {
    Newest,
    /// With a session, and 400 for what it does not know.
    Older,
}

/// The server. Dropping it ends it.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
    _serving: JoinSet<()>,
}

struct State {
    age: Age,
    plays: Mutex<Vec<Play>>,
    requests: Mutex<Vec<(String, Value)>>,
    sessions: Mutex<u32>,
}

impl Web {
    pub(crate) async fn start(age: Age, plays: Vec<Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            age,
            plays: Mutex::new(plays),
            requests: Mutex::default(),
            sessions: Mutex::default(),
        });
        let (mut serving, shared) = (JoinSet::new(), Arc::clone(&state));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                connections.spawn(async move { drop(state.serve(stream).await) });
            }
        });
        Self { address, state, _serving: serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Forgets every session.
    pub(crate) fn restart(&self) {
        *self.state.sessions.lock().unwrap() += 1;
    }

    /// Heads and bodies of the requests with this method.
    pub(crate) fn requests(&self, method: &str) -> Vec<(String, Value)> {
        let all = self.state.requests.lock().unwrap();
        all.iter().filter(|(_, body)| body["method"] == method).cloned().collect()
    }
}

impl State {
    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let (head, body) = read(&mut stream).await?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        self.requests.lock().unwrap().push((head.to_ascii_lowercase(), body.clone()));
        let id = body["id"].clone();
        let session = format!("mcp-session-id: s{}\r\n", self.sessions.lock().unwrap());
        if !head.starts_with("POST") {
            return reply(&mut stream, 405, "", "", "").await;
        }
        let is_old = self.age == Age::Older;
        if is_old && body["method"] != "initialize" && !head.to_ascii_lowercase().contains(session.trim_end())
        {
            let known = head.to_ascii_lowercase().contains("mcp-session-id");
            return reply(&mut stream, if known { 404 } else { 400 }, "", "text/plain", "who are you?").await;
        }
        let capabilities = json!({"tools": {}});
        let result = match body["method"].as_str().unwrap_or_default() {
            "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "ttlMs": 0, "cacheScope": "private", "capabilities": capabilities}),
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
                "serverInfo": {"name": "web", "version": "1"}}),
            "tools/list" => {
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools()})
            }
            "tools/call" => return self.call(&mut stream, &id).await,
            _ => return reply(&mut stream, 202, "", "", "").await,
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        reply(&mut stream, 200, if is_old { &session } else { "" }, "application/json", &answer).await
    }

    async fn call(&self, stream: &mut TcpStream, id: &Value) -> std::io::Result<()> {
        let play = {
            let mut plays = self.plays.lock().unwrap();
            if plays.is_empty() { Play::Json } else { plays.remove(0) }
        };
        let text =
            |text: &str| json!({"resultType": "complete", "content": [{"type": "text", "text": text}]});
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        let news = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\r\n\r\n";
        match play {
            Play::Json => reply(stream, 200, "", "application/json", &answer(text("done"))).await,
            Play::Stream => {
                let events = format!("{news}data: {}\r\n\r\n", answer(text("streamed")));
                reply(stream, 200, "", "text/event-stream", &events).await
            }
            Play::BrokenStream => reply(stream, 200, "", "text/event-stream", news).await,
            Play::HangUp => Ok(()),
            Play::Silent => std::future::pending().await,
            Play::Drip => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
                stream.write_all(head.as_bytes()).await?;
                loop {
                    stream.write_all(b": still here\n").await?;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            Play::Huge => {
                let huge = "x".repeat(9 * 1024 * 1024);
                reply(stream, 200, "", "application/json", &answer(text(&huge))).await
            }
            Play::Nonsense => reply(stream, 200, "", "application/json", "<html>hello</html>").await,
            Play::Redirect(status, place) => {
                reply(stream, status, &format!("location: {place}\r\n"), "", "").await
            }
            Play::Status(status) => reply(stream, status, "", "text/plain", "no\u{1b}[2J").await,
        }
    }
}

fn tools() -> Value {
    let schema = json!({"type": "object"});
    json!([
        {"name": "pay", "description": "Pays.", "inputSchema": schema},
        {"name": "look", "description": "Looks.", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
    ])
}

async fn read(stream: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body).await?;
    Ok((head, body))
}

async fn reply(
    stream: &mut TcpStream,
    status: u16,
    headers: &str,
    kind: &str,
    body: &str,
) -> std::io::Result<()> {
    let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}{kind}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
