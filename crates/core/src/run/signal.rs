//! What people tell a run. What cannot be done now is refused, on the record.

use super::decide::{Draft, Refused};
use super::state::{ApprovalState, CallState};
use super::{call, ending, escalating, landing, promoting, returning, undoing};
use crate::event::{Event, Raise, Settlement, Subject, Verdict};
use crate::id::{ActionId, SubtaskId};
use crate::input::Signal;
use crate::provenance::Digest;

pub(super) fn received(draft: &mut Draft, by: &str, signal: &Signal) -> Result<(), Refused> {
    let halted = draft.run.ending().is_some();
    let refusal = match signal {
        Signal::Undo { to } => undoing::wanted(draft, by, *to),
        Signal::Land => landing::wanted(draft, by),
        Signal::Promote => promoting::wanted(draft, by),
        Signal::TakeUp => returning::wanted(draft, by),
        Signal::Resume { .. } if draft.run.is_brought_back() => {
            Some("it was brought back from a backup: take it up first")
        }
        Signal::Resume { .. } if draft.run.deeds.undo.is_some() => Some("what the run did was undone"),
        Signal::Resume { raise, without } => {
            resume(draft, by, raise, without);
            return Ok(());
        }
        Signal::Approve { .. }
        | Signal::Deny { .. }
        | Signal::SendBack { .. }
        | Signal::Pause
        | Signal::Cancel
        | Signal::Settle { .. }
            if halted =>
        {
            return Err(Refused::AlreadyEnded);
        }
        Signal::Approve { subject, binds } => {
            verdict(draft, *subject, *binds, Verdict::Approved { by: by.into() })
        }
        Signal::Deny { subject, binds, reason } => {
            verdict(draft, *subject, *binds, Verdict::Denied { by: by.into(), reason: reason.clone() })
        }
        Signal::SendBack { binds, feedback } => {
            let answer = Verdict::SentBack { by: by.into(), feedback: feedback.clone() };
            verdict(draft, Subject::Output, *binds, answer)
        }
        Signal::Pause if draft.run.paused => Some("the run is paused already"),
        Signal::Pause => {
            draft.push(Event::Paused { by: by.into() });
            None
        }
        Signal::Cancel if draft.run.landing.wanted => {
            Some("its changes are being applied: what is half done would be worse")
        }
        Signal::Cancel => {
            ending::cancel(draft, by);
            None
        }
        Signal::Settle { action, attempt, settlement } => settle(draft, by, (*action, *attempt), settlement),
    };
    if let Some(why) = refusal {
        draft.push(Event::SignalRefused { by: by.into(), why: why.into() });
    }
    Ok(())
}

fn resume(draft: &mut Draft, by: &str, raise: &[Raise], without: &[SubtaskId]) {
    let refused = |why: String| Event::SignalRefused { by: by.into(), why };
    let is_wanted = draft.run.ending().is_some() || draft.run.paused || !raise.is_empty();
    let scope = if without.is_empty() { Ok(Vec::new()) } else { draft.run.scope_without(without) };
    draft.push(match scope {
        Ok(_) if !is_wanted => refused("the run is neither paused nor halted".into()),
        Ok(without) => Event::Resumed { by: by.into(), raised: raise.to_vec(), without },
        Err(bad) => refused(format!("{bad}; {}", bad.remedy())),
    });
}

fn verdict(draft: &mut Draft, subject: Subject, binds: Digest, verdict: Verdict) -> Option<&'static str> {
    match draft.run.approvals.get(&subject) {
        None => return Some("nobody asked about this"),
        Some(approval) if approval.state != ApprovalState::Open => return Some("this was answered before"),
        Some(approval) if approval.binds != binds => return Some("the answer is about other bytes"),
        Some(approval) if approval.expires_at <= draft.now => return Some("the answer comes too late"),
        Some(_) if subject == Subject::Output && escalating::is_unmended(&draft.run) => match verdict {
            Verdict::Approved { .. } => {
                return Some("its checks fail, so nobody can agree to it: send it back, or deny it");
            }
            Verdict::Denied { .. } | Verdict::SentBack { .. } | Verdict::Expired => {}
        },
        Some(_) => {}
    }
    call::answer(draft, subject, verdict);
    None
}

fn settle(
    draft: &mut Draft,
    by: &str,
    (action, attempt): (ActionId, u32),
    settlement: &Settlement,
) -> Option<&'static str> {
    match call::state_of(&draft.run, action) {
        Some(CallState::InDoubt { attempt: open, .. }) if *open != attempt => {
            Some("the answer is about an earlier attempt")
        }
        Some(CallState::InDoubt { .. }) => {
            let (settlement, by) = (settlement.clone(), by.into());
            draft.push(Event::CallSettled { action, settlement, by });
            None
        }
        Some(
            CallState::Waiting
            | CallState::AwaitingConsent
            | CallState::Running { .. }
            | CallState::Again { .. }
            | CallState::BackingOff { .. }
            | CallState::Answered { .. },
        )
        | None => Some("this call is not in doubt"),
    }
}
