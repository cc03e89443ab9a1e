//! What is read, what is applied, and what is said about the rest.

use super::*;

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

fn patched(text: &str, patch: &str) -> Result<String, String> {
    apply(text, &parse(patch)?).map_err(|misfit| misfit.to_string())
}

#[test]
fn hunks_are_applied_where_they_say() {
    let patch =
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@ fn\n one\n-two\n+TWO\n three\n@@ -6 +6,2 @@\n six\n+seven\n";
    assert_eq!(patched(FILE, patch).unwrap(), "one\nTWO\nthree\nfour\nfive\nsix\nseven\n");
}

#[test]
fn a_hunk_with_wrong_numbers_is_found_by_its_lines_if_they_stand_once() {
    let off = "@@ -4,2 +4,1 @@\n-two\n three\n";
    assert_eq!(patched(FILE, off).unwrap(), "one\nthree\nfour\nfive\nsix\n");
    // The hunk before it shifts what the next one says.
    let both = "@@ -3,1 +3,1 @@\n-two\n+2\n@@ -6,1 +6,1 @@\n-five\n+5\n";
    assert_eq!(patched(FILE, both).unwrap(), "one\n2\nthree\nfour\n5\nsix\n");
    let twice = "a\nx\na\nx\n";
    let said = patched(twice, "@@ -9,1 +9,1 @@\n-x\n+y\n").unwrap_err();
    assert!(said.contains("hunk 1") && said.contains("lines 2, 4"), "{said}");
    // At its line it is meant, however often it stands elsewhere.
    assert_eq!(patched(twice, "@@ -4,1 +4,1 @@\n-x\n+y\n").unwrap(), "a\nx\na\ny\n");
}

#[test]
fn a_hunk_that_fits_nowhere_is_named_with_what_it_wants_and_what_is_there() {
    let patch = "@@ -1,1 +1,1 @@\n-one\n+1\n@@ -3,2 +3,1 @@\n three\n-fuor\n";
    assert_eq!(
        patched(FILE, patch).unwrap_err(),
        "hunk 2 does not fit: at line 4 it wants \"fuor\" and the file has \"four\"; nothing was changed, read the file again"
    );
    let beyond = patched("one\n", "@@ -1,2 +1,1 @@\n one\n-two\n").unwrap_err();
    assert!(beyond.contains("the file has ended"), "{beyond}");
    let ends = patched("one\r\n", "@@ -1,1 +1,1 @@\n-one\n+1\n").unwrap_err();
    assert!(ends.contains("end in \\r\\n"), "{ends}");
    // Hunks keep their order.
    assert!(patched(FILE, "@@ -5,1 +5,1 @@\n-five\n+5\n@@ -1,1 +1,1 @@\n-one\n+1\n").is_err());
}

#[test]
fn the_end_of_the_file_is_part_of_it() {
    let no_end =
        "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+TWO\n\\ No newline at end of file\n";
    assert_eq!(patched("one\ntwo", no_end).unwrap(), "one\nTWO");
    assert!(patched("one\ntwo\n", no_end).is_err());
    assert_eq!(patched("a", "@@ -1 +1 @@\n-a\n\\ No newline\n+a\n").unwrap(), "a\n");
    let windows = "@@ -1,1 +1,1 @@\n-one\r\n+1\r\n";
    assert_eq!(patched("one\r\ntwo\r\n", windows).unwrap(), "1\r\ntwo\r\n");
}

#[test]
fn lines_that_only_add_need_no_file_and_stand_behind_their_line() {
    assert_eq!(patched("", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap(), "a\nb\n");
    assert_eq!(patched("a\nb\n", "@@ -1,0 +2,1 @@\n+x\n").unwrap(), "a\nx\nb\n");
    assert!(patched("a\n", "@@ -7,0 +8,1 @@\n+x\n").is_err());
}

#[test]
fn a_removed_line_may_look_like_a_head() {
    let patch = "@@ -1,2 +1,1 @@\n--- a comment\n two\n";
    assert_eq!(patched("-- a comment\ntwo\n", patch).unwrap(), "two\n");
}

#[test]
fn what_does_not_add_up_is_refused_with_its_hunk() {
    for (patch, said) in [
        ("", "no hunk"),
        ("just words", "no hunk"),
        ("@@ nonsense @@\n a\n", "hunk 1 has a bad @@ line"),
        ("@@ -1,2 +1,2 @@\n one\n", "hunk 1 says 2 old and 2 new lines and has"),
        ("@@ -1,1 +1,1 @@\n-one\n-two\n+1\n", "hunk 1 says 1 old and 1 new lines and has"),
        ("@@ -1,1 +1,1 @@\n-one\n+1\n+more\n", "hunk 1 has more lines than its @@ line says"),
        ("@@ -1,1 +1,1 @@\n-one\nxyz\n", "hunk 1 says 1 old and 1 new lines and has 1 and 0"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-one\n+1\n--- c\n+++ d\n@@ -1 +1 @@\n-x\n+y\n", "more than one file"),
        ("--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "use delete_file"),
    ] {
        let error = patched(FILE, patch).unwrap_err();
        assert!(error.contains(said), "{patch:?}: {error}");
    }
}
