//! `bowline adopt`: the runs of a home that somebody else may have made are shown, and
//! it becomes this user's own if they say so.

use bowline_core::event::Ending;
use bowline_core::run::Run;
use bowline_core::task::explain;
use bowline_store::{ListFilter, RunRow, RunStore};

use super::Desk;
use super::runs::table;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::Home;
use crate::home_args::AdoptArgs;
use crate::question::read_line;
use crate::render::{Screen, escape, words};

/// Shows what is in a home, and takes it over.
pub(crate) async fn adopt(screen: &Screen, args: &AdoptArgs) -> Result<Exit, CliError> {
    let home = Home::to_adopt(&args.folder)?;
    home.trusted()?;
    if home.is_known() {
        screen.line(&format!("{} is yours already", home.path().display()));
        return Ok(Exit::Committed);
    }
    let desk = Desk { home, screen };
    let engine = if desk.home.has_store() { Some(desk.home.observe()?) } else { None };
    match &engine {
        Some(engine) => show(&desk, engine.store().as_ref()).await?,
        None => screen.line(&format!("there are no runs in {}", desk.home.path().display())),
    }
    if !args.yes && !agreed(screen).await? {
        screen.line("not adopted; nothing was changed");
        return Ok(Exit::Refused);
    }
    if let Some(engine) = &engine {
        // What was cached beside the journals was not shown, and is not gone on from.
        engine.store().drop_checkpoints().await?;
    }
    desk.home.adopt()?;
    screen.line(&format!("adopted: {} is yours", desk.home.path().display()));
    Ok(Exit::Committed)
}

/// Everything that would be done with the user's rights, from the journals: what stands beside
/// them is a cache, which whoever made the home may have filled as they liked.
async fn show(desk: &Desk<'_>, store: &dyn RunStore) -> Result<(), CliError> {
    let mut rows = store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await?;
    let mut open = Vec::new();
    let mut lies = Vec::new();
    for row in &mut rows {
        let said = row.summary.is_over();
        let run = journal(store, row).await?;
        row.summary = bowline::summary(&run);
        if row.summary.is_over() != said {
            lies.push(row.run.clone());
        }
        if can_go_on(&run) {
            open.push(run);
        }
    }
    table(desk, &rows);
    let many = words::several(open.len() as u64, "run");
    desk.screen.line(&format!("\n{many} can go on, with your rights, once this home is yours"));
    for run in open {
        desk.screen.line(&format!("\nrun {}", run.id));
        explain(&run.task).iter().for_each(|line| desk.screen.line(&format!("  {}", escape::line(line))));
    }
    for run in lies {
        desk.screen.line(&format!(
            "\nwarning: the list said otherwise of run {run} than its journal: somebody changed it"
        ));
    }
    Ok(())
}

/// A run as its journal says, which must be whole.
async fn journal(store: &dyn RunStore, row: &RunRow) -> Result<Run, CliError> {
    store.prove(&row.run).await?;
    Ok(bowline::fold(store, &row.run, u64::MAX).await?.run)
}

/// It has not ended, can be taken up again, or still owes something.
fn can_go_on(run: &Run) -> bool {
    let is_final = matches!(run.ending(), Some(Ending::Committed { .. } | Ending::Failed { .. }));
    !is_final || run.has_afterwork()
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
