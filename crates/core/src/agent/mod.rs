//! What an agent is and what it may do.

pub mod privacy;
