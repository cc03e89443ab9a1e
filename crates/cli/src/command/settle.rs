//! `bowline settle`: a person says how a call in doubt went.

use bowline_core::event::{Ask, Settlement};
use bowline_core::input::Signal;
use bowline_core::run::{CallState, Wait};

use super::Desk;
use crate::args::SettleArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::{pick, question};

/// Ends the doubt about a call.
pub(crate) async fn settle(desk: &Desk<'_>, args: &SettleArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let store = engine.store().as_ref();
    let id = pick::run(store, &args.run).await?.run;
    let run = engine.inspect(&id).await?.run;
    let action = args.action;
    let state = question::call(&run, action).map(|call| &call.state);
    let Some(CallState::InDoubt { tool, attempt, why, ask, .. }) = state else {
        let doubts: Vec<String> = run
            .waits()
            .iter()
            .filter_map(|wait| match wait {
                Wait::InDoubt { action, .. } => Some(action.to_string()),
                Wait::Restored { .. } | Wait::Paused | Wait::Approval { .. } => None,
            })
            .collect();
        let remedy = match doubts.as_slice() {
            [] => format!(
                "no call of run {id} is in doubt; `{} show {id}` tells how it stands",
                desk.home.program()
            ),
            names => format!("in doubt are {}", names.join(", ")),
        };
        return Err(CliError::refused(format!("call {action} of run {id} is not in doubt"), remedy));
    };
    if *ask == Ask::Probe {
        desk.screen.note(&format!(
            "note: {action} has a probe that would be asked when the run goes on; your word counts instead"
        ));
    }
    let wait = Wait::InDoubt { action, tool: tool.clone(), attempt: *attempt, why: *why };
    let attempt = *attempt;
    for line in question::shown(store, &run, (&wait, false)).await? {
        desk.screen.line(&line);
    }
    let (settlement, told) = settlement(args);
    engine.signal(&id, &person(), Signal::Settle { action, attempt, settlement }).await?;
    desk.screen.line(&format!("settled: {told}"));
    desk.screen
        .line(&format!("  → {} resume {id}  goes on, unless a worker has it already", desk.home.program()));
    Ok(Exit::Committed)
}

fn settlement(args: &SettleArgs) -> (Settlement, &'static str) {
    if args.happened {
        (question::happened(args.result.as_deref().unwrap_or_default()), "it happened")
    } else if args.repeat {
        (Settlement::DidNotHappen, "it did not happen and is made now, with the same key")
    } else {
        (question::given_up(), "given up, never repeated")
    }
}
