//! `bowline guard`: a filter between an agent loop and its tools.
//!
//! Every line that is read is answered by one line, and the state is kept before
//! the answer goes out. When the state can no longer be kept the filter ends:
//! whoever waits for an answer then gets none, and makes no call.

use std::io::{self, BufRead, Read as _};

use bowline_core::guard::preset::Preset;
use bowline_guard::session::{Answer, LINE_MAX, Session};
use bowline_guard::state_file::{StateError, StateFile};
use serde_json::Value;

use super::guard_eval;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guard_args::{FilterArgs, GuardArgs, GuardCommand};
use crate::render::Screen;

/// Filters, or evaluates.
pub(crate) fn guard(screen: &Screen, args: GuardArgs) -> Result<Exit, CliError> {
    match args.command {
        Some(GuardCommand::Eval(args)) => guard_eval::eval(screen, &args),
        None => filter(screen, &args.filter),
    }
}

fn filter(screen: &Screen, args: &FilterArgs) -> Result<Exit, CliError> {
    let file = args.state.as_deref().map(StateFile::new);
    let mut session = open(args, file.as_ref())?;
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let most = LINE_MAX as u64 + 1;
        let read = (&mut input).take(most).read_until(b'\n', &mut line);
        read.map_err(CliError::io("read", "standard input"))?;
        if line.is_empty() || screen.is_closed() {
            return Ok(Exit::Committed);
        }
        let answer = if line.len() > LINE_MAX && line.last() != Some(&b'\n') {
            skip_line(&mut input).map_err(CliError::io("read", "standard input"))?;
            session.too_long()
        } else {
            session.answer(&line, clock::now().0)
        };
        if let Some(file) = &file {
            file.save(&session).map_err(kept)?;
        }
        screen.json(&as_json(&answer));
    }
}

/// The rest of a line, thrown away piece by piece.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(());
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(piece.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

fn as_json(answer: &Answer) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}

fn kept(error: StateError) -> CliError {
    let remedy = error.remedy();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    CliError::refused(format!("{error}{cause}"), remedy)
}

/// A new session, or the one that was kept, under the limits that were given.
fn open(args: &FilterArgs, file: Option<&StateFile>) -> Result<Session, CliError> {
    let bad = |error: bowline_core::guard::regulator::BadSettings| {
        CliError::refused(error.to_string(), error.remedy())
    };
    let Some(mut session) = file.map(StateFile::load).transpose().map_err(kept)?.flatten() else {
        return Session::new(args.settings()).map_err(bad);
    };
    let settings = session.regulator().settings();
    let is_other = args.preset.is_some_and(|preset| settings.preset != Some(preset))
        || args.act.is_some_and(|action| settings.loops.action != action);
    if is_other {
        let name = settings.preset.map_or("bowline", Preset::name);
        return Err(CliError::refused(
            format!("the state was kept by a guard of another kind ({name})"),
            "leave out --preset and --act, or name another file with --state",
        ));
    }
    let limits = args.limits(&settings.limits);
    session.set_limits(limits).map_err(bad)?;
    Ok(session)
}
