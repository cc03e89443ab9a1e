//! The simulated model. What it answers depends on the conversation alone, so a
//! request that is repeated after a crash gets the same answer; whether it
//! answers at all depends on the step.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline::ModelSource;
use bowline_core::budget::Price;
use bowline_core::event::{Purpose, StepTrouble};
use bowline_core::message::{Stop, Usage};
use bowline_core::task::Task;
use bowline_models::{Answer, Model, ModelError, OpenModelError, Request, Said, SaidCall, Watcher};
use serde_json::json;

use super::plan::Point;
use super::state::Alive;
use crate::chance::{Draw, keyed};

/// Longer than any deadline in this world.
const STALL: Duration = Duration::from_secs(3600);

/// A model of one life.
#[derive(Clone)]
pub(super) struct SimModel(pub(super) Arc<Alive>);

impl ModelSource for SimModel {
    fn open(&self, _task: &Task, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl Model for SimModel {
    async fn call(&self, request: Request, _watch: &dyn Watcher) -> Result<Answer, ModelError> {
        self.0.takes(5, 1500).await;
        self.trouble(&request).await?;
        self.0.pass(Point::Model).await;
        Ok(answer(self.0.world.seed(), self.0.world.plan.writes_files, &request))
    }

    fn price(&self) -> Option<Price> {
        Some(Price { input: 2, output: 10, ..Price::FREE })
    }
}

impl SimModel {
    async fn trouble(&self, request: &Request) -> Result<(), ModelError> {
        let step = request.step.to_be_bytes();
        let mut luck =
            keyed(self.0.world.seed(), &[b"trouble", request.run.as_str().as_bytes(), &step]).below(1000);
        if !self.0.life.faulty {
            luck = 999;
        }
        let error = |kind, message: &str, retry_after_ms| {
            Err(ModelError { kind, message: message.into(), retry_after_ms })
        };
        let note = |what| self.0.world.lock().count(what, request.run.as_str());
        match luck {
            0..40 => {
                note("model error");
                error(StepTrouble::Transient, "overloaded", None)
            }
            40..60 => {
                note("model rate limit");
                error(StepTrouble::RateLimited, "slow down", Some(1000 + luck * 100))
            }
            60..62 => {
                note("model refuses for good");
                error(StepTrouble::Permanent, "no such model", None)
            }
            62..72 => {
                note("model stalls");
                tokio::time::sleep(STALL).await;
                Ok(())
            }
            72..76 => {
                note("model code panics");
                // Not `panic!`: nothing is to be printed about a fault that is meant.
                std::panic::resume_unwind(Box::new("simulated"))
            }
            _ => Ok(()),
        }
    }
}

/// What the model says to this conversation.
fn answer(seed: u64, writes_files: bool, request: &Request) -> Answer {
    let purpose = match &request.purpose {
        Purpose::Act(id) => id.to_string(),
        Purpose::Critique(round) => format!("critique {round}"),
        Purpose::Plan(round) => format!("plan {round}"),
        Purpose::Judge(asked) => format!("judge {asked:?}"),
    };
    let said = format!("{:?}", request.messages);
    let mut draw = keyed(seed, &[b"answer", purpose.as_bytes(), said.as_bytes()]);
    let turn = request.messages.iter().filter(|said| matches!(said, Said::Assistant { .. })).count() as u64;
    let (stop, text, calls) = match request.purpose {
        Purpose::Critique(_) => critique(&mut draw),
        Purpose::Judge(_) => judge(&mut draw),
        Purpose::Plan(_) => plan(&mut draw),
        Purpose::Act(_) => act(&mut draw, turn, writes_files),
    };
    let output = (text.len() as u64 / 4 + 10).min(request.output_tokens);
    let usage = Usage { input: said.len() as u64 / 8, output, ..Usage::default() };
    Answer { stop, usage, micros: 1, text, calls, likelihood: None, claim: None }
}

/// A plan that can be carried out, or one that cannot, or none.
fn plan(draw: &mut Draw) -> (Stop, String, Vec<SaidCall>) {
    let name = draw.below(1000);
    let text = match draw.below(10) {
        0 => "First I would look at it.".into(),
        1 => r#"{"plan": [{"id": "a", "goal": "do it", "after": ["b"]}]}"#.into(),
        2..=4 => format!(r#"{{"plan": [{{"id": "only-{name}", "goal": "do it"}}]}}"#),
        _ => format!(
            r#"{{"plan": [{{"id": "look-{name}", "goal": "look"}},
                {{"id": "mend-{name}", "goal": "mend", "after": ["look-{name}"]}}]}}"#
        ),
    };
    (Stop::End, text, Vec::new())
}

/// Scores, good ones and bad ones; or what no rubric asked for.
fn judge(draw: &mut Draw) -> (Stop, String, Vec<SaidCall>) {
    match draw.below(20) {
        0 => (Stop::Truncated, "{\"scores\": [".into(), Vec::new()),
        1 => (Stop::ToolUse, String::new(), vec![call(draw, 0, false)]),
        2 => (Stop::Refused, "I would rather not.".into(), Vec::new()),
        3..=5 => (Stop::End, "All of it is fine.".into(), Vec::new()),
        other => {
            let correct = if other < 9 { 0.5 } else { 1.0 };
            let score = |name: &str, score: f64| json!({ "name": name, "score": score, "why": "so" });
            let scores = [
                score("correct", correct),
                score("complete", 1.0),
                score("coherent", 1.0),
                score("safe", 1.0),
            ];
            (Stop::End, json!({ "scores": scores }).to_string(), Vec::new())
        }
    }
}

fn critique(draw: &mut Draw) -> (Stop, String, Vec<SaidCall>) {
    match draw.below(20) {
        0 => (Stop::Truncated, "{\"summary\": \"it".into(), Vec::new()),
        1 => (Stop::ToolUse, String::new(), vec![call(draw, 0, false)]),
        2..=5 => (Stop::End, "It is all wrong.".into(), Vec::new()),
        _ => {
            let defect = json!({ "what": "a number", "severity": "major", "hint": "count again" });
            let diagnosis = json!({ "summary": "one thing is wrong", "defects": [defect] });
            (Stop::End, diagnosis.to_string(), Vec::new())
        }
    }
}

fn act(draw: &mut Draw, turn: u64, writes_files: bool) -> (Stop, String, Vec<SaidCall>) {
    let luck = draw.below(1000);
    if luck < 50 {
        let calls = if draw.happens(500) { vec![call(draw, 0, writes_files)] } else { Vec::new() };
        return (Stop::Truncated, "I was about to".into(), calls);
    }
    if luck < 60 {
        return (Stop::Refused, "I would rather not.".into(), Vec::new());
    }
    if turn >= 8 || luck < 200 + turn * 120 {
        return (Stop::End, final_words(draw), Vec::new());
    }
    let count = match draw.below(10) {
        0..=5 => 1,
        6..=8 => draw.between(2, 3),
        _ => draw.between(4, 6),
    };
    let calls = (0..count).map(|index| call(draw, index, writes_files)).collect();
    let text = if draw.happens(100) { "thinking aloud ".repeat(60) } else { String::new() };
    (Stop::ToolUse, text, calls)
}

fn final_words(draw: &mut Draw) -> String {
    match draw.below(10) {
        0 | 1 => "done, I think".into(),
        2 => json!({ "n": draw.below(100), "why": "because ".repeat(90) }).to_string(),
        _ => json!({ "n": draw.below(100) }).to_string(),
    }
}

fn call(draw: &mut Draw, index: u64, writes_files: bool) -> SaidCall {
    let amount = json!({ "amount": draw.between(1, 999) });
    let file =
        json!({ "path": format!("f{}.txt", draw.below(3)), "content": format!("{}", draw.below(1000)) });
    let (tool, args) = match (draw.below(20), writes_files) {
        (0, _) => ("steal", amount),
        (1, _) => ("pay", json!({ "amount": "much" })),
        (2..=11, true) => ("write_file", file),
        (2..=7, false) => ("pay", amount),
        (8..=10, false) => ("slow_pay", amount),
        (11..=13, false) | (12..=13, true) => ("reserve", amount),
        (14..=15, _) => ("put", json!({ "amount": 1, "what": draw.below(5) })),
        (16, _) => ("ask_model", json!({ "question": format!("What is {amount}?") })),
        (_, _) => ("look", json!({})),
    };
    SaidCall { id: format!("c{index}"), tool: tool.into(), args: args.to_string() }
}
