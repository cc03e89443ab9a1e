//! What a URL asks for once it has been judged, and the proof that its addresses
//! were checked.
//!
//! Neither type can be made outside the policy, so code that holds one never
//! asks again.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use url::Url;

use super::Scheme;
use super::lexical::Malformed;
use super::name::Name;

/// A host, in the form everything is compared in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name to look up.
    Name(Name),
    /// An address, written out.
    Address(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// By which kind of entry a host is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// The name or its zone is listed.
    Listed,
    /// The literal address is listed; with its port, if it is not public.
    Address,
    /// `*`: public only.
    Public,
}

/// A URL that the policy allows, as far as that can be said without a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub(super) url: Url,
    pub(super) scheme: Scheme,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) grant: Grant,
}

impl Target {
    /// The URL as parsed.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// How it is spoken to.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Who is meant.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Which port, the scheme's own when none was written.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Value of the `Host` header.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// What is asked of the host: the path, and the query if there is one.
    pub(crate) fn place(&self) -> Result<http::Uri, Malformed> {
        let path = self.url.path();
        let place = self.url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        // The parser leaves characters in a query that HTTP has no way to send.
        place.parse().map_err(|_| Malformed::Character)
    }

    /// Scheme, host and port: all of a URL that may go into a log.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}:{}", self.scheme.as_str(), self.host, self.port)
    }

    /// True when the other is the same scheme, host and port.
    #[must_use]
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }
}

/// A target whose every address passed the policy. The only thing a connection
/// is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub(super) target: Target,
    pub(super) addresses: Vec<SocketAddr>,
}

impl Checked {
    /// What was asked for.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Where it may be connected to; never empty.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}
