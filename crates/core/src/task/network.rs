//! The `[network]` of a task file: what may be reached, as texts.
//!
//! Entries are judged by their form here; what they mean is for the network gate
//! to say, which refuses the task before it starts if an entry makes no sense.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::field::{Field, Table};
use super::limits::Bound;
use super::problem::quoted;
use crate::agent::privacy::Privacy;

/// The keys of `[network]`.
pub(super) const KEYS: [&str; 3] = ["hosts", "schemes", "ports"];

/// Most entries of `hosts`.
const HOSTS_MAX: usize = 1024;
/// Longest entry, in bytes: a name has at most 253.
const HOST_MAX: usize = 300;
/// Most entries of `ports`.
const PORTS_MAX: usize = 64;

/// What a task may reach over the network. Nothing, unless it says so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Names, `*.zones`, addresses, or `*` for any public host; each with an optional port.
    pub hosts: Vec<String>,
    /// How hosts may be spoken to; empty: http and https.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<Scheme>,
    /// Ports of entries that name none; empty: those of the schemes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
}

impl Network {
    /// Whether anything may be reached.
    #[must_use]
    pub fn is_granted(&self) -> bool {
        !self.hosts.is_empty()
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a host is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

pub(super) fn read(table: &Table<'_>, privacy: Privacy) -> Network {
    let items = |key: &str, most| table.get(key).and_then(|field| field.list(most)).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let hosts = items("hosts", HOSTS_MAX);
    let hosts = hosts.iter().filter_map(|item| host(item, privacy, &mut seen)).collect();
    let words = [("http", Scheme::Http), ("https", Scheme::Https)];
    let mut schemes: Vec<_> =
        items("schemes", words.len()).iter().filter_map(|item| item.one_of(&words)).collect();
    schemes.sort_unstable();
    schemes.dedup();
    if let Some(field) = table.get("schemes").filter(|_| schemes.is_empty()) {
        field.wrong("no scheme is left", "write [\"https\"], or leave the key out for both");
    }
    let port = Bound::count("ports", 1, u64::from(u16::MAX));
    let ports = items("ports", PORTS_MAX);
    let ports = ports.iter().filter_map(|item| u16::try_from(item.amount(&port)?).ok()).collect();
    Network { hosts, schemes, ports }
}

fn host<'a>(field: &Field<'a>, privacy: Privacy, seen: &mut BTreeSet<&'a str>) -> Option<String> {
    let text = field.text(HOST_MAX)?;
    let strange = |c: char| c.is_control() || c.is_whitespace() || "/\\?#@%".contains(c);
    let bare = text.strip_prefix("*.").unwrap_or(text);
    let is_any = text == "*" || text.starts_with("*:");
    if text.contains(strange) || (bare.contains('*') && !is_any) {
        field.wrong(
            format!("{} is no host", quoted(text)),
            "write a name, *.zone, an address or *, each with an optional :port and nothing else",
        );
        return None;
    }
    if is_any && privacy == Privacy::Private {
        field.wrong(
            "`*` is no declared host, and privacy is \"private\"",
            "list the hosts by name, or choose \"standard\"",
        );
    }
    if !seen.insert(text) {
        field.wrong(format!("{} is named twice", quoted(text)), "name it once");
    }
    Some(text.to_owned())
}
