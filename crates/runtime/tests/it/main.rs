//! The engine on a real store with the scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod asides;
mod attempts;
mod context;
mod expiry;
mod golden;
mod journals;
mod likelihood;
mod loop_end_to_end;
mod own_tools;
mod past;
mod promote;
mod queue;
mod rivals;
mod routes;
mod servers;
mod undo;
mod variants;
mod world;
