//! Copies at their caps, beside others, and where the disk or the caller gives up.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("from/sub")).unwrap();
    fs::write(dir.path().join("from/a"), "12345").unwrap();
    fs::write(dir.path().join("from/sub/b"), "12345").unwrap();
    dir
}

fn copy_capped(dir: &Path, entries: u64, bytes: u64) -> Result<Copied, CopyError> {
    let order = everything(dir, Sync::DISK);
    copy(&dir.join("from"), &dir.join("to"), &order, Caps { entries, bytes }, &StopFlag::default())
}

fn everything(dir: &Path, sync: Sync) -> Order {
    Order { what: What::Everything(SKIPPED), base: dir.join("from/.bowline/base.json"), sync }
}

#[test]
fn a_copy_that_is_not_on_the_disk_gets_no_name() {
    let dir = tree();
    let failing = Sync { tree: Some(|_| Err(io::ErrorKind::StorageFull.into())), ..Sync::DISK };
    let (order, caps) = (everything(dir.path(), failing), Caps { entries: 10, bytes: 100 });
    let failed = copy(&dir.path().join("from"), &dir.path().join("to"), &order, caps, &StopFlag::default());
    assert!(matches!(failed, Err(CopyError::Io { .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the source is there");
}

#[test]
fn a_tree_at_the_caps_is_copied_and_one_over_them_leaves_nothing() {
    assert_eq!((COPY_FILES_MAX, COPY_BYTES_MAX), (100_000, 1_073_741_824));
    let dir = tree();
    assert!(matches!(copy_capped(dir.path(), 2, 10), Err(CopyError::TooMany { max: 2, .. })));
    assert!(matches!(copy_capped(dir.path(), 3, 9), Err(CopyError::TooLarge { max: 9, .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the source is there");
    assert_eq!(copy_capped(dir.path(), 3, 10).unwrap(), Copied { entries: 3, bytes: 10, left_out: 0 });
}

#[test]
fn what_a_killed_copy_left_is_begun_again() {
    let dir = tree();
    fs::create_dir_all(dir.path().join(".to.partial/old/older")).unwrap();
    fs::write(dir.path().join(".to.partial/a"), "half").unwrap();
    copy_capped(dir.path(), 100, 100).unwrap();
    assert_eq!(fs::read(dir.path().join("to/a")).unwrap(), b"12345");
    assert!(!dir.path().join("to/old").exists() && !dir.path().join(".to.partial").exists());
}

#[test]
fn a_copy_that_is_under_way_elsewhere_is_left_alone() {
    let dir = tree();
    let partial = dir.path().join(".to.partial");
    fs::create_dir(&partial).unwrap();
    let held = File::open(&partial).unwrap();
    rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    fs::write(partial.join("a"), "growing").unwrap();
    assert!(matches!(copy_capped(dir.path(), 100, 100), Err(CopyError::Busy { .. })));
    assert_eq!(fs::read(partial.join("a")).unwrap(), b"growing");
}

#[test]
fn a_copy_nobody_waits_for_leaves_nothing() {
    let dir = tree();
    let (order, caps) = (everything(dir.path(), Sync::DISK), Caps { entries: 10, bytes: 100 });
    let broken_off =
        copy(&dir.path().join("from"), &dir.path().join("to"), &order, caps, &StopFlag::raised());
    assert!(matches!(broken_off, Err(CopyError::BrokenOff { .. })), "{broken_off:?}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the source is there");
}

#[test]
fn a_folder_keeps_its_rights_and_its_owner_may_write_into_the_copy() {
    let dir = tree();
    let closed = dir.path().join("from/closed");
    DirBuilder::new().mode(0o500).create(&closed).unwrap();
    copy_capped(dir.path(), 100, 100).unwrap();
    let mode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("to/closed"), 0o700);
    assert_eq!(mode("to/sub"), mode("from/sub"));
}

#[test]
fn the_place_of_a_copy_beside_us_is_in_this_very_folder() {
    let dir = tree();
    let source = Workspace::open(&dir.path().join("from")).unwrap();
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    assert_eq!(sibling(&source, Path::new("copy")).unwrap(), here.join(".copy.partial"));
}

#[test]
fn a_place_that_cannot_be_made_or_opened_is_told_and_one_that_comes_and_goes_is_busy() {
    let dir = tree();
    let claimed =
        |name: &str| claim(&dir.path().join(name), &dir.path().join("to")).map(|lock| lock.is_some());
    assert!(matches!(claimed("missing/.to.partial"), Err(CopyError::Io { .. })));
    std::os::unix::fs::symlink("circle", dir.path().join("circle")).unwrap();
    assert!(matches!(claimed("circle"), Err(CopyError::Io { .. })));
    std::os::unix::fs::symlink("nowhere", dir.path().join("dangling")).unwrap();
    assert!(matches!(claimed("dangling"), Err(CopyError::Busy { .. })));
    assert!(claimed(".to.partial").unwrap());
    fs::create_dir(dir.path().join("to")).unwrap();
    assert!(!claimed(".to.partial").unwrap(), "somebody else has finished it");
}
