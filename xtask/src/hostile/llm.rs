//! Hostile replies of model servers against the whole engine, as data.
//!
//! A case is one or more lines of `llm_replies_data.jsonl` with its id, and passes when all
//! of them do: no panic, no hang, no memory without bound, no tool run from a part of a
//! reply, and every fact of the line's oracle. Recipes in words (`llm_replies.jsonl`) are for
//! people: a case that only stands there is not played, and not passed.

mod exact;
mod form;
mod judge;
mod part;
mod requests;
mod server;
mod stage;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use crate::{Options, Score, cases};
use form::Line;
use stage::{Outcome, play};

/// What the lines of a set are called, beside the file of its words.
const DATA: &str = "llm_replies_data.jsonl";

/// Runs every case of the file of words that stands in the data beside it, and says which do not.
pub(crate) fn run(words: &Path, options: Options) -> Result<Score> {
    let data = words.with_file_name(DATA);
    let mut score = if data.exists() { run_data(&data, options)? } else { Score::default() };
    let lines = if data.exists() { lines(&data)? } else { Vec::new() };
    for (id, _) in cases(words)? {
        if !lines.iter().any(|line| line.id == id) {
            score.add(
                &id,
                Err(anyhow::anyhow!("it stands in words only, and was not played: {DATA} lacks it")),
            );
        }
    }
    Ok(score)
}

/// Runs every case of a file of lines.
pub(crate) fn run_data(file: &Path, _options: Options) -> Result<Score> {
    let mut by_id: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in lines(file)? {
        by_id.entry(line.id.clone()).or_default().push(line);
    }
    let mut score = Score::default();
    for (id, lines) in by_id {
        let mut outcome = Ok(());
        for line in lines {
            let name = line.name();
            let played = check(&Arc::new(line), &mut score).with_context(|| name);
            outcome = outcome.and(played);
        }
        score.add(&id, outcome);
    }
    Ok(score)
}

fn lines(file: &Path) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut read: Vec<Line> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line = Line::read(line).with_context(|| format!("line {}", number + 1))?;
        let twice = read.iter().any(|known| known.id == line.id && known.variant == line.variant);
        ensure!(!twice, "line {}: {} stands twice", number + 1, line.name());
        read.push(line);
    }
    Ok(read)
}

fn check(line: &Arc<Line>, score: &mut Score) -> Result<()> {
    for streaming in line.streams() {
        let way = if streaming { "streamed" } else { "whole" };
        let outcome = play(line, streaming).with_context(|| way)?;
        if let Some(encoding) = line.setup.skip_if_accepts.as_ref().filter(|named| accepts(&outcome, named)) {
            score.figures.push((line.name(), format!("says nothing about a client that accepts {encoding}")));
            continue;
        }
        judge::judge(line, &outcome).with_context(|| format!("{way}: {}", told(&outcome)))?;
        if line.oracle.same_twice {
            let again = play(line, streaming).with_context(|| way)?;
            let ran =
                |outcome: &Outcome| outcome.ran.iter().map(|(_, args)| args.clone()).collect::<Vec<_>>();
            ensure!(ran(&again) == ran(&outcome), "{way}: played twice, something else ran");
        }
        score.figures.extend(judge::soft(line, &outcome).map(|soft| (line.name(), soft)));
    }
    Ok(())
}

/// Whether the client asked for this encoding.
fn accepts(outcome: &Outcome, encoding: &str) -> bool {
    let heads = outcome.asked.iter().flat_map(|asked| asked.head.lines());
    let mut values = heads.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("accept-encoding").then_some(value)
    });
    let named = |word: &str| word.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(encoding);
    values.any(|value| value.split(',').any(named))
}

fn told(outcome: &Outcome) -> String {
    let end = match (&outcome.refused, &outcome.ending) {
        (Some(refused), _) => refused.clone(),
        (None, Some(ending)) => format!("{ending:?}").chars().take(300).collect(),
        (None, None) => "not ended".to_owned(),
    };
    format!("{} requests, {} calls, {end}", outcome.asked.len(), outcome.ran.len())
}

#[cfg(test)]
mod tests;
