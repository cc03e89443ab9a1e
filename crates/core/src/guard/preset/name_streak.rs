//! The same tool five times in a row within a turn, whatever its arguments.

use serde::{Deserialize, Serialize};

use super::{Asked, Cause};
use crate::provenance::Digest;

/// The depth that fires.
const DEPTH: u32 = 5;

/// Length of the trailing run of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameStreak {
    /// The tool asked for last.
    tool: Option<Digest>,
    depth: u32,
}

impl NameStreak {
    pub(super) fn check(&self, call: &Asked) -> Option<Cause> {
        let depth = self.depth_with(call.tool);
        (depth >= DEPTH).then_some(Cause::NameStreak { depth })
    }

    pub(super) fn count(&mut self, call: &Asked) {
        let tool = call.tool;
        *self = Self { depth: self.depth_with(tool), tool: Some(tool) };
    }

    fn depth_with(&self, tool: Digest) -> u32 {
        if self.tool == Some(tool) { self.depth.saturating_add(1) } else { 1 }
    }
}
