//! The submission of a scenario: a task with its limits, and a tool of every kind.

use bowline_core::budget::{Limits, Price, UNLIMITED};
use bowline_core::event::Event;
use bowline_core::id::{SubtaskId, ToolName};
use bowline_core::plan::{Node, Plan, Subtask};
use bowline_core::provenance::Digest;
use bowline_core::quality::{Check, CheckHow};
use bowline_core::task::{OnFailure, Submission, Task, Workspace, WorkspaceMode};
use bowline_core::tool::{Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_core::undo::{How, Undo};

use crate::menu::Say;
use crate::scenario::Scenario;

type Row = (&'static str, Touch, Repeat, Consent, bool, bool);

/// Name, touch, repeat, consent, whether it has a probe, whether it costs money.
const TOOLS: [Row; 7] = [
    ("look", Touch::Read, Repeat::Freely, Consent::NotNeeded, false, false),
    ("put", Touch::Exec, Repeat::WithSameKey, Consent::NotNeeded, false, true),
    ("pay", Touch::Exec, Repeat::Never, Consent::NotNeeded, false, true),
    ("send", Touch::Exec, Repeat::Never, Consent::NotNeeded, true, false),
    ("wipe", Touch::Exec, Repeat::Never, Consent::Ask, false, false),
    ("book", Touch::Exec, Repeat::WithSameKey, Consent::NotNeeded, false, false),
    ("write", Touch::Write, Repeat::WithSameKey, Consent::NotNeeded, false, true),
];
/// How long a question stays open: longer than any back-off.
const APPROVAL_MS: u64 = 600_000;

/// The first event of a run of this scenario.
pub(crate) fn submitted(scenario: &Scenario) -> Option<Event> {
    let tools: Option<Vec<ToolSpec>> =
        TOOLS.into_iter().filter(|row| is_used(scenario, row.0)).map(|row| tool(row, scenario)).collect();
    Some(Event::Submitted(Box::new(Submission {
        task: task(scenario)?,
        tools: tools?,
        key: None,
        seed: "00000000000000ff".into(),
        price: Price { input: 1_000_000, output: 1_000_000, ..Price::default() },
        fingerprint: Digest::ZERO,
        parent: None,
        learned: None,
        calibration: None,
        novel: false,
        rates: Default::default(),
        critic_price: None,
        prices: Default::default(),
        contexts: Default::default(),
    })))
}

fn is_used(scenario: &Scenario, tool: &str) -> bool {
    scenario.says.iter().any(|say| match say {
        Say::Call(tools) => tools.contains(&tool),
        Say::Cut | Say::Refuse => tool == "pay",
        Say::Answer | Say::GiveUp | Say::Away | Say::Gone | Say::Diagnose => false,
    })
}

fn tool(row: Row, scenario: &Scenario) -> Option<ToolSpec> {
    let (name, touch, repeat, consent, probes, costs) = row;
    let cost = if costs { scenario.cost } else { 0 };
    let invocation = Invocation { attempts: Some(2), cost_micros: Some(cost), ..Invocation::default() };
    Some(ToolSpec {
        name: ToolName::parse(name).ok()?,
        description: name.into(),
        schema: serde_json::json!({}),
        touch,
        repeat,
        consent,
        probes,
        timeout_ms: 1000,
        effect: None,
        needs: None,
        given: false,
        invocation,
        undo: (name == "book").then(|| Box::new(Undo { how: How::Own, args: None, timeout_ms: None })),
    })
}

fn task(scenario: &Scenario) -> Option<Task> {
    let check = |_| Check {
        part: None,
        name: "tests".into(),
        how: CheckHow::Command { argv: vec!["tests".into()], timeout_ms: 1000 },
    };
    Some(Task {
        goal: "do it".into(),
        model: "scripted:x".into(),
        instructions: None,
        evidence: Vec::new(),
        plan: plan(scenario)?,
        planning: Default::default(),
        control: Default::default(),
        class: None,
        checks: scenario.tests.first().map(check).into_iter().collect(),
        repair: Default::default(),
        review: scenario.review,
        critic: None,
        routes: Default::default(),
        standards: Default::default(),
        on_failure: OnFailure::Rollback,
        memory: None,
        on_alert: (scenario.undos > 0).then(|| vec!["page".into()]),
        limits: limits(scenario),
        guard: Default::default(),
        tools: Vec::new(),
        workspace: Workspace { path: "w".into(), mode: WorkspaceMode::InPlace },
        sandbox: Default::default(),
        network: Default::default(),
        privacy: Default::default(),
        models: Default::default(),
        agent: None,
    })
}

/// `Some(None)`: the task brings no plan.
fn plan(scenario: &Scenario) -> Option<Option<Plan>> {
    if scenario.subtasks.is_empty() {
        return Some(None);
    }
    if scenario.ways {
        return ways().map(Some);
    }
    let subtask = |id: &&str| Some(Subtask::new(SubtaskId::parse(id).ok()?, format!("part {id}")).into());
    let subtasks: Option<Vec<Node>> = scenario.subtasks.iter().map(subtask).collect();
    Plan::new(subtasks?).ok().map(Some)
}

/// Two ways, the first in two parts; then something, if a condition holds.
fn ways() -> Option<Plan> {
    serde_json::from_value(serde_json::json!([
        { "id": "get", "branches": [
            { "nodes": [{ "id": "a", "goal": "one half" }, { "id": "b", "goal": "other half" }] },
            { "nodes": [{ "id": "c", "goal": "otherwise" }] },
        ] },
        { "id": "go", "rule": { "when": { "of": "get", "test": { "is": "done" } } },
          "branches": [{ "nodes": [{ "id": "d", "goal": "go on" }] }] },
    ]))
    .ok()
}

fn limits(scenario: &Scenario) -> Limits {
    Limits {
        steps: scenario.steps,
        tool_calls: scenario.calls,
        repairs: scenario.repairs,
        micros: scenario.micros,
        active_ms: scenario.active_ms.unwrap_or(UNLIMITED),
        repair_ms: UNLIMITED,
        repair_percent: 100,
        parallel: 2,
        truncations: 2,
        attempts: 2,
        output_tokens: 16,
        approval_ms: APPROVAL_MS,
        ..Limits::default()
    }
}
