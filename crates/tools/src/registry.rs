//! The tools of a task, and whether a call a model asked for can run.

use std::collections::BTreeSet;
use std::sync::Arc;

use bowline_core::id::{BadName, ToolName};
use bowline_core::input::CallProblem;
use bowline_core::task::ToolChoice;
use bowline_core::tool::ToolSpec;
use serde_json::Value;

use crate::Tool;
use crate::arguments;
use crate::built_in::BuiltIn;
use crate::program::{CommandCall, command_spec};
use crate::rules::{Rules, Setting, UnderRules};
use crate::schema::{Misfit, Schema};

/// Most misfits a model is told at once.
const MISFITS_TOLD: usize = 5;

/// A set of tools that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTools {
    /// Not a name for a tool.
    #[error(transparent)]
    Name(#[from] BadName),
    /// No such built-in tool.
    #[error("there is no built-in tool {name:?}{}; the built-in tools are {}", did_you_mean(.nearest.as_deref()), BuiltIn::names().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// One name, two tools.
    #[error("two tools are called {name}")]
    Twice {
        /// The name.
        name: ToolName,
    },
    /// A program under the name of a built-in tool.
    #[error("{name} is the name of a built-in tool and cannot be a command")]
    Shadows {
        /// The name.
        name: ToolName,
    },
    /// A program without a program.
    #[error("the {what} of {name} is empty")]
    NoProgram {
        /// The tool.
        name: ToolName,
        /// `command` or `probe`.
        what: &'static str,
    },
    /// A tool that could never answer.
    #[error("the time limit of {name} is zero")]
    NoTime {
        /// The tool.
        name: ToolName,
    },
    /// A task that loosens what a tool declares.
    #[error("the task sets `{setting}` of {name} to {asked}, which is looser than its own {own}")]
    Looser {
        /// The tool.
        name: ToolName,
        /// Which rule.
        setting: Setting,
        /// What the tool declares.
        own: String,
        /// What the task asks for.
        asked: String,
    },
    /// Several attempts at what must not be repeated.
    #[error("{name} would be tried {attempts} times, but a call of it must not be repeated")]
    OneAttempt {
        /// The tool.
        name: ToolName,
        /// What was asked for.
        attempts: u32,
    },
    /// An undo for a tool that needs none from the task.
    #[error("the task says how {name} is undone, and that is not the task's to say")]
    Undo {
        /// The tool.
        name: ToolName,
    },
    /// An undo by a tool that is not there.
    #[error("{name} is undone by {by}, and the run has no such tool")]
    NoUndoTool {
        /// The tool.
        name: String,
        /// What should undo its calls.
        by: String,
    },
    /// A substitute that is not there.
    #[error("{name} has the substitute {by}, and the run has no such tool")]
    NoSubstitute {
        /// The tool.
        name: String,
        /// What should stand in for it.
        by: String,
    },
    /// A schema that is none.
    #[error("the schema of {name} cannot be used: {message}")]
    Schema {
        /// The tool.
        name: ToolName,
        /// Why.
        message: String,
    },
}

impl BadTools {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Name(_) => "rename the tool",
            Self::Unknown { .. } => "correct the name, or give the tool a `command` of its own",
            Self::Twice { .. } => "name each tool once",
            Self::Shadows { .. } => "choose another name, or drop the `command` to use the built-in tool",
            Self::NoProgram { .. } => "write the program and its arguments as a list",
            Self::NoTime { .. } => "set a time limit above zero, or leave it out",
            Self::Looser { setting: Setting::Consent, .. } => {
                "leave `consent` out; for calls without a person, give the task a `command` of its own"
            }
            Self::Looser { setting: Setting::Repeat, .. } => {
                "leave `repeat` out, or choose a stricter one: \"freely\" < \"with-same-key\" < \"never\""
            }
            Self::Looser { setting: Setting::Timeout, .. } => {
                "leave `timeout_seconds` out or choose a shorter one; a `command` of the task's own may take longer"
            }
            Self::Looser { setting: Setting::Class, .. } => {
                "leave `class` out, or choose a graver one: \"pure\" < \"reversible\" < \"compensable\" < \"irreversible\""
            }
            Self::Looser { setting: Setting::Attempts, .. } => "leave `attempts` out or choose fewer",
            Self::Looser { setting: Setting::AtOnce, .. } => "leave `concurrency` out or choose less",
            Self::Looser { setting: Setting::Cost, .. } => "leave `cost_usd` out or choose more",
            Self::OneAttempt { .. } => {
                "leave `attempts` out; where the tool may be tried again, say so with `repeat` and `class`"
            }
            Self::Undo { .. } => {
                "leave `undo` out; it is for commands of the task and for tools that bring none of their own"
            }
            Self::NoUndoTool { .. } => "name a tool that the run has, and that its agent is granted",
            Self::NoSubstitute { .. } => "name a tool that the run has, or leave `substitute` out",
            Self::Schema { .. } => "correct the schema; references may only point into the schema itself",
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!(", did you mean {nearest}?")).unwrap_or_default()
}

/// The tools of a task, in the order of the task.
#[derive(Default)]
pub struct Registry {
    tools: Vec<Registered>,
}

struct Registered {
    tool: Arc<dyn Tool>,
    schema: Schema,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Registry {
    /// The tools a task chose: built-in ones and its own commands.
    pub fn new(choices: &[ToolChoice]) -> Result<Self, BadTools> {
        Self::with_own(choices, &[])
    }

    /// The tools a task chose, among them those of the library's user. What they
    /// declare may be tightened by the task, never loosened.
    pub fn with_own(choices: &[ToolChoice], own: &[Arc<dyn Tool>]) -> Result<Self, BadTools> {
        Self::build(choices, own, Rules::Chosen)
    }

    /// The same tools, by the rules a run was submitted with: they hold as long
    /// as the run does.
    pub fn as_submitted(
        choices: &[ToolChoice],
        own: &[Arc<dyn Tool>],
        specs: &[ToolSpec],
    ) -> Result<Self, BadTools> {
        Self::build(choices, own, Rules::Submitted(specs))
    }

    fn build(choices: &[ToolChoice], own: &[Arc<dyn Tool>], rules: Rules<'_>) -> Result<Self, BadTools> {
        let mut registry = Self::default();
        for choice in choices {
            let named = |tool: &&Arc<dyn Tool>| tool.spec().name.as_str() == choice.name;
            registry.add(match own.iter().find(named).filter(|_| choice.command.is_none()) {
                Some(tool) => UnderRules::put(tool, rules.of_declared(tool.spec().clone(), choice)?),
                None => chosen(choice, rules)?,
            })?;
        }
        Ok(registry)
    }

    /// Adds a tool of the library's user, by its own rules.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), BadTools> {
        let spec = tool.spec();
        if self.get(spec.name.as_str()).is_some() {
            return Err(BadTools::Twice { name: spec.name.clone() });
        }
        if spec.timeout_ms == 0 {
            return Err(BadTools::NoTime { name: spec.name.clone() });
        }
        if let Some(attempts) = spec.invocation.attempts.filter(|many| *many > 1 && spec.is_tried_once()) {
            return Err(BadTools::OneAttempt { name: spec.name.clone(), attempts });
        }
        let schema = Schema::compile(&spec.schema)
            .map_err(|message| BadTools::Schema { name: spec.name.clone(), message })?;
        self.tools.push(Registered { tool, schema });
        Ok(())
    }

    /// What the tools are and what rules they run by.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|registered| registered.tool.spec().clone()).collect()
    }

    /// Whether every tool that these choices point to for want of another is there.
    pub fn check_substitutes(&self, choices: &[ToolChoice]) -> Result<(), BadTools> {
        let mut named = choices.iter().filter_map(|choice| Some((choice, choice.substitute.as_ref()?)));
        let missing = named.find(|(_, other)| self.get(other.as_str()).is_none());
        match missing {
            Some((choice, other)) => {
                Err(BadTools::NoSubstitute { name: choice.name.clone(), by: other.to_string() })
            }
            None => Ok(()),
        }
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.find(name).map(|registered| &registered.tool)
    }

    /// Whether a call can run: the tool and its arguments, or what to tell the model.
    pub fn examine(&self, tool: &str, args_text: &str) -> Result<(Arc<dyn Tool>, Value), CallProblem> {
        let registered = self.find(tool).ok_or_else(|| self.unknown(tool))?;
        let bad =
            |problem| CallProblem::BadArguments(format!("the arguments of {tool} cannot be used: {problem}"));
        let args = arguments::parse_arguments(args_text).map_err(bad)?;
        let misfits = registered.schema.misfits(&args);
        if misfits.is_empty() {
            return Ok((Arc::clone(&registered.tool), args));
        }
        let takes = takes(&registered.tool.spec().schema);
        Err(bad(format!("{}{takes}", worded(&misfits))))
    }

    fn find(&self, name: &str) -> Option<&Registered> {
        self.tools.iter().find(|registered| registered.tool.spec().name.as_str() == name)
    }

    fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|registered| registered.tool.spec().name.as_str()).collect()
    }

    fn unknown(&self, asked: &str) -> CallProblem {
        let asked: String = asked.chars().take(80).collect();
        let names = self.names();
        let list = if names.is_empty() {
            "there are no tools".to_owned()
        } else {
            format!("the tools are {}", names.join(", "))
        };
        let nearest = did_you_mean(nearest(&asked, &names));
        CallProblem::UnknownTool(format!("there is no tool {asked:?}{nearest}; {list}"))
    }
}

fn chosen(choice: &ToolChoice, rules: Rules<'_>) -> Result<Arc<dyn Tool>, BadTools> {
    let name = ToolName::parse(&choice.name)?;
    let built_in = BuiltIn::named(&choice.name);
    let Some(command) = &choice.command else {
        let built_in = built_in.ok_or_else(|| BadTools::Unknown {
            name: choice.name.clone(),
            nearest: nearest(&choice.name, &BuiltIn::names()).map(str::to_owned),
        })?;
        return Ok(built_in.tool(rules.of_built_in(built_in.spec(name), choice)?));
    };
    // A run that is under way was submitted before the name was taken.
    if built_in.is_some() && matches!(rules, Rules::Chosen) {
        return Err(BadTools::Shadows { name });
    }
    if command.argv.is_empty() {
        return Err(BadTools::NoProgram { name, what: "command" });
    }
    if command.probe.as_ref().is_some_and(Vec::is_empty) {
        return Err(BadTools::NoProgram { name, what: "probe" });
    }
    let spec = rules.of_command(command_spec(name, command), choice);
    Ok(Arc::new(CommandCall::new(spec, command)))
}

/// The name that was probably meant, if any comes near.
fn nearest<'a>(asked: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '.', ' '], "_");
    let distance = |name: &str| strsim::osa_distance(&plain(name), &plain(asked));
    let best = names.iter().min_by_key(|name| distance(name))?;
    (distance(best) <= 2.max(best.len() / 3)).then_some(*best)
}

fn worded(misfits: &[Misfit]) -> String {
    let one = |misfit: &Misfit| match misfit.pointer.as_str() {
        "" => misfit.message.clone(),
        pointer => format!("at {pointer}: {}", misfit.message),
    };
    let mut told: Vec<_> = misfits.iter().take(MISFITS_TOLD).map(one).collect();
    if misfits.len() > MISFITS_TOLD {
        told.push(format!("and {} more", misfits.len() - MISFITS_TOLD));
    }
    told.join("; ")
}

/// What the tool takes, from its schema, for the model's next try.
fn takes(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return String::new() };
    let required: Vec<_> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mark = |name: &String| {
        let word = if required.contains(&name.as_str()) { "required" } else { "optional" };
        format!("{name} ({word})")
    };
    // In one order, whatever order this build keeps keys in.
    let names: BTreeSet<&String> = properties.keys().collect();
    format!(". It takes {}", names.into_iter().map(mark).collect::<Vec<_>>().join(", "))
}
