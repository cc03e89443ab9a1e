//! The tasks of the measure: their data, and the task a run gets. What only the oracle may
//! know never reaches a run: not its task, not its workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bowline::core::task::{self, Task};
use serde_json::{Value, json};

/// Rounds of repair a run may want; the measure stops it by calls, long before.
const REPAIRS: u32 = 40;
/// Longest answer, in tokens.
const ANSWER_TOKENS: u32 = 80;

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    /// A text becomes a record.
    Extraction,
    /// A request becomes a call of one of several tools.
    Tools,
    /// A wrong line of a function is mended.
    Repair,
}

impl Family {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Extraction, Self::Tools, Self::Repair];

    /// As the data has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Extraction => "extraction",
            Self::Tools => "tools",
            Self::Repair => "repair",
        }
    }
}

/// One task of the measure.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// Its name: family and kind.
    pub(crate) id: String,
    /// What kind of work it is.
    pub(crate) family: Family,
    /// It was looked at while prompts, checks and settings were made.
    pub(crate) tuning: bool,
    goal: String,
    schema: Value,
    /// What the checks of the loop read.
    pub(crate) visible: Value,
    /// What they do not.
    pub(crate) oracle: Value,
    /// Answers that are wrong.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests hold them against the oracle"))]
    pub(crate) wrong: Vec<Value>,
}

/// Where the data is.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("loop-gain")
}

/// Reads all tasks.
pub(crate) fn all() -> Result<Vec<Trial>> {
    let path = folder().join("tasks.jsonl");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines().map(|line| trial(line).with_context(|| format!("not a task: {line}"))).collect()
}

fn trial(line: &str) -> Result<Trial> {
    let value: Value = serde_json::from_str(line)?;
    let of = |key: &str| value.get(key).cloned().with_context(|| format!("{key} is missing"));
    let text = |key: &str| of(key)?.as_str().map(str::to_owned).with_context(|| format!("{key} is no text"));
    let family = text("family")?;
    Ok(Trial {
        id: text("id")?,
        family: Family::ALL.into_iter().find(|known| known.word() == family).context("an unknown family")?,
        tuning: text("split")? == "tuning",
        goal: text("goal")?,
        schema: of("schema")?,
        visible: of("visible")?,
        oracle: of("oracle")?,
        wrong: of("wrong")?.as_array().cloned().unwrap_or_default(),
    })
}

impl Trial {
    /// Makes the workspace of its runs: the checks, and what they may know.
    pub(crate) fn furnish(&self, below: &Path) -> Result<PathBuf> {
        let workspace = below.join(self.id.replace('/', "-"));
        std::fs::create_dir_all(&workspace)?;
        std::fs::copy(folder().join("check.py"), workspace.join("check.py"))?;
        std::fs::write(workspace.join("visible.json"), self.visible.to_string())?;
        Ok(workspace)
    }

    /// The task of a run: so many other answers must not hold.
    pub(crate) fn task(&self, model: &str, workspace: &Path, rivals: u32) -> Result<Task> {
        let mut raw = json!({
            "goal": self.goal,
            "model": model,
            "repair": "from-scratch",
            "review": "when-unchecked",
            "sandbox": "if-available",
            "workspace": { "path": workspace.display().to_string() },
            "output": { "schema": self.schema },
            "check": [{ "name": "holds", "command": ["python3", "check.py"], "timeout_seconds": 20 }],
            "limits": { "repairs": REPAIRS, "repair_percent": 100, "output_tokens": ANSWER_TOKENS },
        });
        if let (true, Some(table)) = (rivals > 0, raw.as_object_mut()) {
            table.insert("consistency".into(), json!({ "rivals": rivals }));
        }
        task::parse(&raw).context("a task of the measure is bad")
    }

    /// What its runs depend on, to tell results of other data apart.
    pub(crate) fn told(&self) -> String {
        format!("{}\n{}\n{}", self.goal, self.schema, self.visible)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use bowline::core::quality::CheckOutcome;
    use bowline::tools::check::schema_check;

    use super::*;

    #[test]
    fn there_are_thirty_tasks_of_each_family_and_half_of_each_is_held_out() {
        let trials = all().unwrap();
        for family in Family::ALL {
            let of: Vec<&Trial> = trials.iter().filter(|trial| trial.family == family).collect();
            assert!(of.len() >= 30, "{family:?}");
            assert_eq!(of.iter().filter(|trial| trial.tuning).count() * 2, of.len(), "{family:?}");
        }
        let names: BTreeSet<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
        let goals: BTreeSet<&str> = trials.iter().map(|trial| trial.goal.as_str()).collect();
        assert_eq!((names.len(), goals.len()), (trials.len(), trials.len()));
    }

    #[test]
    fn every_right_answer_passes_the_checks_and_the_schema_of_its_task() {
        let below = tempfile::tempdir().unwrap();
        for trial in all().unwrap() {
            let answer = trial.oracle["answer"].to_string();
            assert_eq!(schema_check(&trial.schema, &answer), CheckOutcome::Passed, "{}", trial.id);
            let workspace = trial.furnish(below.path()).unwrap();
            let mut child = Command::new("python3")
                .args(["-B", "check.py"])
                .current_dir(&workspace)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
            let done = child.wait_with_output().unwrap();
            assert!(done.status.success(), "{}: {}", trial.id, String::from_utf8_lossy(&done.stdout));
        }
    }

    #[test]
    fn no_task_and_no_workspace_tells_what_only_the_oracle_may_know() {
        let below = tempfile::tempdir().unwrap();
        for trial in all().unwrap() {
            let workspace = trial.furnish(below.path()).unwrap();
            let mut names: Vec<_> =
                std::fs::read_dir(&workspace).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, ["check.py", "visible.json"]);
            let shown = serde_json::to_string(&trial.task("scripted:x", &workspace, 2).unwrap()).unwrap();
            let hidden = trial.oracle["tests"].as_array().cloned().unwrap_or_default();
            let seen = trial.visible["tests"].as_array().cloned().unwrap_or_default();
            for test in hidden.iter().filter(|test| !seen.contains(test)) {
                assert!(!shown.contains(test.as_str().unwrap()), "{} shows {test}", trial.id);
            }
        }
    }
}
