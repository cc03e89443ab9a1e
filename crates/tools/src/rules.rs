//! The rules a tool runs by: what it declares, tightened by the task.
//!
//! Whoever wrote a tool of a library's user knows what it does to the world, so
//! a task may ask a person where the tool would not, repeat less than it allows,
//! try it less often, less at once and for less time, and count it for dearer and
//! graver than it says. It never loosens what is declared: such a task is
//! refused, not corrected. For a built-in tool, whether a person is asked, how long
//! it may take and how often it is tried are the task's to say; what a repetition
//! would do is not. A command is the task's own tool, and its rules are the task's.
//!
//! Where a task says what can be done about a call but not whether a person is
//! asked, the one follows from the other: what is irreversible asks.
//!
//! A run that is under way keeps the rules it was submitted with, whatever the
//! tool declares by now.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::budget::{Limit, amount};
use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_core::task::ToolChoice;
use bowline_core::tool::{Class, Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_core::undo::Undo;
use serde_json::Value;

use crate::{BadTools, CallContext, PreparedWrite, Probed, Tool, ToolOutput};

/// A rule of a tool that a task may tighten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Whether a person is asked first.
    Consent,
    /// What may be done in doubt.
    Repeat,
    /// How long a call may take.
    Timeout,
    /// What can be done about a call once it has happened.
    Class,
    /// Attempts at one call.
    Attempts,
    /// Calls out at once.
    AtOnce,
    /// What an attempt costs.
    Cost,
}

impl fmt::Display for Setting {
    /// As it is written in a task file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Consent => "consent",
            Self::Repeat => "repeat",
            Self::Timeout => "timeout_seconds",
            Self::Class => "class",
            Self::Attempts => "attempts",
            Self::AtOnce => "concurrency",
            Self::Cost => "cost_usd",
        })
    }
}

/// Whose rules count.
#[derive(Clone, Copy)]
pub(crate) enum Rules<'a> {
    /// The tool's own, tightened by the task.
    Chosen,
    /// Those a run was submitted with.
    Submitted(&'a [ToolSpec]),
}

impl Rules<'_> {
    /// The rules of a tool that somebody else declared.
    pub(crate) fn of_declared(self, declared: ToolSpec, choice: &ToolChoice) -> Result<ToolSpec, BadTools> {
        match self {
            Self::Chosen => tightened(declared, choice),
            Self::Submitted(specs) => Ok(as_submitted(declared, specs)),
        }
    }

    /// The rules of a tool that comes with Bowline.
    pub(crate) fn of_built_in(self, declared: ToolSpec, choice: &ToolChoice) -> Result<ToolSpec, BadTools> {
        match self {
            Self::Chosen => Ok(ToolSpec {
                consent: choice.consent.unwrap_or(consent_of(choice, declared.consent)),
                repeat: tighter_repeat(&declared, choice)?,
                timeout_ms: choice.timeout_ms.unwrap_or(declared.timeout_ms),
                effect: choice.effect.or(declared.effect),
                invocation: graver(&declared, choice)?,
                undo: no_undo_of_tasks(&declared, choice)?,
                ..declared
            }),
            Self::Submitted(specs) => Ok(as_submitted(declared, specs)),
        }
    }

    /// The rules of a command, which are the task's to declare.
    pub(crate) fn of_command(self, careful: ToolSpec, choice: &ToolChoice) -> ToolSpec {
        match self {
            Self::Chosen => {
                // Whoever says how it is undone says what class it is.
                let undoable = choice.undo.as_ref().map(|_| Class::Compensable);
                let (touch, repeat, consent) = match choice.invocation.class.or(undoable) {
                    Some(Class::Pure) => (Touch::Read, Repeat::Freely, Consent::NotNeeded),
                    Some(Class::Reversible | Class::Compensable) => {
                        (careful.touch, careful.repeat, Consent::NotNeeded)
                    }
                    Some(Class::Irreversible) | None => (careful.touch, careful.repeat, careful.consent),
                };
                ToolSpec {
                    touch,
                    consent: choice.consent.unwrap_or(consent),
                    repeat: choice.repeat.unwrap_or(repeat),
                    timeout_ms: choice.timeout_ms.unwrap_or(careful.timeout_ms),
                    effect: choice.effect.or(careful.effect),
                    invocation: choice.invocation,
                    undo: choice.undo.clone(),
                    ..careful
                }
            }
            Self::Submitted(specs) => {
                let touch = specs.iter().find(|spec| spec.name == careful.name).map(|spec| spec.touch);
                as_submitted(ToolSpec { touch: touch.unwrap_or(careful.touch), ..careful }, specs)
            }
        }
    }
}

fn as_submitted(declared: ToolSpec, specs: &[ToolSpec]) -> ToolSpec {
    match specs.iter().find(|spec| spec.name == declared.name) {
        Some(spec) => {
            let ToolSpec { consent, repeat, timeout_ms, effect, invocation, .. } = *spec;
            let undo = spec.undo.clone();
            ToolSpec { consent, repeat, timeout_ms, effect, invocation, undo, ..declared }
        }
        None => declared,
    }
}

/// Whether a person is asked, where the task does not say: it is about what it
/// declares to be irreversible.
fn consent_of(choice: &ToolChoice, declared: Consent) -> Consent {
    match choice.invocation.class {
        Some(Class::Irreversible) => Consent::Ask,
        Some(Class::Pure | Class::Reversible | Class::Compensable) | None => declared,
    }
}

/// How a tool is called: its class may be graver than its own, the rest is the task's.
fn graver(declared: &ToolSpec, choice: &ToolChoice) -> Result<Invocation, BadTools> {
    if let Some(class) = choice.invocation.class.filter(|class| *class < declared.class()) {
        let (own, asked) = (quoted(declared.class().word()), quoted(class.word()));
        return Err(BadTools::Looser { name: declared.name.clone(), setting: Setting::Class, own, asked });
    }
    Ok(choice.invocation.or(declared.invocation))
}

/// How a tool of somebody else is called: nothing of it looser than its own.
fn tighter_invocation(declared: &ToolSpec, choice: &ToolChoice) -> Result<Invocation, BadTools> {
    let asked = choice.invocation;
    let looser = |setting, own: String, asked: String| {
        Err(BadTools::Looser { name: declared.name.clone(), setting, own, asked })
    };
    if let Some(attempts) = asked.attempts.filter(|attempts| *attempts > declared.attempts()) {
        return looser(Setting::Attempts, declared.attempts().to_string(), attempts.to_string());
    }
    if let Some(at_once) = asked.at_once.filter(|at_once| *at_once > declared.at_once()) {
        return looser(Setting::AtOnce, declared.at_once().to_string(), at_once.to_string());
    }
    if let Some(micros) = asked.cost_micros.filter(|micros| *micros < declared.cost_micros()) {
        return looser(Setting::Cost, dollars(declared.cost_micros()), dollars(micros));
    }
    graver(declared, choice)
}

fn tightened(declared: ToolSpec, choice: &ToolChoice) -> Result<ToolSpec, BadTools> {
    let looser = |setting, own: String, asked: String| {
        Err(BadTools::Looser { name: declared.name.clone(), setting, own, asked })
    };
    let consent = choice.consent.unwrap_or(consent_of(choice, declared.consent));
    if (declared.consent, consent) == (Consent::Ask, Consent::NotNeeded) {
        return looser(
            Setting::Consent,
            quoted(consent_word(declared.consent)),
            quoted(consent_word(consent)),
        );
    }
    let repeat = tighter_repeat(&declared, choice)?;
    let timeout_ms = choice.timeout_ms.unwrap_or(declared.timeout_ms);
    if timeout_ms > declared.timeout_ms {
        return looser(Setting::Timeout, seconds(declared.timeout_ms), seconds(timeout_ms));
    }
    let effect = choice.effect.or(declared.effect);
    let invocation = tighter_invocation(&declared, choice)?;
    let undo = match (&declared.undo, &choice.undo) {
        (None, asked) if declared.touch == Touch::Exec => asked.clone(),
        (_, _) => no_undo_of_tasks(&declared, choice)?,
    };
    Ok(ToolSpec { consent, repeat, timeout_ms, effect, invocation, undo, ..declared })
}

/// The undo of a tool that knows itself how its calls are undone, or has nothing to undo.
fn no_undo_of_tasks(declared: &ToolSpec, choice: &ToolChoice) -> Result<Option<Box<Undo>>, BadTools> {
    match &choice.undo {
        None => Ok(declared.undo.clone()),
        Some(_) => Err(BadTools::Undo { name: declared.name.clone() }),
    }
}

fn tighter_repeat(declared: &ToolSpec, choice: &ToolChoice) -> Result<Repeat, BadTools> {
    let repeat = choice.repeat.unwrap_or(declared.repeat);
    if strictness(repeat) >= strictness(declared.repeat) {
        return Ok(repeat);
    }
    Err(BadTools::Looser {
        name: declared.name.clone(),
        setting: Setting::Repeat,
        own: quoted(repeat_word(declared.repeat)),
        asked: quoted(repeat_word(repeat)),
    })
}

fn strictness(repeat: Repeat) -> u8 {
    match repeat {
        Repeat::Freely => 0,
        Repeat::WithSameKey => 1,
        Repeat::Never => 2,
    }
}

fn consent_word(consent: Consent) -> &'static str {
    match consent {
        Consent::Ask => "ask",
        Consent::NotNeeded => "not-needed",
    }
}

fn repeat_word(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Freely => "freely",
        Repeat::WithSameKey => "with-same-key",
        Repeat::Never => "never",
    }
}

fn quoted(word: &str) -> String {
    format!("{word:?}")
}

fn dollars(micros: u64) -> String {
    amount(&Limit::Money, micros)
}

fn seconds(ms: u64) -> String {
    Duration::from_millis(ms).as_secs_f64().to_string()
}

/// A tool of the library's user, under the rules of a run.
pub(crate) struct UnderRules {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
}

impl UnderRules {
    /// The tool itself, if these are its own rules.
    pub(crate) fn put(tool: &Arc<dyn Tool>, spec: ToolSpec) -> Arc<dyn Tool> {
        if *tool.spec() == spec {
            return Arc::clone(tool);
        }
        let under = tool.under(&spec).unwrap_or_else(|| Arc::clone(tool));
        Arc::new(Self { tool: under, spec })
    }
}

#[async_trait]
impl Tool for UnderRules {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn prepare(&self, args: &Value, ctx: &CallContext) -> Result<Option<PreparedWrite>, String> {
        self.tool.prepare(args, ctx).await
    }

    async fn run(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        let mut output = self.tool.run(args, ctx).await;
        // The tool speaks by its own rules: a deadline is a known outcome only
        // for a call that may be repeated, and this one may not be any more.
        if self.spec.repeat == Repeat::Never && output.how == Returned::Known(Outcome::TimedOut) {
            output.how = Returned::Unknown;
        }
        output
    }

    async fn probe(&self, args: Value, ctx: &CallContext) -> Probed {
        self.tool.probe(args, ctx).await
    }

    async fn undo(&self, args: Value, ctx: &CallContext) -> ToolOutput {
        self.tool.undo(args, ctx).await
    }
}
