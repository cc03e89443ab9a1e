//! Names of things: validated once, trusted afterwards.
//!
//! Every type here has one way in (`parse` or a constructor that cannot fail);
//! code that holds one never re-checks it. Nothing here generates a name: chance
//! belongs to the shell.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a raw name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {raw:?} must be {rule}")]
pub struct BadName {
    /// What kind of name it was meant to be.
    pub what: &'static str,
    /// What was given (shortened).
    pub raw: String,
    /// What would have been accepted.
    pub rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal, $extra:literal, $rule:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// The only way in. Code that holds one never re-checks it.
            pub fn parse(raw: &str) -> Result<Self, BadName> {
                let fits = (1..=$max).contains(&raw.len());
                let clean = raw.bytes().all(|b| b.is_ascii_alphanumeric() || $extra.contains(&b));
                if fits && clean {
                    Ok(Self(raw.into()))
                } else {
                    Err(BadName { what: $what, raw: raw.chars().take(80).collect(), rule: $rule })
                }
            }

            /// A name made of chance: one letter or digit for each byte, which
            /// the caller has drawn.
            #[must_use]
            pub fn from_chance(drawn: &[u8]) -> Self {
                let letters: String = drawn.iter().take($max).map(|byte| letter(*byte)).collect();
                Self(if letters.is_empty() { "0".into() } else { letters.into() })
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let raw = String::deserialize(from)?;
                Self::parse(&raw).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// One of 32 characters that are hard to confuse.
fn letter(byte: u8) -> char {
    const LETTERS: [char; 32] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'j', 'k',
        'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'y', 'z',
    ];
    LETTERS.get(usize::from(byte % 32)).copied().unwrap_or('0')
}

name!(
    /// One execution of a task.
    RunId, "run id", 64, b"-", "1 to 64 of a-z, A-Z, 0-9 and -"
);
name!(
    /// A node of the plan.
    SubtaskId, "sub-task id", 64, b"_-", "1 to 64 of a-z, A-Z, 0-9, _ and -"
);
name!(
    /// A tool, as the model names it.
    ToolName, "tool name", 64, b"_.-", "1 to 64 of a-z, A-Z, 0-9, _, . and -"
);
name!(
    /// A process that works on runs.
    WorkerId, "worker id", 128, b"_.-", "1 to 128 of a-z, A-Z, 0-9, _, . and -"
);

/// A planned, identified side effect: one tool call of one reply.
///
/// It keeps its id over attempts, restarts and machines; the idempotency key is
/// derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionId {
    /// The step whose reply asked for it.
    pub step: u32,
    /// Its place in that reply.
    pub index: u16,
}

impl ActionId {
    /// Reads `a12.0`.
    pub fn parse(raw: &str) -> Result<Self, BadName> {
        let bad = || BadName {
            what: "action id",
            raw: raw.chars().take(80).collect(),
            rule: "the letter a, a step, a dot and an index, as in a12.0",
        };
        let (step, index) = raw.strip_prefix('a').and_then(|rest| rest.split_once('.')).ok_or_else(bad)?;
        let canonical = |text: &str| !text.starts_with('+') && (text == "0" || !text.starts_with('0'));
        if !canonical(step) || !canonical(index) {
            return Err(bad());
        }
        Ok(Self { step: step.parse().map_err(|_| bad())?, index: index.parse().map_err(|_| bad())? })
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}.{}", self.step, self.index)
    }
}

impl Serialize for ActionId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ActionId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        Self::parse(&raw).map_err(serde::de::Error::custom)
    }
}

/// Wall-clock time in milliseconds since 1970, as the shell saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    /// This moment plus a duration; saturates instead of wrapping.
    #[must_use]
    pub fn plus(self, duration_ms: u64) -> Self {
        Self(self.0.saturating_add(duration_ms))
    }

    /// How long after `earlier` this is; zero if the clock went backwards.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_id_reads_what_it_writes_and_nothing_else() {
        let action = ActionId { step: 12, index: 3 };
        assert_eq!(ActionId::parse(&action.to_string()), Ok(action));
        for bad in
            ["", "a", "a1", "12.3", "a1.", "a.1", "a01.2", "a1.02", "a+1.2", "a1.2.3", "a99999999999.0"]
        {
            assert!(ActionId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_with_a_path_or_a_space_in_it_is_refused() {
        for bad in ["", "../x", "a b", "a/b", "é"] {
            assert!(RunId::parse(bad).is_err(), "{bad}");
            assert!(ToolName::parse(bad).is_err(), "{bad}");
        }
        assert!(ToolName::parse(&"x".repeat(65)).is_err());
        assert!(ToolName::parse("files.read-2_b").is_ok());
    }

    #[test]
    fn a_bad_name_does_not_enter_through_serde_either() {
        assert!(serde_json::from_str::<RunId>("\"a/b\"").is_err());
        assert!(serde_json::from_str::<ActionId>("\"a1\"").is_err());
    }
}
