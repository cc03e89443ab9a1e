//! What `--json` prints: one type for every kind of line, and which command prints which.
//!
//! These types are a contract with other programs. A key is added, never renamed or taken away, while
//! [`OUTPUT`] stays; keys come in the order they are written here. With the feature `schema`, [`lines`]
//! tells the schema of every command. What never happens here: deciding, or printing.

pub mod changes;
pub mod looks;
pub mod runs;
pub mod tools;

use serde::Serialize;

/// Version of the output of every command. What only adds keys or kinds of lines keeps it.
pub const OUTPUT: u64 = 1;

/// A command that cannot do what it was asked for. The same text goes to standard error.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Failed {
    /// What is wrong, and where.
    pub error: String,
    /// What to do about it.
    pub remedy: String,
    /// The code the program ends with.
    pub exit: u8,
    /// Where several things are wrong, each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// One of several things that are wrong.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Problem {
    /// What is wrong, and where.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

/// The lines a command prints.
#[cfg(feature = "schema")]
#[derive(Clone, Debug)]
pub struct Lines {
    /// The words of the command, joined by `-`.
    pub command: &'static str,
    /// What its lines are about.
    pub about: &'static str,
    /// One line; every kind is a variant.
    pub schema: schemars::Schema,
}

/// Every command that prints `--json`.
#[cfg(feature = "schema")]
#[must_use]
pub fn lines() -> Vec<Lines> {
    use bowline_core::plan::draw::Drawn;
    use changes::{Applied, ApplyPlan, Changed, NotUndoable, UndoStep, UndoneRun};
    use looks::{Calibrated, Health, Verified, VerifiedDeleted};
    use runs::{Deleted, Event, Exported, Replayed, Row, Shown, StateHash, Stopped, StoppedFile};
    use tools::{Benched, Evaluated, Offered, Server, Unreached, Weights};

    macro_rules! of {
        ($command:literal, $about:literal, $($kind:ty),+) => {
            Lines { command: $command, about: $about, schema: any_of(&[$(schema::<$kind>),+, schema::<Failed>]) }
        };
    }
    vec![
        of!(
            "run",
            "Every event as it happens, the hash of a state that is taken up, then how the run stopped; with files of their own, a line for each.",
            Event,
            StateHash,
            Stopped,
            StoppedFile
        ),
        of!("resume", "The same as `run`.", Event, StateHash, Stopped),
        of!("watch", "The same as `run`.", Event, StateHash, Stopped),
        of!("runs", "A line for each run, the newest first.", Row, Deleted),
        of!("show", "One line: everything about a run.", Shown, Deleted),
        of!("replay", "Every event up to the one that was asked for, then the state.", Event, Replayed),
        of!("export", "A line for each record, as it is stored.", Exported),
        of!("audit-verify", "A line for each run.", Verified, VerifiedDeleted),
        of!("calibrate", "One line.", Calibrated),
        of!("doctor", "A line for each thing that was looked at.", Health),
        of!("plan", "One line: the plan, what was found out about it, and its measures.", Drawn),
        of!("diff", "A line for each file.", Changed),
        of!(
            "apply",
            "What would be changed, what happens, then what became of it.",
            Changed,
            ApplyPlan,
            Event,
            StateHash,
            Applied
        ),
        of!(
            "undo",
            "What would be undone, what happens, then what became of it.",
            UndoStep,
            NotUndoable,
            Event,
            StateHash,
            UndoneRun
        ),
        of!("mcp-list", "A line for each server.", Server),
        of!("mcp-test", "A line for each server.", Offered, Unreached),
        of!("model-list", "A line for each model.", Weights),
        of!("model-pull", "One line: what is here now.", Weights),
        of!("model-import", "One line: what is here now.", Weights),
        of!("model-bench", "One line.", Benched),
        of!("guard-eval", "One line.", Evaluated),
    ]
}

#[cfg(feature = "schema")]
type Tells = fn(&mut schemars::SchemaGenerator) -> schemars::Schema;

#[cfg(feature = "schema")]
fn schema<T: schemars::JsonSchema>(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    generator.subschema_for::<T>()
}

#[cfg(feature = "schema")]
fn any_of(kinds: &[Tells]) -> schemars::Schema {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let kinds: Vec<serde_json::Value> = kinds.iter().map(|tell| tell(&mut generator).to_value()).collect();
    let definitions = generator.take_definitions(true);
    schemars::json_schema!({ "anyOf": kinds, "$defs": definitions })
}
