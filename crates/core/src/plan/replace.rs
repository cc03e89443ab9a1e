//! Another way in the place of a sub-task that failed.

use super::{BadPlan, Node, Plan, Rule};
use crate::id::SubtaskId;

impl Plan {
    /// This plan with all of `with` in the place of one node: it begins when what the
    /// node waited for is over, and what waited for the node waits for the last of it.
    pub fn replaced(&self, id: &SubtaskId, with: &Self) -> Result<Self, BadPlan> {
        let last: Vec<SubtaskId> = with.last().into_iter().cloned().collect();
        let mut nodes = Vec::with_capacity(self.nodes().len() + with.nodes().len());
        rebuild(self.nodes(), &Place { id, with, last: &last }, &mut nodes);
        Self::new(nodes)
    }
}

struct Place<'p> {
    id: &'p SubtaskId,
    with: &'p Plan,
    last: &'p [SubtaskId],
}

fn rebuild(old: &[Node], place: &Place<'_>, new: &mut Vec<Node>) {
    for node in old {
        if node.id() == place.id {
            new.extend(place.with.nodes().iter().map(|fresh| begun_after(fresh, node.after())));
        } else {
            new.push(rewired(node, place));
        }
    }
}

/// The first nodes of the replacement wait for what the replaced node waited for.
fn begun_after(fresh: &Node, after: &[SubtaskId]) -> Node {
    let mut fresh = fresh.clone();
    let waits = match &mut fresh {
        Node::Subtask(subtask) => &mut subtask.after,
        Node::Choice(choice) => &mut choice.after,
    };
    if waits.is_empty() {
        waits.extend_from_slice(after);
    }
    fresh
}

/// What waited for the replaced node waits for the last of the replacement. A condition
/// can look at one output only: where there are several it stays, and is refused.
fn rewired(node: &Node, place: &Place<'_>) -> Node {
    let turned = |after: &[SubtaskId]| -> Vec<SubtaskId> {
        let each = |id: &SubtaskId| if id == place.id { place.last.to_vec() } else { vec![id.clone()] };
        after.iter().flat_map(each).collect()
    };
    match node {
        Node::Subtask(subtask) => {
            let mut subtask = subtask.clone();
            subtask.after = turned(&subtask.after);
            Node::Subtask(subtask)
        }
        Node::Choice(choice) => {
            let mut choice = choice.clone();
            choice.after = turned(&choice.after);
            if let (Rule::When(condition), [only]) = (&mut choice.rule, place.last)
                && condition.of == *place.id
            {
                condition.of = only.clone();
            }
            for branch in &mut choice.branches {
                let old = std::mem::take(&mut branch.nodes);
                rebuild(&old, place, &mut branch.nodes);
            }
            Node::Choice(choice)
        }
    }
}
