//! One program for all targets: libFuzzer brings the inputs, `BOWLINE_FUZZ_TARGET`
//! says what they are given to. Built and started by `cargo xtask fuzz`.
//!
//! A target fails by panicking: because the code did, or because a promise that
//! holds for every input did not. No target reads a clock, a file or the network.

#![no_main]

mod bytes;
mod guard;
mod json;
mod net;
mod untrusted;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

/// What an input is given to.
type Target = fn(&[u8]);

const TARGETS: [(&str, Target); 9] = [
    ("session", guard::session),
    ("regulator", guard::regulator),
    ("shell", guard::shell),
    ("normaliser", guard::normaliser),
    ("untrusted", untrusted::text),
    ("description", untrusted::description),
    ("json", json::canonical_form),
    ("task", json::task),
    ("network", net::policy),
];

fn target() -> Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("BOWLINE_FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("BOWLINE_FUZZ_TARGET names no target: {name:?}")).1
    })
}

fuzz_target!(|input: &[u8]| target()(input));
