//! Models on servers, behind the one [`Model`](bowline_models::Model) trait.
//!
//! A [`Remote`] writes a conversation in the words of its server, sends it through
//! the network gate to that server and nowhere else, and reads one answer back,
//! streamed or whole. [`Remotes`] opens the model a task names.
//!
//! ```text
//! Request ─► format::body ─► gate ─► bytes ─► frames ─► format::event ─► Gathered ─► Answer
//! ```
//!
//! Invariants
//! - Nothing is retried here: the core counts attempts and pays for them.
//! - A key is read from a variable, sent to the address the model was opened with, and
//!   never printed; a redirect is not followed.
//! - An answer has a size, a line has a length, a silence has an end; what is over is
//!   an error, and nothing of a part is handed on as if it were the whole.
//! - What a server says is a stranger's text: it is quoted short, escaped and without keys.

mod arguments;
mod booked;
pub mod double;
mod error;
mod format;
mod frames;
mod gather;
mod json;
mod key;
mod known;
mod least;
mod likelihood;
mod model;
mod names;
mod open;
mod place;
mod prices;
mod trouble;

pub use error::{BadPlace, RemoteError};
pub use key::{Environment, Key, Keys};
pub use model::{Patience, Remote};
pub use open::{KINDS, Network, Remotes, provider_key, reference};
pub use place::{Place, provider_url};
pub use prices::{Listed, listed, listing};
