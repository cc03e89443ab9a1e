//! Restoring a file: declarative, idempotent, and never over somebody's work.

use std::fs;

use bowline_core::event::RestoreOutcome;
use bowline_core::tool::FileImage;
use bowline_tools::restore::restore;
use serde_json::json;

use crate::{OK, Yard, image};

/// Writes `new` to `a` as a call does, and gives the image of it.
async fn written(yard: &Yard) -> FileImage {
    let args = json!({"path": "a", "content": "new"});
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
