//! `bowline approve` and `bowline deny`: an answer to exactly what is shown.

use bowline::Engine;
use bowline_core::id::{Millis, RunId};
use bowline_core::provenance::Digest;
use bowline_core::run::{Run, Wait};

use super::Desk;
use crate::args::{ApproveArgs, DenyArgs, ReviseArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::interrupt::Interrupts;
use crate::render::words;
use crate::{clock, pick, question};

/// Fewest digits that name a content.
const CONTENT_MIN: usize = 8;

/// Says yes.
pub(crate) async fn approve(desk: &Desk<'_>, args: &ApproveArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let (id, wait) = asked(desk, &engine, (&args.run, args.subject.as_deref()), args.all).await?;
    fits(&wait, args.content.as_deref(), clock::now())?;
    if !args.yes {
        if !desk.screen.can_ask() {
            let content =
                content(&wait).map_or_else(String::new, |binds| format!(" --content {}", binds.short()));
            return Err(CliError::refused(
                "nobody can be asked here: this is no terminal",
                format!("read what is shown above, then repeat the command with --yes{content}"),
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
    let (id, wait) = asked(desk, &engine, (&args.run, args.subject.as_deref()), false).await?;
    fits(&wait, None, clock::now())?;
    engine.deny(&id, &person(), &wait, &args.reason).await?;
    sent(desk, &id, "denied");
    Ok(Exit::Committed)
}

/// Says: not like this.
pub(crate) async fn revise(desk: &Desk<'_>, args: &ReviseArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let (id, wait) = asked(desk, &engine, (&args.run, Some("output")), false).await?;
    engine.send_back(&id, &person(), &wait, &args.feedback).await?;
    sent(desk, &id, "sent back");
    Ok(Exit::Committed)
}

/// What an answer to this would be bound to.
fn content(wait: &Wait) -> Option<Digest> {
    match wait {
        Wait::Approval { binds, .. } => Some(*binds),
        Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => None,
    }
}

/// Refuses an answer that comes too late, or that is about something else.
fn fits(wait: &Wait, meant: Option<&str>, now: Millis) -> Result<(), CliError> {
    let Wait::Approval { binds, expires_at, .. } = wait else { return Ok(()) };
    if *expires_at <= now {
        return Err(CliError::refused(
            format!("the question was open until {}: an answer comes too late", words::utc(*expires_at)),
            "resume the run: the call is refused, and the model may ask for it again",
        ));
    }
    let is_meant = meant.is_none_or(|meant| {
        meant.len() >= CONTENT_MIN && binds.to_string().starts_with(&meant.to_ascii_lowercase())
    });
    if is_meant {
        return Ok(());
    }
    Err(CliError::refused(
        format!("the question is about other content: sha256 {binds}"),
        format!("read what is shown above; --content takes at least {CONTENT_MIN} digits of it"),
    ))
}

/// The question that is meant, shown.
async fn asked(
    desk: &Desk<'_>,
    engine: &Engine,
    (word, subject): (&str, Option<&str>),
    whole: bool,
) -> Result<(RunId, Wait), CliError> {
    let store = engine.store().as_ref();
    let id = pick::run(store, word).await?.run;
    let run = engine.inspect(&id).await?.run;
    let wait = open_question(desk, &run, subject)?;
    for line in question::shown(store, &run, (&wait, whole)).await? {
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
            Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => {}
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

#[cfg(test)]
mod tests {
    use bowline_core::event::Subject;

    use super::*;

    #[test]
    fn an_answer_fits_only_the_question_it_is_about_and_only_in_time() {
        let binds = Digest::of(b"pay");
        let wait = Wait::Approval { subject: Subject::Output, binds, expires_at: Millis(500) };
        let (full, other) = (binds.to_string(), Digest::of(b"other").to_string());
        let told = |meant: Option<&str>, now: u64| fits(&wait, meant, Millis(now)).map_err(|e| e.to_string());
        assert_eq!(told(None, 499), Ok(()));
        assert_eq!(told(Some(&full), 499), Ok(()));
        assert_eq!(told(full.get(..8), 499), Ok(()));
        assert!(told(Some(&other), 499).unwrap_err().contains("other content"));
        assert!(told(full.get(..4), 499).unwrap_err().contains("other content"));
        assert!(told(Some(&full), 500).unwrap_err().contains("too late"));
    }
}
