//! A world for tests: names that answer as told, and servers without sockets.
//!
//! [`Names`] stands in for the resolver, [`Wire`] for the network and everybody on
//! it. Both write down what was asked of them. Nothing here touches the machine,
//! and with a paused clock nothing here takes time.

mod names;
mod wire;

pub use names::{Answer, Names};
pub use wire::{Play, Wire};
