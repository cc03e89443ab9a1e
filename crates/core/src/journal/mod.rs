//! Records: one durable append of one run, sealed into a hash chain.
//!
//! A record's hash covers the hash before it, its envelope (format, run, first
//! sequence number, time) and the exact bytes of its body, so no field can
//! change alone. The body is the canonical JSON array of its events. Bodies of
//! older formats keep their bytes for ever; they are *read* through upcasts.

mod refusal;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::event::{CONTRACT, Event};
use crate::id::{Millis, RunId};
use crate::provenance::{Digest, canonical_value};

pub use refusal::BadRecord;

/// The format written today. Every one from 1 to this is read.
pub const FORMAT: u16 = 2;

/// One append as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose journal.
    pub run: RunId,
    /// Sequence number of the first event, from 1.
    pub seq: u64,
    /// When it was decided.
    pub at: Millis,
    /// The format of `body`.
    pub format: u16,
    /// The events, as canonical JSON.
    pub body: String,
    /// Covers all of the above and the record before.
    pub hash: Digest,
}

impl Record {
    /// Seals events into the chain after `prev`.
    #[must_use]
    pub fn seal(prev: Digest, run: &RunId, seq: u64, at: Millis, events: &[Event]) -> Self {
        let body = encode(events);
        let mut record = Self { run: run.clone(), seq, at, format: FORMAT, body, hash: prev };
        record.hash = record.chain(prev);
        record
    }

    /// Checks the record against the hash before it.
    pub fn verify(&self, prev: Digest) -> Result<(), BadRecord> {
        if self.chain(prev) == self.hash {
            Ok(())
        } else {
            Err(BadRecord::Hash { run: self.run.clone(), seq: self.seq })
        }
    }

    fn chain(&self, prev: Digest) -> Digest {
        Digest::of_parts(&[
            &prev.0,
            self.run.as_str().as_bytes(),
            &self.seq.to_be_bytes(),
            &self.at.0.to_be_bytes(),
            &self.format.to_be_bytes(),
            self.body.as_bytes(),
        ])
    }

    /// The events, brought up to today's format. All of them are understood in full, or the record is
    /// refused: a key nobody reads could be a limit nobody keeps (ADR 0036).
    pub fn events(&self) -> Result<Vec<Event>, BadRecord> {
        if self.format == 0 || self.format > FORMAT {
            return Err(BadRecord::Format { run: self.run.clone(), seq: self.seq, format: self.format });
        }
        let read = if self.format == FORMAT { serde_json::from_str(&self.body) } else { self.raised() };
        match read {
            Ok(events) if events.iter().filter_map(Event::contract).all(|found| found == CONTRACT) => {
                Ok(events)
            }
            Ok(_) => Err(refusal::why(self, "its contract is not one that was ever written")),
            Err(error) => Err(refusal::why(self, &error.to_string())),
        }
    }

    fn raised(&self) -> serde_json::Result<Vec<Event>> {
        let raw: Vec<Value> = serde_json::from_str(&self.body)?;
        let raised = raw.into_iter().map(|event| upcast(event, self.format)).collect();
        serde_json::from_value(Value::Array(raised))
    }
}

/// Canonical JSON of the events.
fn encode(events: &[Event]) -> String {
    // Events cannot fail to serialise: no map has a key that is no text.
    serde_json::to_value(events).map(|value| canonical_value(&value)).unwrap_or_default()
}

/// Brings one event from `format` to [`FORMAT`], one version at a time.
fn upcast(event: Value, format: u16) -> Value {
    if format < 2 { from_1_to_2(event) } else { event }
}

/// Format 1 had `"ok": bool` in `call_finished` and texts that were always inline.
fn from_1_to_2(mut event: Value) -> Value {
    if let Some(Value::Object(finished)) = event.get_mut("call_finished") {
        if let Some(ok) = finished.remove("ok") {
            let outcome = if ok == Value::Bool(true) { "ok" } else { "error" };
            finished.insert("outcome".into(), outcome.into());
        }
        wrap(finished, "output");
    }
    if let Some(Value::Object(finished)) = event.get_mut("step_finished") {
        wrap(finished, "text");
        let calls = finished.get_mut("calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten().filter_map(Value::as_object_mut) {
            wrap(call, "args");
        }
    }
    if let Some(Value::Object(finished)) = event.get_mut("subtask_finished") {
        wrap(finished, "output");
    }
    event
}

/// A bare text becomes an inline payload.
fn wrap(fields: &mut serde_json::Map<String, Value>, name: &str) {
    if let Some(field) = fields.get_mut(name)
        && let Value::String(text) = field
    {
        *field = serde_json::json!({ "inline": text });
    }
}
