//! Schemas of values that are not written as their type looks: names, hashes, amounts.
//!
//! Only with the feature `schema`. Every other type derives its schema from itself. What never happens
//! here: a rule that the reader of the value does not have; each schema is held against its reader by
//! a test.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::append_list::AppendList;
use crate::guard::Sketch;
use crate::guard::regulator::Cap;
use crate::id::{ActionId, RunId, SubtaskId, ToolName, WorkerId};
use crate::plan::Fact;
use crate::provenance::Digest;
use crate::untrusted::Mark;

/// A schema for texts of one form.
macro_rules! text {
    ($type:ty, $name:literal, $what:literal, $pattern:literal) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $what, "pattern": $pattern })
            }
        }
    };
}

text!(RunId, "RunId", "One execution of a task.", "^[A-Za-z0-9-]{1,64}$");
text!(SubtaskId, "SubtaskId", "A node of a plan.", "^[A-Za-z0-9_-]{1,64}$");
text!(ToolName, "ToolName", "A tool, as the model names it.", "^[A-Za-z0-9_.-]{1,64}$");
text!(WorkerId, "WorkerId", "A process that works on runs.", "^[A-Za-z0-9_.-]{1,128}$");
text!(
    ActionId,
    "ActionId",
    "A call: the letter a, the step that asked for it, a dot, its place in the reply.",
    "^a(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)$"
);
text!(Digest, "Digest", "A SHA-256 hash.", "^[0-9a-f]{64}$");
text!(Mark, "Mark", "A word nobody else knows, to tell our fence from an imitation.", "^[a-z0-9]{16,48}$");
text!(Sketch, "Sketch", "What a text is like, for telling similar ones.", "^[A-Za-z0-9_-]{64}$");

impl JsonSchema for Fact {
    fn schema_name() -> Cow<'static, str> {
        "Fact".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Something that holds or does not, in a few words on one line.",
            "minLength": 1,
            "maxLength": crate::plan::FACT_MAX,
        })
    }
}

/// A whole number, or the word that says there is no limit.
fn amount(most: u64) -> Schema {
    json_schema!({
        "description": "A whole number, or \"unlimited\".",
        "anyOf": [{ "type": "integer", "minimum": 0, "maximum": most }, { "const": crate::budget::word::WORD }],
    })
}

impl JsonSchema for Cap {
    fn schema_name() -> Cow<'static, str> {
        "Cap".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        amount(u64::MAX)
    }
}

/// How [`crate::budget`] writes an amount of 64 bits.
pub(crate) struct Amount;

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        amount(u64::MAX)
    }
}

/// How [`crate::budget`] writes an amount of 32 bits.
pub(crate) struct Count;

impl JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        amount(u64::from(u32::MAX))
    }
}

impl<T: JsonSchema> JsonSchema for AppendList<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{}", T::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::AppendList<{}>", module_path!(), T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}
