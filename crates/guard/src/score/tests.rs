//! Small runs whose scores can be counted by hand.

use bowline_core::guard::Origin;

use super::*;
use crate::trajectory::{Output, Reply};

/// A guard that blocks or stops the calls it was told to, by number.
struct Told {
    calls: Vec<usize>,
    verdict: Verdict,
}

struct Counting<'a> {
    told: &'a Told,
    asked: usize,
    recorded: usize,
}

impl Guard for Told {
    fn name(&self) -> &'static str {
        "told"
    }

    fn judge(&self, _action: Action) -> Box<dyn Judge + '_> {
        Box::new(Counting { told: self, asked: 0, recorded: 0 })
    }
}

impl Judge for Counting<'_> {
    fn user(&mut self, _text: &str, _origin: Origin) {}
    fn reply(&mut self, _reply: &Reply) {}
    fn check(&mut self, _call: &Call) -> Opinion {
        self.asked += 1;
        let grounds =
            Grounds { reason: "told".into(), evidence: vec![format!("{} recorded", self.recorded)] };
        match self.told.verdict {
            _ if !self.told.calls.contains(&self.asked) => Opinion::Allow,
            Verdict::Block => Opinion::Block(grounds),
            Verdict::Stop => Opinion::Stop(grounds),
        }
    }
    fn record(&mut self, _call: &Call, _output: &Output) {
        self.recorded += 1;
    }
    fn blocked(&mut self, _call: &Call) {}
}

/// Calls with their outputs; `-` was never answered.
fn run(success: bool, calls: &[(&str, &str)]) -> Trajectory {
    let output = |text: &str| (text != "-").then(|| Output { text: text.into(), ok: None });
    let calls: Vec<Call> = calls
        .iter()
        .map(|(args, text)| Call { tool: "t".into(), args: (*args).into(), output: output(text) })
        .collect();
    let mut moments = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        moments.push(Moment::Asked(at));
        if call.output.is_some() {
            moments.push(Moment::Answered(at));
        }
    }
    Trajectory { id: "r".into(), source: "s".into(), success: Some(success), calls, moments }
}

const CALLS: [(&str, &str); 6] =
    [("a", "took 0.1s"), ("b", "x"), ("a", "took 0.2s"), ("a", "other"), ("a", "took 0.1s"), ("b", "-")];

fn blocks(success: bool, calls: &[usize]) -> BlockTally {
    let run = run(success, &CALLS);
    let scored = Scored::new(&run).unwrap();
    scored.block(&scored.pass(&Told { calls: calls.to_vec(), verdict: Verdict::Block }, Action::Block))
}

fn stops(success: bool, calls: &[usize]) -> StopTally {
    let run = run(success, &CALLS);
    let scored = Scored::new(&run).unwrap();
    scored.stop(&scored.pass(&Told { calls: calls.to_vec(), verdict: Verdict::Stop }, Action::Stop))
}

#[test]
fn a_call_is_redundant_if_it_returned_what_its_last_twin_did() {
    assert_eq!(redundant(&run(true, &CALLS)), [false, false, true, false, false, false]);
}

#[test]
fn blocking_what_returned_something_new_loses_information() {
    assert_eq!(blocks(true, &[3]).losing, 0, "the same but for its duration");
    assert_eq!(blocks(true, &[2]).losing, 1, "seen for the first time");
    assert_eq!(blocks(true, &[5]).losing, 1, "seen before, but not last");
    assert_eq!(blocks(true, &[6]).losing, 0, "nobody knows what it would have returned");
    assert_eq!(blocks(true, &[2, 4, 5]).losing, 1, "runs are counted, not calls");
    assert_eq!(blocks(true, &[2]).losing_share(), Some(1.0));
}

#[test]
fn redundant_calls_are_counted_in_failures_only() {
    let tally = blocks(false, &[2, 3]);
    assert_eq!((tally.redundant, tally.redundant_blocked, tally.blocked), (1, 1, 2));
    assert_eq!((tally.losing, tally.successes, tally.failures), (0, 0, 1));
    assert_eq!(blocks(true, &[3]).redundant_share(), None);
}

#[test]
fn a_stop_saves_its_call_and_all_after_it() {
    assert_eq!(stops(false, &[3, 4]).calls_saved, 4);
    assert_eq!(stops(false, &[]).calls_saved, 0);
    assert_eq!(stops(false, &[1]).saved_share(), Some(1.0));
    assert_eq!((stops(true, &[3]).false_stops, stops(true, &[3]).calls), (1, 0));
    assert_eq!(stops(true, &[]).false_stops, 0);
}

#[test]
fn a_blocked_call_is_not_recorded_and_nothing_follows_a_stop() {
    let run = run(false, &CALLS);
    let scored = Scored::new(&run).unwrap();
    let seen = |verdict| {
        let passage = scored.pass(&Told { calls: vec![2, 5], verdict }, Action::Both);
        let evidence = |decision: &Decision| (decision.call, decision.grounds.evidence.concat());
        passage.decisions.iter().map(evidence).collect::<Vec<_>>()
    };
    assert_eq!(seen(Verdict::Block), [(2, "1 recorded".into()), (5, "3 recorded".into())]);
    assert_eq!(seen(Verdict::Stop), [(2, "1 recorded".into())]);
}

#[test]
fn runs_nobody_judged_and_runs_without_a_call_do_not_count() {
    let unjudged = Trajectory { success: None, ..run(true, &CALLS) };
    assert!(Scored::new(&unjudged).is_none());
    assert!(Scored::new(&run(true, &[])).is_none());
}
