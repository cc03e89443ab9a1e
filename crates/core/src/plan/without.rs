//! A plan with less in it: nodes outside all branches are left out, and whatever waits
//! for them with them.

use std::collections::BTreeSet;

use super::{BadPlan, Node, Plan};
use crate::id::SubtaskId;

impl Plan {
    /// The nodes outside all branches that cannot be done without these: themselves, and
    /// whatever waits for one of them, be it in a branch. In the order of the plan.
    #[must_use]
    pub fn with_dependents(&self, named: &[SubtaskId]) -> Vec<SubtaskId> {
        let mut found: BTreeSet<&SubtaskId> = named.iter().collect();
        // Whatever a node waits for stands before it.
        for node in self.nodes() {
            if waits_for(node, &found) {
                found.insert(node.id());
            }
        }
        self.nodes().iter().map(Node::id).filter(|id| found.contains(id)).cloned().collect()
    }

    /// The plan without these nodes. Refused where something that stays waits for one of
    /// them, and where nothing stays.
    pub fn without(&self, left_out: &[SubtaskId]) -> Result<Self, BadPlan> {
        let left_out: BTreeSet<&SubtaskId> = left_out.iter().collect();
        let stays = self.nodes().iter().filter(|node| !left_out.contains(node.id()));
        Self::new(stays.cloned().collect())
    }
}

fn waits_for(node: &Node, any: &BTreeSet<&SubtaskId>) -> bool {
    let inside = || node.branches().iter().flat_map(|branch| &branch.nodes);
    node.waits().any(|id| any.contains(id)) || inside().any(|inner| waits_for(inner, any))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(raw: &str) -> SubtaskId {
        SubtaskId::parse(raw).unwrap()
    }

    fn plan() -> Plan {
        let sub = |name: &str, after: &[&str]| json!({ "id": name, "goal": name, "after": after });
        let choice =
            json!({ "id": "pick", "branches": [{ "nodes": [sub("near", &["b"]), sub("far", &[])] }] });
        serde_json::from_value(json!([
            sub("a", &[]),
            sub("b", &[]),
            choice,
            sub("c", &["pick"]),
            sub("d", &["a"])
        ]))
        .unwrap()
    }

    #[test]
    fn whatever_waits_for_what_is_left_out_goes_with_it_through_branches_too() {
        for (named, gone) in [("a", "a d"), ("b", "b pick c"), ("c", "c"), ("pick", "pick c"), ("d", "d")] {
            let found = plan().with_dependents(&[id(named)]);
            let expected: Vec<SubtaskId> = gone.split(' ').map(id).collect();
            assert_eq!(found.iter().collect::<BTreeSet<_>>(), expected.iter().collect(), "{named}");
            let shorter = plan().without(&found).unwrap();
            assert_eq!(shorter.nodes().len() + found.len(), plan().nodes().len(), "{named}");
        }
    }

    #[test]
    fn a_plan_never_loses_what_something_that_stays_waits_for_nor_everything() {
        assert!(matches!(plan().without(&[id("b")]), Err(BadPlan::Dangling { .. })));
        let all: Vec<SubtaskId> = plan().nodes().iter().map(|node| node.id().clone()).collect();
        assert_eq!(plan().without(&all), Err(BadPlan::Empty));
    }
}
