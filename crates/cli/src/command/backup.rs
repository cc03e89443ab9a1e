//! `bowline backup`: a home in one file, while others work in it.
//!
//! The store is taken first, as it is at one moment; then everything else. What a run at work
//! changes in its copy of a workspace meanwhile is ahead of that moment, which is said.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bowline_core::id::RunId;
use bowline_store::{ListFilter, RunRow, RunStore, SqliteStore};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Desk;
use crate::archive::write::Writer;
use crate::archive::{FORMAT, Header};
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::Home;
use crate::home_args::BackupArgs;
use crate::render::bar::Bar;
use crate::render::words;

/// Makes a backup.
pub(crate) async fn backup(desk: &Desk<'_>, args: &BackupArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let store = engine.store().as_ref();
    let to = target(&desk.home, &args.file)?;
    let header = Header { bowline_backup: FORMAT, made_at: clock::now(), store: store.version() };
    let part = Part::make(&to)?;
    let snapshot = Part::named(beside(&to, ".store.part"));
    let before = copies_of_open(&desk.home, &rows(store).await?);
    let written = write(&desk.home, &header, &part, &snapshot);
    drop(snapshot);
    let told = written?;
    // What moved while it was looked at.
    let after = rows(store).await?;
    let moved =
        before.iter().filter(|(run, head)| after.iter().any(|row| row.run == *run && row.head != *head));
    let moved: Vec<&RunId> = moved.map(|(run, _)| run).collect();
    part.take_name(&to)?;
    tell(desk, &to, &told, &moved);
    Ok(Exit::Committed)
}

/// What was written.
struct Told {
    bytes: u64,
    runs_left_out: Vec<String>,
}

fn write(home: &Home, header: &Header, part: &Part, snapshot: &Part) -> Result<Told, CliError> {
    let bar = Bar::new();
    let copied = SqliteStore::copy(home.path(), &snapshot.path, &mut |done, of| {
        bar.at(done, of, "copying the store");
    });
    bar.clear();
    copied?;
    let failed = || CliError::io("write", &part.path);
    let out = OpenOptions::new().write(true).open(&part.path).map_err(failed())?;
    let mut writer = Writer::begin(BufWriter::new(out), header).map_err(failed())?;
    let mut store = File::open(&snapshot.path).map_err(CliError::io("read", &snapshot.path))?;
    let all = writer.file(Path::new("store.db"), 0o600, &mut store).and_then(|()| writer.home(home.path()));
    all.map_err(CliError::io("back up", home.path()))?;
    let runs_left_out = std::mem::take(&mut writer.left_out);
    let (out, _) = writer.end().map_err(failed())?;
    let out = out.into_inner().map_err(|error| failed()(error.into_error()))?;
    out.sync_all().map_err(failed())?;
    let bytes = out.metadata().map_err(failed())?.len();
    Ok(Told { bytes, runs_left_out })
}

fn tell(desk: &Desk<'_>, to: &Path, told: &Told, moved: &[&RunId]) {
    for left in &told.runs_left_out {
        desk.screen.note(&format!("left out: {left}"));
    }
    for run in moved {
        desk.screen.note(&format!(
            "run {run} was at work meanwhile: its copy of the workspace may be ahead of its journal in this backup; \
             `{} pause {run}` before a backup makes it exact",
            desk.home.program()
        ));
    }
    let size = words::count(told.bytes.div_ceil(1 << 20));
    desk.screen.line(&format!("{}: {size} MiB", to.display()));
    desk.screen.line("  workspaces that runs work in place on lie outside of the home, and are not in it");
    desk.screen.line(&format!("  → bowline restore {} DIR  brings it back", to.display()));
}

async fn rows(store: &dyn RunStore) -> Result<Vec<RunRow>, CliError> {
    let filter = ListFilter { open_only: true, max: usize::MAX, ..ListFilter::default() };
    Ok(store.list(filter).await?)
}

/// Open runs that work on a copy, and where their journals end.
fn copies_of_open(home: &Home, rows: &[RunRow]) -> Vec<(RunId, bowline_core::provenance::Digest)> {
    let has_copy = |row: &&RunRow| home.workspaces().join(row.run.as_str()).exists();
    rows.iter().filter(has_copy).map(|row| (row.run.clone(), row.head)).collect()
}

/// Where the backup goes: nowhere where something is, and not into what is backed up.
fn target(home: &Home, file: &Path) -> Result<PathBuf, CliError> {
    let to = std::path::absolute(file).map_err(CliError::io("find", file))?;
    if to.symlink_metadata().is_ok() {
        return Err(there_already(&to));
    }
    let folder = to.parent().unwrap_or(Path::new("/"));
    let folder = folder.canonicalize().map_err(CliError::io("find", folder))?;
    let real = home.path().canonicalize().map_err(CliError::io("find", home.path()))?;
    if folder.starts_with(&real) {
        return Err(CliError::refused(
            format!("{} lies in the home that is backed up", to.display()),
            "name a file elsewhere, best on another disk",
        ));
    }
    let name = to.file_name().ok_or_else(|| {
        CliError::refused(format!("{} names no file", file.display()), "name the file to write")
    })?;
    Ok(folder.join(name))
}

fn there_already(to: &Path) -> CliError {
    CliError::refused(
        format!("{} is there already", to.display()),
        "nothing is overwritten: name another file, or move it away",
    )
}

fn beside(to: &Path, ending: &str) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A file that is not what it will be; removed unless it gets its name.
struct Part {
    path: PathBuf,
}

impl Part {
    fn named(path: PathBuf) -> Self {
        // What a killed process left.
        let _ = fs::remove_file(&path);
        Self { path }
    }

    fn make(to: &Path) -> Result<Self, CliError> {
        let part = Self::named(beside(to, ".part"));
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part.path)
            .map_err(CliError::io("write", &part.path))?;
        Ok(part)
    }

    /// Gives it its name, durably, and never that of something else.
    fn take_name(self, to: &Path) -> Result<(), CliError> {
        let named = renameat_with(CWD, &self.path, CWD, to, RenameFlags::NOREPLACE);
        named.map_err(|error| match io::Error::from(error) {
            error if error.kind() == io::ErrorKind::AlreadyExists => there_already(to),
            error => CliError::io("write", to)(error),
        })?;
        let folder = to.parent().unwrap_or(Path::new("/"));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(CliError::io("sync", folder))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Gone if it got its name.
        let _ = fs::remove_file(&self.path);
    }
}
