//! Lines about what a conversation has no room for.

use crate::event::{ContextBound, ContextFull, Elided, MessagePart};

/// One line about parts that are left out.
pub(super) fn line(what: &Elided) -> String {
    let Elided { subtask, model, before, after, room, parts } = what;
    let count = |is: fn(&MessagePart) -> bool| parts.iter().filter(|part| is(&part.what)).count();
    let kinds = [
        (count(|what| matches!(what, MessagePart::Output)), "outputs of tools"),
        (count(|what| matches!(what, MessagePart::Words)), "texts of the model"),
        (count(|what| matches!(what, MessagePart::Args(_))), "arguments of calls"),
    ];
    let named = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{name} {count}"));
    let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
    format!(
        "{subtask}: left out to fit {model}: {} ({bytes} bytes); about {before} tokens become {after} of {room}",
        named.collect::<Vec<_>>().join(", ")
    )
}

/// What does not fit, and who says so.
pub(super) fn full(full: &ContextFull) -> String {
    let ContextFull { subtask, model, wanted, opening, last, room, answer, by } = full;
    let by = match by {
        ContextBound::Task => "the task's context_tokens",
        ContextBound::Model => "what the model takes",
        ContextBound::Nobody => "what is taken for granted, as the model does not say what it takes",
    };
    format!(
        "{subtask} does not fit {model}: about {wanted} tokens, of them {opening} the opening and {last} the last \
         exchange, and {room} fit besides {answer} for the answer, by {by}"
    )
}
