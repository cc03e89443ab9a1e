//! Where a model is, and what follows from that: what may be connected to, whether a
//! key may go there, and whether what is told to it leaves the machine.
//!
//! A model's gate opens to its own address and to no other, whatever the task may
//! reach besides: naming the model is declaring its host.

use std::net::{IpAddr, SocketAddr};

use bowline_core::task::{Format, ModelChoice, Whereabouts};
use bowline_net::{Policy, Scheme, Tier, Url, special_use};

use crate::error::BadPlace;

/// Where a format's own provider is.
#[must_use]
pub fn provider_url(format: Format) -> &'static str {
    match format {
        Format::Openai | Format::OpenaiResponses => "https://api.openai.com/v1",
        Format::Anthropic => "https://api.anthropic.com",
        Format::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        Format::Ollama => "http://127.0.0.1:11434",
    }
}

/// Where a model is.
#[derive(Clone, Debug)]
pub struct Place {
    /// The address of the server, without a slash at its end.
    pub url: String,
    /// Who is there, for people.
    pub host: String,
    /// It is the format's own provider.
    pub is_own: bool,
    /// What it is told leaves the machine.
    pub is_remote: bool,
    /// What is sent can be read on the way.
    is_clear: bool,
    policy: Policy,
}

impl Place {
    /// Where a model of a task is.
    pub fn of(choice: &ModelChoice) -> Result<Self, BadPlace> {
        let own = provider_url(choice.format);
        let written = choice.base_url.as_deref().unwrap_or(own);
        let bad = |why: String| BadPlace::Address { url: written.chars().take(200).collect(), why };
        let mut url = Url::parse(written).map_err(|error| bad(error.to_string()))?;
        // That name means this machine wherever it is looked up.
        if url.host_str() == Some("localhost") {
            url.set_host(Some("127.0.0.1")).map_err(|error| bad(error.to_string()))?;
        }
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            other => return Err(bad(format!("{other} is not spoken"))),
        };
        let named = url.host_str().ok_or_else(|| bad("it names no host".to_owned()))?.to_owned();
        let port = url.port_or_known_default().unwrap_or(443);
        let address: Option<IpAddr> = named.trim_matches(['[', ']']).parse().ok();
        let host = if url.port().is_some() { format!("{named}:{port}") } else { named.clone() };
        let policy = match address {
            Some(address) if address.is_loopback() => Policy::loopback(&[SocketAddr::new(address, port)]),
            Some(_) | None => Policy::new(Tier::Private, &[format!("{named}:{port}")]),
        };
        let policy = policy.map_err(|error| bad(error.to_string()))?.with_schemes(&[scheme]);
        let is_loopback = address.is_some_and(|address| address.is_loopback());
        let is_remote = is_remote(choice, &host, is_loopback)?;
        // What stays on this machine or in its own network crosses no stranger's wire.
        let is_near = address.is_some_and(|address| special_use(address).is_some());
        Ok(Self {
            url: url.as_str().trim_end_matches('/').to_owned(),
            host,
            is_own: written == own,
            is_remote,
            is_clear: scheme == Scheme::Http && !is_near,
            policy,
        })
    }

    /// Refuses to send a key where everybody on the way could read it.
    pub(crate) fn admit_key(&self, variable: &str) -> Result<(), BadPlace> {
        if self.is_clear {
            let (variable, host) = (variable.to_owned(), self.host.clone());
            return Err(BadPlace::KeyInTheClear { variable, host });
        }
        Ok(())
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy.clone()
    }
}

/// Whether what a model is told leaves the machine: a task is believed when it says so,
/// and when it says otherwise only where the address shows it.
fn is_remote(choice: &ModelChoice, host: &str, is_loopback: bool) -> Result<bool, BadPlace> {
    let is_cloud = choice.format == Format::Ollama && choice.name.ends_with("cloud");
    match choice.whereabouts {
        Some(Whereabouts::Remote) => Ok(true),
        Some(Whereabouts::Local) if !is_loopback => Err(BadPlace::NotLocal { host: host.to_owned() }),
        Some(Whereabouts::Local) if is_cloud => Err(BadPlace::Cloud { model: choice.name.clone() }),
        Some(Whereabouts::Local) => Ok(false),
        // Ollama runs models where it is; any other server here may ask somebody else.
        None => Ok(!(is_loopback && choice.format == Format::Ollama) || is_cloud),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(format: Format, url: Option<&str>) -> ModelChoice {
        ModelChoice { base_url: url.map(str::to_owned), ..ModelChoice::of(format, "m") }
    }

    #[test]
    fn every_provider_has_a_place_and_only_the_local_one_is_local() {
        for format in Format::ALL {
            let place = Place::of(&choice(format, None)).unwrap();
            assert!(place.is_own && place.admit_key("K").is_ok());
            assert_eq!(place.is_remote, format != Format::Ollama, "{format:?}");
            assert!(place.policy().judge(&format!("{}/x", place.url)).is_ok());
            assert!(place.policy().judge("https://elsewhere.example/").is_err());
        }
    }

    #[test]
    fn local_is_believed_of_a_loopback_address_only() {
        let local = |url: &str| ModelChoice {
            whereabouts: Some(Whereabouts::Local),
            ..choice(Format::Openai, Some(url))
        };
        for url in ["http://127.0.0.1:8080/v1", "http://localhost:8080/v1", "http://[::1]:8080/v1"] {
            assert!(!Place::of(&local(url)).unwrap().is_remote, "{url}");
            assert!(Place::of(&choice(Format::Openai, Some(url))).unwrap().is_remote, "{url}");
        }
        for url in ["https://llm.example/v1", "http://10.0.0.7:8080/v1", "https://127.0.0.1.example/v1"] {
            assert!(matches!(Place::of(&local(url)), Err(BadPlace::NotLocal { .. })), "{url}");
        }
        let cloud = ModelChoice { name: "gpt-oss:120b-cloud".into(), ..choice(Format::Ollama, None) };
        assert!(Place::of(&cloud).unwrap().is_remote);
        let said = ModelChoice { whereabouts: Some(Whereabouts::Local), ..cloud };
        assert!(matches!(Place::of(&said), Err(BadPlace::Cloud { .. })));
    }

    #[test]
    fn a_key_goes_in_the_clear_to_nobody_far_away() {
        let admits =
            |url: &str| Place::of(&choice(Format::Openai, Some(url))).unwrap().admit_key("K").is_ok();
        assert!(
            admits("https://llm.example/v1")
                && admits("http://127.0.0.1:1/v1")
                && admits("http://10.0.0.7:1/v1")
        );
        assert!(!admits("http://llm.example/v1") && !admits("http://93.184.216.34/v1"));
    }

    #[test]
    fn what_is_no_address_is_named() {
        for url in ["ftp://x/", "https://", "http://a..b/"] {
            let bad = Place::of(&choice(Format::Openai, Some(url))).unwrap_err();
            assert!(matches!(bad, BadPlace::Address { .. }) && !bad.remedy().is_empty(), "{url}: {bad}");
        }
    }
}
