//! Every range at its first and last address, and one step outside.

use super::*;

fn found(address: &str) -> Option<Special> {
    special_use(address.parse().unwrap())
}

/// First and last address, what they are, and the neighbours that are public.
type Edge = (&'static str, &'static str, Special, Option<&'static str>, Option<&'static str>);

const EDGES: [Edge; 37] = [
    ("0.0.0.0", "0.255.255.255", Special::Unspecified, None, Some("1.0.0.0")),
    ("10.0.0.0", "10.255.255.255", Special::Private, Some("9.255.255.255"), Some("11.0.0.0")),
    ("100.64.0.0", "100.127.255.255", Special::SharedNat, Some("100.63.255.255"), Some("100.128.0.0")),
    ("127.0.0.0", "127.255.255.255", Special::Loopback, Some("126.255.255.255"), Some("128.0.0.0")),
    ("168.63.129.16", "168.63.129.16", Special::Platform, Some("168.63.129.15"), Some("168.63.129.17")),
    ("169.254.0.0", "169.254.255.255", Special::LinkLocal, Some("169.253.255.255"), Some("169.255.0.0")),
    ("172.16.0.0", "172.31.255.255", Special::Private, Some("172.15.255.255"), Some("172.32.0.0")),
    ("192.0.0.0", "192.0.0.255", Special::Protocol, Some("191.255.255.255"), Some("192.0.1.0")),
    ("192.0.2.0", "192.0.2.255", Special::Documentation, Some("192.0.1.255"), Some("192.0.3.0")),
    ("192.31.196.0", "192.31.196.255", Special::Sink, Some("192.31.195.255"), Some("192.31.197.0")),
    ("192.52.193.0", "192.52.193.255", Special::Relay, Some("192.52.192.255"), Some("192.52.194.0")),
    ("192.88.99.0", "192.88.99.255", Special::Relay, Some("192.88.98.255"), Some("192.88.100.0")),
    ("192.168.0.0", "192.168.255.255", Special::Private, Some("192.167.255.255"), Some("192.169.0.0")),
    ("192.175.48.0", "192.175.48.255", Special::Sink, Some("192.175.47.255"), Some("192.175.49.0")),
    ("198.18.0.0", "198.19.255.255", Special::Benchmarking, Some("198.17.255.255"), Some("198.20.0.0")),
    ("198.51.100.0", "198.51.100.255", Special::Documentation, Some("198.51.99.255"), Some("198.51.101.0")),
    ("203.0.113.0", "203.0.113.255", Special::Documentation, Some("203.0.112.255"), Some("203.0.114.0")),
    ("224.0.0.0", "239.255.255.255", Special::Multicast, Some("223.255.255.255"), None),
    ("240.0.0.0", "255.255.255.255", Special::Reserved, None, None),
    ("::", "::", Special::Unspecified, None, None),
    ("::1", "::1", Special::Loopback, None, None),
    ("::2", "::ffff:ffff", Special::Embedded, None, None),
    ("::ffff:0.0.0.0", "::ffff:255.255.255.255", Special::Embedded, None, None),
    ("::ffff:0:0:0", "::ffff:0:ffff:ffff", Special::Embedded, None, None),
    ("64:ff9b::", "64:ff9b::ffff:ffff", Special::Embedded, None, None),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", Special::Embedded, None, None),
    ("100::", "100::ffff:ffff:ffff:ffff", Special::Reserved, None, None),
    ("1fff:ffff::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Reserved, None, Some("2000::")),
    ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", Special::Embedded, Some("2000:ffff::"), None),
    ("2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Protocol, None, Some("2001:200::")),
    (
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        Special::Documentation,
        Some("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"),
        Some("2001:db9::"),
    ),
    (
        "2002::",
        "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        Special::Embedded,
        Some("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        Some("2003::"),
    ),
    (
        "2620:4f:8000::",
        "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
        Special::Sink,
        Some("2620:4f:7fff:ffff:ffff:ffff:ffff:ffff"),
        Some("2620:4f:8001::"),
    ),
    (
        "3fff::",
        "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
        Special::Documentation,
        Some("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        Some("3fff:1000::"),
    ),
    (
        "4000::",
        "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        Special::Reserved,
        Some("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        None,
    ),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Private, None, None),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Multicast, None, None),
];

#[test]
fn every_special_range_begins_and_ends_where_it_should() {
    for (first, last, special, below, above) in EDGES {
        assert_eq!(found(first), Some(special), "{first}");
        assert_eq!(found(last), Some(special), "{last}");
        for neighbour in [below, above].into_iter().flatten() {
            assert_eq!(found(neighbour), None, "{neighbour}");
        }
    }
}

#[test]
fn the_rest_of_ipv6_has_names_at_its_edges() {
    for (first, last, special) in [
        ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Protocol),
        ("fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Reserved),
        ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::LinkLocal),
        ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Private),
        ("::1:0:0", "::fffe:ffff:ffff", Special::Reserved),
        ("64:ff9a::", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", Special::Reserved),
        ("64:ff9b:2::", "64:ff9b:ffff:ffff:ffff:ffff:ffff:ffff", Special::Reserved),
        ("5f01::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Special::Reserved),
    ] {
        assert_eq!((found(first), found(last)), (Some(special), Some(special)), "{first}..{last}");
    }
}

#[test]
fn metadata_services_are_special_wherever_a_cloud_puts_them() {
    for address in ["169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"] {
        assert!(found(address).is_some(), "{address}");
    }
}

#[test]
fn public_addresses_are_public() {
    for address in
        ["93.184.216.34", "1.1.1.1", "8.8.8.8", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"]
    {
        assert_eq!(found(address), None, "{address}");
    }
}

#[test]
fn every_special_use_reads_as_a_sentence() {
    let said = format!("10.0.0.1 is {}", Special::Private);
    assert_eq!(said, "10.0.0.1 is a private address");
    assert_eq!(Special::Embedded.to_string(), "an IPv4 address inside an IPv6 one");
}
