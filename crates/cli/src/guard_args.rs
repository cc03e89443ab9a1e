//! The words of `bowline guard`. Nothing here decides anything.

use std::path::PathBuf;

use bowline_core::guard::loops::Action;
use bowline_core::guard::preset::Preset;
use bowline_core::guard::regulator::{Cap, Limits, Settings, micros};
use bowline_core::task::suggest::nearest;
use bowline_guard::detector::{Bowline, NAME};
use bowline_guard::evaluate::Part;
use bowline_guard::judge::Guard;
use clap::{Args as Words, Subcommand};

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

#[derive(Debug, Words)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    pub(crate) command: Option<GuardCommand>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

impl GuardArgs {
    /// Whether the output is for machines. The filter's is always, and its
    /// errors go to standard error alone: every line of its output is an answer.
    pub(crate) fn wants_json(&self) -> bool {
        match &self.command {
            Some(GuardCommand::Eval(args)) => args.json,
            None => false,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuardCommand {
    /// Score guards on recorded runs: what blocking and stopping cost and saved
    Eval(EvalArgs),
}

#[derive(Debug, Words)]
pub(crate) struct FilterArgs {
    /// Another loop rule in the place of Bowline's
    #[arg(long, value_name = "NAME", value_parser = read_preset)]
    pub(crate) preset: Option<Preset>,
    /// What may be done about a loop: block, stop, both
    #[arg(long, value_name = "WHAT", value_parser = read_action)]
    pub(crate) act: Option<Action>,
    /// Model calls, retries included; a number or `unlimited`
    #[arg(long, value_name = "N", value_parser = read_cap)]
    pub(crate) max_steps: Option<Cap>,
    /// Tokens of every kind
    #[arg(long, value_name = "N", value_parser = read_cap)]
    pub(crate) max_tokens: Option<Cap>,
    /// Dollars, at most 6 decimals
    #[arg(long, value_name = "USD", value_parser = read_dollars)]
    pub(crate) max_cost_usd: Option<Cap>,
    /// Tool calls
    #[arg(long, value_name = "N", value_parser = read_cap)]
    pub(crate) max_tool_calls: Option<Cap>,
    /// Calls of one tool; may be given several times
    #[arg(long, value_name = "NAME=N", value_parser = read_tool)]
    pub(crate) max_tool: Vec<(String, u64)>,
    /// Seconds at work; waiting for a person does not count
    #[arg(long, value_name = "SECONDS", value_parser = read_seconds)]
    pub(crate) max_active_seconds: Option<Cap>,
    /// Truncated replies in a row that end the run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_truncations: Option<u32>,
    /// Keep what the guard knows in this file, and go on from there
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
}

impl FilterArgs {
    /// The limits that were given, over those that held.
    pub(crate) fn limits(&self, held: &Limits) -> Limits {
        let mut limits = Limits {
            steps: self.max_steps.unwrap_or(held.steps),
            tokens: self.max_tokens.unwrap_or(held.tokens),
            micros: self.max_cost_usd.unwrap_or(held.micros),
            tool_calls: self.max_tool_calls.unwrap_or(held.tool_calls),
            tools: held.tools.clone(),
            active_ms: self.max_active_seconds.unwrap_or(held.active_ms),
            truncations: self.max_truncations.unwrap_or(held.truncations),
        };
        limits.tools.extend(self.max_tool.iter().cloned());
        limits
    }

    /// The settings of a guard that has seen nothing.
    pub(crate) fn settings(&self) -> Settings {
        let action = self.act.unwrap_or(Action::Both);
        let mut settings = match self.preset {
            Some(preset) => Settings::of(preset, action, self.limits(&Limits::default())),
            None => Settings { limits: self.limits(&Limits::default()), ..Settings::default() },
        };
        settings.loops.action = action;
        settings.limits.truncations = self.max_truncations.unwrap_or(settings.limits.truncations);
        settings
    }
}

#[derive(Debug, Words)]
pub(crate) struct EvalArgs {
    /// Files of recorded runs (.jsonl, plain or gzip), or folders of them
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only this guard: bowline, agent-loop-v1, name-streak, cross-batch, cross-batch-editors
    #[arg(long, value_name = "NAME", value_parser = read_contender)]
    pub(crate) preset: Option<Contender>,
    /// What guards may do: block (nothing stops), stop (nothing is blocked), or both, each scored alone
    #[arg(long, value_name = "WHAT", default_value = "both", value_parser = read_action)]
    pub(crate) act: Action,
    /// Write every decision that is not allow, one JSON object a line; of --preset, or of bowline.
    /// With --act both, those of a guard that does both at once
    #[arg(long, value_name = "FILE")]
    pub(crate) decisions: Option<PathBuf>,
    /// Only runs that rules were not fitted to (by a hash of the id, about 30 %)
    #[arg(long, conflicts_with = "tuning")]
    pub(crate) held_out: bool,
    /// Only the others
    #[arg(long)]
    pub(crate) tuning: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl EvalArgs {
    /// Which runs are looked at.
    pub(crate) fn part(&self) -> Part {
        match (self.held_out, self.tuning) {
            (true, _) => Part::HeldOut,
            (false, true) => Part::Tuning,
            (false, false) => Part::Whole,
        }
    }
}

/// A guard that can be scored.
#[derive(Clone, Debug)]
pub(crate) enum Contender {
    Bowline(Bowline),
    Preset(Preset),
}

impl Contender {
    /// All of them, Bowline's first.
    pub(crate) fn all() -> Vec<Self> {
        let presets = Preset::ALL.into_iter().map(Self::Preset);
        std::iter::once(Self::Bowline(Bowline::default())).chain(presets).collect()
    }

    /// As the evaluation sees it.
    pub(crate) fn guard(&self) -> &dyn Guard {
        match self {
            Self::Bowline(guard) => guard,
            Self::Preset(preset) => preset,
        }
    }
}

fn read_contender(raw: &str) -> Result<Contender, String> {
    if raw == NAME {
        Ok(Contender::Bowline(Bowline::default()))
    } else {
        read_preset(raw).map(Contender::Preset)
    }
}

fn read_preset(raw: &str) -> Result<Preset, String> {
    let names = Preset::ALL.map(Preset::name);
    let near = || nearest(raw, names).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    Preset::parse(raw).ok_or_else(|| format!("{}the presets are {}", near(), names.join(", ")))
}

fn read_action(raw: &str) -> Result<Action, String> {
    match raw {
        "block" => Ok(Action::Block),
        "stop" => Ok(Action::Stop),
        "both" => Ok(Action::Both),
        _ => Err("it is block, stop or both".into()),
    }
}

fn read_cap(raw: &str) -> Result<Cap, String> {
    if raw == UNLIMITED {
        return Ok(Cap::Unlimited);
    }
    raw.parse().map(Cap::At).map_err(|_| format!("a limit is a whole number, or `{UNLIMITED}`"))
}

fn read_seconds(raw: &str) -> Result<Cap, String> {
    match read_cap(raw)? {
        Cap::At(seconds) => {
            seconds.checked_mul(1000).map(Cap::At).ok_or_else(|| "that is more than there is time".into())
        }
        Cap::Unlimited => Ok(Cap::Unlimited),
    }
}

fn read_dollars(raw: &str) -> Result<Cap, String> {
    if raw == UNLIMITED {
        return Ok(Cap::Unlimited);
    }
    micros(raw).map(Cap::At).map_err(|bad| format!("{bad}; write dollars, as in 2.5, or `{UNLIMITED}`"))
}

fn read_tool(raw: &str) -> Result<(String, u64), String> {
    let bad = || "write NAME=N, as in web_search=5".to_owned();
    let (name, most) = raw.rsplit_once('=').ok_or_else(bad)?;
    let most = most.parse().map_err(|_| bad())?;
    if name.is_empty() { Err(bad()) } else { Ok((name.into(), most)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_the_word() {
        assert_eq!(read_cap("0"), Ok(Cap::At(0)));
        assert_eq!(read_cap("unlimited"), Ok(Cap::Unlimited));
        assert_eq!(read_dollars("2.5"), Ok(Cap::At(2_500_000)));
        assert_eq!(read_seconds("60"), Ok(Cap::At(60_000)));
        for bad in ["", "-1", "1.5", "NaN", "none", "99999999999999999999"] {
            assert!(read_cap(bad).is_err(), "{bad}");
            assert!(bad == "1.5" || read_dollars(bad).is_err() || bad.starts_with('9'), "{bad}");
        }
        assert_eq!(read_tool("a=b=3"), Ok(("a=b".into(), 3)));
        assert!(read_tool("a").is_err() && read_tool("=1").is_err() && read_tool("a=x").is_err());
    }
}
