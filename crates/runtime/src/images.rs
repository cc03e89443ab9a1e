//! File images: a file as it is before a call changes it, so that the bytes to
//! restore are durable before the change.

use bowline_core::event::StepTrouble;
use bowline_core::id::ActionId;
use bowline_core::input::{Asked, Reply, What};
use bowline_core::message::{Blob, Payload};
use bowline_core::policy::Concern;
use bowline_core::provenance::Digest;
use bowline_core::tool::{FileImage, Touch};

use crate::hands::{Arrival, Hands};

/// Looks at the file a call would change. `None` for calls that write no file.
pub(crate) async fn look(
    hands: &Hands,
    action: ActionId,
    tool: &str,
    args: &str,
    blobs: &mut Vec<Blob>,
) -> Option<Result<FileImage, String>> {
    let (tool, args) = hands.registry.examine(tool, args).ok()?;
    if tool.spec().touch != Touch::Write {
        return None;
    }
    let context = hands.context(action, tool.spec().timeout_ms);
    let prepared = match tool.prepare(&args, &context).await {
        Ok(prepared) => prepared?,
        Err(message) => return Some(Err(hands.masked(message))),
    };
    let after = Digest::of(&prepared.after);
    let before = prepared.before.map(|bytes| Payload::keep_bytes(bytes, blobs));
    let (path, new_folder, departure) = (prepared.path, prepared.new_folder, prepared.departure);
    Some(Ok(FileImage { path, before, after, new_folder, departure }))
}

/// When a reply begins with a write, its file is looked at here, right before
/// the decision, so that intent and reply share one append.
///
/// Only the first call can start in that decision; later ones are looked at when
/// their turn comes.
pub(crate) async fn attach(hands: &Hands, arrival: &mut Arrival) -> Result<(), bowline_store::StoreError> {
    let What::ModelReplied { step, reply: Reply { calls, .. } } = &mut arrival.what else { return Ok(()) };
    // What no capability covers is not looked at: it is refused, or asked about first.
    let beyond = |concern: &Concern| matches!(concern, Concern::OutOfPolicy { .. });
    let is_made = |asked: &&mut Asked| asked.problem.is_none() && !asked.concerns.iter().any(beyond);
    let Some(first) = calls.first_mut().filter(is_made) else { return Ok(()) };
    let action = ActionId { step: *step, index: 0 };
    let args = match &first.call.args {
        Payload::Inline(text) => text.to_string(),
        Payload::Stored { sha256, .. } => {
            let found = arrival.blobs.iter().find(|blob| blob.sha256 == *sha256);
            found.map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned()).unwrap_or_default()
        }
    };
    first.image = look(hands, action, &first.call.tool, &args, &mut arrival.blobs).await;
    Ok(())
}

/// What a model call that panicked or was lost is reported as.
pub(crate) fn lost_step(step: u32) -> What {
    let message = "the call to the model broke down".into();
    What::ModelFailed { step, kind: StepTrouble::Transient, message, retry_after_ms: None }
}
