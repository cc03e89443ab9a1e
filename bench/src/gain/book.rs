//! What was measured, on disk: a line for every answer of a model and for every run, so
//! that a measurement that was interrupted goes on where it was.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// One answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// What it said.
    pub(crate) text: String,
    /// Tokens it read and wrote.
    pub(crate) tokens: [u64; 2],
    /// How long it took.
    pub(crate) ms: u64,
    /// It was only held against an output.
    pub(crate) rival: bool,
}

/// One run of the loop.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Played {
    /// Whether the last answer that is no rival was committed.
    pub(crate) committed: bool,
    /// Its answers, in order.
    pub(crate) said: Vec<Said>,
    /// How long all of it took, without the model.
    pub(crate) around_ms: u64,
}

/// Everything measured so far with one model.
pub(crate) struct Book {
    file: Mutex<File>,
    said: Mutex<BTreeMap<String, Said>>,
    played: Mutex<BTreeMap<String, Played>>,
}

impl Book {
    /// Opens it, and reads what is in it. A line that was cut off is as if it had not been.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let whole = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let (mut said, mut played) = (BTreeMap::new(), BTreeMap::new());
        for line in whole {
            let key = |of: &str| line.get(of).and_then(Value::as_str).map(str::to_owned);
            if let (Some(key), Some(answer)) = (key("call"), read_said(&line)) {
                said.insert(key, answer);
            }
            if let (Some(key), Some(run)) = (key("run"), read_played(&line)) {
                played.insert(key, run);
            }
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.as_mut().map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(file)?;
        }
        let file = Mutex::new(file.try_clone().context("cannot keep the results open")?);
        Ok(Self { file, said: Mutex::new(said), played: Mutex::new(played) })
    }

    /// The answer of this key, if it is known.
    pub(crate) fn said(&self, key: &str) -> Option<Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// The run of this key, if it is known.
    pub(crate) fn played(&self, key: &str) -> Option<Played> {
        self.played.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Writes an answer down.
    pub(crate) fn note_said(&self, key: &str, said: &Said) -> Result<()> {
        let mut line = write_said(said);
        line.as_object_mut().into_iter().for_each(|fields| drop(fields.insert("call".into(), json!(key))));
        self.line(&line)?;
        self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into(), said.clone());
        Ok(())
    }

    /// Writes a run down.
    pub(crate) fn note_played(&self, key: &str, played: &Played) -> Result<()> {
        let said: Vec<Value> = played.said.iter().map(write_said).collect();
        let line =
            json!({ "run": key, "committed": played.committed, "said": said, "around_ms": played.around_ms });
        self.line(&line)?;
        self.played.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into(), played.clone());
        Ok(())
    }

    fn line(&self, line: &Value) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes()).context("cannot keep a result")
    }
}

fn write_said(said: &Said) -> Value {
    json!({ "text": said.text, "tokens": said.tokens, "ms": said.ms, "rival": said.rival })
}

fn read_said(line: &Value) -> Option<Said> {
    let tokens = line.get("tokens")?;
    Some(Said {
        text: line.get("text")?.as_str()?.to_owned(),
        tokens: [tokens.get(0)?.as_u64()?, tokens.get(1)?.as_u64()?],
        ms: line.get("ms")?.as_u64()?,
        rival: line.get("rival")?.as_bool()?,
    })
}

fn read_played(line: &Value) -> Option<Played> {
    Some(Played {
        committed: line.get("committed")?.as_bool()?,
        said: line.get("said")?.as_array()?.iter().map(read_said).collect::<Option<_>>()?,
        around_ms: line.get("around_ms")?.as_u64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_there_after_a_line_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/book.jsonl");
        let said = Said { text: "{}".into(), tokens: [7, 2], ms: 5, rival: true };
        let played = Played { committed: true, said: vec![said.clone()], around_ms: 3 };
        let book = Book::open(&path).unwrap();
        book.note_said("a", &said).unwrap();
        book.note_played("b", &played).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"call\": \"c\", \"te")).unwrap();
        let book = Book::open(&path).unwrap();
        book.note_said("d", &said).unwrap();
        let book = Book::open(&path).unwrap();
        assert_eq!((book.said("a"), book.said("c"), book.said("d")), (Some(said.clone()), None, Some(said)));
        assert_eq!(book.played("b"), Some(played));
    }
}
