//! Secrets of an agent: read from where the manifest says, handed to programs and
//! servers that are named for them, and masked in everything a run stores.
//!
//! A value is never printed, logged or put into an error.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::sync::Arc;

use bowline_core::agent::SecretRef;
use bowline_core::mask::Mask;
use bowline_core::untrusted::outgoing::{SECRET_MIN, Secret};

/// Longest secret, in bytes.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// The secrets of a run. Cheap to clone.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Held>);

#[derive(Default)]
struct Held {
    /// What programs may be given.
    values: BTreeMap<String, String>,
    /// What nobody is given here, and is hidden all the same.
    hidden: BTreeMap<String, String>,
    mask: Mask,
}

impl Held {
    fn new(values: BTreeMap<String, String>, hidden: BTreeMap<String, String>) -> Self {
        let all = values.iter().chain(&hidden);
        let mask = Mask::new(all.map(|(name, value)| (name.as_str(), value.as_str())));
        Self { values, hidden, mask }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.values.keys().chain(self.0.hidden.keys())).finish()
    }
}

/// A secret that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret {name} {what}")]
pub struct BadSecret {
    /// Which.
    pub name: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Secrets {
    /// Reads every secret. Blocks on files.
    pub fn read(places: &BTreeMap<String, SecretRef>) -> Result<Self, BadSecret> {
        let mut values = BTreeMap::new();
        for (name, place) in places {
            let bad = |(what, remedy): (String, String)| BadSecret { name: name.clone(), what, remedy };
            values.insert(name.clone(), value(place).map_err(bad)?);
        }
        Ok(Self(Arc::new(Held::new(values, BTreeMap::new()))))
    }

    /// The same, with values that are hidden too and given to no program, by name.
    #[must_use]
    pub fn hiding(self, hidden: impl IntoIterator<Item = (String, String)>) -> Self {
        let hidden = self.0.hidden.clone().into_iter().chain(hidden).collect();
        Self(Arc::new(Held::new(self.0.values.clone(), hidden)))
    }

    /// The value of a secret, for a program that is named for it.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.values.get(name).map(String::as_str)
    }

    /// What hides them.
    #[must_use]
    pub fn mask(&self) -> &Mask {
        &self.0.mask
    }

    /// All of them, to be looked for in what would leave.
    #[must_use]
    pub fn all(&self) -> Vec<Secret<'_>> {
        let all = self.0.values.iter().chain(&self.0.hidden);
        all.map(|(name, value)| Secret { name, value }).collect()
    }
}

fn value(place: &SecretRef) -> Result<String, (String, String)> {
    let (value, place) = match place {
        SecretRef::Env(name) => {
            let missing = (
                format!("is not there: the variable {name} is not set"),
                format!("set {name} in the environment of bowline"),
            );
            (std::env::var(name).map_err(|_| missing)?, format!("the variable {name}"))
        }
        SecretRef::File(path) => {
            let unreadable = |error: std::io::Error| {
                let remedy = "put it there, readable by this user alone".to_owned();
                (format!("is not there: cannot read {path}: {error}"), remedy)
            };
            let mut text = String::new();
            let file = std::fs::File::open(path).map_err(unreadable)?;
            file.take(SECRET_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
            if text.len() as u64 > SECRET_BYTES_MAX {
                let what = format!("is too long: {path} holds more than {SECRET_BYTES_MAX} bytes");
                return Err((what, "name a file that holds the secret alone".into()));
            }
            (text.trim_end_matches(['\r', '\n']).to_owned(), format!("the file {path}"))
        }
    };
    if value.len() < SECRET_MIN {
        return Err((
            format!("is too short: {place} holds fewer than {SECRET_MIN} bytes"),
            "use a longer one: a short one cannot be told from ordinary text, so it could not be masked"
                .into(),
        ));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(place: SecretRef) -> Result<Secrets, BadSecret> {
        Secrets::read(&BTreeMap::from([("TOKEN".to_owned(), place)]))
    }

    #[test]
    fn a_secret_is_read_from_its_file_without_the_last_line_end_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "hunter2-hunter2\r\n").unwrap();
        let secrets = read(SecretRef::File(path.display().to_string())).unwrap();
        assert_eq!(secrets.value("TOKEN"), Some("hunter2-hunter2"));
        assert_eq!(secrets.value("OTHER"), None);
        assert_eq!(secrets.mask().hide("a hunter2-hunter2".into()).text, "a [secret TOKEN]");
        assert!(!format!("{secrets:?}").contains("hunter2"));
    }

    #[test]
    fn what_is_hidden_besides_is_masked_and_given_to_nobody() {
        let hidden = [("KEY of issues".to_owned(), "correct horse".to_owned())];
        let secrets = Secrets::default().hiding(hidden);
        assert_eq!(secrets.mask().hide("a correct horse".into()).text, "a [secret KEY of issues]");
        assert_eq!(secrets.value("KEY of issues"), None);
        assert_eq!(secrets.all().len(), 1, "and looked for in what would leave");
        assert!(!format!("{secrets:?}").contains("horse"));
    }

    #[test]
    fn a_secret_that_is_missing_or_too_short_is_refused_by_name() {
        let missing = read(SecretRef::Env("BOWLINE_TEST_NO_SUCH_VARIABLE".into())).unwrap_err();
        assert!(missing.to_string().contains("the secret TOKEN is not there"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "1234\n").unwrap();
        let short = read(SecretRef::File(path.display().to_string())).unwrap_err();
        assert!(short.to_string().contains("too short") && !short.to_string().contains("1234"), "{short}");
    }
}
