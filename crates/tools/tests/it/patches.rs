//! `patch_file` and `glob_files` on real files.

use bowline_core::event::RestoreOutcome;
use bowline_tools::CallContext;
use bowline_tools::restore::restore;
use serde_json::json;

use crate::{ERROR, OK, Yard, image};

const PATCH: &str = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";

#[tokio::test]
async fn a_patch_is_a_write_like_any_other() {
    let yard = Yard::new();
    yard.write("f", "one\ntwo\n");
    let args = json!({"path": "f", "patch": PATCH});
    let image = image(&yard.prepare("patch_file", args.clone()).await.unwrap());
    let ctx = CallContext { image: Some(image.clone()), ..yard.ctx() };
    let output = yard.call_in(&ctx, "patch_file", args.clone()).await;
    assert_eq!((output.how, yard.read("f").as_str()), (OK, "one\nTWO\n"));
    assert!(yard.call_in(&ctx, "patch_file", args).await.text.contains("already applied"));
    assert_eq!(restore(&yard.workspace, &image, Some(b"one\ntwo\n")).await, RestoreOutcome::Restored);
    assert_eq!(yard.read("f"), "one\ntwo\n");
}

#[tokio::test]
async fn when_one_hunk_does_not_fit_none_is_applied() {
    let yard = Yard::new();
    yard.write("f", "one\ntwo\nthree\n");
    let patch = "@@ -1,1 +1,1 @@\n-one\n+1\n@@ -3,1 +3,1 @@\n-four\n+4\n";
    let output = yard.call("patch_file", json!({"path": "f", "patch": patch})).await;
    assert!(output.how == ERROR && output.text.contains("f: hunk 2 does not fit"), "{}", output.text);
    assert_eq!(yard.read("f"), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn a_patch_that_only_adds_makes_the_file_and_others_need_one() {
    let yard = Yard::new();
    let adds = "--- /dev/null\n+++ b/new/f\n@@ -0,0 +1 @@\n+hello\n";
    assert_eq!(yard.call("patch_file", json!({"path": "new/f", "patch": adds})).await.how, OK);
    assert_eq!(yard.read("new/f"), "hello\n");
    let output = yard.call("patch_file", json!({"path": "g", "patch": PATCH})).await;
    assert!(output.how == ERROR && output.text.contains("there is no g"), "{}", output.text);
    let nothing = json!({"path": "new/f", "patch": "@@ -1 +1 @@\n-hello\n+hello\n"});
    assert!(yard.call("patch_file", nothing).await.text.contains("changes nothing"));
}

#[tokio::test]
async fn paths_are_found_by_pattern_sorted_and_bounded() {
    let yard = Yard::new();
    for path in ["b.rs", "a/x.rs", "a/b/y.rs", "a/b/z.py", ".git/hook.rs", "c/d/e.rs"] {
        yard.write(path, "x");
    }
    yard.link("../secret", "out.rs");
    let glob = |args| yard.call("glob_files", args);
    assert_eq!(glob(json!({"pattern": "*.rs"})).await.text, "a/b/y.rs\na/x.rs\nb.rs\nc/d/e.rs\nout.rs");
    assert_eq!(glob(json!({"pattern": "a/**/*.rs"})).await.text, "a/b/y.rs\na/x.rs");
    assert_eq!(glob(json!({"pattern": "/*.rs", "path": "a"})).await.text, "a/x.rs");
    assert_eq!(glob(json!({"pattern": "**/"})).await.text, "a/\na/b/\nc/\nc/d/");
    assert_eq!(glob(json!({"pattern": "*.md"})).await.text, "[no path fits]");
    let capped = glob(json!({"pattern": "*.rs", "max": 2})).await.text;
    assert!(capped.ends_with("only the first 2 are shown; narrow the pattern or the folder]"), "{capped}");
    assert_eq!(glob(json!({"pattern": "*", "path": ".."})).await.how, ERROR);
    assert_eq!(glob(json!({"pattern": "a{"})).await.how, ERROR);
}
