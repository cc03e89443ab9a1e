//! What a person said about an output, held against how sure the run was of it.

use crate::event::{Event, Subject, Verdict};
use crate::gate::{Features, Recorded, Weights};

/// The outcome of a run whose output a person was asked about, if it has one: the last
/// answer counts. A question nobody answered says nothing.
#[must_use]
pub fn outcome<'e>(events: impl IntoIterator<Item = &'e Event>) -> Option<Recorded> {
    let mut known: Option<Features> = None;
    let mut recorded = None;
    for event in events {
        if let Event::Verified { assurance: Some(found), .. } = event {
            known = found.confidence.map(|confidence| confidence.features);
        }
        if let Event::ApprovalSettled { subject: Subject::Output, verdict, .. } = event {
            let right = match verdict {
                Verdict::Approved { .. } => true,
                Verdict::Denied { .. } | Verdict::SentBack { .. } => false,
                Verdict::Expired => continue,
            };
            let logit = known.and_then(|features| Weights::default().logit(&features));
            recorded = logit.map(|logit| Recorded { logit, right });
        }
    }
    recorded
}
