//! What the readers find in the planted defects: `bench/defects/found.jsonl`.
//!
//! `cargo run -p bowline-tools --example found < bench/defects/cases.jsonl > bench/defects/found.jsonl`.
//! A line is a case's id, the failed tests read out of what the tool printed, and
//! the misfits of its output. A test holds the file to what the readers find now.

#![expect(clippy::print_stdout, reason = "an example speaks to a person")]

use std::error::Error;
use std::io::BufRead;

use bowline_core::quality::CheckOutcome;
use bowline_tools::check::report::{Printed, read};
use bowline_tools::check::schema_check;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        println!("{}", found(&serde_json::from_str(&line?)?)?);
    }
    Ok(())
}

/// One line of the file.
fn found(case: &Value) -> Result<Value, Box<dyn Error>> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let mut failures = Vec::new();
    if let Some(printed) = case.get("printed") {
        let (output, errors) = (text(printed, "output"), text(printed, "errors"));
        let exit = printed["exit"].as_i64().and_then(|code| i32::try_from(code).ok());
        let printed = Printed { output: &output, errors: &errors, file: None, exit };
        let format = printed.recognise().ok_or_else(|| format!("{}: nobody's output", case["id"]))?;
        failures = read(format, &printed)?.failures;
    }
    let mut misfits = Vec::new();
    if let Some(schema) = case["given"].get("schema")
        && let CheckOutcome::Failed(found) = schema_check(schema, &text(&case["given"], "output"))
    {
        misfits = found;
    }
    Ok(json!({"id": case["id"], "failures": failures, "misfits": misfits}))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_readers_find_in_the_planted_defects_what_is_on_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/defects");
        let lines = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let (cases, on_file) = (lines("cases.jsonl"), lines("found.jsonl"));
        assert_eq!(cases.lines().count(), on_file.lines().count());
        for (case, expected) in cases.lines().zip(on_file.lines()) {
            let found = found(&serde_json::from_str(case).unwrap()).unwrap();
            assert_eq!(found, serde_json::from_str::<Value>(expected).unwrap());
        }
    }

    /// Every defect a test or a schema can see is seen: none is read as a pass.
    #[test]
    fn every_planted_defect_of_a_program_or_a_shape_is_found() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/defects");
        let cases = std::fs::read_to_string(folder.join("cases.jsonl")).unwrap();
        let (mut programs, mut shapes) = (0, 0);
        for case in cases.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let found = found(&case).unwrap();
            if case.get("printed").is_some() {
                programs += 1;
                assert_ne!(found["failures"], json!([]), "{}", case["id"]);
            } else if case["class"] == "schema_violation" {
                shapes += 1;
                assert_ne!(found["misfits"], json!([]), "{}", case["id"]);
            }
        }
        assert_eq!((programs, shapes), (57, 11));
    }
}
