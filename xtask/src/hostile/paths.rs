//! Hostile paths against the file tools and the path guard below them.
//!
//! Each case gets a fresh tree, made by the `fixture_paths.sh` beside the set. The
//! real tools are called as a model calls them; deleting and renaming go to the
//! [`Workspace`] that all tools use, because it allows more than they do. Whatever the
//! verdict, nothing outside may change and no secret may be in an answer.

mod race;
mod tree;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bowline_core::event::Outcome;
use bowline_core::id::{ActionId, RunId};
use bowline_core::input::Returned;
use bowline_core::provenance::Digest;
use bowline_core::task::ToolChoice;
use bowline_tools::{CallContext, FILE_BYTES_MAX, PathError, Reach, Registry, Sandbox, Workspace};
use serde::Deserialize;
use serde_json::json;

use crate::{Options, Score, cases};
use race::Raced;
use tree::Tree;

/// A bounded answer comes within this time; where others keep the machine busy, at the second try.
const BOUNDED: Duration = Duration::from_secs(1);

/// What an answer from outside would say.
const SECRETS: [&str; 2] = ["secret-outside", "secret-evil"];

/// The marker of a write that went through.
const WRITTEN: &str = "written by the case";

/// One path and what should become of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    op: Op,
    input: String,
    expect: Verdict,
    also_ok: Option<Verdict>,
    assert_same: Option<String>,
    iterations: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Read,
    Write,
    List,
    Delete,
    Rename,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Allow,
    Deny,
    #[serde(rename = "notfound")]
    NotFound,
    Limit,
    NoEscape,
}

/// Runs every case of the file.
pub(crate) fn run(file: &Path, options: Options) -> Result<Score> {
    let script = file.with_file_name("fixture_paths.sh");
    ensure!(script.is_file(), "{} is missing: it makes the files that the cases name", script.display());
    let mut score = Score::default();
    for (id, value) in cases(file)? {
        let outcome = serde_json::from_value(value)
            .context("the case cannot be read")
            .and_then(|case: Case| case.check(&script, options.rounds));
        if let Ok(Some(raced)) = &outcome {
            score.figures.push((id.clone(), raced.to_string()));
        }
        score.add(&id, outcome.map(drop));
    }
    Ok(score)
}

impl Case {
    /// The figures, if it was a race.
    fn check(&self, script: &Path, rounds: Option<u32>) -> Result<Option<Raced>> {
        let tree = Tree::make(script, self.input.contains("many"))?;
        let hands = Hands::new(&tree)?;
        let input = tree.fill_in(&self.input);
        let mut raced = None;
        match self.expect {
            Verdict::NoEscape => raced = Some(race::run(self, &tree, &hands, rounds)?),
            Verdict::Limit => self.bounded(&hands, &input)?,
            Verdict::Allow | Verdict::Deny | Verdict::NotFound => {
                let (verdict, text) = hands.call(self.op, &input)?;
                ensure!(
                    verdict == self.expect || Some(verdict) == self.also_ok,
                    "{verdict:?} instead of {:?}: {text}",
                    self.expect
                );
                clean(&text)?;
                // An edit of the same file has to get the same answer.
                if self.op == Op::Write && verdict != Verdict::Allow {
                    ensure!(hands.edit(&input)?.0 != Verdict::Allow, "edit_file does it");
                }
            }
        }
        if self.op == Op::Write && self.expect == Verdict::Allow {
            let (_, text) = hands.call(Op::Read, &input)?;
            ensure!(text == WRITTEN, "what was written is not there: {text}");
        }
        tree.is_untouched()?;
        tree.is_same(self.assert_same.as_deref())?;
        Ok(raced)
    }

    /// An answer within time and size, whether it is a part or a refusal.
    fn bounded(&self, hands: &Hands, input: &str) -> Result<()> {
        let mut tried = timed(|| hands.call(self.op, input));
        if tried.1 >= BOUNDED {
            tried = timed(|| hands.call(self.op, input));
        }
        let (answer, took) = tried;
        let (verdict, text) = answer?;
        ensure!(matches!(verdict, Verdict::Limit | Verdict::Allow), "{verdict:?}: {text}");
        ensure!(text.len() as u64 <= FILE_BYTES_MAX, "{} bytes were answered", text.len());
        ensure!(took < BOUNDED, "took {took:?}");
        clean(&text)
    }
}

fn clean(text: &str) -> Result<()> {
    let told = SECRETS.iter().find(|secret| text.contains(*secret));
    ensure!(told.is_none(), "the answer holds {told:?}");
    Ok(())
}

/// The tools on one workspace.
struct Hands {
    registry: Registry,
    workspace: Workspace,
    runtime: tokio::runtime::Runtime,
}

impl Hands {
    fn new(tree: &Tree) -> Result<Self> {
        let choice = |name: &str| ToolChoice {
            name: name.to_owned(),
            command: None,
            consent: None,
            repeat: None,
            timeout_ms: None,
            effect: None,
            invocation: Default::default(),
            undo: None,
            substitute: None,
        };
        let registry = Registry::new(&["read_file", "write_file", "edit_file", "list_files"].map(choice))?;
        let workspace = Workspace::open(&tree.root())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Self { registry, workspace, runtime })
    }

    fn call(&self, op: Op, input: &str) -> Result<(Verdict, String)> {
        match op {
            Op::Read => self.tool("read_file", &json!({"path": input})),
            Op::Write => self.tool("write_file", &json!({"path": input, "content": WRITTEN})),
            Op::List => self.tool("list_files", &json!({"path": input})),
            Op::Delete => Ok(judged(self.delete(input))),
            Op::Rename => {
                let (from, to) = input.split_once(" -> ").context("no target")?;
                Ok(judged(self.rename(from, to)))
            }
        }
    }

    fn edit(&self, input: &str) -> Result<(Verdict, String)> {
        self.tool("edit_file", &json!({"path": input, "old": "s", "new": "x"}))
    }

    fn delete(&self, path: &str) -> Result<(), PathError> {
        self.workspace.remove(&self.workspace.resolve(path)?)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), PathError> {
        self.workspace.rename(&self.workspace.resolve(from)?, &self.workspace.resolve(to)?)
    }

    /// As the runtime does: examined, prepared, made.
    fn tool(&self, name: &str, args: &serde_json::Value) -> Result<(Verdict, String)> {
        let (tool, args) = match self.registry.examine(name, &args.to_string()) {
            Ok(examined) => examined,
            Err(problem) => return Ok((Verdict::Deny, format!("{problem:?}"))),
        };
        let ctx = CallContext {
            workspace: self.workspace.clone(),
            sandbox: Sandbox::Off,
            secrets: Default::default(),
            reach: Reach::nothing(),
            inference: Default::default(),
            run: RunId::parse("hostile")?,
            action: ActionId { step: 1, index: 0 },
            key: Digest::of(b"hostile"),
            epoch: 1,
            attempt: 1,
            image: None,
            timeout: Duration::from_secs(60),
        };
        self.runtime.block_on(async {
            if let Err(text) = tool.prepare(&args, &ctx).await {
                return Ok((refusal(&text), text));
            }
            let output = tool.run(args, &ctx).await;
            match output.how {
                Returned::Known(Outcome::Ok) => Ok((Verdict::Allow, output.text)),
                Returned::Known(Outcome::Error) => Ok((refusal(&output.text), output.text)),
                other => bail!("{name} ended with {other:?}: {}", output.text),
            }
        })
    }
}

fn judged(done: Result<(), PathError>) -> (Verdict, String) {
    match done {
        Ok(()) => (Verdict::Allow, String::new()),
        Err(error) => (refusal(&error.to_string()), error.to_string()),
    }
}

/// What a refusal says, in the words the model reads.
fn refusal(text: &str) -> Verdict {
    if text.starts_with("there is no ") || text.ends_with(" is a file, not a folder") {
        Verdict::NotFound
    } else if text.contains(" has more than ") {
        Verdict::Limit
    } else {
        Verdict::Deny
    }
}

#[expect(clippy::disallowed_methods, reason = "how long something took is no decision of a run")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

#[cfg(test)]
mod tests;
