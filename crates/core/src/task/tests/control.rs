//! `[control]` and `class` of a task file.

use serde_json::json;

use super::{check, with};
use crate::control::{Gains, Obedience, Ppm, Quality, Settings};
use crate::task::parse;

#[test]
fn what_is_not_written_keeps_its_default_and_gains_follow_gain_and_damping() {
    let read = |raw| parse(&with(json!({ "control": raw }))).unwrap().control;
    assert_eq!(read(json!({})), Settings::default());
    let set = read(
        json!({ "gain": 0.25, "damping": 0.5, "gate": 0.1, "setpoint": 0.9, "act": "obey", "stall": 3 }),
    );
    assert_eq!(set.gains, Gains::damped(Ppm(250_000), Ppm(500_000)));
    assert_eq!((set.gate, set.setpoints, set.stall), (Ppm(100_000), Quality::all(Ppm(900_000)), 3));
    assert_eq!(set.obedience, Obedience::Obey);
    let given = read(json!({ "proportional": 1.5, "integral": 0.125, "least": 0.2, "cost_slope": 3 }));
    let gains = Gains { proportional: Ppm(1_500_000), integral: Ppm(125_000), derivative: Ppm::ZERO };
    assert_eq!((given.gains, given.band.least, given.slope), (gains, Ppm(200_000), Ppm(3_000_000)));
}

#[test]
fn a_class_is_a_short_name() {
    assert_eq!(parse(&with(json!({ "class": "unit-tests" }))).unwrap().class.as_deref(), Some("unit-tests"));
    check(&with(json!({ "class": " " })), "class: the text is blank; write something, or leave the key out");
}

#[test]
fn unstable_gains_are_refused_with_place_and_reason() {
    check(
        &with(json!({ "control": { "gain": 0.5, "proportional": 4.0 } })),
        "control.proportional: with a gain of 0.500 these gains overshoot by as much as there was to mend, or more; \
         leave them out, or begin with proportional = 1.400",
    );
    check(
        &with(json!({ "control": { "integral": 1.0 } })),
        "control.integral: with a gain of 0.500 these gains make the loop swing without end; leave them out, or begin \
         with proportional = 1.400",
    );
}

#[test]
fn what_lies_outside_its_bounds_is_refused() {
    check(
        &with(json!({ "control": { "gate": 1.5, "damping": 0.1, "gain": 0.0 } })),
        "control.gain: no repair would ever mend anything; write a number above 0, to 1
        control.gate: 1.5 is above 1; write a number from 0 to 1 with at most 6 decimals
        control.damping: 0.100 is not from 0.200 to 0.500; write a number from 0.2 to 0.5",
    );
    check(
        &with(json!({ "control": { "least": 0.8, "most": 0.4 } })),
        "control.most: `least` 0.800 is above `most` 0.400; swap them",
    );
    check(
        &with(json!({ "control": { "damping": 0.3, "proportional": 1.0 } })),
        "control.damping: gains are written too, so nothing is derived from it; leave out one or the other",
    );
    check(
        &with(json!({ "control": { "dampin": 0.3 } })),
        "control.dampin: `dampin` is not known in `[control]`; did you mean `damping`?",
    );
}
