//! How long to wait before another attempt, at a model call or a tool call.
//!
//! Full jitter, drawn from the run's own chance, so that a replay waits as long.

use crate::provenance::Digest;

/// First and longest back-off, before jitter.
const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 30_000;
/// Whoever asks for more patience than this has failed.
const RETRY_AFTER_MAX_MS: u64 = 120_000;

/// Whoever asks for so much patience is not waited for.
pub(super) fn is_too_long(retry_after_ms: Option<u64>) -> bool {
    retry_after_ms.is_some_and(|wait| wait > RETRY_AFTER_MAX_MS)
}

/// U(0, min(30 s, 0.5 s · 2ʳ)), and at least what the other side asks for; `None`
/// when that is more than anybody waits for.
pub(super) fn wait_ms(draw: Digest, failed: u32, retry_after_ms: Option<u64>) -> Option<u64> {
    let floor = retry_after_ms.unwrap_or(0);
    let cap = FIRST_MS.saturating_mul(1 << failed.min(16)).min(LONGEST_MS);
    let draw = draw.0.iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    (floor <= RETRY_AFTER_MAX_MS).then(|| (draw % (cap + 1)).max(floor))
}
