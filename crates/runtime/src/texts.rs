//! Payloads as texts: what a run says and reads, fetched from the store once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_core::append_list::AppendList;
use bowline_core::message::{Blob, Message, Part, Payload};
use bowline_core::provenance::Digest;
use bowline_core::untrusted::{Mark, Rendered as Rendering, in_code_fence, render, unfenced};
use bowline_models::{Said, SaidCall};
use bowline_store::{RunStore, StoreError};
use bowline_tools::cap_output;

/// Bytes kept per run, so that a conversation is not read anew at every step.
const KEEP_MAX: usize = 4 << 20;
/// A text shorter than this may grow to it when it is neutralised.
const SHORT_MAX: usize = 64;

/// Reads payloads of one run.
#[derive(Clone)]
pub(crate) struct Texts {
    store: Arc<dyn RunStore>,
    kept: Arc<Mutex<Kept>>,
    rendered: Arc<Mutex<Rendered>>,
}

/// The chunks of conversations that change no more, as a model reads them. Each is
/// known by where it lies, which is its own for as long as it is kept here.
#[derive(Default)]
struct Rendered {
    chunks: BTreeMap<usize, Chunk>,
    bytes: usize,
}

struct Chunk {
    /// Held, so that nothing else comes to lie there.
    _messages: Arc<[Message]>,
    said: Arc<[Said]>,
}

impl Rendered {
    fn keep(&mut self, chunk: &Arc<[Message]>, said: &Arc<[Said]>) {
        let bytes = said.iter().map(Said::bytes).sum::<usize>();
        if self.bytes + bytes > KEEP_MAX {
            *self = Self::default();
        }
        self.bytes += bytes;
        let kept = Chunk { _messages: chunk.clone(), said: said.clone() };
        self.chunks.insert(chunk.as_ptr().addr(), kept);
    }
}

#[derive(Default)]
struct Kept {
    texts: BTreeMap<Digest, Arc<[u8]>>,
    bytes: usize,
}

impl Texts {
    pub(crate) fn new(store: Arc<dyn RunStore>) -> Self {
        Self { store, kept: Arc::default(), rendered: Arc::default() }
    }

    /// Takes note of content that is about to be stored.
    pub(crate) fn keep(&self, blob: &Blob) {
        self.insert(blob.sha256, blob.bytes.as_slice().into());
    }

    fn insert(&self, sha256: Digest, bytes: Arc<[u8]>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + bytes.len() > KEEP_MAX {
            *kept = Kept::default();
        }
        if bytes.len() <= KEEP_MAX {
            kept.bytes += bytes.len();
            kept.texts.insert(sha256, bytes);
        }
    }

    /// The bytes of a payload.
    pub(crate) async fn bytes(&self, payload: &Payload) -> Result<Arc<[u8]>, StoreError> {
        let sha256 = match payload {
            Payload::Inline(text) => return Ok(text.as_bytes().into()),
            Payload::Stored { sha256, .. } => *sha256,
        };
        if let Some(bytes) = self.kept(sha256) {
            return Ok(bytes);
        }
        let bytes: Arc<[u8]> = self.store.blob(sha256).await?.into();
        self.insert(sha256, bytes.clone());
        Ok(bytes)
    }

    /// A payload as text.
    pub(crate) async fn text(&self, payload: &Payload) -> Result<String, StoreError> {
        match payload {
            Payload::Inline(text) => Ok(text.to_string()),
            Payload::Stored { .. } => Ok(String::from_utf8_lossy(&self.bytes(payload).await?).into_owned()),
        }
    }

    /// Several payloads, each as a text of its own.
    pub(crate) async fn each(&self, payloads: &[Payload]) -> Result<Vec<String>, StoreError> {
        let mut texts = Vec::with_capacity(payloads.len());
        for payload in payloads {
            texts.push(self.text(payload).await?);
        }
        Ok(texts)
    }

    /// Several payloads as one text.
    pub(crate) async fn join(&self, parts: &[Payload]) -> Result<String, StoreError> {
        let mut whole = String::new();
        for part in parts {
            whole.push_str(&self.text(part).await?);
        }
        Ok(whole)
    }

    /// A conversation as a model reads it. What was said long ago is rendered once.
    pub(crate) async fn conversation(
        &self,
        messages: &AppendList<Message>,
    ) -> Result<AppendList<Said>, StoreError> {
        let (frozen, tail) = messages.chunks();
        let mut chunks = Vec::with_capacity(frozen.len());
        for chunk in frozen {
            chunks.push(self.chunk(chunk).await?);
        }
        Ok(AppendList::from_chunks(chunks, self.said(tail).await?))
    }

    async fn chunk(&self, chunk: &Arc<[Message]>) -> Result<Arc<[Said]>, StoreError> {
        let known = || self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known().chunks.get(&chunk.as_ptr().addr()) {
            return Ok(kept.said.clone());
        }
        let said: Arc<[Said]> = self.said(chunk).await?.into();
        known().keep(chunk, &said);
        Ok(said)
    }

    async fn said(&self, messages: &[Message]) -> Result<Vec<Said>, StoreError> {
        let mut said = Vec::with_capacity(messages.len());
        for message in messages {
            said.push(self.message(message).await?);
        }
        Ok(said)
    }

    async fn message(&self, message: &Message) -> Result<Said, StoreError> {
        Ok(match message {
            Message::System(content) => Said::System(self.join(content).await?),
            Message::User(content) => Said::User(self.join(content).await?),
            Message::Assistant { text, calls } => {
                let text = self.text(text).await?;
                let mut asked = Vec::with_capacity(calls.len());
                for call in calls {
                    asked.push(SaidCall {
                        id: call.id.to_string(),
                        tool: call.tool.to_string(),
                        args: self.text(&call.args).await?,
                    });
                }
                Said::Assistant { text, calls: asked }
            }
            Message::Briefing(parts) => Said::User(self.briefing(parts).await?),
            Message::ToolResult { call, output, mark, given, is_error, notice } => {
                let output = match mark {
                    Some(mark) if *given => self.shown(output, mark, Form::Bare).await?,
                    Some(mark) => self.shown(output, mark, Form::Fenced).await?,
                    None => self.text(output).await?,
                };
                let output = with_notice(notice.as_deref(), output);
                Said::ToolResult { call: call.to_string(), output, is_error: *is_error }
            }
        })
    }

    async fn briefing(&self, parts: &[Part]) -> Result<String, StoreError> {
        let mut whole = String::new();
        for part in parts {
            whole.push_str(&match part {
                Part::Words(words) => self.text(words).await?,
                Part::Material { mark, text, window, given, .. } => {
                    let form = given.as_deref().map_or(Form::Fenced, Form::Code);
                    match window {
                        None => self.shown(text, mark, form).await?,
                        Some(window) => {
                            let whole = self.text(text).await?;
                            let most = whole.len();
                            capped(&window.shown(&whole).unwrap_or(whole), mark, form, most)
                        }
                    }
                }
            });
        }
        Ok(whole)
    }

    /// A text that is not ours, as a model may read it. Never more than was set aside
    /// for it: a text that grows by being neutralised is cut.
    async fn shown(&self, payload: &Payload, mark: &Mark, form: Form<'_>) -> Result<String, StoreError> {
        // A mark stands for one text in one form, so what it fences can be kept by it.
        let name = Digest::of_parts(&[b"fenced", mark.as_str().as_bytes(), &payload.digest().0]);
        if let Some(bytes) = self.kept(name) {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        let text = self.text(payload).await?;
        let rendered = capped(&text, mark, form, text.len());
        self.insert(name, rendered.as_bytes().into());
        Ok(rendered)
    }

    fn kept(&self, name: Digest) -> Option<Arc<[u8]>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).texts.get(&name).cloned()
    }
}

/// How a text that is not ours is shown.
#[derive(Clone, Copy)]
enum Form<'f> {
    /// Nobody vouches for it: between marks its author does not know.
    Fenced,
    /// Given: as code of a language.
    Code(&'f str),
    /// Given: as it is.
    Bare,
}

impl Form<'_> {
    fn render(self, text: &str, mark: &Mark) -> Rendering {
        match self {
            Self::Fenced => render(text, mark),
            Self::Code(language) => in_code_fence(text, language, mark),
            Self::Bare => unfenced(text),
        }
    }
}

/// A text in its form, its body no longer than what was set aside for it.
fn capped(text: &str, mark: &Mark, form: Form<'_>, most: usize) -> String {
    let rendered = form.render(text, mark);
    let most = most.max(SHORT_MAX);
    if rendered.body().len() > most {
        return form.render(&cap_output(rendered.body(), most), mark).text;
    }
    rendered.text
}

/// A result as the model reads it: first what it is told about it.
fn with_notice(notice: Option<&str>, output: String) -> String {
    match notice {
        None => output,
        Some(notice) if output.is_empty() => format!("[{notice}]"),
        Some(notice) => format!("[{notice}]\n\n{output}"),
    }
}
