//! How a home of the past is made and finished, as a file says it: read strictly, so that a
//! typing error is no fixture. The form is described in `fixtures/past/README.md`.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Longest time of a step.
const SECONDS_MAX: u64 = 120;

/// A home: what is done to make it, and what finishes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where its runs stand, in a sentence.
    pub what: String,
    /// Programs a machine must have to record it.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The last event each run has when it is left, the first run first.
    #[serde(default)]
    pub left_at: Vec<String>,
    /// Whether each run gets a checkpoint of where it is left. Without, the home stays as the
    /// program left it, with the log of its store.
    #[serde(default = "yes")]
    pub checkpoint: bool,
    /// Files that are made before the first step. `{WORLD}` is where they lie.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What leads to the home.
    pub record: Vec<Step>,
    /// Files that are made, or made anew, before it is finished.
    #[serde(default)]
    pub later: BTreeMap<String, String>,
    /// What leads every run to its ending. Without, nothing is left open, and only journals
    /// are kept.
    #[serde(default)]
    pub finish: Vec<Step>,
}

/// Something that is done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A script for sh, in the world; `bowline` is on its path.
    pub run: String,
    /// Killed, with all it started, once a line it printed has this in it.
    pub kill: Option<String>,
    /// In the so-many-th such line.
    #[serde(default = "first")]
    pub nth: usize,
    /// Endings that are accepted; only 0, if none is named. One that is killed has none.
    #[serde(default)]
    pub exit: Vec<i32>,
    /// What it must print, on either stream.
    #[serde(default)]
    pub says: Vec<String>,
    /// Longest time.
    #[serde(default = "usual_seconds")]
    pub seconds: u64,
}

fn yes() -> bool {
    true
}

fn first() -> usize {
    1
}

fn usual_seconds() -> u64 {
    30
}

impl Scenario {
    /// Reads a scenario; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        let scenario: Self = toml::from_str(text)?;
        ensure!(!scenario.record.is_empty(), "there is no [[record]]: nothing is recorded");
        ensure!(
            scenario.is_open() || scenario.left_at.is_empty(),
            "`left_at` needs a [[finish]]: a home is kept to be finished"
        );
        for step in scenario.record.iter().chain(&scenario.finish) {
            let seconds = step.seconds;
            ensure!((1..=SECONDS_MAX).contains(&seconds), "seconds = {seconds}: from 1 to {SECONDS_MAX}");
            ensure!(step.nth > 0, "nth = 0: lines are counted from 1");
            ensure!(
                step.kill.is_none() || step.exit.is_empty(),
                "a step that is killed has no exit code: leave `exit` out"
            );
        }
        scenario.files.keys().chain(scenario.later.keys()).try_for_each(|path| inside(path))?;
        Ok(scenario)
    }

    /// Whether it leaves something behind that is not finished.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.finish.is_empty()
    }
}

/// A path that stays in the world.
fn inside(path: &str) -> Result<()> {
    let stays = |part| matches!(part, Component::Normal(_));
    if path.is_empty() || !Path::new(path).components().all(stays) {
        bail!("{path:?} is not a path inside the world");
    }
    Ok(())
}

/// Every scenario of a folder, by name, with its text.
pub(super) fn read(folder: &Path) -> Result<Vec<(String, String)>> {
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    ensure!(!files.is_empty(), "there is no scenario (NAME.toml) in {}", folder.display());
    let read = |path: &Path| -> Result<(String, String)> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path)?;
        Scenario::parse(&text)?;
        Ok((name, text))
    };
    files.iter().map(|path| read(path).with_context(|| path.display().to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "what = \"w\"\nleft_at = [\"submitted\"]\n[[record]]\nrun = \"a\"\n[[finish]]\nrun = \"b\"\n";

    #[test]
    fn a_scenario_is_read_with_what_it_leaves_out() {
        let scenario = Scenario::parse(WHOLE).unwrap();
        assert!(scenario.is_open() && scenario.checkpoint);
        assert_eq!((scenario.record[0].nth, scenario.finish[0].seconds), (1, 30));
    }

    #[test]
    fn what_makes_no_fixture_is_refused() {
        let refused = |from: &str, to: &str| {
            let text = WHOLE.replace(from, to);
            assert_ne!(text, WHOLE);
            Scenario::parse(&text).unwrap_err().to_string()
        };
        assert!(refused("[[finish]]\nrun = \"b\"\n", "").contains("`left_at` needs"));
        assert!(refused("run = \"a\"", "run = \"a\"\nkill = \"x\"\nexit = [1]").contains("no exit code"));
        assert!(refused("run = \"a\"", "run = \"a\"\nseconds = 500").contains("from 1 to 120"));
        assert!(refused("run = \"a\"", "run = \"a\"\nnth = 0").contains("counted from 1"));
        assert!(refused("what", "files = { \"../x\" = \"\" }\nwhat").contains("not a path inside"));
        assert!(refused("run = \"a\"", "rum = \"a\"").contains("unknown field `rum`"));
    }
}
