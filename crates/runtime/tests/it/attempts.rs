//! Tools that meet trouble, in a real run: tried again, left alone, ended with the run.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bowline::core::event::{CallTrouble, Ending, Event, Outcome, Refusal};
use bowline::core::id::{Millis, ToolName};
use bowline::core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline::tools::{CallContext, Tool, ToolOutput};
use bowline::{Clock, Stopped};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::World;

/// A clock that goes with tokio's, which tests pause.
pub(crate) struct PausedClock(pub(crate) Instant);

impl Clock for PausedClock {
    fn now(&self) -> Millis {
        Millis(1_000_000).plus(u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

/// A tool that is away for its first calls.
struct Shop {
    spec: ToolSpec,
    closed: u32,
    calls: AtomicU32,
    keys: std::sync::Mutex<Vec<String>>,
}

impl Shop {
    fn closed_for(closed: u32) -> Arc<Self> {
        let spec = ToolSpec {
            name: ToolName::parse("shop").unwrap(),
            description: "Sells things.".into(),
            schema: json!({ "type": "object" }),
            touch: Touch::Exec,
            repeat: Repeat::WithSameKey,
            consent: Consent::NotNeeded,
            probes: false,
            timeout_ms: 10_000,
            effect: None,
            invocation: Default::default(),
            undo: None,
            needs: None,
            given: false,
        };
        Arc::new(Self { spec, closed, calls: AtomicU32::new(0), keys: Default::default() })
    }
}

#[async_trait]
impl Tool for Shop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _args: Value, ctx: &CallContext) -> ToolOutput {
        let before = self.calls.fetch_add(1, Ordering::SeqCst);
        self.keys.lock().unwrap().push(ctx.key.to_string());
        if before < self.closed {
            return ToolOutput::trouble("closed", Some(Duration::from_secs(7)));
        }
        ToolOutput::ok(format!("sold at attempt {}", ctx.attempt))
    }
}

fn shopping(calls: usize) -> Value {
    let buy = |number: usize| json!({ "calls": [{ "tool": "shop", "args": { "n": number } }] });
    let said = (0..calls).map(buy).chain([json!({ "say": "done" })]);
    json!({ "main": said.collect::<Vec<_>>() })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_meets_trouble_is_made_again_later_with_the_same_key() {
    let world = World::new(shopping(1));
    let shop = Shop::closed_for(2);
    let start = Instant::now();
    let engine = world.builder().clock(Arc::new(PausedClock(start))).tool(shop.clone()).build();
    let task = world.task(json!({ "tools": ["shop"], "review": "never" }));
    let (run, stopped) = engine.run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let keys = shop.keys.lock().unwrap().clone();
    assert!(keys.len() == 3 && keys.windows(2).all(|pair| pair[0] == pair[1]), "{keys:?}");
    assert!(start.elapsed() >= Duration::from_secs(14), "it waits as long as it is asked to");
    let events = world.events(&run).await;
    let troubles = events.iter().filter(|event| {
        matches!(event, Event::CallTroubled { why: CallTrouble::Unavailable, message, .. } if message == "closed")
    });
    assert_eq!(troubles.count(), 2);
    let state = engine.inspect(&run).await.unwrap().run;
    assert_eq!(state.spend.tool_calls, 3);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_stays_away_is_left_alone_also_by_the_next_worker() {
    let world = World::new(shopping(3));
    let shop = Shop::closed_for(u32::MAX);
    let clock = Arc::new(PausedClock(Instant::now()));
    let engine = world.builder().clock(clock.clone()).tool(shop.clone()).build();
    let (run, stopped) =
        engine.run_task(world.task(json!({ "tools": ["shop"], "review": "always" }))).await.unwrap();
    assert!(matches!(stopped, Stopped::Waiting(_)), "{stopped:?}");
    assert_eq!(shop.calls.load(Ordering::SeqCst), 5, "three attempts, two more, and no sixth");
    let events = world.events(&run).await;
    let outcomes: Vec<Outcome> = events.iter().filter_map(outcome).collect();
    assert_eq!(outcomes, [Outcome::Unavailable, Outcome::Unavailable]);
    assert!(events.iter().any(|event| matches!(event, Event::BreakerOpened { failures: 5, .. })));
    assert!(events.iter().any(|event| matches!(event, Event::CallRefused { why: Refusal::Unavailable, .. })));
    let other = world.builder().clock(clock).tool(shop).build();
    let state = other.inspect(&run).await.unwrap().run;
    assert!(state.breakers.values().any(|breaker| breaker.until.is_some()), "the journal remembers");
}

fn outcome(event: &Event) -> Option<Outcome> {
    if let Event::CallFinished { outcome, .. } = event { Some(*outcome) } else { None }
}

/// A program that holds a pipe for as long as it lives, and anybody it started.
const HOLDS_ON: &str = "exec 3>pipe; sh -c 'printf x >&3; sleep 1000' & wait";

#[tokio::test]
async fn cancelling_a_run_ends_the_programs_of_its_calls() {
    let world =
        World::new(json!({ "main": [{ "calls": [{ "tool": "look", "args": {} }] }, { "say": "done" }] }));
    let pipe = world.project().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let look = json!({ "name": "look", "command": ["sh", "-c", HOLDS_ON], "description": "Looks for long.",
        "schema": { "type": "object" }, "class": "pure", "timeout_seconds": 600 });
    let engine = world.engine();
    let task = world.task(json!({ "tool": [look], "review": "never" }));
    let run = engine.submit(task, None).await.unwrap().run().clone();
    let (held, is_held) = tokio::sync::oneshot::channel();
    // Reading ends when the last process that holds the other end is gone.
    let gone = tokio::task::spawn_blocking(move || {
        let mut pipe = std::fs::File::open(pipe).unwrap();
        pipe.read_exact(&mut [0]).unwrap();
        held.send(()).unwrap();
        pipe.read_to_end(&mut Vec::new()).unwrap();
    });
    let (worker, id) = (engine.clone(), run.clone());
    let working = tokio::spawn(async move { worker.run(&id).await });
    is_held.await.unwrap();
    engine.cancel(&run, "ann").await.unwrap();
    let stopped = tokio::time::timeout(Duration::from_secs(30), working).await.unwrap().unwrap().unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Halted { .. })), "{stopped:?}");
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("nobody is left").unwrap();
    let outcomes: Vec<Outcome> = world.events(&run).await.iter().filter_map(outcome).collect();
    assert_eq!(outcomes, [Outcome::Cancelled]);
}

#[tokio::test]
async fn a_program_says_by_its_exit_code_that_it_may_work_later() {
    let world = World::new(json!({ "main": [
        { "calls": [{ "tool": "put", "args": {} }] },
        { "expect": { "last_contains": "stored" }, "say": "done" },
    ] }));
    let script = "echo $BOWLINE_KEY >> keys; [ $BOWLINE_ATTEMPT = 2 ] || exit 69; echo stored";
    let put = json!({ "name": "put", "command": ["sh", "-c", script], "description": "Stores.",
        "schema": { "type": "object" }, "consent": "not-needed", "repeat": "with-same-key" });
    let engine = world.engine();
    let (_, stopped) =
        engine.run_task(world.task(json!({ "tool": [put], "review": "never" }))).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let keys: Vec<String> = world.read("keys").lines().map(str::to_owned).collect();
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
}
