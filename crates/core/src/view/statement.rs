//! A committed result as an in-toto statement, for tools that read those.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::event::Outcome;
use crate::provenance::{Digest, canonical_value};

use super::{PROVENANCE, Provenance};

/// What kind of statement it is: in-toto's own, in its first version.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The statement about an output and the files its run left behind: names with their
/// hashes, and the record of provenance as what is said about them. Canonical JSON.
/// `None` if the record cannot be read, or is of another version.
#[must_use]
pub fn statement(record: &str, output: &str) -> Option<String> {
    let facts: Provenance = serde_json::from_str(record).ok()?;
    if facts.version != PROVENANCE {
        return None;
    }
    let predicate: Value = serde_json::from_str(record).ok()?;
    let mut subjects = BTreeMap::from([("output.txt", Digest::of(output.as_bytes()))]);
    let written = facts.calls.iter().filter(|call| call.outcome == Some(Outcome::Ok));
    for call in written {
        match (&call.file, call.file_sha256) {
            (Some(file), Some(sha256)) => drop(subjects.insert(file, sha256)),
            // It was deleted: there is nothing left to speak of.
            (Some(file), None) => drop(subjects.remove(file.as_str())),
            (None, _) => {}
        }
    }
    let subject: Vec<Value> = subjects
        .iter()
        .map(|(name, sha256)| json!({ "name": name, "digest": { "sha256": sha256.to_string() } }))
        .collect();
    Some(canonical_value(&json!({
        "_type": STATEMENT,
        "subject": subject,
        "predicateType": format!("urn:bowline:provenance:{PROVENANCE}"),
        "predicate": predicate,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::RunId;

    #[test]
    fn a_record_of_another_version_is_not_passed_off_as_one_of_this() {
        let run = RunId::parse("run-1").unwrap();
        let mut record = serde_json::to_value(Provenance::new(&run)).unwrap();
        assert!(statement(&record.to_string(), "done").unwrap().contains("urn:bowline:provenance:1"));
        record["version"] = json!(PROVENANCE + 1);
        assert_eq!(statement(&record.to_string(), "done"), None);
    }
}
