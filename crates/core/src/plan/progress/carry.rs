//! What is done stays done when a plan changes.

use super::{Progress, Standing};
use crate::id::SubtaskId;
use crate::plan::index::Kind;
use crate::plan::{Node, Plan};

impl Progress {
    /// Where the work stands on `new`, which `old` was changed into: what both have is
    /// as it was, what is new has not begun.
    #[must_use]
    pub fn carried(&self, old: &Plan, new: &Plan) -> Self {
        let mut progress = Self::begin(new);
        // Whatever a node waits for, and every choice it is in, has a smaller number: what
        // could come before it is carried over when its own turn is looked at.
        for this in 0..new.index.len() {
            let Some(node) = new.numbered(this) else { continue };
            let Some(before) = old.index.number(node.id()) else { continue };
            match node {
                Node::Subtask(subtask) => match self.standings.get(before) {
                    Standing::Done => progress.finished(new, &subtask.id),
                    Standing::Running => progress.started(new, &subtask.id),
                    Standing::Dormant
                    | Standing::Waiting
                    | Standing::Ready
                    | Standing::Failed
                    | Standing::Abandoned => {}
                },
                Node::Choice(choice) => self.carry_choice((before, this), new, &choice.id, &mut progress),
            }
        }
        progress
    }

    fn carry_choice(&self, (before, this): (u32, u32), new: &Plan, id: &SubtaskId, to: &mut Self) {
        let index = &*new.index;
        let taken = self.taken.get(&before).map(|taken| taken.branch);
        match index.spot(this).map(|spot| spot.kind) {
            Some(Kind::When { .. }) => match (self.standings.get(before), taken) {
                (_, Some(branch)) => to.choose(new, id, Some(branch)),
                (Standing::Done, None) => to.choose(new, id, None),
                (_, None) => {}
            },
            Some(Kind::FirstThatWorks { branches }) => {
                let last = taken.unwrap_or(0).min(branches.saturating_sub(1));
                let reached = to.taken.contains_key(&this);
                (0..last).filter(|_| reached).for_each(|from| {
                    to.abandon(index, this, from);
                    to.take(index, this, from + 1);
                });
            }
            Some(Kind::Subtask { .. }) | None => {}
        }
    }
}
