//! What somebody wants, validated.
//!
//! A [`Task`] holds no setting that was not checked: [`parse`] is the way in, and
//! reports every problem of a raw task at once ([`BadTask`]). Nothing here opens a
//! file; whoever reads TOML, YAML or JSON hands over a [`serde_json::Value`].
//!
//! # The task file
//!
//! Shown as TOML; YAML and JSON use the same keys (`check`, `tool` and `plan` are
//! lists of tables). Only `goal` and `model` are required.
//!
//! ```toml
//! version = 1                          # of the form of this file; may be left out
//! goal = "Make the tests pass"         # not blank, at most 64 KiB
//! model = "scripted:model.yaml"        # kind:argument, or the name of a table of [models]
//! instructions = "Keep it short."      # at most 64 KiB
//! evidence = ["calc.py"]               # read before acting; below the workspace, no `..`; at most 128
//! each = "invoices/*.txt"              # one task for each of these files; {file} anywhere is its path
//! repair = "fix"                       # or "from-scratch": what is done about an output that failed
//! review = "when-unsure"               # or "when-unchecked", "always", "never": who agrees to the output
//! critic = "scripted:critic.yaml"      # the model that judges and diagnoses; default: the task's own
//! fallbacks = ["scripted:b.yaml"]      # models asked in this order when that one cannot be; at most 8
//! ladder = ["scripted:big.yaml"]       # stronger models, the weakest first, for what it could not mend; at most 8
//! escalate = ["bigger-model"]          # what is tried once repairs came to nothing, of "bigger-model", "re-decompose",
//!                                      #   "partial", "person", in this order; see docs/verification.md
//! on_failure = "rollback"              # or "keep": what happens to written files and calls that can be undone
//! on_alert = ["./page-me"]             # run when something could not be undone; see docs/undo.md
//! privacy = "standard"                 # or "private": no `*` among the hosts; or "sovereign": no network at all
//! tools = ["read_file", "edit_file"]   # built-in tools as they are; at most 128
//! class = "unit-tests"                 # what repairs did in other tasks of it is expected here; at most 64 bytes
//!
//! [workspace]
//! path = "project"                     # default "."
//! mode = "in-place"                    # or "copy"
//!
//! [sandbox]                            # or sandbox = "none": programs may do what you may do; or "if-available"
//! read = ["/opt/toolchain"]            # what programs may read besides the workspace and the system; at most 64
//! write = ["/var/cache/build"]         # what they may also write; at most 64
//!
//! [network]                            # what the tools and caged programs may reach; nothing by default
//! hosts = ["api.example.com", "*.example.org:8443"]   # name, *.zone, address:port, or "*"; at most 1024
//! schemes = ["https"]                  # default http and https
//! ports = [443]                        # for entries without one; default those of the schemes
//!
//! [models.big]                         # a model by a name of your own: model = "big"; at most 64 (docs/models.md)
//! format = "openai"                    # or "openai-responses", "anthropic", "gemini", "ollama"
//! name = "gpt-5"                       # what the server calls it
//! base_url = "https://llm.example/v1"  # default: the format's own provider
//! key_env = "BIG_KEY"                  # the variable that holds its key; none at another address
//! price = { input = 1.25, output = 10, cached = 0.125 }   # dollars for a million tokens; or free = true
//! context_tokens = 400000              # from 128 to 100000000
//! output_tokens = 128000               # from 1 to 100000000
//! privacy = "remote"                   # or "local", which is believed of a loopback address only
//! stream = true                        # or false, for a server that cannot
//! likelihood = true                    # ask how likely it finds its words; not by default, and not of "anthropic"
//!
//! [memory]                             # who takes what is committed; see docs/memory.md
//! promote = ["./remember"]             # gets it as JSON on standard input, at least once
//! timeout_seconds = 60                 # at most 3600
//!
//! [output]
//! schema = { type = "object" }         # becomes the first check, "output schema"; at most 64 KiB, 64 levels
//!
//! [[check]]                            # at most 128, each with a name of its own
//! name = "tests"
//! command = ["python3", "-m", "unittest"]
//! timeout_seconds = 120                # default 120, at most 3600
//! tests = "unit"                       # or "integration", "behavioural", "regression": read it as a test report
//! part = "parser"                      # the sub-task of `plan` it is about; only with `command` or `file`
//! report = "junit.xml"                 # only with `tests`: the report is in this file of the workspace
//!
//! [[check]]                            # a statement instead of a command, about the output or a file
//! name = "total"
//! file = "invoice.json"                # default: the output
//! at = "/total"                        # JSON pointer; or exists = true, or matches or lacks = "regular expression"
//! is = 12.5                            # at most 16 KiB of JSON
//! within = 0.01                        # how far a number may be off
//!
//! [rubric]                             # the critic scores the output; see docs/verification.md
//! aggregate = 0.85                     # what the weighted mean must reach
//! asks = 1                             # at most 7: how often it is asked; the median counts
//! [[rubric.dimension]]                 # at most 16; default: correct, complete, coherent and safe
//! name = "correct"                     # one of those four has a gate of that name
//! about = "0: wrong. 1: right."        # at most 2 KiB
//! weight = 1.0                         # together 1
//! minimum = 0.8                        # never above its gate
//!
//! [claims]                             # the critic holds what the output states against evidence
//! sources = ["notes.md"]               # default: all of `evidence`
//! threshold = 0.8
//!
//! [edge_cases]                         # the critic looks for inputs that break the output; they are run
//! command = ["python3", "solve.py"]    # gets the input, prints what comes out
//! cases = 5                            # at most 16
//! timeout_seconds = 10                 # for each
//!
//! [consistency]                        # other answers to the same task must agree
//! samples = 3                          # or 5, 7; or agree = 2: so many answers that hold must be the same;
//!                                      # or rivals = 1: so many others must not hold as well
//! by = "vote"                          # or "similarity", for free text
//!
//! [quality]                            # the gates, from 0 to 1; lower than these only with looser = true
//! correct = 0.85
//! complete = 0.80
//! coherent = 0.80
//! safe = 0.98
//! tests = 1.0                          # share of tests, commands and statements that hold
//! consistent = 0.70
//! auto = 0.95                          # from this confidence on nobody is asked
//! review = 0.70                        # below it the output goes back to repair
//! looser = false
//!
//! [[tool]]                             # a built-in tool with other settings, or a command; at most 128
//! name = "pay"
//! command = ["./pay"]                  # makes it a command tool
//! description = "Pays an invoice."     # required with command, at most 16 KiB
//! schema = { type = "object" }         # required with command: its arguments
//! probe = ["./paid"]                   # only with command: tells whether a call happened
//! consent = "ask"                      # or "not-needed"
//! repeat = "never"                     # or "freely", "with-same-key"
//! timeout_seconds = 30                 # at most 3600
//! class = "irreversible"               # or "pure", "reversible", "compensable"
//! attempts = 1                         # at most 10; 3 unless it must not be repeated
//! concurrency = 8                      # calls of it in flight; at most 64
//! cost_usd = 0.01                      # of one attempt; from 0 to 1000000
//! output_bytes = 16384                 # from 256 to 1048576
//! substitute = "pay_by_post"           # another tool, which the model is told of while this one is not there
//! [tool.undo]                          # how a call of it is undone; see docs/undo.md
//! command = ["./refund", "{result/id}"]  # or tool = "refund", another tool of the task; doing it twice is as good as once
//! args = { amount = "{args/amount}" }  # what it gets, drawn from the call; at most 16 KiB
//! probe = ["./refunded"]               # undone already? or { tool = "look", args = {}, is = "gone" } with `tool`
//! timeout_seconds = 30                 # at most 3600
//!
//! [[plan]]                             # a sub-task; at most 10000 nodes in all, those in branches included
//! id = "read"                          # not "critique", not beginning with "repair-", "critique-", "plan-" or "judge-"
//! goal = "Bug or wish? One word."      # at most 16 KiB
//! after = []                           # ids of what comes first; at most 256
//! priority = 0                         # what may start is started highest first; from -1000000 to 1000000
//! optional = false                     # may be left out when the budget is short
//! uses = ["read_file"]                 # tools it needs; at most 64
//! needs = ["a report"]                 # what must hold before it; at most 64 of 200 bytes
//! makes = ["the kind is known"]        # what holds after it; likewise
//! breaks = []                          # what no longer holds after it; likewise
//! tokens = 2000                        # what it is expected to cost; at most 1000000000000
//! seconds = 60                         # how long it is expected to take; at most 31536000, a year
//!
//! [[plan]]                             # a choice: branches are tried in turn until one works
//! id = "mend"                          # also `after`, and `priority`, which is added to those in it
//! [[plan.branch]]                      # at most 16; choices may be nested 16 deep
//! name = "small"                       # at most 200 bytes; may be left out
//! [[plan.branch.plan]]                 # all of these are done; they may wait for each other and for what
//! id = "patch"                         #   the choice may wait for, and nobody outside waits for them
//! goal = "Mend the line"
//! [[plan.branch]]
//! [[plan.branch.plan]]
//! id = "rewrite"
//! goal = "Write the function anew"
//!
//! [[plan]]                             # a choice by what an earlier node delivered
//! id = "tell"
//! when = { of = "read", is = "bug" }   # or contains = "bug", or at = "/kind" (JSON pointer) and is = "bug"
//! [[plan.branch]]                      # if so; at most 4 such choices within each other
//! [[plan.branch.plan]]
//! id = "note"
//! goal = "Write the release note"
//! [[plan.branch]]                      # if not; may be left out: then nothing is done
//! [[plan.branch.plan]]
//! id = "answer"
//! goal = "Answer the wish"
//!
//! [planning]                           # where the plan comes from (see `docs/planning.md`)
//! by = "task"                          # the plan given here, or by its methods; or "model": the model makes it
//! replans = 2                          # only with by = "model", from 0 to 16: how often it plans anew what failed
//! start = "ship"                       # the task its methods begin with; at most 128 bytes
//! facts = ["the mirror is up"]         # what holds from the beginning, also for a plan; at most 1024
//!
//! [[method]]                           # at most 1024
//! task = "ship"                        # what it is for; at most 128 bytes
//! name = "as usual"                    # its own among the methods of that task; at most 128 bytes
//! when = ["the mirror is up"]          # what must be sure to hold for it to fit; at most 64
//! unless = []                          # what must be sure not to hold; likewise
//! cost = 0                             # the cheapest that fits comes first; at most 1000000000
//! ordering = "total"                   # or "partial": steps wait for what `after` names only
//! [[method.step]]                      # 1 to 256; a sub-task with the keys of `[[plan]]`, or a task:
//! id = "get"
//! task = "fetch"                       # done by a method of that task
//! with = { what = "the sources" }      # fills {what} in its goals; at most 32 of 4096 bytes
//!
//! [limits]                             # all from 1, except those from 0; "unlimited" where marked *
//! steps = 50                           # * model calls, at most 1000000
//! tool_calls = 100                     # * from 0 to 10000000
//! tokens = 1000000                     # * at most 1000000000000
//! cost_usd = 5.0                       # * from 0 to 1000000000, at most 6 decimals, kept exactly
//! active_seconds = 3600                # * at most 31536000, a year
//! repairs = 4                          # * from 0 to 1000
//! repair_percent = 30                  # * from 0 to 100
//! repair_seconds = 900                 # * at most 31536000
//! context_tokens = 1000000             # * at most 100000000, of one model call; never more than the model takes
//! depth = 3                            # * from 0 to 32
//! agents_alive = 8                     # * from 0 to 1000
//! agents = 32                          # * from 0 to 10000
//! tree_steps = 200                     # * at most 10000000; never below `steps` unless written
//! tools = { read_file = 20 }           # * from 0 to 10000000 for each tool of the task
//! parallel = 4                         # at most 64
//! truncations = 3                      # at most 100
//! attempts = 3                         # at most 100
//! output_tokens = 4096                 # at most 10000000
//! model_seconds = 300                  # at most 86400, a day
//! approval_seconds = 604800            # at most 31536000
//!
//! [control]                            # how repairs are controlled; see docs/control.md
//! setpoint = 1.0                       # the quality that is wanted, from 0 to 1
//! gate = 0.05                          # the error that is small enough, from 0 to 1
//! gain = 0.5                           # what a full repair is believed to mend, above 0 to 1
//! sigma = 0.03                         # the noise of that, from 0 to 1
//! damping = 0.3                        # from 0.2 to 0.5; gains are derived from it, or written:
//! proportional = 1.4                   # from 0 to 100; so are `integral` and `derivative`, by default 0
//! least = 0.1                          # the gentlest and
//! most = 1.0                           # the hardest repair, from 0 to 1
//! stall = 2                            # rounds without progress that are a stall, from 1 to 1000
//! cost_slope = 1.0                     # how much more a full repair costs than a tiny one, from 0 to 100
//! act = "advise"                       # or "obey": halt for a person where more repairs will not do
//! ```
//!
//! A whole number may be written `50.0`, not `50.5`. Commands have 1 to 256 words
//! of at most 8 KiB. Unknown and misplaced keys are refused.

mod control;
pub mod each;
mod explain;
pub(crate) mod field;
pub(crate) mod guard;
mod invocation;
pub(crate) mod limits;
mod memory;
pub(crate) mod models;
mod network;
mod parse;
mod planning;
pub(crate) mod problem;
mod recourse;
mod renamed;
mod routes;
pub(crate) mod section;
pub mod suggest;
#[cfg(test)]
mod tests;
pub(crate) mod undo;
mod verification;
pub(crate) mod version;

pub use explain::explain;
pub use limits::parse_raise;
pub use memory::{Memory, PROMOTE_MS};
pub use models::{Format, ModelChoice, Tariff, Whereabouts};
pub use network::{Network, Scheme};
pub(crate) use parse::{EFFECTS, model_reference, sandbox, tools};
pub use parse::{parse, plain};
pub use planning::{Planner, Planning};
pub use problem::{BadTask, Problem};
pub use recourse::Recourse;
pub use renamed::{FileKind, Renamed, RenamedPart, in_todays_words};
pub use routes::{MODELS_MAX, Routes};
pub use verification::Standards;
pub use version::FILE_VERSION;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::privacy::Privacy;
use crate::agent::{Agent, Gates};
use crate::budget::{Limits, Price};
use crate::control::{Plant, Rates, Settings};
use crate::gate::Calibration;
use crate::guard::{Effect, loops};
use crate::id::{RunId, ToolName};
use crate::plan::Plan;
use crate::provenance::{Digest, canonical_value};
use crate::quality::Check;
use crate::tool::{Consent, Invocation, Repeat, ToolSpec};
use crate::undo::Undo;

/// A validated request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What is wanted, in words.
    pub goal: String,
    /// Which model does it, as `kind:argument` or by its name in `models`.
    pub model: String,
    /// Standing instructions besides the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Files of the workspace that are read before acting.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The plan, when the task brings one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Who plans, and how often.
    #[serde(default, skip_serializing_if = "Planning::is_default")]
    pub planning: Planning,
    /// What must hold before anything is committed, in the order it is looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Which model diagnoses and judges; `None`: the one that works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critic: Option<String>,
    /// Models it may be moved to.
    #[serde(default, skip_serializing_if = "Routes::is_default")]
    pub routes: Routes,
    /// What the output must reach.
    #[serde(default, skip_serializing_if = "Standards::is_default")]
    pub standards: Standards,
    /// What a repair does.
    #[serde(default, skip_serializing_if = "Repair::is_default")]
    pub repair: Repair,
    /// Who agrees to the output.
    pub review: Review,
    /// What happens to what was done when the run fails.
    pub on_failure: OnFailure,
    /// The command that is run when something could not be undone that should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_alert: Option<Vec<String>>,
    /// Who takes what it commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Bounds.
    pub limits: Limits,
    /// When the guard acts on an agent that goes in circles.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guard: loops::Settings,
    /// How repairs are controlled.
    #[serde(default, skip_serializing_if = "is_uncontrolled")]
    pub control: Settings,
    /// The class of tasks it belongs to: what repairs did in others of it says what to
    /// expect of them here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Tools the agent may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolChoice>,
    /// Where it works.
    pub workspace: Workspace,
    /// In what its programs run.
    #[serde(default, skip_serializing_if = "is_plain_cage")]
    pub sandbox: Sandbox,
    /// What it may reach over the network.
    #[serde(default, skip_serializing_if = "Network::is_default")]
    pub network: Network,
    /// How far what it knows may go.
    #[serde(default, skip_serializing_if = "is_standard")]
    pub privacy: Privacy,
    /// Models by names of the task's own, for `model` and `critic`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelChoice>,
    /// Who works on it; `None`: nobody in particular, who may use every tool of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<Agent>>,
}

impl Task {
    /// What happens to calls that are not simply fine.
    #[must_use]
    pub fn gates(&self) -> Gates {
        self.agent.as_ref().map(|agent| agent.gates).unwrap_or_default()
    }
}

/// In what the programs of a task run: its tools and checks that are commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sandbox {
    /// In a cage: the workspace, the system's programs, no network. The default.
    Cage {
        /// Absolute paths they may also read.
        read: Vec<String>,
        /// Absolute paths they may also write.
        write: Vec<String>,
    },
    /// In a cage where the machine has one, else in nothing. For tasks whose programs
    /// are harmless, such as examples that must run everywhere.
    IfAvailable,
    /// In nothing: they may do what the user may do. Must be spelled out.
    None,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::Cage { read: Vec::new(), write: Vec::new() }
    }
}

fn is_standard(privacy: &Privacy) -> bool {
    *privacy == Privacy::Standard
}

fn is_plain_cage(sandbox: &Sandbox) -> bool {
    *sandbox == Sandbox::default()
}

/// Who must agree before an output is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Review {
    /// What passed commits where the run is sure enough of it; else a person is asked.
    /// The default.
    WhenUnsure,
    /// Passing checks commit, however unsure the run is; without checks a person is asked.
    WhenUnchecked,
    /// A person is always asked.
    Always,
    /// Nobody is asked, even if nothing was checked. Must be spelled out.
    Never,
}

/// What a repair does about an output that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// A critic says what is wrong with the output, and it is mended. The default.
    #[default]
    Mend,
    /// The work is done anew, from the same opening and more freely each time, and nobody
    /// diagnoses anything: for models that are too small to make use of a diagnosis.
    Afresh,
}

impl Repair {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What happens to what was done when a run fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It is undone as far as it can be, the last first. The default.
    Rollback,
    /// It stays as it is.
    Keep,
}

/// Where a run works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    /// The folder.
    pub path: String,
    /// On the folder itself, or on a copy.
    pub mode: WorkspaceMode,
}

/// On what a run works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceMode {
    /// The folder itself.
    InPlace,
    /// A copy of its own, made when the run starts.
    Copy,
    /// A copy of its own, whose changes are brought to the folder when the run commits.
    Isolated,
}

fn is_default(settings: &loops::Settings) -> bool {
    *settings == loops::Settings::default()
}

fn is_uncontrolled(settings: &Settings) -> bool {
    *settings == Settings::default()
}

/// A tool as the task asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolChoice {
    /// Its name.
    pub name: String,
    /// A tool of the task's own; `None`: one of the built-in tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandTool>,
    /// Whether a person is asked, where the tool leaves that to the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// What may be done in doubt; never looser than the tool's own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// How long a call may take, where the tool leaves that to the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What repeating a call means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// How it is called.
    #[serde(default, skip_serializing_if = "Invocation::is_default")]
    pub invocation: Invocation,
    /// How a call of it is undone, where the tool does not say so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<Undo>>,
    /// The tool the model is pointed to while this one cannot be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substitute: Option<ToolName>,
}

/// A tool that is a program: arguments as JSON on standard input, result on
/// standard output, idempotency key in `BOWLINE_KEY`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandTool {
    /// Program and arguments; no shell in between.
    pub argv: Vec<String>,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: serde_json::Value,
    /// A program that tells whether a call happened: exit 0 and its result on
    /// standard output, exit 1 if it did not happen, anything else if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Vec<String>>,
    /// Secrets of the agent that the program gets as variables of these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

/// Everything a run starts from; the first event of its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The task.
    pub task: Task,
    /// The tools it gets, as declared at submission.
    pub tools: Vec<ToolSpec>,
    /// The caller's idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Chance for this run: 16 hexadecimal digits.
    pub seed: String,
    /// What the model costs.
    #[serde(default)]
    pub price: Price,
    /// Hash of task and tools: resuming under others needs consent.
    pub fingerprint: Digest,
    /// What repairs did in runs of the same class, as of the submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<Plant>,
    /// What became of outputs of the same class, as of the submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// Nothing of the class was committed lately, though something else was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub novel: bool,
    /// What strategies of repair did in runs of the same class, as of the submission.
    #[serde(default, skip_serializing_if = "Rates::is_empty")]
    pub rates: Rates,
    /// What the critic costs, where it is another model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critic_price: Option<Price>,
    /// What the models cost that it may be moved to, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
    /// Tokens that the models take which say so, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contexts: BTreeMap<String, u64>,
    /// The run that made this one, for an agent below another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
}

impl Submission {
    /// What a task and the tools it gets are recognised by, over restarts and
    /// machines: the hash of their canonical JSON.
    #[must_use]
    pub fn fingerprint_of(task: &Task, tools: &[ToolSpec]) -> Digest {
        // Neither can fail to serialise: no map has a key that is no text.
        let task = serde_json::to_value(task).unwrap_or_default();
        let tools = serde_json::to_value(tools).unwrap_or_default();
        Digest::of_parts(&[
            b"submission",
            canonical_value(&task).as_bytes(),
            canonical_value(&tools).as_bytes(),
        ])
    }
}
