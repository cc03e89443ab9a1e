//! Branches and commits of a workspace: made once, found again, taken back, and never
//! over somebody's work.

use std::process::Command;

use bowline_core::provenance::Digest;
use bowline_tools::{CallContext, Probed, Registry, Tool, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{ERROR, OK, Yard, choice};

/// A workspace that is a repository with one commit, or nothing where there is no git.
fn repository() -> Option<Yard> {
    let yard = bare()?;
    yard.write("kept.txt", "kept\n");
    git(&yard, &["add", "kept.txt"]);
    git(&yard, &["commit", "-q", "-m", "first"]);
    Some(yard)
}

/// A repository without a commit.
fn bare() -> Option<Yard> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: git is not installed");
        return None;
    }
    let yard = Yard::new();
    git(&yard, &["init", "-q", "-b", "main"]);
    git(&yard, &["config", "user.name", "Ann"]);
    git(&yard, &["config", "user.email", "ann@example.org"]);
    Some(yard)
}

#[track_caller]
fn git(yard: &Yard, words: &[&str]) -> String {
    let ran = Command::new("git").args(words).current_dir(yard.root()).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
}

fn tool(name: &str) -> Arc<dyn Tool> {
    Arc::clone(Registry::new(&[choice(name)]).unwrap().get(name).unwrap())
}

fn keyed(yard: &Yard, key: &[u8]) -> CallContext {
    CallContext { key: Digest::of(key), ..yard.ctx() }
}

/// Undoes a call as the runtime does; without a result where nobody knows it.
async fn undo(yard: &Yard, name: &str, args: &Value, key: &[u8], result: Option<&ToolOutput>) -> ToolOutput {
    let result = result.map(|output| serde_json::from_str::<Value>(&output.text).unwrap());
    let made = json!({ "args": args, "result": result, "key": Digest::of(key).to_string() });
    tool(name).undo(made, &keyed(yard, b"undo")).await
}

fn said(output: &ToolOutput, field: &str) -> String {
    let value: Value = serde_json::from_str(&output.text).unwrap_or_else(|_| panic!("{}", output.text));
    value[field].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_branch_is_made_once_and_taken_back_whether_or_not_its_result_is_known() {
    let Some(yard) = repository() else { return };
    let args = json!({ "name": "topic" });
    for result_is_known in [true, false] {
        let ctx = keyed(&yard, b"one");
        assert_eq!(tool("git_branch").probe(args.clone(), &ctx).await, Probed::DidNotHappen);
        let made = tool("git_branch").run(args.clone(), &ctx).await;
        assert_eq!(made.how, OK, "{}", made.text);
        assert_eq!(git(&yard, &["rev-parse", "topic"]), git(&yard, &["rev-parse", "main"]));
        assert_eq!(git(&yard, &["branch", "--show-current"]), "main", "nothing is checked out");
        let again = tool("git_branch").run(args.clone(), &ctx).await;
        assert_eq!((again.how, &again.text), (OK, &made.text), "the same key gives the same branch");
        assert_eq!(tool("git_branch").probe(args.clone(), &ctx).await, Probed::Happened(made.text.clone()));
        let other = tool("git_branch").run(args.clone(), &keyed(&yard, b"two")).await;
        assert_eq!(other.how, ERROR);
        assert!(other.text.contains("there is a branch topic already"), "{}", other.text);
        let known = result_is_known.then_some(&made);
        for _ in 0..2 {
            let undone = undo(&yard, "git_branch", &args, b"one", known).await;
            assert_eq!(undone.how, OK, "twice is as good as once: {}", undone.text);
            assert_eq!(git(&yard, &["branch", "--list", "topic"]), "");
        }
    }
}

#[tokio::test]
async fn a_branch_that_moved_or_is_checked_out_or_is_somebody_elses_stays() {
    let Some(yard) = repository() else { return };
    let args = json!({ "name": "topic", "from": "main" });
    let made = tool("git_branch").run(args.clone(), &keyed(&yard, b"one")).await;
    git(&yard, &["checkout", "-q", "topic"]);
    let undone = undo(&yard, "git_branch", &args, b"one", Some(&made)).await;
    assert!(undone.how == ERROR && undone.text.contains("is checked out"), "{}", undone.text);
    git(&yard, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    git(&yard, &["checkout", "-q", "main"]);
    let undone = undo(&yard, "git_branch", &args, b"one", None).await;
    let now = git(&yard, &["rev-parse", "topic"]);
    for words in [said(&made, "commit"), now, "undo again".into()] {
        assert!(undone.how == ERROR && undone.text.contains(&words), "{words} in {}", undone.text);
    }
    git(&yard, &["branch", "theirs"]);
    let theirs = undo(&yard, "git_branch", &json!({ "name": "theirs" }), b"never", None).await;
    assert!(theirs.how == OK && theirs.text.contains("not the run's"), "{}", theirs.text);
    assert_ne!(git(&yard, &["branch", "--list", "theirs"]), "");
    for bad in ["a..b", "-x", "with space"] {
        let refused = tool("git_branch").run(json!({ "name": bad }), &yard.ctx()).await;
        assert_eq!(refused.how, ERROR, "{bad}: {}", refused.text);
    }
}

#[tokio::test]
async fn a_commit_has_what_was_named_and_undone_the_branch_is_where_it_was() {
    let Some(yard) = repository() else { return };
    let first = git(&yard, &["rev-parse", "HEAD"]);
    yard.write("kept.txt", "changed\n");
    yard.write("new/file.txt", "new\n");
    yard.write("other.txt", "staged by somebody\n");
    yard.write(".env", "SECRET=1\n");
    git(&yard, &["add", "other.txt"]);
    let args = json!({ "message": "Change it", "paths": ["kept.txt", "new"] });
    for result_is_known in [true, false] {
        let ctx = keyed(&yard, b"one");
        let made = tool("git_commit").run(args.clone(), &ctx).await;
        assert_eq!(made.how, OK, "{}", made.text);
        assert_eq!((said(&made, "ref"), said(&made, "before")), ("refs/heads/main".into(), first.clone()));
        assert_eq!(
            git(&yard, &["show", "--name-only", "--format=%an %ae %s", "HEAD"]),
            "Ann ann@example.org Change it\n\nkept.txt\nnew/file.txt"
        );
        assert!(git(&yard, &["show", "-s", "--format=%B"]).contains(&format!("Bowline-Key: {}", ctx.key)));
        assert_eq!(
            git(&yard, &["status", "--porcelain"]),
            "A  other.txt\n?? .env",
            "what others staged stays staged"
        );
        let again = tool("git_commit").run(args.clone(), &ctx).await;
        assert_eq!((again.how, again.text), (OK, made.text.clone()), "the same key commits once");
        assert_eq!(git(&yard, &["rev-parse", "HEAD~1"]), first);
        for _ in 0..2 {
            let undone = undo(&yard, "git_commit", &args, b"one", result_is_known.then_some(&made)).await;
            assert_eq!(undone.how, OK, "{}", undone.text);
            assert_eq!(git(&yard, &["rev-parse", "main"]), first);
            assert_eq!(yard.read("kept.txt"), "changed\n", "files stay as they are");
            assert_eq!(git(&yard, &["diff", "--cached", "--name-only"]), "other.txt");
        }
    }
    let all = tool("git_commit").run(json!({ "message": "All" }), &keyed(&yard, b"two")).await;
    assert_eq!(all.how, OK, "{}", all.text);
    let files = git(&yard, &["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(files, "kept.txt\nnew/file.txt\nother.txt", "secrets are not committed");
    let nothing = tool("git_commit").run(json!({ "message": "None" }), &keyed(&yard, b"three")).await;
    assert!(nothing.how == ERROR && nothing.text.contains("nothing changed"), "{}", nothing.text);
}

#[tokio::test]
async fn a_commit_on_another_branch_leaves_what_is_checked_out_alone() {
    let Some(yard) = repository() else { return };
    let branch = json!({ "name": "side" });
    assert_eq!(tool("git_branch").run(branch, &keyed(&yard, b"b")).await.how, OK);
    yard.write("kept.txt", "changed\n");
    let before = git(&yard, &["status", "--porcelain"]);
    let args = json!({ "message": "On the side", "branch": "side" });
    let made = tool("git_commit").run(args.clone(), &keyed(&yard, b"c")).await;
    assert_eq!(made.how, OK, "{}", made.text);
    assert_eq!(git(&yard, &["show", "side:kept.txt"]), "changed");
    assert_eq!(git(&yard, &["status", "--porcelain"]), before);
    let undone = undo(&yard, "git_commit", &args, b"c", Some(&made)).await;
    assert_eq!(undone.how, OK, "{}", undone.text);
    assert_eq!(git(&yard, &["rev-parse", "side"]), git(&yard, &["rev-parse", "main"]));
    let nowhere = json!({ "message": "x", "branch": "nowhere" });
    let refused = tool("git_commit").run(nowhere, &keyed(&yard, b"d")).await;
    assert!(refused.how == ERROR && refused.text.contains("git_branch makes one"), "{}", refused.text);
}

#[tokio::test]
async fn a_commit_others_have_built_on_or_have_stays_and_says_what_is_there() {
    let Some(yard) = repository() else { return };
    yard.write("a", "1\n");
    let args = json!({ "message": "Ours" });
    let made = tool("git_commit").run(args.clone(), &keyed(&yard, b"one")).await;
    let ours = said(&made, "commit");
    git(&yard, &["update-ref", "refs/remotes/origin/main", &ours]);
    let pushed = undo(&yard, "git_commit", &args, b"one", Some(&made)).await;
    assert!(pushed.how == ERROR && pushed.text.contains("refs/remotes/origin/main"), "{}", pushed.text);
    git(&yard, &["update-ref", "-d", "refs/remotes/origin/main"]);
    git(&yard, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    let now = git(&yard, &["rev-parse", "HEAD"]);
    let moved = undo(&yard, "git_commit", &args, b"one", Some(&made)).await;
    for words in [&ours, &now, "git revert"] {
        assert!(moved.how == ERROR && moved.text.contains(words), "{words} in {}", moved.text);
    }
    assert_eq!(git(&yard, &["rev-parse", "HEAD"]), now);
    git(&yard, &["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(undo(&yard, "git_commit", &args, b"one", None).await.how, OK, "back at ours, it is undone");
    assert_eq!(git(&yard, &["log", "--format=%s"]), "first");
}

#[tokio::test]
async fn the_first_commit_of_a_repository_is_taken_back_to_nothing() {
    let Some(yard) = bare() else { return };
    yard.write("a", "1\n");
    let args = json!({ "message": "First of all" });
    let made = tool("git_commit").run(args.clone(), &keyed(&yard, b"one")).await;
    assert_eq!(made.how, OK, "{}", made.text);
    assert_eq!(git(&yard, &["status", "--porcelain"]), "");
    assert_eq!(undo(&yard, "git_commit", &args, b"one", None).await.how, OK);
    assert_eq!(git(&yard, &["for-each-ref"]), "");
    assert_eq!(git(&yard, &["status", "--porcelain"]), "?? a");
}

#[tokio::test]
async fn no_program_of_the_repository_is_run_and_no_signature_asked_for() {
    let Some(yard) = repository() else { return };
    let trap = "echo trapped >> \"$(git rev-parse --show-toplevel)/trapped\"";
    for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"] {
        let path = format!(".git/hooks/{hook}");
        yard.write(&path, format!("#!/bin/sh\n{trap}\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(yard.root().join(path), mode).unwrap();
    }
    for (key, value) in [
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
        ("core.fsmonitor", trap),
        ("filter.evil.clean", "sh -c 'touch trapped; cat'"),
    ] {
        git(&yard, &["config", key, value]);
    }
    yard.write("a", "1\n");
    let args = json!({ "message": "Quietly" });
    let made = tool("git_commit").run(args.clone(), &keyed(&yard, b"one")).await;
    assert_eq!(made.how, OK, "{}", made.text);
    assert_eq!(undo(&yard, "git_commit", &args, b"one", Some(&made)).await.how, OK);
    yard.write(".gitattributes", "*.bin filter=evil\n");
    yard.write("b.bin", "2\n");
    let filtered = tool("git_commit").run(args, &keyed(&yard, b"two")).await;
    assert!(
        filtered.how == ERROR && filtered.text.contains("b.bin goes through the filter evil"),
        "{}",
        filtered.text
    );
    assert!(!yard.root().join("trapped").exists(), "something of the repository ran");
}

#[tokio::test]
async fn a_workspace_that_is_no_repository_or_not_its_top_is_refused_with_what_to_do() {
    let Some(outer) = repository() else { return };
    let yard = Yard::new();
    let nowhere = tool("git_commit").run(json!({ "message": "x" }), &yard.ctx()).await;
    assert!(nowhere.how == ERROR && nowhere.text.contains("in-place"), "{}", nowhere.text);
    outer.write("inner/a", "1\n");
    let inner = bowline_tools::Workspace::open(&outer.root().join("inner")).unwrap();
    let ctx = CallContext { workspace: inner, ..outer.ctx() };
    let below = tool("git_branch").run(json!({ "name": "x" }), &ctx).await;
    assert!(below.how == ERROR && below.text.contains("not the top folder"), "{}", below.text);
}
