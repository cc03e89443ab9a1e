//! What a task's own tools, agent and limits say about a plan.

use serde_json::{Value, json};

use super::{Access, Tools};
use crate::agent::Agent;
use crate::budget::{Limits, UNLIMITED};
use crate::id::ToolName;
use crate::plan::prune::Left;
use crate::policy::{Objection, objection};
use crate::tool::{Consent, ToolSpec};

/// The tools of a task, as its agent may use them.
pub struct Outfit<'a> {
    /// The tools.
    pub specs: &'a [ToolSpec],
    /// Who uses them; `None`: nobody in particular, who may use all.
    pub agent: Option<&'a Agent>,
}

impl Tools for Outfit<'_> {
    fn access(&self, tool: &ToolName) -> Access {
        let Some(spec) = self.specs.iter().find(|spec| spec.name == *tool) else {
            return self.of_server(tool).unwrap_or(Access::Missing);
        };
        // Which paths or programs it will be called with is not known; only what no
        // call could ever be allowed is denied.
        let nothing: Value = json!({});
        match self.agent.and_then(|agent| objection(agent, spec, &nothing)) {
            Some(Objection::Lacks(why)) => return Access::Denied { why },
            Some(Objection::Beyond(_)) | None => {}
        }
        match spec.consent {
            Consent::Ask => Access::AsksFirst,
            Consent::NotNeeded => Access::Granted,
        }
    }

    fn names(&self) -> Vec<&str> {
        self.specs.iter().map(|spec| spec.name.as_str()).collect()
    }
}

impl Outfit<'_> {
    /// A tool `server.tool` whose server was not asked yet: it waits for a person unless
    /// the manifest says otherwise.
    fn of_server(&self, tool: &ToolName) -> Option<Access> {
        let (server, raw) = tool.as_str().split_once('.')?;
        let server = self.agent?.servers.iter().find(|known| known.name.as_str() == server)?;
        if server.tools.as_ref().is_some_and(|tools| !tools.iter().any(|known| known == raw)) {
            return None;
        }
        match server.rules.get(raw).and_then(|rules| rules.consent) {
            Some(Consent::NotNeeded) => Some(Access::Granted),
            Some(Consent::Ask) | None => Some(Access::AsksFirst),
        }
    }
}

/// What limits leave for a plan when nothing was used yet.
#[must_use]
pub fn left_of(limits: &Limits) -> Left {
    let bounded = |amount: u64| (amount != UNLIMITED).then_some(amount);
    Left { tokens: bounded(limits.tokens), seconds: bounded(limits.active_ms).map(|ms| ms / 1000) }
}
