//! The command tool a run calls, and its probe: one request to the ledger.
//!
//! Exit codes of a call: 0 it happened and its result is on standard output;
//! 1 it did not happen; 75 nobody knows. Of a probe: 0 it happened, with its
//! result; 1 it did not; 75 unknown. A call is reported as not happened only if
//! the ledger said so or was never reached.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::ledger::SOCKET;
use crate::ledger::wire::{Caller, DELAY_MS_MAX, Operation, Reply, Request};

/// Longer than the slowest reply.
const READ_DEADLINE: Duration = Duration::from_millis(DELAY_MS_MAX + 30_000);

/// What the tool is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Do it.
    Act(Operation),
    /// Find out whether it happened.
    Look(Operation),
    /// Do it, and at the first attempt say that nobody knows.
    Flaky(Operation),
    /// Do it once somebody has mended it for this run; before, it does not work.
    Stuck(Operation),
}

impl Errand {
    /// Reads `pay`, `look-pay`, `flaky-pay` or `stuck-pay`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (how, operation) = word.split_once('-').unwrap_or(("", word));
        let operation = Operation::parse(operation)?;
        match how {
            "" => Some(Self::Act(operation)),
            "look" => Some(Self::Look(operation)),
            "flaky" => Some(Self::Flaky(operation)),
            "stuck" => Some(Self::Stuck(operation)),
            _ => None,
        }
    }
}

/// The file in the ledger's folder that says that what is stuck works for this run.
#[must_use]
pub fn mended(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("mended-{run}"))
}

/// How the tool ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It happened; exit 0.
    Happened(Value),
    /// It did not; exit 1.
    DidNotHappen(String),
    /// Nobody knows; exit 75.
    Unknown(String),
}

impl Answer {
    /// The exit code.
    #[must_use]
    pub fn exit(&self) -> u8 {
        match self {
            Self::Happened(_) => 0,
            Self::DidNotHappen(_) => 1,
            Self::Unknown(_) => 75,
        }
    }
}

/// Runs the errand with the arguments in `input` for the caller in `environment`.
pub fn run(
    errand: Errand,
    folder: &Path,
    environment: impl Fn(&str) -> Option<String>,
    input: &str,
) -> Answer {
    let request = |operation| {
        let args = serde_json::from_str(input).map_err(|error| format!("arguments: {error}"));
        Ok((caller(&environment, None)?, args?)).map(|(caller, args)| Request::Act {
            operation,
            caller,
            args,
        })
    };
    let done =
        |operation| request(operation).map_or_else(Answer::DidNotHappen, |request| act(folder, &request));
    match errand {
        Errand::Act(operation) => done(operation),
        Errand::Flaky(operation) => match (done(operation), environment("BOWLINE_ATTEMPT").as_deref()) {
            (Answer::Happened(_), Some("1")) => Answer::Unknown("the line went dead".into()),
            (answer, _) => answer,
        },
        Errand::Stuck(operation) => {
            let run = environment("BOWLINE_RUN").unwrap_or_default();
            if mended(folder, &run).exists() {
                done(operation)
            } else {
                Answer::DidNotHappen("the counter is closed for good".into())
            }
        }
        Errand::Look(operation) => {
            let request = caller(&environment, Some(0)).map(|caller| {
                let args = serde_json::from_str(input).ok();
                Request::Look { operation, caller, args }
            });
            request.map_or_else(Answer::Unknown, |request| look(folder, &request))
        }
    }
}

fn caller(
    environment: &impl Fn(&str) -> Option<String>,
    attempt_if_absent: Option<u64>,
) -> Result<Caller, String> {
    let text = |name: &str| environment(name).ok_or_else(|| format!("{name} is not set"));
    let number = |name: &str| {
        text(name)?.parse::<u64>().map_err(|error| format!("{name} is no whole number: {error}"))
    };
    let attempt = match (environment("BOWLINE_ATTEMPT"), attempt_if_absent) {
        (None, Some(attempt)) => attempt,
        (Some(_), _) | (None, None) => number("BOWLINE_ATTEMPT")?,
    };
    Ok(Caller {
        run: text("BOWLINE_RUN")?,
        action: text("BOWLINE_ACTION")?,
        key: text("BOWLINE_KEY")?,
        epoch: number("BOWLINE_EPOCH")?,
        attempt,
    })
}

fn act(folder: &Path, request: &Request) -> Answer {
    let stream = match UnixStream::connect(folder.join(SOCKET)) {
        Ok(stream) => stream,
        Err(error) => return Answer::DidNotHappen(format!("the ledger was not reached: {error}")),
    };
    match exchange(&stream, request) {
        Ok(Reply::Done { result }) => Answer::Happened(result),
        Ok(Reply::Refused { why }) => Answer::DidNotHappen(why),
        Ok(other @ (Reply::Found { .. } | Reply::NotFound | Reply::Entries(_) | Reply::Held)) => {
            Answer::Unknown(format!("unexpected reply {other:?}"))
        }
        Err(error) => Answer::Unknown(format!("no reply: {error}")),
    }
}

fn look(folder: &Path, request: &Request) -> Answer {
    let reply = UnixStream::connect(folder.join(SOCKET)).and_then(|stream| exchange(&stream, request));
    match reply {
        Ok(Reply::Found { result }) => Answer::Happened(result),
        Ok(Reply::NotFound) => Answer::DidNotHappen("the ledger has no such entry".into()),
        Ok(other @ (Reply::Done { .. } | Reply::Refused { .. } | Reply::Entries(_) | Reply::Held)) => {
            Answer::Unknown(format!("unexpected reply {other:?}"))
        }
        Err(error) => Answer::Unknown(format!("no reply: {error}")),
    }
}

/// Sends one request and reads its reply.
pub(crate) fn exchange(mut stream: &UnixStream, request: &Request) -> io::Result<Reply> {
    stream.set_read_timeout(Some(READ_DEADLINE))?;
    stream.set_write_timeout(Some(READ_DEADLINE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply)?;
    if reply.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_str(&reply)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        let value = match name {
            "BOWLINE_RUN" => "r1",
            "BOWLINE_ACTION" => "a1.0",
            "BOWLINE_KEY" => "k",
            "BOWLINE_EPOCH" | "BOWLINE_ATTEMPT" => "1",
            _ => return None,
        };
        Some(value.into())
    }

    #[test]
    fn an_errand_is_an_operation_or_a_look_for_one() {
        assert_eq!(Errand::parse("slow_pay"), Some(Errand::Act(Operation::SlowPay)));
        assert_eq!(Errand::parse("look-pay"), Some(Errand::Look(Operation::Pay)));
        assert_eq!(Errand::parse("flaky-release"), Some(Errand::Flaky(Operation::Release)));
        assert_eq!(Errand::parse("stuck-release"), Some(Errand::Stuck(Operation::Release)));
        assert_eq!(Errand::parse("look-"), None);
        assert_eq!(Errand::parse("lost-pay"), None);
        assert_eq!(Errand::parse("steal"), None);
    }

    #[test]
    fn without_a_ledger_a_call_did_not_happen_and_a_probe_knows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ask = |errand| run(errand, folder.path(), environment, "{}").exit();
        assert_eq!(ask(Errand::Act(Operation::Pay)), 1);
        assert_eq!(ask(Errand::Look(Operation::Pay)), 75);
    }

    #[test]
    fn a_caller_that_does_not_say_who_it_is_does_nothing() {
        for missing in ["BOWLINE_RUN", "BOWLINE_ACTION", "BOWLINE_KEY", "BOWLINE_EPOCH", "BOWLINE_ATTEMPT"] {
            let partial = |name: &str| if name == missing { None } else { environment(name) };
            let answer = run(Errand::Act(Operation::Pay), Path::new("."), partial, "{}");
            assert_eq!(answer, Answer::DidNotHappen(format!("{missing} is not set")));
        }
    }

    #[test]
    fn a_ledger_that_hangs_up_leaves_a_call_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let listener = std::os::unix::net::UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(listener.accept().unwrap()));
            let answer = run(Errand::Act(Operation::Pay), folder.path(), environment, "{}");
            assert_eq!(answer.exit(), 75, "{answer:?}");
        });
    }
}
