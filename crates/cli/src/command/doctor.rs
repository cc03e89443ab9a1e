//! `bowline doctor`: is this installation fit for work? Each line says what was
//! looked at, how it is, and what to do if it is not well.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bowline_cage::{Cage, Finding, Outside, Verdict};
use bowline_core::id::RunId;
use bowline_core::task::Format;
use bowline_remote::{provider_key, provider_url};
use bowline_store::migrations::{VERSION, lacked_by};
use bowline_store::{ListFilter, Role, RunRow, RunStore, SqliteStore, StoreError};

use super::Desk;
use super::audit::examine;
use super::gc::orphans;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::Home;
use crate::output::looks::{self as output, HealthWord};
use crate::render::{escape, words};

/// Less free space than this is worth a warning.
const ROOM_MIN: u64 = 256 << 20;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Ok,
    Warn,
    Bad,
}

/// One thing that was looked at.
struct Line {
    health: Health,
    what: &'static str,
    how: String,
    remedy: String,
}

impl Line {
    fn ok(what: &'static str, how: impl Into<String>) -> Self {
        Self { health: Health::Ok, what, how: how.into(), remedy: String::new() }
    }

    fn warn(what: &'static str, how: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Warn, what, how: how.into(), remedy: remedy.into() }
    }

    fn bad(what: &'static str, how: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Bad, what, how: how.into(), remedy: remedy.into() }
    }
}

/// Examines; code 1 if anything is bad.
pub(crate) async fn doctor(desk: &Desk<'_>) -> Result<Exit, CliError> {
    let home = &desk.home;
    let mut lines = vec![Line::ok("version", env!("CARGO_PKG_VERSION")), folder(home), room(home)];
    let whose = whose(home);
    let is_ours = whose.as_ref().is_none_or(|line| line.health != Health::Bad);
    lines.extend(whose);
    if !is_ours {
        lines.push(Line::warn("store", "not opened", "it is examined once the home is yours"));
    } else if home.has_store() {
        lines.push(worker(home));
        store(home, &mut lines).await?;
    } else {
        lines.push(Line::ok("store", "none yet; the first run makes it"));
    }
    let outside = home.outside();
    lines.push(program(&outside, "python3", "checks and tools of many tasks need it"));
    lines.push(program(&outside, "git", "tasks on repositories often need it"));
    lines.extend(sandbox(&outside));
    lines.extend(Format::ALL.into_iter().map(model_server));
    lines.iter().for_each(|line| tell(desk, line));
    let bad = lines.iter().any(|line| line.health == Health::Bad);
    Ok(if bad { Exit::Failed } else { Exit::Committed })
}

fn tell(desk: &Desk<'_>, line: &Line) {
    let (word, health) = match line.health {
        Health::Ok => ("ok", HealthWord::Ok),
        Health::Warn => ("warn", HealthWord::Warn),
        Health::Bad => ("bad", HealthWord::Bad),
    };
    if desk.screen.is_json() {
        let remedy = Some(line.remedy.as_str()).filter(|remedy| !remedy.is_empty());
        desk.screen.json(&output::Health { check: line.what, health, found: &line.how, remedy });
        return;
    }
    desk.screen.line(&format!("{word:<4}  {:<10}  {}", line.what, escape::line(&line.how)));
    if !line.remedy.is_empty() {
        desk.screen.line(&format!("      → {}", escape::line(&line.remedy)));
    }
}

/// Whether runs can be written here.
fn folder(home: &Home) -> Line {
    let path = home.path();
    let there = existing(path);
    let probe = there.join(format!(".bowline-doctor-{}", std::process::id()));
    let tried = fs::write(&probe, b"x").and_then(|()| fs::remove_file(&probe));
    let shown = path.display();
    match tried {
        Ok(()) if there == path => Line::ok("home", format!("{shown}, writable")),
        Ok(()) => Line::ok("home", format!("{shown}, not there yet; it can be made")),
        Err(error) => Line::bad(
            "home",
            format!("{shown} cannot be written: {error}"),
            "give this user the right to write there, or name another place with --home DIR",
        ),
    }
}

/// Whether the home is this user's alone; what others may do with it is taken away.
fn whose(home: &Home) -> Option<Line> {
    if !home.path().exists() {
        return None;
    }
    // What others could write must be closed before it can be trusted, so this comes first.
    let tightened = home.tighten();
    if let Err(error) = home.trusted() {
        return Some(Line::bad("owner", error.to_string(), error.remedy()));
    }
    Some(match tightened {
        Ok(done) if done.writable > 0 => Line::warn(
            "owner",
            format!("others could write {} files here; they no longer can", done.writable),
            "if others use this machine, examine the runs: `bowline audit verify RUN`",
        ),
        Ok(done) if done.seen > 0 => {
            Line::ok("owner", format!("others could read {} files here; they no longer can", done.seen))
        }
        Ok(_) => Line::ok("owner", "you alone"),
        Err(error) => Line::warn(
            "owner",
            format!("the modes of the files could not be changed: {error}"),
            "`chmod -R go-rwx` the folder",
        ),
    })
}

/// The nearest place that exists: the folder, or where it would be made.
fn existing(path: &Path) -> PathBuf {
    path.ancestors().find(|place| place.symlink_metadata().is_ok()).unwrap_or(Path::new("/")).to_owned()
}

fn room(home: &Home) -> Line {
    match rustix::fs::statvfs(existing(home.path())) {
        Ok(about) => {
            let free = about.f_bavail.saturating_mul(about.f_frsize);
            let how = format!("{} MiB free", words::count(free >> 20));
            if free < ROOM_MIN {
                Line::warn("disk", how, "free some space; `bowline gc` removes old runs")
            } else {
                Line::ok("disk", how)
            }
        }
        Err(error) => Line::warn("disk", format!("free space is unknown: {error}"), "look with `df`"),
    }
}

/// Who works here. Taking the right to work and giving it back shows whether it is free.
fn worker(home: &Home) -> Line {
    match SqliteStore::worker(home.path()) {
        Ok(None) => Line::ok("worker", "nobody works here now"),
        Ok(Some(holder)) => Line::ok("worker", format!("{holder} works here")),
        Err(error) => Line::bad("worker", error.to_string(), error.remedy()),
    }
}

async fn store(home: &Home, lines: &mut Vec<Line>) -> Result<(), CliError> {
    let store = match SqliteStore::open(home.path(), Role::Observer) {
        Ok(store) => store,
        Err(error) => {
            lines.push(Line::bad("store", error.to_string(), error.remedy()));
            return Ok(());
        }
    };
    let rows = match store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await {
        Ok(rows) => rows,
        Err(error) => {
            lines.push(Line::bad("store", error.to_string(), error.remedy()));
            return Ok(());
        }
    };
    let open: Vec<&RunRow> = rows.iter().filter(|row| !row.summary.is_over()).collect();
    lines.push(Line::ok(
        "store",
        format!("{}, {} open", words::several(rows.len() as u64, "run"), open.len()),
    ));
    lines.push(layout(home, store.version()));
    lines.extend(copies(home));
    lines.push(journals(&store, &open).await?);
    let known: BTreeSet<RunId> = rows.iter().map(|row| row.run.clone()).collect();
    let left = orphans(home, &known)?;
    lines.push(match left.len() as u64 {
        0 => Line::ok("folders", "every copy and result belongs to a run"),
        some => Line::warn(
            "folders",
            format!("{} without a run", words::several(some, "folder")),
            "`bowline gc` removes them",
        ),
    });
    Ok(())
}

/// Which version the store has, and what a migration would do.
fn layout(home: &Home, version: u32) -> Line {
    if version == VERSION {
        return Line::ok("layout", format!("version {version}"));
    }
    let size = fs::metadata(home.database()).map_or(0, |found| found.len()).div_ceil(1 << 20);
    let steps: Vec<String> =
        lacked_by(version).map(|step| format!("{} adds {}", step.number, step.what)).collect();
    let how = format!(
        "version {version}, today's is {VERSION}: {}; it is copied before, which takes {} MiB",
        steps.join("; "),
        words::count(size)
    );
    let remedy = "nothing to do: the next command that works on runs does it; `bowline migrate` does it now";
    Line { health: Health::Ok, what: "layout", how, remedy: remedy.into() }
}

/// The copies that migrations made.
fn copies(home: &Home) -> Option<Line> {
    let found = SqliteStore::copies(home.path());
    let bytes: u64 = found.iter().filter_map(|copy| copy.metadata().ok()).map(|about| about.len()).sum();
    let how =
        format!("{} from before migrations, {} MiB", found.len(), words::count(bytes.div_ceil(1 << 20)));
    let remedy = "remove `store.v*.backup-*.db` from the home when you do not need them";
    (!found.is_empty()).then(|| Line { health: Health::Ok, what: "copies", how, remedy: remedy.into() })
}

/// Whether the runs that are to go on can.
async fn journals(store: &dyn RunStore, open: &[&RunRow]) -> Result<Line, CliError> {
    let mut damaged = Vec::new();
    for row in open {
        match examine(store, row).await {
            Ok(found) if found.problems.is_empty() => {}
            Ok(_) | Err(StoreError::Damaged(_)) => damaged.push(row.run.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(if damaged.is_empty() {
        Line::ok("journals", "those of open runs are consistent")
    } else {
        Line::bad(
            "journals",
            format!("damaged: {}", damaged.join(", ")),
            "`bowline audit verify RUN` names everything that is wrong; restore the store from a backup",
        )
    })
}

/// Whether commands can be caged here, every wall tried from inside and outside.
fn sandbox(outside: &Outside) -> Vec<Line> {
    const WHAT: &str = "sandbox";
    let cage = match crate::cage::launcher().map(|launcher| Cage::find(launcher, outside)) {
        Ok(Ok(cage)) => cage,
        Ok(Err(missing)) => return vec![Line::warn(WHAT, missing.to_string(), missing.remedy())],
        Err(error) => {
            return vec![Line::warn(WHAT, format!("not tried: {error}"), "start bowline by its path")];
        }
    };
    let findings = match bowline_cage::probes(&cage) {
        Ok(findings) => findings,
        Err(error) => {
            return vec![Line::warn(WHAT, format!("not tried: {error}"), "free some space in TMPDIR")];
        }
    };
    let line = |finding: Finding| {
        let how = format!("{} ({})", finding.claim, finding.seen);
        match finding.verdict {
            Verdict::Holds => Line::ok(WHAT, how),
            Verdict::NoControl => Line::ok(WHAT, format!("unproved: {how}")),
            Verdict::Broken => {
                Line::bad(WHAT, how, "do not run commands here; update the kernel and bubblewrap")
            }
        }
    };
    findings.into_iter().map(line).collect()
}

/// Whether the models of a provider can be asked: whether their key is set, never the key.
fn model_server(format: Format) -> Line {
    let (word, url) = (format.word(), provider_url(format));
    let how = match provider_key(format) {
        None => format!("{word}:NAME at {url}, needs no key"),
        Some(key) if std::env::var_os(key).is_some_and(|set| !set.is_empty()) => {
            format!("{word}:NAME at {url}, {key} is set")
        }
        Some(key) => format!("{word}:NAME at {url}, {key} is not set"),
    };
    Line::ok("models", how)
}

/// Whether there is a program that Bowline itself may start.
fn program(outside: &Outside, name: &'static str, why: &str) -> Line {
    match outside.find(name) {
        Ok(file) => Line::ok(name, file.display().to_string()),
        Err(missing) if missing.has_passed_over() => Line::warn(name, missing.to_string(), missing.remedy()),
        Err(_) => Line::warn(name, "not found", format!("install it: {why}")),
    }
}
