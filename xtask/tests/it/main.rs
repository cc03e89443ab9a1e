//! The rules on this very clone, so that `cargo test` catches what they catch.

#![expect(clippy::expect_used, reason = "a test that cannot find its clone has failed")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use xtask::{Offence, layers, licences, tidy, tree};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).canonicalize().expect("the clone is there")
}

fn none(offences: &[Offence]) {
    let lines: Vec<String> = offences.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn the_clone_is_tidy() {
    none(&tidy::run(&root()).unwrap());
}

#[test]
fn the_clone_keeps_its_layers() {
    none(&layers::run(&root()).unwrap());
}

#[test]
fn the_rules_see_the_clone() {
    let files = tree::read(&root()).unwrap();
    let seen = |path: &str| files.iter().any(|file| file.path == path);
    for path in ["Cargo.toml", "clippy.toml", ".cargo/config.toml", ".ci/run", "scripts/test"] {
        assert!(seen(path), "{path}");
    }
    assert!(seen("crates/core/src/lib.rs") && seen("crates/core/clippy.toml") && seen("xtask/ratchet.toml"));
    assert!(files.iter().all(|file| !file.path.starts_with("target/") && !file.path.starts_with(".git/")));
}

#[test]
fn a_second_look_finds_what_was_slipped_into_core() {
    let mut files = tree::read(&root()).unwrap();
    let lib = files.iter_mut().find(|file| file.path == "crates/core/src/lib.rs").unwrap();
    lib.text.push_str("use std::fs;\n");
    let offences = tidy::check(&files).unwrap();
    assert!(offences.iter().any(|found| found.rule == "purity" && found.place == "crates/core/src/lib.rs"));
}

#[test]
fn cargo_deny_and_xtask_allow_the_same_licences() {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let deny: toml::Table = toml::from_str(&text).unwrap();
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    let allowed: BTreeSet<&str> = allowed.iter().map(|licence| licence.as_str().unwrap()).collect();
    assert_eq!(allowed, BTreeSet::from(licences::PERMISSIVE));
}
