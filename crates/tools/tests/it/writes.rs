//! Writing: whole or not at all, once however often it is repeated.

use std::fs;

use serde_json::json;

use crate::{ERROR, OK, Yard, image};

#[tokio::test]
async fn preparing_changes_nothing_and_shows_before_and_after() {
    let yard = Yard::new();
    yard.write("a.txt", "one two");
    let edit = yard.prepare("edit_file", json!({"path": "./a.txt", "old": "two", "new": "2"})).await.unwrap();
    assert_eq!(
        (edit.path.as_str(), edit.before.as_deref(), &*edit.after),
        ("a.txt", Some(&b"one two"[..]), &b"one 2"[..])
    );
    let write = yard.prepare("write_file", json!({"path": "new/deep/b", "content": "x"})).await.unwrap();
    assert_eq!((write.path.as_str(), write.before, &*write.after), ("new/deep/b", None, &b"x"[..]));
    assert_eq!(yard.read("a.txt"), "one two");
    assert!(!yard.root().join("new").exists());
}

#[tokio::test]
async fn a_write_makes_missing_folders_and_leaves_no_temporary_file() {
    let yard = Yard::new();
    let output = yard.call("write_file", json!({"path": "new/deep/b", "content": "text"})).await;
    assert_eq!((output.how, output.text.as_str()), (OK, "made new/deep/b, 4 bytes"));
    assert_eq!(yard.read("new/deep/b"), "text");
    assert_eq!(fs::read_dir(yard.root().join("new/deep")).unwrap().count(), 1);
}

#[tokio::test]
async fn with_its_image_a_write_is_made_once_and_repeated_for_free() {
    for (tool, args) in [
        ("write_file", json!({"path": "a", "content": "new"})),
        ("edit_file", json!({"path": "a", "old": "old", "new": "new"})),
    ] {
        let yard = Yard::new();
        yard.write("a", "old");
        let mut ctx = yard.ctx();
        ctx.image = Some(image(&yard.prepare(tool, args.clone()).await.unwrap()));
        let first = yard.call_in(&ctx, tool, args.clone()).await;
        assert_eq!((first.how, yard.read("a").as_str()), (OK, "new"), "{}", first.text);
        ctx.attempt = 2;
        let again = yard.call_in(&ctx, tool, args.clone()).await;
        assert_eq!((again.how, yard.read("a").as_str()), (OK, "new"));
        assert!(again.text.contains("already applied"), "{}", again.text);
        yard.write("a", "third hand");
        let late = yard.call_in(&ctx, tool, args).await;
        assert_eq!((late.how, yard.read("a").as_str()), (ERROR, "third hand"));
        assert!(late.text.contains("changed meanwhile"), "{}", late.text);
    }
}

#[tokio::test]
async fn a_file_that_appeared_or_vanished_meanwhile_is_left_alone() {
    let yard = Yard::new();
    let args = json!({"path": "sub/a", "content": "new"});
    let mut ctx = yard.ctx();
    ctx.image = Some(image(&yard.prepare("write_file", args.clone()).await.unwrap()));
    yard.write("sub/a", "somebody else's");
    assert_eq!(yard.call_in(&ctx, "write_file", args.clone()).await.how, ERROR);
    assert_eq!(yard.read("sub/a"), "somebody else's");
    ctx.image = Some(image(&yard.prepare("write_file", args.clone()).await.unwrap()));
    fs::remove_dir_all(yard.root().join("sub")).unwrap();
    assert_eq!(yard.call_in(&ctx, "write_file", args).await.how, ERROR);
    assert!(!yard.root().join("sub").exists());
}

#[tokio::test]
async fn an_image_of_another_file_or_another_change_stops_the_write() {
    let yard = Yard::new();
    yard.write("a", "old");
    let mut ctx = yard.ctx();
    ctx.image = Some(image(&yard.prepare("write_file", json!({"path": "a", "content": "x"})).await.unwrap()));
    let other_file = yard.call_in(&ctx, "write_file", json!({"path": "b", "content": "x"})).await;
    assert!(other_file.text.contains("not the file"), "{}", other_file.text);
    let other_change = yard.call_in(&ctx, "write_file", json!({"path": "a", "content": "y"})).await;
    assert!(other_change.text.contains("not the one"), "{}", other_change.text);
    assert_eq!(yard.read("a"), "old");
    assert!(!yard.root().join("b").exists());
}

#[tokio::test]
async fn what_a_killed_attempt_left_is_hidden_and_tidied_by_the_next() {
    let yard = Yard::new();
    let left = format!(".bowline-{}-1.tmp", yard.ctx().key.short());
    yard.write(&left, "half");
    assert_eq!(yard.call("list_files", json!({})).await.text, "[. is empty]");
    let mut ctx = yard.ctx();
    ctx.attempt = 2;
    assert_eq!(yard.call_in(&ctx, "write_file", json!({"path": "a", "content": "whole"})).await.how, OK);
    assert!(!yard.root().join(left).exists());
    assert_eq!(yard.read("a"), "whole");
}

#[tokio::test]
async fn an_edit_must_match_exactly_and_once() {
    let yard = Yard::new();
    yard.write("a", "x = 1\ny = 2\nx = 1\n");
    yard.write("dos", "one\r\ntwo\r\n");
    yard.write("tabs", "\tif x:\n\t\ty\n");
    yard.write("latin", b"\xe9");
    for (path, old, why) in [
        ("a", "x = 1", "occurs 2 times in a (lines 1, 3)"),
        ("a", "z", "is not in a"),
        ("dos", "one\ntwo", "\\r\\n"),
        ("tabs", "if x:\n    y", "other white space"),
        ("latin", "e", "not a text file in UTF-8"),
        ("missing", "e", "make it with write_file"),
    ] {
        let output = yard.call("edit_file", json!({"path": path, "old": old, "new": "new"})).await;
        assert_eq!(output.how, ERROR);
        assert!(output.text.contains(why), "{path}: {}", output.text);
    }
    let same = yard.call("edit_file", json!({"path": "a", "old": "y", "new": "y"})).await;
    assert!(same.text.contains("nothing to change"));
    assert_eq!(
        yard.call("edit_file", json!({"path": "a", "old": "x = 1", "new": "x = 3", "all": true})).await.how,
        OK
    );
    assert_eq!(yard.call("edit_file", json!({"path": "a", "old": "y = 2", "new": ""})).await.how, OK);
    assert_eq!(yard.read("a"), "x = 3\n\nx = 3\n");
}
