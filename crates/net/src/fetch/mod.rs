//! The HTTP client on the gate: what it is asked, what it answers, how it fails.
//!
//! Requests are built here and checked before anything is sent; the loop over
//! redirects is in [`client`], reading and inflating bodies in `body`.

mod body;
pub(crate) mod client;
mod redirect;
mod request;
mod trust;

use std::time::Duration;

pub use body::{Fetched, Response};
pub use request::{BadRequest, Request};
pub use trust::{BadTrust, Trust};

use crate::gate::GateError;
use crate::policy::{Host, Refusal};

/// How long a request may take and how much may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// For the TLS handshake.
    pub handshake: Duration,
    /// From a sent request to the head of its answer.
    pub first_byte: Duration,
    /// For everything: redirects, look-ups, connections, and the body's last byte.
    pub total: Duration,
    /// Redirects followed.
    pub redirects_max: u32,
    /// Bytes of a body, inflated. What is over is cut off.
    pub bytes_max: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            total: Duration::from_secs(30),
            redirects_max: 5,
            bytes_max: 8 * 1024 * 1024,
        }
    }
}

/// What was being waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The TLS handshake.
    Handshake,
    /// The head of the answer.
    FirstByte,
    /// The whole exchange.
    Total,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Handshake => "the TLS handshake",
            Self::FirstByte => "the first byte of the answer",
            Self::Total => "the whole answer",
        })
    }
}

/// A request that brought nothing back.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The request itself cannot be sent.
    #[error(transparent)]
    Request(#[from] BadRequest),
    /// The gate stayed shut, or led nowhere.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// A redirect led where the gate stays shut.
    #[error("redirect {hop} was not followed")]
    Redirect {
        /// Which, from 1.
        hop: u32,
        /// Why.
        source: GateError,
    },
    /// Too many redirects.
    #[error("more than {max} redirects")]
    RedirectLimit {
        /// How many are followed.
        max: u32,
    },
    /// A redirect whose place cannot be read.
    #[error("redirect {hop} names no place, or several")]
    Location {
        /// Which, from 1.
        hop: u32,
    },
    /// A redirect wants the body sent elsewhere.
    #[error("redirect {hop} asks for the request's body to be sent to another origin")]
    RedirectBody {
        /// Which, from 1.
        hop: u32,
    },
    /// No TLS with this host.
    #[error("no TLS with {host}")]
    Tls {
        /// Who.
        host: Host,
        /// Why.
        source: std::io::Error,
    },
    /// The connection broke, or HTTP was not spoken on it.
    #[error("the exchange with {host} broke off")]
    Exchange {
        /// Who.
        host: Host,
        /// Why.
        source: hyper::Error,
    },
    /// A body in a form that was not asked for, or that is damaged.
    #[error("the body from {host} cannot be decoded")]
    Encoding {
        /// Who.
        host: Host,
    },
    /// Too late.
    #[error("{stage} took longer than {} s", waited.as_secs_f64())]
    Deadline {
        /// What was waited for.
        stage: Stage,
        /// How long.
        waited: Duration,
    },
}

impl From<Refusal> for FetchError {
    fn from(refusal: Refusal) -> Self {
        Self::Gate(GateError::Refused(refusal))
    }
}

impl FetchError {
    /// One word for logs and counters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Request(bad) => bad.reason(),
            Self::Gate(error) => error.reason(),
            Self::Redirect { .. }
            | Self::RedirectLimit { .. }
            | Self::Location { .. }
            | Self::RedirectBody { .. } => "redirect",
            Self::Tls { .. } => "tls",
            Self::Exchange { .. } => "exchange",
            Self::Encoding { .. } => "encoding",
            Self::Deadline { .. } => "limits",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Request(bad) => bad.remedy(),
            Self::Gate(error) | Self::Redirect { source: error, .. } => error.remedy(),
            Self::RedirectLimit { .. } | Self::Location { .. } => "ask for the final address directly",
            Self::RedirectBody { .. } => {
                "send the request to the other origin directly if it may have the body"
            }
            Self::Tls { .. } => {
                "check the host's certificate; a private authority must be added to the trust"
            }
            Self::Exchange { .. } => "try again later",
            Self::Encoding { .. } => "ask the server's owner for gzip, deflate or plain bodies",
            Self::Deadline { .. } => "try again later, ask for less, or raise the limit",
        }
    }
}
