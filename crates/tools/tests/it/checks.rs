//! Acceptance checks: commands, schemas, and what counts as a pass.

use std::time::Duration;

use bowline_core::quality::{CheckOutcome, Failure};
use bowline_tools::Sandbox;
use bowline_tools::check::{run_command_check, run_schema_check, schema_check, validate_schema};
use serde_json::json;

use crate::{Yard, strings};

async fn check(yard: &Yard, argv: &[&str], output: &str) -> (CheckOutcome, String) {
    run_command_check(&yard.workspace, &Sandbox::Off, &strings(argv), output, Duration::from_secs(60)).await
}

#[tokio::test]
async fn a_command_that_exits_with_0_passes_and_reads_the_output() {
    let yard = Yard::new();
    let (outcome, log) = check(&yard, &["grep", "42"], "the answer is 42").await;
    assert_eq!((outcome, log.as_str()), (CheckOutcome::Passed, "the answer is 42\n[exit code 0]"));
    let (outcome, _) = check(&yard, &["grep", "43"], "the answer is 42").await;
    assert!(!outcome.is_pass());
}

#[tokio::test]
async fn a_command_that_fails_without_known_tests_is_one_failure_with_its_last_lines() {
    let yard = Yard::new();
    let (outcome, _) = check(&yard, &["sh", "-c", "seq 100; echo broken >&2; exit 2"], "").await;
    let CheckOutcome::Failed(failures) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failures.len(), 1);
    assert!(
        failures[0].message.starts_with("[exit code 2]\n82\n")
            && failures[0].message.ends_with("100\nbroken")
    );
}

#[tokio::test]
async fn a_command_that_cannot_start_or_end_could_not_run() {
    let yard = Yard::new();
    let (outcome, _) = check(&yard, &["no-such-program"], "").await;
    assert_eq!(outcome, CheckOutcome::CouldNotRun("there is no program \"no-such-program\"".to_owned()));
    let argv = strings(&["sleep", "60"]);
    let (outcome, log) =
        run_command_check(&yard.workspace, &Sandbox::Off, &argv, "", Duration::from_millis(100)).await;
    assert!(matches!(outcome, CheckOutcome::CouldNotRun(_)), "{outcome:?}");
    assert!(log.contains("the time was up"));
}

#[tokio::test]
async fn python_tests_that_fail_are_named_with_their_place() {
    let yard = Yard::new();
    yard.write("calc.py", "def add(a, b):\n    return a - b\n");
    yard.write(
        "test_calc.py",
        "import unittest\nfrom calc import add\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        \
         self.assertEqual(add(1, 2), 3)\n",
    );
    let (outcome, log) = check(&yard, &["python3", "-m", "unittest", "-q"], "").await;
    let CheckOutcome::Failed(failures) = outcome else { panic!("{outcome:?}\n{log}") };
    assert_eq!(failures.len(), 1, "{log}");
    assert!(failures[0].name.starts_with("test_add (test_calc.TestCalc"));
    assert_eq!(failures[0].message, "AssertionError: -1 != 3");
    assert_eq!(failures[0].place.as_deref(), Some("test_calc.py:6"));
    yard.write("calc.py", "def add(a, b):\n    return a + b  # mended\n");
    assert_eq!(check(&yard, &["python3", "-m", "unittest"], "").await.0, CheckOutcome::Passed);
}

#[tokio::test]
async fn python_tests_that_are_none_do_not_pass() {
    let yard = Yard::new();
    let (outcome, _) = check(&yard, &["python3", "-m", "unittest"], "").await;
    let CheckOutcome::Failed(failures) = outcome else { panic!("{outcome:?}") };
    assert!(failures[0].message.starts_with("no tests ran"), "{}", failures[0].message);
}

#[test]
fn an_output_that_does_not_fit_its_schema_is_told_by_pointer() {
    let schema = json!({"type": "object", "properties": {"items": {"items": {"type": "integer"}}}, "required": ["name"]});
    assert_eq!(schema_check(&schema, " {\"name\": 1, \"items\": [1]}\n"), CheckOutcome::Passed);
    let failure =
        |message: &str, place: Option<&str>| Failure::new("schema", message).at(place.map(str::to_owned));
    assert_eq!(
        schema_check(&schema, r#"{"items": [1, "x"]}"#),
        CheckOutcome::Failed(vec![
            failure("\"name\" is a required property", None),
            failure("\"x\" is not of type \"integer\"", Some("/items/1")),
        ])
    );
    let CheckOutcome::Failed(fenced) = schema_check(&schema, "```json\n{}\n```") else { panic!("it passed") };
    assert!(fenced[0].message.ends_with("without a code fence"));
    assert!(matches!(schema_check(&json!({"type": 5}), "{}"), CheckOutcome::CouldNotRun(_)));
}

#[test]
fn a_schema_is_judged_before_it_is_used() {
    assert_eq!(validate_schema(&json!({"type": "string", "pattern": "^a+$"})), Ok(()));
    assert!(
        validate_schema(&json!({"$ref": "http://localhost/x"}))
            .unwrap_err()
            .contains("nothing is ever fetched")
    );
    assert!(validate_schema(&json!({"type": "strnig"})).is_err());
    assert!(validate_schema(&json!({"pattern": "("})).is_err());
}

#[tokio::test]
async fn an_output_that_is_too_costly_to_check_does_not_pass() {
    let way = json!({"properties": {"a": {"$ref": "#"}}});
    let schema = json!({"anyOf": [way, way, way]});
    assert_eq!(validate_schema(&schema), Ok(()), "nothing is wrong with it where values are flat");
    let deep = (0..30).fold(json!(1), |value, _| json!({"a": value})).to_string();
    let CheckOutcome::Failed(found) = run_schema_check(&schema, &deep).await else { panic!("it passed") };
    assert!(found[0].message.contains("too costly to check"), "{found:?}");
    assert_eq!(run_schema_check(&schema, "{\"a\": {\"a\": 1}}").await, CheckOutcome::Passed);
    let twice =
        |level: usize| json!([{"$ref": format!("#/$defs/d{level}")}, {"$ref": format!("#/$defs/d{level}")}]);
    let defs: serde_json::Map<_, _> = (0..60)
        .map(|level| (format!("d{level}"), json!({"allOf": twice(level + 1)})))
        .chain([("d60".to_owned(), json!({}))])
        .collect();
    let bomb = json!({"$defs": defs, "$ref": "#/$defs/d0"});
    assert!(validate_schema(&bomb).unwrap_err().contains("too costly to check"));
    assert!(matches!(run_schema_check(&bomb, "1").await, CheckOutcome::CouldNotRun(_)));
}
