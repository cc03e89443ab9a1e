//! The network policy: any URL, any redirect, any answer of a look-up.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bowline_net::{Host, Policy, Scheme, Target, Tier, URL_MAX, special_use};

use crate::bytes::Bytes;

/// What is allowed is allowed again in its own spelling, a redirect never leaves https,
/// and no address of special use gets through a rule for every host.
pub fn policy(input: &[u8]) {
    let mut input = Bytes::new(input);
    let policy = match input.byte() % 2 {
        0 => Policy::new(Tier::Standard, &["*"]),
        _ => Policy::new(Tier::Private, &["api.example.com", "*.example.org", "[2001:4860::1]:8443"]),
    };
    let policy = policy.expect("good hosts");
    let answers = [address(&mut input), address(&mut input)];
    let location = input.text();
    let raw = input.rest();
    let _tunnel = policy.tunnel(&raw);
    let Ok(target) = policy.judge(&raw) else { return };
    assert!(target.url().as_str().len() <= URL_MAX, "{raw:?} grows beyond what a URL may have");
    let again = policy.judge(target.url().as_str()).unwrap_or_else(|refusal| panic!("{raw:?}: {refusal}"));
    assert_eq!((again.host(), again.port()), (target.host(), target.port()), "{raw:?}");
    if let Ok(next) = policy.follow(&target, &location) {
        assert!(target.scheme() == Scheme::Http || next.scheme() == Scheme::Https, "{raw:?} to {location:?}");
        allowed(&policy, next, &answers);
    }
    allowed(&policy, target, &answers);
}

fn allowed(policy: &Policy, target: Target, answers: &[IpAddr]) {
    let is_named = matches!(target.host(), Host::Name(_));
    let url = target.url().to_string();
    let Ok(checked) = policy.check(target, answers) else { return };
    if is_named {
        let special = checked.addresses().iter().find(|address| special_use(address.ip()).is_some());
        assert_eq!(special, None, "{url}");
    }
}

fn address(input: &mut Bytes<'_>) -> IpAddr {
    match input.byte() % 4 {
        0 => IpAddr::from(Ipv6Addr::from(u128::from(input.word()) << 64 | u128::from(input.word()))),
        1 => IpAddr::from(
            Ipv4Addr::from(u32::try_from(input.word() >> 32).unwrap_or_default()).to_ipv6_mapped(),
        ),
        _ => IpAddr::from(Ipv4Addr::from(u32::try_from(input.word() >> 32).unwrap_or_default())),
    }
}
