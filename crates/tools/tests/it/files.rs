//! Reading, listing and searching files.

use serde_json::json;

use crate::{ERROR, OK, Yard};

#[tokio::test]
async fn a_file_is_read_verbatim_or_in_lines() {
    let yard = Yard::new();
    yard.write("a", "one\r\ntwo\nthree");
    for (args, expected) in [
        (json!({"path": "a"}), "one\r\ntwo\nthree"),
        (json!({"path": "a", "from_line": 2, "lines": 1}), "two\n[lines 2 to 2 of 3]"),
        (json!({"path": "a", "from_line": 3}), "three\n[lines 3 to 3 of 3]"),
        (json!({"path": "a", "lines": 9}), "one\r\ntwo\nthree"),
    ] {
        let output = yard.call("read_file", args).await;
        assert_eq!((output.how, output.text.as_str()), (OK, expected));
    }
    let past = yard.call("read_file", json!({"path": "a", "from_line": 4})).await;
    assert_eq!((past.how, past.text.as_str()), (ERROR, "there is no line 4: the file has 3 lines"));
}

#[tokio::test]
async fn a_binary_or_missing_file_is_told_and_a_stray_byte_is_replaced() {
    let yard = Yard::new();
    yard.write("bin", b"\x7fELF\0\0");
    yard.write("latin", b"caf\xe9");
    assert_eq!(yard.call("read_file", json!({"path": "bin"})).await.text, "bin is a binary file of 6 bytes");
    assert_eq!(yard.call("read_file", json!({"path": "latin"})).await.text, "caf\u{fffd}");
    assert_eq!(yard.call("read_file", json!({"path": "no"})).await.text, "there is no no in the workspace");
    assert_eq!(yard.call("read_file", json!({"path": "latin/x"})).await.how, ERROR);
}

#[tokio::test]
async fn a_file_over_the_cap_is_refused() {
    let yard = Yard::new();
    let cap = usize::try_from(bowline_tools::FILE_BYTES_MAX).unwrap();
    yard.write("fits", vec![b'x'; cap]);
    yard.write("large", vec![b'x'; cap + 1]);
    assert_eq!(
        bowline_tools::evidence::read(&yard.workspace, "fits").await.map(|bytes| bytes.len()),
        Ok(cap)
    );
    let error = bowline_tools::evidence::read(&yard.workspace, "large").await.unwrap_err();
    assert_eq!(error, "large has more than 8388608 bytes");
}

#[tokio::test]
async fn files_are_listed_sorted_to_the_depth_asked_for_without_git() {
    let yard = Yard::new();
    for path in ["b", "a/z/deep/er", "a/c", ".git/x", ".bowline/x", ".env"] {
        yard.write(path, "");
    }
    yard.link("a/c", "link");
    for (args, expected) in [
        (json!({}), ".env\na/\na/c\na/z/\na/z/deep/\nb\nlink -> a/c"),
        (json!({"depth": 1}), ".env\na/\nb\nlink -> a/c"),
        (json!({"path": "a", "depth": 20}), "a/c\na/z/\na/z/deep/\na/z/deep/er"),
    ] {
        assert_eq!(yard.call("list_files", args).await.text, expected);
    }
    assert_eq!(yard.call("list_files", json!({"path": "b"})).await.how, ERROR);
}

#[tokio::test]
async fn a_long_listing_is_capped_and_says_so() {
    let yard = Yard::new();
    for index in 0..1001 {
        yard.write(&format!("f{index:04}"), "");
    }
    let text = yard.call("list_files", json!({})).await.text;
    assert_eq!(text.lines().count(), 1001);
    assert!(
        text.ends_with("list a folder of it, or less deep]")
            && text.contains("f0999")
            && !text.contains("f1000")
    );
}

#[tokio::test]
async fn matching_lines_are_found_sorted_and_counted() {
    let yard = Yard::new();
    yard.write("b.py", "def add(a, b):\n    return a\n");
    yard.write("a/c.py", "x\nDEF ADD\n");
    yard.write(".git/c", "def add");
    yard.write("bin", b"def add\0");
    yard.write("long", format!("def add {}", "ä".repeat(500)));
    let all = yard.call("search_files", json!({"pattern": "(?i)def add"})).await.text;
    let lines: Vec<_> = all.lines().collect();
    assert_eq!(lines[..2], ["a/c.py:2: DEF ADD", "b.py:1: def add(a, b):"]);
    assert!(lines[2].starts_with("long:1: def add ä") && lines[2].ends_with("ä...") && lines[2].len() < 420);
    assert_eq!(lines.len(), 3);
    assert_eq!(
        yard.call("search_files", json!({"pattern": "^def", "path": "b.py"})).await.text,
        "b.py:1: def add(a, b):"
    );
    assert_eq!(
        yard.call("search_files", json!({"pattern": "ADD", "path": "a"})).await.text,
        "a/c.py:2: DEF ADD"
    );
    assert_eq!(
        yard.call("search_files", json!({"pattern": "a", "max": 1})).await.text,
        "b.py:1: def add(a, b):\n[there is more: only the first 1 matches are shown]"
    );
    assert_eq!(yard.call("search_files", json!({"pattern": "nowhere"})).await.text, "[no line matches]");
    let bad = yard.call("search_files", json!({"pattern": "("})).await;
    assert!(bad.how == ERROR && bad.text.contains("the pattern cannot be used"));
    assert_eq!(yard.call("search_files", json!({"pattern": "a", "path": "none"})).await.how, ERROR);
}
