//! The files in the repository, and the sets that were recorded.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bowline_schemas::{published, recorded};
use serde_json::{Value, json};

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("schemas")
}

#[test]
fn the_files_are_what_the_types_say() {
    let wrong = published::check(&folder()).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}\nrun `cargo xtask schemas`");
}

#[test]
fn todays_contracts_only_add_to_those_of_the_last_release() {
    let wrong = recorded::check(&folder()).unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let (release, set) = recorded::last(&folder()).unwrap().unwrap();
    let names: Vec<String> = published::found(&set).unwrap().into_keys().collect();
    assert!(names.contains(&"event.schema.json".to_owned()), "{release}: {names:?}");
    assert!(names.contains(&"guard-event.schema.json".to_owned()), "{release}: {names:?}");
}

fn set(files: &[(&str, &Value)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
}

/// A contract of one key.
fn contract(version: u64, reads_from: u64, direction: &str, kind: &str) -> Value {
    json!({
        "x-bowline": { "version": version, "reads_from": reads_from, "direction": direction },
        "type": "object", "properties": { "id": { "type": kind } }, "required": ["id"],
    })
}

#[test]
fn a_break_needs_a_higher_version_and_what_we_read_a_reader_for_the_old_one() {
    let cases = [
        ("stored", 1, 1, false),
        ("stored", 2, 2, false),
        ("stored", 2, 1, true),
        ("read", 1, 1, false),
        ("read", 2, 2, false),
        ("read", 2, 1, true),
        ("written", 1, 1, false),
        ("written", 2, 2, true),
    ];
    for (direction, version, reads_from, is_fine) in cases {
        let old = set(&[("x", &contract(1, 1, direction, "string"))]);
        let new = set(&[("x", &contract(version, reads_from, direction, "integer"))]);
        let wrong = recorded::broken(&old, &new);
        assert_eq!(wrong.is_empty(), is_fine, "{direction} {version} {reads_from}: {wrong:?}");
    }
}

#[test]
fn a_contract_is_not_dropped_does_not_go_back_and_stays_with_its_writer() {
    let (one, two) = (contract(1, 1, "stored", "string"), contract(2, 1, "stored", "string"));
    let other = contract(1, 1, "written", "string");
    for (old, new, expected) in [
        (vec![("x", &one)], vec![], "x is gone"),
        (vec![("x", &two)], vec![("x", &one)], "went back from 2 to 1"),
        (vec![("x", &one)], vec![("x", &other)], "who writes it"),
        (vec![("x", &one)], vec![("x", &json!({}))], "there is no \"x-bowline\""),
    ] {
        let wrong = recorded::broken(&set(&old), &set(&new));
        assert!(wrong.iter().any(|what| what.contains(expected)), "{expected}: {wrong:?}");
    }
    assert!(recorded::broken(&set(&[("x", &one)]), &set(&[("x", &one), ("y", &two)])).is_empty());
}

#[test]
fn a_set_is_recorded_once_and_a_changed_one_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    assert!(!published::write(place).unwrap().is_empty());
    assert!(published::write(place).unwrap().is_empty(), "nothing is written twice");
    assert!(recorded::record(place, "next").is_err(), "no release");
    let kept = recorded::record(place, "0.1.0").unwrap();
    assert!(recorded::check(place).unwrap().is_empty());
    assert!(recorded::record(place, "0.1.0").unwrap_err().to_string().contains("recorded already"));

    let event = kept.join("event.schema.json");
    let text = std::fs::read_to_string(&event).unwrap();
    std::fs::write(&event, text.replacen("Grows", "grows", 1)).unwrap();
    assert!(recorded::check(place).unwrap().iter().any(|what| what.contains("never changes")));
    std::fs::write(&event, &text).unwrap();

    let today = place.join("event.schema.json");
    std::fs::write(&today, text.replace("\"epoch\"", "\"era\"")).unwrap();
    let wrong = recorded::check(place).unwrap();
    assert!(wrong.iter().any(|what| what.contains("/claimed: the key `epoch` is gone")), "{wrong:?}");
    assert!(published::check(place).unwrap().iter().any(|what| what.contains("not what the types say")));
    published::write(place).unwrap();
    assert!(recorded::check(place).unwrap().is_empty() && published::check(place).unwrap().is_empty());
}

#[test]
fn the_newest_release_is_found_by_number_and_a_made_file_without_a_type_goes() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    published::write(place).unwrap();
    for release in ["0.9.0", "0.10.0", "0.2.11"] {
        recorded::record(place, release).unwrap();
    }
    assert_eq!(recorded::last(place).unwrap().unwrap().0, "0.10.0");
    let text = std::fs::read_to_string(place.join("event.schema.json")).unwrap();
    std::fs::write(place.join("old.schema.json"), text).unwrap();
    assert!(published::check(place).unwrap().iter().any(|what| what.contains("comes from no type")));
    assert!(published::write(place).unwrap().iter().any(|what| what.starts_with("removed old")));
    assert!(!place.join("old.schema.json").exists());
}
