//! One line of text to one [`Trajectory`].
//!
//! Keys nobody asked for are skipped: recordings carry more than we use.

use std::collections::VecDeque;

use bowline_core::guard::Origin;
use serde::Deserialize;

use super::{Call, Moment, Output, Reply, Trajectory};

/// What is wrong with a line.
pub(super) enum Flaw {
    NotJson(String),
    NotARun(String),
}

#[derive(Deserialize)]
struct Run {
    id: String,
    source: String,
    success: Option<bool>,
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    t: Kind,
    name: Option<String>,
    args: Option<String>,
    output: Option<String>,
    ok: Option<bool>,
    tokens: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    User,
    Assistant,
    ToolCall,
    ToolResult,
}

/// Parses and checks a line.
pub(super) fn parse(line: &[u8]) -> Result<Trajectory, Flaw> {
    let run: Run = serde_json::from_slice(line).map_err(|error| {
        // The parser counts lines of its own: always one.
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or(&words);
        let what = format!("{words} (column {})", error.column());
        if error.is_data() { Flaw::NotARun(what) } else { Flaw::NotJson(what) }
    })?;
    let mut story = Story::default();
    for (at, event) in run.events.into_iter().enumerate() {
        story.add(event).map_err(|what| Flaw::NotARun(format!("event {}: {what}", at + 1)))?;
    }
    let Story { calls, moments, .. } = story;
    Ok(Trajectory { id: run.id, source: run.source, success: run.success, calls, moments })
}

#[derive(Default)]
struct Story {
    calls: Vec<Call>,
    moments: Vec<Moment>,
    /// Calls without a result, oldest first.
    open: VecDeque<usize>,
    /// Where the reply stands that the next calls belong to.
    reply: Option<usize>,
}

impl Story {
    fn add(&mut self, event: Event) -> Result<(), String> {
        match event.t {
            Kind::User => self.user(event),
            Kind::Assistant => self.assistant(event),
            Kind::ToolCall => self.asked(event)?,
            Kind::ToolResult => self.answered(event)?,
        }
        Ok(())
    }

    fn user(&mut self, event: Event) {
        let origin = if event.name.as_deref() == Some("auto") { Origin::Harness } else { Origin::Person };
        self.reply = None;
        self.moments.push(Moment::User { text: event.output.unwrap_or_default(), origin });
    }

    fn assistant(&mut self, event: Event) {
        self.reply = Some(self.moments.len());
        let text = event.output.unwrap_or_default();
        self.moments.push(Moment::Reply(Reply { text, calls: 0, tokens: event.tokens }));
    }

    fn asked(&mut self, event: Event) -> Result<(), String> {
        let tool = event.name.ok_or("a tool_call without a name")?;
        let args = event.args.ok_or("a tool_call without args")?;
        if let Some(Moment::Reply(reply)) = self.reply.and_then(|at| self.moments.get_mut(at)) {
            reply.calls = reply.calls.saturating_add(1);
        }
        let at = self.calls.len();
        self.open.push_back(at);
        self.calls.push(Call { tool, args, output: None });
        self.moments.push(Moment::Asked(at));
        Ok(())
    }

    /// A result belongs to the oldest open call of its tool: results carry no id.
    fn answered(&mut self, event: Event) -> Result<(), String> {
        let name = event.name.ok_or("a tool_result without a name")?;
        let text = event.output.ok_or("a tool_result without an output")?;
        let calls = &self.calls;
        let is_its = |at: &usize| calls.get(*at).is_some_and(|call| call.tool == name);
        let place = self.open.iter().position(is_its);
        let at = place.and_then(|place| self.open.remove(place));
        let call = at.and_then(|at| Some((at, self.calls.get_mut(at)?)));
        let (at, call) = call.ok_or_else(|| format!("a result of {name:?}, which was not called"))?;
        call.output = Some(Output { text, ok: event.ok });
        self.moments.push(Moment::Answered(at));
        Ok(())
    }
}
