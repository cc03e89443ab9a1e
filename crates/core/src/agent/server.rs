//! A server whose tools an agent may use: what it is called, how it is reached,
//! and by what rules its tools run.
//!
//! What never happens here: a secret as a value. Secrets are named by where they
//! lie and looked up when the server is reached, so that a server can be written
//! into a journal, a log or a question to a person as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::guard::Effect;
use crate::tool::{Consent, Repeat, Touch};
use crate::undo::Undo;

/// Most words of a command.
pub const WORDS_MAX: usize = 64;
/// Most variables, headers, named tools or rules of one server.
pub const ENTRIES_MAX: usize = 256;
/// Longest word, value, name or address, in bytes.
pub const TEXT_MAX: usize = 8 * 1024;
/// Longest time a call may be given.
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// How long a call may take where nobody says otherwise.
pub const TIMEOUT_MS: u64 = 60_000;

/// Parts of names whose values are secrets wherever they are seen.
const SECRET_NAMES: [&str; 9] =
    ["auth", "token", "secret", "password", "passwd", "credential", "apikey", "cookie", "privatekey"];

/// What a server is called: the first half of its tools' names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ServerName(Box<str>);

impl ServerName {
    /// Longest name.
    pub const LEN_MAX: usize = 32;

    /// The only way in.
    pub fn parse(raw: &str) -> Result<Self, BadServer> {
        let fits = (1..=Self::LEN_MAX).contains(&raw.len());
        let clean =
            raw.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if fits && clean {
            Ok(Self(raw.into()))
        } else {
            Err(BadServer::Name { raw: raw.chars().take(80).collect() })
        }
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ServerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// A server, as a manifest declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!try_from, deny_unknown_fields))]
#[serde(try_from = "RawServer")]
pub struct Server {
    /// What it is called.
    pub name: ServerName,
    /// How it is reached.
    #[serde(flatten)]
    pub how: Reach,
    /// After this long a call to it is ended.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u64,
    /// Which of its tools the agent gets, by the server's own names; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What is known better than the server says, by its own names of the tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, ToolRules>,
}

fn timeout_ms() -> u64 {
    TIMEOUT_MS
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "transport", rename_all = "kebab-case")]
pub enum Reach {
    /// A program that is started and spoken to over its pipes.
    Stdio {
        /// Program and arguments.
        argv: Vec<String>,
        /// Its variables.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, Given>,
    },
    /// A service that is spoken to over HTTP.
    Http {
        /// Where it is.
        url: String,
        /// Sent with every request.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, Given>,
    },
}

/// A server as it is written. A key of neither way is refused, which `flatten` cannot do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    name: ServerName,
    transport: Transport,
    argv: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, Given>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Given>,
    #[serde(default = "timeout_ms")]
    timeout_ms: u64,
    tools: Option<Vec<String>>,
    #[serde(default)]
    rules: BTreeMap<String, ToolRules>,
}

/// The word that tells one way from the other.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    Stdio,
    Http,
}

impl TryFrom<RawServer> for Server {
    type Error = &'static str;

    fn try_from(raw: RawServer) -> Result<Self, Self::Error> {
        let RawServer { name, transport, argv, env, url, headers, timeout_ms, tools, rules } = raw;
        let how = match (transport, argv, url) {
            (Transport::Stdio, Some(argv), None) if headers.is_empty() => Reach::Stdio { argv, env },
            (Transport::Http, None, Some(url)) if env.is_empty() => Reach::Http { url, headers },
            (Transport::Stdio, ..) => {
                return Err("a server of transport stdio has argv and env, and no url or headers");
            }
            (Transport::Http, ..) => {
                return Err("a server of transport http has url and headers, and no argv or env");
            }
        };
        Ok(Self { name, how, timeout_ms, tools, rules })
    }
}

/// A value, or where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
pub enum Given {
    /// The value itself: anybody may read it.
    Text(String),
    /// A variable of our own environment.
    Variable {
        /// Its name.
        env: String,
        /// What stands before the secret, as in `Bearer `.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
    },
    /// A file; a line end at its end does not count.
    File {
        /// Its path.
        file: String,
        /// What stands before the secret.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
    },
}

/// Rules for one tool; what is left out is guessed from what the server says,
/// and where it says nothing the tool is taken for the worst.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolRules {
    /// What it does to the world: `read` or `exec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touch: Option<Touch>,
    /// What may be done in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// Whether a person is asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// What repeating a call means to the loop guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// After this long a call is ended, instead of the server's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How a call of it is undone; tools in it are named as the server does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Box<Undo>>,
}

/// A server that cannot be used as it is declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadServer {
    /// Not a name for a server.
    #[error("{raw:?} is not a server name: 1 to {} of a-z, 0-9 and -", ServerName::LEN_MAX)]
    Name {
        /// As written, cut short.
        raw: String,
    },
    /// No program to start.
    #[error("the server {server} has an empty command")]
    NoProgram {
        /// Which.
        server: ServerName,
    },
    /// A secret written down.
    #[error("the server {server} carries {entry} as a plain value, and that is a secret")]
    PlainSecret {
        /// Which.
        server: ServerName,
        /// The variable or header.
        entry: String,
    },
    /// Too many or too long.
    #[error("the server {server} has {what} beyond what is accepted ({max})")]
    TooMuch {
        /// Which.
        server: ServerName,
        /// Of what.
        what: &'static str,
        /// How much is accepted.
        max: u64,
    },
    /// A call that could never answer, or never end.
    #[error("the server {server} gives {what} {timeout_ms} ms; 1 to {TIMEOUT_MS_MAX} are accepted")]
    Timeout {
        /// Which.
        server: ServerName,
        /// A tool, or `calls`.
        what: String,
        /// As written.
        timeout_ms: u64,
    },
    /// No file of ours is changed by a foreign tool in a way we could undo.
    #[error(
        "the server {server} declares its tool {tool} to touch \"write\", which only file tools of our own do"
    )]
    Write {
        /// Which.
        server: ServerName,
        /// Its tool.
        tool: String,
    },
}

impl BadServer {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Name { .. } => "rename the server",
            Self::NoProgram { .. } => "write the program and its arguments as a list",
            Self::PlainSecret { .. } => {
                "name where it lies instead: { env = \"VARIABLE\" } or { file = \"PATH\" }"
            }
            Self::TooMuch { .. } => "declare less",
            Self::Timeout { .. } => "leave the time out, or choose one in that range",
            Self::Write { .. } => "write \"read\" if the tool only looks, \"exec\" otherwise",
        }
    }
}

impl Server {
    /// A server with nothing but a name and a way to it.
    #[must_use]
    pub fn new(name: ServerName, how: Reach) -> Self {
        Self { name, how, timeout_ms: TIMEOUT_MS, tools: None, rules: BTreeMap::new() }
    }

    /// Whether it can be used as it is declared; the first thing that is wrong.
    pub fn check(&self) -> Result<(), BadServer> {
        match &self.how {
            Reach::Stdio { argv, env } => {
                if argv.first().is_none_or(String::is_empty) {
                    return Err(BadServer::NoProgram { server: self.name.clone() });
                }
                self.bounded("words", argv.len(), WORDS_MAX)?;
                self.short("a word", argv)?;
                self.entries("variables", env)?;
            }
            Reach::Http { url, headers } => {
                self.short("an address", [url])?;
                self.entries("headers", headers)?;
            }
        }
        let named = self.tools.as_deref().unwrap_or_default();
        self.bounded("tools", named.len(), ENTRIES_MAX)?;
        self.bounded("rules", self.rules.len(), ENTRIES_MAX)?;
        self.short("a tool name", named.iter().chain(self.rules.keys()))?;
        self.timely("calls", self.timeout_ms)?;
        self.rules.iter().try_for_each(|(tool, rules)| self.ruled(tool, rules))
    }

    fn entries(&self, what: &'static str, given: &BTreeMap<String, Given>) -> Result<(), BadServer> {
        self.bounded(what, given.len(), ENTRIES_MAX)?;
        self.short("a name", given.keys())?;
        given.iter().try_for_each(|(name, value)| match value {
            Given::Text(_) if names_a_secret(name) => {
                Err(BadServer::PlainSecret { server: self.name.clone(), entry: name.clone() })
            }
            Given::Text(text) => self.short("a value", [text]),
            Given::Variable { env: place, prefix } | Given::File { file: place, prefix } => {
                self.short("a value", [place, prefix])
            }
        })
    }

    fn ruled(&self, tool: &str, rules: &ToolRules) -> Result<(), BadServer> {
        if rules.touch == Some(Touch::Write) {
            return Err(BadServer::Write { server: self.name.clone(), tool: tool.to_owned() });
        }
        rules.timeout_ms.map_or(Ok(()), |timeout_ms| self.timely(tool, timeout_ms))
    }

    fn timely(&self, what: &str, timeout_ms: u64) -> Result<(), BadServer> {
        if (1..=TIMEOUT_MS_MAX).contains(&timeout_ms) {
            return Ok(());
        }
        Err(BadServer::Timeout { server: self.name.clone(), what: what.to_owned(), timeout_ms })
    }

    fn short<'a>(
        &self,
        what: &'static str,
        texts: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), BadServer> {
        let longest = texts.into_iter().map(String::len).max().unwrap_or_default();
        self.bounded(what, longest, TEXT_MAX)
    }

    fn bounded(&self, what: &'static str, count: usize, max: usize) -> Result<(), BadServer> {
        if count <= max {
            return Ok(());
        }
        let max = u64::try_from(max).unwrap_or(u64::MAX);
        Err(BadServer::TooMuch { server: self.name.clone(), what, max })
    }
}

/// Whether a variable or header of this name carries a secret.
fn names_a_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    SECRET_NAMES.iter().any(|part| plain.contains(part))
}

#[cfg(test)]
mod tests;
