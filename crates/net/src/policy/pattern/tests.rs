//! Entries of the list: how they are read and which are refused.

use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

#[test]
fn entries_name_a_host_a_zone_an_address_or_any() {
    for (raw, subject, port) in [
        ("api.example.com", Subject::Exact(name("api.example.com")), None),
        ("API.Example.com.", Subject::Exact(name("api.example.com")), None),
        ("bücher.example:8443", Subject::Exact(name("xn--bcher-kva.example")), Some(8443)),
        ("*.cdn.example.net", Subject::Below(name("cdn.example.net")), None),
        ("*.com", Subject::Below(name("com")), None),
        ("nas.lan", Subject::Exact(name("nas.lan")), None),
        ("93.184.216.34", Subject::Address("93.184.216.34".parse().unwrap()), None),
        ("127.0.0.1:8080", Subject::Address("127.0.0.1".parse().unwrap()), Some(8080)),
        ("[::1]:8080", Subject::Address("::1".parse().unwrap()), Some(8080)),
        ("[2606:4700::1111]", Subject::Address("2606:4700::1111".parse().unwrap()), None),
        ("*", Subject::Any, None),
        ("*:65535", Subject::Any, Some(65535)),
    ] {
        assert_eq!(Pattern::parse(raw), Ok(Pattern { subject, port }), "{raw}");
    }
}

#[test]
fn entries_that_say_something_else_than_a_host_are_refused() {
    use PatternFault as F;
    for (raw, fault) in [
        ("", F::NotAHost),
        ("https://a.example", F::NotAHost),
        ("a.example/path", F::NotAHost),
        ("user@a.example", F::NotAHost),
        ("a .example", F::NotAHost),
        ("a%2eexample", F::NotAHost),
        ("a.*.example", F::Star),
        ("a*.example", F::Star),
        ("**", F::Star),
        ("*.*.example", F::Star),
        ("*.127.0.0.1", F::Star),
        ("a.example:", F::Port),
        ("a.example:0", F::Port),
        ("a.example:080", F::Port),
        ("a.example:+80", F::Port),
        ("a.example:65536", F::Port),
        ("a.example:80:80", F::Port),
        ("a.example::80", F::Port),
        ("[::1]:", F::Port),
        ("::1", F::Port),
        ("127.0.0.1", F::NeedsPort(Special::Loopback)),
        ("10.0.0.5", F::NeedsPort(Special::Private)),
        ("[fe80::1]", F::NeedsPort(Special::LinkLocal)),
        ("0.0.0.0:80", F::NoService(Special::Unspecified)),
        ("224.0.0.1:80", F::NoService(Special::Multicast)),
        ("[::ffff:127.0.0.1]:80", F::NoService(Special::Embedded)),
        ("127.1:80", F::Host(Malformed::DisguisedAddress)),
        ("0x7f000001:80", F::Host(Malformed::DisguisedAddress)),
        ("localhost:8080", F::ThisMachine),
        ("*.localhost", F::ThisMachine),
        ("a..example", F::Host(Malformed::Name(crate::policy::NameFault::EmptyPart))),
        ("аpi.example", F::Host(Malformed::Name(crate::policy::NameFault::MixedScripts))),
    ] {
        assert_eq!(Pattern::parse(raw), Err(fault), "{raw:?}");
    }
    assert!(Pattern::parse("[::1").is_err());
}
