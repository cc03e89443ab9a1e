//! Keys of JSON objects are texts, which a [`Subject`] is not: pairs instead.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serializer};

use super::{Approval, Subject};

pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Subject, Approval>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(map)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<Subject, Approval>, D::Error> {
    Vec::<(Subject, Approval)>::deserialize(from).map(BTreeMap::from_iter)
}
