//! Secrets: read from where they lie when a server is reached, and taken out of
//! whatever the server says afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;

use bowline_core::agent::server::{Given, Reach, Server, ServerName};
use bowline_core::mask::Mask;
use bowline_core::untrusted::outgoing::SECRET_MIN;

use serde_json::Value;

use crate::error::McpError;
use crate::limits::SECRET_BYTES_MAX;

/// It could not be told from ordinary text, so it could not be masked.
const TOO_SHORT: &str = "it has fewer than 8 bytes, which cannot be masked";

/// What all of them are called.
const NAME: &str = "of the server";

/// Values that must not be shown. Never printed.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// The same for a value of JSON.
    pub(crate) fn mask_json(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        let text = value.to_string();
        let masked = self.mask(&text);
        // What cannot be read any more was mostly secret.
        if masked == text { value } else { serde_json::from_str(&masked).unwrap_or_default() }
    }

    /// The text without them, in every notation they turn up in by accident.
    pub(crate) fn mask(&self, text: &str) -> String {
        Mask::new(self.0.iter().map(|secret| (NAME, secret.as_str()))).hide(text.to_owned()).text
    }
}

/// Looks every value up. The secrets among them are also given by themselves.
pub(crate) fn resolve(
    server: &Server,
    given: &BTreeMap<String, Given>,
) -> Result<(Vec<(String, String)>, Secrets), McpError> {
    let mut secrets = Secrets::default();
    let mut values = Vec::with_capacity(given.len());
    for (name, given) in given {
        let (prefix, secret) = match given {
            Given::Text(text) => {
                values.push((name.clone(), text.clone()));
                continue;
            }
            Given::Variable { env, prefix } => (prefix, variable(&server.name, env)?),
            Given::File { file, prefix } => (prefix, content(&server.name, file)?),
        };
        values.push((name.clone(), format!("{prefix}{secret}")));
        secrets.0.push(secret);
    }
    Ok((values, secrets))
}

/// The secrets of a server by what they are called, for whoever must hide them
/// wherever they turn up. Blocks on files.
pub fn secrets_of(server: &Server) -> Result<Vec<(String, String)>, McpError> {
    let given = match &server.how {
        Reach::Stdio { env, .. } => env,
        Reach::Http { headers, .. } => headers,
    };
    let mut found = Vec::new();
    for (name, given) in given {
        let secret = match given {
            Given::Text(_) => continue,
            Given::Variable { env, .. } => variable(&server.name, env)?,
            Given::File { file, .. } => content(&server.name, file)?,
        };
        found.push((format!("{name} of {}", server.name), secret));
    }
    Ok(found)
}

fn variable(server: &ServerName, name: &str) -> Result<String, McpError> {
    let missing = |why: &str| McpError::Secret {
        server: server.clone(),
        place: format!("the variable {name}"),
        why: why.to_owned(),
    };
    match std::env::var(name) {
        Ok(value) if value.len() < SECRET_MIN => Err(missing(TOO_SHORT)),
        Ok(value) => Ok(value),
        Err(std::env::VarError::NotPresent) => Err(missing("it is not set")),
        Err(std::env::VarError::NotUnicode(_)) => Err(missing("it is no text")),
    }
}

fn content(server: &ServerName, path: &str) -> Result<String, McpError> {
    let missing =
        |why: String| McpError::Secret { server: server.clone(), place: format!("the file {path}"), why };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| missing(error.to_string()))?;
    let read = file.take(SECRET_BYTES_MAX + 1).read_to_string(&mut text);
    let read = read.map_err(|error| missing(error.to_string()))?;
    if u64::try_from(read).is_ok_and(|read| read > SECRET_BYTES_MAX) {
        return Err(missing(format!("it has more than {SECRET_BYTES_MAX} bytes")));
    }
    let value = text.trim_end_matches(['\r', '\n']);
    if value.len() < SECRET_MIN { Err(missing(TOO_SHORT.to_owned())) } else { Ok(value.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(given: Given) -> Result<(Vec<(String, String)>, Secrets), McpError> {
        let how = Reach::Stdio { argv: vec!["x".into()], env: BTreeMap::new() };
        let server = Server::new(ServerName::parse("a").unwrap(), how);
        resolve(&server, &BTreeMap::from([("NAME".to_owned(), given)]))
    }

    #[test]
    fn a_secret_is_read_where_it_lies_and_taken_out_of_what_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "s3cr3t\"value\n").unwrap();
        let file = path.to_str().unwrap().to_owned();
        let (values, secrets) = look_up(Given::File { file, prefix: "Bearer ".into() }).unwrap();
        assert_eq!(values, [("NAME".into(), "Bearer s3cr3t\"value".into())]);
        assert_eq!(
            secrets.mask("got s3cr3t\"value, {\"a\":\"s3cr3t\\\"value\"}"),
            "got [secret of the server], {\"a\":\"[secret of the server]\"}"
        );
        assert!(!format!("{secrets:?}").contains("s3cr3t"));
    }

    #[test]
    fn a_secret_that_is_not_there_is_told_by_its_place() {
        for given in [
            Given::Variable { env: "BOWLINE_NO_SUCH_VARIABLE".into(), prefix: String::new() },
            Given::File { file: "no/such/file".into(), prefix: String::new() },
        ] {
            let told = look_up(given).unwrap_err().to_string();
            assert!(told.contains("BOWLINE_NO_SUCH_VARIABLE") || told.contains("no/such/file"), "{told}");
        }
        assert_eq!(look_up(Given::Text("plain".into())).unwrap().0, [("NAME".into(), "plain".into())]);
    }
}
