//! The thread that answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_core::event::StepTrouble;
use bowline_core::id::RunId;
use bowline_core::message::{Stop, Usage};
use bowline_models::{Answer, ModelError, Request, Said};
use tokio::sync::{mpsc, oneshot};

use crate::cache::Cache;
use crate::error::LoadError;
use crate::generate::{Ask, Course, End, Form, NoAnswer, Or, Parts, Progress, Written, generate};
use crate::grammar::Grammars;
use crate::model::Loaded;
use crate::queue::Queue;
use crate::reply;
use crate::settings::{Clock, Settings, ToolUse};
use crate::speed::Speed;
use crate::trail::{Asked, Trail, Trails};
use crate::transformer::Memory;

/// How often an answer that failed before, and came in other pieces, is begun anew. What is
/// thrown away is counted as written, so such a call may use more than it was given.
const AGAIN_MAX: usize = 8;

/// One call on its way through the queue.
pub(crate) struct Job {
    pub(crate) request: Request,
    /// Set when the caller goes away.
    pub(crate) stop: Arc<AtomicBool>,
    /// Set when the model is closed.
    pub(crate) closing: Arc<AtomicBool>,
    pub(crate) pieces: mpsc::Sender<String>,
    pub(crate) done: oneshot::Sender<Result<Answer, ModelError>>,
}

/// What the thread owns.
pub(crate) struct Engine {
    loaded: Loaded,
    grammars: Grammars,
    settings: Settings,
    context: usize,
    cache: Cache,
    trails: Trails,
    last: Arc<Mutex<Option<Speed>>>,
}

impl Engine {
    pub(crate) fn new(
        loaded: Loaded,
        settings: Settings,
        last: Arc<Mutex<Option<Speed>>>,
    ) -> Result<Self, LoadError> {
        let grammars = Grammars::new(&loaded.vocabulary)?;
        let context = settings.context(loaded.network.context());
        let cache = Cache::new(settings.cache);
        Ok(Self { loaded, grammars, settings, context, cache, trails: Trails::default(), last })
    }

    /// Answers until the queue is closed.
    pub(crate) fn serve(mut self, queue: &Queue<RunId, Job>) {
        while let Some(job) = queue.pop() {
            let Job { request, stop, closing, pieces, done } = job;
            if stop.load(Ordering::Acquire) || closing.load(Ordering::Acquire) {
                continue;
            }
            let mut relay = Relay::new(pieces, Arc::clone(&self.settings.clock));
            // A bug in the engine costs this call and what was remembered, not the process.
            let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&request, &stop, &mut relay)));
            let answer = answer.unwrap_or_else(|_| {
                self.cache = Cache::new(self.settings.cache);
                Err(error(StepTrouble::Transient, "the engine of the local model failed"))
            });
            drop(relay);
            // Nobody listening is fine: the caller has gone.
            let _ = done.send(answer);
        }
    }

    fn answer(
        &mut self,
        request: &Request,
        stop: &AtomicBool,
        relay: &mut Relay,
    ) -> Result<Answer, ModelError> {
        let prompt = self.prompt(request)?;
        let room = self.context.saturating_sub(prompt.len());
        let wanted = usize::try_from(request.output_tokens).unwrap_or(usize::MAX);
        let ask = Ask {
            prompt: &prompt,
            form: form(request, self.settings.tool_use),
            tokens_max: wanted.min(room),
            sampling: self.settings.sampling.of(request),
            course: Course::Unlike(&[]),
            stop,
        };
        let network = Arc::clone(&self.loaded.network);
        let mut memory = self.cache.take(&prompt, || network.remember());
        let cached = memory.tokens().len();
        // What may be begun anew is shown when it is whole.
        let mut quiet = Quiet(relay);
        let progress: &mut dyn Progress = if request.failed.is_empty() { quiet.0 } else { &mut quiet };
        let written = self.write(request, &mut memory, ask, progress);
        self.cache.keep(memory);
        let written = written.map_err(no_answer)?;
        let usage =
            Usage { input: prompt.len() as u64, output: written.tokens, cached: cached as u64, reasoning: 0 };
        let speed = relay.speed(usage);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(speed);
        said(request, written, usage)
    }

    /// Writes an answer unlike those that failed.
    fn write(
        &mut self,
        request: &Request,
        memory: &mut Memory,
        ask: Ask<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Written, NoAnswer> {
        let parts = Parts {
            network: self.loaded.network.as_ref(),
            vocabulary: &self.loaded.vocabulary,
            grammars: &self.grammars,
        };
        let form = format!("{:?}\n{:?}", request.schema, request.tools);
        let asked = Asked::of(ask.prompt, &form, ask.tokens_max);
        let mut failed = Vec::new();
        for text in &request.failed {
            let known = self.trails.find(asked, text);
            failed.extend(if known.is_empty() { learn(parts, memory, &ask, text)? } else { known });
        }
        let mut written = generate(parts, memory, &Ask { course: Course::Unlike(&failed), ..ask }, progress)?;
        for _ in 0..AGAIN_MAX {
            failed.extend(written.trail.clone());
            if !request.failed.contains(&written.text) {
                break;
            }
            read_again(memory, ask.prompt);
            let spent = written.tokens;
            written = generate(parts, memory, &Ask { course: Course::Unlike(&failed), ..ask }, progress)?;
            written.tokens += spent;
        }
        failed.into_iter().for_each(|trail| self.trails.keep(asked, trail));
        Ok(written)
    }

    fn prompt(&self, request: &Request) -> Result<Vec<u32>, ModelError> {
        let vocabulary = &self.loaded.vocabulary;
        let messages: Vec<&Said> = request.messages.iter().collect();
        let text = self
            .loaded
            .template
            .render(&messages, &request.tools, |text| vocabulary.disarm(text))
            .map_err(|bad| error(StepTrouble::Permanent, bad.to_string()))?;
        let prompt = vocabulary.encode_prompt(&text);
        if prompt.is_empty() || prompt.len() >= self.context {
            return Err(error(
                StepTrouble::Permanent,
                format!(
                    "the conversation has {} tokens and the context of the local model is {}; \
                     choose a model with more, or give the task less to read",
                    prompt.len(),
                    self.context
                ),
            ));
        }
        Ok(prompt)
    }
}

/// Forgets all but what must be fed again to know what may follow the prompt.
fn read_again(memory: &mut Memory, prompt: &[u32]) {
    memory.cut(prompt.len().saturating_sub(1));
}

/// The trail of a text that another process wrote, or another model; none where this one
/// cannot write it.
fn learn(parts: Parts<'_>, memory: &mut Memory, ask: &Ask<'_>, text: &str) -> Result<Vec<Trail>, NoAnswer> {
    let course = Course::Along(text);
    let written = generate(parts, memory, &Ask { course, ..*ask }, &mut Unseen);
    read_again(memory, ask.prompt);
    match written {
        Ok(written) => Ok(written.trail.into_iter().filter(|trail| trail.text == text.as_bytes()).collect()),
        Err(NoAnswer::Lost(_)) => Ok(Vec::new()),
        Err(other) => Err(other),
    }
}

/// An answer that nobody sees while it is written.
struct Quiet<'a>(&'a mut Relay);

impl Progress for Quiet<'_> {
    fn prompt_read(&mut self) {
        self.0.prompt_read();
    }
    fn text(&mut self, _: &str) {}
}

/// What is written only to learn how it comes about.
struct Unseen;

impl Progress for Unseen {
    fn prompt_read(&mut self) {}
    fn text(&mut self, _: &str) {}
}

fn form(request: &Request, tool_use: ToolUse) -> Form<'_> {
    let must_call = tool_use == ToolUse::First && !has_result(request);
    match (&request.schema, request.tools.is_empty()) {
        (Some(schema), true) => Form::Schema(schema),
        (None, true) => Form::Text,
        (_, false) if must_call => Form::Tools { tools: &request.tools, or: Or::Nothing },
        (Some(schema), false) => Form::Tools { tools: &request.tools, or: Or::Schema(schema) },
        (None, false) => Form::Tools { tools: &request.tools, or: Or::Text },
    }
}

/// Whether a tool has answered since somebody last spoke.
fn has_result(request: &Request) -> bool {
    let mut latest = request.messages.iter().rev();
    latest.find_map(|said| match said {
        Said::ToolResult { .. } => Some(true),
        Said::User(_) => Some(false),
        Said::System(_) | Said::Assistant { .. } => None,
    }) == Some(true)
}

fn said(request: &Request, written: Written, usage: Usage) -> Result<Answer, ModelError> {
    let is_told = request.likelihood && written.trail.is_some();
    let likelihood = is_told.then_some(written.likelihood);
    let answer = |stop, text, calls| Answer { stop, usage, micros: 0, text, calls, likelihood, claim: None };
    if written.end == End::Cut {
        // Half a call is no call, and a whole one before it may not be acted on either.
        return Ok(answer(Stop::Truncated, written.text, Vec::new()));
    }
    let prefix = format!("local-{}-{}", request.step, request.attempt);
    let calls = reply::calls(&written.calls, &prefix)
        .ok_or_else(|| error(StepTrouble::Transient, "the local model wrote a call that cannot be read"))?;
    let stop = if calls.is_empty() { Stop::End } else { Stop::ToolUse };
    Ok(answer(stop, written.text, calls))
}

fn no_answer(no_answer: NoAnswer) -> ModelError {
    let kind = match &no_answer {
        NoAnswer::Schema(_) => StepTrouble::Permanent,
        NoAnswer::Stopped | NoAnswer::Lost(_) | NoAnswer::Broken(_) => StepTrouble::Transient,
    };
    error(kind, no_answer.to_string())
}

fn error(kind: StepTrouble, message: impl Into<String>) -> ModelError {
    ModelError { kind, message: message.into(), retry_after_ms: None }
}

/// Passes text on to the caller, and takes the times.
struct Relay {
    pieces: mpsc::Sender<String>,
    pending: String,
    clock: Clock,
    begun: Duration,
    prompt_read: Duration,
}

impl Relay {
    fn new(pieces: mpsc::Sender<String>, clock: Clock) -> Self {
        let begun = clock();
        Self { pieces, pending: String::new(), clock, begun, prompt_read: begun }
    }

    fn speed(&self, usage: Usage) -> Speed {
        Speed {
            prompt_tokens: usage.input.saturating_sub(usage.cached),
            cached_tokens: usage.cached,
            prompt: self.prompt_read.saturating_sub(self.begun),
            output_tokens: usage.output,
            output: (self.clock)().saturating_sub(self.prompt_read),
        }
    }
}

impl Progress for Relay {
    fn prompt_read(&mut self) {
        self.prompt_read = (self.clock)();
    }

    fn text(&mut self, piece: &str) {
        self.pending.push_str(piece);
        // A watcher that does not keep up gets larger pieces; the engine never waits for it.
        if let Err(mpsc::error::TrySendError::Full(pending)) =
            self.pieces.try_send(std::mem::take(&mut self.pending))
        {
            self.pending = pending;
        }
    }
}
