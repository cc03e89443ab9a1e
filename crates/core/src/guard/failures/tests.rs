//! Failures that repeat, told apart from failures that happen.

use proptest::prelude::*;

use super::*;

fn counts(failures: &Failures) -> Vec<(String, u32)> {
    failures.patterns().iter().map(|pattern| (pattern.tool.to_string(), pattern.count)).collect()
}

#[test]
fn the_third_failure_of_a_kind_is_a_pattern_whatever_the_arguments() {
    let mut failures = Failures::default();
    failures.record_failure("read", "No such file or directory: 'src/a.rs'");
    failures.record_failure("read", "No such file or directory: 'src/lib/b.rs'");
    assert_eq!(failures.patterns(), []);
    failures.record_failure("read", "No such file or directory: '/etc/c.conf'");
    let patterns = failures.patterns();
    assert_eq!(patterns.len(), 1);
    assert_eq!((patterns[0].count, patterns[0].first, patterns[0].last), (3, 1, 3));
    assert_eq!(patterns[0].examples.len(), 3);
    assert!(patterns[0].examples[2].contains("/etc/c.conf"));
}

#[test]
fn a_success_of_the_tool_in_between_starts_again_and_one_of_another_does_not() {
    let mut failures = Failures::default();
    for other in ["write", "read"] {
        failures.record_failure("read", "timeout after 30 s");
        failures.record_failure("read", "timeout after 31 s");
        failures.record_success(other);
    }
    assert_eq!(counts(&failures), []);
    failures.record_failure("read", "timeout after 5 s");
    assert_eq!(counts(&failures), []);
    failures.record_success("write");
    failures.record_failure("read", "timeout after 5 s");
    failures.record_failure("read", "timeout after 7 s");
    assert_eq!(counts(&failures), [("read".to_owned(), 3)]);
}

#[test]
fn different_complaints_and_different_tools_are_different_kinds() {
    let mut failures = Failures::default();
    for (tool, error) in [("a", "permission denied"), ("a", "not found"), ("b", "permission denied")] {
        failures.record_failure(tool, error);
        failures.record_failure(tool, error);
    }
    assert_eq!(counts(&failures), []);
}

#[test]
fn a_class_given_by_the_caller_is_taken_as_it_is() {
    let mut failures = Failures::new(2);
    failures.record_classed("http", "503", "upstream said no");
    failures.record_classed("http", "503", "try later");
    assert_eq!(&*failures.patterns()[0].class, "503");
}

#[test]
fn the_class_of_an_error_is_what_does_not_change() {
    let same = [
        (
            "Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in <module>\nValueError: invalid literal for int() with base 10: 'x'",
            "Traceback (most recent call last):\n  File \"/c.py\", line 99, in f\nValueError: invalid literal for int() with base 10: 'other'",
        ),
        (
            "error[E0308]: mismatched types\n --> src/a.rs:3:9",
            "error[E0308]: mismatched types\n --> src/b.rs:77:1",
        ),
        ("connect to 10.0.0.1:5432 timed out after 30 s", "connect to 10.0.0.77:5432 timed out after 5 s"),
        ("fatal: pathspec 'x' did not match any files", "fatal: pathspec 'yy/z' did not match any files"),
        ("segfault at 0x7ffe12", "segfault at 0x99aa01"),
    ];
    for (one, other) in same {
        assert_eq!(error_class(one), error_class(other));
    }
    let different = [
        ("error[E0308]: mismatched types", "error[E0277]: mismatched types"),
        ("KeyError: 'a'", "ValueError: 'a'"),
        ("permission denied", "no such file"),
    ];
    for (one, other) in different {
        assert_ne!(error_class(one), error_class(other));
    }
    assert_eq!(error_class(""), "");
}

#[test]
fn an_error_is_named_by_its_exception_else_by_the_first_line_that_tells() {
    let rows = [
        ("error in step 3\n  at line 9\nValueError: bad", "ValueError: bad"),
        ("Fatal: first\npkg.my_errors.ParseException(x) y\nsee the log", "pkg.my_errors.ParseException(x) y"),
        ("error: disk full\nplease retry", "error: disk full"),
        ("Build failed: no space\nSee the log", "Build failed: no space"),
        ("Permission denied\nmy-Error: x", "Permission denied"),
        ("Permission denied\nerror: x", "Permission denied"),
        ("\n  \nnothing to see\nhere", "nothing to see"),
    ];
    for (text, line) in rows {
        assert_eq!(error_class(text), error_class(line), "{text}");
    }
    assert_ne!(error_class("ValueError: bad"), error_class("error in step 3"));
    assert_eq!(error_class("error: a `b c d"), "error a b c d", "a quote that never closes is none");
    for [one, other] in [["C:\\a\\b", "D:\\x"], ["core::a::b", "x::y"], ["/a/b", "c/d"]] {
        assert_eq!(error_class(&format!("error in {one}")), error_class(&format!("error in {other}")));
    }
}

#[test]
fn a_class_is_as_long_as_it_may_be_whatever_stands_before_it() {
    let words = "word ".repeat(40);
    for text in [format!("failed x {words}"), format!("(failed x {words}")] {
        assert_eq!(error_class(&text).chars().count(), 80, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_panics_and_no_class_is_long(text in "(?s).{0,400}") {
        prop_assert!(error_class(&text).chars().count() <= 80);
    }

    #[test]
    fn a_restart_in_the_middle_changes_nothing_and_memory_is_bounded(
        steps in prop::collection::vec((any::<bool>(), "[a-f]{1,2}", "\\PC{0,60}"), 0..120),
        cut in 0..120_usize,
    ) {
        let mut live = Failures::default();
        let mut restarted = Failures::default();
        for (at, (failed, tool, error)) in steps.iter().enumerate() {
            if at == cut {
                restarted = serde_json::from_str(&serde_json::to_string(&restarted).unwrap()).unwrap();
            }
            for failures in [&mut live, &mut restarted] {
                if *failed { failures.record_failure(tool, error) } else { failures.record_success(tool) }
            }
        }
        prop_assert_eq!(&live, &restarted);
        prop_assert!(live.streaks.len() <= KINDS_MAX);
    }
}
