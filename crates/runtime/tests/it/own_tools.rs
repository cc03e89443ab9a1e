//! Tools of the library's user, under the rules of a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bowline::core::event::Ending;
use bowline::core::id::ToolName;
use bowline::core::run::Wait;
use bowline::core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline::tools::{CallContext, Tool, ToolOutput};
use bowline::{Engine, Stopped};
use serde_json::{Value, json};

use crate::world::World;

/// Counts how often it is called.
struct Counter {
    spec: ToolSpec,
    calls: AtomicUsize,
}

impl Counter {
    fn new(consent: Consent) -> Arc<Self> {
        let spec = ToolSpec {
            name: ToolName::parse("count").unwrap(),
            description: "Counts its calls.".into(),
            schema: json!({ "type": "object" }),
            touch: Touch::Exec,
            repeat: Repeat::WithSameKey,
            consent,
            probes: false,
            timeout_ms: 10_000,
            effect: None,
            needs: None,
            given: false,
            invocation: Default::default(),
            undo: None,
        };
        Arc::new(Self { spec, calls: AtomicUsize::new(0) })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for Counter {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _args: Value, ctx: &CallContext) -> ToolOutput {
        self.calls.fetch_add(1, Ordering::SeqCst);
        ToolOutput::ok(format!("{} ms", ctx.timeout.as_millis()))
    }
}

fn counting(tool: &Arc<Counter>) -> (World, Engine) {
    let world = World::new(json!({ "main": [
        { "calls": [{ "tool": "count", "args": {} }] },
        { "expect": { "last_contains": "2000 ms" }, "say": "done" },
    ] }));
    let engine = world.builder().tool(tool.clone()).build();
    (world, engine)
}

#[tokio::test]
async fn a_task_tightens_a_tool_that_was_added_to_the_engine() {
    let tool = Counter::new(Consent::NotNeeded);
    let (world, engine) = counting(&tool);
    let choice = json!({ "name": "count", "consent": "ask", "repeat": "never", "timeout_seconds": 2 });
    let task = world.task(json!({ "tool": [choice], "review": "never" }));
    let (run, stopped) = engine.run_task(task).await.unwrap();
    let Stopped::Waiting(waits) = stopped else { panic!("{stopped:?}") };
    assert!(matches!(waits[..], [Wait::Approval { .. }]) && tool.calls() == 0, "{waits:?}");
    let state = engine.inspect(&run).await.unwrap().run;
    assert_eq!(state.tool("count").unwrap().repeat, Repeat::Never);
    engine.approve(&run, "ann", &waits[0]).await.unwrap();
    let stopped = engine.run(&run).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    assert_eq!(tool.calls(), 1);
}

#[tokio::test]
async fn a_task_that_loosens_a_tool_is_refused_before_there_is_a_run() {
    let tool = Counter::new(Consent::Ask);
    let (world, engine) = counting(&tool);
    for (choice, setting) in [
        (json!({ "name": "count", "consent": "not-needed" }), "`consent` of count"),
        (json!({ "name": "count", "repeat": "freely" }), "`repeat` of count"),
        (json!({ "name": "count", "timeout_seconds": 11 }), "`timeout_seconds` of count"),
        (json!({ "name": "run_command", "repeat": "freely" }), "`repeat` of run_command"),
    ] {
        let refused = engine.submit(world.task(json!({ "tool": [choice] })), None).await.unwrap_err();
        assert!(refused.to_string().contains(setting), "{refused}");
        assert!(refused.remedy().starts_with("leave `"), "{}", refused.remedy());
    }
    assert!(world.store.list(bowline::store::ListFilter::default()).await.unwrap().is_empty());
}
