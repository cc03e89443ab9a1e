//! What an agent is made of, as plain values. Nothing here reads a file or an
//! environment: whoever parses a manifest fills these in.

pub mod server;
