//! The version of the form of task files and manifests: `version = 1`, which may be left out.
//!
//! A file of a newer form is refused with nothing but that: what else is in it means nothing
//! to this build.

use serde_json::Value;

use super::field::Table;
use super::problem::{BadTask, Problem};

/// The form that is read. A word with a new name keeps it; a file that older builds would
/// misread raises it.
pub const FILE_VERSION: u64 = 1;

/// The key.
const KEY: &str = "version";

/// Refuses a file of a newer form.
pub(crate) fn readable(raw: &Value) -> Result<(), BadTask> {
    match raw.get(KEY).and_then(Value::as_u64) {
        Some(newer) if newer > FILE_VERSION => Err(BadTask {
            problems: vec![Problem {
                place: KEY.into(),
                what: format!("the file is of version {newer}; this build reads version {FILE_VERSION}"),
                remedy: "use the release of Bowline it was written for, or a later one".into(),
            }],
        }),
        Some(_) | None => Ok(()),
    }
}

/// Notes a version that is none.
pub(crate) fn check(top: &Table<'_>) {
    if let Some(field) = top.get(KEY).filter(|field| !field.is_whole_number(FILE_VERSION)) {
        field.wrong(
            "this is no version of a file",
            format!("write version = {FILE_VERSION}, or leave it out"),
        );
    }
}
