//! Amounts as journals and people write them: a number, or the word `unlimited`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

use super::{Limit, UNLIMITED};

/// How an amount without a bound is written.
pub(crate) const WORD: &str = "unlimited";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn serialize<S: Serializer>(kept: &u64, to: S) -> Result<S::Ok, S::Error> {
    if *kept == UNLIMITED { to.serialize_str(WORD) } else { to.serialize_u64(*kept) }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    struct Amount;

    impl Visitor<'_> for Amount {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a whole number or {WORD:?}")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
            Ok(number)
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<u64, E> {
            if word == WORD {
                Ok(UNLIMITED)
            } else {
                Err(E::invalid_value(serde::de::Unexpected::Str(word), &self))
            }
        }
    }

    from.deserialize_any(Amount)
}

/// The same for counts.
pub(super) mod count {
    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    use crate::budget::{UNLIMITED, UNLIMITED_COUNT, wide};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(in crate::budget) fn serialize<S: Serializer>(kept: &u32, to: S) -> Result<S::Ok, S::Error> {
        super::serialize(&wide(*kept), to)
    }

    pub(in crate::budget) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        match super::deserialize(from)? {
            UNLIMITED => Ok(UNLIMITED_COUNT),
            number => u32::try_from(number).map_err(|_| D::Error::custom("a count beyond 32 bits")),
        }
    }
}

/// The same for counts by tool.
pub(super) mod counts {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::id::ToolName;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Count(#[serde(with = "super::count")] u32);

    pub(in crate::budget) fn serialize<S: Serializer>(
        kept: &BTreeMap<ToolName, u32>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_map(kept.iter().map(|(name, most)| (name, Count(*most))))
    }

    pub(in crate::budget) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<ToolName, u32>, D::Error> {
        let read = BTreeMap::<ToolName, Count>::deserialize(from)?;
        Ok(read.into_iter().map(|(name, most)| (name, most.0)).collect())
    }
}

/// An amount of a limit as a task file and `--raise` write it.
#[must_use]
pub fn amount(limit: &Limit, kept: u64) -> String {
    if kept == UNLIMITED {
        return WORD.into();
    }
    match limit {
        Limit::Money => {
            let decimals = format!("{:06}", kept % 1_000_000);
            let decimals = decimals.trim_end_matches('0');
            let point = if decimals.is_empty() { "" } else { "." };
            format!("{}{point}{decimals}", kept / 1_000_000)
        }
        Limit::ActiveTime | Limit::RepairTime => kept.div_ceil(1000).to_string(),
        Limit::Steps
        | Limit::ToolCalls
        | Limit::Tokens
        | Limit::Repairs
        | Limit::RepairShare
        | Limit::Context
        | Limit::TreeSteps
        | Limit::Depth
        | Limit::AgentsAlive
        | Limit::Agents
        | Limit::Tool(_) => kept.to_string(),
    }
}
