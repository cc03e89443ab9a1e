//! The name of a call: tool and canonical arguments, whole.

use crate::provenance::{Digest, canonical};

/// Names a call. Arguments that are no JSON are named by their bytes, and never
/// share a name with arguments that are.
pub(super) fn of(tool: &str, args: &str) -> Digest {
    match canonical(args) {
        Ok(args) => Digest::of_parts(&[b"json", tool.as_bytes(), args.as_bytes()]),
        Err(_) => Digest::of_parts(&[b"text", tool.as_bytes(), args.as_bytes()]),
    }
}
