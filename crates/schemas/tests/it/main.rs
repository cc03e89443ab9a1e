//! The files of `schemas/` are what the types say, only add to what was recorded, and describe what is
//! really written and read.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops where it finds what it did not expect"
)]

mod kept;
mod samples;
mod stored;
