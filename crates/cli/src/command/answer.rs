//! `bowline approve` and `bowline deny`: an answer to exactly what is shown.

use bowline::Engine;
use bowline_core::id::RunId;
use bowline_core::run::{Run, Wait};

use super::Desk;
use crate::args::{ApproveArgs, DenyArgs, ReviseArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::interrupt::Interrupts;
use crate::{pick, question};

/// Says yes.
pub(crate) async fn approve(desk: &Desk<'_>, args: &ApproveArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let (id, wait) = asked(desk, &engine, &args.run, args.subject.as_deref()).await?;
    if !args.yes {
        if !desk.screen.can_ask() {
            return Err(CliError::refused(
                "nobody can be asked here: this is no terminal",
                "read what is shown above, then repeat the command with --yes",
            ));
        }
        let interrupts = Interrupts::listen(&engine, desk.screen)?;
        desk.screen.ask("approve? [y/n] ");
        if !matches!(question::answer(&interrupts).await.as_deref(), Some("y" | "yes")) {
            desk.screen.line("not approved; nothing was sent");
            return Ok(Exit::Unfinished);
        }
    }
    engine.approve(&id, &person(), &wait).await?;
    sent(desk, &id, "approved");
    Ok(Exit::Committed)
}

/// Says no.
pub(crate) async fn deny(desk: &Desk<'_>, args: &DenyArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let (id, wait) = asked(desk, &engine, &args.run, args.subject.as_deref()).await?;
    engine.deny(&id, &person(), &wait, &args.reason).await?;
    sent(desk, &id, "denied");
    Ok(Exit::Committed)
}

/// Says: not like this.
pub(crate) async fn revise(desk: &Desk<'_>, args: &ReviseArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let (id, wait) = asked(desk, &engine, &args.run, Some("output")).await?;
    engine.send_back(&id, &person(), &wait, &args.feedback).await?;
    sent(desk, &id, "sent back");
    Ok(Exit::Committed)
}

/// The question that is meant, shown.
async fn asked(
    desk: &Desk<'_>,
    engine: &Engine,
    word: &str,
    subject: Option<&str>,
) -> Result<(RunId, Wait), CliError> {
    let store = engine.store().as_ref();
    let id = pick::run(store, word).await?.run;
    let run = engine.inspect(&id).await?.run;
    let wait = open_question(desk, &run, subject)?;
    for line in question::shown(store, &run, &wait).await? {
        desk.screen.line(&line);
    }
    Ok((id, wait))
}

fn open_question(desk: &Desk<'_>, run: &Run, subject: Option<&str>) -> Result<Wait, CliError> {
    let id = &run.id;
    let mut open: Vec<(String, Wait)> = Vec::new();
    for wait in run.waits() {
        match &wait {
            Wait::Approval { subject, .. } => open.push((subject.to_string(), wait)),
            Wait::Paused | Wait::InDoubt { .. } => {}
        }
    }
    let names = open.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let look = format!("`{} show {id}` tells what it waits for", desk.home.program());
    if open.is_empty() {
        return Err(CliError::refused(format!("run {id} ({}) asks nothing", run.phase.word()), look));
    }
    match (subject, open.len()) {
        (None, 1) => open.pop().map(|(_, wait)| wait),
        (None, _) => None,
        (Some(subject), _) => open.into_iter().find(|(name, _)| name == subject).map(|(_, wait)| wait),
    }
    .ok_or_else(|| match subject {
        Some(subject) => CliError::refused(
            format!("run {id} does not ask about {subject:?}"),
            format!("it asks about {names}"),
        ),
        None => CliError::refused(format!("run {id} asks several things"), format!("name one of {names}")),
    })
}

fn sent(desk: &Desk<'_>, id: &RunId, what: &str) {
    desk.screen.line(&format!("{what}; the answer is in the store"));
    desk.screen
        .line(&format!("  → {} resume {id}  goes on, unless a worker has it already", desk.home.program()));
}
