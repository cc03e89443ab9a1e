//! The checker bites: every planted bug is noticed as the promise it breaks, by the
//! shortest way; and what is not broken holds.

use std::collections::BTreeSet;

use super::*;
use crate::menu::{Fate, Say, Test};

fn small(name: &str) -> Scenario {
    let found = SCENARIOS.iter().find(|(bounds, scenario)| *bounds == Bounds::Small && scenario.name == name);
    found.unwrap().1
}

/// The shortest way to a planted bug, as the checker finds it.
fn way(plant: Plant) -> Vec<Move> {
    let (_, name, promise) = PLANTS.iter().find(|(planted, ..)| *planted == plant).unwrap();
    find(small(name), plant, *promise).unwrap_or_else(|| panic!("{plant:?} is not noticed"))
}

#[test]
fn a_call_that_must_not_be_repeated_and_is_sent_again_after_a_crash_is_noticed() {
    let way = way(Plant::SendAgain);
    assert!(matches!(way[2], Move::Request(_, 1, Fate::Done | Fate::LostAfter)), "{way:?}");
    assert!(matches!(way[3..], [Move::Crash, Move::Land(..)]), "{way:?}");
}

#[test]
fn a_commit_after_a_check_that_did_not_pass_is_noticed() {
    let way = way(Plant::ForgedCheck);
    let [Move::Claim(_), Move::Model(1, Say::Answer), Move::Check(1, 0, Test::Fail), Move::Store] = way[..]
    else {
        panic!("{way:?}");
    };
}

#[test]
fn every_planted_bug_is_noticed_as_the_promise_it_breaks() {
    for (plant, ..) in PLANTS {
        assert!(way(*plant).len() < 11, "{plant:?}");
    }
}

#[test]
fn every_promise_can_be_broken() {
    let broken: BTreeSet<Promise> = PLANTS.iter().map(|(_, _, promise)| *promise).collect();
    assert_eq!(broken, Promise::ALL.iter().copied().collect());
}

#[test]
fn a_scenario_without_bugs_holds_and_gets_where_it_should() {
    for name in ["money", "time"] {
        let verdict = check(small(name), 1);
        assert!(verdict.holds(), "{name}: {verdict:?}");
        assert!(verdict.figures.states > 500, "{name}: {verdict:?}");
    }
}

#[test]
fn a_place_that_is_never_reached_is_no_proof() {
    let verdict = check(Scenario { landmarks: &[Landmark::Repaired], ..small("time") }, 1);
    assert_eq!(verdict.missed, [Landmark::Repaired]);
    assert!(!verdict.holds());
}

#[test]
fn every_scenario_has_small_and_full_bounds() {
    let names = |wanted: Bounds| -> Vec<&str> {
        let rows = SCENARIOS.iter().filter(|(bounds, _)| *bounds == wanted);
        rows.map(|(_, scenario)| scenario.name).collect()
    };
    assert_eq!(names(Bounds::Small), names(Bounds::Full));
}
