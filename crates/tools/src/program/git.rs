//! Git as a program that runs nothing else, and as a lister of files.
//!
//! A repository is somebody's: what its configuration names is not run. Hooks, the file
//! system monitor, signing, lazy fetching, upkeep and prompts are off, and there is a deadline.
//! Programs under names we cannot know (filters and drivers) are taken out by
//! `crate::git`, which lets git read files; listing reads none. Git itself is looked for
//! only where the agent cannot put another. A repository whose files cannot be listed is
//! like none at all.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use bowline_cage::{NotFound, Outside};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::{environment, tether};

/// Longest time it may take.
const LIST_MAX: Duration = Duration::from_secs(20);

/// Most bytes of names.
const NAMES_MAX: u64 = 32 * 1024 * 1024;

/// Put before every question, also in a cage.
pub(crate) const SETTINGS: [&str; 20] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=false",
    "core.preloadIndex=false",
    "core.logAllRefUpdates=always",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "i18n.commitEncoding=UTF-8",
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "push.gpgSign=false",
    "log.showSignature=false",
    "diff.external=",
    "core.sshCommand=",
];

/// Switches of its environment.
pub(crate) const SWITCHES: [(&str, &str); 4] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
];

/// Git in a folder, with nothing of ours but its own settings, dead when we are. It and what
/// it starts are looked for only where no agent writes.
pub(crate) fn command(folder: &Path, outside: &Outside) -> Result<Command, NotFound> {
    let mut command = Command::new(outside.find("git")?);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
        .current_dir(folder)
        .env_clear()
        .envs(environment())
        .env("PATH", outside.path())
        .envs(SWITCHES)
        .process_group(0)
        .kill_on_drop(true);
    tether::tie(&mut command);
    Ok(command)
}

/// The files of a folder that are tracked, or untracked and not ignored, below the
/// folder. `None` where there is no repository, no git, or no answer.
pub(crate) async fn files(folder: &Path, outside: &Outside) -> Option<Vec<String>> {
    if !folder.ancestors().any(|above| above.join(".git").exists()) {
        return None;
    }
    let mut command = command(folder, outside).ok()?;
    command
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let listed = tokio::time::timeout(LIST_MAX, names(command)).await.ok().flatten()?;
    let mut files: Vec<String> =
        listed.split(|byte| *byte == 0).filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect();
    files.retain(|name| !name.is_empty());
    files.sort_unstable();
    files.dedup();
    // A folder that an outer repository ignores is no part of it.
    (!files.is_empty()).then_some(files)
}

async fn names(mut command: Command) -> Option<Vec<u8>> {
    let mut child = command.spawn().ok()?;
    let mut names = Vec::new();
    child.stdout.take()?.take(NAMES_MAX + 1).read_to_end(&mut names).await.ok()?;
    let whole = names.len() as u64 <= NAMES_MAX;
    let ended = child.wait().await.ok()?;
    (whole && ended.success()).then_some(names)
}
