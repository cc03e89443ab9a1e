//! One answer, token by token.
//!
//! The prompt is read in pieces, as far as no memory has it; then a token is chosen, what
//! the grammar forces after it is added for free, and all of it is fed at once.
//!
//! Every answer comes with its trail, so that it need not be given again ([`crate::trail`]).
//!
//! Invariants
//! - Between any two feeds somebody may stop it.
//! - An answer that does not reach its own end is [`End::Cut`], whatever was written.

use std::sync::atomic::{AtomicBool, Ordering};

use bowline_core::control::Ppm;
use bowline_core::tool::ToolSpec;
use serde_json::Value;
use toktrie::SimpleVob;

use crate::grammar::{BadSchema, CallsFrom, Constraint, GrammarLost, Grammars, least_tokens};
use crate::sampling::{Chooser, Sampling, allows};
use crate::template::CALL_BEGINS;
use crate::trail::{Choice, Detour, Trail, likelihood, share};
use crate::transformer::{EngineBroken, FEED_TOKENS_MAX, Memory, Network};
use crate::vocab::Vocabulary;

/// Characters of output that one token is taken for when strings are bounded.
const CHARS_PER_TOKEN: usize = 3;
/// Least tokens kept for finishing.
const CLOSING_MIN: usize = 12;
/// What the frame of a call takes, about.
const CALL_TOKENS: usize = 24;

/// What the answer must look like.
#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    /// Anything.
    Text,
    /// JSON that fits a schema.
    Schema(&'a Value),
    /// Calls of these tools, or else something.
    Tools { tools: &'a [ToolSpec], or: Or<'a> },
}

/// What may be said in the place of calls.
#[derive(Clone, Copy)]
pub(crate) enum Or<'a> {
    /// Anything; it may come before calls, too.
    Text,
    /// JSON that fits a schema.
    Schema(&'a Value),
    /// Nothing.
    Nothing,
}

/// What is asked for.
pub(crate) struct Ask<'a> {
    pub(crate) prompt: &'a [u32],
    pub(crate) form: Form<'a>,
    /// Most tokens to write.
    pub(crate) tokens_max: usize,
    pub(crate) sampling: Sampling,
    pub(crate) course: Course<'a>,
    /// Set by whoever does not want the answer any more.
    pub(crate) stop: &'a AtomicBool,
}

/// Where an answer goes.
#[derive(Clone, Copy)]
pub(crate) enum Course<'a> {
    /// Anywhere but to these.
    Unlike(&'a [Trail]),
    /// Along a text, so as to learn its trail.
    Along(&'a str),
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Whole,
    /// The tokens ran out.
    Cut,
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) end: End,
    pub(crate) tokens: u64,
    /// Everything before the first call.
    pub(crate) text: String,
    /// Everything from the first call on; empty without one.
    pub(crate) calls: String,
    /// How the text came about, where it is all of a whole answer.
    pub(crate) trail: Option<Trail>,
    /// How likely the model found its choices.
    pub(crate) likelihood: Ppm,
}

/// No answer came of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("nobody wants the answer any more")]
    Stopped,
    #[error(transparent)]
    Schema(#[from] BadSchema),
    #[error(transparent)]
    Lost(#[from] GrammarLost),
    #[error(transparent)]
    Broken(#[from] EngineBroken),
}

/// The parts of a model that answering needs.
#[derive(Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) network: &'a dyn Network,
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) grammars: &'a Grammars,
}

/// Where the answer stands between phases: called when the prompt has been read, and
/// with every new piece of text.
pub(crate) trait Progress {
    fn prompt_read(&mut self);
    fn text(&mut self, piece: &str);
}

/// Writes an answer at the end of a memory that begins the prompt.
pub(crate) fn generate(
    parts: Parts<'_>,
    memory: &mut Memory,
    ask: &Ask<'_>,
    progress: &mut dyn Progress,
) -> Result<Written, NoAnswer> {
    let chars = ask.tokens_max.saturating_mul(CHARS_PER_TOKEN);
    let constraint = match &ask.form {
        Form::Schema(schema) => Some(parts.grammars.schema(schema, chars)?),
        // Compiled now, so that a schema at fault is found before anything is said.
        Form::Tools { tools, or: Or::Text } => {
            parts.grammars.calls(tools, chars, CallsFrom::Body)?;
            None
        }
        Form::Tools { tools, or: Or::Schema(schema) } => {
            Some(parts.grammars.calls(tools, chars, CallsFrom::MarkOr(schema))?)
        }
        Form::Tools { tools, or: Or::Nothing } => {
            Some(parts.grammars.calls(tools, chars, CallsFrom::Mark)?)
        }
        Form::Text => None,
    };
    let mut writer = Writer {
        parts,
        memory,
        ask,
        progress,
        chooser: Chooser::new(ask.sampling),
        constraint,
        chars,
        closing: closing(ask),
        written: Vec::new(),
        choices: Vec::new(),
        worths: Vec::new(),
        bytes: Vec::new(),
        shown: 0,
        calls_at: None,
    };
    writer.run()
}

/// Tokens kept for finishing: what must be written in any case, and a little more.
fn closing(ask: &Ask<'_>) -> usize {
    let least = match &ask.form {
        Form::Text => 0,
        Form::Schema(schema) => least_tokens(schema),
        Form::Tools { tools, or } => {
            let or = if let Or::Schema(schema) = or { least_tokens(schema) } else { 0 };
            tools.iter().map(|tool| least_tokens(&tool.schema) + CALL_TOKENS).fold(or, usize::max)
        }
    };
    (least + CLOSING_MIN).max(ask.tokens_max / 8).min(ask.tokens_max / 2)
}

struct Writer<'a> {
    parts: Parts<'a>,
    memory: &'a mut Memory,
    ask: &'a Ask<'a>,
    progress: &'a mut dyn Progress,
    chooser: Chooser,
    constraint: Option<Constraint>,
    chars: usize,
    /// From so many tokens before the limit on, what finishes soonest is said.
    closing: usize,
    written: Vec<u32>,
    choices: Vec<Choice>,
    /// How likely each choice was, of what did not lead to a failed answer.
    worths: Vec<f64>,
    bytes: Vec<u8>,
    shown: usize,
    /// Where in `bytes` the calls begin.
    calls_at: Option<usize>,
}

impl Writer<'_> {
    fn run(&mut self) -> Result<Written, NoAnswer> {
        let known = self.memory.tokens().len();
        let prompt = self.ask.prompt.get(known..).unwrap_or_default();
        let mut scores = self.feed(prompt)?;
        self.progress.prompt_read();
        if self.constraint.is_some() {
            let forced = self.take_forced();
            if !forced.is_empty() {
                scores = self.feed(&forced)?;
            }
        }
        let end = loop {
            if let Some(end) = self.ended() {
                break end;
            }
            if self.written.len() == self.ask.tokens_max {
                break End::Cut;
            }
            let Some(token) = self.choose(&scores)? else { break End::Cut };
            if self.parts.vocabulary.is_end(token) {
                break End::Whole;
            }
            let fed = self.take(token)?;
            if let Some(end) = self.ended() {
                break end;
            }
            scores = match fed {
                Fed::Due(due) => self.feed(&due)?,
                Fed::Already(scores) => scores,
            };
        };
        Ok(self.finish(end))
    }

    /// Whether it is over: what the grammar forces may also go past the limit.
    fn ended(&self) -> Option<End> {
        if self.written.len() > self.ask.tokens_max {
            return Some(End::Cut);
        }
        self.constraint.as_ref().is_some_and(Constraint::is_done).then_some(End::Whole)
    }

    fn feed(&mut self, tokens: &[u32]) -> Result<Vec<f32>, NoAnswer> {
        let mut scores = Vec::new();
        for tokens in tokens.chunks(FEED_TOKENS_MAX) {
            if self.ask.stop.load(Ordering::Acquire) {
                return Err(NoAnswer::Stopped);
            }
            scores = self.parts.network.feed(self.memory, tokens)?;
        }
        Ok(scores)
    }

    fn choose(&mut self, scores: &[f32]) -> Result<Option<u32>, NoAnswer> {
        let vocabulary = self.parts.vocabulary;
        let mask = self.mask()?;
        let may = |id| match &mask {
            Some(mask) => allows(mask, id),
            None => vocabulary.is_end(id) || !vocabulary.is_control(id),
        };
        let (token, worth) = match self.ask.course {
            Course::Unlike(failed) => self.draw(scores, failed, may),
            Course::Along(text) => (self.follow(scores, text, may), None),
        };
        if let Some(token) = token {
            let share = share(scores, may, token);
            self.choices.push(Choice { token, share });
            self.worths.push(worth.unwrap_or(share));
        }
        Ok(token)
    }

    /// What the grammar lets through; what finishes soonest when the tokens run out.
    fn mask(&mut self) -> Result<Option<SimpleVob>, NoAnswer> {
        let Some(constraint) = &mut self.constraint else { return Ok(None) };
        let mask = constraint.allowed()?;
        let left = self.ask.tokens_max.saturating_sub(self.written.len());
        if left > self.closing {
            return Ok(Some(mask));
        }
        let written = self.bytes.get(self.calls_at.unwrap_or(0)..).unwrap_or_default();
        Ok(Some(constraint.closing(mask, written, self.parts.vocabulary.ends())))
    }

    /// A token that does not lead to a failed answer, as long as there is one; and how
    /// likely it is of what does not, where that makes a difference.
    fn draw(
        &mut self,
        scores: &[f32],
        failed: &[Trail],
        may: impl Fn(u32) -> bool,
    ) -> (Option<u32>, Option<f64>) {
        let detour = Detour::of(self.parts.vocabulary, failed, &self.choices, &self.bytes);
        let mut left = detour.as_ref().map(|detour| detour.scores(scores)).unwrap_or_default();
        while let Some((detour, token)) = detour.as_ref().zip(self.chooser.choose(&left, &may)) {
            if self.can_part(token, &detour.disguised(token)) {
                return (Some(token), Some(share(&left, may, token)));
            }
            let taken = usize::try_from(token).ok().and_then(|at| left.get_mut(at));
            taken.into_iter().for_each(|score| *score = f32::NEG_INFINITY);
        }
        (self.chooser.choose(scores, may), None)
    }

    /// Whether something else than any of these texts may follow a token.
    fn can_part(&self, token: u32, texts: &[&[u8]]) -> bool {
        let Some(constraint) = self.constraint.as_ref().filter(|_| !texts.is_empty()) else { return true };
        let Some(mask) = constraint.allowed_after(token) else { return false };
        let parts = |id: u32| !texts.iter().any(|text| self.parts.vocabulary.goes_on(id, text));
        mask.iter().any(parts)
    }

    /// The likeliest token that goes on with a text.
    fn follow(&self, scores: &[f32], text: &str, may: impl Fn(u32) -> bool) -> Option<u32> {
        let ahead = text.as_bytes().strip_prefix(self.bytes.as_slice())?;
        let fits = |id: u32| self.parts.vocabulary.goes_on(id, ahead) && may(id);
        Chooser::new(Sampling::default()).choose(scores, fits)
    }

    /// Adds a token and whatever must follow it.
    fn take(&mut self, token: u32) -> Result<Fed, NoAnswer> {
        self.push(token);
        let mut due = vec![token];
        if let Some(constraint) = &mut self.constraint {
            constraint.take(token)?;
            due.extend(self.take_forced());
        } else if let Some(at) = self.found_call(token) {
            return self.begin_calls(at);
        } else {
            self.show();
        }
        Ok(Fed::Due(due))
    }

    fn push(&mut self, token: u32) {
        self.written.push(token);
        self.bytes.extend_from_slice(self.parts.vocabulary.bytes(token));
    }

    fn take_forced(&mut self) -> Vec<u32> {
        let forced = self.constraint.as_mut().map(Constraint::forced).unwrap_or_default();
        for token in &forced {
            self.push(*token);
        }
        self.show();
        forced
    }

    /// Whether the last token has completed the mark of a call, and where that begins.
    fn found_call(&self, token: u32) -> Option<usize> {
        if !matches!(self.ask.form, Form::Tools { .. }) {
            return None;
        }
        let mark = CALL_BEGINS.as_bytes();
        let new = self.parts.vocabulary.bytes(token).len();
        let from = self.bytes.len().saturating_sub(new + mark.len());
        let tail = self.bytes.get(from..).unwrap_or_default();
        tail.windows(mark.len()).position(|window| window == mark).map(|at| from + at)
    }

    /// From here on only calls can be said. What the last token said beyond the mark is
    /// taken back: it was not chosen under the grammar.
    fn begin_calls(&mut self, at: usize) -> Result<Fed, NoAnswer> {
        let Form::Tools { tools, .. } = &self.ask.form else { return Ok(Fed::Due(Vec::new())) };
        self.constraint = Some(self.parts.grammars.calls(tools, self.chars, CallsFrom::Body)?);
        let end = at + CALL_BEGINS.len();
        self.show_until(at);
        self.calls_at = Some(at);
        let whole = self.bytes.len() == end;
        let fed = self.memory.tokens().len();
        if !whole && let Some(token) = self.written.pop() {
            let start = self.bytes.len() - self.parts.vocabulary.bytes(token).len();
            let kept = self.bytes.get(start..end).map(<[u8]>::to_vec).unwrap_or_default();
            self.bytes.truncate(start);
            for token in self.parts.vocabulary.encode(&String::from_utf8_lossy(&kept)) {
                self.push(token);
            }
        }
        self.take_forced();
        let prompt = self.ask.prompt.len();
        let due = self.written.get(fed.saturating_sub(prompt)..).unwrap_or_default().to_vec();
        self.feed(&due).map(Fed::Already)
    }

    /// Shows the text so far, except an end that may become the mark of a call or that is
    /// half a letter.
    fn show(&mut self) {
        // Under a grammar the first byte tells calls from an answer.
        if self.constraint.is_some() && self.bytes.first() == Some(&b'<') && self.calls_at.is_none() {
            self.calls_at = Some(0);
        }
        if self.calls_at.is_some() {
            return;
        }
        let mut until = self.bytes.len();
        if matches!(self.ask.form, Form::Tools { .. }) {
            let mark = CALL_BEGINS.as_bytes();
            let held = (1..mark.len())
                .rev()
                .find(|len| mark.get(..*len).is_some_and(|start| self.bytes.ends_with(start)));
            until -= held.unwrap_or(0);
        }
        self.show_until(until);
    }

    fn show_until(&mut self, until: usize) {
        let new = self.bytes.get(self.shown..until).unwrap_or_default();
        let text = match std::str::from_utf8(new) {
            Ok(text) => text,
            // Up to three bytes may be the start of a letter; what can be none is shown at the end.
            Err(error) => {
                std::str::from_utf8(new.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
            }
        };
        if !text.is_empty() {
            self.progress.text(text);
            self.shown += text.len();
        }
    }

    fn finish(&mut self, end: End) -> Written {
        let at = self.calls_at.unwrap_or(self.bytes.len());
        let (text, calls) = self.bytes.split_at_checked(at).unwrap_or((&self.bytes, &[]));
        Written {
            end,
            tokens: self.written.len().min(self.ask.tokens_max) as u64,
            text: String::from_utf8_lossy(text).into_owned(),
            calls: String::from_utf8_lossy(calls).into_owned(),
            likelihood: likelihood(&self.worths),
            trail: (end == End::Whole && calls.is_empty())
                .then(|| Trail { text: text.to_vec(), choices: std::mem::take(&mut self.choices) }),
        }
    }
}

/// What became of a token.
enum Fed {
    /// These are still to be fed.
    Due(Vec<u32>),
    /// It has been fed, and these are the scores of what follows.
    Already(Vec<f32>),
}
