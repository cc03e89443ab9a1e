//! How fast a model file is on this machine: `cargo run --release -p bowline-local
//! --example speed -- FILE.gguf [THREADS]`.
//!
//! Prints load time, memory, and tokens per second for a prompt of 256 tokens and 64
//! tokens after it, five times; and one answer under a grammar through the whole model.

#![expect(clippy::print_stdout, reason = "an example speaks to its reader")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_core::event::Purpose;
use bowline_core::id::RunId;
use bowline_local::gguf::Gguf;
use bowline_local::{LocalModel, Network, Settings, Transformer};
use bowline_models::{Model as _, Request, Said, Unwatched};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("give the path of a GGUF file")?;
    let threads = args.next().map_or(Ok(2), |threads| threads.parse())?;
    bare(Path::new(&path), threads)?;
    whole(Path::new(&path), threads).await
}

#[expect(clippy::disallowed_methods, reason = "an example that measures time has no clock to be given")]
fn now() -> Instant {
    Instant::now()
}

/// The network alone.
fn bare(path: &Path, threads: usize) -> Result<(), Failure> {
    let begun = now();
    let model = Transformer::open(&mut Gguf::open(path)?, threads)?;
    println!("loaded in {:.2} s, {} MB of weights", begun.elapsed().as_secs_f64(), model.bytes() / 1_000_000);
    let prompt: Vec<u32> = (0..256).map(|at| 1_000 + at * 37 % 20_000).collect();
    for _ in 0..5 {
        let mut memory = model.remember();
        let begun = now();
        let mut scores = model.feed(&mut memory, &prompt)?;
        let read = begun.elapsed();
        let begun = now();
        for _ in 0..64 {
            let best = (0_u32..).zip(&scores).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(id, _)| id);
            scores = model.feed(&mut memory, &[best])?;
        }
        println!(
            "prompt {:6.1} tokens/s   decode {:6.1} tokens/s",
            rate(256, read),
            rate(64, begun.elapsed())
        );
    }
    println!("memory: {}", memory());
    Ok(())
}

/// The whole model: queue, template, grammar.
async fn whole(path: &Path, threads: usize) -> Result<(), Failure> {
    let begun = now();
    let mut settings = Settings::new(Arc::new(move || begun.elapsed()));
    settings.threads = threads;
    let model = LocalModel::open(path, settings)?;
    let words = "Extract number and total. Invoice 4711 of Miller Ltd: total 99.50 EUR, due on 3 May.";
    let request = Request {
        run: RunId::parse("speed")?,
        step: 1,
        attempt: 1,
        purpose: Purpose::Plan(1),
        model: "local".to_owned(),
        messages: [Said::User(words.to_owned())].into_iter().collect(),
        tools: Arc::from([]),
        schema: Some(json!({
            "type": "object",
            "properties": {"number": {"type": "string"}, "total": {"type": "number"}, "due": {"type": "string"}},
            "required": ["number", "total", "due"],
        })),
        output_tokens: 128,
        temperature: None,
        failed: Vec::new(),
        likelihood: false,
    };
    for _ in 0..2 {
        let answer = model.call(request.clone(), &Unwatched).await?;
        let speed = model.last_speed().unwrap_or_default();
        println!(
            "{} ({} + {} tokens read at {:.1}/s, {} written at {:.1}/s)",
            answer.text,
            speed.cached_tokens,
            speed.prompt_tokens,
            speed.prompt_per_second(),
            speed.output_tokens,
            speed.output_per_second()
        );
    }
    println!("memory: {}", memory());
    Ok(())
}

fn rate(tokens: u32, time: Duration) -> f64 {
    f64::from(tokens) / time.as_secs_f64()
}

/// What the kernel says about this process; nothing on other systems.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
