//! Deleting and moving: reversible, idempotent, and never over somebody's work.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use bowline_core::event::RestoreOutcome;
use bowline_core::tool::FileImage;
use bowline_tools::restore::restore;
use bowline_tools::{CallContext, ToolOutput};
use serde_json::{Value, json};

use crate::{ERROR, OK, Yard, image};

/// Makes the call as a run does: looked at first, then made by its image.
async fn made(yard: &Yard, tool: &str, args: Value) -> (FileImage, ToolOutput) {
    let image = image(&yard.prepare(tool, args.clone()).await.unwrap());
    let ctx = CallContext { image: Some(image.clone()), ..yard.ctx() };
    let output = yard.call_in(&ctx, tool, args).await;
    (image, output)
}

async fn again(yard: &Yard, image: &FileImage, tool: &str, args: Value) -> ToolOutput {
    let ctx = CallContext { image: Some(image.clone()), attempt: 2, ..yard.ctx() };
    yard.call_in(&ctx, tool, args).await
}

#[tokio::test]
async fn a_deleted_file_is_gone_and_comes_back_with_its_rights() {
    let yard = Yard::new();
    yard.write("bin/run", "#!/bin/sh\n");
    fs::set_permissions(yard.root().join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
    let args = json!({"path": "bin/run"});
    let (image, output) = made(&yard, "delete_file", args.clone()).await;
    assert_eq!((output.how, output.text.as_str()), (OK, "deleted bin/run, 10 bytes"));
    assert!(!yard.root().join("bin/run").exists() && yard.root().join("bin").exists());
    // A second attempt after a crash finds it done.
    assert_eq!(again(&yard, &image, "delete_file", args).await.how, OK);
    assert_eq!(restore(&yard.workspace, &image, Some(b"#!/bin/sh\n")).await, RestoreOutcome::Restored);
    let mode = fs::metadata(yard.root().join("bin/run")).unwrap().permissions().mode();
    assert_eq!((yard.read("bin/run").as_str(), mode & 0o777), ("#!/bin/sh\n", 0o755));
    assert_eq!(restore(&yard.workspace, &image, Some(b"#!/bin/sh\n")).await, RestoreOutcome::AlreadyAsBefore);
}

#[tokio::test]
async fn what_cannot_be_undone_or_may_not_be_touched_is_not_deleted() {
    let yard = Yard::new();
    yard.write(".git/config", "x");
    yard.write(".env", "x");
    yard.write("folder/file", "x");
    yard.link("../secret", "link");
    for path in ["missing", "folder", ".git/config", ".env", "link", "../secret", "no/such/folder"] {
        assert!(yard.prepare("delete_file", json!({"path": path})).await.is_err(), "{path}");
        assert_eq!(yard.call("delete_file", json!({"path": path})).await.how, ERROR, "{path}");
    }
    assert!(yard.root().join("link").is_symlink() && yard.dir.path().join("secret").exists());
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_neither_deleted_nor_moved() {
    let yard = Yard::new();
    for (tool, args) in
        [("delete_file", json!({"path": "a"})), ("move_file", json!({"from": "a", "to": "b"}))]
    {
        yard.write("a", "old");
        let image = image(&yard.prepare(tool, args.clone()).await.unwrap());
        yard.write("a", "theirs");
        let output = again(&yard, &image, tool, args).await;
        assert!(output.how == ERROR && output.text.contains("somebody else"), "{}", output.text);
        assert_eq!(yard.read("a"), "theirs");
        assert_eq!(restore(&yard.workspace, &image, Some(b"old")).await, RestoreOutcome::ChangedSince);
    }
}

#[tokio::test]
async fn a_moved_file_goes_back_and_its_new_folders_go_with_it() {
    let yard = Yard::new();
    yard.write("a", "text");
    let args = json!({"from": "a", "to": "new/deep/b"});
    let (image, output) = made(&yard, "move_file", args.clone()).await;
    assert_eq!((output.how, output.text.as_str()), (OK, "moved a to new/deep/b"));
    assert!(!yard.root().join("a").exists());
    assert_eq!(yard.read("new/deep/b"), "text");
    assert!(again(&yard, &image, "move_file", args).await.text.contains("already moved"));
    assert_eq!(restore(&yard.workspace, &image, Some(b"text")).await, RestoreOutcome::Restored);
    assert_eq!(yard.read("a"), "text");
    assert!(!yard.root().join("new").exists(), "folders that were made for it");
    assert_eq!(restore(&yard.workspace, &image, Some(b"text")).await, RestoreOutcome::AlreadyAsBefore);
}

#[tokio::test]
async fn a_move_replaces_nothing_and_leads_nowhere_else() {
    let yard = Yard::new();
    yard.write("a", "a");
    yard.write("b", "b");
    yard.write("folder/x", "x");
    yard.link("../secret", "link");
    for to in ["b", "folder", "a", "link", "../out", ".git/hooks/post-commit", ".env"] {
        let args = json!({"from": "a", "to": to});
        assert!(yard.prepare("move_file", args.clone()).await.is_err(), "{to}");
        assert_eq!(yard.call("move_file", args).await.how, ERROR, "{to}");
    }
    for from in ["missing", "folder", "link", "../secret"] {
        assert_eq!(yard.call("move_file", json!({"from": from, "to": "new"})).await.how, ERROR, "{from}");
    }
    assert_eq!((yard.read("a").as_str(), yard.read("b").as_str()), ("a", "b"));
    // Somebody put something where the file was: a move back would bury it.
    let (image, _) = made(&yard, "move_file", json!({"from": "a", "to": "c"})).await;
    yard.write("a", "theirs");
    assert_eq!(restore(&yard.workspace, &image, Some(b"a")).await, RestoreOutcome::ChangedSince);
    assert_eq!((yard.read("a").as_str(), yard.read("c").as_str()), ("theirs", "a"));
}
