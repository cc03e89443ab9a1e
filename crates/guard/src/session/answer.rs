//! One answer, as it goes out.

use bowline_core::guard::confidence::Span;
use bowline_core::guard::regulator::{Decision, Exchange, Fired, Verdict};
use bowline_core::guard::statistics::Statistics;
use serde::Serialize;
use serde_json::Value;

use super::BadEvent;

/// What is answered to one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The line it answers, counted from 1.
    pub line: u64,
    /// What to do.
    pub verdict: Word,
    /// The rule that acts, and why.
    #[serde(flatten)]
    pub acting: Option<Acting>,
    /// Every rule that fired, the acting one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fired: Vec<Fired>,
    /// Where the last reply is unsure of itself, by bytes of its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub low_confidence: Vec<Span>,
    /// For each call of a reply, the earlier one of the same reply it repeats.
    /// Empty when none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Option<usize>>,
    /// What was asked for by `state`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// What was asked for by `statistics`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
    /// What was asked for by `export`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<Exchange>,
    /// What is wrong with the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What to do, or that the line made no sense. Only `continue` and `warn` mean
/// that a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Go on.
    Continue,
    /// Go on, and tell the model the notice.
    Warn,
    /// Do not make the call; give the model the notice.
    Block,
    /// End the run.
    Stop,
    /// The line was not understood and changed nothing.
    Error,
}

/// The rule that acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Acting {
    /// Which.
    pub rule: bowline_core::guard::regulator::Rule,
    /// What it saw, in one word.
    pub reason: String,
    /// On which evidence.
    pub evidence: Vec<String>,
    /// What to tell the model, or whoever reads the ending.
    pub notice: String,
    /// What changes this.
    pub setting: String,
}

impl Answer {
    pub(super) fn of(decision: Decision) -> Self {
        let verdict = match decision.verdict {
            Verdict::Continue => Word::Continue,
            Verdict::Warn => Word::Warn,
            Verdict::Block => Word::Block,
            Verdict::Stop => Word::Stop,
        };
        let acting = decision.acting().map(|fired| Acting {
            rule: fired.rule,
            reason: fired.reason.clone(),
            evidence: fired.evidence.clone(),
            notice: fired.notice.clone(),
            setting: fired.setting.clone(),
        });
        let Decision { fired, low_confidence, .. } = decision;
        Self { acting, fired, low_confidence, ..Self::silent(verdict) }
    }

    pub(super) fn bad(bad: &BadEvent) -> Self {
        Self { error: Some(bad.to_string()), remedy: Some(bad.remedy()), ..Self::silent(Word::Error) }
    }

    pub(super) fn at_line(self, line: u64) -> Self {
        Self { line, ..self }
    }

    fn silent(verdict: Word) -> Self {
        Self {
            line: 0,
            verdict,
            acting: None,
            fired: Vec::new(),
            low_confidence: Vec::new(),
            duplicates: Vec::new(),
            state: None,
            statistics: None,
            export: None,
            error: None,
            remedy: None,
        }
    }
}
