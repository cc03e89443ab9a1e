//! The planted defects as pieces of work: what is delivered, what should have been, and
//! the task whose checks must tell them apart.
//!
//! Outputs, labels and what test tools printed are those of `bench/defects`, as recorded.
//! What was not recorded is the output as it should be: the program before its mutation,
//! or a record or sentence that fits. Nothing here runs anything.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// A record, a short one and a sentence that are as they should be.
const RECORD: &str = r#"{"number": "R-2041", "date": "2024-03-09", "total": 192.5, "currency": "EUR", "items": [{"name": "Lamp", "price": 40.0}, {"name": "desk", "price": 152.5}]}"#;
const TERM: &str = r#"{"number": "R-2041", "payable_within_days": 14}"#;
const SENTENCE: &str =
    "According to its first source, the bridge was opened in 1931 and carries two lanes [s1].";

/// What can tell that the output is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// The JSON Schema.
    Schema,
    /// The test tool, by what it printed.
    Tests,
    /// Nobody but a judge.
    Judge,
}

/// A piece of work with one known defect.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) level: Level,
    /// What is delivered.
    pub(super) bad: String,
    /// What should have been; the same where the defect is not in the output.
    pub(super) good: String,
    schema: Option<Value>,
    sources: Vec<(String, String)>,
    printed: Option<Printed>,
}

/// What a test tool printed about the defect.
#[derive(Clone, Debug)]
struct Printed {
    tool: String,
    exit: i64,
    output: String,
    errors: String,
}

/// Every case that has an output. The others tell of circumstances alone.
pub(super) fn all(folder: &Path) -> Result<Vec<Case>> {
    let read = |path: &str| {
        std::fs::read_to_string(folder.join(path))
            .with_context(|| format!("cannot read {path} of bench/defects"))
    };
    let recipes: Vec<Value> = serde_json::from_str(&read("cases/code.json")?)?;
    let recorded = read("cases.jsonl")?;
    let mut cases = Vec::new();
    for line in recorded.lines() {
        let raw: Value = serde_json::from_str(line)?;
        let recipe = recipes.iter().find(|recipe| recipe.get("id") == raw.get("id"));
        let case = match (text(&raw, "/given/output"), recipe.and_then(|recipe| text(recipe, "/program"))) {
            (Some(output), _) => Some(written(&raw, output)),
            (None, Some(program)) => {
                recipe.map(|recipe| program_case(&raw, recipe, program, &read)).transpose()?
            }
            (None, None) => None,
        };
        cases.extend(case);
    }
    Ok(cases)
}

/// A text or a record.
fn written(raw: &Value, output: &str) -> Case {
    let schema = raw.pointer("/given/schema").cloned();
    let good = match &schema {
        None => SENTENCE,
        Some(schema) if schema.to_string().contains("payable_within_days") => TERM,
        Some(_) => RECORD,
    };
    let sources = raw.pointer("/given/sources").and_then(Value::as_array).into_iter().flatten();
    let source =
        |source: &Value| Some((format!("{}.txt", text(source, "/id")?), text(source, "/text")?.to_owned()));
    let by_schema = text(raw, "/class") == Some("schema_violation");
    Case {
        id: text(raw, "/id").unwrap_or_default().into(),
        level: if by_schema { Level::Schema } else { Level::Judge },
        bad: output.into(),
        good: good.into(),
        schema,
        sources: sources.filter_map(source).collect(),
        printed: None,
    }
}

/// A program, mutated as it was when the tool was run.
fn program_case(
    raw: &Value,
    recipe: &Value,
    program: &str,
    read: &impl Fn(&str) -> Result<String>,
) -> Result<Case> {
    let file = match program {
        "python" => "ledger.py",
        "js" => "slots.mjs",
        _ => "src/lib.rs",
    };
    let good = read(&format!("fixtures/{program}/{file}"))?;
    let replacements = recipe.get("replace").and_then(Value::as_array).into_iter().flatten();
    let bad = replacements.fold(good.clone(), |program, pair| {
        program.replace(text(pair, "/0").unwrap_or_default(), text(pair, "/1").unwrap_or_default())
    });
    let printed = |path: &str| text(raw, path).unwrap_or_default().to_owned();
    Ok(Case {
        id: text(raw, "/id").unwrap_or_default().into(),
        level: Level::Tests,
        bad,
        good,
        schema: None,
        sources: Vec::new(),
        printed: Some(Printed {
            tool: printed("/printed/argv/0"),
            exit: raw
                .pointer("/printed/exit")
                .and_then(Value::as_i64)
                .context("no exit code was recorded")?,
            output: printed("/printed/output"),
            errors: printed("/printed/errors"),
        }),
    })
}

fn text<'v>(value: &'v Value, at: &str) -> Option<&'v str> {
    value.pointer(at).and_then(Value::as_str)
}

impl Case {
    /// The defect is in the output, so that another output can be right.
    pub(super) fn can_be_mended(&self) -> bool {
        self.bad != self.good
    }

    /// Nothing about it is executed, not even a schema.
    pub(super) fn is_judged_alone(&self) -> bool {
        self.level == Level::Judge && self.schema.is_none()
    }

    /// Writes the workspace and says what the task asks for besides its goal.
    pub(super) fn stage(&self, project: &Path) -> Result<Map<String, Value>> {
        std::fs::create_dir_all(project)?;
        let mut asks = Map::new();
        if let Some(printed) = &self.printed {
            printed.stage(project, self.can_be_mended().then_some(self.good.as_str()))?;
            let check = json!([{ "name": "tests", "command": ["sh", "tests.sh"], "tests": "unit" }]);
            asks.insert("check".into(), check);
        }
        if let Some(schema) = &self.schema {
            asks.insert("output".into(), json!({ "schema": schema }));
        }
        for (name, text) in &self.sources {
            std::fs::write(project.join(name), text)?;
        }
        if !self.sources.is_empty() {
            asks.insert("evidence".into(), self.sources.iter().map(|(name, _)| name.as_str()).collect());
            asks.insert("claims".into(), json!({}));
        }
        if self.level == Level::Judge {
            asks.insert("rubric".into(), json!({}));
        }
        Ok(asks)
    }
}

impl Printed {
    /// The tests: for the program as it should be they pass, where that is known; for any
    /// other they print what the real tool printed about the mutant.
    fn stage(&self, project: &Path, good: Option<&str>) -> Result<()> {
        let passing = match self.tool.as_str() {
            "pytest" => "..\n2 passed in 0.01s\n",
            "cargo" => {
                "\nrunning 1 test\ntest all_of_it ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
            }
            _ => "TAP version 13\nok 1 - all of it\n1..1\n",
        };
        let pass = if good.is_some() { "if cmp -s seen good; then cat passing; exit 0; fi\n" } else { "" };
        let script = format!("cat > seen\n{pass}cat printed\ncat errors >&2\nexit {}\n", self.exit);
        let files = [
            ("good", good.unwrap_or_default()),
            ("passing", passing),
            ("printed", &self.output),
            ("errors", &self.errors),
            ("tests.sh", &script),
        ];
        for (name, text) in files {
            std::fs::write(project.join(name), text)?;
        }
        Ok(())
    }
}
