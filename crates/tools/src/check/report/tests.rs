//! The readers on recordings of the real tools, on any prefix of them, and on hostile texts.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/reports")
}

/// What was recorded under one name.
struct Recorded {
    name: String,
    output: String,
    errors: String,
    file: Option<String>,
    expected: Option<String>,
}

impl Recorded {
    fn printed(&self) -> Printed<'_> {
        Printed { output: &self.output, errors: &self.errors, file: self.file.as_deref(), exit: None }
    }

    fn read(&self) -> Result<Report, ReportError> {
        let format = self.printed().recognise().unwrap_or_else(|| panic!("{}: nobody's", self.name));
        read(format, &self.printed())
    }
}

/// Everything recorded, read from disk once.
fn recorded() -> &'static [Recorded] {
    static ALL: OnceLock<Vec<Recorded>> = OnceLock::new();
    ALL.get_or_init(from_disk)
}

fn from_disk() -> Vec<Recorded> {
    let mut names = std::collections::BTreeSet::new();
    for tool in std::fs::read_dir(folder()).unwrap() {
        let place = tool.unwrap().path().join("recorded");
        for file in std::fs::read_dir(&place).into_iter().flatten() {
            names.insert(file.unwrap().path().with_extension(""));
        }
    }
    let text = |path: &Path, ending: &str| std::fs::read_to_string(path.with_extension(ending)).ok();
    let one = |path: PathBuf| Recorded {
        name: path.strip_prefix(folder()).unwrap().display().to_string().replace("/recorded", ""),
        output: text(&path, "out").unwrap_or_default(),
        errors: text(&path, "err").unwrap_or_default(),
        file: text(&path, "xml"),
        expected: text(&path, "json"),
    };
    names.into_iter().map(one).collect()
}

#[test]
fn every_recorded_output_is_read_in_full() {
    for one in recorded() {
        let found = match one.read() {
            Ok(report) => serde_json::to_value(report).unwrap(),
            Err(error) => serde_json::to_value(error.to_string()).unwrap(),
        };
        let expected = one.expected.as_ref().unwrap_or_else(|| panic!("{}: nothing is expected", one.name));
        let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
        assert_eq!(found, expected, "{}", one.name);
    }
}

/// Passed, failed, skipped, errors, as the programs beside the recordings were written.
#[test]
fn the_counts_are_those_of_the_programs() {
    let rows = [
        ("pytest/passing", [5, 0, 0, 0]),
        ("pytest/failing", [2, 9, 2, 1]),
        ("pytest/failing-line", [2, 9, 2, 1]),
        ("pytest/failing-native", [2, 9, 2, 1]),
        ("pytest/collection", [0, 0, 0, 2]),
        ("pytest/skipped", [0, 0, 1, 0]),
        ("pytest/none", [0, 0, 0, 0]),
        ("cargo/passing", [2, 0, 1, 0]),
        ("cargo/failing", [3, 11, 1, 0]),
        ("cargo/compile", [0, 0, 0, 2]),
        ("cargo/none", [0, 0, 0, 0]),
        ("nextest/failing", [3, 11, 1, 0]),
        ("nextest/none", [0, 0, 0, 0]),
        ("go/passing-v", [4, 0, 1, 0]),
        ("go/failing-v", [5, 5, 1, 0]),
        ("go/failing-json", [5, 5, 1, 0]),
        ("go/panics", [0, 1, 0, 0]),
        ("go/none", [0, 0, 0, 0]),
        ("jest/failing", [2, 8, 1, 0]),
        ("jest/failing-json", [2, 8, 1, 1]),
        ("jest/none", [0, 0, 0, 0]),
        ("vitest/failing", [2, 8, 1, 0]),
        ("vitest/failing-json", [2, 8, 1, 1]),
        ("vitest/empty", [0, 0, 0, 1]),
        ("junit/pytest-failing", [2, 9, 2, 1]),
        ("junit/java-failing", [2, 4, 1, 0]),
        ("junit/jest-failing", [2, 8, 1, 0]),
        ("tap/failing", [3, 6, 3, 0]),
        ("tap/none", [0, 0, 0, 0]),
        ("prove/failing", [1, 5, 1, 0]),
    ];
    let all = recorded();
    for (name, counts) in rows {
        let one = all.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name} is not recorded"));
        let report = one.read().unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert_eq!([report.passed, report.failed, report.skipped, report.errors], counts, "{name}");
        assert_eq!(report.is_pass(), counts[0] > 0 && counts[1] == 0 && counts[3] == 0, "{name}");
    }
}

/// Where the tool says both, both are read.
#[test]
fn one_failed_assertion_is_told_alike_by_every_tool() {
    let all = recorded();
    let rows = [
        ("pytest/failing", "test_failing.py::test_total", "test_failing.py:7"),
        ("pytest/failing-short", "test_failing.py::test_total", "test_failing.py:7"),
        ("cargo/failing", "adds", "tests/failing.rs:5"),
        ("nextest/failing", "shop::failing adds", "tests/failing.rs:5"),
        ("go/failing", "example.org/project/shop.TestWrong", "failing_test.go:10"),
        ("jest/failing", "failing.test.js › adds", "failing.test.js:4"),
        ("vitest/failing", "failing.test.js > adds", "failing.test.js:5"),
        ("junit/java-failing", "ShopTest.adds()", "ShopTest.java:19"),
        ("tap/failing", "adds", "/project/failing.mjs:6"),
    ];
    for (name, test, place) in rows {
        let report = all.iter().find(|one| one.name == name).unwrap().read().unwrap();
        let failure = report.failures.iter().find(|failure| failure.name == test);
        let failure = failure.unwrap_or_else(|| panic!("{name}: no {test}"));
        let told = (failure.expected.as_deref(), failure.actual.as_deref(), failure.place.as_deref());
        assert_eq!(told, (Some("4"), Some("3"), Some(place)), "{name}");
    }
}

/// Whether a report of these texts would be taken for a pass.
fn passes(printed: &Printed<'_>) -> bool {
    let format = printed.recognise();
    format.is_some_and(|format| read(format, printed).is_ok_and(|report| report.is_pass()))
}

fn head(text: &str, end: usize) -> &str {
    &text[..text.floor_char_boundary(end.min(text.len()))]
}

#[test]
fn no_line_of_a_failing_output_is_a_good_place_to_stop() {
    for one in recorded().iter().filter(|one| !passes(&one.printed())) {
        for (at, _) in one.output.match_indices('\n') {
            let printed = Printed { output: head(&one.output, at + 1), ..one.printed() };
            assert!(!passes(&printed), "{} up to {at} of its output", one.name);
        }
        for (at, _) in one.errors.match_indices('\n') {
            let printed = Printed { errors: head(&one.errors, at + 1), ..one.printed() };
            assert!(!passes(&printed), "{} up to {at} of its errors", one.name);
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_prefix_of_a_failing_output_passes_and_none_panics(which in 0_usize..1000, cut in 0.0_f64..1.0) {
        let all = recorded();
        let one = &all[which % all.len()];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a length")]
        let part = |text: &str| (text.len() as f64 * cut) as usize;
        let file = one.file.as_deref().map(|text| head(text, part(text)));
        let printed = Printed {
            output: head(&one.output, part(&one.output)),
            errors: head(&one.errors, part(&one.errors)),
            file,
            exit: None,
        };
        proptest::prop_assert!(!passes(&printed) || passes(&one.printed()), "{}", one.name);
        for format in FORMATS {
            let _ = read(format, &printed);
        }
    }

    #[test]
    fn no_text_panics(text in "(ok|not ok|1\\.\\.2|---|\\.\\.\\.|FAIL\t|--- FAIL: |=== RUN   |running 1 test|test result: ok\\. |failures:|<testsuite|<testcase|>|/>|\"|\\{|\\}| FAIL  |  ● |Tests: | in 0\\.1s|==|__|\u{1b}\\[|E  |\\PC|\n| |:|[0-9]){0,80}") {
        for format in FORMATS {
            let _ = read(format, &Printed { output: &text, ..Printed::default() });
        }
        let _ = recognise(&text);
    }
}

const FORMATS: [Format; 10] = [
    Format::Pytest,
    Format::CargoTest,
    Format::Nextest,
    Format::GoTest,
    Format::GoTestJson,
    Format::Jest,
    Format::JestJson,
    Format::Vitest,
    Format::JunitXml,
    Format::Tap,
];

fn contradicts(format: Format, output: &str) -> bool {
    let read = read(format, &Printed { output, ..Printed::default() });
    matches!(read, Err(ReportError::Contradicts { .. }))
}

#[test]
fn a_verdict_that_disagrees_with_the_list_is_an_error() {
    assert!(contradicts(
        Format::Pytest,
        "==== FAILURES ====\n____ test_a ____\nE   assert 1 == 2\n\na.py:1: AssertionError\n==== 9 passed in 0.01s ====\n"
    ));
    assert!(contradicts(Format::Pytest, "collected 3 items\n\n==== 2 passed in 0.01s ====\n"));
    assert!(contradicts(
        Format::CargoTest,
        "running 2 tests\ntest a ... FAILED\ntest b ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.0s\n"
    ));
    assert!(contradicts(
        Format::CargoTest,
        "running 2 tests\ntest result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
    ));
    assert!(contradicts(Format::Tap, "1..1\nok 1 - a\nok 2 - b\n"));
    assert!(contradicts(Format::Tap, "1..1\nnot ok 1 - a\n# fail 0\n"));
    assert!(contradicts(Format::JunitXml, "<testsuite tests=\"2\"><testcase name=\"a\"/></testsuite>"));
    assert!(contradicts(
        Format::Jest,
        "FAIL a.test.js\n  ● a\n\n    no\n\nTest Suites: 1 failed, 1 total\nTests:       3 passed, 3 total\n"
    ));
    assert!(contradicts(
        Format::Vitest,
        " FAIL  a.test.js > a\nError: no\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n"
    ));
}

#[test]
fn an_exit_code_that_disagrees_is_an_error() {
    let passing = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let exited =
        |exit| read(Format::CargoTest, &Printed { output: passing, exit: Some(exit), ..Printed::default() });
    assert!(exited(0).unwrap().is_pass());
    assert!(matches!(exited(101), Err(ReportError::Contradicts { .. })));
    let failing = "1..1\nnot ok 1 - a\n";
    let read = read(Format::Tap, &Printed { output: failing, exit: Some(0), ..Printed::default() });
    assert!(matches!(read, Err(ReportError::Contradicts { .. })));
}

fn xml(text: &str) -> Result<Report, ReportError> {
    read(Format::JunitXml, &Printed { file: Some(text), ..Printed::default() })
}

#[test]
fn hostile_xml_is_refused_and_expands_nothing() {
    let laughs = "<!DOCTYPE a [<!ENTITY b \"ha\"><!ENTITY c \"&b;&b;\">]><testsuite><testcase name=\"&c;\"/></testsuite>";
    assert!(matches!(xml(laughs), Err(ReportError::Malformed { .. })));
    let outside = "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><testsuite/>";
    assert!(matches!(xml(outside), Err(ReportError::Malformed { .. })));
    let unknown = "<testsuite><testcase name=\"a\"><failure>&secret;</failure></testcase></testsuite>";
    assert!(matches!(xml(unknown), Err(ReportError::Malformed { .. })));
    let deep = format!("<testsuite>{}{}</testsuite>", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(matches!(xml(&deep), Err(ReportError::Malformed { .. })));
    let swapped = "<testsuite><testcase name=\"a\"></testsuite></testcase>";
    assert!(xml(swapped).is_err());
    assert!(matches!(xml("<html></html>"), Err(ReportError::Unrecognised { .. })));
    assert!(matches!(xml("<testsuite><testcase name=\"a\"/>"), Err(ReportError::Cut { .. })));
}

#[test]
fn what_is_too_much_is_counted_marked_or_refused() {
    let long = "x".repeat(TEXT_MAX + 1);
    let read_long = read(Format::Tap, &Printed { output: &long, ..Printed::default() });
    assert!(matches!(read_long, Err(ReportError::TooLong { bytes, .. }) if bytes == TEXT_MAX + 1));
    let mut many = String::from("TAP version 14\n");
    for number in 1..=1000 {
        many.push_str(&format!("not ok {number} - {}\n", "n".repeat(600)));
    }
    many.push_str("1..1000\n");
    let report = read(Format::Tap, &Printed { output: &many, ..Printed::default() }).unwrap();
    assert_eq!((report.failed, report.failures.len(), report.left_out), (1000, FAILURES_MAX, 900));
    assert!(report.failures[0].truncated && report.failures[0].name.len() <= 600);
}

#[test]
fn colours_are_taken_out_whole() {
    assert_eq!(without_colour("\u{1b}[31mred\u{1b}[0m \u{1b}]8;;x\u{7}link\u{1b}[1"), "red link");
    assert_eq!(without_colour("plain"), "plain");
}

#[test]
fn passing_tests_of_go_are_not_counted_without_v() {
    let read = |output| read(Format::GoTest, &Printed { output, ..Printed::default() }).unwrap();
    let report = read("ok  \ta\t0.1s\nok  \tb\t0.1s [no tests to run]\n?   \tc\t[no test files]\n");
    assert_eq!((report.passed, report.at_least, report.is_pass()), (1, true, true));
    assert_eq!(read("?   \tc\t[no test files]\n").ran(), 0);
}

#[test]
fn a_test_process_that_is_killed_is_an_error_not_a_cut() {
    let output = "running 2 tests\ntest a ... ok\n";
    let errors = "     Running tests/a.rs (target/a)\nerror: test failed, to rerun pass `--test a`\n\nCaused by:\n  process didn't exit successfully: `target/a` (signal: 11, SIGSEGV: invalid memory reference)\n";
    let report = read(Format::CargoTest, &Printed { output, errors, ..Printed::default() }).unwrap();
    assert_eq!((report.passed, report.errors, report.is_pass()), (1, 1, false));
    let cut = read(Format::CargoTest, &Printed { output, ..Printed::default() });
    assert!(matches!(cut, Err(ReportError::Cut { .. })));
}

#[test]
fn a_count_of_junit_that_cannot_be_read_makes_the_report_unreadable() {
    for count in ["99999999999999999999", "-1", "many", "", "1.5"] {
        for word in ["tests", "failures", "errors"] {
            let output = format!("<testsuite {word}=\"{count}\"><testcase name=\"a\"/></testsuite>");
            let read = read(Format::JunitXml, &Printed { output: &output, ..Printed::default() });
            assert!(matches!(read, Err(ReportError::Malformed { .. })), "{word}={count:?}: {read:?}");
        }
    }
    let honest = "<testsuite tests=\" 1 \" failures=\"0\"><testcase name=\"a\"/></testsuite>";
    assert!(read(Format::JunitXml, &Printed { output: honest, ..Printed::default() }).is_ok());
}
