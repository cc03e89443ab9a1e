//! Backups as they are written, and as somebody else might have written them.

use std::fs;
use std::path::Path;

use super::read::{BadBackup, extract, survey};
use super::write::Writer;
use super::*;

fn header() -> Header {
    Header { bowline_backup: FORMAT, made_at: Millis(7), store: 3 }
}

/// A backup of a home with a store, a result and the copy of a workspace.
fn written() -> Vec<u8> {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("results/r1/output.txt", b"done");
    file("workspaces/r1/deep/large.bin", &vec![7; BLOCK_MAX * 2 + 5]);
    file("workspaces/r1/100%.txt", b"");
    file("worker.lock", b"17");
    file("home-id", b"secret of the home");
    file("store.v1.backup-1.db", b"old");
    std::os::unix::fs::symlink("deep/large.bin", home.path().join("workspaces/r1/link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", home.path().join("workspaces/r1/out")).unwrap();
    let mut writer = Writer::begin(Vec::new(), &header()).unwrap();
    writer.file(Path::new("store.db"), 0o600, &mut &b"the store"[..]).unwrap();
    writer.home(home.path()).unwrap();
    assert_eq!(writer.left_out.len(), 1, "{:?}", writer.left_out);
    writer.end().unwrap().0
}

/// A backup of these lines, each file with one short block, well sealed.
fn forged(items: &[Item]) -> Vec<u8> {
    let (mut out, mut seal, mut bytes) = (Vec::new(), Seal::new(), 0);
    let line = |out: &mut Vec<u8>, seal: &mut Seal, item: &dyn erased::Line| {
        let mut text = item.line();
        text.push(b'\n');
        seal.over(&text);
        out.extend(text);
    };
    line(&mut out, &mut seal, &header());
    for item in items {
        line(&mut out, &mut seal, item);
        if let Item::File { .. } = item {
            for block in [&b"x"[..], b""] {
                seal.over(block);
                out.extend(u32::try_from(block.len()).unwrap().to_be_bytes());
                out.extend(block);
                bytes += block.len() as u64;
            }
        }
    }
    let end = Item::End { items: items.len() as u64, bytes, seal: seal.0 };
    line(&mut out, &mut seal, &end);
    out
}

mod erased {
    pub(super) trait Line {
        fn line(&self) -> Vec<u8>;
    }

    impl<T: serde::Serialize> Line for T {
        fn line(&self) -> Vec<u8> {
            serde_json::to_vec(self).unwrap()
        }
    }
}

#[test]
fn what_is_taken_out_is_what_was_put_in_without_what_a_home_makes_for_itself() {
    let dir = tempfile::tempdir().unwrap();
    let told = extract(&written()[..], dir.path()).unwrap();
    assert_eq!(told.header, header());
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    assert_eq!(read("store.db"), b"the store");
    assert_eq!(read("results/r1/output.txt"), b"done");
    assert_eq!(read("workspaces/r1/deep/large.bin"), vec![7; BLOCK_MAX * 2 + 5]);
    assert_eq!(read("workspaces/r1/100%.txt"), b"");
    let link = fs::read_link(dir.path().join("workspaces/r1/link")).unwrap();
    assert_eq!(link, Path::new("deep/large.bin"));
    for absent in ["worker.lock", "home-id", "store.v1.backup-1.db", "workspaces/r1/out"] {
        assert!(dir.path().join(absent).symlink_metadata().is_err(), "{absent}");
    }
}

#[test]
fn a_backup_that_is_cut_anywhere_is_refused() {
    let whole = written();
    assert!(survey(&whole[..]).is_ok());
    let step = (whole.len() / 200).max(1);
    for length in (0..whole.len()).step_by(step).chain(whole.len() - 80..whole.len()) {
        let found = survey(&whole[..length]);
        assert!(found.is_err(), "{length} of {} bytes", whole.len());
    }
}

#[test]
fn a_backup_in_which_a_byte_is_another_is_refused() {
    let whole = written();
    let step = (whole.len() / 300).max(1);
    for place in (0..whole.len()).step_by(step).chain(whole.len() - 60..whole.len() - 1) {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        assert!(survey(&changed[..]).is_err(), "byte {place}");
    }
    let mut longer = whole;
    longer.push(b'\n');
    assert!(matches!(survey(&longer[..]), Err(BadBackup::Changed(_))));
}

#[test]
fn a_backup_made_to_harm_is_refused_and_nothing_is_written() {
    let folder = |path: &str| Item::Folder { path: path.into(), mode: 0o700 };
    let file = |path: &str| Item::File { path: path.into(), mode: 0o600 };
    let link = |path: &str, to: &str| Item::Link { path: path.into(), to: to.into() };
    let copy = || vec![folder("workspaces"), folder("workspaces/r")];
    let in_copy = |more: Vec<Item>| copy().into_iter().chain(more).collect::<Vec<_>>();
    for (what, items) in [
        ("above", vec![file("../evil")]),
        ("above, in the middle", vec![folder("a"), file("a/../../evil")]),
        ("absolute", vec![file("/tmp/evil")]),
        ("here", vec![file("./store.db")]),
        ("nowhere", vec![file("")]),
        ("a zero byte", vec![file("a%00b")]),
        ("no encoding", vec![file("a%zz")]),
        ("a hidden way up", vec![file("%2e%2e/evil")]),
        ("doubled slash", vec![folder("a"), file("a//b")]),
        ("twice", vec![file("a"), file("a")]),
        ("twice, written otherwise", vec![file("a"), file("%61")]),
        ("a file as a folder", vec![file("a"), file("a/b")]),
        ("a folder that is not there", vec![file("a/b")]),
        ("the log of the store", vec![file("store.db-wal")]),
        ("who the home is", vec![file("home-id")]),
        ("which homes are known", vec![folder(".bowline")]),
        ("a copy", vec![file("store.v1.backup-1.db")]),
        ("a link at the top", vec![link("a", "b")]),
        ("a link out", in_copy(vec![link("workspaces/r/a", "../../home-id")])),
        ("an absolute link", in_copy(vec![link("workspaces/r/a", "/etc")])),
        ("through a link", in_copy(vec![link("workspaces/r/a", "b"), file("workspaces/r/a/x")])),
        ("a copy that is a link", vec![folder("workspaces"), link("workspaces/r", "../..")]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("into");
        fs::create_dir(&into).unwrap();
        let bytes = forged(&items);
        assert!(matches!(survey(&bytes[..]), Err(BadBackup::Hostile(_))), "{what}: {:?}", survey(&bytes[..]));
        assert!(extract(&bytes[..], &into).is_err(), "{what}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{what}");
    }
    assert!(survey(&forged(&in_copy(vec![link("workspaces/r/a", "b")]))[..]).is_ok());
}

#[test]
fn what_is_no_backup_or_a_later_one_is_told_apart() {
    for bytes in [&b"SQLite format 3\0"[..], b"{}\n", b"\n", &[0xff; 100_000]] {
        assert!(matches!(survey(bytes), Err(BadBackup::Foreign)), "{bytes:?}");
    }
    assert!(matches!(survey(&b""[..]), Err(BadBackup::Cut)));
    let later = Header { bowline_backup: FORMAT + 1, ..header() };
    let later = [serde_json::to_vec(&later).unwrap(), b"\n".to_vec()].concat();
    assert!(matches!(survey(&later[..]), Err(BadBackup::Format(2))));
    let mut device = [serde_json::to_vec(&header()).unwrap(), b"\n".to_vec()].concat();
    device.extend(b"{\"device\":{\"path\":\"a\",\"mode\":384}}\n");
    assert!(matches!(survey(&device[..]), Err(BadBackup::Changed(_))));
}
