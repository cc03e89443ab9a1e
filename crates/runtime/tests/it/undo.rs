//! What runs did is undone: by declared undos of programs, tools and libraries, before a
//! failed ending and for a person after any.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bowline::core::event::{Ending, Event, UndoOutcome};
use bowline::core::id::{RunId, ToolName};
use bowline::core::input::Signal;
use bowline::core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline::core::undo::{How, Undo};
use bowline::core::view;
use bowline::tools::{CallContext, Tool, ToolOutput};
use bowline::{EngineError, Stopped, UndoWay};
use serde_json::{Value, json};

use crate::world::World;

/// A program that takes a line from its input and keeps a log of what it did.
fn shell(script: &str) -> Value {
    json!(["/bin/sh", "-c", script])
}

fn seat(undo: Value) -> Value {
    json!({
        "name": "seat",
        "command": shell("cat >> log; echo ' booked' >> log; echo '{\"id\": 7}'"),
        "description": "Books a seat.",
        "schema": { "type": "object" },
        "undo": undo,
    })
}

/// Books, writes, pays, and fails for good.
fn failing() -> World {
    World::new(json!({ "main": [
        { "calls": [
            { "tool": "write_file", "args": { "path": "a.txt", "content": "new" } },
            { "tool": "seat", "args": { "row": 3 } },
        ] },
        { "say": "done" },
    ] }))
}

fn fails(tools: Value) -> Value {
    json!({
        "tools": ["write_file"], "tool": tools, "check": [{ "name": "no", "command": ["false"] }],
        "limits": { "repairs": 0 },
    })
}

fn outcomes(events: &[Event]) -> Vec<String> {
    let undone = events.iter().filter(|event| {
        matches!(
            event,
            Event::Restored { .. }
                | Event::Compensated { .. }
                | Event::AlertRaised { .. }
                | Event::AlertTold { .. }
        )
    });
    undone.map(view::line).collect()
}

#[tokio::test]
async fn a_failed_run_undoes_the_calls_of_programs_with_what_they_returned() {
    let world = failing();
    let undo = json!({ "command": shell("printf '%s ' \"$BOWLINE_UNDOES$1\" >> log; cat >> log; echo ' freed' >> log")
        .as_array().unwrap().iter().cloned().chain([json!("x"), json!("{result/id}")]).collect::<Vec<_>>(),
        "args": { "row": "{args/row}" } });
    let task = world.task(fails(json!([seat(undo)])));
    let engine = world.engine();
    let (run, stopped) = engine.run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Failed { .. })), "{stopped:?}");
    let events = world.events(&run).await;
    assert_eq!(outcomes(&events), ["a1.1: undone", "a1.0: file restored"]);
    let keys: Vec<String> = events
        .iter()
        .filter_map(|event| {
            if let Event::CallStarted { key, undo: Some(undo), .. } = event {
                assert_ne!(undo.key, *key);
                Some(key.to_string())
            } else {
                None
            }
        })
        .collect();
    let log = world.read("log");
    assert_eq!(log, format!("{{\"row\":3}} booked\n{}7 {{\"row\":3}} freed\n", keys[0]));
    assert!(!world.project().join("a.txt").exists());
}

#[tokio::test]
async fn what_is_undone_already_stays_so_and_the_probe_is_believed() {
    let world = failing();
    let undo = json!({ "command": shell("echo freed >> log"), "probe": shell("exit 0") });
    let (run, _) = world.engine().run_task(world.task(fails(json!([seat(undo)])))).await.unwrap();
    assert_eq!(outcomes(&world.events(&run).await), ["a1.1: was as before", "a1.0: file restored"]);
    assert!(!world.read("log").contains("freed"));
    let world = failing();
    let undo = json!({ "command": shell("echo freed >> log"), "probe": shell("exit 1") });
    let (run, _) = world.engine().run_task(world.task(fails(json!([seat(undo)])))).await.unwrap();
    assert_eq!(outcomes(&world.events(&run).await), ["a1.1: undone", "a1.0: file restored"]);
    assert!(world.read("log").contains("freed"));
}

#[tokio::test]
async fn an_undo_by_another_tool_is_a_call_of_it_and_passing_trouble_is_tried_again() {
    let world = failing();
    let free = json!({
        "name": "free", "description": "Frees a seat.", "schema": { "type": "object", "required": ["id"] },
        "command": shell("if [ -e once ]; then cat >> log; else touch once; exit 69; fi"),
        "class": "compensable",
    });
    let undo = json!({ "tool": "free", "args": { "id": "{result/id}" } });
    let (run, _) = world.engine().run_task(world.task(fails(json!([seat(undo), free])))).await.unwrap();
    let events = world.events(&run).await;
    assert_eq!(outcomes(&events), ["a1.1: undone", "a1.0: file restored"]);
    let attempts = events.iter().filter(|event| matches!(event, Event::CompensationStarted { .. })).count();
    assert_eq!(attempts, 2, "one met trouble");
    assert!(world.read("log").ends_with("{\"id\":7}"), "{}", world.read("log"));
}

#[tokio::test]
async fn an_undo_that_does_not_work_raises_an_alert_and_the_rest_is_undone_all_the_same() {
    let world = failing();
    let undo = json!({ "command": shell("echo no such seat >&2; exit 3") });
    let mut raw = fails(json!([seat(undo)]));
    raw["on_alert"] = shell("cat > alert");
    let (run, stopped) = world.engine().run_task(world.task(raw)).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Failed { .. })), "{stopped:?}");
    let events = world.events(&run).await;
    let told = outcomes(&events);
    assert!(told[0].starts_with("a1.1: could not be undone: [standard error]"), "{told:?}");
    assert_eq!(told[1], "a1.0: file restored");
    assert_eq!(told[2], "ALERT: a1.1 could not be undone, a person must look at it");
    assert_eq!(told[3], "the command for alerts was run");
    let alert: Value = serde_json::from_str(&world.read("alert")).unwrap();
    assert_eq!(alert["run"], json!(run));
    assert!(alert["not_undone"][0]["why"].as_str().unwrap().contains("no such seat"), "{alert}");
    assert!(world.engine().inspect(&run).await.unwrap().run.deeds.alerted);
}

#[tokio::test]
async fn a_call_that_may_have_happened_and_cannot_be_named_is_not_guessed_at() {
    let world = World::new(json!({ "main": [
        { "calls": [{ "tool": "seat", "args": { "row": 3 } }] },
        { "say": "done" },
    ] }));
    let undo = json!({ "command": ["true", "{result/id}"] });
    let mut tool = seat(undo);
    tool["command"] = shell("exit 1");
    let (run, _) = world.engine().run_task(world.task(fails(json!([tool])))).await.unwrap();
    let events = world.events(&run).await;
    let found = events.iter().find_map(|event| {
        if let Event::Compensated { outcome, .. } = event { Some(outcome.clone()) } else { None }
    });
    assert_eq!(
        found,
        Some(UndoOutcome::CannotBeUndone("{result/id} is not known of the call".into())),
        "{events:?}"
    );
}

#[tokio::test]
async fn undos_that_cannot_be_are_refused_before_there_is_a_run() {
    let world = failing();
    let engine = world.engine();
    let missing = seat(json!({ "tool": "nobody" }));
    let refused = engine.submit(world.task(fails(json!([missing]))), None).await.unwrap_err();
    assert!(refused.to_string().contains("seat is undone by nobody"), "{refused}");
    let built_in = json!({ "name": "read_file", "undo": { "tool": "write_file" } });
    let refused = engine.submit(world.task(fails(json!([built_in]))), None).await.unwrap_err();
    assert!(refused.to_string().contains("not the task's to say"), "{refused}");
}

/// A tool that undoes its own calls, and keeps a list of what it did.
struct Shelf {
    spec: ToolSpec,
    log: Arc<Mutex<Vec<String>>>,
}

impl Shelf {
    fn new() -> (Arc<Self>, Arc<Mutex<Vec<String>>>) {
        let log = Arc::new(Mutex::new(Vec::new()));
        let spec = ToolSpec {
            name: ToolName::parse("shelve").unwrap(),
            description: "Shelves a book.".into(),
            schema: json!({ "type": "object" }),
            touch: Touch::Exec,
            repeat: Repeat::Never,
            consent: Consent::NotNeeded,
            probes: false,
            timeout_ms: 10_000,
            effect: None,
            needs: None,
            given: false,
            invocation: Default::default(),
            undo: Some(Box::new(Undo { how: How::Own, args: None, timeout_ms: None })),
        };
        (Arc::new(Self { spec, log: log.clone() }), log)
    }
}

#[async_trait]
impl Tool for Shelf {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, _: &CallContext) -> ToolOutput {
        self.log.lock().unwrap().push(format!("shelve {}", args["book"]));
        ToolOutput::ok("place 4")
    }

    async fn undo(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        self.log.lock().unwrap().push(format!("unshelve {} of {}", args["args"]["book"], args["result"]));
        assert_eq!(ctx.attempt, 1);
        ToolOutput::ok("")
    }
}

fn shelving() -> World {
    World::new(json!({ "main": [
        { "calls": [{ "tool": "write_file", "args": { "path": "a.txt", "content": "one" } }] },
        { "calls": [{ "tool": "shelve", "args": { "book": "b" } }] },
        { "calls": [{ "tool": "edit_file", "args": { "path": "a.txt", "old": "one", "new": "two" } }] },
        { "say": "done" },
    ] }))
}

async fn committed(world: &World, tool: Arc<Shelf>) -> (bowline::Engine, RunId) {
    let engine = world.builder().tool(tool).build();
    let raw = json!({ "tools": ["write_file", "edit_file", "shelve"], "review": "never" });
    let (run, stopped) = engine.run_task(world.task(raw)).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    (engine, run)
}

#[tokio::test]
async fn a_committed_run_is_undone_for_a_person_files_and_calls_alike() {
    let world = shelving();
    let (tool, log) = Shelf::new();
    let (engine, run) = committed(&world, tool).await;
    let plan = engine.plan_undo(&run, 0).await.unwrap();
    let names: Vec<String> = plan.steps.iter().map(|step| format!("{} {}", step.action, step.tool)).collect();
    assert_eq!(names, ["a3.0 edit_file", "a2.0 shelve", "a1.0 write_file"]);
    assert_eq!(plan.changed().count(), 0);
    assert!(matches!(plan.steps[1].way, UndoWay::Call { is_known: true, .. }));
    assert_eq!(world.read("a.txt"), "two", "a plan changes nothing");
    let undone = engine.undo(&run, "ann", 0, false).await.unwrap();
    assert!(undone.is_finished && !undone.is_alerted && undone.calls.len() == 3, "{undone:?}");
    assert!(!world.project().join("a.txt").exists());
    assert_eq!(*log.lock().unwrap(), ["shelve \"b\"", "unshelve \"b\" of \"place 4\""]);
    let row = world.store.row(&run).await.unwrap();
    assert_eq!(row.summary.ending, Some(bowline::store::EndingKind::Committed));
    let again = engine.undo(&run, "ann", 0, false).await.unwrap_err();
    assert!(again.to_string().contains("nothing to undo"), "{again}");
    let stopped = engine.run(&run).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
}

#[tokio::test]
async fn an_undo_back_to_an_event_leaves_what_came_before_it() {
    let world = shelving();
    let (tool, log) = Shelf::new();
    let (engine, run) = committed(&world, tool).await;
    let state = engine.inspect(&run).await.unwrap().run;
    let begun = state.deeds.done.iter().map(|deed| deed.seq).collect::<Vec<_>>();
    engine.undo(&run, "ann", begun[1], false).await.unwrap();
    assert_eq!(world.read("a.txt"), "one");
    assert_eq!(log.lock().unwrap().len(), 1, "the call before it stands");
    engine.undo(&run, "ann", 0, false).await.unwrap();
    assert!(!world.project().join("a.txt").exists());
    assert_eq!(log.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn nothing_is_undone_where_somebody_changed_a_file_since() {
    let world = shelving();
    let (tool, log) = Shelf::new();
    let (engine, run) = committed(&world, tool).await;
    world.write("a.txt", "mine");
    let plan = engine.plan_undo(&run, 0).await.unwrap();
    assert_eq!(plan.changed().count(), 2, "neither step finds what it left");
    let refused = engine.undo(&run, "ann", 0, false).await.unwrap_err();
    assert!(matches!(&refused, EngineError::ChangedSince { files, .. } if files[0] == "a.txt"), "{refused}");
    assert_eq!((world.read("a.txt").as_str(), log.lock().unwrap().len()), ("mine", 1));
    let undone = engine.undo(&run, "ann", 0, true).await.unwrap();
    assert_eq!(world.read("a.txt"), "mine", "what was changed is left alone");
    assert_eq!(log.lock().unwrap().len(), 2, "the rest is undone");
    let left: Vec<_> = undone.calls.iter().filter(|(_, how)| *how == view::Undone::ChangedSince).collect();
    assert_eq!(left.len(), 2);
}

#[tokio::test]
async fn an_undo_that_was_interrupted_goes_on_where_it_was() {
    let world = shelving();
    let (tool, log) = Shelf::new();
    let (engine, run) = committed(&world, tool.clone()).await;
    // Wanted, and nobody came to do it: the process died.
    engine.signal(&run, "ann", Signal::Undo { to: 0 }).await.unwrap();
    engine.stop();
    let undone = engine.undo(&run, "ann", 0, false).await.unwrap();
    assert!(!undone.is_finished, "{undone:?}");
    let other = world.builder().tool(tool).build();
    assert!(other.plan_undo(&run, 0).await.unwrap().is_begun);
    let undone = other.undo(&run, "ben", 0, false).await.unwrap();
    assert!(undone.is_finished, "{undone:?}");
    assert!(!world.project().join("a.txt").exists());
    assert_eq!(log.lock().unwrap().len(), 2, "each is undone once");
    let started =
        world.events(&run).await.iter().filter(|event| matches!(event, Event::UndoStarted { .. })).count();
    assert_eq!(started, 1);
}

#[tokio::test]
async fn a_run_that_has_not_ended_is_not_undone() {
    let world = World::new(json!({ "main": [{ "say": "done" }] }));
    let engine = world.engine();
    let id = engine.submit(world.task(json!({ "review": "never" })), None).await.unwrap().run().clone();
    let refused = engine.undo(&id, "ann", 0, false).await.unwrap_err();
    assert!(refused.to_string().contains("has not ended"), "{refused}");
    assert_eq!(refused.remedy(), "cancel it first");
}

#[tokio::test]
async fn many_files_and_the_folders_made_for_them_are_gone_after_an_undo() {
    let calls: Vec<Value> = (0..100)
        .map(|n| json!({ "tool": "write_file", "args": { "path": format!("d{}/f{n}.txt", n % 10), "content": "x" } }))
        .collect();
    let world = World::new(json!({ "main": [{ "calls": calls }, { "say": "done" }] }));
    let engine = world.engine();
    let raw = json!({ "tools": ["write_file"], "review": "never", "limits": { "tool_calls": 1000 } });
    let (run, stopped) = engine.run_task(world.task(raw)).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let undone = engine.undo(&run, "ann", 0, false).await.unwrap();
    assert_eq!(undone.calls.len(), 100);
    assert_eq!(std::fs::read_dir(world.project()).unwrap().count(), 0, "folders go with their files");
}
