//! The simulated tools, on the outside ledger: `pay` (never twice, has a probe),
//! `slow_pay` (never twice, nobody can tell but a person), `put` (the outside
//! removes duplicates), `reserve` (the same, and can be given back) and `look` (reads).
//!
//! Each may be slow, fail, be away for a while, hang, panic, or do its work and lose
//! the reply; what it says of itself is always true.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::id::ToolName;
use bowline_core::input::Returned;
use bowline_core::tool::{Consent, Repeat, ToolSpec, Touch};
use bowline_core::undo::{How, Undo};
use bowline_tools::{CallContext, Probed, Tool, ToolOutput};
use serde_json::{Value, json};

use super::bugs::Bug;
use super::plan::Point;
use super::state::Alive;
use crate::ledger::wire::{Caller, Operation, args_hash};

/// Longer than any deadline in this world.
const HANG: Duration = Duration::from_secs(3600);

/// One tool of one life.
pub(super) struct SimTool {
    alive: Arc<Alive>,
    spec: ToolSpec,
    /// What it does outside; `None` only looks.
    op: Option<Operation>,
}

/// The tools of this world.
pub(super) fn all(alive: &Arc<Alive>) -> Vec<Arc<dyn Tool>> {
    let asks = if alive.world.plan.pay_asks { Consent::Ask } else { Consent::NotNeeded };
    let make = |name: &str, op: Option<Operation>, repeat, consent, probes| {
        let name = ToolName::parse(name).unwrap_or_else(|_| ToolName::from_chance(&[]));
        let spec = ToolSpec {
            description: format!("{name}: a tool of the simulator"),
            name,
            schema: json!({ "type": "object", "properties": { "amount": { "type": "integer" } } }),
            touch: if op.is_some() { Touch::Exec } else { Touch::Read },
            repeat,
            consent,
            probes,
            timeout_ms: 10_000,
            effect: None,
            needs: None,
            given: false,
            invocation: Default::default(),
            undo: (op == Some(Operation::Reserve)).then(|| Box::new(given_back())),
        };
        Arc::new(SimTool { alive: alive.clone(), spec, op }) as Arc<dyn Tool>
    };
    vec![
        make("pay", Some(Operation::Pay), Repeat::Never, asks, true),
        make("slow_pay", Some(Operation::SlowPay), Repeat::Never, Consent::NotNeeded, false),
        make("put", Some(Operation::Put), Repeat::WithSameKey, Consent::NotNeeded, false),
        make("reserve", Some(Operation::Reserve), Repeat::WithSameKey, Consent::NotNeeded, false),
        make("look", None, Repeat::Freely, Consent::NotNeeded, false),
    ]
}

/// What a reservation is undone by: the tool itself, which finds it by the key of its call.
fn given_back() -> Undo {
    Undo { how: How::Own, args: Some(json!({ "of": "{key}" })), timeout_ms: Some(10_000) }
}

#[async_trait]
impl Tool for SimTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        if self.alive.is_away(&self.spec.name, &about(ctx)) {
            return self.away().await;
        }
        let Some(op) = self.op else {
            self.alive.takes(1, 400).await;
            if self.alive.strikes(30, "look hangs", &about(ctx)) {
                tokio::time::sleep(HANG).await;
            }
            return ToolOutput::ok("nothing new");
        };
        if self.alive.world.has(Bug::OutcomeBeforeEffect) {
            return self.promise(op, args, ctx);
        }
        let output = self.act(op, &args, ctx).await;
        let lost = output.how == Returned::Unknown && self.spec.repeat == Repeat::Never;
        if lost && self.alive.world.has(Bug::RetryOfAnIrreversibleCall) {
            return self.act(op, &args, ctx).await;
        }
        output
    }

    async fn undo(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        self.alive.takes(1, 3000).await;
        if self.alive.strikes(150, "undo meets trouble", &about(ctx)) {
            return self.away().await;
        }
        if self.alive.strikes(120, "undo does not work", &about(ctx)) {
            return ToolOutput::error("the counter takes nothing back");
        }
        if self.alive.strikes(30, "undo hangs", &about(ctx)) {
            tokio::time::sleep(HANG).await;
        }
        self.alive.pass(Point::EffectBefore).await;
        if !self.give_back(&args, ctx).await {
            return ToolOutput::error("this worker's epoch is stale");
        }
        self.alive.pass(Point::EffectAfter).await;
        if self.alive.strikes(100, "reply lost after the undo", &about(ctx)) {
            return unknown();
        }
        ToolOutput::ok("given back")
    }

    async fn probe(&self, args: Value, ctx: &CallContext) -> Probed {
        self.alive.takes(1, 2000).await;
        self.alive.pass(Point::Probe).await;
        let Some(op) = self.op else { return Probed::Unknown };
        if self.alive.strikes(60, "probe cannot tell", &about(ctx)) {
            return Probed::Unknown;
        }
        let caller = self.caller(&args, ctx);
        let moment = self.alive.moment(&ctx.run).await;
        let mut state = self.alive.world.lock();
        let found = state.outside.look(op, &caller, &args, moment);
        state.count("probe", &format!("{} {found:?}", about(ctx)));
        match found {
            None => Probed::Unknown,
            Some(None) => Probed::DidNotHappen,
            Some(Some(result)) => Probed::Happened(result),
        }
    }
}

impl SimTool {
    async fn act(&self, op: Operation, args: &Value, ctx: &CallContext) -> ToolOutput {
        self.alive.takes(1, 3000).await;
        if let Some(early) = self.trouble_before(ctx).await {
            return early;
        }
        self.alive.pass(Point::EffectBefore).await;
        let Some(result) = self.commit(op, args, ctx).await else {
            return ToolOutput::error("this worker's epoch is stale");
        };
        self.alive.pass(Point::EffectAfter).await;
        if self.alive.world.has(Bug::TroubleAfterTheEffect) {
            return self.away().await;
        }
        if self.alive.strikes(70, "reply lost after the effect", &about(ctx)) {
            return unknown();
        }
        if self.alive.strikes(25, "hangs after the effect", &about(ctx)) {
            tokio::time::sleep(HANG).await;
        }
        if self.alive.strikes(12, "tool code panics after the effect", &about(ctx)) {
            std::panic::resume_unwind(Box::new("simulated"));
        }
        self.alive.takes(0, 300).await;
        ToolOutput::ok(result)
    }

    /// Nothing happened; sometimes it says how long to wait, sometimes for too long.
    async fn away(&self) -> ToolOutput {
        self.alive.takes(1, 200).await;
        let mut state = self.alive.world.lock();
        let wait = match state.faults.below(10) {
            0..=4 => None,
            5..=8 => Some(state.faults.between(100, 20_000)),
            _ => Some(state.faults.between(120_001, 900_000)),
        };
        ToolOutput::trouble("the counter is closed for now", wait.map(Duration::from_millis))
    }

    async fn trouble_before(&self, ctx: &CallContext) -> Option<ToolOutput> {
        if self.alive.strikes(50, "tool error", &about(ctx)) {
            return Some(ToolOutput::error("the counter is closed"));
        }
        if self.alive.strikes(30, "reply lost before the effect", &about(ctx)) {
            return Some(unknown());
        }
        if self.alive.strikes(20, "hangs before the effect", &about(ctx)) {
            tokio::time::sleep(HANG).await;
        }
        if self.alive.strikes(12, "tool code panics before the effect", &about(ctx)) {
            if self.alive.world.has(Bug::PanicSwallowed) {
                return Some(ToolOutput::ok(""));
            }
            std::panic::resume_unwind(Box::new("simulated"));
        }
        None
    }

    async fn commit(&self, op: Operation, args: &Value, ctx: &CallContext) -> Option<String> {
        let caller = self.caller(args, ctx);
        let moment = self.alive.moment(&ctx.run).await;
        let mut state = self.alive.world.lock();
        let result = state.outside.act(op, &caller, args, moment);
        let what = if result.is_some() { "effect" } else { "stale worker refused outside" };
        state.count(what, &format!("{} {} {moment:?}", op.word(), about(ctx)));
        result
    }

    /// Gives back what the call took; false for a stale worker.
    async fn give_back(&self, args: &Value, ctx: &CallContext) -> bool {
        let of = args.get("of").and_then(Value::as_str).unwrap_or_default();
        let mut caller = self.caller(args, ctx);
        let moment = self.alive.moment(&ctx.run).await;
        let mut state = self.alive.world.lock();
        if self.alive.world.has(Bug::UndoForgotten) {
            return true;
        }
        let found = state.outside.release(of, &caller, args, moment);
        if self.alive.world.has(Bug::UndoDoubled) {
            caller.key = args_hash(&json!(["again", caller.key]));
            state.outside.release(of, &caller, args, moment);
        }
        state.count("undo", &format!("{} {found:?} {moment:?}", about(ctx)));
        found.is_some()
    }

    fn caller(&self, args: &Value, ctx: &CallContext) -> Caller {
        let key = if self.alive.world.has(Bug::KeyChosenByTheModel) {
            args_hash(args)
        } else if self.alive.world.has(Bug::RetryWithANewKey) && ctx.attempt > 1 {
            args_hash(&json!([ctx.key.to_string(), ctx.attempt]))
        } else {
            ctx.key.to_string()
        };
        Caller {
            run: ctx.run.to_string(),
            action: ctx.action.to_string(),
            key,
            epoch: ctx.epoch,
            attempt: u64::from(ctx.attempt),
        }
    }

    /// The seeded bug: says it is done, and does it later.
    fn promise(&self, op: Operation, args: Value, ctx: &CallContext) -> ToolOutput {
        let later = Self { alive: self.alive.clone(), spec: self.spec.clone(), op: self.op };
        let ctx = ctx.clone();
        tokio::spawn(async move {
            later.alive.takes(500, 5000).await;
            later.alive.pass(Point::EffectBefore).await;
            later.commit(op, &args, &ctx).await
        });
        ToolOutput::ok("it will be done")
    }
}

fn unknown() -> ToolOutput {
    ToolOutput { how: Returned::Unknown, text: "the line went dead".into(), spent: None }
}

fn about(ctx: &CallContext) -> String {
    format!("{} {} epoch {} attempt {}", ctx.run, ctx.action, ctx.epoch, ctx.attempt)
}
