//! Plays one task in the loop: the real engine, its model behind one that keeps every
//! answer and ends the run when its calls are used up.
//!
//! Chance comes from task, seed and step alone, so the same answers come again, and runs
//! that ask for the same answer share it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use bowline::core::budget::Price;
use bowline::core::event::{Ending, Purpose, StepTrouble};
use bowline::core::id::RunId;
use bowline::core::message::{Stop, Usage};
use bowline::core::task::Task;
use bowline::models::{Answer, Model, ModelError, OpenModelError, Request, Unwatched, Watcher};
use bowline::remote::Remotes;
use bowline::store::MemoryStore;
use bowline::tools::Launcher;
use bowline::{Engine, ModelSource, Stopped};
use bowline_local::weights::Store;
use bowline_local::{LocalModel, Settings};

use super::book::{Book, Played, Said};
use super::tasks::Trial;
use crate::CAGE;
use crate::stopwatch::now;

/// Whatever the tasks are played with.
pub(crate) struct Player {
    /// The model, as a task names it.
    pub(crate) model: String,
    /// Whether a first answer depends on nothing but the request.
    greedy: bool,
    opened: Arc<dyn Model>,
    book: Arc<Book>,
    below: PathBuf,
    launcher: Launcher,
    /// Held while the model answers, so that the wait for another run's answer is no part of its time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// How attempts and answers are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// No attempt knows of another.
    Blind,
    /// No answer that failed is given again.
    Unlike,
    /// And so many other answers must not hold.
    Alone(u32),
}

impl Way {
    /// In a word.
    pub(crate) fn word(self) -> String {
        match self {
            Self::Blind => "blind".into(),
            Self::Unlike => "unlike".into(),
            Self::Alone(rivals) => format!("alone among {rivals}"),
        }
    }

    fn rivals(self) -> u32 {
        match self {
            Self::Blind | Self::Unlike => 0,
            Self::Alone(rivals) => rivals,
        }
    }
}

/// Which run of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// Where chance begins.
    pub(crate) seed: u32,
    /// How attempts and answers are held against each other.
    pub(crate) way: Way,
    /// Most calls of the model.
    pub(crate) calls: u32,
}

impl Player {
    /// Opens the model, as a task names it.
    pub(crate) fn new(model: &str, book: Arc<Book>, below: &Path) -> Result<Self> {
        let greedy = model.starts_with("local:");
        let opened = open(model)?;
        let launcher = Launcher::this_program([CAGE])?;
        Ok(Self {
            model: model.into(),
            greedy,
            opened,
            book,
            below: below.into(),
            launcher,
            turn: Arc::default(),
        })
    }

    /// Plays a task, unless it is known what comes of it.
    pub(crate) async fn play(&self, trial: &Trial, round: Round) -> Result<Played> {
        let Round { seed, way, calls } = round;
        let (word, told) = (way.word(), digest(&trial.told()));
        let key = format!("{} seed {seed} {word} calls {calls} {told:016x}", trial.id);
        if let Some(played) = self.book.played(&key) {
            return Ok(played);
        }
        let workspace = trial.furnish(&self.below)?;
        let task = trial.task(&self.model, &workspace, way.rivals())?;
        let kept = Arc::new(Kept {
            model: self.opened.clone(),
            book: self.book.clone(),
            name: trial.id.clone(),
            seed,
            is_blind: way == Way::Blind,
            greedy: self.greedy,
            turn: self.turn.clone(),
            calls,
            said: Mutex::default(),
        });
        let engine = Engine::builder(Arc::new(MemoryStore::new()))
            .models(Arc::new(Only(kept.clone())))
            .launcher(self.launcher.clone())
            .build();
        let begun = now();
        let (run, stopped) = engine.run_task(task).await?;
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let committed = match stopped {
            Stopped::Ended(ending) => matches!(ending, Ending::Committed { .. }),
            Stopped::Waiting(waits) => bail!("{} {run} waits: {waits:?}", trial.id),
            Stopped::Asked => bail!("{} was stopped", trial.id),
        };
        let said = kept.said.lock().unwrap_or_else(PoisonError::into_inner);
        let model_ms: u64 = said.iter().filter(|(_, fresh)| *fresh).map(|(said, _)| said.ms).sum();
        let said = said.iter().map(|(said, _)| said.clone()).collect();
        let played = Played { committed, said, around_ms: took.saturating_sub(model_ms) };
        self.book.note_played(&key, &played)?;
        Ok(played)
    }
}

/// Opens any model a task may name.
fn open(model: &str) -> Result<Arc<dyn Model>> {
    let Some(weights) = model.strip_prefix("local:") else {
        let raw = serde_json::json!({ "goal": "x", "model": model });
        let task = bowline::core::task::parse(&raw).context("no such model")?;
        if let Some(remote) = Remotes::default().open(&task, model) {
            return Ok(remote?);
        }
        return Ok(bowline::models::open(model, Path::new("."))?);
    };
    let folder = weights_folder().context("set BOWLINE_MODELS to the folder of the weights")?;
    let path = Store::new(&folder).find(weights)?;
    let begun = now();
    let settings = Settings { threads: 1, ..Settings::new(Arc::new(move || begun.elapsed())) };
    Ok(Arc::new(LocalModel::open(&path, settings)?))
}

/// Where the command line keeps weights.
fn weights_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|set| !set.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    set("BOWLINE_MODELS").or_else(|| cache().map(|cache| cache.join("bowline").join("models")))
}

/// FNV-1a: the same on every machine.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

struct Only(Arc<Kept>);

impl ModelSource for Only {
    fn open(&self, _: &Task, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(self.0.clone())
    }
}

/// A model whose answers are kept.
struct Kept {
    model: Arc<dyn Model>,
    book: Arc<Book>,
    name: String,
    seed: u32,
    is_blind: bool,
    greedy: bool,
    turn: Arc<tokio::sync::Mutex<()>>,
    calls: u32,
    /// What this run was told, and whether the model was asked for it now.
    said: Mutex<Vec<(Said, bool)>>,
}

impl Kept {
    /// The key of an answer: all it depends on.
    fn key(&self, request: &Request) -> String {
        let is_first = self.greedy && request.temperature.is_none() && request.attempt == 1;
        let seed = if is_first { "any".into() } else { self.seed.to_string() };
        let said: Vec<_> = request.messages.iter().collect();
        let asked = digest(&format!("{said:?} {:?} {:?}", request.schema, request.failed));
        let warmth = request.temperature.map_or(0, |warmth| warmth.0);
        format!("{} seed {seed} step {} warmth {warmth} {asked:016x}", self.name, request.step)
    }

    fn tell(&self, said: Said, fresh: bool) -> Answer {
        let [input, output] = said.tokens;
        let usage = Usage { input, output, ..Usage::default() };
        let text = said.text.clone();
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push((said, fresh));
        Answer { stop: Stop::End, usage, micros: 0, text, calls: Vec::new(), likelihood: None, claim: None }
    }
}

#[async_trait]
impl Model for Kept {
    async fn call(&self, mut request: Request, _: &dyn Watcher) -> Result<Answer, ModelError> {
        let made = self.said.lock().unwrap_or_else(PoisonError::into_inner).len();
        if u32::try_from(made).unwrap_or(u32::MAX) >= self.calls {
            return Err(trouble("the calls of this measurement are used up".into()));
        }
        if self.is_blind {
            request.failed.clear();
        }
        let rival = matches!(request.purpose, Purpose::Judge(_));
        let key = self.key(&request);
        if let Some(said) = self.book.said(&key) {
            return Ok(self.tell(said, false));
        }
        // The run's own name is drawn by chance; this one comes again.
        let name = format!("{}.{}", self.name, self.seed);
        request.run = RunId::from_chance(&digest(&name).to_be_bytes());
        let turn = self.turn.lock().await;
        if let Some(said) = self.book.said(&key) {
            return Ok(self.tell(said, false));
        }
        let begun = now();
        let answer = self.model.call(request, &Unwatched).await?;
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let tokens = [answer.usage.input, answer.usage.output];
        let said = Said { text: answer.text, tokens, ms, rival };
        self.book.note_said(&key, &said).map_err(|error| trouble(format!("{error:#}")))?;
        drop(turn);
        Ok(self.tell(said, true))
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn is_remote(&self) -> bool {
        false
    }
}

fn trouble(message: String) -> ModelError {
    ModelError { kind: StepTrouble::Permanent, message, retry_after_ms: None }
}
