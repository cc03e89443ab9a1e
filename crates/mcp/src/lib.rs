//! The MCP client: servers of strangers whose tools an agent may use.
//!
//! [`Servers::connect`] starts a server in the cage or reaches it through the
//! network gate, settles on a protocol version, reads its list of tools and
//! compares it with the list that was pinned. What comes back is a [`Connected`]
//! with one [`bowline_tools::Tool`] for each tool that may be used.
//! [`Servers::look`] reads the list without using it, and [`Servers::approve`]
//! pins what a person has read.
//!
//! Invariants
//! - A server is a program in the sandbox it is given or a service behind the
//!   gate; no other process is started and no other socket opened.
//! - A tool is offered only while the server's whole list is the pinned one.
//! - What a server says about itself decides nothing that a manifest did not
//!   leave open, and never whether a person is asked.
//! - A call that may have reached the server is sent again only if its tool may
//!   be repeated, with the same idempotency key; otherwise it is in doubt.
//! - Every message, list, queue and wait has a bound ([`limits`]).

mod answer;
mod difference;
mod error;
pub mod limits;
mod link;
mod listing;
mod name;
mod pins;
mod secret;
mod servers;
mod session;
mod tool;
mod transport;

pub use difference::{Difference, Edited};
pub use error::{Fault, McpError, Stage};
pub use listing::Listed;
pub use pins::{BadPins, Pin, PinnedBy, PinnedTool, Pins};
pub use secret::secrets_of;
pub use servers::{Connected, FirstUse, Held, Look, Network, Servers, Surroundings};
