//! What may be reached, judged without reaching for anything.
//!
//! [`Policy::judge`] reads a URL and says whether its scheme, host and port are
//! allowed; somebody looks the name up; [`Policy::check`] says whether every
//! address is. [`Policy::follow`] is `judge` for a redirect, [`Policy::tunnel`]
//! for a proxy's CONNECT.
//!
//! Invariants
//! - Nothing here reads a clock, a file, a socket or the environment.
//! - An address that is not public is reached only if that address and that port
//!   are granted in so many words.
//! - One bad address among the answers spoils them all.

mod address;
mod lexical;
mod name;
mod pattern;
mod refusal;
mod target;
mod terms;

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

use url::Url;

pub use address::{Special, special_use};
pub use lexical::{Malformed, URL_MAX};
pub use name::{Name, NameFault};
pub use refusal::Refusal;
pub use target::{Checked, Host, Target};
pub use terms::{BadPolicy, Scheme, Tier};

use pattern::{Pattern, Subject};
use target::Grant;

/// Most entries of `allowed_hosts`.
pub const HOSTS_MAX: usize = 1024;
const PORTS_MAX: usize = 64;
const ADDRESSES_MAX: usize = 64;

/// The ports one entry opens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ports {
    /// The policy's own list.
    shared: bool,
    /// Named by entries.
    own: Vec<u16>,
}

/// What may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    tier: Tier,
    schemes: Vec<Scheme>,
    /// For entries that name none; `None`: the ports the schemes are spoken on.
    ports: Option<Vec<u16>>,
    names: HashMap<Name, Ports>,
    zones: HashMap<Box<str>, Ports>,
    addresses: HashMap<IpAddr, Ports>,
    any: Option<Ports>,
}

impl Policy {
    /// Reads a list of hosts: `name`, `*.zone`, an address, `*`, each with an
    /// optional `:port`. Without further word http and https, each on its own port.
    pub fn new<S: AsRef<str>>(tier: Tier, hosts: &[S]) -> Result<Self, BadPolicy> {
        bounded("hosts", hosts.len(), HOSTS_MAX)?;
        let mut policy = Self {
            tier,
            schemes: vec![Scheme::Https, Scheme::Http],
            ports: None,
            names: HashMap::new(),
            zones: HashMap::new(),
            addresses: HashMap::new(),
            any: None,
        };
        hosts.iter().try_for_each(|entry| policy.add(entry.as_ref()))?;
        Ok(policy)
    }

    /// A policy for a model server on this machine: these loopback services and
    /// nothing else. The only network there is beside the sovereign tier.
    pub fn loopback(services: &[SocketAddr]) -> Result<Self, BadPolicy> {
        if let Some(address) = services.iter().find(|service| !service.ip().is_loopback()) {
            return Err(BadPolicy::NotLoopback { address: *address });
        }
        let entries: Vec<String> = services.iter().map(ToString::to_string).collect();
        Self::new(Tier::Private, &entries)
    }

    /// The same with these schemes only.
    #[must_use]
    pub fn with_schemes(mut self, schemes: &[Scheme]) -> Self {
        self.schemes = [Scheme::Https, Scheme::Http].into_iter().filter(|s| schemes.contains(s)).collect();
        self
    }

    /// The same with these ports for entries that name none.
    pub fn with_ports(mut self, ports: &[u16]) -> Result<Self, BadPolicy> {
        bounded("ports", ports.len(), PORTS_MAX)?;
        if ports.contains(&0) {
            return Err(BadPolicy::PortZero);
        }
        self.ports = Some(ports.to_vec());
        Ok(self)
    }

    /// How far data may go.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Judges a URL as far as that goes without a look-up.
    pub fn judge(&self, raw: &str) -> Result<Target, Refusal> {
        if self.tier == Tier::Sovereign {
            return Err(Refusal::Sovereign);
        }
        let written = lexical::read(raw)?;
        let scheme = Scheme::parse(written.scheme).filter(|scheme| self.schemes.contains(scheme));
        let Some(scheme) = scheme else {
            let scheme = written.scheme.chars().take(32).collect();
            return Err(Refusal::Scheme { scheme });
        };
        let authority = written.authority()?;
        let url = Url::parse(raw).map_err(Malformed::Parser)?;
        // What is sent is the URL's own spelling, which percent signs make longer.
        if url.as_str().len() > URL_MAX {
            return Err(Malformed::TooLong.into());
        }
        let (host, port) = (read_host(&url)?, url.port().unwrap_or(scheme.default_port()));
        let grant = self.grant(&host, port)?;
        let target = Target { url, scheme, host, port, grant };
        check_host(&target)?;
        check_spelling(&target, &authority)?;
        Ok(target)
    }

    /// Judges where a redirect leads. What is not absolute is read against the
    /// URL that was asked.
    pub fn follow(&self, from: &Target, location: &str) -> Result<Target, Refusal> {
        lexical::check_characters(location)?;
        let to = if lexical::split_scheme(location).is_some() {
            self.judge(location)?
        } else if location.starts_with("//") {
            self.judge(&format!("{}:{location}", from.scheme.as_str()))?
        } else {
            self.judge(from.url.join(location).map_err(Malformed::Parser)?.as_str())?
        };
        match (from.scheme, to.scheme) {
            (Scheme::Https, Scheme::Http) => Err(Refusal::Downgrade),
            (Scheme::Https, Scheme::Https) | (Scheme::Http, Scheme::Http | Scheme::Https) => Ok(to),
        }
    }

    /// Judges the `host:port` of a CONNECT. The bytes in a tunnel are not ours to
    /// read, so it takes the right to speak https.
    pub fn tunnel(&self, authority: &str) -> Result<Target, Refusal> {
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty());
        if authority.contains(['/', '?', '#']) || !has_port || authority.ends_with(']') {
            return Err(if self.tier == Tier::Sovereign {
                Refusal::Sovereign
            } else {
                Malformed::Port.into()
            });
        }
        self.judge(&format!("https://{authority}/"))
    }

    /// Checks the answers of a look-up, every one of them. For an address that
    /// was written out the answers do not matter: it is its own.
    pub fn check(&self, target: Target, answers: &[IpAddr]) -> Result<Checked, Refusal> {
        let own;
        let answers = match &target.host {
            Host::Address(address) => {
                own = [*address];
                &own
            }
            Host::Name(name) if answers.is_empty() || answers.len() > ADDRESSES_MAX => {
                let (name, count) = (name.clone(), answers.len());
                return Err(Refusal::AddressCount { name, count, max: ADDRESSES_MAX });
            }
            Host::Name(_) => answers,
        };
        answers.iter().try_for_each(|address| self.check_address(&target, *address))?;
        let addresses = answers.iter().map(|address| SocketAddr::new(*address, target.port)).collect();
        Ok(Checked { target, addresses })
    }

    /// Refuses addresses that the machine itself answers to, unless the service is
    /// granted by its address: what listens there was not meant for visitors from
    /// inside. Which addresses those are, the caller finds out.
    pub fn refuse_own(&self, checked: &Checked, own: &[IpAddr]) -> Result<(), Refusal> {
        let target = &checked.target;
        let granted = |address: IpAddr| match target.grant {
            Grant::Address => true,
            Grant::Listed => self.names_service(address, target.port),
            Grant::Public => false,
        };
        match own.iter().find(|address| !granted(**address)) {
            None => Ok(()),
            Some(address) => {
                Err(Refusal::Address { host: target.host.clone(), address: *address, special: Special::Own })
            }
        }
    }

    fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Refusal> {
        let Some(special) = special_use(address) else { return Ok(()) };
        let granted = match target.grant {
            Grant::Address => true,
            // A listed name may lead to a granted service; a name only `*` lets through may not.
            Grant::Listed => self.names_service(address, target.port),
            Grant::Public => false,
        };
        if granted { Ok(()) } else { Err(Refusal::Address { host: target.host.clone(), address, special }) }
    }

    fn add(&mut self, entry: &str) -> Result<(), BadPolicy> {
        let shown = || entry.chars().take(256).collect::<String>();
        let bad = |fault: pattern::PatternFault| BadPolicy::Host { entry: shown(), why: fault.to_string() };
        let Pattern { subject, port } = Pattern::parse(entry).map_err(bad)?;
        match subject {
            Subject::Exact(name) => open(&mut self.names, name, port),
            Subject::Below(zone) => open(&mut self.zones, zone.as_str().into(), port),
            Subject::Address(address) => open(&mut self.addresses, address, port),
            Subject::Any if self.tier == Tier::Private => {
                return Err(BadPolicy::StarInPrivate { entry: shown() });
            }
            Subject::Any => self.any.get_or_insert_default().add(port),
        }
        Ok(())
    }

    /// Whether entries without a port of their own open this one. A port of a scheme
    /// that is not allowed is none of them: what goes through a tunnel cannot be seen.
    fn shares(&self, port: u16) -> bool {
        match &self.ports {
            Some(ports) => ports.contains(&port),
            None => self.schemes.iter().any(|scheme| scheme.default_port() == port),
        }
    }

    /// Whether this service is granted in so many words.
    fn names_service(&self, address: IpAddr, port: u16) -> bool {
        self.addresses.get(&address).is_some_and(|ports| ports.own.contains(&port))
    }

    /// The strongest grant for this host and port.
    fn grant(&self, host: &Host, port: u16) -> Result<Grant, Refusal> {
        let listed: Vec<&Ports> = match host {
            Host::Name(name) => {
                let zones = name.parents().filter_map(|zone| self.zones.get(zone));
                self.names.get(name).into_iter().chain(zones).collect()
            }
            Host::Address(address) => self.addresses.get(address).into_iter().collect(),
        };
        let opens = |ports: &Ports| ports.own.contains(&port) || (ports.shared && self.shares(port));
        if listed.iter().any(|ports| opens(ports)) {
            return Ok(match host {
                Host::Name(_) => Grant::Listed,
                Host::Address(_) => Grant::Address,
            });
        }
        match &self.any {
            Some(ports) if opens(ports) => Ok(Grant::Public),
            Some(_) => Err(Refusal::Port { host: host.clone(), port }),
            None if listed.is_empty() => Err(Refusal::HostNotAllowed { host: host.clone() }),
            None => Err(Refusal::Port { host: host.clone(), port }),
        }
    }
}

impl Ports {
    fn add(&mut self, port: Option<u16>) {
        match port {
            None => self.shared = true,
            Some(port) => self.own.push(port),
        }
    }
}

fn open<K: Eq + Hash>(entries: &mut HashMap<K, Ports>, key: K, port: Option<u16>) {
    entries.entry(key).or_default().add(port);
}

fn bounded(what: &'static str, count: usize, max: usize) -> Result<(), BadPolicy> {
    if count > max { Err(BadPolicy::TooMany { what, count, max }) } else { Ok(()) }
}

fn read_host(url: &Url) -> Result<Host, Malformed> {
    match url.host() {
        Some(url::Host::Domain(ascii)) => Ok(Host::Name(Name::parse(ascii)?)),
        Some(url::Host::Ipv4(address)) => Ok(Host::Address(IpAddr::V4(address))),
        Some(url::Host::Ipv6(address)) => Ok(Host::Address(IpAddr::V6(address))),
        None => Err(Malformed::NoHost),
    }
}

/// What can be said of the host before a look-up: whether it is local by name,
/// or an address that may not be reached.
fn check_host(target: &Target) -> Result<(), Refusal> {
    match &target.host {
        // Who lists a local name means it; its addresses are checked all the same.
        Host::Name(name) if target.grant == Grant::Public && name.is_local() => {
            Err(Refusal::LocalName { name: name.clone() })
        }
        Host::Name(_) => Ok(()),
        Host::Address(address) => match special_use(*address) {
            Some(special) if target.grant != Grant::Address => {
                Err(Refusal::Address { host: target.host.clone(), address: *address, special })
            }
            Some(_) | None => Ok(()),
        },
    }
}

/// The host must have been written as what it was read as: names unencoded, IPv4
/// as four decimal numbers. IPv6 has many spellings, which all parsers agree on.
fn check_spelling(target: &Target, written: &lexical::Authority<'_>) -> Result<(), Malformed> {
    match &target.host {
        Host::Address(address @ IpAddr::V4(_)) if address.to_string() != written.host => {
            Err(Malformed::DisguisedAddress)
        }
        Host::Name(_) if written.host.contains('%') => Err(Malformed::EncodedHost),
        Host::Address(_) | Host::Name(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
