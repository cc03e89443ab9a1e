//! A simulated world: models that say the same in the same conversation, tools
//! that remember what was really done, and a person who tells the truth.

use std::collections::{BTreeMap, BTreeSet};

use super::drive::Driver;
use super::{script, show};
use crate::effect::Effect;
use crate::event::{Ending, Purpose, Subject};
use crate::id::{ActionId, Millis};
use crate::input::What;
use crate::message::{Message, Payload};
use crate::provenance::Digest;
use crate::run::Wait;

/// What a model says with its last call.
const SUMMARY: &str = "so far so good";
/// More inputs than any scenario needs.
const INPUTS_MAX: usize = 400;

/// See the module's page.
#[derive(Clone, Default)]
pub(super) struct World {
    /// What is said in each conversation, reply after reply.
    pub(super) replies: &'static [(&'static str, &'static [&'static str])],
    /// What each check finds, round after round.
    pub(super) checks: &'static [&'static [&'static str]],
    /// Tools whose first reply is lost.
    pub(super) lossy: &'static [&'static str],
    /// Model calls that meet trouble.
    pub(super) trouble: &'static [u32],
    /// How often each action really happened.
    pub(super) done: BTreeMap<ActionId, u32>,
    /// Files put back, in order.
    pub(super) undone: Vec<ActionId>,
    /// Keys seen by tools that remove duplicates.
    pub(super) keys: BTreeSet<Digest>,
    /// How often an output is not taken before it is.
    pub(super) busy: u32,
    /// Keys under which an output was handed on, each time.
    pub(super) handed: Vec<Digest>,
}

impl World {
    /// Does what is asked for and tells how it went.
    pub(super) fn answer(&mut self, driver: &Driver, effect: &Effect) -> What {
        let line = match effect {
            Effect::CallModel { step, .. } if self.trouble.contains(step) => format!("fail {step} transient"),
            Effect::CallModel { step, purpose: Purpose::Act(_), tools, .. } if tools.is_empty() => {
                format!("reply {step}: {SUMMARY}")
            }
            Effect::CallModel { step, purpose, messages, .. } => {
                let spoken = messages.iter().filter(|message| match message {
                    Message::Assistant { text, .. } => *text != Payload::inline(SUMMARY),
                    Message::System(_)
                    | Message::User(_)
                    | Message::Briefing(_)
                    | Message::ToolResult { .. } => false,
                });
                format!("reply {step} {}", self.says(purpose, spoken.count()))
            }
            Effect::PrepareCall { action, .. } => format!("prepared {action}"),
            Effect::RunTool { action, tool, key, attempt, .. } => {
                self.happen(*action, tool.as_str(), *key);
                let lost = *attempt == 1 && self.lossy.contains(&tool.as_str());
                format!("{} {action} #{attempt}", if lost { "unknown" } else { "ok" })
            }
            Effect::Probe { action, .. } => {
                format!("probe {action} {}", self.truth(*action))
            }
            Effect::ReadEvidence { paths } => {
                format!("evidence {}", paths.iter().map(|path| format!("{path}=text ")).collect::<String>())
            }
            Effect::RunCheck { round, index, .. } => {
                let found = self.checks.get(*round as usize - 1).and_then(|row| row.get(*index));
                format!("check {round}.{index} {}", found.unwrap_or(&"pass"))
            }
            Effect::Weigh { serial, output, test } => {
                let holds = test.holds(&show::texts(output));
                format!("weighed {serial} {}", if holds { "yes" } else { "no" })
            }
            Effect::Splice { round, .. } => format!("spliced {round}"),
            Effect::Restore { action, .. } => {
                self.undone.push(*action);
                format!("restored {action}")
            }
            Effect::Compensate { action, .. } => {
                self.undone.push(*action);
                format!("undone {action}")
            }
            Effect::Alert { .. } => "told".into(),
            Effect::FindChanges => "changes 2".into(),
            Effect::Land { back, .. } => if *back { "taken-back" } else { "landed" }.into(),
            Effect::StoreResult { .. } => "stored".into(),
            Effect::Promote { attempt, key, .. } => self.handed_on(*attempt, *key),
            Effect::WakeAt { .. } => "tick".into(),
        };
        script::what(driver, &line)
    }

    fn says(&self, purpose: &Purpose, spoken: usize) -> &'static str {
        let name = match purpose {
            Purpose::Act(subtask) => subtask.to_string(),
            Purpose::Critique(round) => format!("critique-{round}"),
            Purpose::Plan(round) => format!("plan-{round}"),
            Purpose::Judge(_) => "judge".into(),
        };
        let replies = self.replies.iter().find(|(conversation, _)| *conversation == name);
        replies.and_then(|(_, replies)| replies.get(spoken)).copied().unwrap_or(": done")
    }

    fn happen(&mut self, action: ActionId, tool: &str, key: Digest) {
        let first = self.keys.insert(key);
        let removes_duplicates = ["put", "write"].contains(&tool);
        if first || !removes_duplicates {
            *self.done.entry(action).or_default() += 1;
        }
    }

    fn handed_on(&mut self, attempt: u32, key: Digest) -> String {
        let is_busy = u32::try_from(self.handed.len()).unwrap_or(u32::MAX) < self.busy;
        self.handed.push(key);
        format!("{} {attempt}", if is_busy { "not-taken" } else { "taken" })
    }

    fn truth(&self, action: ActionId) -> &'static str {
        if self.done.contains_key(&action) { "happened" } else { "did-not" }
    }

    /// What the person says to an open question.
    fn person(&self, driver: &Driver, wait: &Wait) -> What {
        let line = match wait {
            Wait::Paused => "resume".into(),
            Wait::Restored { .. } => "take-up".into(),
            Wait::Approval { subject: Subject::Output, .. } => "approve output".into(),
            Wait::Approval { subject: Subject::Action(action), .. } => format!("approve {action}"),
            Wait::InDoubt { action, .. } => format!("settle {action} {}", self.truth(*action)),
        };
        script::what(driver, &line)
    }

    /// The next thing that happens to the run, or nothing more will.
    pub(super) fn next(&mut self, driver: &mut Driver) -> Option<What> {
        match driver.run.ending() {
            Some(Ending::Committed { .. } | Ending::Failed { .. }) if !driver.run.has_afterwork() => {
                return None;
            }
            Some(Ending::Committed { .. } | Ending::Failed { .. }) if !driver.run.owned => {
                return Some(script::what(driver, "claim"));
            }
            Some(Ending::Committed { .. } | Ending::Failed { .. }) => {}
            Some(Ending::Halted { .. }) => {
                return Some(script::what(driver, "resume steps=60 tool_calls=60"));
            }
            None if !driver.run.owned => return Some(script::what(driver, "claim")),
            None => {}
        }
        let due = driver.run.due();
        if let Some(effect) = due.iter().find(|effect| wake(effect).is_none()) {
            return Some(self.answer(driver, effect));
        }
        if let Some(wait) = driver.run.waits().first() {
            return Some(self.person(driver, wait));
        }
        driver.now = due.iter().filter_map(wake).min().expect("a run that is not over waits for something");
        Some(What::Tick)
    }

    /// Goes on until the run is over.
    pub(super) fn finish(&mut self, driver: &mut Driver) {
        for _ in 0..INPUTS_MAX {
            let Some(input) = self.next(driver) else { return };
            driver.feed(input).expect("the world answers what is asked");
        }
        panic!("the run does not end");
    }
}

/// The moment of a wake-up.
pub(super) fn wake(effect: &Effect) -> Option<Millis> {
    if let Effect::WakeAt { at } = effect { Some(*at) } else { None }
}
