//! Grammars: an answer fits its schema because nothing else can be said.
//!
//! A schema is first bounded ([`bound`]): strings, lists, numbers and white space get an
//! end, so that a model that rambles does so inside quotation marks that will close.
//! Then `llguidance` says before every token which ones may come. When the tokens run
//! out, [`Constraint::closing`] asks for the ones that finish soonest.
//!
//! Invariants
//! - Bounding only ever narrows a schema: what fits the bounded one fits the original.
//! - A schema that cannot be compiled is an error before the first token.

mod bound;
#[cfg(test)]
mod tests;

pub(crate) use bound::least_tokens;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bowline_core::tool::ToolSpec;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use serde_json::{Value, json};
use toktrie::{InferenceCapabilities, SimpleVob};

use crate::template::{CALL_BEGINS, CALL_ENDS};
use crate::vocab::Vocabulary;

/// Most calls in one reply.
pub const CALLS_MAX: usize = 8;

/// A schema cannot be turned into a grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema of {of} cannot be decoded by the local model: {what}")]
pub struct BadSchema {
    /// Whose schema.
    pub of: String,
    /// What it has that cannot be compiled.
    pub what: String,
}

/// Where in a reply a grammar of calls begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallsFrom<'a> {
    /// With the mark of the first call.
    Mark,
    /// With the mark of the first call, unless the answer is JSON that fits this schema.
    MarkOr(&'a Value),
    /// Behind it: the model has written it by itself.
    Body,
}

/// Makes grammars for one vocabulary.
pub(crate) struct Grammars {
    factory: ParserFactory,
    closers: Arc<Closers>,
}

/// Tokens that finish things.
struct Closers {
    /// Quotation marks, perhaps with closing brackets after them: the end of a string.
    quotes: Vec<u32>,
    /// Closing brackets.
    brackets: Vec<u32>,
    /// Commas: what to say when only another member can follow.
    commas: Vec<u32>,
}

/// What may still be said in one answer.
pub(crate) struct Constraint {
    matcher: Matcher,
    closers: Arc<Closers>,
}

impl Grammars {
    pub(crate) fn new(vocabulary: &Arc<Vocabulary>) -> Result<Self, BadSchema> {
        let bad = |what: String| BadSchema { of: "nothing".to_owned(), what };
        let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let build = || ParserFactory::new(&vocabulary.environment(), capabilities, &slices);
        let mut factory = catch_unwind(AssertUnwindSafe(build))
            .map_err(|_| bad("the vocabulary is not one".to_owned()))?
            .map_err(|error| bad(error.to_string()))?;
        factory.quiet();
        let ids = |fits: fn(&[u8]) -> bool| {
            let count = u32::try_from(vocabulary.len()).unwrap_or(u32::MAX);
            (0..count).filter(|id| !vocabulary.is_control(*id) && fits(vocabulary.bytes(*id))).collect()
        };
        let closers = Closers {
            quotes: ids(|bytes| {
                bytes.split_first().is_some_and(|(first, rest)| *first == b'"' && are_brackets(rest))
            }),
            brackets: ids(|bytes| !bytes.is_empty() && are_brackets(bytes)),
            commas: ids(|bytes| matches!(bytes, b"," | b", ")),
        };
        Ok(Self { factory, closers: Arc::new(closers) })
    }

    /// Answers that fit a schema; `chars` is how long all its strings together may get.
    pub(crate) fn schema(&self, schema: &Value, chars: usize) -> Result<Constraint, BadSchema> {
        let bounded = spaced(bound::bound(schema, chars));
        self.compile("the answer", TopLevelGrammar::from_json_schema(bounded))
    }

    /// One or several calls of these tools, and nothing after them.
    pub(crate) fn calls(
        &self,
        tools: &[ToolSpec],
        chars: usize,
        from: CallsFrom<'_>,
    ) -> Result<Constraint, BadSchema> {
        // A tool whose schema is at fault is found by itself, so that it can be named.
        for tool in tools {
            let bounded = spaced(bound::bound(&tool.schema, chars));
            let grammar = TopLevelGrammar::from_json_schema(bounded);
            self.compile(&format!("the tool {:?}", tool.name.as_str()), grammar)?;
        }
        let rules: Vec<String> = (0..)
            .zip(tools)
            .map(|(at, tool): (usize, _)| {
                let name = Value::String(tool.name.as_str().to_owned());
                let head = Value::String(format!("{{\"name\": {name}, \"arguments\": "));
                let schema = spaced(bound::bound(&tool.schema, chars));
                format!("tool{at}: {head} args{at} \"}}\"\nargs{at}: %json {schema}\n")
            })
            .collect();
        let names: Vec<String> = (0..tools.len()).map(|at| format!("tool{at}")).collect();
        let begin = match from {
            CallsFrom::Mark | CallsFrom::MarkOr(_) => format!("{CALL_BEGINS}\\n"),
            CallsFrom::Body => "\\n".to_owned(),
        };
        let more = CALLS_MAX - 1;
        let answer = match from {
            CallsFrom::MarkOr(schema) => {
                format!("start: calls | %json {}\n", spaced(bound::bound(schema, chars)))
            }
            CallsFrom::Mark | CallsFrom::Body => "start: calls\n".to_owned(),
        };
        let lark = format!(
            "{answer}calls: \"{begin}\" body \"\\n{CALL_ENDS}\" more{{0,{more}}}\nmore: \"\\n{CALL_BEGINS}\\n\" body \"\\n{CALL_ENDS}\"\n\
             body: {}\n{}",
            names.join(" | "),
            rules.concat()
        );
        self.compile("the tools", TopLevelGrammar::from_lark(lark))
    }

    fn compile(&self, of: &str, grammar: TopLevelGrammar) -> Result<Constraint, BadSchema> {
        let bad = |what: String| BadSchema { of: of.to_owned(), what: what.chars().take(500).collect() };
        let parser = catch_unwind(AssertUnwindSafe(|| self.factory.create_parser(grammar)))
            .map_err(|_| bad("the compiler of grammars gave up".to_owned()))?
            .map_err(|error| bad(error.to_string()))?;
        let matcher = Matcher::new(Ok(parser));
        match matcher.get_error() {
            Some(error) => Err(bad(error)),
            None => Ok(Constraint { matcher, closers: Arc::clone(&self.closers) }),
        }
    }
}

/// White space is one space after a comma or a colon, and nothing else.
fn spaced(schema: Value) -> Value {
    let mut schema = match schema {
        Value::Object(_) => schema,
        other => json!({ "allOf": [other] }),
    };
    if let Some(map) = schema.as_object_mut() {
        map.insert(
            "x-guidance".to_owned(),
            json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "}),
        );
    }
    schema
}

/// The grammar lost its way, which its limits allow for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the grammar of the answer gave up: {what}")]
pub(crate) struct GrammarLost {
    /// Why.
    pub(crate) what: String,
}

impl Constraint {
    /// Tokens that must come now, already taken.
    pub(crate) fn forced(&mut self) -> Vec<u32> {
        self.matcher.consume_ff_tokens()
    }

    /// Whether everything has been said.
    pub(crate) fn is_done(&self) -> bool {
        self.matcher.is_stopped()
    }

    /// Which tokens may come now.
    pub(crate) fn allowed(&mut self) -> Result<SimpleVob, GrammarLost> {
        self.matcher.compute_mask_or_eos().map_err(lost)
    }

    /// Of the allowed tokens those that finish soonest after what has been written; all of
    /// them where none does.
    pub(crate) fn closing(&self, allowed: SimpleVob, written: &[u8], ends: &[u32]) -> SimpleVob {
        let Closers { quotes, brackets, commas } = self.closers.as_ref();
        // Inside a string a bracket is only another letter.
        let wishes: &[&[u32]] = if is_in_string(written) { &[quotes] } else { &[ends, brackets, commas] };
        for wanted in wishes {
            let mut closing = SimpleVob::alloc(allowed.len());
            for id in wanted.iter().filter(|id| allowed.is_allowed(**id)) {
                closing.allow_token(*id);
            }
            if closing.num_set() > 0 {
                return closing;
            }
        }
        allowed
    }

    /// Which tokens may come after this one; `None` when nothing may.
    pub(crate) fn allowed_after(&self, token: u32) -> Option<SimpleVob> {
        let mut matcher = self.matcher.clone();
        matcher.consume_token(token).ok()?;
        if matcher.is_stopped() { None } else { matcher.compute_mask_or_eos().ok() }
    }

    /// Takes a token that was allowed.
    pub(crate) fn take(&mut self, token: u32) -> Result<(), GrammarLost> {
        self.matcher.consume_token(token).map_err(lost)
    }
}

fn are_brackets(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| b"}]".contains(byte))
}

/// Whether JSON that has been written so far ends inside a string.
fn is_in_string(written: &[u8]) -> bool {
    let mut is_inside = false;
    let mut is_escaped = false;
    for byte in written {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_inside,
            b'"' => is_inside = !is_inside,
            _ => {}
        }
    }
    is_inside
}

fn lost(error: impl std::fmt::Display) -> GrammarLost {
    GrammarLost { what: error.to_string().chars().take(300).collect() }
}
