//! Inputs as one line of text each.
//!
//! | line | input |
//! |---|---|
//! | `claim`, `claim 3` | the next worker, or one with this epoch |
//! | `restore`, `take-up` | it was brought back from a backup; a person takes it up |
//! | `tick` | time passed |
//! | `evidence a=text b=text`, `no evidence a` | files were read, or one could not be |
//! | `reply 1 read(a) write(f): words` | a model answered, here with two calls |
//! | `reply 1 cut …`, `refused`, `filtered` | the same, but it stopped early |
//! | `reply 1 likely=900000: words` | the same, and told how likely it found its words |
//! | `fail 1 transient`, `fail 1 rate_limited 5000` | a model did not answer |
//! | `prepared a1.0`, `unprepared a1.0` | a file was looked at |
//! | `ok a1.0`, `error a1.0`, `unknown a1.0`, `ok a1.0 #2` | a tool came back |
//! | `ok a1.0 $30` | the same, having asked a model for 30 tokens |
//! | `late a1.0`, `trouble a1.0`, `trouble a1.0 5000` | a tool did not answer in time, or could not now |
//! | `probe a1.0 happened`, `did-not`, `unknown` | a probe came back |
//! | `check 1.0 pass`, `fail`, `broken` | a check came back |
//! | `spliced 1`, `unspliced 1` | a mended part is in its place, or does not fit |
//! | `weighed 1 yes`, `weighed 1 no` | the condition of a choice was looked at |
//! | `restored a1.0`, `left a1.0`, `unrestored a1.0`, `stored` | an undo came back; the result is stored |
//! | `undone a1.0`, `as-before`, `impossible`, `undo-failed`, `undo-trouble a1.0 5000` | the undo of a call came back |
//! | `stored-to-promote` | the result is stored, and the worker has somebody to hand it on to |
//! | `taken 1`, `not-taken 1`, `promote` | an attempt to hand it on came back; a person wants it tried again |
//! | `told` | the command for alerts came back |
//! | `undo`, `undo 12` | a person wants it undone, back to an event |
//! | `approve a1.0`, `approve output`, `approve a1.0 other` | a person agreed (to other bytes) |
//! | `back shorter please` | a person sent the output back |
//! | `deny a1.0`, `pause`, `resume steps=5`, `cancel`, `settle a1.0 happened` | a person spoke |
//!
//! In a call, `!read(a)` has bad arguments; `write(f?)` was not looked at with
//! the reply, `write(f!)` could not be.

use super::drive::Driver;
use crate::budget::{Cost, Limit};
use crate::control::Ppm;
use crate::event::{
    Changes, Evidence, LandOutcome, MovedOn, Outcome, Raise, RestoreOutcome, Seen, Settlement, StepTrouble,
    Subject,
};
use crate::id::{ActionId, ToolName, WorkerId};
use crate::input::{
    Asked, CallProblem, CallResult, Compensation, EvidenceGap, ProbeFinding, Reply, Returned, Signal, What,
};
use crate::message::{Call, Payload, Stop, Usage};
use crate::policy::Concern;
use crate::provenance::Digest;
use crate::quality::{CheckOutcome, Failure};
use crate::run::{CallState, Run};
use crate::tool::{FileImage, Touch};
use crate::untrusted::taint::{Reason, Tainted};

/// The person of every test.
pub(super) const PERSON: &str = "ann";

/// Reads one line.
pub(super) fn what(driver: &Driver, line: &str) -> What {
    let run = &driver.run;
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let words: Vec<&str> = rest.split_whitespace().collect();
    let action = || ActionId::parse(words[0]).unwrap();
    let step = || words[0].trim_end_matches(':').parse().unwrap();
    match verb {
        "claim" => claim(words.first().map_or(run.epoch + 1, |epoch| epoch.parse().unwrap())),
        "restore" => What::FromBackup { by: PERSON.into(), made_at: run.now },
        "tick" => What::Tick,
        "evidence" => What::EvidenceRead(Ok(words.iter().map(|word| file(word)).collect())),
        "no" => {
            What::EvidenceRead(Err(EvidenceGap { path: words[1].into(), message: "no such file".into() }))
        }
        "reply" => What::ModelReplied { step: step(), reply: reply(run, rest) },
        "fail" => What::ModelFailed {
            step: step(),
            kind: serde_json::from_value::<StepTrouble>(words[1].into()).unwrap(),
            message: words[1].replace('_', " "),
            retry_after_ms: words.get(2).map(|wait| wait.parse().unwrap()),
        },
        "prepared" => What::CallPrepared { action: action(), image: Ok(image("looked-at")) },
        "unprepared" => What::CallPrepared { action: action(), image: Err("no such folder".into()) },
        "ok" | "error" | "late" | "unknown" | "trouble" => {
            let wait = words.iter().skip(1).find_map(|word| word.parse().ok());
            let attempt = words.iter().copied().find(|word| word.starts_with('#'));
            let mut what = returned(run, (verb, wait), action(), attempt);
            if let What::CallReturned { result, .. } = &mut what {
                let spent = words.iter().find_map(|word| word.strip_prefix('$')?.parse().ok());
                result.spent = spent.map(|tokens| Cost { tokens, micros: tokens });
            }
            what
        }
        "probe" => What::Probed { action: action(), found: finding(words[1]) },
        "check" => check(words[0], words[1]),
        "spliced" => What::Spliced { round: step(), output: Ok(Payload::inline("spliced")) },
        "unspliced" => What::Spliced { round: step(), output: Err("it does not fit".into()) },
        "weighed" => What::Weighed { serial: step(), holds: words[1] == "yes" },
        "restored" => What::Restored { action: action(), outcome: RestoreOutcome::Restored },
        "left" => What::Restored { action: action(), outcome: RestoreOutcome::ChangedSince },
        "unrestored" => What::Restored { action: action(), outcome: RestoreOutcome::Failed("no".into()) },
        "undone" => compensated(run, action(), Compensation::Done),
        "as-before" => compensated(run, action(), Compensation::WasAsBefore),
        "impossible" => compensated(run, action(), Compensation::Impossible("no id".into())),
        "undo-failed" => compensated(run, action(), Compensation::Failed("no".into())),
        "undo-trouble" => {
            let retry_after_ms = words.get(1).map(|wait| wait.parse().unwrap());
            compensated(run, action(), Compensation::Trouble { message: "busy".into(), retry_after_ms })
        }
        "told" => What::AlertTold(None),
        "changes" => What::ChangesFound(Ok(Changes { list: Payload::inline("[]"), files: step() })),
        "no-changes" => What::ChangesFound(Err(LandOutcome::Not("too many".into()))),
        "landed" => What::Landed { back: false, outcome: LandOutcome::Landed },
        "moved-on" => {
            let (path, was, wrote, now) =
                ("f".into(), Seen::Nothing, Seen::SomethingElse, Seen::SomethingElse);
            let outcome = LandOutcome::MovedOn(vec![MovedOn { path, was, wrote, now }]);
            What::Landed { back: false, outcome }
        }
        "torn" => What::Landed { back: false, outcome: LandOutcome::Torn("disk".into()) },
        "taken-back" => What::Landed { back: true, outcome: LandOutcome::Landed },
        "not-taken-back" => What::Landed { back: true, outcome: LandOutcome::MovedOn(Vec::new()) },
        "stored" => What::ResultStored { provenance: Digest::ZERO, seq: run.seq, promotes: false },
        "stored-to-promote" => What::ResultStored { provenance: Digest::ZERO, seq: run.seq, promotes: true },
        "taken" => What::Promoted { attempt: step(), problem: None },
        "not-taken" => What::Promoted { attempt: step(), problem: Some("nobody is at home".into()) },
        _ => What::Signal { by: PERSON.into(), signal: signal(run, verb, &words) },
    }
}

fn compensated(run: &Run, action: ActionId, found: Compensation) -> What {
    let attempt = run.undoing().and_then(|undoing| undoing.attempt).map_or(1, |out| out.attempt);
    What::Compensated { action, attempt, found }
}

pub(super) fn claim(epoch: u64) -> What {
    What::Claimed { epoch, worker: WorkerId::parse("w1").unwrap(), programs: None }
}

fn file(word: &str) -> Evidence {
    let (path, content) = word.split_once('=').unwrap();
    Evidence { path: path.into(), content: Payload::inline(content), sha256: Digest::of(content.as_bytes()) }
}

/// The file a call changes, which looks otherwise before and after.
pub(super) fn image(path: &str) -> FileImage {
    let before = Some(Payload::inline("before"));
    FileImage {
        path: path.into(),
        before,
        after: Digest::of(path.as_bytes()),
        new_folder: None,
        departure: None,
    }
}

/// Reads `1 cut read(a): words`; the step is not looked at.
pub(super) fn reply(run: &Run, line: &str) -> Reply {
    let (head, words) = line.split_once(':').unwrap_or((line, ""));
    let words = words.trim();
    let mut stop = None;
    let (mut calls, mut likelihood) = (Vec::new(), None);
    for word in head.split_whitespace().skip(1) {
        match word {
            "cut" => stop = Some(Stop::Truncated),
            "refused" => stop = Some(Stop::Refused),
            "filtered" => stop = Some(Stop::Filtered),
            likely if likely.starts_with("likely=") => {
                likelihood = likely.strip_prefix("likely=").map(|ppm| Ppm(ppm.parse().unwrap()));
            }
            call => calls.push(asked(run, calls.len(), call)),
        }
    }
    Reply {
        stop: stop.unwrap_or(if calls.is_empty() { Stop::End } else { Stop::ToolUse }),
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        micros: 20,
        text: Payload::inline(words),
        head: words.into(),
        calls,
        likelihood,
        claim: None,
    }
}

fn asked(run: &Run, index: usize, word: &str) -> Asked {
    let (tool, path) = word.trim_end_matches(')').split_once('(').unwrap();
    let (tool, bad) = tool.strip_prefix('!').map_or((tool, false), |tool| (tool, true));
    // A path that came from outside, in a call the agent may or may not make.
    let (path, concerns) = path.strip_suffix('~').map_or((path, Vec::new()), |path| (path, tainted(path)));
    let (tool, granted) = tool.strip_prefix('-').map_or((tool, true), |tool| (tool, false));
    let name = path.trim_end_matches(['?', '!']);
    let args = format!("{{\"path\":\"{name}\"}}");
    let spec = run.tool(tool);
    let writes = spec.is_some_and(|spec| spec.touch == Touch::Write);
    Asked {
        call: Call::new(&format!("c{index}"), tool, args, &mut Vec::new()),
        problem: match (spec, bad) {
            (None, _) => Some(CallProblem::UnknownTool(format!("no tool {tool}"))),
            (Some(_), true) => Some(CallProblem::BadArguments("path is missing".into())),
            (Some(_), false) if !granted => Some(CallProblem::NotAllowed("no capability for it".into())),
            (Some(_), false) => None,
        },
        concerns,
        image: match path.strip_prefix(name) {
            Some("!") => Some(Err("no such folder".into())),
            Some("") if writes => Some(Ok(image(name))),
            _ => None,
        },
    }
}

fn tainted(path: &str) -> Vec<Concern> {
    vec![Concern::Tainted(Tainted {
        pointer: "/path".into(),
        value: path.into(),
        source: "a page".into(),
        reason: Reason::Directed,
    })]
}

fn returned(run: &Run, how: (&str, Option<u64>), action: ActionId, attempt: Option<&str>) -> What {
    let (verb, retry_after_ms) = how;
    let how = match verb {
        "ok" => Returned::Known(Outcome::Ok),
        "error" => Returned::Known(Outcome::Error),
        "late" => Returned::Known(Outcome::TimedOut),
        "trouble" => Returned::Trouble { retry_after_ms },
        _ => Returned::Unknown,
    };
    let attempt = attempt.map_or_else(|| current(run, action), |word| word[1..].parse().unwrap());
    let output = Payload::inline(&format!("{verb} {action}"));
    What::CallReturned {
        action,
        attempt,
        result: CallResult {
            how,
            output,
            full: None,
            duration_ms: 7,
            trace: None,
            suspicions: Vec::new(),
            spent: None,
        },
    }
}

/// The attempt that is out, or the first.
fn current(run: &Run, action: ActionId) -> u32 {
    let mut calls = run.threads.values().flat_map(|thread| thread.calls());
    calls.find(|(id, _)| *id == action).map_or(1, |(_, call)| match call.state {
        CallState::Running { attempt, .. } | CallState::InDoubt { attempt, .. } => attempt,
        CallState::Waiting
        | CallState::AwaitingConsent
        | CallState::Again { .. }
        | CallState::BackingOff { .. }
        | CallState::Answered { .. } => 1,
    })
}

fn finding(word: &str) -> ProbeFinding {
    match word {
        "happened" => ProbeFinding::Happened(Payload::inline("the probe saw it")),
        "did-not" => ProbeFinding::DidNotHappen,
        _ => ProbeFinding::Unknown,
    }
}

fn check(place: &str, word: &str) -> What {
    let (round, index) = place.split_once('.').unwrap();
    let (round, index) = (round.parse().unwrap(), index.parse().unwrap());
    let outcome = match word {
        "pass" => CheckOutcome::Passed,
        "fail" => CheckOutcome::Failed(vec![Failure::new("adds", "1 + 1 is 3").at(Some("sum.rs:4".into()))]),
        _ => CheckOutcome::CouldNotRun("no such program".into()),
    };
    What::CheckReturned { round, index, outcome, measure: None, log: Payload::inline("log"), duration_ms: 5 }
}

fn signal(run: &Run, verb: &str, words: &[&str]) -> Signal {
    match verb {
        "approve" => {
            let (subject, binds) = question(run, words);
            Signal::Approve { subject, binds }
        }
        "deny" => {
            let (subject, binds) = question(run, words);
            Signal::Deny { subject, binds, reason: "too dear".into() }
        }
        "back" => {
            let (_, binds) = question(run, &["output"]);
            Signal::SendBack { binds, feedback: words.join(" ") }
        }
        "pause" => Signal::Pause,
        "resume" => {
            let raise = words.iter().map(|word| raise(word)).collect();
            Signal::Resume { raise, without: Vec::new() }
        }
        "reduce" => {
            let without = words.iter().map(|word| super::build::subtask_id(word)).collect();
            Signal::Resume { raise: Vec::new(), without }
        }
        "cancel" => Signal::Cancel,
        "apply" => Signal::Land,
        "promote" => Signal::Promote,
        "take-up" => Signal::TakeUp,
        "undo" => Signal::Undo { to: words.first().map_or(0, |seq| seq.parse().unwrap()) },
        "settle" => {
            let action = ActionId::parse(words[0]).unwrap();
            let attempt = words.get(2).map_or_else(|| doubted(run, action), |word| word.parse().unwrap());
            Signal::Settle { action, attempt, settlement: settlement(words[1]) }
        }
        other => panic!("{other} is no input"),
    }
}

fn question(run: &Run, words: &[&str]) -> (Subject, Digest) {
    let subject = match words[0] {
        "output" => Subject::Output,
        action => Subject::Action(ActionId::parse(action).unwrap()),
    };
    let asked = run.approvals.get(&subject).map_or(Digest::ZERO, |approval| approval.binds);
    let binds = if words.get(1) == Some(&"other") { Digest::of(b"other bytes") } else { asked };
    (subject, binds)
}

fn raise(word: &str) -> Raise {
    let (name, to) = word.split_once('=').unwrap();
    let tool = name.strip_prefix(Limit::TOOL_PREFIX).map(|tool| Limit::Tool(ToolName::parse(tool).unwrap()));
    let plain = || Limit::ALL.into_iter().find(|limit| limit.word() == name).unwrap();
    Raise { limit: tool.unwrap_or_else(plain), to: to.parse().unwrap() }
}

/// The attempt of a call that is in doubt now; 1 when it is not.
fn doubted(run: &Run, action: ActionId) -> u32 {
    match crate::run::call::state_of(run, action) {
        Some(CallState::InDoubt { attempt, .. }) => *attempt,
        Some(
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::Running { .. }
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. },
        )
        | None => 1,
    }
}

fn settlement(word: &str) -> Settlement {
    match word {
        "happened" => Settlement::Happened { output: Payload::inline("ann saw it") },
        "did-not" => Settlement::DidNotHappen,
        "given-up" => Settlement::GivenUp { message: "nobody knows whether this happened".into() },
        other => panic!("{other} is no settlement"),
    }
}
