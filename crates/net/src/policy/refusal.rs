//! Why the policy says no, and what the owner of the policy could do about it.

use std::net::IpAddr;

use super::address::Special;
use super::lexical::Malformed;
use super::name::Name;
use super::target::Host;

/// The policy refuses. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing leaves the machine.
    #[error("the privacy tier is sovereign: nothing leaves this machine")]
    Sovereign,
    /// The text is no URL everybody reads alike.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Another protocol.
    #[error("the scheme {scheme:?} is not allowed")]
    Scheme {
        /// As written, cut short.
        scheme: String,
    },
    /// Nobody listed it.
    #[error("{host} is not in allowed_hosts")]
    HostNotAllowed {
        /// Which.
        host: Host,
    },
    /// Listed, but not on this port.
    #[error("port {port} of {host} is not allowed")]
    Port {
        /// The host.
        host: Host,
        /// The port asked for.
        port: u16,
    },
    /// A name that leads to the machine or its network by convention.
    #[error("{name} is a name of the machine or its network, not of the public internet")]
    LocalName {
        /// Which.
        name: Name,
    },
    /// An address that is not public and not granted.
    #[error("{host} leads to {address}, {special}")]
    Address {
        /// What was asked for.
        host: Host,
        /// Where it leads.
        address: IpAddr,
        /// What that is.
        special: Special,
    },
    /// A look-up with no or too many answers.
    #[error("{name} has {count} addresses; between 1 and {max} are accepted")]
    AddressCount {
        /// The name.
        name: Name,
        /// How many came.
        count: usize,
        /// How many are accepted.
        max: usize,
    },
    /// A redirect from https to http.
    #[error("a redirect leads from https to http")]
    Downgrade,
}

impl Refusal {
    /// One word for logs and counters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Sovereign => "sovereign",
            Self::Malformed(_) => "malformed",
            Self::Scheme { .. } => "scheme",
            Self::HostNotAllowed { .. } => "host_not_allowed",
            Self::Port { .. } => "port",
            Self::LocalName { .. } | Self::Address { .. } => "ip_class",
            Self::AddressCount { .. } => "dns",
            Self::Downgrade => "redirect",
        }
    }

    /// What would make it work.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Sovereign => "do without the network, or choose the tier private or standard",
            Self::Malformed(_) => "write the URL plainly: scheme://host[:port]/path",
            Self::Scheme { .. } => "use https or http, as far as the policy lists them",
            Self::HostNotAllowed { .. } => "list the host in allowed_hosts if it may be reached",
            Self::Port { .. } => "list host:port in allowed_hosts if that service may be reached",
            Self::LocalName { .. } | Self::Address { .. } => {
                "grant the literal address and port in allowed_hosts if that local service may be reached"
            }
            Self::AddressCount { .. } => "check the name, and the zone that answers for it",
            Self::Downgrade => "ask the server's owner to redirect to https",
        }
    }
}
