//! What an agent may do: whether one call is allowed, has to wait for a person, or
//! is refused.
//!
//! Pure: the shell hands over what it found out about a call, and the run machine
//! acts on what is decided here, before anything happens. Walls of the operating
//! system stand behind it; this is the place that can say why.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{Agent, Gate, Gates, McpGrant, Paths};
use crate::tool::{Need, ToolSpec, Touch};
use crate::untrusted::taint::Tainted;

/// Why a person is asked about a call that its tool would not ask about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Concern {
    /// A value that only untrusted text has named.
    Tainted(Tainted),
    /// A secret stands in the arguments; it is masked in them.
    Secret {
        /// Its name.
        name: String,
    },
    /// No capability covers it.
    OutOfPolicy {
        /// What is not covered.
        message: String,
    },
}

impl Concern {
    /// In one line, for a person. What came from outside is not escaped here.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Tainted(tainted) => {
                let place = if tainted.pointer.is_empty() { "its arguments" } else { &tainted.pointer };
                format!("{:?} in {place} was named only by {}", tainted.value, tainted.source)
            }
            Self::Secret { name } => format!("it holds the secret {name}, which stays masked"),
            Self::OutOfPolicy { message } => message.clone(),
        }
    }
}

/// What an agent's manifest says against a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// It has no such capability at all: never made.
    Lacks(String),
    /// It has the capability, for something else: the gate decides.
    Beyond(String),
}

/// What the manifest says against a call, if anything. The arguments fit the tool's schema.
#[must_use]
pub fn objection(agent: &Agent, spec: &ToolSpec, args: &Value) -> Option<Objection> {
    let held = &agent.capabilities;
    let lacks = |capability: &str| {
        Some(Objection::Lacks(format!(
            "the agent {} has no capability {capability:?}, so {} was not made",
            agent.name, spec.name
        )))
    };
    let network = || if held.network.is_empty() { lacks("network") } else { None };
    match spec.needs.as_ref()? {
        Need::FileRead => files("file_read", &held.file_read, &paths_of(args), &lacks),
        Need::FileWrite => files("file_write", &held.file_write, &paths_of(args), &lacks),
        Need::Shell if held.shell.is_empty() => lacks("shell"),
        Need::Shell => {
            let program = program_of(args).filter(|program| !held.shell.covers(program))?;
            Some(Objection::Beyond(format!("the capability \"shell\" does not cover {program:?}")))
        }
        // Which host it may be is the network gate's to say, at every hop.
        Need::Network => network(),
        Need::Watch => match args.get("file").and_then(Value::as_str) {
            Some(path) => files("file_read", &held.file_read, &[path], &lacks),
            None => network(),
        },
        Need::Inference if held.inference => None,
        Need::Inference => lacks("inference"),
        Need::Mcp { server, tool } => {
            let asked = McpGrant { server: server.clone(), tool: Some(tool.clone()) };
            let is_granted = held.mcp.iter().any(|grant| grant.covers(&asked));
            if is_granted { None } else { lacks(&format!("mcp {asked}")) }
        }
    }
}

fn files(
    capability: &str,
    granted: &Paths,
    asked: &[&str],
    lacks: &dyn Fn(&str) -> Option<Objection>,
) -> Option<Objection> {
    if granted.0.is_empty() {
        return lacks(capability);
    }
    let path = asked.iter().find(|path| !granted.covers(path))?;
    let granted: Vec<&str> = granted.0.iter().map(|path| in_words(path)).collect();
    let granted = granted.join(", ");
    Some(Objection::Beyond(format!("the capability {capability:?} does not cover {path:?}, only {granted}")))
}

/// Arguments that name files.
const PATH_KEYS: [&str; 3] = ["path", "from", "to"];

fn in_words(path: &str) -> &str {
    if path == "." { "what is below the workspace" } else { path }
}

fn paths_of(args: &Value) -> Vec<&str> {
    let named: Vec<&str> = PATH_KEYS.iter().filter_map(|key| args.get(key)?.as_str()).collect();
    // A tool that is told no path works on the whole workspace.
    if named.is_empty() { vec!["."] } else { named }
}

fn program_of(args: &Value) -> Option<&str> {
    args.get("argv")?.get(0)?.as_str()
}

/// Whether a tainted value at this place of a call's arguments matters. A file of the
/// workspace may be filled with what was read elsewhere, that is what agents do; where
/// it goes may not.
#[must_use]
pub fn matters(touch: Touch, pointer: &str) -> bool {
    match touch {
        Touch::Read => false,
        Touch::Exec => true,
        Touch::Write => pointer.strip_prefix('/').is_some_and(|key| PATH_KEYS.contains(&key)),
    }
}

/// The tainted values a person should see: a word of a value that is shown anyway
/// says nothing more.
#[must_use]
pub fn telling(tainted: &[Tainted]) -> Vec<Tainted> {
    let is_part = |one: &Tainted| {
        let holds = |other: &Tainted| other.pointer == one.pointer && other.value.contains(&one.value);
        tainted.iter().any(|other| other.value != one.value && holds(other))
    };
    tainted.iter().filter(|one| !is_part(one)).cloned().collect()
}

/// What becomes of a call people may have to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Nobody has to be asked.
    Fine,
    /// A person is asked, for these reasons.
    Ask(Vec<Concern>),
    /// It is not made; what the model is told.
    Refuse(String),
}

/// What the gates say about the concerns of a call.
#[must_use]
pub fn rule(gates: Gates, concerns: &[Concern]) -> Ruling {
    let gate = |concern: &Concern| match concern {
        Concern::Tainted(_) => gates.tainted,
        Concern::Secret { .. } => gates.secrets,
        Concern::OutOfPolicy { .. } => gates.out_of_policy,
    };
    if let Some(refused) = concerns.iter().find(|concern| gate(concern) == Gate::Refuse) {
        return Ruling::Refuse(format!("This was not made: {}.", refused.words()));
    }
    let asked: Vec<Concern> = concerns.iter().filter(|concern| gate(concern) == Gate::Ask).cloned().collect();
    if asked.is_empty() { Ruling::Fine } else { Ruling::Ask(asked) }
}
