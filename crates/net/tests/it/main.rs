//! The gate, the client and the proxy against doubles of the network.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on shall fail at that line"
)]

mod certificates;
mod fetching;
mod gates;
mod proxying;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bowline_net::double::{Answer, Names, Play, Wire};
use bowline_net::{Fetch, FetchLimits, Gate, Policy, Tier, Trust, Waits};

/// Where every name leads that has no answer of its own.
const SITE: &str = "93.184.216.34";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn socket(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn at(addresses: &[&str]) -> Answer {
    Answer::Addresses(addresses.iter().map(|text| address(text)).collect())
}

fn body(text: &str) -> Play {
    Play::Body(text.into())
}

/// A machine with its names and network.
struct Machine {
    names: Arc<Names>,
    wire: Arc<Wire>,
    limits: FetchLimits,
    hosts: Vec<&'static str>,
}

impl Machine {
    fn new(plays: Vec<Play>) -> Self {
        Self::over(Names::new(at(&[SITE])), Wire::new(plays))
    }

    fn over(names: Names, wire: Wire) -> Self {
        let wire = wire.with_tls(certificates::server());
        let hosts = vec!["api.example.com", "*.cdn.example.net", "127.0.0.1:8080"];
        Self { names: Arc::new(names), wire: Arc::new(wire), limits: FetchLimits::default(), hosts }
    }

    fn gate(&self) -> Gate {
        let policy = Policy::new(Tier::Standard, &self.hosts).unwrap();
        Gate::over(policy, Waits::default(), self.names.clone(), self.wire.clone()).unwrap()
    }

    fn client(&self) -> Fetch {
        Fetch::new(self.gate(), self.limits, Trust::only(certificates::authority().as_bytes()).unwrap())
            .unwrap()
    }
}
