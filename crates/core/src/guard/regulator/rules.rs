//! Each rule: does it fire, and what does it say?
//!
//! All of them look at the state only.

use super::Regulator;
use super::budget::{Cap, WARN_AT};
use super::decision::{Fired, Rule, Verdict};
use super::event::Call;
use crate::guard::quality::Decline;

/// From this share on an answer is about something else.
const DRIFT: f64 = 0.5;
/// While the mean of the last three scores is below this, spending is watched more closely.
const LOW_QUALITY: f64 = 0.5;
/// Patterns a notice speaks of.
const PATTERNS_NAMED_MAX: usize = 8;

impl Regulator {
    pub(super) fn cancel(&self) -> Option<Fired> {
        self.is_cancelled.then(|| Fired {
            rule: Rule::Cancel,
            verdict: Verdict::Stop,
            reason: "cancelled".into(),
            evidence: vec!["a cancel was received".into()],
            notice: "The run was cancelled.".into(),
            setting: "none".into(),
        })
    }

    pub(super) fn money(&self) -> Option<Fired> {
        let used = Used { what: "money", unit: "micro-dollars", amount: self.spent.micros };
        self.capped(used, self.settings.limits.micros, "limits.micros")
    }

    pub(super) fn tokens(&self) -> Option<Fired> {
        let (used, cap) =
            (Used { what: "tokens", unit: "tokens", amount: self.spent.tokens }, self.settings.limits.tokens);
        // No model answers without a token: a step that cannot fit is not begun.
        if self.is_stepping && cap.is_at(used.amount, 100) {
            return Some(used.fired(Rule::Cap, Verdict::Stop, cap, "limits.tokens"));
        }
        self.capped(used, cap, "limits.tokens")
    }

    /// A limit always holds; while quality is low it holds from the warning on.
    fn capped(&self, used: Used, cap: Cap, setting: &str) -> Option<Fired> {
        let is_low = self.quality.mean_of_last_three().is_some_and(|mean| mean < LOW_QUALITY);
        let is_early = is_low && cap.is_at(used.amount, WARN_AT) && used.amount > 0;
        if is_early && !cap.is_over(used.amount) {
            let mut fired = used.fired(Rule::Cap, Verdict::Stop, cap, setting);
            fired.reason = format!("{}_at_low_quality", used.what);
            fired.evidence.push("the mean of the last 3 quality scores is below 0.5".into());
            return Some(fired);
        }
        used.against(Rule::Cap, cap, setting)
    }

    pub(super) fn deadline(&self) -> Option<Fired> {
        let used = Used { what: "time", unit: "ms at work", amount: self.spent.active_ms };
        used.against(Rule::Deadline, self.settings.limits.active_ms, "limits.active_ms")
    }

    pub(super) fn quality(&self) -> Option<Fired> {
        let settings = &self.settings.quality;
        let (reason, evidence) = match self.quality.decline()? {
            Decline::Falling { fall, mean } => {
                let over = settings.fall_window;
                ("falling", format!("quality fell by {fall:.2} over {over} scores, with a mean of {mean:.2}"))
            }
            Decline::FlatBad { mean } => {
                let over = settings.flat_window;
                ("bad", format!("the mean of the last {over} quality scores is {mean:.2}"))
            }
        };
        Some(Fired {
            rule: Rule::QualityDecline,
            verdict: Verdict::Stop,
            reason: reason.into(),
            notice: format!("Stopped: {evidence}."),
            evidence: vec![evidence],
            setting: "quality".into(),
        })
    }

    pub(super) fn loops(&self) -> Option<Fired> {
        self.watch.check_run().filter(|fired| self.call.as_ref() != Some(fired))
    }

    pub(super) fn truncation(&self) -> Option<Fired> {
        let (times, most) = (self.truncated_in_a_row, self.settings.limits.truncations);
        (times >= most).then(|| Fired {
            rule: Rule::Truncation,
            verdict: Verdict::Stop,
            reason: "truncated".into(),
            evidence: vec![format!("{times} replies in a row were cut off")],
            notice: format!("Stopped: {times} replies in a row were cut off by the output limit."),
            setting: "limits.truncations".into(),
        })
    }

    /// Over when one step too many was begun, or when the last one allowed asks
    /// for another.
    pub(super) fn steps(&self) -> Option<Fired> {
        let cap = self.settings.limits.steps;
        let wanted = self.spent.steps.saturating_add(u64::from(self.wants_more));
        let used = Used { what: "steps", unit: "model calls", amount: wanted };
        if cap.is_over(wanted) {
            return Some(used.fired(Rule::Iterations, Verdict::Stop, cap, "limits.steps"));
        }
        Used { amount: self.spent.steps, ..used }.against(Rule::Iterations, cap, "limits.steps")
    }

    pub(super) fn tool_calls(&self) -> Option<Fired> {
        let used = Used { what: "tool_calls", unit: "tool calls", amount: self.spent.tool_calls };
        used.against(Rule::Iterations, self.settings.limits.tool_calls, "limits.tool_calls")
    }

    /// A call beyond the number of calls is not made.
    pub(super) fn over_calls(&self, call: &Call<'_>) -> Option<Fired> {
        let limits = &self.settings.limits;
        let next = self.spent.tool_calls.saturating_add(1);
        if limits.tool_calls.is_over(next) {
            let used = Used { what: "tool_calls", unit: "tool calls", amount: next };
            return Some(used.fired(Rule::Iterations, Verdict::Stop, limits.tool_calls, "limits.tool_calls"));
        }
        let most = Cap::At(*limits.tools.get(call.tool)?);
        let next = self.spent.tools.get(call.tool).copied().unwrap_or_default().saturating_add(1);
        let used = Used { what: "tool_calls", unit: "calls of this tool", amount: next };
        most.is_over(next).then(|| Fired {
            reason: "calls_of_one_tool".into(),
            // Other tools may still be used, so the run goes on.
            ..used.fired(Rule::Iterations, Verdict::Block, most, "limits.tools")
        })
    }

    /// Arguments of a reply that was cut off may be cut off too.
    pub(super) fn cut_off(&self) -> Option<Fired> {
        (self.truncated_in_a_row > 0 && !self.is_stepping).then(|| Fired {
            rule: Rule::Truncation,
            verdict: Verdict::Block,
            reason: "call_of_a_truncated_reply".into(),
            evidence: vec!["the reply that asks for this call was cut off".into()],
            notice: "Your reply was cut off, so its tool call was not made. Ask again, more briefly.".into(),
            setting: "none".into(),
        })
    }

    pub(super) fn scope_drift(&self) -> Option<Fired> {
        let drift = self.drift.as_ref().filter(|drift| drift.share >= DRIFT)?;
        let mut evidence = vec![format!("{:.2} of the last reply is not about the task", drift.share)];
        if !drift.terms.is_empty() {
            evidence.push(format!("nothing in the task speaks of {}", drift.terms.join(", ")));
        }
        Some(Fired {
            rule: Rule::ScopeDrift,
            verdict: Verdict::Warn,
            reason: "drift".into(),
            evidence,
            notice: "Your last reply is largely about something else. Go back to the task.".into(),
            setting: "none".into(),
        })
    }

    /// The notice is the prelude: what users said, in their words.
    pub(super) fn corrected_before(&self) -> Option<Fired> {
        let patterns = self.corrections.patterns();
        let named = patterns.iter().take(PATTERNS_NAMED_MAX).map(|pattern| {
            let times = pattern.explicit.saturating_add(pattern.implicit);
            let latest = pattern.examples.last().map(AsRef::as_ref).unwrap_or_default();
            format!("users corrected this {times} times: {latest}")
        });
        let evidence: Vec<String> = named.collect();
        (!evidence.is_empty()).then(|| Fired {
            rule: Rule::Procedural,
            verdict: Verdict::Warn,
            reason: "corrected_before".into(),
            notice: self.prelude().unwrap_or_else(|| "Mind what users corrected before.".into()),
            evidence,
            setting: "corrections".into(),
        })
    }

    /// Failures of one kind, until the model has been told; told again when there are more.
    pub(super) fn failing_again(&self) -> Option<Fired> {
        let patterns = self.failures.patterns();
        let due = patterns.iter().filter(|pattern| pattern.last > self.failures_told);
        let evidence: Vec<String> = due
            .take(PATTERNS_NAMED_MAX)
            .map(|pattern| {
                format!("{} failed {} times alike: {}", pattern.tool, pattern.count, pattern.class)
            })
            .collect();
        (!evidence.is_empty()).then(|| Fired {
            rule: Rule::Procedural,
            verdict: Verdict::Warn,
            reason: "failing_again".into(),
            notice: format!(
                "Calls keep failing in the same way ({}). Find the cause, or do it another way.",
                evidence.join("; ")
            ),
            evidence,
            setting: "none".into(),
        })
    }
}

/// An amount of something limited.
#[derive(Clone, Copy)]
struct Used {
    what: &'static str,
    unit: &'static str,
    amount: u64,
}

impl Used {
    /// Stops over the limit, warns near it.
    fn against(self, rule: Rule, cap: Cap, setting: &str) -> Option<Fired> {
        if cap.is_over(self.amount) {
            return Some(self.fired(rule, Verdict::Stop, cap, setting));
        }
        let is_near = self.amount > 0 && cap.is_at(self.amount, WARN_AT);
        is_near.then(|| self.fired(rule, Verdict::Warn, cap, setting))
    }

    fn fired(self, rule: Rule, verdict: Verdict, cap: Cap, setting: &str) -> Fired {
        let Self { what, unit, amount } = self;
        let most = match cap {
            Cap::At(most) => most,
            Cap::Unlimited => u64::MAX,
        };
        let notice = match verdict {
            Verdict::Stop => format!("Stopped: {amount} of {most} {unit}."),
            Verdict::Block => format!("Not made: this would be {amount} of {most} {unit}."),
            Verdict::Warn | Verdict::Continue => {
                format!(
                    "{} of {most} {unit} are left. Finish with what you have.",
                    most.saturating_sub(amount)
                )
            }
        };
        Fired {
            rule,
            verdict,
            reason: what.into(),
            evidence: vec![format!("{amount} of {most} {unit}")],
            notice,
            setting: setting.into(),
        }
    }
}
