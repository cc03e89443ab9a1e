//! `ask_model` in a real run: asked without tools, paid like a step, never lost.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline::core::budget::{Cost, Price};
use bowline::core::event::{CallTrouble, Ending, Event, Outcome};
use bowline::core::id::Millis;
use bowline::core::message::{Stop, Usage};
use bowline::core::task::Task;
use bowline::models::{Answer, Model, ModelError, OpenModelError, Request, Watcher};
use bowline::{Clock, ModelSource, Seen, Stopped};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::World;

/// A clock that goes with tokio's, which tests pause.
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> Millis {
        Millis(1_000_000).plus(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

fn asking(answer: Value) -> Value {
    json!({
        "main": [
            { "calls": [{ "tool": "ask_model", "args": { "question": "What is six times seven?" } }] },
            { "expect": { "last_contains": "42" }, "say": "done" },
        ],
        "ask-1-0": [answer],
    })
}

fn raw() -> Value {
    json!({ "tools": ["ask_model", "read_file"], "review": "never" })
}

fn spent(events: &[Event]) -> Vec<Option<Cost>> {
    let finished = |event: &Event| match event {
        Event::CallFinished { spent, .. } => Some(*spent),
        _ => None,
    };
    events.iter().filter_map(finished).collect()
}

#[tokio::test]
async fn a_side_question_is_answered_by_the_model_of_the_run_and_paid_like_a_step() {
    let world = World::new(asking(json!({
        "expect": { "system_contains": "on the side", "last_contains": "six times seven", "schema": false },
        "say": "42", "usage": { "input": 30, "output": 5 },
    })));
    let engine = world.engine();
    let (run, stopped) = engine.run_task(world.task(raw())).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let events = world.events(&run).await;
    assert_eq!(spent(&events), [Some(Cost { tokens: 35, micros: 0 })]);
    let state = engine.inspect(&run).await.unwrap().run;
    assert_eq!((state.spend.steps, state.spend.tool_calls), (3, 1));
    assert_eq!(state.reserved, Cost::default());
}

#[tokio::test]
async fn what_the_model_says_to_no_avail_is_an_error_that_is_paid() {
    for (answer, outcome) in [
        (json!({ "say": "42, I was about to", "stop": "truncated" }), Outcome::Ok),
        (json!({ "say": "No.", "stop": "refused" }), Outcome::Error),
        (json!({ "say": " " }), Outcome::Error),
        (json!({ "fails": ["permanent"], "say": "late" }), Outcome::Error),
    ] {
        let conversations = json!({
            "main": [
                { "calls": [{ "tool": "ask_model", "args": { "question": "What is six times seven?" } }] },
                { "say": "done" },
            ],
            "ask-1-0": [answer],
        });
        let world = World::new(conversations);
        let (run, _) = world.engine().run_task(world.task(raw())).await.unwrap();
        let events = world.events(&run).await;
        let found = events.iter().find_map(|event| match event {
            Event::CallFinished { outcome, spent: Some(_), .. } => Some(*outcome),
            _ => None,
        });
        assert_eq!(found, Some(outcome), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_side_question_that_was_killed_between_intent_and_outcome_is_paid_and_asked_again() {
    let world = World::new(asking(json!({ "stall": "forever" })));
    let clock = Arc::new(PausedClock(Instant::now()));
    let engine = world.builder().clock(clock.clone()).build();
    let run = engine.submit(world.task(raw()), None).await.unwrap().run().clone();
    let mut seen = engine.watch();
    let working = tokio::spawn({
        let (engine, run) = (engine.clone(), run.clone());
        async move { engine.run(&run).await }
    });
    loop {
        let observed = seen.recv().await.unwrap();
        if matches!(observed.seen, Seen::Event { event: Event::CallStarted { .. }, .. }) {
            break;
        }
    }
    working.abort();
    assert!(working.await.unwrap_err().is_cancelled());
    // Nobody renews the claim of a worker that is gone.
    tokio::time::advance(Duration::from_secs(31)).await;
    let mended = World::on(world.store.clone(), asking(json!({ "say": "42", "usage": { "output": 7 } })));
    let stopped = mended.builder().clock(clock).build().run(&run).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let events = mended.events(&run).await;
    let reserved: Vec<Cost> = events
        .iter()
        .filter_map(|event| if let Event::CallStarted { reserved, .. } = event { *reserved } else { None })
        .collect();
    assert_eq!(reserved.len(), 2, "two attempts, each with its own reservation");
    let lost = |event: &&Event| matches!(event, Event::CallTroubled { why: CallTrouble::Lost, .. });
    assert_eq!(events.iter().filter(lost).count(), 1);
    let steps: u64 = events
        .iter()
        .filter_map(
            |event| if let Event::StepFinished { usage, .. } = event { Some(usage.total()) } else { None },
        )
        .sum();
    let state = engine.inspect(&run).await.unwrap().run;
    assert_eq!(
        state.spend.settled.tokens,
        steps + reserved[0].tokens + 7,
        "the lost one is paid as reserved"
    );
    assert_eq!(state.spend.steps, 4);
}

/// A model of somebody else's machine.
struct Elsewhere;

#[async_trait]
impl Model for Elsewhere {
    async fn call(&self, _request: Request, _watch: &dyn Watcher) -> Result<Answer, ModelError> {
        Ok(Answer {
            stop: Stop::End,
            usage: Usage::default(),
            micros: 0,
            text: "done".into(),
            calls: Vec::new(),
            likelihood: None,
            claim: None,
        })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }
}

impl ModelSource for Elsewhere {
    fn open(&self, _task: &Task, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(Arc::new(Self))
    }
}

#[tokio::test]
async fn a_sovereign_run_has_no_model_that_is_elsewhere() {
    let world = World::new(json!({}));
    let engine = world.builder().models(Arc::new(Elsewhere)).build();
    let sovereign = |tools: Value| {
        world.task(json!({ "tools": tools, "review": "never", "privacy": "sovereign", "sandbox": "cage" }))
    };
    let refused = engine.submit(sovereign(json!(["read_file"])), None).await.unwrap_err();
    assert!(refused.to_string().contains("the run is sovereign, and scripted:none is not"), "{refused}");
    let standard = world.task(json!({ "tools": ["ask_model"], "review": "never" }));
    engine.submit(standard, None).await.unwrap();
}
