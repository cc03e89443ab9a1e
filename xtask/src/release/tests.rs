//! Notes are read or refused by name, the changelog keeps what it had, the archive is whole.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::metadata::Package;

#[test]
fn a_note_says_its_kind_and_what_is_different_or_is_refused() {
    let note = Note::read("kind: fixed\n\nIt works.\n\nWhoever used it: use it.\n").unwrap();
    assert_eq!((note.heading, note.text.as_str()), ("Fixed", "It works.\n\nWhoever used it: use it."));
    for (bad, expected) in [
        ("", "the first line must be"),
        ("It works.\n", "the first line must be"),
        ("kind: mended\n\nIt works.\n", "\"mended\" is none of breaking, added"),
        ("kind: fixed\nIt works.\n", "an empty line"),
        ("kind: fixed\n\n \n", "what is different"),
        ("kind: fixed", "an empty line"),
    ] {
        let told = Note::read(bad).unwrap_err().to_string();
        assert!(told.contains(expected), "{bad:?}: {told}");
    }
}

const BEFORE: &str = "# Changelog\n\n## [Unreleased]\n\nTo become 0.2.0.\n\n### Added\n\n- Old news.\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- All.\n";

fn note(heading: &'static str, text: &str) -> Note {
    Note { heading, text: text.into() }
}

#[test]
fn notes_are_folded_under_the_release_breaking_ones_first_and_nothing_is_lost() {
    let notes = [note("Fixed", "A fix.\n\nDo this."), note("Added", "More."), note("Breaking", "Less.")];
    let after = fold(BEFORE, &notes, "0.2.0", "2026-02-02").unwrap();
    assert_eq!(
        after,
        "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-02\n\n### Breaking\n\n- Less.\n\n### Added\n\n\
         - Old news.\n- More.\n\n### Fixed\n\n- A fix.\n\n  Do this.\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- All.\n"
    );
    assert!(notes::section(&after, "0.2.0").ends_with("Do this.\n"), "{}", notes::section(&after, "0.2.0"));
    let again = fold(&after, &[note("Fixed", "One.")], "0.2.1", "2026-03-03").unwrap();
    assert!(
        again.contains("## [Unreleased]\n\n## [0.2.1] - 2026-03-03\n\n### Fixed\n\n- One.\n\n## [0.2.0]"),
        "{again}"
    );
    assert!(fold(&after, &[], "0.2.1", "d").unwrap_err().to_string().contains("nothing to release"));
    assert!(fold("# Changelog\n", &notes, "0.2.0", "d").unwrap_err().to_string().contains("[Unreleased]"));
}

/// The clone this is built from.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

#[test]
fn the_notes_and_the_changelog_of_this_tree_can_be_folded() {
    let files = notes::files(root()).unwrap();
    let notes: Vec<Note> = files
        .iter()
        .map(|(path, text)| Note::read(text).unwrap_or_else(|bad| panic!("{path:?}: {bad}")))
        .collect();
    let text = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let folded = fold(&text, &notes, "99.0.0", "2099-01-01").unwrap();
    for note in notes {
        assert!(folded.contains(note.text.lines().next().unwrap()), "{}", note.text);
    }
}

#[test]
fn packages_come_after_those_they_need_and_a_circle_is_refused() {
    let known = metadata::ask(root(), Reach::Members).unwrap();
    let order = packages::order(&known).unwrap();
    let place = |name: &str| order.iter().position(|package| package.name == name);
    assert!(place("bowline-core") < place("bowline-tools") && place("bowline-tools") < place("bowline"));
    assert!(place("bowline") < place("bowline-cli") && place("bowline-core").is_some());
    assert_eq!((place("xtask"), place("bowline-sim")), (None, None), "they are ours alone");

    let package = |name: &str, needs: &str| -> Package {
        serde_json::from_value(serde_json::json!({
            "name": name, "version": "1.0.0", "license": "MIT", "source": null, "manifest_path": "/m",
            "dependencies": [{ "name": needs, "kind": null, "req": "*", "path": "/p" }], "publish": null,
        }))
        .unwrap()
    };
    let circle = Metadata { packages: vec![package("a", "b"), package("b", "a")] };
    assert!(packages::order(&circle).unwrap_err().to_string().contains("circle"));
}

#[test]
fn an_archive_holds_program_and_pages_is_the_same_twice_and_has_its_sum_beside_it() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("bowline");
    fs::write(&program, "#!/bin/sh\necho bowline 1.2.3\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    archive::says(&program, "1.2.3").unwrap();
    assert!(archive::says(&program, "1.2.4").unwrap_err().to_string().contains("bowline 1.2.3"));

    let folder = place.path().join("dist");
    let first = archive::pack(root(), &program, &folder, "bowline-1.2.3-test").unwrap();
    let bytes = fs::read(&first).unwrap();
    let again = archive::pack(root(), &program, &folder, "bowline-1.2.3-test").unwrap();
    assert_eq!(fs::read(again).unwrap(), bytes);
    let listed = Command::new("tar").arg("-tzf").arg(&first).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for name in ["bowline", "LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md", "SECURITY.md"] {
        assert!(listed.lines().any(|line| line == format!("bowline-1.2.3-test/{name}")), "{name}: {listed}");
    }
    let checked = Command::new("sha256sum").current_dir(&folder).args(["-c", "SHA256SUMS"]).output().unwrap();
    assert!(checked.status.success());
}

#[test]
fn a_tree_with_changes_a_missing_recorded_set_and_missing_fixtures_are_refused_with_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    assert!(Command::new("git").current_dir(path).args(["init", "-q"]).status().unwrap().success());
    assert!(tree(path).is_ok());
    fs::write(path.join("new"), "x").unwrap();
    let told = tree(path).err().unwrap().to_string();
    assert_eq!(told, "1 files are not committed; commit them or put them away");
    let told = fixtures(path, "1.2.3").err().unwrap().to_string();
    assert!(told.starts_with("fixtures/past is missing"), "{told}");
    fs::create_dir_all(path.join("fixtures/past/1.2.2")).unwrap();
    let told = fixtures(path, "1.2.3").err().unwrap().to_string();
    assert!(told.starts_with("fixtures/past/1.2.3 is missing"), "{told}");
    fs::create_dir_all(path.join("fixtures/past/1.2.3")).unwrap();
    assert!(fixtures(path, "1.2.3").is_ok());
}

#[test]
fn versions_that_differ_or_are_out_already_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    let package = |version: &str| -> Package {
        serde_json::from_value(serde_json::json!({
            "name": "a", "version": version, "license": "MIT", "source": null, "manifest_path": "/m", "dependencies": [],
        }))
        .unwrap()
    };
    let told = |packages: Vec<Package>| {
        versions(place.path(), &Metadata { packages }, "1.0.0").err().map(|bad| bad.to_string())
    };
    write("CHANGELOG.md", "## [Unreleased]\n");
    write("Cargo.lock", "name = \"a\"\nversion = \"1.0.0\"\n");
    assert_eq!(told(vec![package("1.0.0")]), None);
    assert!(told(vec![package("1.0.0"), package("0.9.0")]).unwrap().contains("version.workspace"));
    write("Cargo.lock", "name = \"a\"\nversion = \"0.9.0\"\n");
    assert!(told(vec![package("1.0.0")]).unwrap().contains("Cargo.lock"));
    write("CHANGELOG.md", "## [Unreleased]\n\n## [1.0.0] - 2026-01-01\n");
    assert!(told(vec![package("1.0.0")]).unwrap().contains("has 1.0.0 already"));
}
