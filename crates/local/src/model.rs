//! The embedded model as a [`Model`]: one engine thread, a fair queue before it.
//!
//! Invariants
//! - One thread answers, one call at a time; callers wait in [`Queue`](crate::queue).
//! - A caller that goes away stops its call before the next token.
//! - A conversation that does not fit is an error; nothing is cut out of it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::budget::Price;
use bowline_core::event::StepTrouble;
use bowline_core::id::RunId;
use bowline_models::{Answer, Model, ModelError, Request, Watcher};
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Engine, Job};
use crate::error::LoadError;
use crate::gguf::Gguf;
use crate::queue::{Queue, Refused};
use crate::settings::Settings;
use crate::speed::Speed;
use crate::template::Template;
use crate::transformer::{Network, Transformer};
use crate::vocab::Vocabulary;

/// Pieces of text on their way to a watcher; more are joined until there is room.
const PIECES_MAX: usize = 64;
/// Least context a model is run with, in tokens.
const CONTEXT_MIN: usize = 128;

/// Weights below this are read faster by one thread than handed out to several.
const SHARED_BYTES_MIN: usize = 4 << 20;

/// A model loaded from a file, ready to be asked.
pub struct LocalModel {
    queue: Arc<Queue<RunId, Job>>,
    closing: Arc<AtomicBool>,
    last: Arc<Mutex<Option<Speed>>>,
    call_ms_max: u64,
    context: usize,
}

/// The parts of a model, whatever they were read from.
pub struct Loaded {
    /// What says which token comes next.
    pub network: Arc<dyn Network>,
    /// What tokens mean.
    pub vocabulary: Arc<Vocabulary>,
    /// How conversations are written down.
    pub template: Template,
}

impl Loaded {
    /// Reads a GGUF file, to be run on at most so many threads.
    pub fn read(path: &Path, threads: usize) -> Result<Self, LoadError> {
        let mut file = Gguf::open(path)?;
        let vocabulary = Arc::new(Vocabulary::read(&file)?);
        let template = Template::read(&file)?;
        let mut network = Transformer::open(&mut file, threads)?;
        if network.bytes() < SHARED_BYTES_MIN {
            network.on_one_thread();
        }
        let network = Arc::new(network);
        Ok(Self { network, vocabulary, template })
    }
}

impl LocalModel {
    /// Loads a file and starts its engine.
    pub fn open(path: &Path, settings: Settings) -> Result<Self, LoadError> {
        let loaded = Loaded::read(path, settings.threads)?;
        let most = loaded.network.context();
        let wanted = settings.context(most);
        if wanted > most || wanted < CONTEXT_MIN {
            return Err(LoadError::Context { path: path.to_owned(), wanted, least: CONTEXT_MIN, most });
        }
        Self::start(loaded, settings)
    }

    /// Starts the engine of a loaded model.
    pub fn start(loaded: Loaded, settings: Settings) -> Result<Self, LoadError> {
        let queue = Arc::new(Queue::new(settings.waiting_max));
        let closing = Arc::new(AtomicBool::new(false));
        let last = Arc::new(Mutex::new(None));
        let context = settings.context(loaded.network.context());
        let call_ms_max = settings.call_ms_max;
        let engine = Engine::new(loaded, settings, Arc::clone(&last))?;
        let jobs = Arc::clone(&queue);
        thread::Builder::new()
            .name("bowline-model".to_owned())
            .spawn(move || engine.serve(&jobs))
            .map_err(|source| LoadError::Thread { source })?;
        Ok(Self { queue, closing, last, call_ms_max, context })
    }

    /// How fast the last finished call was.
    #[must_use]
    pub fn last_speed(&self) -> Option<Speed> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Most tokens of a conversation, answer included.
    #[must_use]
    pub fn context(&self) -> usize {
        self.context
    }

    /// How many calls wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }
}

impl Drop for LocalModel {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        self.queue.close();
    }
}

/// Stops a call when its caller goes away.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[async_trait]
impl Model for LocalModel {
    async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError> {
        let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
        let (pieces, mut heard) = mpsc::channel(PIECES_MAX);
        let (done, answered) = oneshot::channel();
        let run = request.run.clone();
        let job =
            Job { request, stop: Arc::clone(&stop.0), closing: Arc::clone(&self.closing), pieces, done };
        self.queue.push(run, job).map_err(refused)?;
        let listen = async {
            let mut shown = 0;
            while let Some(piece) = heard.recv().await {
                let piece: String = piece;
                shown += piece.len();
                watch.text(&piece);
            }
            let answer = answered.await.map_err(|_| gone())??;
            if let Some(rest) = answer.text.get(shown..).filter(|rest| !rest.is_empty()) {
                watch.text(rest);
            }
            Ok(answer)
        };
        let wait = Duration::from_millis(self.call_ms_max);
        tokio::time::timeout(wait, listen).await.unwrap_or_else(|_| {
            Err(ModelError {
                kind: StepTrouble::TimedOut,
                message: format!("the local model did not answer within {} ms", self.call_ms_max),
                retry_after_ms: None,
            })
        })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn context_tokens(&self) -> Option<u64> {
        u64::try_from(self.context).ok()
    }

    fn is_remote(&self) -> bool {
        false
    }
}

fn refused(refused: Refused) -> ModelError {
    match refused {
        Refused::Full => ModelError {
            kind: StepTrouble::RateLimited,
            message: "too many calls wait for the local model".to_owned(),
            retry_after_ms: Some(1_000),
        },
        Refused::Closed => gone(),
    }
}

fn gone() -> ModelError {
    ModelError {
        kind: StepTrouble::Transient,
        message: "the local model was closed".to_owned(),
        retry_after_ms: None,
    }
}
