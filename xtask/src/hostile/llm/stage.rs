//! The whole engine against a server that plays a line, on a clock that is wound forward.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use bowline::models::{Model, OpenModelError};
use bowline::remote::{Key, Keys, Remotes};
use bowline::store::{MemoryStore, RunStore};
use bowline::tools::{BadSecret, CallContext, Tool, ToolOutput};
use bowline::{Clock, Engine, ModelSource, Patience, history};
use bowline_core::event::{Ending, Event};
use bowline_core::id::{Millis, RunId, ToolName};
use bowline_core::message::Payload;
use bowline_core::task::{self, Task};
use bowline_core::tool::{Consent, Invocation, Repeat, ToolSpec, Touch};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::form::{Line, Protocol, Results, ToolSetup};
use super::server::{Asked, HOST, Server};

/// The key of every model, which must never be seen.
pub(crate) const KEY: &str = "sk-hostile-0123456789";

/// Longer than any run takes; a run that is not over by then hangs.
const HANGS: Duration = Duration::from_secs(6 * 60 * 60);

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Why the task was not accepted.
    pub(crate) refused: Option<String>,
    pub(crate) ending: Option<Ending>,
    /// The ending as the journal says it, read again.
    pub(crate) read_back: Option<Ending>,
    pub(crate) events: Vec<Event>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) other_hosts: u64,
    /// What people saw while it ran.
    pub(crate) shown: String,
    /// The step and the arguments of every run of a tool.
    pub(crate) ran: Vec<(u32, Value)>,
    /// Everything that was kept of the run.
    pub(crate) kept: String,
    /// What was committed.
    pub(crate) output: String,
    /// The longest text of a reply.
    pub(crate) longest: u64,
    pub(crate) spent_micros: u64,
    pub(crate) seconds: u64,
    pub(crate) memory_mb: u64,
}

/// Plays a line to its end.
pub(crate) fn play(line: &Arc<Line>, streaming: bool) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let before = memory(true);
    let mut outcome = runtime.block_on(played(line, streaming))?;
    outcome.memory_mb = memory(false).saturating_sub(before) >> 20;
    Ok(outcome)
}

async fn played(line: &Arc<Line>, streaming: bool) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let task = written(line, streaming, &folder.path().display().to_string())?;
    let home = tempfile::tempdir()?;
    let store: Arc<dyn RunStore> = Arc::new(MemoryStore::default());
    let server = Server::new(Arc::clone(line));
    let ran = Arc::new(Mutex::new(Vec::new()));
    let tools: Vec<Arc<Fake>> =
        tools(line).into_iter().map(|tool| Fake::new(tool, &ran)).collect::<Result<_>>()?;
    let clock = Arc::new(Wound(tokio::time::Instant::now()));
    let engine = || {
        let remotes = Remotes::default().with_keys(Arc::new(OneKey)).over(server.network());
        let builder = Engine::builder(store.clone())
            .home(home.path())
            .models(Arc::new(Served(remotes)))
            .clock(clock.clone())
            .patience(Patience::LeaveWhenWaiting);
        tools.iter().fold(builder, |builder, tool| builder.tool(tool.clone())).build()
    };
    let mut outcome = Outcome::default();
    let id = match engine().submit(task, None).await {
        Ok(submitted) => submitted.run().clone(),
        Err(error) => {
            outcome.refused = Some(format!("{error}; {}", error.remedy()));
            return Ok(outcome);
        }
    };
    if let Some(crash) = line.setup.crash {
        let dies = engine();
        tokio::select! {
            biased;
            () = server.reached(crash.during_request) => {}
            ended = tokio::time::timeout(HANGS, dies.run(&id)) => {
                ended.context("it hangs")?.map_err(|error| anyhow::anyhow!("{error}"))?;
                anyhow::bail!("it was over before request {}", crash.during_request);
            }
        }
        // The claim of the dead process runs out.
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    let begun = tokio::time::Instant::now();
    let worker = engine();
    let shown = watch(&worker);
    let done = tokio::time::timeout(HANGS, worker.run(&id)).await.context("it hangs")?;
    done.map_err(|error| anyhow::anyhow!("the engine gave up: {error}"))?;
    outcome.seconds = begun.elapsed().as_secs();
    // What was shown last is heard before it is looked at.
    tokio::time::sleep(Duration::from_millis(1)).await;
    drop(worker);
    outcome.shown.clone_from(&shown.lock().unwrap_or_else(PoisonError::into_inner));
    read(&mut outcome, store.as_ref(), &id).await?;
    (outcome.asked, outcome.other_hosts) = (server.asked(), server.strangers());
    outcome.ran.clone_from(&ran.lock().unwrap_or_else(PoisonError::into_inner));
    for file in walk(home.path())? {
        outcome.kept.push_str(&String::from_utf8_lossy(&std::fs::read(file)?));
    }
    Ok(outcome)
}

async fn read(outcome: &mut Outcome, store: &dyn RunStore, id: &RunId) -> Result<()> {
    let events = history(store, id, 1, u64::MAX).await?;
    outcome.events = events.into_iter().map(|(_, _, event)| event).collect();
    outcome.kept.push_str(&serde_json::to_string(&outcome.events)?);
    let folded = bowline::fold(store, id, u64::MAX).await?;
    outcome.ending = folded.run.ending().cloned();
    outcome.spent_micros = folded.run.spend.settled.micros;
    outcome.read_back = outcome.events.iter().rev().find_map(|event| match event {
        Event::Ended { ending, .. } => Some(ending.clone()),
        _ => None,
    });
    let replies = outcome.events.iter().filter_map(|event| match event {
        Event::StepFinished { text, .. } => Some(text.clone()),
        _ => None,
    });
    for reply in replies.collect::<Vec<_>>() {
        outcome.longest = outcome.longest.max(reply.len());
        outcome.kept.push_str(&text(store, &reply).await?);
    }
    if let Some(Ending::Committed { output, .. }) = outcome.ending.clone() {
        for payload in &output {
            outcome.output.push_str(&text(store, payload).await?);
        }
    }
    Ok(())
}

async fn text(store: &dyn RunStore, payload: &Payload) -> Result<String> {
    Ok(match payload {
        Payload::Inline(text) => text.to_string(),
        Payload::Stored { sha256, .. } => String::from_utf8_lossy(&store.blob(*sha256).await?).into_owned(),
    })
}

fn walk(folder: &std::path::Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(walk(&path)?) } else { files.push(path) }
    }
    Ok(files)
}

/// What people are shown, as it comes.
fn watch(engine: &Engine) -> Arc<Mutex<String>> {
    let (shown, mut observed) = (Arc::new(Mutex::new(String::new())), engine.watch());
    let into = Arc::clone(&shown);
    tokio::spawn(async move {
        loop {
            match observed.recv().await {
                Ok(observation) => {
                    if let bowline::Seen::Words { text, .. } = observation.seen {
                        into.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
                    }
                }
                // Whoever is slow loses the oldest; the checks look at short ones.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
    shown
}

fn tools(line: &Line) -> Vec<ToolSetup> {
    let note = || vec![ToolSetup { name: "note".to_owned(), result: Results::One("noted".to_owned()) }];
    line.setup.tools.clone().unwrap_or_else(note)
}

fn written(line: &Line, streaming: bool, workspace: &str) -> Result<Task> {
    let format = match line.protocol {
        Protocol::OpenaiChat => "openai",
        Protocol::AnthropicMessages => "anthropic",
    };
    let mut table = json!({
        "format": format, "name": "m", "base_url": format!("http://{HOST}/v1"),
        "key_env": "LLM_KEY", "price": {"input": 1, "output": 2}, "stream": streaming,
    });
    overlaid(&mut table, &line.setup.model);
    let names: Vec<String> = tools(line).into_iter().map(|tool| tool.name).collect();
    let mut raw = json!({
        "goal": "Note it", "model": "it", "models": {"it": table}, "tools": names,
        "review": "never", "workspace": {"path": workspace}, "limits": {"output_tokens": 256},
    });
    if let Some(bytes) = line.setup.request_bytes_min {
        let padding = |bytes: usize| "Keep to these words. ".repeat(bytes / 21 + 1);
        let goal = format!("Note it. {}", padding(bytes.min(GOAL_PADDING)));
        let instructions = padding(bytes.saturating_sub(GOAL_PADDING));
        overlaid(&mut raw, &json!({"goal": goal, "instructions": instructions}));
    }
    overlaid(&mut raw, &line.setup.task);
    task::parse(&raw).map_err(|bad| anyhow::anyhow!("{bad}"))
}

/// As much of the padding stands in the goal; the rest in the instructions.
const GOAL_PADDING: usize = 60_000;

fn overlaid(below: &mut Value, above: &Value) {
    for (key, value) in above.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(below.as_object_mut().and_then(|below| below.remove(key))),
            Value::Object(_) if below.get(key).is_some_and(Value::is_object) => {
                if let Some(below) = below.get_mut(key) {
                    overlaid(below, value);
                }
            }
            _ => drop(below.as_object_mut().and_then(|below| below.insert(key.clone(), value.clone()))),
        }
    }
}

struct Served(Remotes);

impl ModelSource for Served {
    fn open(&self, task: &Task, model: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let unknown = || OpenModelError::UnknownKind { reference: model.to_owned(), kinds: Vec::new() };
        self.0.open(task, model).unwrap_or_else(|| Err(unknown()))
    }
}

struct OneKey;

impl Keys for OneKey {
    fn key(&self, variable: &str) -> Result<Key, BadSecret> {
        Ok(Key::new(variable, KEY))
    }
}

/// The runtime's clock, which is wound forward while everybody waits.
struct Wound(tokio::time::Instant);

impl Clock for Wound {
    fn now(&self) -> Millis {
        let passed = tokio::time::Instant::now().saturating_duration_since(self.0);
        Millis(1_700_000_000_000).plus(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }
}

type Ran = Arc<Mutex<Vec<(u32, Value)>>>;

/// A tool that takes anything and writes it down.
struct Fake {
    ran: Ran,
    runs: Mutex<usize>,
    result: Results,
    spec: ToolSpec,
}

impl Fake {
    fn new(tool: ToolSetup, ran: &Ran) -> Result<Arc<Self>> {
        let spec = ToolSpec {
            name: ToolName::parse(&tool.name)
                .map_err(|bad| anyhow::anyhow!("tool {:?}: {bad}", tool.name))?,
            description: "Notes anything.".to_owned(),
            schema: json!({"type": "object"}),
            touch: Touch::Read,
            repeat: Repeat::Freely,
            consent: Consent::NotNeeded,
            probes: false,
            timeout_ms: 1000,
            effect: None,
            needs: None,
            given: false,
            undo: None,
            invocation: Invocation::default(),
        };
        Ok(Arc::new(Self { ran: Arc::clone(ran), runs: Mutex::default(), result: tool.result, spec }))
    }
}

#[async_trait]
impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, context: &CallContext) -> ToolOutput {
        let run = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            *runs += 1;
            *runs - 1
        };
        let said = match &self.result {
            Results::One(word) if word == "echo" => args.to_string(),
            Results::One(text) => text.clone(),
            Results::Each(texts) => texts.get(run).or(texts.last()).cloned().unwrap_or_default(),
        };
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).push((context.action.step, args));
        ToolOutput::ok(said)
    }
}

/// The most the process held since it was last set back, where the system tells.
fn memory(set_back: bool) -> u64 {
    if set_back {
        // Not every system lets us; then growth is measured against the highest so far.
        drop(std::fs::write("/proc/self/clear_refs", "5"));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).map_or(0, |kb| kb * 1024)
}
