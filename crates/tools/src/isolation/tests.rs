//! Changes are found and land whole, wherever an attempt is broken off.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use bowline_core::event::Seen;

use super::*;

/// A folder, and a copy of it in which everything was done that can be done.
struct Yard {
    dir: tempfile::TempDir,
}

impl Yard {
    async fn worked() -> Self {
        let yard = Self { dir: tempfile::tempdir().unwrap() };
        yard.write("folder/edit", "one\n").write("folder/sub/gone", "two\n").write("folder/run", "x\n");
        yard.write("folder/same", "same\n").write("folder/.env", "secret").write("folder/.git/config", "c");
        symlink("same", yard.at("folder/link")).unwrap();
        prepare(&yard.at("folder"), &yard.at("copy"), &yard.at("bases/r.json"), &Sandbox::Off).await.unwrap();
        yard.write("copy/edit", "changed\n").write("copy/new/deep/file", "new\n").write("copy/.env", "other");
        fs::remove_file(yard.at("copy/sub/gone")).unwrap();
        fs::set_permissions(yard.at("copy/run"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(yard.at("copy/link")).unwrap();
        symlink("edit", yard.at("copy/link")).unwrap();
        yard
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
        self
    }

    async fn found(&self) -> Result<Vec<Step>, LandOutcome> {
        let copy = Workspace::open(&self.at("copy")).unwrap();
        find(&copy, &self.at("bases/r.json"), &self.at("folder")).await
    }

    /// One attempt that is broken off before its so-many-th visible step.
    fn attempt(&self, steps: &[Step], back: bool, most: usize) -> LandOutcome {
        let folder = opened(&self.at("folder")).unwrap();
        let left = Cell::new(most);
        let is_over = || left.replace(left.get().saturating_sub(1)) == 0;
        let steps = directed(steps.to_vec(), back);
        let note = self.at("bases/r.landing");
        Attempt { folder: &folder, steps: &steps, note: &note, back, is_over: &is_over }.make()
    }

    /// Everything in the folder, as text.
    fn all(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.at("folder")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let about = path.symlink_metadata().unwrap();
                let name = path.strip_prefix(self.at("folder")).unwrap().display().to_string();
                if about.is_symlink() {
                    found.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
                } else if about.is_dir() {
                    found.push(format!("{name}/"));
                    open.push(path);
                } else {
                    let mode = about.permissions().mode() & 0o100;
                    found.push(format!("{name} {mode:o} {:?}", fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}

#[tokio::test]
async fn adds_edits_deletes_modes_and_links_are_found_and_protected_names_are_not() {
    let yard = Yard::worked().await;
    assert!(!yard.at("copy/.git").exists(), "a copy that is brought back has no repository");
    let steps = yard.found().await.unwrap();
    let paths: Vec<&str> = steps.iter().map(|step| step.path.as_str()).collect();
    assert_eq!(paths, ["edit", "link", "new/deep/file", "run", "sub/gone"]);
    assert_eq!(steps[1].after, Some(Thing::Link { to: "edit".into() }));
    assert_eq!(steps[3].before, Some(Thing::File { bytes: b"x\n".to_vec(), executable: false }));
    assert_eq!(steps[3].after, Some(Thing::File { bytes: b"x\n".to_vec(), executable: true }));
    assert_eq!(steps[4].after, None);
}

#[tokio::test]
async fn changes_land_whole_and_are_taken_back_whole() {
    let yard = Yard::worked().await;
    let (before, steps) = (yard.all(), yard.found().await.unwrap());
    let note = yard.at("bases/r.landing");
    assert_eq!(land(&yard.at("folder"), steps.clone(), &note, false).await, LandOutcome::Landed);
    let after = yard.all();
    assert!(after.contains(&"run 100 \"x\\n\"".to_owned()) && after.contains(&"link -> edit".to_owned()));
    assert!(!yard.at("folder/sub").exists(), "a folder goes with its last file");
    assert_eq!(land(&yard.at("folder"), steps.clone(), &note, false).await, LandOutcome::Landed);
    assert_eq!(yard.all(), after, "twice is as good as once");
    assert_eq!(land(&yard.at("folder"), steps, &note, true).await, LandOutcome::Landed);
    assert_eq!(yard.all(), before);
    assert!(!note.exists());
}

#[tokio::test]
async fn an_attempt_that_is_broken_off_anywhere_is_completed_by_the_next() {
    let mut ways = 0;
    for back in [false, true] {
        for most in 0..40 {
            let yard = Yard::worked().await;
            let (before, steps) = (yard.all(), yard.found().await.unwrap());
            assert_eq!(yard.attempt(&steps, false, usize::MAX), LandOutcome::Landed);
            let after = yard.all();
            if !back {
                assert_eq!(yard.attempt(&steps, true, usize::MAX), LandOutcome::Landed);
            }
            let torn = yard.attempt(&steps, back, most);
            if torn == LandOutcome::Landed {
                break;
            }
            ways += 1;
            assert!(matches!(torn, LandOutcome::Torn(_)), "{torn:?}");
            assert_eq!(yard.attempt(&steps, back, usize::MAX), LandOutcome::Landed);
            assert_eq!(yard.all(), if back { before } else { after }, "broken off before step {most}");
        }
    }
    assert!(ways >= 16, "each file is a way to be broken off: {ways}");
}

#[tokio::test]
async fn an_attempt_that_is_broken_off_and_meets_what_moved_on_is_taken_back_whole() {
    for most in 0..40 {
        let yard = Yard::worked().await;
        let steps = yard.found().await.unwrap();
        let torn = yard.attempt(&steps, false, most);
        if torn == LandOutcome::Landed {
            return;
        }
        yard.write("folder/run", "mine\n");
        let expected = {
            let fresh = Yard::worked().await;
            fresh.write("folder/run", "mine\n");
            fresh.all()
        };
        let moved = yard.attempt(&steps, false, usize::MAX);
        let LandOutcome::MovedOn(moved) = moved else { panic!("{moved:?}") };
        assert_eq!(moved.len(), 1);
        assert_eq!((moved[0].path.as_str(), moved[0].was == moved[0].now), ("run", false));
        let mut all = yard.all();
        // What was made executable before it moved on stays so: it is not ours any more.
        all.iter_mut().for_each(|line| *line = line.replace("run 100", "run 0"));
        assert_eq!(all, expected, "broken off before step {most}");
    }
    panic!("it never came to an end");
}

#[tokio::test]
async fn what_moved_on_before_is_told_three_ways_and_nothing_is_touched() {
    let yard = Yard::worked().await;
    yard.write("folder/edit", "mine\n");
    let before = yard.all();
    let Err(LandOutcome::MovedOn(moved)) = yard.found().await else { panic!("it moved on") };
    let [only] = moved.as_slice() else { panic!("{moved:?}") };
    assert_eq!(only.path, "edit");
    assert!(only.was != only.now && only.wrote != only.now && only.was != only.wrote);
    assert_eq!(yard.all(), before);
    // What somebody made as the run wants it is no quarrel.
    yard.write("folder/edit", "changed\n");
    assert_eq!(yard.found().await.unwrap().len(), 4);
}

#[tokio::test]
async fn what_somebody_did_by_hand_is_not_taken_back_with_what_moved_on() {
    let yard = Yard::worked().await;
    let steps = yard.found().await.unwrap();
    yard.write("folder/edit", "changed\n").write("folder/new/deep/file", "other\n");
    let moved = yard.attempt(&steps, false, usize::MAX);
    assert!(matches!(moved, LandOutcome::MovedOn(_)), "{moved:?}");
    assert_eq!(fs::read_to_string(yard.at("folder/edit")).unwrap(), "changed\n");
}

#[tokio::test]
async fn a_disk_that_says_no_is_met_before_anything_is_seen() {
    let yard = Yard::worked().await;
    let mut steps = yard.found().await.unwrap();
    let name = "n".repeat(300);
    let after = Some(Thing::File { bytes: b"x".to_vec(), executable: false });
    steps.push(Step { path: format!("z/{name}/file"), before: None, after });
    let before = yard.all();
    let not = yard.attempt(&steps, false, usize::MAX);
    assert!(matches!(not, LandOutcome::Not(_)), "{not:?}");
    assert_eq!(yard.all(), before);
}

#[tokio::test]
async fn a_file_that_becomes_a_folder_and_a_protected_name_are_refused() {
    let yard = Yard::worked().await;
    let file = |text: &str| Some(Thing::File { bytes: text.into(), executable: false });
    let step = |path: &str, before, after| Step { path: path.into(), before, after };
    let before = yard.all();
    let knot = [step("same", file("same\n"), None), step("same/inner", None, file("x"))];
    assert!(matches!(yard.attempt(&knot, false, usize::MAX), LandOutcome::Not(_)));
    let hook = [step(".git/hooks/pre-commit", None, file("x"))];
    assert!(matches!(yard.attempt(&hook, false, usize::MAX), LandOutcome::Not(_) | LandOutcome::Torn(_)));
    assert_eq!(yard.all(), before);
}

#[tokio::test]
async fn a_copy_from_another_boot_that_was_not_synced_is_not_relied_upon() {
    let yard = Yard::worked().await;
    let text = fs::read_to_string(yard.at("bases/r.json")).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    // Under another name: the copy itself is being synced meanwhile, and marked as such.
    let at = yard.at("bases/elsewhere.json");
    fs::write(&at, text.replace(boot.trim(), "another")).unwrap();
    assert!(matches!(Base::read(&at), Err(BadBase::Lost)));
    fs::write(yard.at("bases/elsewhere.synced"), "").unwrap();
    assert!(Base::read(&at).is_ok());
    assert!(matches!(Base::read(&yard.at("bases/other.json")), Err(BadBase::Missing)));
}

#[tokio::test]
async fn what_a_newer_release_wrote_down_of_a_copy_is_refused_with_both_forms() {
    let yard = Yard::worked().await;
    let at = yard.at("bases/newer.json");
    fs::write(&at, r#"{ "base": 2, "files": ["of another shape"] }"#).unwrap();
    let bad = Base::read(&at).unwrap_err();
    assert_eq!(bad.to_string(), "what the copy began with is written in form 2; this release knows 1");
    assert!(bad.remedy().contains("a newer one"), "{}", bad.remedy());
}

#[test]
fn what_is_seen_has_words() {
    assert_eq!(Seen::Nothing.words(), "not there");
    assert_eq!(Seen::Link { to: "a".into() }.words(), "a link to a");
}
