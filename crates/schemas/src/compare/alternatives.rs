//! Values that may be one of several things: which of the old things are still there.

use serde_json::{Map, Value};

use super::{Walk, What, kind, resolved};

/// What tells an alternative from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Tag {
    /// It is this value.
    Is(String),
    /// It is an object with this key, and only that one matters.
    Under(String),
    /// It is an object where this key has this value.
    Says(String, String),
    /// It is of this type.
    Of(String),
}

impl Tag {
    fn of(schema: &Map<String, Value>) -> Self {
        if let Some(constant) = schema.get("const") {
            return Self::Is(worded(constant));
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let said = properties.iter().find_map(|(key, said)| Some((key, said.get("const")?)));
            if let Some((key, constant)) = said {
                return Self::Says(key.clone(), worded(constant));
            }
            if let (1, Some(key)) = (properties.len(), properties.keys().next())
                && super::required(schema).contains(key.as_str())
            {
                return Self::Under(key.clone());
            }
        }
        Self::Of(kind(schema).to_owned())
    }

    /// A variant of an enumeration, not merely another type.
    fn is_variant(&self) -> bool {
        !matches!(self, Self::Of(_))
    }

    fn name(&self) -> String {
        match self {
            Self::Is(name) | Self::Under(name) | Self::Says(_, name) | Self::Of(name) => name.clone(),
        }
    }
}

fn worded(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The things a value may be, with references resolved; `None` if it may be only one.
pub(super) fn alternatives(root: &Value, schema: &Map<String, Value>) -> Option<Vec<Value>> {
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    if let Some(parts) = list("oneOf").or_else(|| list("anyOf")) {
        let each = |part: &Value| {
            let part = resolved(root, part);
            alternatives(root, &part).unwrap_or_else(|| vec![Value::Object(part)])
        };
        return Some(parts.iter().flat_map(each).collect());
    }
    if let Some(values) = list("enum") {
        let constant = |value: &Value| Map::from_iter([("const".to_owned(), value.clone())]);
        return Some(values.iter().map(|value| Value::Object(constant(value))).collect());
    }
    let of_kind = |kind: &Value| {
        let mut one = schema.clone();
        one.insert("type".into(), kind.clone());
        // `null` has no bounds, and says nothing about what the others mean.
        if kind == "null" {
            one.retain(|word, _| word == "type");
        }
        Value::Object(one)
    };
    list("type").map(|kinds| kinds.iter().map(of_kind).collect())
}

/// What is said beside the alternatives, and so of each of them.
pub(super) fn beside(schema: &Map<String, Value>) -> Map<String, Value> {
    if schema.get("type").is_some_and(Value::is_array) {
        return Map::new();
    }
    let is_union = ["oneOf", "anyOf", "enum"].iter().any(|word| schema.contains_key(*word));
    if !is_union {
        return Map::new();
    }
    let mut rest = schema.clone();
    rest.retain(|word, _| !["oneOf", "anyOf", "enum", "type"].contains(&word.as_str()));
    rest
}

/// An alternative and what tells it from the others.
type Tagged = (Tag, Map<String, Value>);

fn tagged(list: &[Value]) -> Vec<Tagged> {
    list.iter().filter_map(Value::as_object).map(|map| (Tag::of(map), map.clone())).collect()
}

impl Walk<'_> {
    pub(super) fn alternatives(&mut self, at: &str, olds: &[Value], news: &[Value]) {
        let (olds, news) = (tagged(olds), tagged(news));
        let pairs = self.pairs(at, &olds, &news);
        for (old, new) in &pairs {
            if let (Some((tag, old)), Some((_, new))) = (olds.get(*old), news.get(*new)) {
                self.plain(&inside(at, tag), old, new);
            }
        }
        let mut is_covered = false;
        for (place, old) in olds.iter().enumerate() {
            if pairs.iter().all(|(old, _)| *old != place) {
                is_covered |= self.missing(at, old, &news);
            }
        }
        let is_enumeration = olds.iter().any(|(tag, _)| tag.is_variant());
        let forms = olds.iter().filter(|(tag, _)| *tag == Tag::Of("object".into())).count();
        for (place, (tag, new)) in news.iter().enumerate() {
            let is_known = pairs.iter().any(|(_, new)| *new == place) || (is_covered && !tag.is_variant());
            let is_form = forms > 1 && *tag == Tag::Of("object".into());
            let is_variant = tag.is_variant() && is_enumeration && new.get("const") != Some(&Value::Null);
            if !(is_known || is_variant || is_form || self.direction.may_widen()) {
                let was = olds.iter().map(|(tag, _)| tag.name()).collect::<Vec<_>>().join(" or ");
                self.tell(at, What::Type(was, format!("also {}", tag.name())));
            }
        }
    }

    /// Which old alternative is which new one: those of one tag, the best fit first.
    fn pairs(&self, at: &str, olds: &[Tagged], news: &[Tagged]) -> Vec<(usize, usize)> {
        let mut fits = Vec::new();
        for (from, (tag, old)) in olds.iter().enumerate() {
            for (to, (_, new)) in news.iter().enumerate().filter(|(_, (other, _))| other == tag) {
                let mut tried = self.clone();
                tried.found.clear();
                tried.plain(at, old, new);
                fits.push((tried.found.len(), from, to));
            }
        }
        fits.sort_unstable();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (_, from, to) in fits {
            if pairs.iter().all(|(old, new)| *old != from && *new != to) {
                pairs.push((from, to));
            }
        }
        pairs
    }

    /// An old alternative without a new one of the same tag. Whether another one takes its values.
    fn missing(&mut self, at: &str, (tag, old): &Tagged, news: &[Tagged]) -> bool {
        let was = kind(old);
        let is_covered = news.iter().any(|(other, _)| match other {
            Tag::Of(kind) => kind == was || kind == "anything" || (kind == "number" && was == "integer"),
            Tag::Is(_) | Tag::Under(_) | Tag::Says(..) => false,
        });
        let narrows = !tag.is_variant() && self.direction.may_narrow();
        if (is_covered && self.direction.may_widen()) || narrows {
            return is_covered;
        }
        let what = if tag.is_variant() && !is_covered {
            What::VariantGone(tag.name())
        } else {
            let is = news.iter().map(|(tag, _)| tag.name()).collect::<Vec<_>>().join(" or ");
            What::Type(tag.name(), is)
        };
        self.tell(at, what);
        is_covered
    }
}

/// What is under a key of its own is found under it anyway.
fn inside(at: &str, tag: &Tag) -> String {
    match tag {
        Tag::Is(name) | Tag::Says(_, name) => format!("{at}/{name}"),
        Tag::Under(_) | Tag::Of(_) => at.to_owned(),
    }
}
