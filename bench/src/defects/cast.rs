//! Who works on a planted defect: a model that delivers it, mends it in some way or does
//! not, and a judge that is honest or is not. One model plays both, by what it is asked for.

use std::sync::Arc;

use async_trait::async_trait;
use bowline::ModelSource;
use bowline::core::budget::Price;
use bowline::core::event::Purpose;
use bowline::core::message::{Stop, Usage};
use bowline::core::task::Task;
use bowline::models::{Answer, Model, ModelError, OpenModelError, Request, Said, Watcher};
use serde_json::{Value, json};

use super::case::Case;

/// What the model does about the defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// Mends it in the first round.
    Mends,
    /// Delivers the same twice more, then mends it.
    MendsLate,
    /// Delivers the same for ever.
    NeverMends,
    /// Delivers something else that is wrong, each time.
    Worsens,
    /// Says that it is done, and nothing else.
    OnlyTalks,
    /// Delivers nothing at all.
    SaysNothing,
}

/// What the judge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judge {
    /// The truth.
    Honest,
    /// That everything is fine.
    Credulous,
    /// Something that is no answer.
    Rambles,
    /// Now this, now that.
    Fickle,
}

/// Tokens of every call.
pub(super) const USAGE: Usage = Usage { input: 900, output: 100, cached: 0, reasoning: 0 };

/// The cast of one run.
#[derive(Clone)]
pub(super) struct Cast {
    pub(super) case: Arc<Case>,
    pub(super) worker: Worker,
    pub(super) judge: Judge,
}

impl ModelSource for Cast {
    fn open(&self, _task: &Task, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Model for Cast {
    async fn call(&self, request: Request, _watch: &dyn Watcher) -> Result<Answer, ModelError> {
        let text = match &request.purpose {
            Purpose::Act(subtask) => self.work(subtask.as_str(), &request),
            Purpose::Critique(_) => critique(self.judge),
            Purpose::Judge(_) => self.judge(&request),
            Purpose::Plan(_) => String::new(),
        };
        Ok(Answer {
            stop: Stop::End,
            usage: USAGE,
            micros: 0,
            text,
            calls: Vec::new(),
            likelihood: None,
            claim: None,
        })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }
}

impl Cast {
    fn work(&self, subtask: &str, request: &Request) -> String {
        let Some(round) = subtask.strip_prefix("repair-").and_then(|round| round.parse::<u32>().ok()) else {
            return self.case.bad.clone();
        };
        let asked = last_words(request);
        let again = || part(&self.case.bad, &self.case.bad, &asked);
        match self.worker {
            Worker::MendsLate if round < 3 => again(),
            Worker::Mends | Worker::MendsLate => part(&self.case.bad, &self.case.good, &asked),
            Worker::NeverMends => again(),
            Worker::Worsens => format!("{}\n{{]{round}", again()),
            Worker::OnlyTalks => "All tests pass now. The work is done and was checked.".into(),
            Worker::SaysNothing => String::new(),
        }
    }

    fn judge(&self, request: &Request) -> String {
        let is_good = asked_about(request).contains(self.case.good.trim());
        let (says_yes, is_answer) = match self.judge {
            Judge::Honest => (is_good, true),
            Judge::Credulous => (true, true),
            Judge::Rambles => (true, false),
            Judge::Fickle => (request.step.is_multiple_of(2), true),
        };
        if !is_answer {
            return "Looks good to me! I would give it full marks.".into();
        }
        let schema = request.schema.clone().unwrap_or_default();
        let names = schema.pointer("/properties/scores/items/properties/name/enum").and_then(Value::as_array);
        match names {
            Some(names) => scores(names, says_yes),
            None => claims(says_yes),
        }
    }
}

fn scores(names: &[Value], says_yes: bool) -> String {
    let score = if says_yes { 1.0 } else { 0.2 };
    let scores = names.iter().map(|name| json!({ "name": name, "score": score, "why": "as it is" }));
    json!({ "scores": scores.collect::<Vec<_>>() }).to_string()
}

fn claims(says_yes: bool) -> String {
    let verdict = if says_yes { "entailed" } else { "contradicted" };
    json!({ "claims": [{ "claim": "what it states", "verdict": verdict, "source": "s1.txt" }] }).to_string()
}

fn critique(judge: Judge) -> String {
    if judge == Judge::Rambles {
        return "Something is off, I think.".into();
    }
    json!({ "summary": "it is not as it should be", "defects": [{ "what": "wrong", "severity": "major" }] })
        .to_string()
}

/// Everything the model was told.
fn asked_about(request: &Request) -> String {
    let words = request.messages.iter().map(|said| match said {
        Said::System(text) | Said::User(text) => text.as_str(),
        Said::Assistant { .. } | Said::ToolResult { .. } => "",
    });
    words.collect::<Vec<_>>().join("\n")
}

fn last_words(request: &Request) -> String {
    let last = request.messages.iter().next_back();
    last.map_or(String::new(), |said| match said {
        Said::System(text) | Said::User(text) | Said::Assistant { text, .. } => text.clone(),
        Said::ToolResult { output, .. } => output.clone(),
    })
}

/// What stands in `new` where a repair of `old` was asked for, or all of it.
fn part(old: &str, new: &str, asked: &str) -> String {
    let Some((_, wanted)) = asked.rsplit_once("Mend what is wrong in ") else { return new.to_owned() };
    let wanted = wanted.split(". Reply with").next().unwrap_or_default();
    if let Some(at) = wanted.strip_prefix("the value at ") {
        let value = serde_json::from_str::<Value>(new).ok().and_then(|new| new.pointer(at).cloned());
        return value.unwrap_or(Value::Null).to_string();
    }
    let bounds = wanted.strip_prefix("lines ").and_then(|lines| lines.split_once(" to "));
    let bounds = bounds.and_then(|(from, to)| Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?)));
    let Some((from, to)) = bounds else { return new.to_owned() };
    let behind = old.lines().count().saturating_sub(to);
    let (lines, first) = (new.lines().count(), from.saturating_sub(1));
    let kept = lines.saturating_sub(behind).saturating_sub(first);
    new.lines().skip(first).take(kept).map(|line| format!("{line}\n")).collect()
}
