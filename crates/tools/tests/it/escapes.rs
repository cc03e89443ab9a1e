//! No path leads out of the workspace, whatever it looks like.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_tools::{PathError, evidence};
use serde_json::json;

use crate::{ERROR, OK, Yard};

async fn refused(yard: &Yard, path: &str, why: &str) {
    for (tool, args) in [
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "old": "secret", "new": "x"})),
    ] {
        let output = yard.call(tool, args.clone()).await;
        assert_eq!(output.how, ERROR, "{tool} {path:?}: {}", output.text);
        assert!(output.text.contains(why), "{tool} {path:?}: {}", output.text);
        if tool != "read_file" {
            assert!(yard.prepare(tool, args).await.unwrap_err().contains(why), "{tool} {path:?}");
        }
    }
    assert!(evidence::read(&yard.workspace, path).await.is_err());
    assert_eq!(fs::read_to_string(yard.dir.path().join("secret")).unwrap(), "secret");
}

#[tokio::test]
async fn a_path_that_climbs_out_is_refused() {
    let yard = Yard::new();
    yard.write("sub/a", "x");
    for path in ["..", "../secret", "sub/../../secret", "./../secret", "sub/..//..//secret"] {
        refused(&yard, path, "outside the workspace").await;
    }
    refused(&yard, "sub/..", "not a regular file").await;
}

#[tokio::test]
async fn a_path_that_climbs_and_stays_inside_is_what_the_kernel_makes_of_it() {
    let yard = Yard::new();
    yard.write("sub/deep/a", "deep");
    yard.write("sub/b", "beside");
    yard.link("sub/deep", "link");
    for (path, text) in
        [("sub/../sub/b", "beside"), ("link/../b", "beside"), ("sub/./deep/../deep/a", "deep")]
    {
        assert_eq!(yard.call("read_file", json!({"path": path})).await.text, text, "{path}");
    }
    let made = yard.call("write_file", json!({"path": "link/../made", "content": "x"})).await;
    assert_eq!(made.text, "made sub/made, 1 bytes");
    for path in ["nope/../sub/b", "sub/b/../b", "sub/b/", "sub/b/."] {
        let output = yard.call("read_file", json!({"path": path})).await;
        assert!(output.how == ERROR, "{path}: {}", output.text);
    }
}

#[tokio::test]
async fn secrets_are_not_read_by_any_name() {
    let yard = Yard::new();
    yard.write("sub/.env", "KEY=1");
    yard.link("sub/.env", "plain");
    for path in ["sub/.env", "plain"] {
        let output = yard.call("read_file", json!({"path": path})).await;
        assert!(output.how == ERROR && output.text.contains("secrets"), "{}", output.text);
        let output = yard.call("search_files", json!({"pattern": "KEY", "path": path})).await;
        assert!(output.how == ERROR && output.text.contains("secrets"), "{}", output.text);
        let edit = json!({"path": path, "old": "KEY", "new": "x"});
        assert_eq!(yard.call("edit_file", edit).await.how, ERROR);
    }
    assert_eq!(yard.call("search_files", json!({"pattern": "KEY"})).await.text, "[no line matches]");
    let moved = yard.workspace.rename(&yard.inside("sub/.env"), &yard.inside("open"));
    assert!(matches!(moved, Err(PathError::Protected { .. })), "{moved:?}");
}

#[tokio::test]
async fn a_name_that_forges_lines_is_not_made_and_is_shown_escaped() {
    let yard = Yard::new();
    for path in ["a\nb", "a\u{202e}txt.exe", "new\u{1b}[2J/a"] {
        let output = yard.call("write_file", json!({"path": path, "content": "x"})).await;
        assert!(output.how == ERROR && output.text.contains("control characters"), "{}", output.text);
        let output = yard.call("read_file", json!({"path": path})).await;
        assert!(output.how == ERROR && !output.text.chars().any(char::is_control), "{:?}", output.text);
    }
    assert_eq!(fs::read_dir(yard.root()).unwrap().count(), 0);
}

#[test]
fn a_file_moves_and_goes_inside_the_guard_only() {
    let yard = Yard::new();
    yard.write("a", "text");
    yard.write(".agent/x", "ours");
    yard.link("../secret", "link");
    yard.link("..", "up");
    let rename = |from: &str, to: &str| yard.workspace.rename(&yard.inside(from), &yard.inside(to));
    for (from, to) in [("a", "up/a"), ("up/secret", "a"), ("a", ".agent/x"), (".agent/x", "b"), ("link", "b")]
    {
        assert!(rename(from, to).is_err(), "{from} -> {to}");
    }
    rename("a", "link").unwrap();
    assert_eq!(yard.read("link"), "text");
    assert!(yard.workspace.remove(&yard.inside("up/secret")).is_err());
    yard.workspace.remove(&yard.inside("up")).unwrap();
    yard.workspace.remove(&yard.inside("link")).unwrap();
    assert!(matches!(yard.workspace.remove(&yard.inside("link")), Err(PathError::Missing { .. })));
    assert_eq!(fs::read_to_string(yard.dir.path().join("secret")).unwrap(), "secret");
}

#[tokio::test]
async fn an_absolute_path_is_refused_unless_it_lies_inside() {
    let yard = Yard::new();
    yard.write("a", "inside");
    let secret = yard.dir.path().join("secret");
    for path in ["/etc/passwd", "/", secret.to_str().unwrap(), &format!("{}x", yard.root().display())] {
        refused(&yard, path, "outside the workspace").await;
    }
    let inside = yard.root().join("a");
    let output = yard.call("read_file", json!({"path": inside})).await;
    assert_eq!((output.how, output.text.as_str()), (OK, "inside"));
}

#[tokio::test]
async fn a_link_that_leads_out_is_refused_as_file_and_as_folder() {
    let yard = Yard::new();
    yard.link("../secret", "relative");
    yard.link(yard.dir.path().join("secret").to_str().unwrap(), "absolute");
    yard.link("..", "up");
    yard.link("/proc/self/root", "magic");
    for path in ["up/secret", "up/new/file", "magic/etc/passwd"] {
        refused(&yard, path, "outside the workspace").await;
    }
    for path in ["relative", "absolute"] {
        let read = yard.call("read_file", json!({"path": path})).await;
        assert!(read.how == ERROR && read.text.contains("outside the workspace"), "{}", read.text);
        let written = yard.call("write_file", json!({"path": path, "content": "x"})).await;
        assert!(written.how == ERROR && written.text.contains("symbolic link"), "{}", written.text);
    }
    assert_eq!(fs::read_to_string(yard.dir.path().join("secret")).unwrap(), "secret");
    assert!(!yard.dir.path().join("new").exists());
    for (tool, args) in
        [("list_files", json!({"path": "up"})), ("search_files", json!({"pattern": "s", "path": "up"}))]
    {
        assert_eq!(yard.call(tool, args).await.how, ERROR, "{tool}");
    }
    let searched = yard.call("search_files", json!({"pattern": "secret"})).await;
    assert_eq!(searched.text, "[no line matches]");
}

#[tokio::test]
async fn a_link_that_stays_inside_is_followed_for_reading() {
    let yard = Yard::new();
    yard.write("dir/a", "text");
    yard.link("dir", "link");
    yard.link("dir/a", "file");
    assert_eq!(yard.call("read_file", json!({"path": "link/a"})).await.text, "text");
    assert_eq!(yard.call("read_file", json!({"path": "file"})).await.text, "text");
    assert_eq!(yard.call("write_file", json!({"path": "link/b", "content": "new"})).await.how, OK);
    assert_eq!(yard.read("dir/b"), "new");
}

#[tokio::test]
async fn nul_and_nothing_are_no_paths() {
    let yard = Yard::new();
    refused(&yard, "a\0b", "NUL").await;
    assert!(yard.workspace.resolve("").is_err());
    assert!(evidence::read(&yard.workspace, "").await.is_err());
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_without_blocking() {
    let yard = Yard::new();
    fs::create_dir(yard.root().join("folder")).unwrap();
    let fifo = yard.root().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(yard.root().join("socket")).unwrap();
    for path in ["folder", "fifo", "socket"] {
        refused(&yard, path, "not a regular file").await;
    }
    for path in [".", "./"] {
        assert_eq!(yard.call("write_file", json!({"path": path, "content": "x"})).await.how, ERROR);
    }
}

#[tokio::test]
async fn git_and_bowline_are_never_written_also_not_through_a_link() {
    let yard = Yard::new();
    yard.write(".git/config", "git");
    yard.write("sub/.git/config", "git");
    yard.link(".git", "innocent");
    for path in [
        ".git/config",
        ".git/hooks/x",
        ".bowline/x",
        "sub/.git/config",
        ".GIT/x",
        ".git",
        "innocent/config",
        "innocent/new/x",
    ] {
        let output = yard.call("write_file", json!({"path": path, "content": "x"})).await;
        assert_eq!(output.how, ERROR, "{path}");
        assert!(output.text.contains("protected"), "{path}: {}", output.text);
        assert!(yard.prepare("write_file", json!({"path": path, "content": "x"})).await.is_err());
    }
    assert_eq!(yard.read(".git/config"), "git");
    assert!(!yard.root().join(".git/new").exists() && !yard.root().join(".bowline").exists());
    assert_eq!(yard.call("read_file", json!({"path": ".git/config"})).await.text, "git");
    assert_eq!(yard.call("write_file", json!({"path": ".gitignore", "content": "x"})).await.how, OK);
}

/// Set even if the test fails, or its other thread would never end.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn swapping_a_folder_for_a_link_never_opens_a_way_out() {
    let yard = Yard::new();
    yard.write("real/file", "inside");
    fs::create_dir(yard.dir.path().join("outside")).unwrap();
    fs::write(yard.dir.path().join("outside/file"), "secret").unwrap();
    yard.link("../outside", "link");
    let (root, done) = (yard.root().to_owned(), AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let swap = |a: &Path, b: &Path| {
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    a,
                    rustix::fs::CWD,
                    b,
                    rustix::fs::RenameFlags::EXCHANGE,
                )
            };
            while !done.load(Ordering::Relaxed) {
                swap(&root.join("real"), &root.join("link")).unwrap();
            }
        });
        let _ends_the_swapping = SetOnDrop(&done);
        let mut kinds = [0_u32; 2];
        for round in 0..2000 {
            let outcome = runtime.block_on(evidence::read(&yard.workspace, "real/file"));
            kinds[usize::from(outcome.is_ok())] += 1;
            assert!(outcome.as_deref() != Ok(b"secret".as_slice()), "escaped");
            if round % 10 == 0 {
                runtime.block_on(yard.call("write_file", json!({"path": "link/made", "content": "x"})));
            }
        }
        assert!(kinds[0] > 0 && kinds[1] > 0, "the race did not happen: {kinds:?}");
    });
    let outside: Vec<_> = fs::read_dir(yard.dir.path().join("outside")).unwrap().collect();
    assert_eq!(outside.len(), 1, "nothing was written outside");
}

#[tokio::test]
async fn a_file_that_is_replaced_keeps_its_permissions_and_loses_its_hard_links() {
    let yard = Yard::new();
    yard.write("run.sh", "old");
    fs::set_permissions(yard.root().join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(yard.dir.path().join("secret"), yard.root().join("hard")).unwrap();
    assert_eq!(yard.call("write_file", json!({"path": "run.sh", "content": "new"})).await.how, OK);
    assert_eq!(yard.call("write_file", json!({"path": "hard", "content": "new"})).await.how, OK);
    let mode = fs::metadata(yard.root().join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
    assert_eq!(fs::read_to_string(yard.dir.path().join("secret")).unwrap(), "secret");
}

#[test]
fn a_refusal_names_the_path_shortened_and_says_what_to_do() {
    let yard = Yard::new();
    let long = format!("/{}", "ü".repeat(500));
    let refused = |path: &str| yard.workspace.resolve(path).unwrap_err();
    assert_eq!(
        refused(&long).to_string(),
        format!("/{} leads outside the workspace; only files inside it can be used", "ü".repeat(199))
    );
    assert!(refused("/etc").remedy().contains("inside the workspace"));
    assert_eq!(refused("").remedy(), "correct the path");
    let none = bowline_tools::Workspace::open(&yard.root().join("none")).unwrap_err();
    assert!(none.remedy().starts_with("create the folder"), "{none}");
}
