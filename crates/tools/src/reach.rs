//! What the calls of a run may reach over the network: hosts the task grants,
//! through the one gate of [`bowline_net`], or nothing.
//!
//! A run without granted hosts has no client, and a sovereign one has none either,
//! whatever hosts are granted: there is nothing that could open a connection.

use std::fmt;
use std::sync::Arc;

use bowline_core::agent::privacy::Privacy;
use bowline_core::task::{self, Task};
use bowline_net::{
    BadPolicy, BadTrust, Fetch, FetchError, FetchLimits, Gate, Policy, Refusal, Request, Response, Scheme,
    Tier, Trust, Waits,
};

/// What a run may reach. Cheap to clone.
#[derive(Clone)]
pub struct Reach(Arc<Way>);

enum Way {
    /// Nothing was granted.
    Nothing,
    /// Nothing leaves the machine, whatever was granted.
    Sovereign,
    /// Through this gate.
    Granted { client: Box<Fetch>, loopback: bool },
}

/// A grant that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadReach {
    /// An entry, or all of them together.
    #[error("network.{0}")]
    Hosts(#[from] BadPolicy),
    /// Nobody could be trusted.
    #[error(transparent)]
    Trust(#[from] BadTrust),
    /// The tier.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl BadReach {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Hosts(bad) => bad.remedy(),
            Self::Trust(bad) => bad.remedy(),
            Self::Refused(refusal) => refusal.remedy(),
        }
    }
}

impl Reach {
    /// What a task grants. Every entry is checked, also where none is used.
    pub fn of(task: &Task) -> Result<Self, BadReach> {
        let policy = policy(&task.network, task.privacy)?;
        if !task.privacy.lets_out() {
            return Ok(Self(Arc::new(Way::Sovereign)));
        }
        if !task.network.is_granted() {
            return Ok(Self::nothing());
        }
        let gate = Gate::open(policy, Waits::default())?;
        let client = Fetch::new(gate, FetchLimits::default(), Trust::public())?;
        let is_loopback = |host: &String| host.starts_with("127.") || host.starts_with("[::1]");
        let loopback = task.network.hosts.iter().any(is_loopback);
        Ok(Self(Arc::new(Way::Granted { client: Box::new(client), loopback })))
    }

    /// Nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Arc::new(Way::Nothing))
    }

    /// The gate that everything of the run goes through; `None` where nothing gets out.
    #[must_use]
    pub fn gate(&self) -> Option<&Gate> {
        match &*self.0 {
            Way::Nothing | Way::Sovereign => None,
            Way::Granted { client, .. } => Some(client.gate()),
        }
    }

    /// Whether a service of this machine is granted: programs must then ask the
    /// proxy for it too, instead of their own loopback.
    pub(crate) fn grants_loopback(&self) -> bool {
        match &*self.0 {
            Way::Nothing | Way::Sovereign => false,
            Way::Granted { loopback, .. } => *loopback,
        }
    }

    /// Sends a request within these limits and gives back the head of the answer.
    pub(crate) async fn send(&self, request: Request, limits: FetchLimits) -> Result<Response, FetchError> {
        match &*self.0 {
            Way::Sovereign => Err(Refusal::Sovereign.into()),
            Way::Nothing => Err(refused_by_nothing(&request).into()),
            Way::Granted { client, .. } => client.within(limits).send(request).await,
        }
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &*self.0 {
            Way::Nothing => "Reach(nothing)",
            Way::Sovereign => "Reach(sovereign)",
            Way::Granted { .. } => "Reach(granted hosts)",
        })
    }
}

/// The words of a policy without entries, which name the host.
fn refused_by_nothing(request: &Request) -> Refusal {
    let empty = Policy::new::<&str>(Tier::Standard, &[]);
    let refused = empty.ok().and_then(|policy| policy.judge(request.url()).err());
    // An empty policy can be made, and allows nothing.
    refused.unwrap_or(Refusal::Sovereign)
}

fn policy(network: &task::Network, privacy: Privacy) -> Result<Policy, BadPolicy> {
    let tier = match privacy {
        Privacy::Standard => Tier::Standard,
        Privacy::Private => Tier::Private,
        Privacy::Sovereign => Tier::Sovereign,
    };
    let mut policy = Policy::new(tier, &network.hosts)?;
    if !network.schemes.is_empty() {
        let scheme = |scheme: &task::Scheme| match scheme {
            task::Scheme::Http => Scheme::Http,
            task::Scheme::Https => Scheme::Https,
        };
        policy = policy.with_schemes(&network.schemes.iter().map(scheme).collect::<Vec<_>>());
    }
    if network.ports.is_empty() { Ok(policy) } else { policy.with_ports(&network.ports) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reach(network: serde_json::Value, privacy: &str) -> Result<Reach, BadReach> {
        let raw = json!({"goal": "x", "model": "a:b", "network": network, "privacy": privacy});
        Reach::of(&task::parse(&raw).unwrap())
    }

    async fn said(reach: &Reach, url: &str) -> String {
        match reach.send(Request::get(url), FetchLimits::default()).await {
            Ok(_) => panic!("{url} was reached"),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn without_hosts_every_host_is_named_as_not_allowed() {
        let none = reach(json!({}), "standard").unwrap();
        assert_eq!(said(&none, "https://a.example/").await, "a.example is not in allowed_hosts");
        assert!(none.gate().is_none());
        let other = reach(json!({"hosts": ["b.example"]}), "private").unwrap();
        assert_eq!(said(&other, "https://a.example/").await, "a.example is not in allowed_hosts");
    }

    #[tokio::test]
    async fn a_sovereign_run_has_no_client_whatever_is_granted() {
        let sovereign = reach(json!({"hosts": ["*", "127.0.0.1:80"]}), "sovereign").unwrap();
        assert!(said(&sovereign, "http://127.0.0.1/").await.contains("sovereign"));
        assert!(sovereign.gate().is_none() && !sovereign.grants_loopback());
    }

    #[test]
    fn an_entry_that_makes_no_sense_is_named() {
        for (hosts, named) in [("a..b", "a..b"), ("localhost", "localhost"), ("10.0.0.1", "10.0.0.1")] {
            let bad = reach(json!({"hosts": [hosts]}), "sovereign").unwrap_err();
            assert!(bad.to_string().contains(named) && !bad.remedy().is_empty(), "{bad}");
        }
    }

    #[tokio::test]
    async fn schemes_and_ports_of_the_task_are_those_of_the_gate() {
        let narrow =
            reach(json!({"hosts": ["a.example"], "schemes": ["https"], "ports": [8443]}), "standard");
        let narrow = narrow.unwrap();
        assert!(said(&narrow, "http://a.example/").await.contains("\"http\" is not allowed"));
        assert!(said(&narrow, "https://a.example/").await.contains("port 443"));
    }
}
