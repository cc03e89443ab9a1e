//! Bowline's own loop detector as a judge of recorded runs.

use bowline_core::guard::loops::{Action, Detector, Finding, Settings, Verdict};
use bowline_core::guard::{CallTrace, Origin, OutputTrace, ReplyTrace};

use crate::judge::{Grounds, Guard, Judge, Opinion};
use crate::trajectory::{Call, Output, Reply};

/// The name of Bowline's own guard in tables and on the command line.
pub const NAME: &str = "bowline";

/// The detector with these settings; what it may do is set for each judge.
#[derive(Clone, Debug, Default)]
pub struct Bowline {
    /// Every number of it.
    pub settings: Settings,
}

impl Guard for Bowline {
    fn name(&self) -> &str {
        NAME
    }

    fn judge(&self, action: Action) -> Box<dyn Judge + '_> {
        Box::new(Detector::new(Settings { action, ..self.settings.clone() }))
    }
}

impl Judge for Detector {
    fn user(&mut self, _text: &str, origin: Origin) {
        self.record_user(origin);
    }

    fn reply(&mut self, reply: &Reply) {
        self.record_reply(&ReplyTrace::of(&reply.text, reply.calls, false));
    }

    fn check(&mut self, call: &Call) -> Opinion {
        match Self::check(self, &trace(call)) {
            Verdict::Allow => Opinion::Allow,
            Verdict::Block(finding) => Opinion::Block(grounds(&finding)),
            Verdict::Stop(finding) => Opinion::Stop(grounds(&finding)),
        }
    }

    fn record(&mut self, call: &Call, output: &Output) {
        self.record_call(&trace(call), &OutputTrace::of(&output.text, output.ok), None);
    }

    fn blocked(&mut self, call: &Call) {
        self.record_blocked(&trace(call));
    }
}

fn trace(call: &Call) -> CallTrace {
    CallTrace::of(&call.tool, &call.args, None)
}

fn grounds(finding: &Finding) -> Grounds {
    let word = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let reason = word(serde_json::to_value(finding.reason));
    let trail = finding.trail.iter().map(|step| {
        let points = f64::from(step.points) / 100.0;
        format!("call {}: {} {points:+.2}", step.call, word(serde_json::to_value(step.reason)))
    });
    Grounds { reason, evidence: trail.collect() }
}
