//! Asking the checker, which is another program in another language.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{OracleError, wait_at_most};

/// How long the checker may take.
const CHECK_DEADLINE: Duration = Duration::from_secs(600);

/// What the checker reads.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The client log.
    pub client: PathBuf,
    /// The ledger's file.
    pub ledger: PathBuf,
    /// Folder with one `RUN.jsonl` for each run.
    pub journal: PathBuf,
    /// State hashes, live and by replay.
    pub states: Option<PathBuf>,
}

/// What the checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckVerdict {
    /// Whether every promise was kept.
    pub is_clean: bool,
    /// One line per check, or one per violation.
    pub lines: Vec<String>,
}

/// Asks the checker at `script` (`check.py`), with Python from the search path.
///
/// Its report is kept beside the client log as `verdict.txt`.
pub fn check(script: &Path, evidence: &Evidence) -> Result<CheckVerdict, OracleError> {
    let program = PathBuf::from("python3");
    let kept = evidence.client.with_file_name("verdict.txt");
    let io = |source| OracleError::Io { path: kept.clone(), source };
    let run = |source| OracleError::Run { program: program.clone(), source };
    let file = File::create(&kept).map_err(io)?;
    let mut command = Command::new(&program);
    command.arg("-B").arg(script);
    command.arg("--client").arg(&evidence.client).arg("--ledger").arg(&evidence.ledger);
    command.arg("--journal").arg(&evidence.journal);
    if let Some(states) = &evidence.states {
        command.arg("--states").arg(states);
    }
    command.stdin(Stdio::null()).stderr(file.try_clone().map_err(io)?).stdout(file);
    let mut child = command.spawn().map_err(run)?;
    let status = wait_at_most(&mut child, CHECK_DEADLINE).map_err(run)?;
    let Some(status) = status else {
        return Err(OracleError::Hung { program: script.into(), after: CHECK_DEADLINE });
    };
    let printed = std::fs::read_to_string(&kept).map_err(io)?;
    let lines: Vec<_> = printed.lines().map(str::to_owned).collect();
    match status.code() {
        Some(0) => Ok(CheckVerdict { is_clean: true, lines }),
        // Python itself exits with 1 when it breaks: a verdict names a check first.
        Some(1) if lines.first().is_some_and(|line| line.starts_with(['O', 'J'])) => {
            Ok(CheckVerdict { is_clean: false, lines })
        }
        Some(_) | None => Err(OracleError::NoVerdict { status, printed }),
    }
}
