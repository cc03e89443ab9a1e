//! The files a case plays with, and what must be the same afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What must not change, by path.
type Contents = BTreeMap<PathBuf, Vec<u8>>;

/// A fresh tree: `ws` is the workspace, `outside` and `ws-evil` are not.
pub(super) struct Tree {
    folder: tempfile::TempDir,
    before: Contents,
}

impl Tree {
    /// Lets the script make one. In memory where there is such a place: a race
    /// syncs a hundred thousand times.
    pub(super) fn make(script: &Path, with_many: bool) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("hostile-paths-");
        let folder = builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir())?;
        let mut command = Command::new("bash");
        command.arg(script).arg(folder.path().join("tree"));
        if with_many {
            command.env("MANY", "1");
        }
        let output = command.output().context("cannot start bash")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} failed: {}", script.display(), said.trim());
        let mut tree = Self { folder, before: Contents::new() };
        tree.before = tree.contents()?;
        ensure!(!tree.before.is_empty(), "{} made nothing outside the workspace", script.display());
        Ok(tree)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.at("ws")
    }

    pub(super) fn outside(&self) -> PathBuf {
        self.at("outside")
    }

    /// The text with the names of this tree.
    pub(super) fn fill_in(&self, text: &str) -> String {
        text.replace("{ROOTNAME}", "ws")
            .replace("{ROOT}", &self.root().display().to_string())
            .replace("{OUT}", &self.outside().display().to_string())
    }

    /// Everything outside is as it was made.
    pub(super) fn is_untouched(&self) -> Result<()> {
        let now = self.contents()?;
        let differs = |(path, bytes): &(&PathBuf, &Vec<u8>)| now.get(*path) != Some(*bytes);
        let changed = self.before.iter().find(differs).map(|(path, _)| path);
        ensure!(changed.is_none(), "changed or gone outside: {changed:?}");
        let new = now.keys().find(|path| !self.before.contains_key(*path));
        ensure!(new.is_none(), "made outside: {new:?}");
        Ok(())
    }

    /// What a case names on its own is the same, and is among what is watched.
    pub(super) fn is_same(&self, named: Option<&str>) -> Result<()> {
        let Some(named) = named else { return Ok(()) };
        let path = PathBuf::from(self.fill_in(named.trim_end_matches("/**")));
        let watched = self.before.keys().any(|known| known.starts_with(&path));
        ensure!(watched, "nobody watched {}", path.display());
        self.is_untouched()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("tree").join(name)
    }

    fn contents(&self) -> Result<Contents> {
        let mut found = Contents::new();
        let mut open = vec![self.outside(), self.at("ws-evil")];
        while let Some(folder) = open.pop() {
            let entries = fs::read_dir(&folder).with_context(|| format!("{} is gone", folder.display()))?;
            for entry in entries {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    open.push(entry.path());
                }
                let bytes = if kind.is_file() { fs::read(entry.path())? } else { Vec::new() };
                found.insert(entry.path(), bytes);
            }
        }
        Ok(found)
    }
}
