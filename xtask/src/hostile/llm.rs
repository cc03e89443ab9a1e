//! Hostile replies of model servers against the whole engine.
//!
//! A case is a recipe in words; [`recipe`] makes servers of it, in every format the words
//! can be said in, streamed and whole. A case passes when every one of them goes as it
//! should: no panic, no hang, no memory without bound, and no tool run from a part of a
//! reply.

mod dialect;
mod recipe;
mod stage;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use bowline_core::event::{Ending, FailReason, HaltReason};
use serde::Deserialize;

use crate::{Options, Score, cases};
use stage::{HOST, KEY, Outcome, Scene, play};

#[derive(Deserialize)]
struct Case {
    input: String,
    expect: String,
}

/// Attempts at a step, unless a scene says otherwise.
const ATTEMPTS: usize = 3;

/// Requests after which a run goes in circles.
const CIRCLES: usize = 40;

/// Runs every case of the file.
pub(crate) fn run(file: &Path, _options: Options) -> Result<Score> {
    let mut score = Score::default();
    for (id, value) in cases(file)? {
        let outcome = serde_json::from_value(value)
            .context("the case cannot be read")
            .and_then(|case: Case| check(&case).map(drop));
        score.add(&id, outcome);
    }
    Ok(score)
}

/// How many scenes of a case went as they should; the first that did not is the error.
fn check(case: &Case) -> Result<usize> {
    let scenes = recipe::scenes(&case.input).context("no recipe for this")?;
    ensure!(!scenes.is_empty(), "no scene of it can be played");
    for scene in &scenes {
        let name = format!(
            "{} {}",
            scene.dialect.format.word(),
            if scene.dialect.streaming { "streamed" } else { "whole" }
        );
        let outcome = play(scene).with_context(|| name.clone())?;
        judge(&case.expect, scene, &outcome).with_context(|| format!("{name}: {}", told(&outcome)))?;
    }
    Ok(scenes.len())
}

fn judge(expect: &str, scene: &Scene, outcome: &Outcome) -> Result<()> {
    ensure!(!outcome.kept.contains(KEY) && !outcome.shown.contains(KEY), "the key was kept or shown");
    let strangers = outcome.seen.iter().any(|seen| !seen.head.contains(HOST));
    ensure!(!strangers, "another host was asked");
    let requests = outcome.seen.len();
    match expect {
        "retry_then_fail" => {
            let wanted = scene.requests.unwrap_or(ATTEMPTS);
            ensure!(requests == wanted, "{requests} requests instead of {wanted}");
            ensure!(is_unavailable(outcome), "it did not end for want of a model");
            ensure!(outcome.ran.is_empty(), "a tool ran");
        }
        "fail_at_once" => {
            ensure!(requests <= 1 && is_unavailable(outcome), "{requests} requests, or another end");
            ensure!(outcome.ran.is_empty(), "a tool ran");
        }
        "handled" => ensure!(is_committed(outcome), "it was not committed"),
        "tool_error_to_model" => {
            ensure!(outcome.ran.is_empty(), "the tool ran");
            let refusals = outcome.refusals();
            let first = refusals.first().context("the call was not refused")?;
            ensure!(is_told(outcome, first), "the model was not told: {first}");
            ensure!(is_committed(outcome), "the run did not go on");
        }
        "circuit_break" => {
            ensure!(!is_committed(outcome), "it was committed");
            ensure!(outcome.refused.is_some() || is_stopped(outcome), "nothing stopped it");
            ensure!(requests < CIRCLES, "{requests} requests");
        }
        other => bail!("nobody knows what {other:?} asks for"),
    }
    scene.also.as_ref().map_or(Ok(()), |also| also(outcome))
}

fn is_committed(outcome: &Outcome) -> bool {
    matches!(outcome.ending, Some(Ending::Committed { .. }))
}

fn is_unavailable(outcome: &Outcome) -> bool {
    matches!(&outcome.ending, Some(Ending::Halted { why: HaltReason::ModelUnavailable { .. }, .. }))
}

/// A limit or a guard, not an accident.
fn is_stopped(outcome: &Outcome) -> bool {
    match &outcome.ending {
        Some(Ending::Halted { why, .. }) => !matches!(why, HaltReason::ModelUnavailable { .. }),
        Some(Ending::Failed { why, .. }) => matches!(why, FailReason::Truncated { .. }),
        Some(Ending::Committed { .. }) | None => false,
    }
}

/// The refusal stands in a later request, whatever it is escaped as.
fn is_told(outcome: &Outcome, message: &str) -> bool {
    let start: String =
        message.chars().take_while(|c| c.is_ascii_alphanumeric() || " ,'.:".contains(*c)).collect();
    let start = start.trim();
    start.len() >= 8 && outcome.seen.iter().skip(1).any(|seen| seen.body.contains(start))
}

fn told(outcome: &Outcome) -> String {
    let end = match (&outcome.refused, &outcome.ending) {
        (Some(refused), _) => refused.clone(),
        (None, Some(ending)) => format!("{ending:?}").chars().take(300).collect(),
        (None, None) => "not ended".to_owned(),
    };
    format!("{} requests, {} calls, {end}", outcome.seen.len(), outcome.ran.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases that are kept here, of the same classes as those that are given.
    #[test]
    fn every_reply_of_our_own_set_goes_as_it_should() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hostile/llm_replies.jsonl");
        let score = run(&file, Options::default()).unwrap();
        assert_eq!(score.failed, Vec::new());
        assert!(score.passed >= 30, "{}", score.passed);
    }

    #[test]
    fn a_case_that_goes_otherwise_fails() {
        let case = |input: &str, expect: &str| Case { input: input.to_owned(), expect: expect.to_owned() };
        assert!(check(&case("body is empty", "handled")).is_err());
        assert!(check(&case("call and end-of-turn in one reply", "retry_then_fail")).is_err());
        assert!(check(&case("500 ten times then ok", "circuit_break")).is_err());
        assert!(check(&case("what nobody ever thought of", "handled")).is_err());
    }
}
