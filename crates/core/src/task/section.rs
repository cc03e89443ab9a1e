//! Which keys a task file knows, and where each belongs.

use super::each;
use super::problem::{Problems, shown_key};
use super::{
    control, guard, limits, memory, models, network, planning, renamed, suggest, undo, verification,
};
use crate::plan::{method_parse, parse as plan};

/// The keys at the top of an agent manifest.
const MANIFEST: [&str; 18] = [
    "version",
    "name",
    "release",
    "description",
    "extends",
    "model",
    "models",
    "instructions",
    "privacy",
    "tools",
    "tool",
    "mcp",
    "capabilities",
    "gates",
    "secrets",
    "sandbox",
    "limits",
    "guard",
];

/// The keys at the top of a task file.
const TOP: [&str; 37] = [
    "version",
    "goal",
    "agent",
    "model",
    "models",
    "instructions",
    "evidence",
    "each",
    "repair",
    "review",
    "on_failure",
    "on_alert",
    "tools",
    "workspace",
    "sandbox",
    "network",
    "privacy",
    "output",
    "check",
    "tool",
    "plan",
    "planning",
    "method",
    "limits",
    "guard",
    "control",
    "class",
    "critic",
    "fallbacks",
    "ladder",
    "escalate",
    "quality",
    "rubric",
    "claims",
    "edge_cases",
    "consistency",
    "memory",
];

/// A table of the task file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Everything above the first table.
    Top,
    /// `[workspace]`
    Workspace,
    /// `[sandbox]`
    Sandbox,
    /// `[network]`
    Network,
    /// `[output]`
    Output,
    /// `[[check]]`
    Check,
    /// `[each]`
    Each,
    /// `[quality]`
    Quality,
    /// `[rubric]`
    Rubric,
    /// `[[rubric.dimension]]`
    Dimension,
    /// `[claims]`
    Claims,
    /// `[edge_cases]`
    EdgeCases,
    /// `[consistency]`
    Consistency,
    /// `[memory]`
    Memory,
    /// `[[tool]]`
    Tool,
    /// `undo` of a tool.
    Undo,
    /// `probe` of `undo`.
    UndoProbe,
    /// `[[plan]]`
    Plan,
    /// `[[plan.branch]]`
    Branch,
    /// `when` of `[[plan]]`
    When,
    /// `[planning]`
    Planning,
    /// `[[method]]`
    Method,
    /// `[[method.step]]`
    Step,
    /// `[limits]`
    Limits,
    /// `[guard]`
    Guard,
    /// `[control]`
    Control,
    /// The top of an agent manifest.
    Manifest,
    /// `[capabilities]` of a manifest.
    Capabilities,
    /// `[gates]` of a manifest.
    Gates,
    /// One entry of `[secrets]` of a manifest.
    Secret,
    /// `[[mcp]]` of a manifest.
    Mcp,
    /// `[[mcp.tool]]` of a manifest.
    McpTool,
    /// A variable or header of a server.
    Given,
    /// `[models.NAME]`, of a task or a manifest.
    Model,
    /// `price` of `[models.NAME]`.
    ModelPrice,
}

impl Section {
    /// Where a key may belong. Methods and models share their words with other tables, so
    /// nobody is sent there.
    const ALL: [Self; 29] = [
        Self::Top,
        Self::Workspace,
        Self::Sandbox,
        Self::Network,
        Self::Output,
        Self::Check,
        Self::Each,
        Self::Quality,
        Self::Rubric,
        Self::Dimension,
        Self::Claims,
        Self::EdgeCases,
        Self::Consistency,
        Self::Memory,
        Self::Tool,
        Self::Limits,
        Self::Guard,
        Self::Plan,
        Self::Branch,
        Self::When,
        Self::Planning,
        Self::Control,
        Self::Manifest,
        Self::Capabilities,
        Self::Gates,
        Self::Secret,
        Self::Mcp,
        Self::McpTool,
        Self::Given,
    ];

    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Top => &TOP,
            Self::Workspace => &["path", "mode"],
            Self::Sandbox => &["read", "write"],
            Self::Network => &network::KEYS,
            Self::Output => &["schema"],
            Self::Check => &verification::CHECK_KEYS,
            Self::Each => &each::KEYS,
            Self::Quality => &verification::QUALITY_KEYS,
            Self::Rubric => &["aggregate", "asks", "dimension"],
            Self::Dimension => &["name", "about", "weight", "minimum"],
            Self::Claims => &["sources", "threshold"],
            Self::EdgeCases => &["command", "cases", "timeout_seconds"],
            Self::Consistency => &["samples", "by", "agree", "rivals"],
            Self::Memory => &memory::KEYS,
            Self::Tool => &[
                "name",
                "command",
                "description",
                "schema",
                "probe",
                "secrets",
                "consent",
                "repeat",
                "timeout_seconds",
                "effect",
                "class",
                "attempts",
                "concurrency",
                "cost_usd",
                "output_bytes",
                "undo",
                "substitute",
            ],
            Self::Undo => &undo::KEYS,
            Self::UndoProbe => &undo::PROBE_KEYS,
            Self::Plan => &plan::KEYS,
            Self::Branch => &["name", "plan"],
            Self::When => &["of", "is", "contains", "at"],
            Self::Planning => &planning::KEYS,
            Self::Method => &method_parse::METHOD_KEYS,
            Self::Step => &method_parse::STEP_KEYS,
            Self::Limits => &limits::KEYS,
            Self::Guard => &guard::KEYS,
            Self::Control => &control::KEYS,
            Self::Manifest => &MANIFEST,
            Self::Capabilities => {
                &["file_read", "file_write", "shell", "network", "mcp", "inference", "spawn"]
            }
            Self::Gates => &["tainted", "secrets", "out_of_policy"],
            Self::Secret => &["env", "file"],
            Self::Mcp => &["name", "command", "url", "env", "headers", "timeout_seconds", "tools", "tool"],
            Self::McpTool => &["name", "touch", "repeat", "consent", "effect", "timeout_seconds", "undo"],
            Self::Given => &["env", "file", "prefix"],
            Self::Model => &models::KEYS,
            Self::ModelPrice => &models::PRICE_KEYS,
        }
    }

    /// How it is written in the file.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Top => "the top of the file",
            Self::Workspace => "`[workspace]`",
            Self::Sandbox => "`[sandbox]`",
            Self::Network => "`[network]`",
            Self::Output => "`[output]`",
            Self::Check => "`[[check]]`",
            Self::Each => "`[each]`",
            Self::Quality => "`[quality]`",
            Self::Rubric => "`[rubric]`",
            Self::Dimension => "`[[rubric.dimension]]`",
            Self::Claims => "`[claims]`",
            Self::EdgeCases => "`[edge_cases]`",
            Self::Consistency => "`[consistency]`",
            Self::Memory => "`[memory]`",
            Self::Tool => "`[[tool]]`",
            Self::Undo => "`undo` of a tool",
            Self::UndoProbe => "`probe` of `undo`",
            Self::Plan => "`[[plan]]`",
            Self::Branch => "`[[plan.branch]]`",
            Self::When => "`when` of `[[plan]]`",
            Self::Planning => "`[planning]`",
            Self::Method => "`[[method]]`",
            Self::Step => "`[[method.step]]`",
            Self::Limits => "`[limits]`",
            Self::Guard => "`[guard]`",
            Self::Control => "`[control]`",
            Self::Manifest => "the top of an agent manifest",
            Self::Capabilities => "`[capabilities]` of an agent manifest",
            Self::Gates => "`[gates]` of an agent manifest",
            Self::Secret => "a secret of an agent manifest",
            Self::Mcp => "`[[mcp]]` of an agent manifest",
            Self::McpTool => "`[[mcp.tool]]` of an agent manifest",
            Self::Given => "a variable or header of a server",
            Self::Model => "`[models.NAME]`",
            Self::ModelPrice => "`price` of `[models.NAME]`",
        }
    }

    fn whereabouts(self) -> String {
        let at = matches!(self, Self::Top | Self::Manifest);
        format!("{} {}", if at { "at" } else { "in" }, self.header())
    }

    /// Stands in a manifest and never in a task.
    fn is_of_manifest(self) -> bool {
        match self {
            Self::Manifest
            | Self::Capabilities
            | Self::Gates
            | Self::Secret
            | Self::Mcp
            | Self::McpTool
            | Self::Given => true,
            Self::Top
            | Self::Workspace
            | Self::Sandbox
            | Self::Network
            | Self::Output
            | Self::Check
            | Self::Each
            | Self::Quality
            | Self::Rubric
            | Self::Dimension
            | Self::Claims
            | Self::EdgeCases
            | Self::Consistency
            | Self::Memory
            | Self::Tool
            | Self::Undo
            | Self::UndoProbe
            | Self::Plan
            | Self::Branch
            | Self::When
            | Self::Planning
            | Self::Method
            | Self::Step
            | Self::Limits
            | Self::Guard
            | Self::Control
            | Self::Model
            | Self::ModelPrice => false,
        }
    }

    /// Stands in a task and never in a manifest.
    fn is_of_task(self) -> bool {
        let of_plans = [Self::Plan, Self::Branch, Self::When, Self::Planning, Self::Method, Self::Step];
        let of_work =
            [Self::Top, Self::Each, Self::Workspace, Self::Output, Self::Check, Self::Control, Self::Memory];
        let of_checks =
            [Self::Quality, Self::Rubric, Self::Dimension, Self::Claims, Self::EdgeCases, Self::Consistency];
        of_plans.contains(&self) || of_work.contains(&self) || of_checks.contains(&self)
    }

    fn is_foreign_to(self, from: Self) -> bool {
        if from.is_of_manifest() { self.is_of_task() } else { self.is_of_manifest() }
    }

    fn seen_from(self, from: Self) -> String {
        let of_task = if from.is_of_manifest() && self.is_of_task() { " of a task" } else { "" };
        format!("{}{of_task}", self.whereabouts())
    }

    /// Notes a key that does not belong here, with the best guess at what was meant.
    pub(crate) fn admit(self, key: &str, place: &str, problems: &Problems) {
        if self.keys().contains(&key) {
            return;
        }
        if let Some(new) = renamed::new_name(key).filter(|new| self.keys().contains(new)) {
            problems.note(place, format!("`{key}` is called `{new}` now"), format!("write `{new}`, once"));
            return;
        }
        let elsewhere = || Self::ALL.into_iter().filter(|section| *section != self);
        let mut homes: Vec<Self> = elsewhere().filter(|home| home.keys().contains(&key)).collect();
        // What has a home in this kind of file is not sent to the other.
        if homes.iter().any(|home| !home.is_foreign_to(self)) {
            homes.retain(|home| !home.is_foreign_to(self));
        }
        let homes: Vec<String> = homes.into_iter().map(|home| home.seen_from(self)).collect();
        if !homes.is_empty() {
            let key = shown_key(key);
            problems.note(place, format!("`{key}` belongs {}", homes.join(" or ")), "move it there");
            return;
        }
        let remedy = if let Some(near) = suggest::nearest(key, self.keys().iter().copied()) {
            format!("did you mean `{near}`?")
        } else if let Some((near, home)) = elsewhere()
            .find_map(|home| suggest::nearest(key, home.keys().iter().copied()).map(|near| (near, home)))
        {
            format!("did you mean `{near}` {}?", home.seen_from(self))
        } else {
            format!("remove it; {} knows {}", self.header(), self.keys().join(", "))
        };
        problems.note(place, format!("`{}` is not known {}", shown_key(key), self.whereabouts()), remedy);
    }
}
