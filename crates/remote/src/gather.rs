//! An answer while it comes in: text, calls, how it ended, what it used.
//!
//! Everything here is bounded. A text that is over is cut, marked and said to be
//! truncated; calls that are over make the answer unusable. Only [`Gathered::answer`]
//! makes an answer of it, and of a part it makes none.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::budget::Price;
use bowline_core::message::Stop;
use bowline_models::{Answer, Request, Said, SaidCall};

use crate::arguments;
use crate::booked::{self, Measured, Tally};
use crate::json::Raw;
use crate::known::Unheard;
use crate::least::Least;
use crate::likelihood::Likelihood;
use crate::names::Names;

/// Longest text of an answer, in bytes. What is over is cut.
pub(crate) const TEXT_MAX: usize = 1 << 20;
/// No token that was asked for says more bytes than this: what is longer than all of them
/// together was not asked for, and would not fit into the next request.
const TOKEN_BYTES_MAX: u64 = 32;
/// What is taken of a text in any case, in bytes.
const TEXT_MIN: usize = 64 << 10;
/// Most calls of an answer.
const CALLS_MAX: usize = 1024;
/// Longest arguments of all calls of an answer, in bytes, with their ids and names.
pub(crate) const CALLS_BYTES_MAX: usize = 4 << 20;

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As the model wanted it.
    As(Stop),
    /// The server could not go on.
    Failed(String),
}

/// Why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It ended without its end.
    Cut,
    /// It stops for a call and has none.
    NoCall,
    /// The server says that it could not finish.
    Unfinished(String),
    /// More calls than anybody makes.
    TooLarge,
}

/// A call while it comes in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// What has come of its arguments, as a text.
    pub(crate) args: String,
}

/// Where the pieces of a numbered block go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Into this call.
    Call(usize),
    /// Into the text.
    Text,
}

/// An answer while it comes in.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    text: String,
    /// Bytes of text that are taken, if that is less than [`TEXT_MAX`].
    text_max: Option<usize>,
    /// Bytes of text that were left out.
    over: usize,
    calls: Vec<Part>,
    calls_bytes: usize,
    too_large: bool,
    slots: BTreeMap<u64, Slot>,
    ended: Option<Ended>,
    pub(crate) tally: Tally,
    likelihood: Likelihood,
    /// What was told of the thinking, which is only counted.
    thought: Least,
    /// The answer is asked for as the one call of this tool, whose arguments are the text.
    pub(crate) answer_tool: Option<&'static str>,
    /// What is said is a refusal.
    pub(crate) refused: bool,
    /// How much of the text was shown.
    shown: usize,
}

impl Gathered {
    /// Nothing yet; the answer is asked for as the one call of a tool, or as it comes, and
    /// in at most so many tokens.
    pub(crate) fn new(answer_tool: Option<&'static str>, output_tokens: u64) -> Self {
        let most = usize::try_from(output_tokens.saturating_mul(TOKEN_BYTES_MAX)).unwrap_or(TEXT_MAX);
        Self { answer_tool, text_max: Some(most.clamp(TEXT_MIN, TEXT_MAX)), ..Self::default() }
    }

    /// Takes in a piece of text.
    pub(crate) fn say(&mut self, piece: &str) {
        if self.is_over() {
            return;
        }
        let most = self.text_max.unwrap_or(TEXT_MAX);
        let fits = piece.floor_char_boundary(most.saturating_sub(self.text.len()));
        self.text.push_str(piece.get(..fits).unwrap_or_default());
        self.over += piece.len() - fits;
    }

    /// Counts a piece of what it thought, which nobody keeps.
    pub(crate) fn think(&mut self, piece: &str) {
        if !self.is_over() {
            self.thought.read(piece);
        }
    }

    /// Takes in how likely the tokens of a piece were.
    pub(crate) fn likely(&mut self, tokens: Raw<'_>) {
        if !self.is_over() {
            self.likelihood.tokens(tokens);
        }
    }

    /// Takes in how likely the tokens were on the whole.
    pub(crate) fn likely_on_average(&mut self, mean: Raw<'_>) {
        if !self.is_over() {
            self.likelihood.mean(mean);
        }
    }

    /// What of the text nobody was shown yet.
    pub(crate) fn unshown(&mut self) -> &str {
        let from = std::mem::replace(&mut self.shown, self.text.len());
        self.text.get(from..).unwrap_or_default()
    }

    /// How much of the text was shown.
    pub(crate) fn shown(&self) -> usize {
        self.shown
    }

    /// Whether more than anybody holds was said; what follows is not needed.
    pub(crate) fn is_full(&self) -> bool {
        self.over > 0 || self.too_large
    }

    /// A call that came whole.
    pub(crate) fn call(&mut self, part: Part) {
        self.begin(None, part);
    }

    /// A call begins, under the server's number for it.
    pub(crate) fn begin(&mut self, number: Option<u64>, part: Part) {
        if self.is_over() {
            return;
        }
        self.weigh(part.id.len() + part.tool.len() + part.args.len());
        if self.calls.len() >= CALLS_MAX {
            self.too_large = true;
        }
        if self.too_large {
            return;
        }
        if let Some(number) = number {
            self.slots.insert(number, Slot::Call(self.calls.len()));
        }
        self.calls.push(part);
    }

    /// The numbered block is the text, and what was said before it is not.
    pub(crate) fn begin_text(&mut self, number: u64) {
        self.text.clear();
        self.shown = 0;
        if self.slots.len() < CALLS_MAX {
            self.slots.insert(number, Slot::Text);
        }
    }

    /// Where pieces of this number go.
    pub(crate) fn slot(&self, number: u64) -> Option<Slot> {
        self.slots.get(&number).copied()
    }

    /// The call that began last.
    pub(crate) fn last_call(&self) -> Option<Slot> {
        self.calls.len().checked_sub(1).map(Slot::Call)
    }

    /// Whether a piece with this id belongs to a call, and is not the next under its number.
    pub(crate) fn continues(&self, at: usize, id: &str) -> bool {
        id.is_empty() || self.calls.get(at).is_some_and(|part| part.id.is_empty() || part.id == id)
    }

    /// More of a call's name, id or arguments.
    pub(crate) fn more(&mut self, at: usize, id: &str, tool: &str, args: &str) {
        if self.is_over() {
            return;
        }
        self.weigh(id.len() + tool.len() + args.len());
        if self.too_large {
            return;
        }
        let Some(part) = self.calls.get_mut(at) else { return };
        // Some servers repeat id and name with every piece.
        if part.id.is_empty() {
            part.id.push_str(id);
        }
        if part.tool.is_empty() {
            part.tool.push_str(tool);
        }
        part.args.push_str(args);
    }

    fn weigh(&mut self, bytes: usize) {
        self.calls_bytes = self.calls_bytes.saturating_add(bytes);
        self.too_large |= self.calls_bytes > CALLS_BYTES_MAX;
    }

    /// How it ended; the first word counts.
    pub(crate) fn end(&mut self, ended: Ended) {
        self.ended.get_or_insert(ended);
    }

    /// Whether it has ended: what is said after that is not taken in.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether anything was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// The answer, if it is whole.
    pub(crate) fn answer(mut self, asked: &Asked<'_>) -> Result<Answer, Unusable> {
        if self.too_large {
            return Err(Unusable::TooLarge);
        }
        let stop = match self.ended.take() {
            _ if self.over > 0 => Stop::Truncated,
            Some(Ended::As(stop)) => stop,
            Some(Ended::Failed(why)) => return Err(Unusable::Unfinished(why)),
            None => return Err(Unusable::Cut),
        };
        if let Some(tool) = self.answer_tool {
            self.unwrap_answer(tool);
        }
        let (usage, claim) = booked::booked(&self.tally, &self.measured(asked), &asked.price);
        let is_whole = matches!(stop, Stop::End | Stop::ToolUse);
        let calls = if is_whole { self.take_calls(asked) } else { Vec::new() };
        let stop = match stop {
            Stop::End | Stop::ToolUse if !calls.is_empty() => Stop::ToolUse,
            Stop::ToolUse if self.answer_tool.is_none() => return Err(Unusable::NoCall),
            Stop::ToolUse => Stop::End,
            other => other,
        };
        if self.over > 0 {
            self.text.push_str(&format!("\n[cut: {} bytes and more were left out]", self.over));
        }
        let likelihood = self.likelihood.told().filter(|_| asked.likelihood && stop == Stop::End);
        let micros = asked.price.of(&usage);
        Ok(Answer { stop, usage, micros, text: self.text, calls, likelihood, claim })
    }

    /// The call that stands for the text becomes it.
    fn unwrap_answer(&mut self, tool: &str) {
        if let Some(at) = self.calls.iter().position(|part| part.tool == tool) {
            let part = self.calls.remove(at);
            self.text.clear();
            self.say(&part.args);
        }
    }

    fn take_calls(&mut self, asked: &Asked<'_>) -> Vec<SaidCall> {
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for said in asked.request.messages.iter() {
            if let Said::Assistant { calls, .. } = said {
                known.extend(calls.iter().map(|call| call.id.as_str()));
            }
        }
        let mut ids: BTreeSet<String> = BTreeSet::new();
        let mut calls = Vec::with_capacity(self.calls.len());
        for (index, part) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let is_own = !part.id.is_empty() && !known.contains(part.id.as_str()) && !ids.contains(&part.id);
            // Steps are numbered over the whole run, so this was never given before.
            let id = if is_own { part.id } else { format!("call-{}.{index}", asked.request.step) };
            ids.insert(id.clone());
            let tool = asked.names.ours(part.tool);
            calls.push(SaidCall { id, tool, args: arguments::settled(part.args) });
        }
        calls
    }

    /// What of it went over the wire, by our own measure.
    fn measured(&self, asked: &Asked<'_>) -> Measured {
        let mut said = Least::of(&self.text);
        said.skip(self.over);
        for part in &self.calls {
            said.read(&part.tool);
            said.read(&part.args);
        }
        Measured {
            sent_bytes: asked.body_bytes,
            sent_least: least(asked.request),
            unheard: asked.unheard,
            said_bytes: self.text.len() + self.over + self.calls_bytes,
            said,
            thought: self.thought,
        }
    }
}

/// So many tokens a request has at the least: what is said in it, and its tools.
fn least(request: &Request) -> u64 {
    let mut least = Least::default();
    for said in request.messages.iter() {
        match said {
            Said::System(text) | Said::User(text) | Said::ToolResult { output: text, .. } => least.read(text),
            Said::Assistant { text, calls } => {
                least.read(text);
                calls.iter().flat_map(|call| [&call.tool, &call.args]).for_each(|text| least.read(text));
            }
        }
    }
    for tool in request.tools.iter() {
        least.read(tool.name.as_str());
        least.read(&tool.description);
        least.read(&tool.schema.to_string());
    }
    least.tokens()
}

/// What an answer is held against.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Request,
    pub(crate) names: &'a Names,
    pub(crate) price: Price,
    /// How long the request was, for a server that does not count tokens.
    pub(crate) body_bytes: usize,
    /// What of it was never sent before.
    pub(crate) unheard: Unheard,
    /// Whether it was asked how likely the model finds its words.
    pub(crate) likelihood: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::request;

    fn answered(gathered: Gathered) -> Result<Answer, Unusable> {
        let (request, names) = (request(), Names::default());
        let (price, likelihood) = (Price::FREE, true);
        gathered.answer(&Asked {
            request: &request,
            names: &names,
            price,
            body_bytes: 300,
            unheard: Unheard::default(),
            likelihood,
        })
    }

    fn part(id: &str) -> Part {
        Part { id: id.into(), tool: "read".into(), args: "{}".into() }
    }

    #[test]
    fn ids_that_are_missing_or_stand_twice_become_ids_of_their_own() {
        let mut gathered = Gathered::default();
        ["a", "a", "", "b"].into_iter().for_each(|id| gathered.call(part(id)));
        gathered.end(Ended::As(Stop::End));
        let answer = answered(gathered).unwrap();
        let ids: Vec<&str> = answer.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "call-3.1", "call-3.2", "b"]);
        assert_eq!(answer.stop, Stop::ToolUse, "calls run, whatever the reason to stop says");
    }

    #[test]
    fn a_part_is_no_answer_and_a_cut_answer_has_no_calls() {
        let mut gathered = Gathered::default();
        gathered.call(part("a"));
        assert_eq!(answered(gathered), Err(Unusable::Cut));
        let mut gathered = Gathered::default();
        gathered.say("half");
        gathered.call(part("a"));
        gathered.end(Ended::As(Stop::Truncated));
        let answer = answered(gathered).unwrap();
        assert_eq!((answer.stop, answer.calls.len(), answer.text.as_str()), (Stop::Truncated, 0, "half"));
    }

    #[test]
    fn a_stop_for_a_call_without_one_is_an_error() {
        let mut gathered = Gathered::default();
        gathered.end(Ended::As(Stop::ToolUse));
        assert_eq!(answered(gathered), Err(Unusable::NoCall));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_marked_and_truncated() {
        let mut gathered = Gathered::default();
        gathered.say(&"ä".repeat(TEXT_MAX));
        assert!(gathered.is_full());
        gathered.end(Ended::As(Stop::End));
        let answer = answered(gathered).unwrap();
        assert_eq!(answer.stop, Stop::Truncated);
        assert!(answer.text.len() < TEXT_MAX + 100 && answer.text.ends_with("were left out]"));
    }

    #[test]
    fn a_text_that_is_longer_than_all_its_tokens_is_cut_there() {
        for (tokens, most) in [(1, TEXT_MIN), (8_192, 8_192 * 32), (u64::MAX, TEXT_MAX)] {
            let mut gathered = Gathered::new(None, tokens);
            gathered.say(&"x".repeat(most));
            assert!(!gathered.is_full(), "{tokens}");
            gathered.say("x");
            assert!(gathered.is_full(), "{tokens}");
        }
    }

    #[test]
    fn too_many_calls_or_too_long_ones_are_refused() {
        let mut many = Gathered::default();
        (0..=CALLS_MAX).for_each(|at| many.call(part(&at.to_string())));
        many.end(Ended::As(Stop::ToolUse));
        assert_eq!(answered(many), Err(Unusable::TooLarge));
        let mut long = Gathered::default();
        long.call(part("a"));
        (0..5).for_each(|_| long.more(0, "", "", &"x".repeat(1 << 20)));
        assert_eq!(answered(long), Err(Unusable::TooLarge));
    }

    #[test]
    fn what_a_server_does_not_count_is_estimated() {
        let mut silent = Gathered::default();
        silent.say("twelve bytes");
        silent.end(Ended::As(Stop::End));
        let answer = answered(silent).unwrap();
        assert_eq!((answer.usage.input, answer.usage.output), (100, 4));
        assert_eq!(answer.claim, Some(bowline_core::message::Claim::default()));
    }

    #[test]
    fn all_that_was_written_counts_in_words_calls_and_thoughts() {
        let long = "some words of it ".repeat(100);
        let booked = |fill: &dyn Fn(&mut Gathered)| {
            let tally = Tally { input: Some(100), output: Some(1), ..Tally::default() };
            let mut gathered = Gathered { tally, ..Gathered::default() };
            fill(&mut gathered);
            gathered.end(Ended::As(Stop::End));
            answered(gathered).unwrap().usage.output
        };
        assert_eq!(booked(&|_| {}), 1);
        assert_eq!(booked(&|gathered| gathered.say(&long)), 106);
        assert_eq!(booked(&|gathered| gathered.think(&long)), 106);
        let call = || Part { id: "x".repeat(100), tool: "read".into(), args: long.clone() };
        assert_eq!(booked(&|gathered| gathered.call(call())), 106);
        assert!(booked(&|gathered| (0..10).for_each(|_| gathered.call(call()))) > 1060);
        assert!(booked(&|gathered| gathered.say(&"ab".repeat(TEXT_MAX))) > 70_000, "also what was cut");
    }

    #[test]
    fn the_first_end_counts_and_nothing_after_it() {
        let mut gathered = Gathered::default();
        gathered.say("a");
        gathered.end(Ended::As(Stop::End));
        gathered.say("b");
        let unlikely: Box<serde_json::value::RawValue> =
            serde_json::from_str(r#"[{"logprob": -9}]"#).unwrap();
        gathered.likely(Some(&unlikely));
        gathered.call(part("x"));
        gathered.end(Ended::As(Stop::Truncated));
        let answer = answered(gathered).unwrap();
        assert_eq!((answer.text.as_str(), answer.stop, answer.calls.len()), ("a", Stop::End, 0));
        assert_eq!(answer.likelihood, None);
    }
}
