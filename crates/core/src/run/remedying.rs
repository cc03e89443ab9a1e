//! Rounds of repair that look alike: four remedies, in this order, each at most
//! once a defect. Another strategy; other words in another order; evidence read
//! anew; a person.
//!
//! A defect is known by the first round that looked like it, so that one which
//! comes back after others does not start over. Each remedy is an event with its
//! reason before anything follows from it.

use std::collections::BTreeSet;

use super::decide::Draft;
use super::escalating;
use super::state::Run;
use crate::control::Strategy;
use crate::event::{Event, Evidence, HaltReason, Remedied, Remedy, StopReason};
use crate::guard::loops::ROUNDS_MAX;

/// Most files that are read again.
const FILES_MAX: usize = 32;

/// A round looks like an earlier one: the next remedy that can be tried.
pub(super) fn remedy(draft: &mut Draft, back: u32) {
    let run = &draft.run;
    let round = run.verifications;
    let Some(defect) = run.mending.defects.last().copied() else { return };
    let used = run.mending.remedies.get(&defect).copied().unwrap_or(0);
    let Some(remedy) = next(run, used) else { return };
    let before = round.saturating_sub(back);
    let why = format!("round {round} gave nearly the output and the diagnosis of round {before}");
    draft.push(Event::Remedied(Box::new(Remedied { round, defect, remedy, why })));
    match remedy {
        Remedy::SwitchStrategy { .. } | Remedy::Perturb { .. } | Remedy::FreshEvidence => {}
        Remedy::Person => {
            let why = format!("round {round} is still like round {before}, after every other remedy");
            escalating::escalate(draft, StopReason::Halt(HaltReason::RepairStuck { why }));
        }
    }
}

/// `None` once a person has seen it and let it go on.
fn next(run: &Run, used: u32) -> Option<Remedy> {
    match used {
        0 => {
            let from = run.mending.strategy.unwrap_or(Strategy::SectionRewrite);
            let wanted = run.mending.intensity.map_or(from, Strategy::of);
            Some(Remedy::SwitchStrategy { from, to: if wanted == from { from.other() } else { wanted } })
        }
        1 => Some(Remedy::Perturb { vary: run.mending.varied + 1 }),
        2 if !paths(run).is_empty() => Some(Remedy::FreshEvidence),
        2 | 3 => Some(Remedy::Person),
        _ => None,
    }
}

/// What is read again: the evidence of the task, and what the run has written.
pub(super) fn paths(run: &Run) -> Vec<String> {
    let named = run.task.evidence.iter().map(String::as_str);
    let written = run.images.iter().map(|(_, image)| image.result().0);
    let mut seen = BTreeSet::new();
    named.chain(written).filter(|path| seen.insert(*path)).take(FILES_MAX).map(str::to_owned).collect()
}

impl Remedy {
    /// How many remedies are used up with this one.
    fn place(self) -> u32 {
        match self {
            Self::SwitchStrategy { .. } => 1,
            Self::Perturb { .. } => 2,
            Self::FreshEvidence => 3,
            Self::Person => 4,
        }
    }
}

impl Run {
    /// Another round is remembered; it is its own defect until it is found alike.
    pub(super) fn note_defect(&mut self) {
        let defects = &mut self.mending.defects;
        if defects.len() >= ROUNDS_MAX {
            let gone = defects.remove(0);
            if !defects.contains(&gone) {
                self.mending.remedies.remove(&gone);
                self.mending.tried.remove(&gone);
            }
        }
        self.mending.defects.push(self.verifications);
    }

    /// The last round is the defect of the one so many before it.
    pub(super) fn round_repeated(&mut self, back: u32) {
        let back = usize::try_from(back).unwrap_or(usize::MAX);
        let earlier = self.mending.defects.iter().rev().nth(back).copied();
        if let (Some(earlier), Some(last)) = (earlier, self.mending.defects.last_mut()) {
            *last = earlier;
        }
    }

    /// A remedy is tried.
    pub(super) fn remedied(&mut self, tried: &Remedied) {
        let mending = &mut self.mending;
        mending.remedies.insert(tried.defect, tried.remedy.place());
        mending.remedy = Some(tried.remedy);
        match tried.remedy {
            Remedy::SwitchStrategy { .. } | Remedy::Person => {}
            Remedy::Perturb { vary } => mending.varied = vary,
            Remedy::FreshEvidence => mending.rereading = true,
        }
    }

    /// Evidence was read again.
    pub(super) fn reread(&mut self, evidence: &[Evidence]) {
        self.evidence = evidence.to_vec().into();
        self.mending.rereading = false;
    }
}
