//! The loop rule of a regulator: Bowline's detector, or a preset in its place.
//!
//! Open calls are remembered as traces until their result comes, at most
//! [`OPEN_MAX`]; beyond it the oldest is taken for lost.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::decision::{Fired, Rule, Verdict};
use super::event::{Call, Outcome, Status};
use crate::guard::loops::{Action, Detector, Finding, Settings, Verdict as Loop};
use crate::guard::preset::{self, Asked, Consequence, Preset};
use crate::guard::{CallTrace, Origin, OutputTrace, ReplyTrace};
use crate::provenance::Digest;

/// Calls that may be out at once.
pub const OPEN_MAX: usize = 256;

/// A loop rule and the calls it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watch {
    guard: Guard,
    open: VecDeque<Open>,
    /// What ended the run, until a person writes.
    stopped: Option<Fired>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Guard {
    Detector(Box<Detector>),
    Preset { preset: Preset, action: Action, rule: preset::Rule },
}

/// A call that was allowed and has not come back. Ids and names are kept by
/// hash, so a long one costs no more than a short one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    id: Option<Digest>,
    trace: CallTrace,
    asked: Asked,
    /// When it was allowed, where a clock was told since the last restart.
    since_ms: Option<u64>,
}

impl Watch {
    pub(super) fn new(settings: &Settings, preset: Option<Preset>) -> Self {
        let guard = match preset {
            // The regulator counts truncated replies itself, whatever the loop rule.
            None => {
                let settings = Settings { truncated_at: u32::MAX, ..settings.clone() };
                Guard::Detector(Box::new(Detector::new(settings)))
            }
            Some(preset) => Guard::Preset { preset, action: settings.action, rule: preset.rule() },
        };
        Self { guard, open: VecDeque::new(), stopped: None }
    }

    /// What the rule says about a call, which is not yet recorded.
    pub(super) fn check(&self, call: &Call<'_>) -> Option<Fired> {
        match &self.guard {
            Guard::Detector(detector) => match detector.check(&trace(call)) {
                Loop::Allow => None,
                Loop::Block(finding) => Some(found(finding, Verdict::Block)),
                Loop::Stop(finding) => Some(found(finding, Verdict::Stop)),
            },
            Guard::Preset { preset, action, rule } => {
                let cause = rule.check(&Asked::of(call.tool, call.args))?;
                let verdict = match (action, preset.consequence()) {
                    (Action::Block, _) | (Action::Both, Consequence::Block) => Verdict::Block,
                    (Action::Stop, _) | (Action::Both, Consequence::Stop) => Verdict::Stop,
                };
                Some(Fired {
                    rule: Rule::ToolLoop,
                    verdict,
                    reason: cause.word().into(),
                    evidence: vec![cause.notice(call.tool)],
                    notice: cause.notice(call.tool),
                    setting: format!("preset {}", preset.name()),
                })
            }
        }
    }

    /// Whether the run may go on at all.
    pub(super) fn check_run(&self) -> Option<Fired> {
        let standing = match &self.guard {
            Guard::Detector(detector) => match detector.check_run() {
                Loop::Allow => None,
                Loop::Block(finding) => Some(found(finding, Verdict::Block)),
                Loop::Stop(finding) => Some(found(finding, Verdict::Stop)),
            },
            Guard::Preset { .. } => None,
        };
        standing.or_else(|| self.stopped.clone())
    }

    /// Whether the model should be told to change its strategy.
    pub(super) fn check_strategy(&self) -> Option<Fired> {
        match &self.guard {
            Guard::Detector(detector) => detector.switch_due().map(|finding| found(finding, Verdict::Warn)),
            Guard::Preset { .. } => None,
        }
    }

    /// The model is called with what was decided before: it has been told.
    pub(super) fn stepping(&mut self) {
        match &mut self.guard {
            Guard::Detector(detector) => detector.record_switch(),
            Guard::Preset { .. } => {}
        }
    }

    pub(super) fn allowed(&mut self, call: &Call<'_>, since_ms: Option<u64>) {
        let asked = Asked::of(call.tool, call.args);
        let open = Open { id: call.id.map(digest), trace: trace(call), asked, since_ms };
        self.open.push_back(open);
        if self.open.len() > OPEN_MAX {
            self.open.pop_front();
        }
    }

    pub(super) fn blocked(&mut self, call: &Call<'_>) {
        match &mut self.guard {
            Guard::Detector(detector) => detector.record_blocked(&trace(call)),
            Guard::Preset { rule, .. } => rule.blocked(&Asked::of(call.tool, call.args)),
        }
    }

    pub(super) fn stopped(&mut self, fired: Fired) {
        self.stopped = Some(fired);
    }

    /// The program was down: how long open calls take can no longer be told.
    pub(super) fn forget_times(&mut self) {
        self.open.iter_mut().for_each(|open| open.since_ms = None);
    }

    /// How long the call took; 0 where nobody can tell. `None`, and no change, for
    /// a result of a call nobody asked about.
    pub(super) fn result(&mut self, outcome: &Outcome<'_>, now_ms: Option<u64>) -> Option<u64> {
        let (id, tool) = (outcome.id.map(digest), digest(outcome.tool));
        let is_its = |open: &Open| if id.is_some() { open.id == id } else { open.trace.tool == tool };
        let place = self.open.iter().position(is_its);
        let open = self.open.remove(place?)?;
        match &mut self.guard {
            Guard::Detector(detector) => match outcome.status {
                Status::Done { output, ok, world } => {
                    detector.record_call(&open.trace, &OutputTrace::of(output, ok), world);
                }
                Status::Denied => detector.record_denied(&open.trace),
                Status::UnknownTool => detector.record_unknown_tool(&open.trace),
                Status::Retry => detector.record_retry(),
            },
            Guard::Preset { rule, .. } => match outcome.status {
                Status::Done { output, ok, .. } => rule.record(&open.asked, output, ok),
                Status::Denied => rule.record(&open.asked, "denied", Some(false)),
                Status::UnknownTool => rule.record(&open.asked, "no such tool", Some(false)),
                Status::Retry => {}
            },
        }
        let took = now_ms.zip(open.since_ms).map(|(now, since)| now.saturating_sub(since));
        Some(took.unwrap_or_default())
    }

    pub(super) fn reply(&mut self, reply: &ReplyTrace) {
        match &mut self.guard {
            Guard::Detector(detector) => detector.record_reply(reply),
            Guard::Preset { .. } => {}
        }
    }

    pub(super) fn user(&mut self, origin: Origin) {
        match &mut self.guard {
            Guard::Detector(detector) => detector.record_user(origin),
            Guard::Preset { rule, .. } => rule.user(origin),
        }
        match origin {
            Origin::Person => self.stopped = None,
            Origin::Harness => {}
        }
    }
}

/// The trace of a call as its tool declares it.
#[must_use]
pub fn trace(call: &Call<'_>) -> CallTrace {
    let trace = CallTrace::of(call.tool, call.args, call.effect);
    call.repeat.map_or(trace, |repeat| trace.with_repeat(repeat))
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn found(finding: Finding, verdict: Verdict) -> Fired {
    let word = |reason| {
        let value = serde_json::to_value(reason).ok();
        value.as_ref().and_then(serde_json::Value::as_str).unwrap_or("loop").to_owned()
    };
    let step = |step: &crate::guard::loops::Evidence| {
        format!("call {}: {} {:+.2}", step.call, word(step.reason), f64::from(step.points) / 100.0)
    };
    Fired {
        rule: Rule::ToolLoop,
        verdict,
        reason: word(finding.reason),
        evidence: finding.trail.iter().map(step).collect(),
        notice: finding.notice,
        setting: finding.setting,
    }
}
