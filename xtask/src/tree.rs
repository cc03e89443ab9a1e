//! Reads the texts of the clone. Build output, hidden folders (but `.ci` and
//! `.cargo`) and everything that is no text are left out.

use std::path::Path;

use anyhow::{Context, Result};

/// A text of the clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path below the root, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl File {
    /// A file as the rules see it.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// The path's parts.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.path.split('/')
    }

    /// True for a Rust source.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// True for recorded material, which is kept as it was recorded.
    #[must_use]
    pub fn is_fixture(&self) -> bool {
        self.parts().any(|part| part == "fixtures" || part == "snapshots")
    }
}

const TEXT_ENDINGS: [&str; 9] = ["rs", "toml", "md", "sh", "py", "yml", "yaml", "sql", "json"];
const SKIPPED: [&str; 3] = ["target", "node_modules", "__pycache__"];
const HIDDEN_BUT_OURS: [&str; 2] = [".ci", ".cargo"];

/// All texts below `root`, ordered by path.
pub fn read(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let here = root.join(&folder);
        for entry in std::fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))? {
            let entry = entry.with_context(|| format!("cannot list {}", here.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().with_context(|| format!("cannot look at {path}"))?;
            if kind.is_dir() && is_ours(&name) {
                folders.push(path);
            } else if kind.is_file() && is_text(&path) {
                let bytes = std::fs::read(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
                files.push(File::new(path, String::from_utf8_lossy(&bytes)));
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn is_ours(folder: &str) -> bool {
    !SKIPPED.contains(&folder) && (!folder.starts_with('.') || HIDDEN_BUT_OURS.contains(&folder))
}

fn is_text(path: &str) -> bool {
    let script = path.starts_with("scripts/") || path.starts_with(".ci/");
    script || path.rsplit_once('.').is_some_and(|(_, ending)| TEXT_ENDINGS.contains(&ending))
}
