//! The network gate: the one way out of Bowline.
//!
//! A [`Policy`] says what may be reached and judges a URL without touching the
//! world. A [`Gate`] resolves the name once, has the policy check every address
//! and opens a connection to a checked address and nothing else. [`Fetch`] is the
//! HTTP client on the gate, [`Proxy`] the way out for programs in a cage.
//!
//! Invariants
//! - A socket is opened only to an address of a [`Checked`] target, and only
//!   [`Policy::check`] makes one.
//! - One parser reads a URL, once; what it read is what is connected to.
//! - Every hop of a redirect passes the whole gate again.
//! - No environment variable, proxy setting, cookie store or saved credential is
//!   ever consulted.
//! - In the sovereign tier no gate opens, so there is no client and no proxy.

mod dial;
pub mod double;
mod exchange;
mod fetch;
mod gate;
mod policy;
mod proxy;
mod resolve;
pub mod retry;

pub use dial::{Dial, Dialed, Stream, SystemDial};
pub use fetch::{
    BadRequest, BadTrust, FetchError, FetchLimits, Fetched, Request, Response, Stage, Trust, client::Fetch,
};
pub use gate::{Gate, GateError, Waits};
pub use http::{HeaderMap, Method, StatusCode};
pub use policy::{
    BadPolicy, Checked, HOSTS_MAX, Host, Malformed, Name, NameFault, Policy, Refusal, Scheme, Special,
    Target, Tier, URL_MAX, special_use,
};
pub use proxy::{Decision, Listener, Log, Outcome, Proxy, ProxyError, ProxyLimits};
pub use resolve::{Resolve, ResolveError, SystemResolver};
pub use url::Url;
