//! Scenes: lists of happenings, and what the detector said to each call.
//!
//! Every scene is played twice, the second time with the detector written to
//! JSON and read back before each happening: a restart changes nothing.

mod properties;
mod scenes;

use super::{Action, Detector, Settings, Stage, Verdict};
use crate::guard::{CallTrace, Effect, Origin, OutputTrace, ReplyTrace};
use crate::provenance::Digest;

/// Something that happens to a run.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// A call that, if allowed, gives this output and leaves this world.
    Call {
        call: CallTrace,
        output: OutputTrace,
        world: Option<Digest>,
    },
    /// A call of a tool that does not exist, or that policy refuses.
    Unknown(CallTrace),
    Denied(CallTrace),
    Retry,
    Reply(ReplyTrace),
    User(Origin),
}

pub(super) fn call(tool: &str, args: &str, effect: Effect, output: &str, ok: bool) -> Happening {
    let call = CallTrace::of(tool, args, Some(effect));
    Happening::Call { call, output: OutputTrace::of(output, Some(ok)), world: None }
}

/// A look that succeeds.
pub(super) fn read(args: &str, output: &str) -> Happening {
    call("read", args, Effect::Read, output, true)
}

/// A successful edit.
pub(super) fn edit(args: &str) -> Happening {
    call("edit", args, Effect::Write, "edited", true)
}

/// Code that runs.
pub(super) fn exec(args: &str, output: &str) -> Happening {
    call("run", args, Effect::Exec, output, true)
}

/// What was said to a call: allow, block, stop; a small letter marks the block
/// with which a switch is due.
pub(super) type Said = String;

pub(super) fn happen(detector: &mut Detector, happening: &Happening, said: &mut Said) {
    match happening {
        Happening::Call { call, output, world } => match ask(detector, call, said) {
            Verdict::Allow => detector.record_call(call, output, *world),
            Verdict::Block(_) => detector.record_blocked(call),
            Verdict::Stop(_) => {}
        },
        Happening::Unknown(call) => match ask(detector, call, said) {
            Verdict::Allow => detector.record_unknown_tool(call),
            Verdict::Block(_) => detector.record_blocked(call),
            Verdict::Stop(_) => {}
        },
        Happening::Denied(call) => match ask(detector, call, said) {
            Verdict::Allow => detector.record_denied(call),
            Verdict::Block(_) => detector.record_blocked(call),
            Verdict::Stop(_) => {}
        },
        Happening::Retry => detector.record_retry(),
        Happening::Reply(reply) => {
            detector.record_reply(reply);
            if let Verdict::Stop(_) = detector.check_run() {
                said.push('S');
            }
        }
        Happening::User(from) => detector.record_user(*from),
    }
}

fn ask(detector: &Detector, call: &CallTrace, said: &mut Said) -> Verdict {
    let verdict = detector.check(call);
    assert_eq!(verdict, detector.check(call), "asking twice gives the same answer");
    said.push(match &verdict {
        Verdict::Allow => '.',
        Verdict::Block(finding) if finding.switch => 'b',
        Verdict::Block(_) => 'B',
        Verdict::Stop(_) => 'S',
    });
    verdict
}

pub(super) fn restarted(detector: &Detector) -> Detector {
    serde_json::from_str(&serde_json::to_string(detector).unwrap()).unwrap()
}

/// Plays a scene with the default settings; the restart variant must agree.
pub(super) fn play(happenings: &[Happening]) -> (Said, Detector) {
    play_with(&Settings::default(), happenings)
}

pub(super) fn play_with(settings: &Settings, happenings: &[Happening]) -> (Said, Detector) {
    let (mut live, mut again) = (Detector::new(settings.clone()), Detector::new(settings.clone()));
    let (mut said, mut said_again) = (Said::new(), Said::new());
    for happening in happenings {
        happen(&mut live, happening, &mut said);
        again = restarted(&again);
        happen(&mut again, happening, &mut said_again);
    }
    assert_eq!(said, said_again, "a restart changes nothing");
    assert_eq!(live, again, "a restart changes nothing");
    (said, live)
}

/// Asserts what is said to each call of a scene.
pub(super) fn check(happenings: &[Happening], expected: &str) {
    let (said, _) = play(happenings);
    assert_eq!(said, expected);
}

/// The same happening, over and over.
pub(super) fn times(count: usize, happening: &Happening) -> Vec<Happening> {
    vec![happening.clone(); count]
}

/// The happenings, over and over.
pub(super) fn rounds(count: usize, happenings: &[Happening]) -> Vec<Happening> {
    (0..count).flat_map(|_| happenings.to_vec()).collect()
}
