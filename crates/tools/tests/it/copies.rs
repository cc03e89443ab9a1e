//! Copies of a workspace: whole or not at all.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bowline_tools::{Copied, CopyError, copy_tree};

use crate::Yard;

#[tokio::test]
async fn a_folder_is_copied_with_links_and_permissions_and_without_runs() {
    let yard = Yard::new();
    yard.write("a", "one");
    yard.write("sub/run.sh", "three");
    yard.write(".git/config", "kept");
    yard.write(".bowline/store", "left");
    yard.link("a", "link");
    yard.link("../secret", "out");
    fs::set_permissions(yard.root().join("sub/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(yard.root().join("socket")).unwrap();
    let to = yard.dir.path().join("runs/1/work");
    let copied = copy_tree(yard.root(), &to, &base(&yard)).await.unwrap();
    assert_eq!(copied, Copied { entries: 7, bytes: 12, left_out: 1 });
    assert_eq!(fs::read_to_string(to.join("sub/run.sh")).unwrap(), "three");
    assert_eq!(fs::metadata(to.join("sub/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("a"));
    assert_eq!(fs::read_link(to.join("out")).unwrap(), Path::new("../secret"));
    assert!(to.join(".git/config").exists() && !to.join(".bowline").exists() && !to.join("socket").exists());
    assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1, "no temporary folder is left");
}

#[tokio::test]
async fn a_copy_that_is_there_is_complete_and_left_as_it_is() {
    let yard = Yard::new();
    yard.write("a", "one");
    let to = yard.dir.path().join("copy");
    copy_tree(yard.root(), &to, &base(&yard)).await.unwrap();
    fs::write(to.join("a"), "worked on").unwrap();
    assert_eq!(copy_tree(yard.root(), &to, &base(&yard)).await.unwrap(), Copied::default());
    assert_eq!(fs::read_to_string(to.join("a")).unwrap(), "worked on");
}

#[tokio::test]
async fn a_folder_is_not_copied_into_itself_except_where_runs_live() {
    let yard = Yard::new();
    yard.write("a", "one");
    let inside = copy_tree(yard.root(), &yard.root().join("copy"), &base(&yard)).await.unwrap_err();
    assert!(matches!(inside, CopyError::InsideItself { .. }));
    assert!(inside.remedy().contains(".bowline"));
    let runs = yard.root().join(".bowline/runs/1");
    assert_eq!(copy_tree(yard.root(), &runs, &base(&yard)).await.unwrap().entries, 1);
    assert!(matches!(
        copy_tree(&yard.root().join("none"), &runs.join("x"), &base(&yard)).await,
        Err(CopyError::Source(_))
    ));
}

fn base(yard: &Yard) -> std::path::PathBuf {
    yard.dir.path().join("bases/1.json")
}
