//! The loop everything here measures: a model in this process that asks for one
//! tool call a round, and a tool that only answers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use bowline::core::budget::Price;
use bowline::core::id::{RunId, ToolName};
use bowline::core::message::{Stop, Usage};
use bowline::core::task::{self, Task};
use bowline::core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline::models::{Answer, Model, ModelError, OpenModelError, Request, Said, SaidCall, Watcher};
use bowline::store::{ListFilter, Role, RunStore, SqliteStore};
use bowline::tools::{CallContext, Tool, ToolOutput};
use bowline::{Engine, ModelSource};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::stopwatch;

/// How long anything may take that should take seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// The shape of a loop.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Rounds before the model is done.
    pub(crate) rounds: usize,
    /// Bytes of each reply and each tool output.
    pub(crate) bytes: usize,
    /// What the model does after the last round.
    pub(crate) last: Last,
}

/// What the model does after the last round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// Delivers.
    Done,
    /// Never answers.
    Stalls,
}

/// What was said and asked, over all runs.
#[derive(Default)]
pub(crate) struct Counts {
    /// Bytes of replies, arguments and outputs.
    pub(crate) payload: AtomicU64,
    /// Model calls that will never be answered.
    pub(crate) stalled: AtomicU64,
    /// When the first of them was made.
    pub(crate) first_stall: OnceLock<Instant>,
}

/// Letters and spaces that no two places share.
fn text(run: &RunId, place: u32, bytes: usize) -> String {
    let seed = run.as_str().bytes().chain(place.to_be_bytes());
    let mut state = seed
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        match u8::try_from(state % 31).unwrap_or_default() {
            small @ 0..26 => char::from(b'a' + small),
            _ => ' ',
        }
    };
    (0..bytes).map(|_| letter()).collect()
}

struct LoopModel {
    shape: Shape,
    counts: Arc<Counts>,
}

#[async_trait]
impl Model for LoopModel {
    async fn call(&self, request: Request, _watch: &dyn Watcher) -> Result<Answer, ModelError> {
        let done = request.messages.iter().filter(|said| matches!(said, Said::ToolResult { .. })).count();
        let usage = Usage { input: 1000, output: 50, ..Usage::default() };
        let finished = done >= self.shape.rounds;
        if finished && self.shape.last == Last::Stalls {
            self.counts.first_stall.get_or_init(stopwatch::now);
            self.counts.stalled.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        let text = text(&request.run, request.step * 2, self.shape.bytes);
        let calls = if finished {
            Vec::new()
        } else {
            vec![SaidCall {
                id: format!("call-{done}"),
                tool: "look".into(),
                args: format!("{{\"at\":{done}}}"),
            }]
        };
        let said = text.len() + calls.iter().map(|call| call.args.len()).sum::<usize>();
        self.counts.payload.fetch_add(said as u64, Ordering::Relaxed);
        let stop = if finished { Stop::End } else { Stop::ToolUse };
        Ok(Answer { stop, usage, micros: 0, text, calls, likelihood: None, claim: None })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    /// Nothing is left out: what is measured is the whole conversation.
    fn context_tokens(&self) -> Option<u64> {
        Some(1_000_000_000_000)
    }
}

struct OneModel(Arc<LoopModel>);

impl ModelSource for OneModel {
    fn open(&self, _task: &Task, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(self.0.clone())
    }
}

struct Look {
    spec: ToolSpec,
    bytes: usize,
    counts: Arc<Counts>,
}

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _args: Value, ctx: &CallContext) -> ToolOutput {
        self.counts.payload.fetch_add(self.bytes as u64, Ordering::Relaxed);
        ToolOutput::ok(text(&ctx.run, ctx.action.step * 2 + 1, self.bytes))
    }
}

/// A folder with a store and a workspace in it.
pub(crate) struct World {
    dir: PathBuf,
    /// What the model and the tool counted.
    pub(crate) counts: Arc<Counts>,
}

impl World {
    /// Makes the folder.
    pub(crate) fn new(dir: &Path) -> Result<Self> {
        std::fs::create_dir_all(dir.join("project"))
            .with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(Self { dir: dir.into(), counts: Arc::default() })
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the store is.
    pub(crate) fn store_dir(&self) -> PathBuf {
        self.dir.join("store")
    }

    /// Opens the store to work in it.
    pub(crate) fn open(&self) -> Result<SqliteStore> {
        Ok(SqliteStore::open(self.store_dir(), Role::Worker)?)
    }

    /// An engine that loops in this shape.
    pub(crate) fn engine(&self, store: Arc<dyn RunStore>, shape: Shape) -> Result<Engine> {
        let spec = ToolSpec {
            name: ToolName::parse("look")?,
            description: "Looks something up.".into(),
            schema: json!({ "type": "object", "required": ["at"], "properties": { "at": { "type": "integer" } } }),
            touch: Touch::Read,
            repeat: Repeat::Freely,
            consent: Consent::NotNeeded,
            probes: false,
            timeout_ms: 60_000,
            effect: None,
            needs: None,
            given: false,
            invocation: Default::default(),
            undo: None,
        };
        let model = LoopModel { shape, counts: self.counts.clone() };
        let tool = Look { spec, bytes: shape.bytes, counts: self.counts.clone() };
        let models = Arc::new(OneModel(Arc::new(model)));
        Ok(Engine::builder(store).models(models).tool(Arc::new(tool)).build())
    }

    /// The task: limits high enough for any shape, and `review` as given.
    pub(crate) fn task(&self, review: &str) -> Result<Task> {
        let raw = json!({
            "goal": "Look up everything there is and say what it comes to",
            "model": "bench:loop",
            "tools": ["look"],
            "review": review,
            "workspace": { "path": self.dir.join("project").display().to_string() },
            "limits": { "steps": 1_000_000, "tool_calls": 10_000_000, "tokens": 1_000_000_000_000_u64,
                        "context_tokens": "unlimited",
                        "active_seconds": 31_536_000, "model_seconds": 86_400 },
        });
        task::parse(&raw).context("the benchmark's own task is bad")
    }

    /// Submits so many runs, together.
    pub(crate) async fn submit(&self, engine: &Engine, runs: usize, review: &str) -> Result<()> {
        let mut submitting = JoinSet::new();
        for _ in 0..runs {
            let (engine, task) = (engine.clone(), self.task(review)?);
            submitting.spawn(async move { engine.submit(task, None).await });
        }
        while let Some(submitted) = submitting.join_next().await {
            submitted??;
        }
        Ok(())
    }

    /// Waits until so many model calls hang.
    pub(crate) async fn until_stalled(&self, calls: u64) -> Result<()> {
        let waiting = async {
            while self.counts.stalled.load(Ordering::Relaxed) < calls {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.context("the runs did not get that far")
    }

    /// Leaves runs behind as a crash does: owned, each with a model call open
    /// after `shape.rounds` rounds.
    pub(crate) fn crash(&self, runs: usize, shape: Shape) -> Result<()> {
        let shape = Shape { last: Last::Stalls, ..shape };
        let runtime = runtime()?;
        let crashed = runtime.block_on(async {
            let engine = self.engine(Arc::new(self.open()?), shape)?;
            self.submit(&engine, runs, "never").await?;
            let mut work = tokio::spawn(async move { engine.work_off(runs).await });
            tokio::select! {
                stopped = &mut work => bail!("the runs came to a stop: {:?}", stopped??),
                stalled = self.until_stalled(runs as u64) => stalled,
            }
        });
        // Drops every task where it stands, and the store with the last of them.
        drop(runtime);
        crashed
    }
}

/// As many threads as the machine has cores.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// How many records, and how many events, the runs of a store have.
pub(crate) async fn written(store: &dyn RunStore) -> Result<(u64, u64)> {
    let rows = store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await?;
    let mut records = 0;
    for row in &rows {
        records += store.records(&row.run, 1, usize::MAX).await?.len() as u64;
    }
    Ok((records, rows.iter().map(|row| row.next_seq - 1).sum()))
}
