//! Whether an answer is right: what the loop is never told.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::tasks::{Family, Trial, folder};

/// How far two numbers of one meaning may be apart.
const CLOSE: f64 = 1e-6;

/// Verdicts that are known, by task and answer.
#[derive(Default)]
pub(crate) struct Oracle(BTreeMap<(String, String), bool>);

impl Oracle {
    /// Learns about all of these answers at once.
    pub(crate) fn learn<'a>(&mut self, answers: impl Iterator<Item = (&'a Trial, &'a str)>) -> Result<()> {
        let (mut asked, mut lines) = (Vec::new(), String::new());
        for (trial, text) in answers {
            let key = (trial.id.clone(), text.to_owned());
            if self.0.contains_key(&key) {
                continue;
            }
            let record = serde_json::from_str::<Value>(text).ok();
            let has_line = |record: &Value| record.get("line").is_some_and(Value::is_string);
            match (trial.family, record) {
                (Family::Repair, Some(record)) if has_line(&record) => {
                    let tests = trial.oracle.get("tests");
                    let case = json!({ "seen": trial.visible, "record": record, "tests": tests });
                    lines.push_str(&format!("{case}\n"));
                    asked.push(key.clone());
                    self.0.insert(key, false);
                }
                (Family::Repair, _) | (_, None) => drop(self.0.insert(key, false)),
                (Family::Extraction | Family::Tools, Some(record)) => {
                    let right = trial.oracle.get("answer").is_some_and(|answer| same(answer, &record));
                    self.0.insert(key, right);
                }
            }
        }
        let verdicts = if asked.is_empty() { Vec::new() } else { tested(&lines)? };
        if verdicts.len() != asked.len() {
            bail!("{} of {} answers were tested", verdicts.len(), asked.len());
        }
        self.0.extend(asked.into_iter().zip(verdicts));
        Ok(())
    }

    /// Whether this answer is right; one it knows nothing of is not.
    pub(crate) fn is_right(&self, trial: &Trial, text: &str) -> bool {
        self.0.get(&(trial.id.clone(), text.to_owned())).copied().unwrap_or(false)
    }
}

/// Runs the tests nobody may see.
fn tested(lines: &str) -> Result<Vec<bool>> {
    let mut child = Command::new("python3")
        .arg("-B")
        .arg(folder().join("oracle.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the oracle needs python3")?;
    let mut stdin = child.stdin.take().context("the oracle does not listen")?;
    let lines = lines.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let done = child.wait_with_output()?;
    let _read_in_part = writing.join();
    String::from_utf8_lossy(&done.stdout).lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Equal by value: numbers as numbers, texts without regard to white space around them.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| (one - other).abs() < CLOSE)
        }
        (Value::String(one), Value::String(other)) => one.trim() == other.trim(),
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gain::tasks;

    #[test]
    fn the_oracle_takes_every_right_answer_and_no_wrong_one() {
        let trials = tasks::all().unwrap();
        let right = |trial: &Trial| trial.oracle["answer"].to_string();
        let mut cases: Vec<(&Trial, String, bool)> = Vec::new();
        for trial in &trials {
            cases.push((trial, right(trial), true));
            cases.extend(trial.wrong.iter().map(|wrong| (trial, wrong.to_string(), false)));
            cases.push((trial, "no JSON".into(), false));
        }
        let mut oracle = Oracle::default();
        oracle.learn(cases.iter().map(|(trial, text, _)| (*trial, text.as_str()))).unwrap();
        for (trial, text, wanted) in &cases {
            assert_eq!(oracle.is_right(trial, text), *wanted, "{} {text}", trial.id);
        }
    }

    #[test]
    fn numbers_are_compared_by_value_and_missing_members_are_wrong() {
        assert!(same(&json!({ "a": 12.5, "b": 3 }), &json!({ "b": 3.0, "a": 12.50 })));
        assert!(!same(&json!({ "a": 1, "b": 2 }), &json!({ "a": 1 })));
        assert!(!same(&json!({ "a": "1" }), &json!({ "a": 1 })));
    }
}
