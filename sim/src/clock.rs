//! The one place that reads a clock outside the runtime.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970, by the clock the runtime's journal uses too.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the ledger is another program: it has its own clock")]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
