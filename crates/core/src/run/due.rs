//! `due`: what the shell owes the world, from the state alone.

use std::collections::BTreeSet;

use super::state::{ApprovalState, Phase, Run};
use super::{
    acting, committing, landing, limit, promoting, repairing, retrieving, thread, undoing, verifying,
};
use crate::effect::Effect;

impl Run {
    /// What is to be done now. Asking twice gives the same answer; an effect
    /// that is in flight already is recognised by its key.
    #[must_use]
    pub fn due(&self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !self.owned {
            return effects;
        }
        landing::due(self, &mut effects);
        if self.ending().is_some() {
            undoing::due(self, &mut effects);
            promoting::due(self, &mut effects);
            return effects;
        }
        if !matches!(self.phase, Phase::RollingBack(_)) {
            thread::due(self, &mut effects);
        }
        if !self.paused && self.stopping.is_none() {
            self.due_of_phase(&mut effects);
        }
        self.due_timers(&mut effects);
        // Two timers may fall on one moment: one wake-up is enough.
        let mut keys = BTreeSet::new();
        effects.retain(|effect| keys.insert(effect.key()));
        effects
    }

    fn due_of_phase(&self, effects: &mut Vec<Effect>) {
        match &self.phase {
            Phase::Retrieving => retrieving::due(self, effects),
            Phase::Acting => acting::due(self, effects),
            Phase::Verifying(verification) => verifying::due(self, verification, effects),
            Phase::Committing => committing::due(self, effects),
            Phase::RollingBack(_) => undoing::due(self, effects),
            Phase::Planning | Phase::Decomposing | Phase::Critiquing(_) | Phase::Ended(_) => {}
            Phase::Repairing { round } => {
                retrieving::due_again(self, effects);
                repairing::due(self, *round, effects);
            }
        }
    }

    fn due_timers(&self, effects: &mut Vec<Effect>) {
        let open = self.approvals.values().filter(|approval| approval.state == ApprovalState::Open);
        effects.extend(open.map(|approval| Effect::WakeAt { at: approval.expires_at }));
        if self.has_work() && self.stopping.is_none() && limit::is_bounded(self) {
            effects.extend(limit::time_is_up(self).map(|at| Effect::WakeAt { at }));
        }
    }
}
