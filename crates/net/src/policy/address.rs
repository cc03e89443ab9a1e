//! Which addresses are not of the public internet.
//!
//! IPv4 is public unless it is on the list; IPv6 is special unless it is global
//! unicast and not on the list, because most of IPv6 is not assigned. Addresses
//! that carry another one inside (mapped, translated, tunnelled) are special
//! whatever they carry: where they lead is decided by somebody else's network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// "This network", and the address of no host.
    Unspecified,
    /// The machine itself.
    Loopback,
    /// A private network.
    Private,
    /// Shared by a carrier's customers.
    SharedNat,
    /// The local link, where cloud metadata lives.
    LinkLocal,
    /// Set aside for protocols.
    Protocol,
    /// For examples in documents.
    Documentation,
    /// For measuring network equipment.
    Benchmarking,
    /// Relays into other networks.
    Relay,
    /// Sinks for misdirected look-ups.
    Sink,
    /// A service of the cloud platform below the machine.
    Platform,
    /// Groups of hosts.
    Multicast,
    /// Not assigned.
    Reserved,
    /// An IPv6 address with an IPv4 address inside.
    Embedded,
    /// Public, and the machine's own.
    Own,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::SharedNat => "a carrier-shared address",
            Self::LinkLocal => "a link-local address",
            Self::Protocol => "an address set aside for protocols",
            Self::Documentation => "a documentation address",
            Self::Benchmarking => "a benchmarking address",
            Self::Relay => "a relay address",
            Self::Sink => "a look-up sink",
            Self::Platform => "a cloud platform's own address",
            Self::Multicast => "a multicast address",
            Self::Reserved => "a reserved address",
            Self::Embedded => "an IPv4 address inside an IPv6 one",
            Self::Own => "an address of this machine itself",
        })
    }
}

/// The special use of an address; `None` when it is public.
#[must_use]
pub fn special_use(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => first_match(&V4, u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => first_match(&V6, address.to_bits(), 128),
    }
}

/// Network, prefix length, and what it is; `None` ends the search as public.
type Row<A> = (A, u32, Option<Special>);

/// The IANA registry of special-purpose addresses, its multicast and reserved
/// space, the withdrawn relay anycast, and Azure's host address.
const V4: [Row<Ipv4Addr>; 19] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, Some(Special::Unspecified)),
    (Ipv4Addr::new(10, 0, 0, 0), 8, Some(Special::Private)),
    (Ipv4Addr::new(100, 64, 0, 0), 10, Some(Special::SharedNat)),
    (Ipv4Addr::new(127, 0, 0, 0), 8, Some(Special::Loopback)),
    (Ipv4Addr::new(168, 63, 129, 16), 32, Some(Special::Platform)),
    (Ipv4Addr::new(169, 254, 0, 0), 16, Some(Special::LinkLocal)),
    (Ipv4Addr::new(172, 16, 0, 0), 12, Some(Special::Private)),
    (Ipv4Addr::new(192, 0, 0, 0), 24, Some(Special::Protocol)),
    (Ipv4Addr::new(192, 0, 2, 0), 24, Some(Special::Documentation)),
    (Ipv4Addr::new(192, 31, 196, 0), 24, Some(Special::Sink)),
    (Ipv4Addr::new(192, 52, 193, 0), 24, Some(Special::Relay)),
    (Ipv4Addr::new(192, 88, 99, 0), 24, Some(Special::Relay)),
    (Ipv4Addr::new(192, 168, 0, 0), 16, Some(Special::Private)),
    (Ipv4Addr::new(192, 175, 48, 0), 24, Some(Special::Sink)),
    (Ipv4Addr::new(198, 18, 0, 0), 15, Some(Special::Benchmarking)),
    (Ipv4Addr::new(198, 51, 100, 0), 24, Some(Special::Documentation)),
    (Ipv4Addr::new(203, 0, 113, 0), 24, Some(Special::Documentation)),
    (Ipv4Addr::new(224, 0, 0, 0), 4, Some(Special::Multicast)),
    (Ipv4Addr::new(240, 0, 0, 0), 4, Some(Special::Reserved)),
];

/// What is special inside global unicast, then global unicast itself, then names
/// for the rest, which is never public.
const V6: [Row<Ipv6Addr>; 20] = [
    (v6([0x2001, 0, 0]), 32, Some(Special::Embedded)),
    (v6([0x2001, 0, 0]), 23, Some(Special::Protocol)),
    (v6([0x2001, 0xdb8, 0]), 32, Some(Special::Documentation)),
    (v6([0x2002, 0, 0]), 16, Some(Special::Embedded)),
    (v6([0x2620, 0x4f, 0x8000]), 48, Some(Special::Sink)),
    (v6([0x3fff, 0, 0]), 20, Some(Special::Documentation)),
    (v6([0x2000, 0, 0]), 3, None),
    (Ipv6Addr::UNSPECIFIED, 128, Some(Special::Unspecified)),
    (Ipv6Addr::LOCALHOST, 128, Some(Special::Loopback)),
    (Ipv6Addr::UNSPECIFIED, 96, Some(Special::Embedded)),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, Some(Special::Embedded)),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, Some(Special::Embedded)),
    (v6([0x64, 0xff9b, 0]), 96, Some(Special::Embedded)),
    (v6([0x64, 0xff9b, 1]), 48, Some(Special::Embedded)),
    (v6([0x5f00, 0, 0]), 16, Some(Special::Protocol)),
    (v6([0xfc00, 0, 0]), 7, Some(Special::Private)),
    (v6([0xfe80, 0, 0]), 10, Some(Special::LinkLocal)),
    (v6([0xfec0, 0, 0]), 10, Some(Special::Private)),
    (v6([0xff00, 0, 0]), 8, Some(Special::Multicast)),
    (Ipv6Addr::UNSPECIFIED, 0, Some(Special::Reserved)),
];

const fn v6(start: [u16; 3]) -> Ipv6Addr {
    let [a, b, c] = start;
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

trait Bits: Copy {
    fn bits(self) -> u128;
}

impl Bits for Ipv4Addr {
    fn bits(self) -> u128 {
        u128::from(self.to_bits())
    }
}

impl Bits for Ipv6Addr {
    fn bits(self) -> u128 {
        self.to_bits()
    }
}

fn first_match<A: Bits>(rows: &[Row<A>], address: u128, width: u32) -> Option<Special> {
    let inside = |row: &&Row<A>| {
        let (network, prefix, _) = row;
        // A shift by the whole width (prefix 0) is an overflow: everything is inside.
        let host_bits = width.saturating_sub(*prefix);
        network.bits().checked_shr(host_bits) == address.checked_shr(host_bits)
    };
    rows.iter().find(inside).and_then(|(_, _, special)| *special)
}

#[cfg(test)]
mod tests;
