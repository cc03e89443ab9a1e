//! Restoring a file: declarative, idempotent, and never over somebody's work.

use std::fs;

use bowline_core::event::RestoreOutcome;
use bowline_core::tool::FileImage;
use bowline_tools::restore::restore;
use serde_json::json;

use crate::{OK, Yard, image};

/// Writes `new` to `a` as a call does, and gives the image of it.
async fn written(yard: &Yard) -> FileImage {
    written_to(yard, "a").await
}

async fn written_to(yard: &Yard, path: &str) -> FileImage {
    let args = json!({"path": path, "content": "new"});
    let prepared = yard.prepare("write_file", args.clone()).await.unwrap();
    assert_eq!(yard.call("write_file", args).await.how, OK);
    image(&prepared)
}

#[tokio::test]
async fn a_changed_file_is_put_back_once_and_then_left_alone() {
    let yard = Yard::new();
    yard.write("a", "old");
    let image = written(&yard).await;
    assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::Restored);
    assert_eq!(yard.read("a"), "old");
    assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::AlreadyAsBefore);
}

#[tokio::test]
async fn a_file_that_was_made_is_removed_once() {
    let yard = Yard::new();
    let image = written(&yard).await;
    assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::Restored);
    assert!(!yard.root().join("a").exists());
    assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::AlreadyAsBefore);
}

#[tokio::test]
async fn what_somebody_else_changed_since_is_left_alone() {
    let yard = Yard::new();
    yard.write("a", "old");
    let image = written(&yard).await;
    yard.write("a", "theirs");
    assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::ChangedSince);
    assert_eq!(yard.read("a"), "theirs");
    fs::remove_file(yard.root().join("a")).unwrap();
    assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::ChangedSince);
    yard.link("../secret", "a");
    assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::ChangedSince);
    fs::remove_file(yard.root().join("a")).unwrap();
    fs::create_dir(yard.root().join("a")).unwrap();
    assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::ChangedSince);
}

#[tokio::test]
async fn bytes_that_are_not_those_recorded_are_never_written() {
    let yard = Yard::new();
    yard.write("a", "old");
    let image = written(&yard).await;
    for wrong in [Some(&b"other"[..]), None] {
        assert!(matches!(restore(&yard.workspace, &image, wrong).await, RestoreOutcome::Failed(_)));
    }
    assert_eq!(yard.read("a"), "new");
}

#[tokio::test]
async fn a_folder_that_is_gone_counts_as_no_file() {
    let yard = Yard::new();
    let args = json!({"path": "sub/a", "content": "new"});
    let image = image(&yard.prepare("write_file", args).await.unwrap());
    assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::AlreadyAsBefore);
    let escaping = FileImage { path: "../secret".to_owned(), ..image };
    assert!(matches!(restore(&yard.workspace, &escaping, None).await, RestoreOutcome::Failed(_)));
}

#[tokio::test]
async fn folders_that_were_made_for_a_file_go_with_it_and_those_that_were_there_stay() {
    let yard = Yard::new();
    fs::create_dir(yard.root().join("there")).unwrap();
    let first = written_to(&yard, "there/new/deep/a").await;
    let second = written_to(&yard, "there/new/b").await;
    assert_eq!((first.new_folder.as_deref(), second.new_folder.as_deref()), (Some("there/new"), None));
    // Last write first, as a rollback does.
    assert_eq!(restore(&yard.workspace, &second, None).await, RestoreOutcome::Restored);
    assert!(yard.root().join("there/new/deep").exists(), "made by the first write");
    assert_eq!(restore(&yard.workspace, &first, None).await, RestoreOutcome::Restored);
    assert!(!yard.root().join("there/new").exists());
    assert_eq!(restore(&yard.workspace, &first, None).await, RestoreOutcome::AlreadyAsBefore);
    assert!(yard.root().join("there").exists(), "there before");
}

#[tokio::test]
async fn a_folder_somebody_else_uses_by_now_is_kept() {
    let yard = Yard::new();
    let image = written_to(&yard, "new/deep/a").await;
    yard.write("new/theirs", "theirs");
    assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::Restored);
    assert!(!yard.root().join("new/deep").exists());
    assert_eq!(yard.read("new/theirs"), "theirs");
    let image = written_to(&yard, "other/a").await;
    yard.write("other/a", "theirs");
    assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::ChangedSince);
    assert_eq!(yard.read("other/a"), "theirs");
}

#[tokio::test]
async fn what_a_killed_write_or_a_killed_undo_left_of_its_folders_is_removed() {
    for left in ["new", "new/deep"] {
        let yard = Yard::new();
        let args = json!({"path": "new/deep/a", "content": "new"});
        let image = image(&yard.prepare("write_file", args).await.unwrap());
        fs::create_dir_all(yard.root().join(left)).unwrap();
        assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::AlreadyAsBefore);
        assert!(!yard.root().join("new").exists(), "{left}");
    }
}

#[tokio::test]
async fn only_folders_of_the_path_itself_are_removed_and_never_what_a_link_points_to() {
    let yard = Yard::new();
    let image = written_to(&yard, "new/a").await;
    fs::remove_file(yard.root().join("new/a")).unwrap();
    fs::remove_dir(yard.root().join("new")).unwrap();
    fs::create_dir_all(yard.root().join("empty")).unwrap();
    yard.link("empty", "new");
    assert_eq!(restore(&yard.workspace, &image, None).await, RestoreOutcome::AlreadyAsBefore);
    assert!(yard.root().join("new").exists() && yard.root().join("empty").exists());
    for foreign in ["empty", "../secrets", ".", "ne"] {
        let forged = FileImage { new_folder: Some(foreign.to_owned()), ..image.clone() };
        assert!(
            matches!(restore(&yard.workspace, &forged, None).await, RestoreOutcome::Failed(_)),
            "{foreign}"
        );
        assert!(yard.root().join("empty").exists());
    }
}
