//! The two regulators, told the same.

use bowline::core::guard::Origin;
use bowline::core::guard::loops::Action;
use bowline::core::guard::preset::Preset;
use bowline::core::guard::regulator::{
    Call, Cap, Decision, Event, Fired, Limits, Outcome, Regulator, Rule, Settings, Status, Tokens, Verdict,
};
use noos::{CircuitBreakReason, CostAccumulator, LLMEvent};

/// Ours and theirs.
pub(crate) struct Both {
    pub(crate) ours: Regulator,
    pub(crate) theirs: noos::Regulator,
    /// Their accumulator, told the same: it answers what their regulator keeps to itself.
    pub(crate) account: CostAccumulator,
}

impl Both {
    /// Our preset of their loop rule, and this many tokens for either.
    pub(crate) fn new(cap: u32, action: Action) -> Self {
        let limits = Limits {
            steps: Cap::Unlimited,
            tokens: Cap::At(u64::from(cap)),
            micros: Cap::Unlimited,
            tool_calls: Cap::Unlimited,
            active_ms: Cap::Unlimited,
            ..Limits::default()
        };
        let ours = Regulator::new(Settings::of(Preset::NameStreak, action, limits)).unwrap();
        let theirs = noos::Regulator::for_user("somebody").with_cost_cap(cap);
        Self { ours, theirs, account: CostAccumulator::with_cap(cap) }
    }

    /// A person writes: a new turn for both.
    pub(crate) fn turn(&mut self) {
        self.ours.feed(&Event::User { origin: Origin::Person, text: None }).unwrap();
        self.theirs.on_event(LLMEvent::TurnStart { user_message: String::new() });
    }

    /// The model asks for a call; both are asked what they think of it.
    pub(crate) fn ask(&mut self, tool: &str) -> (Decision, noos::Decision) {
        let call = Call { id: None, tool, args: "{}", effect: None, repeat: None };
        self.ours.feed(&Event::Call(call)).unwrap();
        self.theirs.on_event(LLMEvent::ToolCall { tool_name: tool.into(), args_json: Some("{}".into()) });
        (self.ours.decide(), self.theirs.decide())
    }

    /// The call comes back.
    pub(crate) fn answer(&mut self, tool: &str, ok: bool) {
        let status = Status::Done { output: "done", ok: Some(ok), world: None };
        self.ours.feed(&Event::Result(Outcome { id: None, tool, status })).unwrap();
        self.theirs.on_event(LLMEvent::ToolResult {
            tool_name: tool.into(),
            success: ok,
            duration_ms: 0,
            error_summary: None,
        });
    }

    /// Asks, and lets the call come back unless ours refused it.
    pub(crate) fn call(&mut self, tool: &str) -> (Decision, noos::Decision) {
        let decided = self.ask(tool);
        if !decided.0.fired.iter().any(|fired| fired.rule == Rule::ToolLoop) {
            self.answer(tool, true);
        }
        decided
    }

    /// Tokens were used.
    pub(crate) fn spend(&mut self, input: u32, output: u32) {
        let tokens = Tokens { input: input.into(), output: output.into(), ..Tokens::default() };
        self.ours.feed(&Event::Tokens(tokens)).unwrap();
        self.theirs.on_event(LLMEvent::Cost {
            tokens_in: input,
            tokens_out: output,
            wallclock_ms: 0,
            provider: None,
        });
        self.account.record_cost(input, output, 0);
    }

    /// Somebody judged the work, from 0 to 1.
    pub(crate) fn judge(&mut self, score: f64) {
        self.ours.feed(&Event::Quality { score }).unwrap();
        self.theirs.on_event(LLMEvent::QualityFeedback { quality: score, fragment_spans: None });
        self.account.record_quality(score);
    }
}

/// What ours found by this rule.
pub(crate) fn fired(decision: &Decision, rule: Rule) -> Option<&Fired> {
    decision.fired.iter().find(|fired| fired.rule == rule)
}

/// Whether this rule of ours ends the run.
pub(crate) fn stops(decision: &Decision, rule: Rule) -> bool {
    fired(decision, rule).is_some_and(|fired| fired.verdict == Verdict::Stop)
}

/// Why theirs ends the run, if so.
pub(crate) fn broken(decision: noos::Decision) -> Option<CircuitBreakReason> {
    match decision {
        noos::Decision::CircuitBreak { reason, .. } => Some(reason),
        noos::Decision::Continue => None,
        other => panic!("nothing was said that leads to {other:?}"),
    }
}
