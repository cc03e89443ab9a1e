//! The words of the command line. Nothing here decides anything.

use std::path::PathBuf;

use bowline_core::event::Raise;
use bowline_core::id::{ActionId, SubtaskId};
use bowline_core::provenance::Digest;
use bowline_core::task::parse_raise;
use clap::{ArgGroup, Args as Words, Parser, Subcommand, ValueEnum};

use crate::guard_args::GuardArgs;
use crate::home_args::HomeCommand;
use crate::mcp_args::McpCommand;
use crate::model_args::ModelCommand;

/// What `--help` says about exit codes.
const EXIT_CODES: &str = "\
Exit codes:
   0  done; of a run: committed
   1  the run failed, or an examination (audit, doctor) found something wrong
   2  refused: usage, bad task, no such run, store in use or damaged; nothing was changed
   3  the run halted (a limit, a cancel, no model): resume it
   4  the run waits for a person, is paused, or was interrupted
   5  something a run did could not be undone that should have been: look at it
  70  a bug, or a store that stopped after a failed write

A RUN is a run id, the beginning of one, or `last`.
Runs are kept in --home, $BOWLINE_HOME, the project's .bowline folder, or the user's data folder.";

/// Runs agents durably: bounded, checked, and resumable after a crash.
#[derive(Debug, Parser)]
#[command(name = "bowline", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Args {
    /// Where runs are kept
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a run: a folder with task.toml, a task file, or a goal in words
    Run(RunArgs),
    /// Go on with a run, or with every run that can go on
    Resume(ResumeArgs),
    /// List runs
    Runs(RunsArgs),
    /// Tell about a run: what was asked, done, checked, spent; what is next
    Show(ShowArgs),
    /// Follow a run of another process until its ending
    Watch(WatchArgs),
    /// Stop the clock of a run
    Pause(OneRun),
    /// End a run; it can be resumed
    Cancel(OneRun),
    /// Say yes to what a run asks
    Approve(ApproveArgs),
    /// Say no to what a run asks
    Deny(DenyArgs),
    /// Send an output back to repair, saying what shall be changed
    Revise(ReviseArgs),
    /// Tell how a call in doubt went
    Settle(SettleArgs),
    /// Undo what a run that has ended did, the last first
    Undo(UndoArgs),
    /// Show what a run changed in its files
    Diff(DiffArgs),
    /// Apply the changes of a committed run that worked on a copy
    Apply(ApplyArgs),
    /// Fold a run's journal up to an event and show the state there
    Replay(ReplayArgs),
    /// Examine journals
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Write a run's journal, output and provenance
    Export(ExportArgs),
    /// Show how far the confidence of runs can be relied upon
    Calibrate(CalibrateArgs),
    #[command(flatten)]
    Home(HomeCommand),
    /// Tell whether a task or an agent manifest is right, and what it allows
    Check(CheckArgs),
    /// Show the plan a task would get, and whether it can work, without running it
    Plan(PlanArgs),
    /// Examine this installation
    Doctor(DoctorArgs),
    /// Write a task that runs as it is, to start from
    Init(InitArgs),
    /// Guard an agent that is not ours: one JSON event a line in, one decision a line out
    Guard(Box<GuardArgs>),
    /// Servers whose tools agents may use: what was agreed to, and what they offer
    #[command(subcommand)]
    Mcp(McpCommand),
    /// The embedded language model: its weights, and how fast it is here
    #[command(subcommand)]
    Model(ModelCommand),
}

impl Command {
    /// Whether the output is for machines.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Run(args) => args.show.json,
            Self::Resume(args) => args.show.json,
            Self::Runs(args) => args.json,
            Self::Show(args) => args.json,
            Self::Watch(args) => args.json,
            Self::Replay(args) => args.json,
            Self::Audit(AuditCommand::Verify(args)) => args.json,
            Self::Export(args) => args.json,
            Self::Calibrate(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Undo(args) => args.json,
            Self::Diff(args) => args.json,
            Self::Apply(args) => args.json,
            Self::Plan(args) => args.format == PlanFormat::Json,
            Self::Guard(args) => args.wants_json(),
            Self::Mcp(command) => command.wants_json(),
            Self::Model(command) => command.wants_json(),
            Self::Home(_)
            | Self::Pause(_)
            | Self::Cancel(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Revise(_)
            | Self::Settle(_)
            | Self::Check(_)
            | Self::Init(_) => false,
        }
    }
}

/// How a run at work is shown.
#[derive(Clone, Copy, Debug, Words)]
pub(crate) struct ShowFlags {
    /// One JSON object a line
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Only the result
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// When only a person can move the run, keep waiting for the answer
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Words)]
pub(crate) struct CheckArgs {
    /// A task file, a folder with one, or an agent manifest
    pub(crate) file: String,
    /// Write the new names of renamed keys and values into the file; comments stay
    #[arg(long)]
    pub(crate) fix: bool,
    /// The agent that works on the task, instead of the task's
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
}

#[derive(Debug, Words)]
pub(crate) struct PlanArgs {
    /// A folder with task.toml, or a task file (TOML, YAML, JSON)
    pub(crate) task: String,
    /// The agent that works on the task, instead of the task's
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// How: lines for people, one JSON object, or the language of a drawing program
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub(crate) format: PlanFormat,
}

/// How a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    Text,
    Json,
    Mermaid,
    Dot,
}

#[derive(Debug, Words)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) what: TaskArgs,
    /// The same key and task again give the same run
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) show: ShowFlags,
}

/// Which task is meant.
#[derive(Debug, Words)]
pub(crate) struct TaskArgs {
    /// A folder with task.toml, a task file (TOML, YAML, JSON), or a goal in words
    pub(crate) task: String,
    /// Work here instead of in the task's workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Use this model instead of the task's, as in local:smollm2-135m or scripted:model.yaml
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
    /// The manifest of the agent that works on it, instead of the task's
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
}

#[derive(Debug, Words)]
pub(crate) struct ResumeArgs {
    /// The run; without it, every run that can go on
    pub(crate) run: Option<String>,
    /// Set a limit higher first: steps, tool_calls, tokens, cost_usd, active_seconds, repairs,
    /// repair_percent, repair_seconds, context_tokens, tree_steps, depth, agents_alive, agents, tools.NAME
    #[arg(long, value_name = "LIMIT=AMOUNT", value_parser = parse_raise, requires = "run")]
    pub(crate) raise: Vec<Raise>,
    /// Leave sub-tasks of a halted run's plan out, with whatever waits for them; the output is one in
    /// part, which a person agrees to
    #[arg(long, value_name = "SUBTASK", value_delimiter = ',', value_parser = SubtaskId::parse, requires = "run")]
    pub(crate) without: Vec<SubtaskId>,
    /// Take a run up here that was brought back from a backup, since nobody works on it elsewhere
    #[arg(long, requires = "run")]
    pub(crate) restored: bool,
    #[command(flatten)]
    pub(crate) show: ShowFlags,
}

#[derive(Debug, Words)]
pub(crate) struct RunsArgs {
    /// Every run, not only the newest 50
    #[arg(long)]
    pub(crate) all: bool,
    /// Only runs that have not ended
    #[arg(long)]
    pub(crate) open: bool,
    /// Only runs whose task has this class
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
    /// What is left of runs that were deleted, instead
    #[arg(long, conflicts_with_all = ["open", "class"])]
    pub(crate) deleted: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ShowArgs {
    /// The run
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Every event, too
    #[arg(long)]
    pub(crate) events: bool,
}

#[derive(Debug, Words)]
pub(crate) struct WatchArgs {
    /// The run
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct OneRun {
    /// The run
    pub(crate) run: String,
}

#[derive(Debug, Words)]
pub(crate) struct ApproveArgs {
    /// The run
    pub(crate) run: String,
    /// An action, as in a3.0, or `output`; without it, the one open question
    pub(crate) subject: Option<String>,
    /// Do not ask back
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only if the question is about this content: the first digits of its sha256, as shown
    #[arg(long, value_name = "SHA256")]
    pub(crate) content: Option<String>,
    /// Show long arguments whole
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Words)]
pub(crate) struct DenyArgs {
    /// The run
    pub(crate) run: String,
    /// An action, as in a3.0, or `output`; without it, the one open question
    pub(crate) subject: Option<String>,
    /// Why; the model reads it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Debug, Words)]
pub(crate) struct ReviseArgs {
    /// The run
    pub(crate) run: String,
    /// What shall be changed; the model reads it
    #[arg(long, value_name = "TEXT")]
    pub(crate) feedback: String,
}

#[derive(Debug, Words)]
pub(crate) struct CalibrateArgs {
    /// Only runs whose task has this class
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
#[command(group = ArgGroup::new("how").required(true).args(["happened", "repeat", "give_up"]))]
pub(crate) struct SettleArgs {
    /// The run
    pub(crate) run: String,
    /// The call in doubt, as in a3.0
    #[arg(value_parser = read_action)]
    pub(crate) action: ActionId,
    /// It happened
    #[arg(long)]
    pub(crate) happened: bool,
    /// What came of it; the model reads it
    #[arg(long, value_name = "TEXT", requires = "happened", conflicts_with_all = ["repeat", "give_up"])]
    pub(crate) result: Option<String>,
    /// It did not happen: make it now, with the same key
    #[arg(long)]
    pub(crate) repeat: bool,
    /// Nobody will find out: go on without it, never repeat it
    #[arg(long)]
    pub(crate) give_up: bool,
}

#[derive(Debug, Words)]
pub(crate) struct UndoArgs {
    /// The run
    pub(crate) run: String,
    /// Only what began after this event
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) to: Option<u64>,
    /// Show what would be undone, and undo nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask back
    #[arg(long, short, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Leave files that somebody changed since as they are, and undo the rest
    #[arg(long)]
    pub(crate) leave_changed: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct DiffArgs {
    /// The run
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Only how many lines of which files
    #[arg(long)]
    pub(crate) stat: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ApplyArgs {
    /// The run
    pub(crate) run: String,
    /// Show what would be applied, and apply nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask back
    #[arg(long, short, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ReplayArgs {
    /// The run
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Up to and including this event
    #[arg(long, value_name = "SEQ", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) to: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check hash chain, content, events and provenance of runs
    Verify(VerifyArgs),
}

#[derive(Debug, Words)]
pub(crate) struct VerifyArgs {
    /// The runs; without any, all of them
    pub(crate) runs: Vec<String>,
    /// The head hash that was printed at the ending: proves that nothing was rewritten or cut off
    #[arg(long, value_name = "HASH", value_parser = read_digest)]
    pub(crate) expect: Option<Digest>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ExportArgs {
    /// The run
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Print the journal, one JSON object a record, instead of writing files
    #[arg(long, conflicts_with = "out")]
    pub(crate) json: bool,
    /// Write here; default: bowline-RUN
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Words)]
pub(crate) struct DoctorArgs {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct InitArgs {
    /// Where; made if it is not there. Nothing is overwritten
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
}

fn read_action(raw: &str) -> Result<ActionId, String> {
    ActionId::parse(raw).map_err(|bad| bad.to_string())
}

fn read_digest(raw: &str) -> Result<Digest, String> {
    let raw = raw.trim().to_ascii_lowercase();
    Digest::parse(&raw).ok_or_else(|| "a head hash has 64 hexadecimal digits; copy all of it".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn settling_needs_exactly_one_way() {
        let parse = |words: &str| Args::try_parse_from(words.split(' ')).is_ok();
        assert!(parse("bowline settle r a1.0 --happened --result paid"));
        assert!(parse("bowline settle r a1.0 --repeat"));
        assert!(!parse("bowline settle r a1.0"));
        assert!(!parse("bowline settle r a1.0 --repeat --give-up"));
        assert!(!parse("bowline settle r a1.0 --give-up --result paid"));
    }
}
