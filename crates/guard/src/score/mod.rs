//! What a guard's opinions about one recorded run cost and saved.
//!
//! *Block score.* The recording holds what a blocked call would have returned,
//! so it is known whether the block hid anything: a call is redundant if its
//! output equals the last one recorded for the same tool and arguments. A call
//! whose result was not recorded hides nothing that is known.
//!
//! *Stop score.* The first stop ends the run; the stopped call and all after it
//! are saved.
//!
//! Runs whose success nobody knows, and runs without a call, are left out.

mod normalise;
mod tally;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use normalise::normalised;
pub use tally::{BlockTally, StopTally};

use bowline_core::guard::loops::Action;
use bowline_core::provenance::Digest;

use crate::judge::{Grounds, Guard, Judge, Opinion};
use crate::trajectory::{Call, Moment, Trajectory};

/// A run that counts, with what scoring needs to know about its calls.
pub struct Scored<'a> {
    run: &'a Trajectory,
    success: bool,
    /// One for each call.
    redundant: Vec<bool>,
}

/// An opinion that was not "allow".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call, counted from 1.
    pub call: u64,
    /// Block or stop.
    pub verdict: Verdict,
    /// Why.
    pub grounds: Grounds,
}

/// What was done about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was answered in its tool's place.
    Block,
    /// It ended the run.
    Stop,
}

/// How a guard went through a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// Every decision, in order.
    pub decisions: Vec<Decision>,
}

impl<'a> Scored<'a> {
    /// The run, if it counts.
    #[must_use]
    pub fn new(run: &'a Trajectory) -> Option<Self> {
        let success = run.success?;
        (!run.calls.is_empty()).then(|| Self { run, success, redundant: redundant(run) })
    }

    /// Leads a fresh judge through the run.
    #[must_use]
    pub fn pass(&self, guard: &dyn Guard, action: Action) -> Passage {
        let mut judge = guard.judge(action);
        let mut passage = Passage::default();
        let mut blocked = vec![false; self.run.calls.len()];
        for moment in &self.run.moments {
            match moment {
                Moment::User { text, origin } => judge.user(text, *origin),
                Moment::Reply(reply) => judge.reply(reply),
                Moment::Asked(at) => {
                    let Some(call) = self.run.calls.get(*at) else { continue };
                    match passage.ask(judge.as_mut(), *at, call) {
                        None => {}
                        Some(Verdict::Stop) => return passage,
                        Some(Verdict::Block) => {
                            judge.blocked(call);
                            if let Some(mark) = blocked.get_mut(*at) {
                                *mark = true;
                            }
                        }
                    }
                }
                Moment::Answered(at) => {
                    let is_blocked = blocked.get(*at).copied().unwrap_or_default();
                    let call = self.run.calls.get(*at).filter(|_| !is_blocked);
                    if let Some((call, output)) = call.and_then(|call| Some((call, call.output.as_ref()?))) {
                        judge.record(call, output);
                    }
                }
            }
        }
        passage
    }

    /// The block score of a passage.
    #[must_use]
    pub fn block(&self, passage: &Passage) -> BlockTally {
        let mut tally = BlockTally::default();
        let mut is_losing = false;
        for decision in passage.decisions.iter().filter(|decision| decision.verdict == Verdict::Block) {
            tally.blocked += 1;
            let at = usize::try_from(decision.call).ok().and_then(|call| call.checked_sub(1));
            let is_redundant = at.and_then(|at| self.redundant.get(at)).copied().unwrap_or_default();
            let call = at.and_then(|at| self.run.calls.get(at));
            let is_answered = call.is_some_and(|call| call.output.is_some());
            tally.redundant_blocked += u64::from(is_redundant && !self.success);
            is_losing |= is_answered && !is_redundant;
        }
        if self.success {
            tally.successes = 1;
            tally.losing = u64::from(is_losing);
        } else {
            tally.failures = 1;
            tally.redundant = self.redundant.iter().filter(|redundant| **redundant).count() as u64;
        }
        tally
    }

    /// The stop score of a passage.
    #[must_use]
    pub fn stop(&self, passage: &Passage) -> StopTally {
        let mut stops = passage.decisions.iter().filter(|decision| decision.verdict == Verdict::Stop);
        let stopped_at = stops.next().map(|decision| decision.call);
        let stopped = u64::from(stopped_at.is_some());
        if self.success {
            return StopTally { successes: 1, false_stops: stopped, ..StopTally::default() };
        }
        let calls = self.run.calls.len() as u64;
        let calls_saved = stopped_at.map_or(0, |call| (calls + 1).saturating_sub(call));
        StopTally { failures: 1, true_stops: stopped, calls, calls_saved, ..StopTally::default() }
    }
}

impl Passage {
    fn ask(&mut self, judge: &mut dyn Judge, at: usize, call: &Call) -> Option<Verdict> {
        let (verdict, grounds) = match judge.check(call) {
            Opinion::Allow => return None,
            Opinion::Block(grounds) => (Verdict::Block, grounds),
            Opinion::Stop(grounds) => (Verdict::Stop, grounds),
        };
        self.decisions.push(Decision { call: at as u64 + 1, verdict, grounds });
        Some(verdict)
    }
}

/// Which calls returned what the recording showed last for the same tool and
/// arguments.
fn redundant(run: &Trajectory) -> Vec<bool> {
    let mut last: HashMap<(&str, &str), Digest> = HashMap::new();
    let mut redundant = vec![false; run.calls.len()];
    for moment in &run.moments {
        let Moment::Answered(at) = moment else { continue };
        let Some((call, output)) = run.calls.get(*at).and_then(|call| Some((call, call.output.as_ref()?)))
        else {
            continue;
        };
        let digest = Digest::of(normalised(&output.text).as_bytes());
        let before = last.insert((&call.tool, &call.args), digest);
        if let Some(mark) = redundant.get_mut(*at) {
            *mark = before == Some(digest);
        }
    }
    redundant
}
