//! What the shell owes the world. Computed from the state, so a restart asks for
//! the same work as the process before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::append_list::AppendList;
use crate::control::Ppm;
use crate::event::{Changes, Purpose};
use crate::gate::Assurance;
use crate::id::{ActionId, Millis, SubtaskId, ToolName};
use crate::message::{Content, Message, Payload};
use crate::plan::Test;
use crate::provenance::Digest;
use crate::quality::CheckHow;
use crate::run::Deed;
use crate::tool::{FileImage, ToolSpec};
use crate::verify::Opinion;
use crate::window::Window;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send this to the model.
    CallModel {
        /// Which step.
        step: u32,
        /// What it is for.
        purpose: Purpose,
        /// How many times in a row this has been tried, from 1.
        attempt: u32,
        /// Which model, as `kind:argument`.
        model: String,
        /// The conversation, as the model shall read it.
        messages: AppendList<Message>,
        /// Messages of it that are shortened, as they were said, by their place.
        left_out: Arc<BTreeMap<u32, Message>>,
        /// The tools it may ask for.
        tools: Arc<[ToolSpec]>,
        /// The JSON Schema the answer must fit, for structured answers.
        schema: Option<serde_json::Value>,
        /// Most output tokens.
        output_tokens: u64,
        /// How freely the model chooses its words; `None`: as it likes best.
        temperature: Option<Ppm>,
        /// Answers to the same request that failed: a model that can gives none of them again.
        failed: Vec<Payload>,
        /// Whether the answer may become the output, so that it is of use to know how
        /// likely the model finds its words.
        likelihood: bool,
        /// After this long it has failed.
        timeout_ms: u64,
    },
    /// Look at the file a call would change, changing nothing.
    PrepareCall {
        /// Which.
        action: ActionId,
        /// The tool.
        tool: ToolName,
        /// The arguments, verbatim.
        args: Payload,
    },
    /// Make a tool call.
    RunTool {
        /// Which.
        action: ActionId,
        /// The tool.
        tool: ToolName,
        /// The arguments, verbatim.
        args: Payload,
        /// Idempotency key.
        key: Digest,
        /// Which attempt.
        attempt: u32,
        /// The file it changes.
        image: Option<FileImage>,
        /// After this long it is ended.
        timeout_ms: u64,
    },
    /// Find out whether a call happened.
    Probe {
        /// Which.
        action: ActionId,
        /// The tool.
        tool: ToolName,
        /// The arguments, verbatim.
        args: Payload,
        /// Idempotency key.
        key: Digest,
        /// After this long the answer is "unknown".
        timeout_ms: u64,
    },
    /// Read these files of the workspace.
    ReadEvidence {
        /// Paths below the workspace.
        paths: Vec<String>,
    },
    /// Make a check.
    RunCheck {
        /// The verification round.
        round: u32,
        /// Index in the task's checks.
        index: usize,
        /// How.
        how: CheckHow,
        /// What is checked.
        output: Content,
        /// What a judge said for it: edge cases to run, answers to compare.
        opinions: Vec<Opinion>,
    },
    /// Look whether an output passes the test of a choice.
    Weigh {
        /// Counts the conditions of the run that were looked at, from 1.
        serial: u32,
        /// The output.
        output: Content,
        /// The test.
        test: Test,
    },
    /// Put a mended part of the output back into its place.
    Splice {
        /// The round of repair.
        round: u32,
        /// The output.
        output: Content,
        /// The part.
        window: Window,
        /// What replaces it.
        replacement: Payload,
    },
    /// Put a file back as it was before a call.
    Restore {
        /// The call.
        action: ActionId,
        /// The file.
        image: FileImage,
    },
    /// Undo a call.
    Compensate {
        /// The call.
        action: ActionId,
        /// Which attempt at undoing it.
        attempt: u32,
        /// The key of the undo.
        key: Digest,
        /// The call as it was made, and how it is undone.
        deed: Box<Deed>,
    },
    /// Tell a person that something could not be undone.
    Alert {
        /// The command.
        argv: Vec<String>,
        /// The calls, and why.
        failed: Vec<(ActionId, Box<str>)>,
    },
    /// Look for what the run changed in the tree it works on.
    FindChanges,
    /// Bring the changes to the folder the run is about, or take them back: wholly or not at all.
    Land {
        /// Which.
        changes: Changes,
        /// Take them back.
        back: bool,
    },
    /// Store the provenance record and export the result.
    StoreResult {
        /// The output that is about to be committed.
        output: Content,
    },
    /// Hand on what was committed to whoever keeps it.
    Promote {
        /// Which attempt.
        attempt: u32,
        /// The same for every attempt.
        key: Digest,
        /// What was committed.
        committed: Box<Committed>,
    },
    /// Report a tick at this time.
    WakeAt {
        /// When.
        at: Millis,
    },
}

/// Names an effect, so that one in flight is not started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKey {
    /// [`Effect::CallModel`]
    Model(u32),
    /// [`Effect::PrepareCall`]
    Prepare(ActionId),
    /// [`Effect::RunTool`], with the attempt
    Tool(ActionId, u32),
    /// [`Effect::Probe`]
    Probe(ActionId),
    /// [`Effect::ReadEvidence`]
    Evidence,
    /// [`Effect::RunCheck`], with round and index
    Check(u32, usize),
    /// [`Effect::Weigh`]
    Weigh(u32),
    /// [`Effect::Splice`]
    Splice(u32),
    /// [`Effect::Restore`]
    Restore(ActionId),
    /// [`Effect::Compensate`], with the attempt
    Compensate(ActionId, u32),
    /// [`Effect::Alert`]
    Alert,
    /// [`Effect::FindChanges`]
    Changes,
    /// [`Effect::Land`], and whether it goes back
    Land(bool),
    /// [`Effect::StoreResult`]
    Result,
    /// [`Effect::Promote`], with the attempt
    Promote(u32),
    /// [`Effect::WakeAt`]
    Wake(Millis),
}

/// What a run committed, for whoever keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The output.
    pub output: Content,
    /// Hash of the provenance record.
    pub provenance: Digest,
    /// Parts of the plan the output is without.
    pub missing: Vec<SubtaskId>,
    /// What the last verification makes one sure of.
    pub assurance: Option<Box<Assurance>>,
}

impl Effect {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> EffectKey {
        match self {
            Self::CallModel { step, .. } => EffectKey::Model(*step),
            Self::PrepareCall { action, .. } => EffectKey::Prepare(*action),
            Self::RunTool { action, attempt, .. } => EffectKey::Tool(*action, *attempt),
            Self::Probe { action, .. } => EffectKey::Probe(*action),
            Self::ReadEvidence { .. } => EffectKey::Evidence,
            Self::RunCheck { round, index, .. } => EffectKey::Check(*round, *index),
            Self::Weigh { serial, .. } => EffectKey::Weigh(*serial),
            Self::Splice { round, .. } => EffectKey::Splice(*round),
            Self::Restore { action, .. } => EffectKey::Restore(*action),
            Self::Compensate { action, attempt, .. } => EffectKey::Compensate(*action, *attempt),
            Self::Alert { .. } => EffectKey::Alert,
            Self::FindChanges => EffectKey::Changes,
            Self::Land { back, .. } => EffectKey::Land(*back),
            Self::StoreResult { .. } => EffectKey::Result,
            Self::Promote { attempt, .. } => EffectKey::Promote(*attempt),
            Self::WakeAt { at } => EffectKey::Wake(*at),
        }
    }
}
