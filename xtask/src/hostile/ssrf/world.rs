//! The world of one case: resolver, network, certificates, and what happened in it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use bowline_net::double::{Answer, Names, Wire};
use bowline_net::{Fetch, FetchError, FetchLimits, Gate, Refusal, Request, Trust, Url, Waits};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

use super::Asked;
use super::case::Case;

/// Where a name without an answer of its own leads.
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));

pub(super) struct World {
    names: Arc<Names>,
    wire: Arc<Wire>,
    authority: String,
}

impl World {
    pub(super) fn of(case: &Case) -> Result<Self> {
        let mut names = Names::new(Answer::Addresses(vec![ELSEWHERE]));
        for (name, dns) in &case.dns {
            names = names.with(name, dns.answers());
        }
        if let Some(conf) = &case.resolv_conf {
            let domain = conf.strip_prefix("search ").context("resolv_conf without a search domain")?;
            names = names.with_search(domain);
        }
        let (authority, tls) = certificates(case)?;
        let wire = Wire::new(case.plays()?).with_tls(tls);
        Ok(Self { names: Arc::new(names), wire: Arc::new(wire), authority })
    }

    /// The client, or the reason why there is none.
    pub(super) fn client(&self, case: &Case) -> Result<Fetch> {
        let gate = Gate::over(case.policy()?, Waits::default(), self.names.clone(), self.wire.clone())?;
        Ok(Fetch::new(gate, FetchLimits::default(), Trust::only(self.authority.as_bytes())?)?)
    }

    /// Sends the case's request and reads the whole answer.
    pub(super) async fn ask(&self, case: &Case, client: Result<&Fetch, &anyhow::Error>) -> Asked {
        let client = match client {
            Ok(client) => client,
            Err(error) => {
                let reason = error.downcast_ref::<Refusal>().map_or("setup", Refusal::reason);
                return Err((reason, error.to_string()));
            }
        };
        let answer = match self.request(case) {
            Ok(request) => client.fetch(request).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(whole) if whole.cut => Err(("limits", "cut off".into())),
            Ok(_) => Ok(()),
            Err(error) => Err((error.reason(), error.to_string())),
        }
    }

    fn request(&self, case: &Case) -> Result<Request, FetchError> {
        let mut request = Request::new(case.method.as_deref().unwrap_or("GET"), &case.input)?;
        for name in &case.assert_no_header {
            request = request.header(name, "canary")?;
        }
        for (name, value) in &case.headers {
            request = request.header(name, value)?;
        }
        Ok(request)
    }

    /// Nothing happened that the case forbids.
    pub(super) fn forbidden(&self, case: &Case) -> Result<()> {
        let (asked, dialed, heads) = (self.names.asked(), self.wire.dialed(), self.wire.heads());
        ensure!(!case.assert_no_dns || asked.is_empty(), "{asked:?} was looked up");
        ensure!(!case.assert_no_socket || dialed.is_empty(), "{dialed:?} was dialled");
        ensure!(case.max_lookups.is_none_or(|max| asked.len() <= max), "{} look-ups", asked.len());
        if let Some(only) = case.connect_to {
            ensure!(!dialed.is_empty() && dialed.iter().all(|to| to.ip() == only), "{dialed:?} was dialled");
        }
        for name in &case.assert_no_header {
            let carries = |head: &String| head.lines().any(|line| is_header(line, name));
            // Without this, a client that sends no headers at all would pass.
            let Some((first, others)) = heads.split_first() else { bail!("nothing arrived") };
            ensure!(carries(first), "{name} did not reach the host it was meant for");
            ensure!(!others.is_empty() && !others.iter().any(carries), "{name} went elsewhere");
        }
        Ok(())
    }
}

fn is_header(line: &str, name: &str) -> bool {
    line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name))
}

/// An authority of our own and a server with a certificate for every host of the case.
fn certificates(case: &Case) -> Result<(String, Arc<ServerConfig>)> {
    let urls = std::iter::once(&case.input).chain(&case.redirects);
    let mut hosts: Vec<String> = urls.filter_map(|url| host(url)).chain(case.dns.keys().cloned()).collect();
    hosts.sort();
    hosts.dedup();
    hosts.retain(|host| CertificateParams::new([host.clone()]).is_ok());
    let key = KeyPair::generate()?;
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&key)?.pem();
    let issuer = Issuer::from_params(&authority, &key);
    let server_key = KeyPair::generate()?;
    let certificate = CertificateParams::new(hosts)?.signed_by(&server_key, &issuer)?;
    let private = PrivateKeyDer::try_from(server_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)?;
    Ok((authority_pem, Arc::new(config)))
}

fn host(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    Some(url.host_str()?.trim_matches(['[', ']', '.']).to_owned())
}
