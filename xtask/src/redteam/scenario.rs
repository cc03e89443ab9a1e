//! An attack as a file says it: read strictly, so that a typing error is no wall.
//! The form is described in `fixtures/redteam/README.md`.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Longest time a step may ask for.
const SECONDS_MAX: u64 = 60;

/// An attack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// What the attacker does, in a sentence.
    pub(super) attack: String,
    /// The class it belongs to.
    pub(super) class: String,
    /// Why it matters.
    pub(super) why: String,
    /// What a machine must have for it: `cage`, `users`, or the name of a program.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    /// Texts that differ between the two plays: the wall.
    #[serde(default)]
    pub(super) switch: BTreeMap<String, Switch>,
    /// Files that are made before the first step.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// What is done, in order.
    pub(super) step: Vec<Step>,
    /// True when the attack worked.
    pub(super) worked: Question,
    /// Must be true guarded, besides.
    pub(super) held: Option<Question>,
}

/// One text for each play.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switch {
    guarded: String,
    control: String,
}

/// Something that is done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// By whom.
    #[serde(rename = "as")]
    pub(super) user: Option<User>,
    /// In which folder of the world.
    #[serde(rename = "in")]
    pub(super) folder: Option<String>,
    /// The script.
    pub(super) run: String,
    /// Endings that are accepted; any, if there are none.
    #[serde(default)]
    pub(super) exit: Vec<i32>,
    /// What it must print.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// What it must not print.
    #[serde(default)]
    pub(super) lacks: Vec<String>,
    /// In which play; both, if it does not say.
    pub(super) play: Option<Play>,
    /// Longest time.
    #[serde(default = "usual_seconds")]
    pub(super) seconds: u64,
}

/// A script that answers by its ending.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// The script.
    pub(super) run: String,
}

/// With the wall, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Play {
    /// As users have it.
    Guarded,
    /// With the wall taken away.
    Control,
}

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum User {
    /// Whoever plays.
    Root,
    /// An ordinary user, who is attacked.
    Alice,
    /// An ordinary user, who attacks.
    Mallory,
}

fn usual_seconds() -> u64 {
    20
}

impl Scenario {
    /// Reads one. The error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let scenario: Self = toml::from_str(text)?;
        ensure!(!scenario.step.is_empty(), "there is no [[step]]: nothing is done");
        for step in &scenario.step {
            ensure!(
                (1..=SECONDS_MAX).contains(&step.seconds),
                "seconds = {}: from 1 to {SECONDS_MAX}",
                step.seconds
            );
            step.folder.as_deref().map_or(Ok(()), inside)?;
        }
        scenario.files.keys().try_for_each(|path| inside(path))?;
        ensure!(
            scenario.is_switched(),
            "both plays would be the same: a [switch.NAME], or a step with `play = \"control\"`, takes the wall away"
        );
        Ok(scenario)
    }

    /// Whether two users must be played.
    pub(super) fn has_users(&self) -> bool {
        self.needs.iter().any(|need| need == "users")
    }

    /// A text as it stands in one of the plays.
    pub(super) fn fill(&self, text: &str, play: Play) -> String {
        self.switch.iter().fold(text.to_owned(), |text, (name, switch)| {
            let value = match play {
                Play::Guarded => &switch.guarded,
                Play::Control => &switch.control,
            };
            text.replace(&format!("{{{name}}}"), value)
        })
    }

    /// Whether the plays differ: a switch that is used, or a step of one play alone.
    fn is_switched(&self) -> bool {
        let texts: Vec<&String> = self.files.values().chain(self.step.iter().map(|step| &step.run)).collect();
        let is_used = |name: &String| texts.iter().any(|text| text.contains(&format!("{{{name}}}")));
        self.switch.keys().any(is_used) || self.step.iter().any(|step| step.play.is_some())
    }
}

/// A path that stays in the world.
fn inside(path: &str) -> Result<()> {
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(stays) {
        bail!("{path:?} is not a path inside the world");
    }
    Ok(())
}

/// Every scenario of a folder, by name. A folder without one is an error: nothing would be proved.
pub(super) fn read(folder: &Path) -> Result<Vec<(String, Scenario)>> {
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    ensure!(!files.is_empty(), "there is no scenario (NAME.toml) in {}", folder.display());
    let read = |path: &Path| -> Result<(String, Scenario)> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path)?;
        Ok((name, Scenario::parse(&text)?))
    };
    files.iter().map(|path| read(path).with_context(|| path.display().to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
attack = "a"
class = "cage"
why = "w"
[switch.WALL]
guarded = "up"
control = "down"
[[step]]
run = "echo {WALL}"
[worked]
run = "true"
"#;

    #[test]
    fn a_switch_is_one_text_guarded_and_another_in_the_control() {
        let scenario = Scenario::parse(WHOLE).unwrap();
        assert_eq!(scenario.fill("a {WALL} b {OTHER}", Play::Guarded), "a up b {OTHER}");
        assert_eq!(scenario.fill("a {WALL}", Play::Control), "a down");
    }

    #[test]
    fn what_cannot_prove_anything_is_refused() {
        let refused =
            |from: &str, to: &str| Scenario::parse(&WHOLE.replace(from, to)).unwrap_err().to_string();
        assert!(refused("echo {WALL}", "echo").contains("both plays would be the same"));
        assert!(refused("run = \"echo", "seconds = 61\nrun = \"echo").contains("from 1 to 60"));
        assert!(refused("run = \"echo", "in = \"../x\"\nrun = \"echo").contains("not a path inside"));
        assert!(refused("run = \"echo", "wait = 1\nrun = \"echo").contains("unknown field `wait`"));
    }
}
