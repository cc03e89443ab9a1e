//! Each rule, on the least that makes it fire and on what must not.

use super::*;
use crate::event::Outcome;
use crate::quality::{Frame, Stage};

fn check(evidence: &Evidence, expected: Option<(Cause, Rule)>) {
    let said = root_cause(evidence);
    assert_eq!(said.as_ref().map(|said| (said.cause, said.rule)), expected, "{evidence:?} {said:?}");
}

fn test(error: &str, message: &str, file: &str) -> Evidence {
    let trace = vec![Frame { file: file.to_owned(), line: Some(1), function: None }];
    let error = Some(error.to_owned()).filter(|error| !error.is_empty());
    Evidence { failures: vec![Failure { error, trace, ..Failure::new("t", message) }], ..Evidence::default() }
}

fn text(output: &str, sources: &[&str]) -> Evidence {
    let source = |(at, text): (usize, &&str)| Source { id: format!("s{}", at + 1), text: (*text).to_owned() };
    let sources = sources.iter().enumerate().map(source).collect();
    Evidence { output: Some(output.to_owned()), sources, ..Evidence::default() }
}

fn tried(steps: &[(Strategy, &[&str], &[&str])]) -> Evidence {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let one = |(strategy, before, after): &(Strategy, &[&str], &[&str])| RepairTry {
        strategy: *strategy,
        before: names(before),
        after: names(after),
    };
    Evidence { repairs: steps.iter().map(one).collect(), ..Evidence::default() }
}

#[test]
fn nothing_known_is_left_to_a_model() {
    check(&Evidence::default(), None);
    check(&text("The valley is lovely.", &["It is a valley."]), None);
    check(&text(r#"{"name": "valley"}"#, &["It is a valley."]), None);
}

#[test]
fn what_comes_from_outside_goes_before_what_the_output_shows() {
    let trouble =
        |outcome, recovered| ToolTrouble { tool: "scan".into(), outcome, message: "no".into(), recovered };
    let broken = test("AssertionError", "assert 1 == 2", "test_a.py");
    let with = |tools| Evidence { tools, ..broken.clone() };
    check(&with(vec![trouble(Outcome::TimedOut, false)]), Some((Cause::ToolFailure, Rule::ToolDown)));
    check(&with(vec![trouble(Outcome::TimedOut, true)]), Some((Cause::LogicError, Rule::TestFailed)));
    check(&with(vec![trouble(Outcome::Cancelled, false)]), Some((Cause::LogicError, Rule::TestFailed)));
    let started = |why: &str| Evidence { could_not_run: vec![why.to_owned()], ..Evidence::default() };
    check(&started("pytest: no such program"), Some((Cause::ToolFailure, Rule::CheckNotStarted)));
    check(&started("pytest: [killed after 60 s: the time was up]"), None);
    let breach = Breach { rule: "no-secrets".into(), excerpt: "key".into() };
    let breached = Evidence { breaches: vec![breach], ..with(vec![trouble(Outcome::Error, false)]) };
    check(&breached, Some((Cause::SafetyViolation, Rule::PolicyBreached)));
}

#[test]
fn only_three_fruitless_repairs_with_the_strongest_strategy_are_a_limit() {
    let (edit, whole) = (Strategy::MinimalEdit, Strategy::FullRegeneration);
    let same: (&[&str], &[&str]) = (&["a", "b"], &["b", "a"]);
    check(&tried(&[(edit, same.0, same.1), (whole, same.0, same.1)]), None);
    check(&tried(&[(edit, &["a"], &["a"]), (edit, &["a"], &["a"]), (edit, &["a"], &["a"])]), None);
    let stuck = tried(&[(edit, &["a"], &["a"]), (edit, &["a"], &["a"]), (whole, &["a"], &["a"])]);
    check(&stuck, Some((Cause::CapabilityLimit, Rule::SameAfterEveryStrategy)));
    let mending =
        tried(&[(edit, &["a", "b", "c"], &["b", "c"]), (edit, &["b", "c"], &["c"]), (whole, &["c"], &["c"])]);
    check(&mending, None);
    let seesaw = tried(&[(edit, &["a"], &["b"]), (edit, &["b"], &["a"]), (whole, &["a"], &["b"])]);
    check(&seesaw, Some((Cause::ComplexityExceeded, Rule::RepairsBreakOthers)));
    check(&Evidence { cut_off: 2, ..stuck }, Some((Cause::ComplexityExceeded, Rule::CutOffAgain)));
}

#[test]
fn a_misfit_is_incomplete_only_if_everything_else_fits() {
    let misfits = |said: &[&str]| Evidence {
        misfits: said.iter().map(|said| Failure::new("schema", *said)).collect(),
        ..Evidence::default()
    };
    let (missing, wrong) = ("\"a\" is a required property", "1 is not of type \"string\"");
    check(&misfits(&[missing, missing]), Some((Cause::Incompleteness, Rule::RequiredMissing)));
    check(&misfits(&[missing, wrong]), Some((Cause::SchemaViolation, Rule::SchemaMisfit)));
    check(&Evidence { cut_off: 1, ..misfits(&[wrong]) }, Some((Cause::Incompleteness, Rule::CutOffOnce)));
}

#[test]
fn who_uses_a_name_that_is_not_there_decides() {
    let invented = Some((Cause::Hallucination, Rule::NameInvented));
    let missing = Some((Cause::Incompleteness, Rule::NameMissing));
    let logic = Some((Cause::LogicError, Rule::TestFailed));
    let rows = [
        ("AttributeError", "AttributeError: 'list' object has no attribute 'add'", "cart.py", invented),
        ("AttributeError", "AttributeError: module 'json' has no attribute 'x'", "cart.py", invented),
        (
            "AttributeError",
            "AttributeError: 'Cart' object has no attribute 'x'",
            "tests/test_cart.py",
            missing,
        ),
        ("AttributeError", "AttributeError: 'Cart' object has no attribute 'x'", "cart.py", logic),
        ("AttributeError", "AttributeError: 'NoneType' object has no attribute 'x'", "cart.py", logic),
        ("ImportError", "cannot import name 'x' from 'cart' (/project/cart.py)", "test_a.py", missing),
        (
            "ImportError",
            "cannot import name 'x' from 'json' (/usr/lib/python3.11/json/__init__.py)",
            "a.py",
            invented,
        ),
        ("ModuleNotFoundError", "No module named 'x'", "a.py", None),
        ("TypeError", "this.fire is not a function", "/project/a.mjs", invented),
        ("TypeError", "slots.gaps is not a function", "/project/a.test.mjs", missing),
        ("NameError", "name 'totl' is not defined", "a.py", logic),
        ("KeyError", "'x'", "a.py", logic),
    ];
    for (error, message, file, expected) in rows {
        check(&test(error, message, file), expected);
    }
}

#[test]
fn compilers_say_whose_name_is_missing() {
    let build = |error: &str, message: &str, file: &str| {
        let mut evidence = test(error, message, file);
        evidence.failures[0].stage = Stage::Build;
        evidence
    };
    let rust = |code: &str, said: &str| build(code, said, "src/lib.rs");
    let missing = Some((Cause::Incompleteness, Rule::NameMissing));
    let invented = Some((Cause::Hallucination, Rule::NameInvented));
    check(&rust("E0599", "no method named `a` found\n | --- method `a` not found for this struct"), missing);
    check(&rust("E0599", "no method named `a` found for struct `Vec<i64>`"), invented);
    check(&rust("E0432", "unresolved import `std::collections::RingDeque`"), invented);
    check(&rust("E0432", "unresolved import `crate::shop`"), missing);
    check(&rust("E0432", "unresolved import `quickly`"), None);
    check(&rust("E0308", "mismatched types"), Some((Cause::LogicError, Rule::DoesNotBuild)));
    check(&rust("", "linker `x` not found"), Some((Cause::ToolFailure, Rule::EnvironmentBroken)));
    check(&build("", "undefined: strings.Upper", "a.go"), invented);
    check(&build("", "undefined: Total", "a_test.go"), missing);
    check(&build("", "undefined: totl", "a.go"), Some((Cause::LogicError, Rule::DoesNotBuild)));
}

#[test]
fn a_function_that_gave_nothing_may_not_be_written() {
    let mut evidence = test("AssertionError", "assert None == 3", "test_a.py");
    (evidence.failures[0].expected, evidence.failures[0].actual) = (Some("3".into()), Some("None".into()));
    check(&evidence, None);
    let said = test("panic", "not yet implemented: later", "src/lib.rs");
    check(&said, Some((Cause::Incompleteness, Rule::NotImplemented)));
}

#[test]
fn claims_are_taken_as_the_judge_found_them() {
    let claims = |standing: &[Standing]| Evidence {
        claims: standing.iter().map(|standing| Claim { text: "c".into(), standing: *standing }).collect(),
        ..Evidence::default()
    };
    check(&claims(&[Standing::Supported]), None);
    check(&claims(&[Standing::Unsupported]), Some((Cause::Hallucination, Rule::ClaimUnsupported)));
    let both = claims(&[Standing::Unsupported, Standing::Contradicted]);
    check(&both, Some((Cause::FactualError, Rule::ClaimContradicted)));
}

#[test]
fn texts_are_held_against_arithmetic_themselves_and_their_sources() {
    let two = Some((Cause::CoherenceFailure, Rule::SaysTwoThings));
    let sum = Some((Cause::LogicError, Rule::WrongArithmetic));
    let none = Some((Cause::Hallucination, Rule::InNoSource));
    let differs = Some((Cause::FactualError, Rule::DiffersFromSource));
    check(&text("So 2.5 * 4 = 10 days.", &[]), None);
    check(&text("So 10 / 3 = 3.33 days.", &[]), None);
    check(&text("So 2.5 * 4 = 12 days.", &[]), sum);
    check(&text("The wall is 3 metres high. The wall is 4 metres high.", &[]), two);
    check(&text("The wall is 3 metres high. The wall is 40 years old.", &[]), None);
    check(&text("It opened in 1931. It closed in 1950.", &[]), None);
    let source = ["The tower is 96 metres high and has 411 steps."];
    check(&text("The tower has 411 steps [s1].", &source), None);
    check(&text("The tower has 441 steps [s1].", &source), differs);
    check(&text("The tower has 411 steps [s2].", &source), none);
    check(&text("Tickets cost 12 crowns.", &source), none);
    check(&text("They call it \"the pride of the coast\".", &source), none);
    check(&text("They say it \"has 411 steps\".", &source), None);
}

#[test]
fn objects_are_held_against_themselves_and_their_sources() {
    let two = Some((Cause::CoherenceFailure, Rule::SaysTwoThings));
    check(&text(r#"{"total": 3, "items": [{"price": 1.5, "quantity": 2}]}"#, &[]), None);
    check(&text(r#"{"total": 4, "items": [{"price": 1.5, "quantity": 2}]}"#, &[]), two);
    check(&text(r#"{"count": 2, "items": ["a"]}"#, &[]), two);
    check(&text(r#"{"start": "2024-02-01", "end": "2024-01-01"}"#, &[]), two);
    let source = ["Total: 1,192.50 EUR"];
    check(&text(r#"{"total": 1192.5}"#, &source), None);
    check(&text(r#"{"total": 1129.5}"#, &source), Some((Cause::FactualError, Rule::DiffersFromSource)));
    check(&text(r#"{"phone": "030 1234"}"#, &source), Some((Cause::Hallucination, Rule::InNoSource)));
}

proptest::proptest! {
    #[test]
    fn no_output_panics(
        output in "(The |tower |is |not |1\\.|3 |4,000|\\+|=|\\[s1\\]|\"|\\{|\\}|:|\\.|\n|\\PC){0,60}",
        source in "(The |tower |is |3 |4,000|\\.|\\PC){0,30}",
    ) {
        let _ = root_cause(&text(&output, &[&source]));
    }
}
