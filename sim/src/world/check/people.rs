//! O12: what needs a person's consent has it, for exactly these bytes, and the
//! person said so.

use std::collections::{BTreeMap, BTreeSet};

use bowline_core::event::{Event, Subject, Verdict as Spoken};
use bowline_core::id::RunId;
use bowline_core::input::Signal;
use bowline_core::provenance::Digest;
use bowline_core::task::Review;
use bowline_core::tool::Consent;

use super::{Evidence, Numbered, Verdict, ended, submission};
use crate::oracle::ToldEnding;
use crate::world::violation::Check;

/// An approved action runs with the approved arguments; denied or expired never.
pub(super) fn consent(evidence: &Evidence, run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let Some(submission) = submission(journal) else { return };
    let asking = submission.tools.iter().filter(|tool| tool.consent == Consent::Ask);
    let asking: BTreeSet<&str> = asking.map(|tool| tool.name.as_str()).collect();
    let mut asked: BTreeMap<Subject, Digest> = BTreeMap::new();
    let mut settled: BTreeMap<Subject, (&Spoken, Digest)> = BTreeMap::new();
    for (seq, event) in journal {
        if let Event::ApprovalRequested { subject, binds, .. } = event {
            asked.insert(*subject, *binds);
        }
        if let Event::ApprovalSettled { subject, binds, verdict: spoken } = event {
            let right =
                asked.get(subject) == Some(binds) && was_said(evidence, run, (*subject, *binds), spoken);
            verdict
                .require(right, Check::O12, || format!("run {run} event {seq}: nobody said so: {event:?}"));
            settled.insert(*subject, (spoken, *binds));
        }
        if let Event::CallStarted { action, tool, args, .. } = event {
            let right = match settled.get(&Subject::Action(*action)) {
                None => !asking.contains(tool.as_str()),
                Some((Spoken::Approved { .. }, binds)) => {
                    *binds == Digest::of_parts(&[tool.as_str().as_bytes(), &args.0])
                }
                Some((Spoken::Denied { .. } | Spoken::SentBack { .. } | Spoken::Expired, _)) => false,
            };
            verdict.require(right, Check::O12, || format!("run {run} starts {action} without consent"));
        }
        if ended(event) == Some(ToldEnding::Committed) {
            let right = match settled.get(&Subject::Output) {
                Some((Spoken::Approved { .. }, _)) => true,
                Some((Spoken::Denied { .. } | Spoken::SentBack { .. } | Spoken::Expired, _)) => false,
                None => submission.task.review != Review::Always,
            };
            verdict.require(right, Check::O12, || format!("run {run} commits without the review it needs"));
        }
    }
}

/// Somebody wrote exactly this answer to exactly this question.
fn was_said(evidence: &Evidence, run: &RunId, about: (Subject, Digest), spoken: &Spoken) -> bool {
    let by = match spoken {
        Spoken::Approved { by } | Spoken::Denied { by, .. } | Spoken::SentBack { by, .. } => by,
        Spoken::Expired => return true,
    };
    let said = |word: bool, exactly: (Subject, Digest)| word && exactly == about;
    evidence.letters.iter().filter(|letter| letter.run == *run && letter.by == *by).any(
        |letter| match &letter.signal {
            Signal::Approve { subject, binds } => {
                said(matches!(spoken, Spoken::Approved { .. }), (*subject, *binds))
            }
            Signal::Deny { subject, binds, .. } => {
                said(matches!(spoken, Spoken::Denied { .. }), (*subject, *binds))
            }
            Signal::SendBack { binds, .. } => {
                said(matches!(spoken, Spoken::SentBack { .. }), (Subject::Output, *binds))
            }
            Signal::Pause
            | Signal::Resume { .. }
            | Signal::Cancel
            | Signal::Undo { .. }
            | Signal::Land
            | Signal::Promote
            | Signal::TakeUp
            | Signal::Settle { .. } => false,
        },
    )
}
