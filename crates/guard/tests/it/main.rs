//! Guards over files, from outside.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect stops there"
)]

mod evaluation;
mod protocol;
