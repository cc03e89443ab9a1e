//! A guard for any language: one JSON event a line in, one JSON answer a line out.
//!
//! [`Session::answer`] never fails: a line that makes no sense gets an answer
//! that says so, changes nothing, and the session goes on. Nothing here reads
//! or writes a stream; [`crate::state_file`] keeps a session over restarts.

mod answer;
mod event;
#[cfg(test)]
mod tests;

use bowline_core::guard::Origin;
use bowline_core::guard::loops::Detector;
use bowline_core::guard::regulator::{
    BadSettings, Event, Exchange, Limits, Logprob, Outcome, Regulator, Reply, Settings, VERSION, trace,
};
use serde_json::Value;

pub use answer::{Acting, Answer, Word};
pub use event::{BadEvent, EVENTS, PROTOCOL};

use event::{Calls, Message, Spoken, Told};

/// Longest line that is read as an event, in bytes.
pub const LINE_MAX: usize = 16 << 20;

/// One guarded run, event by event.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    regulator: Regulator,
    /// Lines answered so far.
    lines: u64,
}

impl Session {
    /// A session that has seen nothing.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        Ok(Self { regulator: Regulator::new(settings)?, lines: 0 })
    }

    /// A session that goes on from a state somebody kept.
    pub fn restored(state: &Value) -> Result<Self, BadEvent> {
        Ok(Self { regulator: restore(state)?, lines: 0 })
    }

    /// The guard inside.
    #[must_use]
    pub fn regulator(&self) -> &Regulator {
        &self.regulator
    }

    /// Other limits hold from now on; what was used stays used.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), BadSettings> {
        self.regulator.set_limits(limits)
    }

    /// Everything the session knows, to be kept.
    #[must_use]
    pub fn state(&self) -> Value {
        serde_json::to_value(&self.regulator).unwrap_or_default()
    }

    /// Takes in one line and answers it. `now_ms` counts where the event does
    /// not say when it happened.
    pub fn answer(&mut self, line: &[u8], now_ms: u64) -> Answer {
        self.lines = self.lines.saturating_add(1);
        let answer = Message::read(line).and_then(|message| self.take_in(&message, now_ms));
        answer.unwrap_or_else(|bad| Answer::bad(&bad)).at_line(self.lines)
    }

    /// The answer to a line over [`LINE_MAX`], which was not read.
    pub fn too_long(&mut self) -> Answer {
        self.lines = self.lines.saturating_add(1);
        Answer::bad(&BadEvent::TooLong { max: LINE_MAX }).at_line(self.lines)
    }

    fn take_in(&mut self, message: &Message, now_ms: u64) -> Result<Answer, BadEvent> {
        if let Told::Restore { state } = &message.told {
            self.regulator = restore(state)?;
            return Ok(Answer::of(self.regulator.decide()));
        }
        // Refused events change nothing, the clock included.
        let mut next = self.regulator.clone();
        next.at(message.at_ms.unwrap_or(now_ms), message.told.waited_for());
        let duplicates = feed(&mut next, &message.told)?;
        self.regulator = next;
        let mut answer = Answer::of(self.regulator.decide());
        answer.duplicates = duplicates;
        self.show(&message.told, &mut answer);
        Ok(answer)
    }

    /// Adds what was asked for.
    fn show(&self, told: &Told, answer: &mut Answer) {
        answer.state = matches!(told, Told::State).then(|| self.state());
        answer.statistics = matches!(told, Told::Statistics).then(|| self.regulator.statistics().clone());
        answer.export = matches!(told, Told::Export).then(|| self.regulator.export());
    }
}

/// A state is read whole or not at all.
fn restore(state: &Value) -> Result<Regulator, BadEvent> {
    let version = state.get("version").and_then(Value::as_u64);
    if version != Some(u64::from(VERSION)) {
        return Err(BadEvent::StateVersion { found: version, known: VERSION });
    }
    let mut regulator: Regulator =
        serde_json::from_value(state.clone()).map_err(|error| BadEvent::State { what: error.to_string() })?;
    regulator.settings().check().map_err(|error| BadEvent::State { what: error.to_string() })?;
    regulator.resumed();
    Ok(regulator)
}

/// Tells the regulator; says which calls of a reply repeat an earlier one of it.
fn feed(regulator: &mut Regulator, told: &Told) -> Result<Vec<Option<usize>>, BadEvent> {
    let mut repeated = Vec::new();
    match told {
        Told::Run { protocol: Some(found), .. } if !(1..=PROTOCOL).contains(found) => {
            return Err(BadEvent::Protocol { found: *found });
        }
        Told::Run { task, .. } => regulator.feed(&Event::Run { task: task.as_deref() })?,
        Told::Turn => regulator.feed(&Event::User { origin: Origin::Person, text: None })?,
        Told::User { origin, text } => {
            let origin = origin.unwrap_or(Origin::Person);
            regulator.feed(&Event::User { origin, text: text.as_deref() })?;
        }
        Told::Step => regulator.feed(&Event::Step)?,
        Told::Logprobs { tokens } => {
            let tokens: Vec<Logprob<'_>> = tokens.iter().map(Spoken::logprob).collect();
            regulator.feed(&Event::Logprobs(&tokens))?;
        }
        Told::Assistant(said) => {
            let (text, calls) = (said.text.as_str(), said.calls.count());
            let reply = Reply { text, calls, truncated: said.truncated, tokens: said.tokens };
            regulator.feed(&Event::Reply(reply))?;
            repeated = duplicates(&said.calls);
        }
        Told::ToolCall(asked) => regulator.feed(&Event::Call(asked.call(&asked.args())))?,
        Told::ToolResult(came) => {
            let outcome = Outcome { id: came.id.as_deref(), tool: &came.tool, status: came.status() };
            regulator.feed(&Event::Result(outcome))?;
        }
        Told::Tokens(tokens) => regulator.feed(&Event::Tokens(*tokens))?,
        Told::Cost(paid) => regulator.feed(&Event::Cost { micros: paid.amount()? })?,
        Told::Quality { score } => regulator.feed(&Event::Quality { score: *score })?,
        Told::Drift { share } => regulator.feed(&Event::Drift { share: *share })?,
        Told::Correction { kind } => regulator.feed(&Event::Correction { kind })?,
        Told::Cancel => regulator.feed(&Event::Cancel)?,
        Told::Import { export } => regulator.import(Exchange::read(export)?)?,
        Told::State | Told::Restore { .. } | Told::Statistics | Told::Export => {}
    }
    Ok(repeated)
}

/// For each call, the earlier one whose result it can share; empty if none can.
fn duplicates(calls: &Calls) -> Vec<Option<usize>> {
    let Calls::List(calls) = calls else { return Vec::new() };
    let traces: Vec<_> = calls.iter().map(|asked| trace(&asked.call(&asked.args()))).collect();
    let duplicates = Detector::duplicates(&traces);
    if duplicates.iter().any(Option::is_some) { duplicates } else { Vec::new() }
}
