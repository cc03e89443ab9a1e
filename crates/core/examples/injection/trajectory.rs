//! Recorded runs, one JSON object a line, plain or gzip.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use bowline_core::provenance::Digest;
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;

use crate::Trouble;

/// A run as far as it matters here.
#[derive(Deserialize)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) source: String,
    pub(crate) task: String,
    pub(crate) injected: Option<bool>,
    #[serde(default)]
    pub(crate) meta: Meta,
    pub(crate) events: Vec<Event>,
}

#[derive(Default, Deserialize)]
pub(crate) struct Meta {
    #[serde(default)]
    pub(crate) attack: Option<String>,
    #[serde(default)]
    pub(crate) injection_task: Option<String>,
    #[serde(default)]
    pub(crate) attack_success: Option<bool>,
}

#[derive(Deserialize)]
pub(crate) struct Event {
    pub(crate) t: String,
    pub(crate) name: Option<String>,
    pub(crate) args: Option<String>,
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) inj: Option<bool>,
}

impl Run {
    /// Not looked at while anything was tuned.
    pub(crate) fn is_held_out(&self) -> bool {
        Digest::of(self.id.as_bytes()).0.first().is_some_and(|byte| *byte >= 179)
    }
}

/// The trajectory files of a folder, by name.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("{} holds no .jsonl or .jsonl.gz", folder.display()).into());
    }
    Ok(files)
}

/// Hands every run of a file on.
pub(crate) fn each(path: &Path, mut take: impl FnMut(Run)) -> Result<(), Trouble> {
    let file = BufReader::new(File::open(path)?);
    let lines: Box<dyn BufRead> = if path.extension().is_some_and(|ending| ending == "gz") {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    };
    for (number, line) in lines.lines().enumerate() {
        let run =
            serde_json::from_str(&line?).map_err(|e| format!("{}:{}: {e}", path.display(), number + 1))?;
        take(run);
    }
    Ok(())
}
