//! A stream of events as an agent makes them, and two regulators to tell it to.

use std::hint::black_box;

use anyhow::{Result, ensure};
use bowline::core::guard::Origin;
use bowline::core::guard::regulator::{
    Call, Cap, Event, Limits, Outcome, Regulator, Reply, Settings, Status, Tokens, Verdict,
};
use noos::LLMEvent;

/// Bytes of arguments.
const ARGS: usize = 200;
/// Bytes of an output.
const OUTPUT: usize = 1_000;
/// Bytes of a large output.
const LARGE: usize = 1_000_000;
/// Different calls; more than a detector remembers, so each is new when it comes again.
const DIFFERENT: usize = 1_024;
const TOOLS: [&str; 4] = ["read_file", "search", "bash", "edit_file"];

/// Texts made beforehand: making them is not what is measured.
pub(super) struct Stream {
    args: Vec<String>,
    outputs: Vec<String>,
}

/// One call and what comes back.
pub(super) struct Step<'a> {
    pub(super) tool: &'static str,
    pub(super) args: &'a str,
    pub(super) output: &'a str,
}

impl Stream {
    pub(super) fn new() -> Self {
        let args = (0..DIFFERENT).map(arguments).collect();
        let outputs = (0..DIFFERENT).map(|number| log(number, OUTPUT)).collect();
        Self { args, outputs }
    }

    /// The call at this place: four tools in turn.
    pub(super) fn step(&self, at: usize) -> Step<'_> {
        let tool = TOOLS.get(at % TOOLS.len()).copied().unwrap_or_default();
        Step { tool, ..self.one_tool(at) }
    }

    /// The call at this place, always of one tool.
    pub(super) fn one_tool(&self, at: usize) -> Step<'_> {
        Step { tool: "read_file", args: place(&self.args, at), output: place(&self.outputs, at) }
    }

    /// What a person asks for in this turn.
    pub(super) fn message(&self, turn: usize) -> String {
        format!("Make the parser of module {turn} reject numbers with a trailing dot, and add a test for it.")
    }

    /// What the model answers at the end of it.
    pub(super) fn answer(&self, turn: usize) -> String {
        format!(
            "The parser of module {turn} now rejects numbers with a trailing dot. I added a test that feeds \
             it such numbers and expects an error, and ran the whole suite: everything passes."
        )
    }
}

fn place(texts: &[String], at: usize) -> &str {
    texts.get(at % DIFFERENT).map(String::as_str).unwrap_or_default()
}

/// Arguments of about [`ARGS`] bytes, JSON that every tool could take.
fn arguments(number: usize) -> String {
    let head = format!(r#"{{"command":"cargo test part_{number}","path":"/src/part_{number}.rs","note":""#);
    let fill = ARGS.saturating_sub(head.len() + 2);
    format!("{head}{}\"}}", "n".repeat(fill))
}

/// Lines of a log, different for each number.
fn log(number: usize, bytes: usize) -> String {
    text_of(bytes, |line| {
        format!("2026-01-07T12:{:02}:07Z INFO worker-{number} stored item {line} of batch\n", line % 60)
    })
}

fn text_of(bytes: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes + 128);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&line(number));
    }
    text.truncate(bytes);
    text
}

/// Large outputs of three kinds.
pub(super) fn large_outputs() -> [(&'static str, String); 3] {
    let code =
        |line| format!("    let total_{line} = parse(input)?.checked_add(rest).ok_or(Error::TooLarge)?;\n");
    let numbers = |line: usize| format!("{} {} {}\n", line, line * 31, line * line % 9973);
    [("a log", log(0, LARGE)), ("code", text_of(LARGE, code)), ("numbers", text_of(LARGE, numbers))]
}

/// A regulator as a loop uses it.
pub(super) trait Watcher {
    /// A person writes.
    fn turn(&mut self, message: &str) -> Result<()>;
    /// A call is asked for, decided, and comes back.
    fn call(&mut self, step: &Step<'_>) -> Result<()>;
    /// The model answers; tokens and a score are told, and it is decided once more.
    fn reply(&mut self, text: &str) -> Result<()>;
}

/// Ours, with its own loop rule and no limit on anything.
pub(super) struct Ours(Regulator);

impl Ours {
    pub(super) fn new() -> Result<Self> {
        let limits = Limits {
            steps: Cap::Unlimited,
            tokens: Cap::Unlimited,
            micros: Cap::Unlimited,
            tool_calls: Cap::Unlimited,
            active_ms: Cap::Unlimited,
            ..Limits::default()
        };
        Ok(Self(Regulator::new(Settings { limits, ..Settings::default() })?))
    }
}

impl Watcher for Ours {
    fn turn(&mut self, message: &str) -> Result<()> {
        Ok(self.0.feed(&Event::User { origin: Origin::Person, text: Some(message) })?)
    }

    fn call(&mut self, step: &Step<'_>) -> Result<()> {
        let Step { tool, args, output } = *step;
        self.0.feed(&Event::Call(Call { id: None, tool, args, effect: None, repeat: None }))?;
        let decision = black_box(self.0.decide());
        // What is blocked would be cheaper than what is made.
        ensure!(decision.verdict < Verdict::Block, "{tool} was not allowed: {decision:?}");
        let status = Status::Done { output, ok: Some(true), world: None };
        Ok(self.0.feed(&Event::Result(Outcome { id: None, tool, status }))?)
    }

    fn reply(&mut self, text: &str) -> Result<()> {
        let tokens = Tokens { input: 1_000, output: 50, ..Tokens::default() };
        self.0.feed(&Event::Reply(Reply { text, calls: 0, truncated: false, tokens }))?;
        self.0.feed(&Event::Quality { score: 0.8 })?;
        drop(black_box(self.0.decide()));
        Ok(())
    }
}

/// Theirs, with a cap it never reaches.
pub(super) struct Theirs(noos::Regulator);

impl Theirs {
    pub(super) fn new() -> Self {
        Self(noos::Regulator::for_user("somebody").with_cost_cap(u32::MAX))
    }
}

impl Watcher for Theirs {
    fn turn(&mut self, message: &str) -> Result<()> {
        self.0.on_event(LLMEvent::TurnStart { user_message: message.into() });
        Ok(())
    }

    fn call(&mut self, step: &Step<'_>) -> Result<()> {
        self.0
            .on_event(LLMEvent::ToolCall { tool_name: step.tool.into(), args_json: Some(step.args.into()) });
        drop(black_box(self.0.decide()));
        self.0.on_event(LLMEvent::ToolResult {
            tool_name: step.tool.into(),
            success: true,
            duration_ms: 3,
            error_summary: None,
        });
        Ok(())
    }

    fn reply(&mut self, text: &str) -> Result<()> {
        self.0.on_event(LLMEvent::TurnComplete { full_response: text.into() });
        self.0.on_event(LLMEvent::Cost {
            tokens_in: 1_000,
            tokens_out: 50,
            wallclock_ms: 900,
            provider: None,
        });
        self.0.on_event(LLMEvent::QualityFeedback { quality: 0.8, fragment_spans: None });
        drop(black_box(self.0.decide()));
        Ok(())
    }
}
