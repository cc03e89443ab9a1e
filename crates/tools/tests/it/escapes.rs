//! No path leads out of the workspace, whatever it looks like.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_tools::evidence;
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
    for path in ["..", "../secret", "sub/../../secret", "./../secret", "sub/..", "sub/../a"] {
        refused(&yard, path, "`..`").await;
    }
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
