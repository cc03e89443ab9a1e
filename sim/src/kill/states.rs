//! State hashes of one run: what its processes told of the state they worked
//! from, and what a replay from the first event gives at the same places.
//!
//! Nothing is compared here; that is the checker's work (O10).

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::bowline::Bowline;
use super::error::KillError;
use super::journal;

/// The checker's lines about one run; `printed` is what each of its processes
/// printed, in order.
pub(super) fn of_run(
    bowline: &Bowline,
    run: &str,
    printed: &[String],
    notes: &Path,
) -> Result<Vec<Value>, KillError> {
    let mut lines = Vec::new();
    let mut places = BTreeSet::new();
    for (incarnation, printed) in (1_u32..).zip(printed) {
        for (seq, state) in journal::states(printed) {
            places.insert(seq);
            lines.push(json!({ "run": run, "seq": seq, "incarnation": incarnation, "state": state }));
        }
    }
    for seq in places {
        match bowline.ask(&["replay", run, "--to", &seq.to_string(), "--json"], notes) {
            Ok(replay) => {
                let state = journal::replayed(&replay.printed);
                lines.extend(state.map(|state| json!({ "run": run, "seq": seq, "replay": state })));
            }
            // A place that a process has seen and no replay can reach is the checker's to report.
            Err(KillError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lines)
}
