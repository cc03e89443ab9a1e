//! The terms a policy is written in, and what is wrong with one that cannot be used.

use std::net::SocketAddr;

/// How far data may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Nothing leaves the machine.
    Sovereign,
    /// Declared hosts only.
    Private,
    /// What the list says, `*` included.
    Standard,
}

/// How a host is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// As it stands in a URL.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that need not be written.
    #[must_use]
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    pub(super) fn parse(raw: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|scheme| raw.eq_ignore_ascii_case(scheme.as_str()))
    }
}

/// A policy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPolicy {
    /// An entry of the list.
    #[error("allowed_hosts entry {entry:?}: {why}")]
    Host {
        /// As written.
        entry: String,
        /// What is wrong with it.
        why: String,
    },
    /// `*` where hosts must be declared.
    #[error("allowed_hosts entry {entry:?}: the tier private takes declared hosts only")]
    StarInPrivate {
        /// As written.
        entry: String,
    },
    /// More entries or ports than anybody can oversee.
    #[error("{count} {what}; at most {max} are accepted")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many are accepted.
        max: usize,
    },
    /// Port 0 reaches nothing.
    #[error("port 0 cannot be allowed")]
    PortZero,
    /// A local model elsewhere than on this machine.
    #[error("{address} is not on this machine")]
    NotLoopback {
        /// Which.
        address: SocketAddr,
    },
}

impl BadPolicy {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Host { .. } => "write entries as name, *.zone, address:port or *, each alone in its entry",
            Self::StarInPrivate { .. } => "list the hosts by name, or choose the tier standard",
            Self::TooMany { .. } => "use *.zone entries, or split the work over several policies",
            Self::PortZero => "leave port 0 out",
            Self::NotLoopback { .. } => "serve the model on 127.0.0.1 or ::1, or declare it as a remote host",
        }
    }
}
