//! Submissions to test with: a task with the knobs a test turns, and tools of
//! every class.

use serde_json::json;

use crate::agent::{Agent, Capabilities, Gates};
use crate::budget::{Limits, Price};
use crate::id::{SubtaskId, ToolName};
use crate::plan::{Plan, Subtask};
use crate::provenance::Digest;
use crate::quality::{Check, CheckHow};
use crate::task::{
    Memory, OnFailure, Planner, Planning, Repair, Review, Submission, Task, Workspace, WorkspaceMode,
};
use crate::tool::{Consent, Invocation, Need, Repeat, ToolSpec, Touch};
use crate::undo::{How, Undo};

/// Name, touch, repeat, consent, whether it has a probe.
const TOOLS: [(&str, Touch, Repeat, Consent, bool); 11] = [
    ("read", Touch::Read, Repeat::Freely, Consent::NotNeeded, false),
    ("peek", Touch::Read, Repeat::Freely, Consent::Ask, false),
    ("write", Touch::Write, Repeat::WithSameKey, Consent::NotNeeded, false),
    ("stamp", Touch::Write, Repeat::Never, Consent::NotNeeded, false),
    ("build", Touch::Exec, Repeat::Freely, Consent::NotNeeded, false),
    ("put", Touch::Exec, Repeat::WithSameKey, Consent::NotNeeded, false),
    ("pay", Touch::Exec, Repeat::Never, Consent::NotNeeded, false),
    ("send", Touch::Exec, Repeat::Never, Consent::NotNeeded, true),
    ("wipe", Touch::Exec, Repeat::Never, Consent::Ask, false),
    ("ask", Touch::Read, Repeat::Freely, Consent::NotNeeded, false),
    ("book", Touch::Exec, Repeat::Never, Consent::NotNeeded, false),
];

pub(super) fn subtask_id(raw: &str) -> SubtaskId {
    SubtaskId::parse(raw).unwrap()
}

/// A task without checks that nobody reviews, so that a test adds what it is about.
pub(super) fn task() -> Setup {
    let tools = TOOLS.map(|(name, touch, repeat, consent, probes)| ToolSpec {
        name: ToolName::parse(name).unwrap(),
        description: format!("tool {name}"),
        schema: json!({ "type": "object" }),
        touch,
        repeat,
        consent,
        probes,
        timeout_ms: 1000,
        effect: None,
        // The one that asks a model.
        needs: (name == "ask").then_some(Need::Inference),
        given: false,
        invocation: Default::default(),
        // The one that undoes its calls.
        undo: (name == "book").then(|| Box::new(Undo { how: How::Own, args: None, timeout_ms: None })),
    });
    let task = Task {
        goal: "mend it".into(),
        model: "scripted:test".into(),
        instructions: None,
        evidence: Vec::new(),
        plan: None,
        planning: Default::default(),
        checks: Vec::new(),
        repair: Default::default(),
        review: Review::Never,
        critic: None,
        routes: Default::default(),
        standards: Default::default(),
        on_failure: OnFailure::Rollback,
        on_alert: None,
        memory: None,
        limits: Limits::default(),
        guard: crate::guard::loops::Settings::default(),
        control: crate::control::Settings::default(),
        class: None,
        tools: Vec::new(),
        workspace: Workspace { path: "w".into(), mode: WorkspaceMode::InPlace },
        sandbox: Default::default(),
        network: Default::default(),
        privacy: Default::default(),
        models: Default::default(),
        agent: None,
    };
    Setup(Submission {
        task,
        tools: tools.into(),
        key: None,
        seed: "00000000000000ff".into(),
        price: Price { input: 1_000_000, output: 2_000_000, ..Price::default() },
        fingerprint: Digest::ZERO,
        learned: None,
        calibration: None,
        novel: false,
        rates: Default::default(),
        critic_price: None,
        prices: Default::default(),
        contexts: Default::default(),
        parent: None,
    })
}

/// A submission in the making.
#[derive(Clone)]
pub(super) struct Setup(pub(super) Submission);

impl Setup {
    /// Sub-tasks and what each waits for, as `"a; b < a"`.
    pub(super) fn plan(mut self, rows: &str) -> Self {
        let subtasks = rows.split(';').map(|row| {
            let (id, after) = row.split_once('<').unwrap_or((row, ""));
            let after = after.split_whitespace().map(subtask_id).collect();
            let part = Subtask::new(subtask_id(id.trim()), format!("part {}", id.trim()));
            Subtask { after, ..part }.into()
        });
        self.0.task.plan = Some(Plan::new(subtasks.collect()).unwrap());
        self
    }

    /// A plan as a task file has it, in JSON.
    pub(super) fn nodes(mut self, nodes: serde_json::Value) -> Self {
        self.0.task.plan = Some(serde_json::from_value(nodes).unwrap());
        self
    }

    /// The model plans, and so often anew.
    pub(super) fn planned_by_the_model(mut self, replans: u32) -> Self {
        self.0.task.planning = Planning { by: Planner::Model, replans, ..Planning::default() };
        self
    }

    /// Another check: `schema` or the name of a command.
    pub(super) fn check(mut self, name: &str) -> Self {
        let how = match name {
            "schema" => CheckHow::Schema(json!({ "type": "object" })),
            command => CheckHow::Command { argv: vec![command.into()], timeout_ms: 1000 },
        };
        self.0.task.checks.push(Check { name: name.into(), how, part: None });
        self
    }

    /// Another check, made like this.
    pub(super) fn checked_by(mut self, name: &str, how: CheckHow) -> Self {
        self.0.task.checks.push(Check { name: name.into(), how, part: None });
        self
    }

    pub(super) fn review(mut self, review: Review) -> Self {
        self.0.task.review = review;
        self
    }

    /// It works apart, and its changes are applied when it commits.
    pub(super) fn isolated(mut self) -> Self {
        self.0.task.workspace.mode = WorkspaceMode::Isolated;
        self
    }

    /// A program takes what it commits.
    pub(super) fn remembered(mut self) -> Self {
        self.0.task.memory = Some(Memory { promote: vec!["remember".into()], timeout_ms: None });
        self
    }

    /// It works on a copy.
    pub(super) fn copied(mut self) -> Self {
        self.0.task.workspace.mode = WorkspaceMode::Copy;
        self
    }

    pub(super) fn afresh(mut self) -> Self {
        self.0.task.repair = Repair::Afresh;
        self
    }

    /// An agent that may do everything, with these gates.
    pub(super) fn gates(mut self, gates: Gates) -> Self {
        let capabilities = Capabilities::default();
        self.0.task.agent = Some(Box::new(Agent {
            name: "ada".into(),
            version: None,
            description: None,
            privacy: Default::default(),
            capabilities,
            servers: Vec::new(),
            gates,
            secrets: Default::default(),
        }));
        self
    }

    pub(super) fn keep(mut self) -> Self {
        self.0.task.on_failure = OnFailure::Keep;
        self
    }

    pub(super) fn control(mut self, change: impl FnOnce(&mut crate::control::Settings)) -> Self {
        change(&mut self.0.task.control);
        self
    }

    pub(super) fn evidence(mut self, paths: &[&str]) -> Self {
        self.0.task.evidence = paths.iter().map(|path| (*path).into()).collect();
        self
    }

    /// How one of the tools is called.
    pub(super) fn invocation(mut self, tool: &str, invocation: Invocation) -> Self {
        let spec = self.0.tools.iter_mut().find(|spec| spec.name.as_str() == tool).unwrap();
        spec.invocation = invocation;
        self
    }

    pub(super) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.0.task.limits);
        self
    }
}
