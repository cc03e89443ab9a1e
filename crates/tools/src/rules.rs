//! The rules a tool runs by: what it declares, tightened by the task.
//!
//! Whoever wrote a tool of a library's user knows what it does to the world, so
//! a task may ask a person where the tool would not, repeat less than it allows
//! and give it less time. It never loosens what is declared: such a task is
//! refused, not corrected. For a built-in tool, whether a person is asked and how
//! long it may take are the task's to say; what a repetition would do is not. A
//! command is the task's own tool, and its rules are the task's.
//!
//! A run that is under way keeps the rules it was submitted with, whatever the
//! tool declares by now.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_core::task::ToolChoice;
use bowline_core::tool::{Consent, Repeat, ToolSpec};
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
}

impl fmt::Display for Setting {
    /// As it is written in a task file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Consent => "consent",
            Self::Repeat => "repeat",
            Self::Timeout => "timeout_seconds",
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
                consent: choice.consent.unwrap_or(declared.consent),
                repeat: tighter_repeat(&declared, choice)?,
                timeout_ms: choice.timeout_ms.unwrap_or(declared.timeout_ms),
                effect: choice.effect.or(declared.effect),
                ..declared
            }),
            Self::Submitted(specs) => Ok(as_submitted(declared, specs)),
        }
    }

    /// The rules of a command, which are the task's to declare.
    pub(crate) fn of_command(self, careful: ToolSpec, choice: &ToolChoice) -> ToolSpec {
        match self {
            Self::Chosen => ToolSpec {
                consent: choice.consent.unwrap_or(careful.consent),
                repeat: choice.repeat.unwrap_or(careful.repeat),
                timeout_ms: choice.timeout_ms.unwrap_or(careful.timeout_ms),
                effect: choice.effect.or(careful.effect),
                ..careful
            },
            Self::Submitted(specs) => as_submitted(careful, specs),
        }
    }
}

fn as_submitted(declared: ToolSpec, specs: &[ToolSpec]) -> ToolSpec {
    match specs.iter().find(|spec| spec.name == declared.name) {
        Some(spec) => {
            let ToolSpec { consent, repeat, timeout_ms, effect, .. } = *spec;
            ToolSpec { consent, repeat, timeout_ms, effect, ..declared }
        }
        None => declared,
    }
}

fn tightened(declared: ToolSpec, choice: &ToolChoice) -> Result<ToolSpec, BadTools> {
    let looser = |setting, own: String, asked: String| {
        Err(BadTools::Looser { name: declared.name.clone(), setting, own, asked })
    };
    let consent = choice.consent.unwrap_or(declared.consent);
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
    Ok(ToolSpec { consent, repeat, timeout_ms, effect, ..declared })
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
}
