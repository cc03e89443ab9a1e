//! One entry of `allowed_hosts`.
//!
//! `name`, `*.zone`, an address, or `*` for any public host; each may name one
//! port of its own behind a colon, which then replaces the policy's ports. An
//! address that is not public must name its port: such a grant is for one
//! service, not for a machine. Nothing here looks at a URL.

use std::net::IpAddr;

use super::Malformed;
use super::address::{Special, special_use};
use super::name::Name;

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// This name.
    Exact(Name),
    /// Every name below this one, at any depth; not the name itself.
    Below(Name),
    /// This address, written out.
    Address(IpAddr),
    /// Any public host.
    Any,
}

/// An entry, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) subject: Subject,
    /// Its own port, if it names one.
    pub(super) port: Option<u16>,
}

/// Why an entry cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatternFault {
    #[error("write the host alone, without scheme, path or user")]
    NotAHost,
    #[error("{0}")]
    Host(Malformed),
    #[error("a star stands alone or as the whole first part, as in *.example.com")]
    Star,
    #[error("the port is not a number from 1 to 65535")]
    Port,
    #[error("this is {0}: grant it with its port, as in 127.0.0.1:8080")]
    NeedsPort(Special),
    #[error("this is {0}, which names no service")]
    NoService(Special),
    #[error("this name is the machine itself: grant the address and port, as in 127.0.0.1:8080")]
    ThisMachine,
}

impl Pattern {
    pub(super) fn parse(raw: &str) -> Result<Self, PatternFault> {
        let bad = |c: char| c.is_control() || c.is_whitespace() || "/\\?#@%".contains(c);
        if raw.is_empty() || raw.contains(bad) {
            return Err(PatternFault::NotAHost);
        }
        let (host, port) = split_port(raw)?;
        let subject = subject(host)?;
        if let Subject::Address(address) = subject {
            check_address(address, port)?;
        }
        Ok(Self { subject, port })
    }
}

fn split_port(raw: &str) -> Result<(&str, Option<u16>), PatternFault> {
    let from = raw.rfind(']').unwrap_or(0);
    let colon = raw.get(from..).and_then(|tail| tail.find(':')).map(|at| from + at);
    let Some((host, tail)) = colon.and_then(|at| raw.split_at_checked(at)) else { return Ok((raw, None)) };
    let digits = tail.trim_start_matches(':');
    let plain = tail.len() == digits.len() + 1 && !digits.starts_with(['0', '+']);
    let port = digits.parse().ok().filter(|_| plain);
    port.map(|port| (host, Some(port))).ok_or(PatternFault::Port)
}

fn subject(host: &str) -> Result<Subject, PatternFault> {
    if host == "*" {
        return Ok(Subject::Any);
    }
    let zone = host.strip_prefix("*.");
    let bare = zone.unwrap_or(host);
    if bare.contains('*') {
        return Err(PatternFault::Star);
    }
    let parsed = url::Host::parse(bare).map_err(|error| PatternFault::Host(Malformed::Parser(error)))?;
    let address = match parsed {
        url::Host::Domain(ascii) => {
            let name = Name::parse(&ascii).map_err(|fault| PatternFault::Host(Malformed::Name(fault)))?;
            return match zone {
                _ if name.is_this_machine() => Err(PatternFault::ThisMachine),
                Some(_) => Ok(Subject::Below(name)),
                None => Ok(Subject::Exact(name)),
            };
        }
        url::Host::Ipv4(address) if address.to_string() == bare => IpAddr::V4(address),
        url::Host::Ipv4(_) => return Err(PatternFault::Host(Malformed::DisguisedAddress)),
        url::Host::Ipv6(address) => IpAddr::V6(address),
    };
    if zone.is_some() { Err(PatternFault::Star) } else { Ok(Subject::Address(address)) }
}

fn check_address(address: IpAddr, port: Option<u16>) -> Result<(), PatternFault> {
    match special_use(address) {
        None => Ok(()),
        // The zero address means "this machine" to a connect, a group has no peer, and where an
        // embedded address leads is not ours to say.
        Some(special @ (Special::Unspecified | Special::Multicast | Special::Embedded)) => {
            Err(PatternFault::NoService(special))
        }
        Some(special) if port.is_none() => Err(PatternFault::NeedsPort(special)),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
