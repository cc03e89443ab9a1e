//! From a manifest file to an agent: follows what it extends, and makes its paths
//! absolute, each from the file that wrote it.

use std::path::{Path, PathBuf};

use bowline_core::agent::{self, Manifest};
use bowline_core::task::FileKind;
use serde_json::Value;

use crate::error::CliError;
use crate::render::Screen;
use crate::taskfile::{absolute_model, join, read_file};

/// Most manifests that extend each other.
const EXTENDS_MAX: usize = 8;

/// The agent that a manifest describes.
pub(crate) fn load(screen: &Screen, path: &Path) -> Result<Manifest, CliError> {
    let raw = laid(screen, path, &mut Vec::new())?;
    agent::parse(&raw).map_err(|bad| CliError::Manifest { path: path.to_owned(), bad })
}

/// The manifest over everything it extends.
fn laid(screen: &Screen, path: &Path, above: &mut Vec<PathBuf>) -> Result<Value, CliError> {
    let real = path.canonicalize().map_err(CliError::io("read", path))?;
    if above.contains(&real) || above.len() == EXTENDS_MAX {
        let what = if above.contains(&real) { "extends itself" } else { "extends too many others" };
        return Err(CliError::refused(
            format!("{} {what}", path.display()),
            format!("end the chain of `extends`; at most {EXTENDS_MAX} manifests"),
        ));
    }
    above.push(real.clone());
    let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
    let mut raw = read_file(screen, path, FileKind::Manifest)?;
    anchor(&mut raw, &folder);
    let base = match raw.get("extends") {
        Some(Value::String(base)) => Some(folder.join(base)),
        // What is no text is refused by the reader, with its place.
        Some(_) | None => None,
    };
    match base {
        Some(base) => Ok(agent::overlay(laid(screen, &base, above)?, raw)),
        None => Ok(raw),
    }
}

/// Makes every path in a raw manifest absolute. What has another form than it
/// should is left for the reader to name.
fn anchor(raw: &mut Value, base: &Path) {
    let path = |text: &str| join(base, text).display().to_string();
    let program = |text: &str| if text.starts_with("./") { path(text) } else { text.to_owned() };
    if let Some(model) = raw.get_mut("model") {
        each_text(model, &|text| absolute_model(text, base));
    }
    for pointer in ["/sandbox/read", "/sandbox/write"] {
        raw.pointer_mut(pointer).into_iter().for_each(|value| each_text(value, &path));
    }
    for list in ["tool", "mcp"] {
        for entry in raw.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            for key in ["command", "probe"] {
                entry.get_mut(key).into_iter().for_each(|value| each_text(value, &program));
            }
        }
    }
    for entry in raw.get_mut("mcp").and_then(Value::as_array_mut).into_iter().flatten() {
        for key in ["env", "headers"] {
            for (_, given) in entry.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
                given.get_mut("file").into_iter().for_each(|value| each_text(value, &path));
            }
        }
    }
    for (_, secret) in raw.get_mut("secrets").and_then(Value::as_object_mut).into_iter().flatten() {
        secret.get_mut("file").into_iter().for_each(|value| each_text(value, &path));
    }
}

/// Replaces a text, or the texts of a list.
fn each_text(value: &mut Value, make: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = make(text),
        Value::Array(items) => items.iter_mut().for_each(|item| {
            if let Value::String(text) = item {
                *text = make(text);
            }
        }),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
