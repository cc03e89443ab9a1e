//! Hands: performs effects and reports what came of them. No policy.
//!
//! Every effect ends: by itself, by its deadline, or by being dropped.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_core::append_list::AppendList;
use bowline_core::budget::Cost;
use bowline_core::control::Ppm;
use bowline_core::effect::Effect;
use bowline_core::event::{Confinement, Evidence, Outcome, Purpose, RestoreOutcome, StepTrouble};
use bowline_core::guard::OutputTrace;
use bowline_core::id::{ActionId, RunId, ToolName};
use bowline_core::input::{Asked, CallProblem, CallResult, EvidenceGap, ProbeFinding, Reply, Returned, What};
use bowline_core::mask::MaskedStream;
use bowline_core::message::{Blob, Call, Content, INLINE_MAX, Message, Payload};
use bowline_core::plan::Test;
use bowline_core::policy::Concern;
use bowline_core::provenance::Digest;
use bowline_core::quality::{CheckOutcome, Failure};
use bowline_core::task::Task;
use bowline_core::tool::{FileImage, OUTPUT_BYTES, ToolSpec};
use bowline_core::untrusted::suspicion::suspicion;
use bowline_core::window::Window;
use bowline_models::{Answer, ModelError, Request, Watcher};
use bowline_store::{RunStore, StoreError};
use bowline_tools::{
    CallContext, Inference, OVERRUN_MAX, Probed, Reach, Registry, Sandbox, Secrets, ToolOutput, Workspace,
    cap_output, evidence, restore,
};

use crate::cast::Models;
use crate::clock::Clock;
use crate::hub::{Hub, Seen};
use crate::images;
use crate::judge::{Judge, is_watched, undisguised};
use crate::promoting::Promote;
use crate::result;
use crate::texts::Texts;

/// How long work on our own files may take.
const OWN_WORK: Duration = Duration::from_secs(120);
/// How much of a reply the core may read itself.
const HEAD_MAX: usize = 64 * 1024;

/// Calls of one reply that are made, and those that are read at all: a model that
/// asks for more gets no answer to the rest, for they are not in its conversation.
const CALLS_MAX: usize = 128;
const CALLS_READ: usize = 1024;
/// Longest id a model may give a call.
const CALL_ID_MAX: usize = 256;

/// What an effect came to, with the contents it names.
pub(crate) struct Arrival {
    pub(crate) what: What,
    pub(crate) blobs: Vec<Blob>,
}

impl From<What> for Arrival {
    fn from(what: What) -> Self {
        Self { what, blobs: Vec::new() }
    }
}

/// Everything effects of one run need.
#[derive(Clone)]
pub(crate) struct Hands {
    pub(crate) run: RunId,
    pub(crate) task: Arc<Task>,
    pub(crate) epoch: u64,
    pub(crate) store: Arc<dyn RunStore>,
    pub(crate) models: Arc<Models>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) workspace: Workspace,
    pub(crate) sandbox: Sandbox,
    pub(crate) secrets: Secrets,
    pub(crate) reach: Reach,
    pub(crate) inference: Inference,
    /// In what programs run; `None` if the run has none.
    pub(crate) programs: Option<Confinement>,
    pub(crate) results: Option<std::path::PathBuf>,
    /// Who takes what is committed, where the task names nobody.
    pub(crate) promote: Option<Arc<dyn Promote>>,
    /// What the run's copy began with.
    pub(crate) base: Option<std::path::PathBuf>,
    pub(crate) texts: Texts,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hub: Arc<Hub>,
}

impl Hands {
    /// Performs one effect. `None` for timers, which the desk keeps itself.
    pub(crate) async fn perform(self, effect: Effect) -> Option<Result<Arrival, StoreError>> {
        Some(match effect {
            Effect::CallModel {
                step,
                purpose,
                attempt,
                model,
                messages,
                left_out,
                tools,
                schema,
                output_tokens,
                temperature,
                failed,
                likelihood,
                timeout_ms,
            } => {
                let ask = Ask {
                    step,
                    purpose,
                    attempt,
                    model,
                    tools,
                    schema,
                    output_tokens,
                    temperature,
                    likelihood,
                    failed,
                };
                self.call_model(ask, (messages, left_out), timeout_ms).await
            }
            Effect::PrepareCall { action, tool, args } => self.prepare(action, &tool, &args).await,
            Effect::RunTool { action, tool, args, key, attempt, image, timeout_ms } => {
                let context = CallContext { key, attempt, image, ..self.context(action, timeout_ms) };
                self.run_tool(&tool, &args, context).await
            }
            Effect::Probe { action, tool, args, key, timeout_ms } => {
                let context = CallContext { key, ..self.context(action, timeout_ms) };
                self.probe(&tool, &args, context).await
            }
            Effect::ReadEvidence { paths } => self.read_evidence(&paths).await,
            effect @ Effect::RunCheck { .. } => self.run_check(&effect).await,
            Effect::Weigh { serial, output, test } => self.weigh(serial, &output, &test).await,
            Effect::Splice { round, output, window, replacement } => {
                self.splice(round, &output, (&window, &replacement)).await
            }
            Effect::Restore { action, image } => self.restore(action, &image).await,
            Effect::Compensate { action, attempt, key, deed } => {
                self.compensate(action, attempt, key, &deed).await
            }
            Effect::Alert { argv, failed } => self.alert(&argv, &failed).await,
            Effect::FindChanges => self.find_changes().await,
            Effect::Land { changes, back } => self.land(&changes, back).await,
            Effect::StoreResult { output } => self.store_result(&output).await,
            Effect::Promote { attempt, key, committed } => self.hand_on(attempt, key, &committed).await,
            Effect::WakeAt { .. } => return None,
        })
    }

    async fn call_model(
        &self,
        ask: Ask,
        (messages, left_out): (AppendList<Message>, Arc<BTreeMap<u32, Message>>),
        timeout_ms: u64,
    ) -> Result<Arrival, StoreError> {
        let step = ask.step;
        let who = ask.purpose.clone();
        let conversation = self.texts.conversation(&messages).await?;
        let shown = Mutex::new(MaskedStream::new(self.secrets.mask()));
        let watcher = Words { hub: &self.hub, run: &self.run, step, shown };
        let request = Request {
            run: self.run.clone(),
            step,
            attempt: ask.attempt,
            purpose: ask.purpose,
            model: ask.model,
            messages: conversation,
            tools: ask.tools,
            schema: ask.schema,
            output_tokens: ask.output_tokens,
            temperature: ask.temperature,
            failed: self.texts.each(&ask.failed).await?,
            likelihood: ask.likelihood,
        };
        let answer = within(timeout_ms, self.models.call(request, &watcher)).await;
        watcher.end();
        Ok(match answer {
            None => failed(step, StepTrouble::TimedOut, format!("no answer within {timeout_ms} ms"), None),
            Some(Err(ModelError { kind, message, retry_after_ms })) => {
                failed(step, kind, self.masked(message), retry_after_ms)
            }
            Some(Ok(answer)) => {
                if answer.calls.iter().any(|call| is_watched(&self.registry, &call.tool)) {
                    self.judge.hear(&self.texts, &who, (&messages, &left_out)).await?;
                }
                self.replied(step, answer)
            }
        })
    }

    /// Puts a finished answer into the core's words. Calls are examined here, so
    /// that the core only sees what is wrong with them, not how that is found.
    fn replied(&self, step: u32, answer: Answer) -> Arrival {
        let mut blobs = Vec::new();
        let calls = answer.calls.into_iter().take(CALLS_READ).enumerate().map(|(index, said)| {
            let leaks = self.judge.leaks(&said.args);
            let (args, is_clean) = self.masked_args(said.args, &leaks);
            let (id, odd) = sound_id(said.id, (step, index));
            let examined = if let Some(odd) = odd {
                Err(CallProblem::BadArguments(odd))
            } else if !is_clean {
                let message = "a secret stands in the arguments in a form that cannot be masked".into();
                Err(CallProblem::NotAllowed(message))
            } else if index < CALLS_MAX {
                self.judge.examine(&self.registry, &said.tool, &args)
            } else {
                let too_many = format!("at most {CALLS_MAX} calls in one reply are made");
                Err(CallProblem::BadArguments(too_many))
            };
            let (id, tool) = (self.masked(id), self.masked(said.tool));
            let call = Call::new(&id, &tool, args, &mut blobs);
            match examined {
                Ok(mut concerns) => {
                    concerns.extend(leaks);
                    Asked { call, problem: None, image: None, concerns }
                }
                Err(problem) => Asked { call, problem: Some(problem), image: None, concerns: Vec::new() },
            }
        });
        let calls = calls.collect();
        let text = self.masked(answer.text);
        let head = text.chars().take(HEAD_MAX).collect();
        let text = Payload::keep(text, &mut blobs);
        let (stop, usage, micros) = (answer.stop, answer.usage, answer.micros);
        let reply = Reply {
            stop,
            usage,
            micros,
            text,
            head,
            calls,
            likelihood: answer.likelihood,
            claim: answer.claim,
        };
        Arrival { what: What::ModelReplied { step, reply }, blobs }
    }

    /// A text that may be written down.
    pub(crate) fn masked(&self, text: String) -> String {
        if self.secrets.mask().is_empty() { text } else { self.secrets.mask().hide(text).text }
    }

    /// Arguments that may be written down and sent, and whether every secret could be
    /// taken out of them: a disguise is undone where JSON makes it, and what no mask
    /// finds is dropped whole.
    fn masked_args(&self, args: String, leaks: &[Concern]) -> (String, bool) {
        if leaks.is_empty() {
            return (self.masked(args), true);
        }
        let masked = self.masked(undisguised(&args));
        if self.judge.is_free_of_secrets(&masked) { (masked, true) } else { ("{}".to_owned(), false) }
    }

    pub(crate) fn masked_outcome(&self, outcome: CheckOutcome) -> CheckOutcome {
        match outcome {
            CheckOutcome::Passed => CheckOutcome::Passed,
            CheckOutcome::CouldNotRun(why) => CheckOutcome::CouldNotRun(self.masked(why)),
            CheckOutcome::NotApplicable(why) => CheckOutcome::NotApplicable(self.masked(why)),
            CheckOutcome::Failed(failures) => {
                let masked = |failure: Failure| failure.map_texts(|text| self.masked(text));
                CheckOutcome::Failed(failures.into_iter().map(masked).collect())
            }
        }
    }

    /// What a call knows of its surroundings; idempotency key, attempt and image
    /// are for the caller to fill in where the call is really made.
    pub(crate) fn context(&self, action: ActionId, timeout_ms: u64) -> CallContext {
        CallContext {
            workspace: self.workspace.clone(),
            sandbox: self.sandbox.clone(),
            secrets: self.secrets.clone(),
            reach: self.reach.clone(),
            inference: self.inference.clone(),
            run: self.run.clone(),
            action,
            key: Digest::ZERO,
            epoch: self.epoch,
            attempt: 0,
            image: None,
            timeout: Duration::from_millis(timeout_ms),
        }
    }

    async fn prepare(
        &self,
        action: ActionId,
        tool: &ToolName,
        args: &Payload,
    ) -> Result<Arrival, StoreError> {
        let args = self.texts.text(args).await?;
        let mut blobs = Vec::new();
        let image = images::look(self, action, tool.as_str(), &args, &mut blobs).await;
        let image = image.unwrap_or_else(|| Err(format!("{tool} cannot say which file it would change")));
        Ok(Arrival { what: What::CallPrepared { action, image }, blobs })
    }

    async fn run_tool(
        &self,
        tool: &ToolName,
        args: &Payload,
        context: CallContext,
    ) -> Result<Arrival, StoreError> {
        let (action, attempt) = (context.action, context.attempt);
        let args = self.texts.text(args).await?;
        let started = self.clock.now();
        let (ToolOutput { how, text, spent }, most) = match self.registry.examine(tool.as_str(), &args) {
            Err(problem) => {
                (ToolOutput::error(format!("{problem:?}")).spending(Cost::default()), OUTPUT_BYTES)
            }
            Ok((tool, args)) => {
                let (deadline, most) = (context.timeout + OVERRUN_MAX, tool.spec().output_bytes());
                let late = |_| ToolOutput {
                    how: Returned::Unknown,
                    text: format!("no answer within {} s", deadline.as_secs()),
                    spent: None,
                };
                let running = tokio::time::timeout(deadline, tool.run(args, &context));
                (running.await.unwrap_or_else(late), most)
            }
        };
        let text = self.masked(text);
        let duration_ms = self.clock.now().since(started);
        let mut blobs = Vec::new();
        let ok = how == Returned::Known(Outcome::Ok);
        let suspicions = suspicion(&text).families();
        let trace = (text.len() > INLINE_MAX).then(|| OutputTrace::of(&text, Some(ok)));
        let (output, full) = kept_output(text, most, &mut blobs);
        let plain = OutputTrace::plain(output.digest(), ok);
        let trace = trace.filter(|trace| *trace != plain).map(Box::new);
        let result = CallResult { how, output, full, duration_ms, trace, suspicions, spent };
        Ok(Arrival { what: What::CallReturned { action, attempt, result }, blobs })
    }

    async fn probe(
        &self,
        tool: &ToolName,
        args: &Payload,
        context: CallContext,
    ) -> Result<Arrival, StoreError> {
        let action = context.action;
        let args = self.texts.text(args).await?;
        let (probed, most) = match self.registry.examine(tool.as_str(), &args) {
            Err(_) => (Probed::Unknown, OUTPUT_BYTES),
            Ok((tool, args)) => {
                let probing = tokio::time::timeout(context.timeout + OVERRUN_MAX, tool.probe(args, &context));
                (probing.await.unwrap_or(Probed::Unknown), tool.spec().output_bytes())
            }
        };
        let mut blobs = Vec::new();
        let found = match probed {
            Probed::Happened(text) => {
                ProbeFinding::Happened(kept_output(self.masked(text), most, &mut blobs).0)
            }
            Probed::DidNotHappen => ProbeFinding::DidNotHappen,
            Probed::Unknown => ProbeFinding::Unknown,
        };
        Ok(Arrival { what: What::Probed { action, found }, blobs })
    }

    async fn read_evidence(&self, paths: &[String]) -> Result<Arrival, StoreError> {
        let mut blobs = Vec::new();
        let mut found = Vec::new();
        for path in paths {
            match evidence::read(&self.workspace, path).await {
                Ok(bytes) => {
                    let sha256 = Digest::of(&bytes);
                    let bytes = self.secrets.mask().hide_bytes(bytes);
                    let content = Payload::keep_bytes(bytes, &mut blobs);
                    found.push(Evidence { path: path.clone(), content, sha256 });
                }
                Err(message) => {
                    let gap = EvidenceGap { path: path.clone(), message };
                    return Ok(What::EvidenceRead(Err(gap)).into());
                }
            }
        }
        Ok(Arrival { what: What::EvidenceRead(Ok(found)), blobs })
    }

    async fn weigh(&self, serial: u32, output: &Content, test: &Test) -> Result<Arrival, StoreError> {
        let output = self.texts.join(output).await?;
        Ok(What::Weighed { serial, holds: test.holds(&output) }.into())
    }

    async fn splice(
        &self,
        round: u32,
        output: &Content,
        (window, replacement): (&Window, &Payload),
    ) -> Result<Arrival, StoreError> {
        let (whole, part) = (self.texts.join(output).await?, self.texts.text(replacement).await?);
        let mut blobs = Vec::new();
        let output = window.splice(&whole, &part).map(|text| Payload::keep(text, &mut blobs));
        Ok(Arrival { what: What::Spliced { round, output }, blobs })
    }

    async fn restore(&self, action: ActionId, image: &FileImage) -> Result<Arrival, StoreError> {
        let before = match &image.before {
            Some(payload) => Some(self.texts.bytes(payload).await?),
            None => None,
        };
        let restored = restore::restore(&self.workspace, image, before.as_deref());
        let late = |_| RestoreOutcome::Failed("it did not end in time".into());
        let outcome = tokio::time::timeout(OWN_WORK, restored).await.unwrap_or_else(late);
        Ok(What::Restored { action, outcome }.into())
    }

    async fn store_result(&self, output: &Content) -> Result<Arrival, StoreError> {
        let made = result::provenance(self.store.as_ref(), &self.run).await?;
        if let Some(folder) = &self.results {
            let text = self.texts.join(output).await?;
            result::export(folder, &self.run, &text, &made.json).await?;
        }
        let provenance = Digest::of(made.json.as_bytes());
        Ok(What::ResultStored { provenance, seq: made.seq, promotes: self.promotes() }.into())
    }
}

/// What a step asks for, besides its conversation.
struct Ask {
    step: u32,
    purpose: Purpose,
    attempt: u32,
    model: String,
    tools: Arc<[ToolSpec]>,
    schema: Option<serde_json::Value>,
    output_tokens: u64,
    temperature: Option<Ppm>,
    failed: Vec<Payload>,
    likelihood: bool,
}

struct Words<'a> {
    hub: &'a Hub,
    run: &'a RunId,
    step: u32,
    /// What streams, without secrets that come in two pieces.
    shown: Mutex<MaskedStream<'a>>,
}

impl Words<'_> {
    fn end(&self) {
        let rest = self.shown.lock().unwrap_or_else(PoisonError::into_inner).rest();
        self.show(rest);
    }

    fn show(&self, text: String) {
        if !text.is_empty() && self.hub.is_watched() {
            self.hub.show(self.run, Seen::Words { step: self.step, text });
        }
    }
}

impl Watcher for Words<'_> {
    fn text(&self, piece: &str) {
        let safe = self.shown.lock().unwrap_or_else(PoisonError::into_inner).piece(piece);
        self.show(safe);
    }
}

/// An id that may be written down and sent back, and what is wrong with the model's own
/// where it is none: it would be in every later request, and in front of people.
fn sound_id(id: String, (step, index): (u32, usize)) -> (String, Option<String>) {
    let what = if id.len() > CALL_ID_MAX {
        format!("has {} bytes; the most is {CALL_ID_MAX}", id.len())
    } else if id.chars().any(char::is_control) {
        "holds control characters".to_owned()
    } else {
        return (id, None);
    };
    let told = format!("the call was not made: its id {what}. Make it again with another id");
    (format!("call-{step}.{index}"), Some(told))
}

fn failed(step: u32, kind: StepTrouble, message: String, retry_after_ms: Option<u64>) -> Arrival {
    What::ModelFailed { step, kind, message, retry_after_ms }.into()
}

/// What the model reads of an output, and the whole of it where that is more.
fn kept_output(text: String, most: u64, blobs: &mut Vec<Blob>) -> (Payload, Option<Payload>) {
    let capped = cap_output(&text, usize::try_from(most).unwrap_or(usize::MAX)).into_owned();
    if capped.len() == text.len() {
        return (Payload::keep(text, blobs), None);
    }
    let full = Payload::keep(text, blobs);
    (Payload::keep(capped, blobs), Some(full))
}

async fn within<T>(timeout_ms: u64, future: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_millis(timeout_ms), future).await.ok()
}
