//! Keys: read from a variable when a model is opened, sent to its server, hidden
//! everywhere else. A value is never printed.

use std::collections::BTreeMap;
use std::fmt;

use bowline_core::agent::SecretRef;
use bowline_core::mask::Mask;
use bowline_tools::{BadSecret, Secrets};

/// A key, with the name of the variable it came from.
#[derive(Clone)]
pub struct Key {
    variable: String,
    value: String,
    mask: Mask,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl Key {
    /// The key in this variable.
    #[must_use]
    pub fn new(variable: &str, value: &str) -> Self {
        let mask = Mask::new([(variable, value)]);
        Self { variable: variable.to_owned(), value: value.to_owned(), mask }
    }

    /// Where it came from, which may be shown.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// A text without the key.
    pub(crate) fn hide(&self, text: String) -> String {
        self.mask.hide(text).text
    }
}

/// Where keys are.
pub trait Keys: Send + Sync {
    /// The key in this variable.
    fn key(&self, variable: &str) -> Result<Key, BadSecret>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Environment;

impl Keys for Environment {
    fn key(&self, variable: &str) -> Result<Key, BadSecret> {
        let place = SecretRef::Env(variable.to_owned());
        let secrets = Secrets::read(&BTreeMap::from([(variable.to_owned(), place)]))?;
        // What was read is there.
        Ok(Key::new(variable, secrets.value(variable).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hidden_and_never_printed() {
        let key = Key::new("SOME_KEY", "sk-0123456789");
        assert_eq!(key.hide("it was sk-0123456789".into()), "it was [secret SOME_KEY]");
        assert!(!format!("{key:?}").contains("sk-"));
    }

    #[test]
    fn a_variable_that_is_not_set_is_named_with_its_remedy() {
        let missing = Environment.key("BOWLINE_TEST_NO_SUCH_KEY").unwrap_err();
        assert!(missing.to_string().contains("BOWLINE_TEST_NO_SUCH_KEY is not set"), "{missing}");
        assert!(missing.remedy.contains("BOWLINE_TEST_NO_SUCH_KEY"));
    }
}
