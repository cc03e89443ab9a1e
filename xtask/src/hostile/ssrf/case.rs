//! A case, as it stands in the file. A field nobody knows fails the case: what is
//! not understood was not tested.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Result, bail};
use bowline_net::double::{Answer, Play};
use bowline_net::{BadPolicy, Policy, Tier};
use serde::Deserialize;

/// One line of the set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(rename = "id")]
    _id: String,
    #[serde(rename = "class")]
    _class: String,
    #[serde(rename = "why")]
    _why: String,
    #[cfg_attr(not(test), expect(dead_code, reason = "compared by a test, not by the verdict"))]
    #[serde(default)]
    pub(super) reason: String,
    policy: String,
    pub(super) input: String,
    pub(super) expect: Verdict,
    #[serde(default)]
    pub(super) dns: BTreeMap<String, Dns>,
    #[serde(default)]
    pub(super) redirects: Vec<String>,
    pub(super) connect_to: Option<IpAddr>,
    #[serde(default)]
    pub(super) assert_no_dns: bool,
    #[serde(default)]
    pub(super) assert_no_socket: bool,
    #[serde(default)]
    pub(super) assert_no_header: Vec<String>,
    pub(super) max_lookups: Option<usize>,
    pub(super) then: Option<String>,
    pub(super) then_expect: Option<Verdict>,
    pub(super) resolv_conf: Option<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    #[serde(default)]
    server: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) method: Option<String>,
}

/// What should happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Allow,
    Deny,
}

/// What a name resolves to.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Dns {
    /// The same every time.
    Always(Vec<IpAddr>),
    /// One after another.
    InTurn(Vec<Vec<IpAddr>>),
    /// Not at all.
    Word(String),
}

impl Dns {
    pub(super) fn answers(&self) -> Vec<Answer> {
        match self {
            Self::Always(addresses) => vec![Answer::Addresses(addresses.clone())],
            Self::InTurn(turns) => turns.iter().cloned().map(Answer::Addresses).collect(),
            Self::Word(word) if word == "TIMEOUT" => vec![Answer::Silent],
            Self::Word(_) => vec![Answer::Fails],
        }
    }
}

impl Case {
    /// The policy the case names.
    pub(super) fn policy(&self) -> Result<Policy> {
        let listed = ["api.example.com", "*.cdn.example.net", "xn--bcher-kva.example"];
        let policy: Result<Policy, BadPolicy> = match self.policy.as_str() {
            "P1-list" => Policy::new(Tier::Standard, &listed),
            "P2-star" => Policy::new(Tier::Standard, &["*"]),
            "P3-sovereign" => Policy::new(Tier::Sovereign, &["*"]),
            "P4-local" => Policy::new(Tier::Private, &["127.0.0.1:8080"]),
            other => bail!("there is no policy {other:?}"),
        };
        Ok(policy?)
    }

    /// What the server does, request after request.
    pub(super) fn plays(&self) -> Result<Vec<Play>> {
        if let Some(word) = self.server.keys().next() {
            return Ok(vec![match word.as_str() {
                "endless" => Play::Endless,
                "slow" => Play::Slow,
                "silent" | "hang" => Play::Silent,
                "bomb" | "gzip_bomb" | "inflate" => Play::Inflating,
                other => bail!("no server can be {other:?}"),
            }]);
        }
        let ends = Play::Body("fine".into());
        let moves: Vec<Play> = self.redirects.iter().cloned().map(Play::Redirect).collect();
        // A way that leads back to its start has no end.
        let path = self.input.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap_or_default();
        match self.redirects.last() {
            Some(last) if *last == path => Ok(moves.iter().cloned().cycle().take(1000).collect()),
            _ => Ok(moves.into_iter().chain([ends]).collect()),
        }
    }
}
