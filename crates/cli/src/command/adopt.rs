//! `bowline adopt`: the runs of a home that somebody else may have made are shown, and
//! it becomes this user's own if they say so.

use bowline_core::event::Event;
use bowline_core::task::{Sandbox, Task};
use bowline_store::{ListFilter, RunRow, RunStore};

use super::Desk;
use super::runs::table;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::Home;
use crate::home_args::AdoptArgs;
use crate::question::read_line;
use crate::render::{Screen, words};

/// Shows what is in a home, and takes it over.
pub(crate) async fn adopt(screen: &Screen, args: &AdoptArgs) -> Result<Exit, CliError> {
    let home = Home::to_adopt(&args.folder)?;
    home.trusted()?;
    if home.is_known() {
        screen.line(&format!("{} is yours already", home.path().display()));
        return Ok(Exit::Committed);
    }
    let desk = Desk { home, screen };
    show(&desk).await?;
    if !args.yes && !agreed(screen).await? {
        screen.line("not adopted; nothing was changed");
        return Ok(Exit::Refused);
    }
    desk.home.adopt()?;
    screen.line(&format!("adopted: {} is yours", desk.home.path().display()));
    Ok(Exit::Committed)
}

async fn show(desk: &Desk<'_>) -> Result<(), CliError> {
    if !desk.home.has_store() {
        desk.screen.line(&format!("there are no runs in {}", desk.home.path().display()));
        return Ok(());
    }
    let engine = desk.home.observe()?;
    let store = engine.store();
    let rows = store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await?;
    table(desk, &rows);
    let open: Vec<&RunRow> = rows.iter().filter(|row| !row.summary.is_over()).collect();
    let many = words::several(open.len() as u64, "run");
    desk.screen.line(&format!("\n{many} can go on, with your rights, once this home is yours"));
    for row in open {
        let outside = task(store.as_ref(), row).await?.as_ref().is_some_and(is_uncaged);
        if outside {
            desk.screen.line(&format!("  {} runs its programs without a sandbox", row.run));
        }
    }
    Ok(())
}

/// The task of a run, from its first event.
async fn task(store: &dyn RunStore, row: &RunRow) -> Result<Option<Task>, CliError> {
    let first = bowline::history(store, &row.run, 1, 1).await?;
    Ok(first.into_iter().find_map(|(_, _, event)| match event {
        Event::Submitted(submission) => Some(submission.task),
        _ => None,
    }))
}

fn is_uncaged(task: &Task) -> bool {
    match task.sandbox {
        Sandbox::None | Sandbox::IfAvailable => true,
        Sandbox::Cage { .. } => false,
    }
}

async fn agreed(screen: &Screen) -> Result<bool, CliError> {
    if !screen.can_ask() {
        return Err(CliError::refused(
            "nobody can be asked here whether to adopt this home",
            "read the list above, then say it with --yes",
        ));
    }
    screen.ask("adopt it? [y/n] ");
    let said = tokio::task::spawn_blocking(read_line).await.ok().flatten();
    Ok(matches!(said.as_deref(), Some("y" | "yes")))
}
