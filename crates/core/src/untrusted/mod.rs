//! Text that nobody vouches for: how a model gets to see it, how people do, what
//! looks like an attack, and which arguments of a call came from it.
//!
//! Four independent layers, because each is blind where another sees:
//! [`render`] takes the marks of models and orders to ignore orders out of what
//! the model reads; [`suspicion`] labels texts that talk to the model;
//! [`taint`] asks a person before a value that only untrusted text has named is
//! written anywhere; [`description`] holds back tools that describe themselves in
//! bad faith. [`outgoing`] looks at what leaves: secrets, and keys the runtime makes.
//!
//! Invariants
//! - Stored text is never changed: rendering makes a new one, and everything it
//!   does not neutralise is byte for byte what was stored.
//! - Every function is total, linear in its input and bounded in memory.
//! - Nothing here trusts a text because of what the text says.

pub mod description;
mod escape;
mod exhibit;
mod fold;
pub mod outgoing;
mod plain;
mod render;
mod scan;
pub mod suspicion;
pub mod taint;
#[cfg(test)]
mod tests;

pub use escape::{escape_exact, escape_json, escape_line, escape_page};
pub use exhibit::{Exhibit, exhibit};
pub use plain::{in_code_fence, language_of, unfenced};
pub use render::{
    BadMark, EXPLANATION, FENCE_BYTES, Mark, Neutralised, Rendered, SANITIZED, neutralise, render,
};
