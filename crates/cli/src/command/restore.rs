//! `bowline restore`: brings a home back from a backup, into a new folder.
//!
//! Everything is checked before anything is written, written where nobody looks, examined by the
//! same code as `audit verify`, and only then gets its name. Open runs may have gone on in the
//! home the backup was made of: each is marked, and waits for a person to take it up.

use std::fs::{self, DirBuilder, File};
use std::io::BufReader;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use bowline::{Engine, Patience};
use bowline_cage::tree;
use bowline_core::id::Millis;
use bowline_store::{EndingKind, ListFilter, RunRow, StoreError};

use super::audit::examine;
use crate::archive::read::{self, BadBackup, Survey};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::{Home, person};
use crate::home_args::RestoreArgs;
use crate::render::{Screen, escape, words};

/// Brings a home back.
pub(crate) async fn restore(screen: &Screen, args: &RestoreArgs) -> Result<Exit, CliError> {
    let file = || -> Result<BufReader<File>, CliError> {
        let opened = File::open(&args.file).map_err(CliError::io("read", &args.file))?;
        Ok(BufReader::with_capacity(1 << 16, opened))
    };
    let bad = |bad: BadBackup| {
        CliError::refused(format!("{} is not used: {bad}", args.file.display()), bad.remedy())
    };
    let home = Home::at(&args.dir)?;
    vacant(home.path())?;
    home.trusted()?;
    let survey = read::survey(file()?).map_err(bad)?;
    let scratch = Scratch::beside(home.path())?;
    read::extract(file()?, &scratch.0).map_err(bad)?;
    let marked = examined(screen, &home, &scratch, survey.header.made_at).await?;
    scratch.take_name(home.path())?;
    tell(screen, &home, &survey, &marked);
    Ok(Exit::Committed)
}

/// Refuses a place where something is.
fn vacant(dir: &Path) -> Result<(), CliError> {
    let is_vacant = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => dir.symlink_metadata().is_err(),
    };
    if is_vacant {
        return Ok(());
    }
    let what = if dir.join("store.db").exists() { "is a home already" } else { "is there, and is not empty" };
    Err(CliError::refused(
        format!("{} {what}", dir.display()),
        "nothing is written over: name a folder that is not there yet",
    ))
}

/// A folder for this user alone, in which a home is put together.
struct Scratch(PathBuf);

impl Scratch {
    fn beside(dir: &Path) -> Result<Self, CliError> {
        let parent = dir.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(CliError::io("make", parent))?;
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scratch = parent.join(format!(".{name}.restoring-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&scratch).map_err(CliError::io("make", &scratch))?;
        Ok(Self(scratch))
    }

    /// Makes all of it durable, and then a home.
    fn take_name(self, dir: &Path) -> Result<(), CliError> {
        let failed = || CliError::io("make", dir);
        let folder = File::open(&self.0).map_err(failed())?;
        rustix::fs::syncfs(&folder).map_err(|error| failed()(error.into()))?;
        fs::rename(&self.0, dir).map_err(failed())?;
        let parent = dir.parent().unwrap_or(Path::new("/"));
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.0.symlink_metadata().is_ok() {
            // What stays is in nobody's way, and named like what it is.
            let _ = tree::remove(&self.0);
        }
    }
}

/// Examines every run, and marks the open ones. Gives those.
async fn examined(
    screen: &Screen,
    home: &Home,
    scratch: &Scratch,
    made_at: Millis,
) -> Result<Vec<RunRow>, CliError> {
    let inside = Home::at(&scratch.0)?;
    inside.bring_up(false)?;
    let engine = inside.work(Patience::LeaveWhenWaiting)?;
    let rows = engine.store().list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await;
    let rows = match rows {
        Err(StoreError::Damaged(bad)) => return Err(damaged(home, &bad.to_string())),
        rows => rows?,
    };
    let mut marked = Vec::new();
    for row in rows {
        let found = examine(engine.store().as_ref(), &row).await?;
        for problem in &found.problems {
            screen.note(&format!("run {}: {}", row.run, escape::line(problem)));
        }
        if !found.problems.is_empty() {
            return Err(damaged(home, &format!("run {} is not consistent", row.run)));
        }
        if mark(&engine, &row, made_at).await? {
            marked.push(row);
        }
    }
    Ok(marked)
}

fn damaged(home: &Home, what: &str) -> CliError {
    CliError::refused(
        format!("{} was not made: {what}", home.path().display()),
        "use an earlier backup; this one was made of a store that was damaged already",
    )
}

/// Marks a run that could go on; true if it was one.
async fn mark(engine: &Engine, row: &RunRow, made_at: Millis) -> Result<bool, CliError> {
    match row.summary.ending {
        Some(EndingKind::Committed | EndingKind::Failed) => Ok(false),
        Some(EndingKind::Halted) | None => Ok(engine.bring_back(&row.run, &person(), made_at).await?),
    }
}

fn tell(screen: &Screen, home: &Home, survey: &Survey, marked: &[RunRow]) {
    let made = words::utc(survey.header.made_at);
    screen.line(&format!(
        "{} is as it was at {made}: {}, {} MiB; every run was examined",
        home.path().display(),
        words::several(survey.items, "file"),
        words::count(survey.bytes.div_ceil(1 << 20))
    ));
    if home.path().file_name().is_some_and(|name| name == ".bowline") {
        let project = home.path().parent().unwrap_or(home.path()).display();
        screen.line(&format!("  → bowline adopt {project}  makes it the home of that project"));
    }
    if !marked.is_empty() {
        let many = words::several(marked.len() as u64, "run");
        screen
            .line(&format!("\n{many} had not ended, and may have gone on since, where the backup was made:"));
    }
    for row in marked {
        let goal = escape::cut(&escape::line(&row.summary.goal), 60);
        screen.line(&format!("  {}  {}  {goal}", row.run, row.summary.phase));
    }
    if !marked.is_empty() {
        screen.line(
            "None of them goes on by itself. Calls that must not be made twice will be in doubt before they are made: \
             a probe or you say whether they happened.",
        );
        screen.line(&format!(
            "  → {} resume RUN --restored  takes one up here, once nobody works on it elsewhere",
            home.program()
        ));
    }
}
