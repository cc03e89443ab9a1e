//! What our client costs over the wire: a call of a model server beside a bare connection
//! that sends the same bytes and reads the same answer, in turn, in one run.

use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bowline::core::event::Purpose;
use bowline::core::id::{RunId, SubtaskId};
use bowline::core::task::{Format, ModelChoice, Tariff};
use bowline::models::{Model, Request, Said, Watcher};
use bowline::remote::{Remote, Remotes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::Bench;
use crate::report::{Judged, Section, Target};
use crate::stopwatch::{median, now, range};

/// Messages of the conversation that is sent, and bytes of each.
const MESSAGES: usize = 20;
const MESSAGE_BYTES: usize = 1024;
/// Pieces of text of the answer that streams.
const TOKENS: usize = 200;
/// How long the server waits between the first piece and the others.
const PAUSE_MS: u64 = 5;

/// Measures whole calls and the first piece of streamed ones.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "A server on this machine; medians, ours and the bare connection in turn. The conversation has 20 KB.";
    let mut section = Section::new("Model servers", note);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        whole(bench, &mut section).await?;
        streamed(bench, &mut section).await
    })?;
    Ok(section)
}

async fn whole(bench: &Bench, section: &mut Section) -> Result<()> {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"Hello there"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7000,"completion_tokens":3}}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let address = serve(vec![answer]).await?;
    let model = model(address, Asked::Whole)?;
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..bench.fewer(400) {
        let begun = now();
        let read = plain(address, begun).await?;
        let _parsed: serde_json::Value = serde_json::from_str(read.body()?)?;
        bare.push(millis(begun));
        let begun = now();
        let seen = First::default();
        model.call(request(), &seen).await?;
        ours.push(millis(begun));
    }
    tell(section, "a whole call", (bare, ours));
    Ok(())
}

async fn streamed(bench: &Bench, section: &mut Section) -> Result<()> {
    let token =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"},\"finish_reason\":null}]}\n\n";
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let end =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let address = serve(vec![format!("{head}{token}"), format!("{}{end}", token.repeat(TOKENS))]).await?;
    let model = model(address, Asked::Streamed)?;
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..bench.fewer(400) {
        let begun = now();
        bare.push(plain(address, begun).await?.first_ms);
        let begun = now();
        let seen = First::default();
        model.call(request(), &seen).await?;
        ours.push(seen.after(begun).context("nothing was shown")?);
    }
    tell(section, "until the first piece is shown", (bare, ours));
    Ok(())
}

fn tell(section: &mut Section, what: &str, (bare, ours): (Vec<f64>, Vec<f64>)) {
    let more = median(ours.clone()) - median(bare.clone());
    section
        .tell(format!("{what}, bare connection"), format!("{:.2} ms {}", median(bare.clone()), range(&bare)));
    section.tell(format!("{what}, ours"), format!("{:.2} ms {}", median(ours.clone()), range(&ours)));
    let judged = Judged { value: more, target: Target::AtMost(1.0), unit: "ms" };
    section.judge(format!("{what}, more than a bare connection"), format!("{more:.2} ms"), judged);
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

enum Asked {
    Whole,
    Streamed,
}

fn model(address: std::net::SocketAddr, asked: Asked) -> Result<Remote> {
    let choice = ModelChoice {
        base_url: Some(format!("http://{address}/v1")),
        tariff: Tariff::Free,
        whole: matches!(asked, Asked::Whole),
        ..ModelChoice::of(Format::Openai, "m")
    };
    Ok(Remotes::default().model(&choice)?)
}

fn request() -> Request {
    let said = |number: usize| {
        let text = "x".repeat(MESSAGE_BYTES);
        if number.is_multiple_of(2) { Said::User(text) } else { Said::Assistant { text, calls: Vec::new() } }
    };
    Request {
        run: RunId::from_chance(b"benchmark-12"),
        step: 1,
        attempt: 1,
        purpose: Purpose::Act(SubtaskId::parse("main").unwrap_or_else(|_| unreachable!("a plain name"))),
        model: "it".to_owned(),
        messages: (0..MESSAGES).map(said).collect(),
        tools: std::sync::Arc::from([]),
        schema: None,
        output_tokens: 100,
        temperature: None,
        failed: Vec::new(),
        likelihood: false,
    }
}

/// When the first piece was shown.
#[derive(Default)]
struct First(Mutex<Option<Instant>>);

impl First {
    fn after(&self, begun: Instant) -> Option<f64> {
        let at = self.0.lock().ok()?.as_ref().copied()?;
        Some(at.duration_since(begun).as_secs_f64() * 1e3)
    }
}

impl Watcher for First {
    fn text(&self, _: &str) {
        if let Ok(mut at) = self.0.lock() {
            at.get_or_insert_with(now);
        }
    }
}

/// An answer as a bare connection sees it.
struct Plain {
    first_ms: f64,
    bytes: Vec<u8>,
}

impl Plain {
    fn body(&self) -> Result<&str> {
        let text = std::str::from_utf8(&self.bytes)?;
        Ok(text.split_once("\r\n\r\n").context("no head")?.1)
    }
}

/// Sends about what our client sends, and reads to the end.
async fn plain(address: std::net::SocketAddr, begun: Instant) -> Result<Plain> {
    let body = "y".repeat(MESSAGES * (MESSAGE_BYTES + 40));
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    let (mut bytes, mut buffer, mut first_ms) = (Vec::new(), vec![0; 64 * 1024], None);
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if first_ms.is_none() && bytes.windows(6).any(|part| part == b"data: ") {
            first_ms = Some(millis(begun));
        }
    }
    Ok(Plain { first_ms: first_ms.unwrap_or_else(|| millis(begun)), bytes })
}

/// A server that answers every request with these pieces.
async fn serve(pieces: Vec<String>) -> Result<std::net::SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever leaves early measures nothing.
            drop(answer(stream, &pieces).await);
        }
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream, pieces: &[String]) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            bail!("it left");
        }
        bytes.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")
                .map(str::trim)
                .and_then(|length| length.parse::<usize>().ok())
        });
        if length.is_some_and(|length| body.len() >= length) {
            break;
        }
    }
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(PAUSE_MS)).await;
        }
        stream.write_all(piece.as_bytes()).await?;
    }
    stream.shutdown().await?;
    Ok(())
}
