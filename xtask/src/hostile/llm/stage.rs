//! The whole engine against a fake model server, on a clock that is wound forward.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use bowline::models::{Model, OpenModelError};
use bowline::remote::double::{Play, Seen, Server};
use bowline::remote::{Key, Keys, Remotes};
use bowline::store::{MemoryStore, RunStore};
use bowline::tools::{BadSecret, CallContext, Tool, ToolOutput};
use bowline::{Clock, Engine, ModelSource, Patience, history};
use bowline_core::event::{Ending, Event};
use bowline_core::id::{Millis, RunId, ToolName};
use bowline_core::task::{self, Task};
use bowline_core::tool::{Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_net::Trust;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::dialect::Dialect;

/// The key of every model, which must never be seen.
pub(crate) const KEY: &str = "sk-hostile-0123456789";

/// Where the model is: in a network of its own, so that no certificate is needed.
pub(crate) const HOST: &str = "10.0.0.7:8000";

/// Longer than any run takes; a run that is not over by then hangs.
const HANGS: Duration = Duration::from_secs(6 * 60 * 60);

type Check = Box<dyn Fn(&Outcome) -> Result<()>>;

/// One run against one server.
pub(crate) struct Scene {
    pub(crate) dialect: Dialect,
    pub(crate) plays: Vec<Play>,
    /// What the task says besides.
    pub(crate) task: Value,
    /// What the model's table says besides; `null` takes a key out.
    pub(crate) table: Value,
    /// How many requests the server gets, where that is not three.
    pub(crate) requests: Option<usize>,
    /// The process dies while the first request is out.
    pub(crate) crashes: bool,
    /// What must hold besides.
    pub(crate) also: Option<Check>,
}

impl Scene {
    pub(crate) fn new(dialect: Dialect, plays: Vec<Play>) -> Self {
        Self { dialect, plays, task: json!({}), table: json!({}), requests: None, crashes: false, also: None }
    }

    pub(crate) fn also(mut self, check: impl Fn(&Outcome) -> Result<()> + 'static) -> Self {
        self.also = Some(Box::new(check));
        self
    }

    pub(crate) fn task(mut self, task: Value) -> Self {
        self.task = task;
        self
    }

    pub(crate) fn table(mut self, table: Value) -> Self {
        self.table = table;
        self
    }

    pub(crate) fn requests(mut self, requests: usize) -> Self {
        self.requests = Some(requests);
        self
    }
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Why the task was not accepted.
    pub(crate) refused: Option<String>,
    pub(crate) ending: Option<Ending>,
    pub(crate) events: Vec<Event>,
    pub(crate) seen: Vec<Seen>,
    /// What people saw while it ran.
    pub(crate) shown: String,
    /// The arguments the tool was called with.
    pub(crate) ran: Vec<Value>,
    /// Everything that was kept of the run.
    pub(crate) kept: String,
    /// What it has paid.
    pub(crate) spent_micros: u64,
}

impl Outcome {
    /// What the model was told instead of a result.
    pub(crate) fn refusals(&self) -> Vec<&str> {
        let told = self.events.iter().filter_map(|event| match event {
            Event::CallRefused { message, .. } => Some(message.as_str()),
            _ => None,
        });
        told.collect()
    }
}

/// Plays a scene to its end.
pub(crate) fn play(scene: &Scene) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(played(scene))
}

async fn played(scene: &Scene) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let task = written(scene, &folder.path().display().to_string())?;
    let home = tempfile::tempdir()?;
    let store: Arc<dyn RunStore> = Arc::new(MemoryStore::default());
    let server = Server::new(scene.plays.clone());
    let note = Arc::new(Note::default());
    let clock = Arc::new(Wound(tokio::time::Instant::now()));
    let engine = || {
        let remotes = Remotes::default().with_keys(Arc::new(OneKey)).over(server.network(Trust::public()));
        Engine::builder(store.clone())
            .home(home.path())
            .models(Arc::new(Served(remotes)))
            .tool(note.clone())
            .clock(clock.clone())
            .patience(Patience::LeaveWhenWaiting)
            .build()
    };
    let mut outcome = Outcome::default();
    let submitted = engine().submit(task, None).await;
    let id = match submitted {
        Ok(submitted) => submitted.run().clone(),
        Err(error) => {
            outcome.refused = Some(format!("{error}; {}", error.remedy()));
            return Ok(outcome);
        }
    };
    if scene.crashes {
        let dies = tokio::time::timeout(Duration::from_secs(1), engine().run(&id)).await;
        ensure!(dies.is_err(), "the first request was answered before the crash");
        // The claim of the dead process runs out.
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    let worker = engine();
    let shown = watch(&worker);
    let ran = tokio::time::timeout(HANGS, worker.run(&id)).await.context("it hangs")?;
    ran.map_err(|error| anyhow::anyhow!("the engine gave up: {error}"))?;
    // What was shown last is heard before it is looked at.
    tokio::time::sleep(Duration::from_millis(1)).await;
    drop(worker);
    outcome.shown = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    read(&mut outcome, store.as_ref(), &id).await?;
    outcome.seen = server.seen();
    outcome.ran = note.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
    Ok(())
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

fn written(scene: &Scene, workspace: &str) -> Result<Task> {
    let mut table = json!({
        "format": scene.dialect.format.word(), "name": "m", "base_url": format!("http://{HOST}/v1"),
        "key_env": "LLM_KEY", "price": {"input": 1, "output": 2}, "stream": scene.dialect.streaming,
    });
    overlaid(&mut table, &scene.table);
    let mut raw = json!({
        "goal": "Note it", "model": "it", "models": {"it": table}, "tools": ["note"],
        "review": "never", "workspace": {"path": workspace}, "limits": {"output_tokens": 256},
    });
    overlaid(&mut raw, &scene.task);
    task::parse(&raw).map_err(|bad| anyhow::anyhow!("{bad}"))
}

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

/// A tool that takes anything and writes it down.
struct Note(Mutex<Vec<Value>>, ToolSpec);

impl Default for Note {
    fn default() -> Self {
        let spec = ToolSpec {
            name: ToolName::parse("note").unwrap_or_else(|_| unreachable!("a plain name")),
            description: "Notes anything.".to_owned(),
            schema: json!({"type": "object"}),
            touch: Touch::Read,
            repeat: Repeat::Freely,
            consent: Consent::NotNeeded,
            probes: false,
            timeout_ms: 1000,
            effect: None,
            needs: None,
            undo: None,
            invocation: Invocation::default(),
        };
        Self(Mutex::default(), spec)
    }
}

#[async_trait]
impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.1
    }

    async fn run(&self, args: Value, _: &CallContext) -> ToolOutput {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(args);
        ToolOutput::ok("noted")
    }
}
