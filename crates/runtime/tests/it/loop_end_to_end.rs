//! The whole loop: plan to commit, with repair, approval, rollback and doubt.

use bowline::core::event::{Ending, Event, FailReason, HaltReason};
use bowline::core::view;
use bowline::{Stopped, history};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_task_without_a_plan_is_done_checked_and_committed() {
    let world = World::new(json!({ "main": [
        { "calls": [{ "tool": "read_file", "args": { "path": "a.txt" } }] },
        { "expect": { "last_contains": "one" }, "say": "{\"n\": 1}" },
    ] }));
    world.write("a.txt", "one");
    let task = world.task(json!({
        "tools": ["read_file"],
        "output": { "schema": { "type": "object", "required": ["n"] } },
    }));
    let (run, stopped) = world.engine().run_task(task).await.unwrap();
    let Stopped::Ended(Ending::Committed { output, .. }) = stopped else { panic!("{stopped:?}") };
    assert_eq!(output[0], bowline::core::message::Payload::inline("{\"n\": 1}"));
    // A model–tool round costs two appends: reply with intent, outcome with the next step.
    let records = world.store.records(&run, 1, 100).await.unwrap();
    let rounds: Vec<String> = records
        .iter()
        .map(|record| {
            let events = record.events().unwrap();
            events
                .iter()
                .map(|event| view::line(event).split(':').next().unwrap().to_string())
                .collect::<Vec<_>>()
                .join(" + ")
        })
        .collect();
    assert_eq!(
        rounds[2..],
        [
            "step 1 + a1.0",
            "a1.0 + step 2",
            "step 2 + main done + acted",
            "check output schema + verified, round 1",
            rounds[6].as_str(),
        ]
    );
    assert!(rounds[6].starts_with("committed"));
}

#[tokio::test]
async fn a_failing_attempt_goes_through_critique_and_repair() {
    let world = World::new(json!({
        "main": [
            { "calls": [{ "tool": "write_file", "args": { "path": "x.txt", "content": "bad" } }] },
            { "say": "done" },
        ],
        "critique": [{ "expect": { "schema": true }, "say": "{\"summary\": \"wrong word\", \"defects\": [{\"what\": \"bad\", \"severity\": \"major\"}]}" }],
        "repair-1": [
            { "expect": { "last_contains": "wrong word" }, "calls": [{ "tool": "write_file", "args": { "path": "x.txt", "content": "good" } }] },
            { "say": "mended" },
        ],
    }));
    let task = world.task(json!({
        "tools": ["write_file"],
        "check": [{ "name": "word", "command": ["grep", "-q", "good", "x.txt"] }],
    }));
    let (run, stopped) = world.engine().run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    assert_eq!(world.read("x.txt"), "good");
    let events = world.events(&run).await;
    assert!(events.iter().any(|event| matches!(event, Event::Diagnosed { .. })));
    assert!(world.folder.path().join("results").join(run.as_str()).join("provenance.json").exists());
}

#[tokio::test]
async fn a_run_that_fails_for_good_restores_what_it_wrote() {
    let world = World::new(json!({ "main": [
        { "calls": [
            { "tool": "write_file", "args": { "path": "kept.txt", "content": "changed" } },
            { "tool": "write_file", "args": { "path": "made/deep/new.txt", "content": "new" } },
            { "tool": "write_file", "args": { "path": "kept.txt", "content": "changed again" } },
        ] },
        { "expect": { "answers": 3 }, "say": "done" },
    ] }));
    world.write("kept.txt", "before");
    let task = world.task(json!({
        "tools": ["write_file"],
        "check": [{ "name": "never", "command": ["false"] }],
        "limits": { "repairs": 0 },
    }));
    let (_, stopped) = world.engine().run_task(task).await.unwrap();
    let Stopped::Ended(Ending::Failed { why, .. }) = stopped else { panic!("{stopped:?}") };
    assert_eq!(why, FailReason::RepairsExhausted { rounds: 0 });
    assert_eq!(world.read("kept.txt"), "before");
    assert!(!world.project().join("made").exists(), "the folders went with the file");
}

#[tokio::test]
async fn an_unchecked_output_waits_for_a_person_and_is_committed_after_a_yes() {
    let world = World::new(json!({ "main": [{ "say": "an essay" }] }));
    let engine = world.engine();
    let (run, stopped) = engine.run_task(world.task(json!({}))).await.unwrap();
    let Stopped::Waiting(waits) = stopped else { panic!("{stopped:?}") };
    engine.approve(&run, "ann", &waits[0]).await.unwrap();
    let stopped = engine.run(&run).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
}

#[tokio::test]
async fn a_cancelled_run_halts_and_a_resume_reopens_it() {
    let world = World::new(json!({ "main": [{ "stall_ms": 300, "say": "slow" }] }));
    let engine = world.engine();
    let task = world.task(json!({ "review": "never" }));
    let run = engine.submit(task, None).await.unwrap().run().clone();
    let mut seen = engine.watch();
    let worker = tokio::spawn({
        let (engine, run) = (engine.clone(), run.clone());
        async move { engine.run(&run).await }
    });
    seen.recv().await.unwrap();
    engine.cancel(&run, "ann").await.unwrap();
    let stopped = worker.await.unwrap().unwrap();
    let by = "ann".to_string();
    assert_eq!(stopped, Stopped::Ended(Ending::Halted { why: HaltReason::Cancelled { by }, report: None }));
    let stopped = engine.resume(&run, "ann", Vec::new()).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let words: Vec<String> = history(world.store.as_ref(), &run, 1, u64::MAX)
        .await
        .unwrap()
        .iter()
        .map(|(_, _, event)| view::line(event))
        .collect();
    assert!(words.iter().any(|line| line == "resumed by ann"), "{words:#?}");
}

#[tokio::test]
async fn sub_tasks_run_in_parallel_and_pass_their_outputs_on() {
    let world = World::new(json!({
        "left": [{ "stall_ms": 50, "say": "L" }],
        "right": [{ "stall_ms": 50, "say": "R" }],
        "join": [{ "expect": { "contains": ["What left delivered:\n```\nL\n```", "What right delivered:\n```\nR\n```"] }, "say": "LR" }],
    }));
    let task = world.task(json!({ "review": "never", "plan": [
        { "id": "left", "goal": "left" },
        { "id": "right", "goal": "right" },
        { "id": "join", "goal": "join", "after": ["left", "right"] },
    ] }));
    let (run, stopped) = world.engine().run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let events = world.events(&run).await;
    let first_answer = events.iter().position(|event| matches!(event, Event::StepFinished { .. })).unwrap();
    let started =
        events[..first_answer].iter().filter(|event| matches!(event, Event::StepStarted { .. })).count();
    assert_eq!(started, 2, "both sub-tasks were asked before either answered");
}
