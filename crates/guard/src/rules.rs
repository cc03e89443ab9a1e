//! The presets as judges of recorded runs.

use bowline_core::guard::Origin;
use bowline_core::guard::loops::Action;
use bowline_core::guard::preset::{Asked, Cause, Consequence, Preset, Rule};

use crate::judge::{Grounds, Guard, Judge, Opinion};
use crate::trajectory::{Call, Output, Reply};

/// A preset and what it does when it fires.
struct Ruled {
    rule: Rule,
    consequence: Consequence,
}

impl Guard for Preset {
    fn name(&self) -> &str {
        Self::name(*self)
    }

    fn judge(&self, action: Action) -> Box<dyn Judge + '_> {
        Box::new(Ruled { rule: self.rule(), consequence: consequence(*self, action) })
    }
}

/// Each rule has one consequence in its source; scoring asks for the other too.
fn consequence(preset: Preset, action: Action) -> Consequence {
    match action {
        Action::Block => Consequence::Block,
        Action::Stop => Consequence::Stop,
        Action::Both => preset.consequence(),
    }
}

impl Judge for Ruled {
    fn user(&mut self, _text: &str, origin: Origin) {
        self.rule.user(origin);
    }

    fn reply(&mut self, _reply: &Reply) {}

    fn check(&mut self, call: &Call) -> Opinion {
        let grounds =
            |cause: Cause| Grounds { reason: cause.word().into(), evidence: vec![cause.notice(&call.tool)] };
        match (self.rule.check(&asked(call)), self.consequence) {
            (None, _) => Opinion::Allow,
            (Some(cause), Consequence::Block) => Opinion::Block(grounds(cause)),
            (Some(cause), Consequence::Stop) => Opinion::Stop(grounds(cause)),
        }
    }

    fn record(&mut self, call: &Call, output: &Output) {
        self.rule.record(&asked(call), &output.text, output.ok);
    }

    fn blocked(&mut self, call: &Call) {
        self.rule.blocked(&asked(call));
    }
}

fn asked(call: &Call) -> Asked {
    Asked::of(&call.tool, &call.args)
}
