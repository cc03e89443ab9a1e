//! Statements, test reports and edge cases, on real files and programs.

use bowline_core::control::Ppm;
use bowline_core::quality::{CheckOutcome, TestLevel, TestRun};
use bowline_core::verify::{Assertion, EdgeCase, EdgeCases, Measure, Of, Proof, Target, TestCounts};
use bowline_tools::Sandbox;
use bowline_tools::check::{assertion_check, run_edge_cases, run_tests, validate_assertion};
use serde_json::{Value, json};

use crate::{Yard, strings};

async fn holds(yard: &Yard, target: Target, proof: Proof) -> CheckOutcome {
    assertion_check(&yard.workspace, &Assertion { target, proof }, "{\"total\": 12.50, \"name\": \"x\"}")
        .await
}

fn file(path: &str) -> Target {
    Target::File(path.into())
}

fn matches(pattern: &str, wanted: bool) -> Proof {
    Proof::Matches { pattern: pattern.into(), wanted }
}

fn value(at: &str, is: Value, within: i64) -> Proof {
    Proof::Value(Of { at: at.into(), is, within: Ppm(within) })
}

fn message(outcome: &CheckOutcome) -> &str {
    match outcome {
        CheckOutcome::Failed(failures) => failures[0].message.as_str(),
        CheckOutcome::CouldNotRun(why) => why,
        CheckOutcome::Passed | CheckOutcome::NotApplicable(_) => "",
    }
}

#[tokio::test]
async fn a_file_is_there_or_not() {
    let yard = Yard::new();
    yard.write("made/it.txt", "x");
    assert_eq!(holds(&yard, file("made/it.txt"), Proof::Exists(true)).await, CheckOutcome::Passed);
    assert_eq!(holds(&yard, file("made/no.txt"), Proof::Exists(false)).await, CheckOutcome::Passed);
    let missing = holds(&yard, file("no.txt"), Proof::Exists(true)).await;
    assert_eq!(message(&missing), "there is no no.txt");
    assert!(holds(&yard, file("made/it.txt"), Proof::Exists(false)).await.is_bad());
    let out = holds(&yard, file("../outside"), Proof::Exists(false)).await;
    assert!(matches!(out, CheckOutcome::CouldNotRun(_)), "what cannot be looked at is no pass: {out:?}");
}

#[tokio::test]
async fn a_pattern_is_found_or_must_not_be() {
    let yard = Yard::new();
    yard.write("a.py", "import os\nTODO: later\n");
    assert_eq!(holds(&yard, file("a.py"), matches("^import os$", true)).await, CheckOutcome::Passed);
    assert_eq!(holds(&yard, file("a.py"), matches("FIXME", false)).await, CheckOutcome::Passed);
    let found = holds(&yard, file("a.py"), matches("TODO", false)).await;
    let CheckOutcome::Failed(failures) = &found else { panic!("{found:?}") };
    assert_eq!(failures[0].place.as_deref(), Some("a.py:2"));
    assert!(
        message(&holds(&yard, file("a.py"), matches("import sys", true)).await).contains("nothing in a.py")
    );
    let broken = Assertion { target: Target::Output, proof: matches("(", true) };
    assert!(validate_assertion(&broken).unwrap_err().contains("pattern"));
    assert!(matches!(holds(&yard, Target::Output, matches("(", true)).await, CheckOutcome::CouldNotRun(_)));
}

#[tokio::test]
async fn numbers_are_compared_as_numbers_and_within_what_is_allowed() {
    let yard = Yard::new();
    let of =
        async |at: &str, is: Value, within: i64| holds(&yard, Target::Output, value(at, is, within)).await;
    assert_eq!(of("/total", json!(12.5), 0).await, CheckOutcome::Passed);
    assert_eq!(of("/total", json!(12.51), 10_000).await, CheckOutcome::Passed);
    assert!(of("/total", json!(12.52), 10_000).await.is_bad());
    assert_eq!(message(&of("/total", json!(13), 0).await), "/total is 12.5 in the output, not 13");
    assert_eq!(of("/name", json!("x"), 0).await, CheckOutcome::Passed);
    assert!(of("/name", json!("y"), 0).await.is_bad());
    assert!(message(&of("/none", json!(1), 0).await).contains("nothing at"));
    yard.write("no.json", "prose");
    assert!(message(&holds(&yard, file("no.json"), value("/a", json!(1), 0)).await).contains("not JSON"));
}

fn tests(argv: &[&str], report: Option<&str>) -> TestRun {
    TestRun {
        argv: strings(argv),
        timeout_ms: 60_000,
        level: TestLevel::Unit,
        report: report.map(str::to_owned),
    }
}

async fn tested(yard: &Yard, run: &TestRun) -> (CheckOutcome, Option<Measure>) {
    let (outcome, measure, _) = run_tests(&yard.workspace, &Sandbox::Off, run, "").await;
    (outcome, measure)
}

fn counts(passed: u64, failed: u64, skipped: u64) -> Option<Measure> {
    Some(Measure::Tests(TestCounts { passed, failed, skipped }))
}

#[tokio::test]
async fn a_report_that_is_printed_is_counted() {
    let yard = Yard::new();
    let tap = |text: &str, code: u32| tests(&["sh", "-c", &format!("printf '{text}'; exit {code}")], None);
    let good = tap("TAP version 13\\n1..2\\nok 1 - adds\\nok 2 - takes\\n", 0);
    assert_eq!(tested(&yard, &good).await, (CheckOutcome::Passed, counts(2, 0, 0)));
    let bad = tap("TAP version 13\\n1..2\\nok 1 - adds\\nnot ok 2 - takes\\n", 1);
    let (outcome, measure) = tested(&yard, &bad).await;
    let CheckOutcome::Failed(failures) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((failures.len(), failures[0].name.as_str(), measure), (1, "takes", counts(1, 1, 0)));
    let lying = tap("TAP version 13\\n1..2\\nok 1 - adds\\nok 2 - takes\\n", 1);
    assert!(
        matches!(tested(&yard, &lying).await.0, CheckOutcome::CouldNotRun(_)),
        "it says ok and exits with 1"
    );
    let cut = tap("TAP version 13\\n1..2\\nok 1 - adds\\n", 0);
    assert!(!tested(&yard, &cut).await.0.is_pass(), "a plan of two and one test");
    let none = tap("TAP version 13\\n1..0\\n", 0);
    assert!(tested(&yard, &none).await.0.is_bad(), "no test is no pass");
}

#[tokio::test]
async fn a_command_that_prints_no_report_has_tested_nothing() {
    let yard = Yard::new();
    let (outcome, measure) = tested(&yard, &tests(&["true"], None)).await;
    assert!(message(&outcome).contains("prints no report"), "{outcome:?}");
    assert_eq!(measure, None);
    assert!(tested(&yard, &tests(&["false"], None)).await.0.is_bad());
    assert!(message(&tested(&yard, &tests(&["no-such-program"], None)).await.0).contains("no program"));
}

const JUNIT: &str = "<testsuites><testsuite name=\"s\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\">\
    <testcase classname=\"c\" name=\"n\" time=\"0.1\"/></testsuite></testsuites>";

#[tokio::test]
async fn a_report_that_lay_there_before_counts_for_nothing() {
    let yard = Yard::new();
    yard.write("junit.xml", JUNIT);
    let (outcome, _) = tested(&yard, &tests(&["true"], Some("junit.xml"))).await;
    assert!(message(&outcome).contains("wrote no junit.xml"), "{outcome:?}");
    yard.write("made.xml", JUNIT);
    let copies = tests(&["cp", "made.xml", "junit.xml"], Some("junit.xml"));
    assert_eq!(tested(&yard, &copies).await, (CheckOutcome::Passed, counts(1, 0, 0)));
}

#[tokio::test]
async fn python_s_own_runner_is_counted_too() {
    let yard = Yard::new();
    yard.write(
        "test_a.py",
        "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n\n    def test_b(self):\n        \
         self.assertEqual(1, 2)\n",
    );
    let (outcome, measure) = tested(&yard, &tests(&["python3", "-m", "unittest"], None)).await;
    assert!(outcome.is_bad());
    assert_eq!(measure, counts(1, 1, 0));
}

#[tokio::test]
async fn edge_cases_that_break_a_program_are_failures_with_what_came_out() {
    let yard = Yard::new();
    let rules = |argv: &[&str]| EdgeCases { argv: strings(argv), timeout_ms: 5_000, cases: 3 };
    let case = |input: &str, expected: &str| EdgeCase {
        input: input.into(),
        expected: expected.into(),
        why: "odd".into(),
    };
    let cases = [case("a", "A"), case("ß", "SS"), case("", "")];
    let run =
        async |argv: &[&str]| run_edge_cases(&yard.workspace, &Sandbox::Off, &rules(argv), &cases).await;
    let (outcome, measure, log) = run(&["tr", "a-z", "A-Z"]).await;
    let CheckOutcome::Failed(failures) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((failures.len(), failures[0].name.as_str()), (1, "case 2"));
    assert_eq!(failures[0].message, "with \"ß\" it gives \"ß\", not \"SS\" (odd)");
    assert_eq!(measure, counts(2, 1, 0));
    assert!(log.contains("case 3"));
    let upper = "import sys; sys.stdout.write(sys.stdin.read().upper())";
    assert_eq!(run(&["python3", "-c", upper]).await.0, CheckOutcome::Passed);
    assert!(matches!(run(&["no-such-program"]).await.0, CheckOutcome::CouldNotRun(_)));
}
