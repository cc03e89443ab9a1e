//! What tools did in a turn: the same counts.

use std::collections::HashMap;

use bowline::core::guard::loops::Action;
use proptest::prelude::*;

use crate::both::Both;

const TOOLS: [&str; 4] = ["search", "read", "write", ""];

proptest! {
    #[test]
    fn calls_failures_and_counts_by_tool_are_the_same_in_every_turn(
        stream in proptest::collection::vec((0_usize..24, any::<bool>()), 0..200)
    ) {
        // The loop rule is kept out of it: no two calls in a row are of one tool.
        let mut both = Both::new(u32::MAX, Action::Block);
        let mut last = usize::MAX;
        for (choice, ok) in stream {
            let place = choice % TOOLS.len();
            match TOOLS.get(place) {
                Some(_) if choice == 23 => both.turn(),
                Some(tool) if place != last => {
                    let _ = both.ask(tool);
                    both.answer(tool, ok);
                    last = place;
                }
                Some(_) | None => {}
            }
            let turn = both.ours.statistics().turn();
            prop_assert_eq!(turn.total().calls, u64::try_from(both.theirs.tool_total_calls()).unwrap());
            prop_assert_eq!(turn.total().failures, u64::try_from(both.theirs.tool_failure_count()).unwrap());
            let by_tool: HashMap<String, usize> = turn
                .by_tool()
                .map(|(tool, tally)| (tool.to_owned(), usize::try_from(tally.calls).unwrap()))
                .collect();
            prop_assert_eq!(by_tool, both.theirs.tool_counts_by_name());
        }
    }
}
