//! What the harness itself reads in an exported journal: what waits for a
//! person, and whether everything a process showed was durable.
//!
//! It believes nothing else of it; judging the journal is the checker's work.

use std::collections::BTreeMap;

use serde_json::Value;

/// Something only a person can answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// May this be done or delivered?
    Approve {
        /// An action, or `output`.
        subject: String,
    },
    /// Did this call happen?
    Settle {
        /// Which.
        action: String,
    },
}

/// The events of an exported journal, with their numbers.
#[must_use]
pub fn events(journal: &str) -> Vec<(u64, Value)> {
    let mut events = Vec::new();
    for record in journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let first = record.get("seq").and_then(Value::as_u64).unwrap_or(0);
        let of_record = record.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
        events.extend((first..).zip(of_record));
    }
    events
}

/// What a run was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Inside {
    /// Its work, or nothing.
    Work,
    /// Undoing what it did before it fails.
    Rollback,
    /// Being undone for a person.
    Undo,
}

impl Inside {
    /// What people call it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Work => "at work",
            Self::Rollback => "in a rollback",
            Self::Undo => "in a person's undo",
        }
    }
}

/// What a run was at before this event.
#[must_use]
pub fn inside(events: &[(u64, Value)], before: u64) -> Inside {
    let mut now = Inside::Work;
    for (_, event) in events.iter().take_while(|(seq, _)| *seq < before) {
        now = match kind(event) {
            "rollback_started" => Inside::Rollback,
            "undo_started" => Inside::Undo,
            "ended" | "undo_finished" => Inside::Work,
            _ => now,
        };
    }
    now
}

/// The first event that a process showed.
#[must_use]
pub fn first_shown(printed: &str) -> Option<u64> {
    let lines = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line.get("event").is_some()).find_map(|line| line.get("seq").and_then(Value::as_u64))
}

/// How many events are of this kind, and `holds`.
#[must_use]
pub fn count(events: &[(u64, Value)], of: &str, holds: impl Fn(&Value) -> bool) -> u64 {
    events.iter().filter_map(|(_, event)| event.get(of)).filter(|body| holds(body)).count() as u64
}

/// Whether the last record of an exported journal, or, where the run was undone, the one
/// with an ending or any after it, has this hash.
#[must_use]
pub fn is_head(journal: &str, hash: &str) -> bool {
    let records: Vec<Value> = journal.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let has = |record: &Value, of: &str| {
        let events = record.get("events").and_then(Value::as_array);
        events.is_some_and(|events| events.iter().any(|event| kind(event) == of))
    };
    let is_undone = records.iter().any(|record| has(record, "undo_started"));
    let last = records.len().saturating_sub(1);
    let ended = records.iter().rposition(|record| has(record, "ended")).unwrap_or(last);
    let from = if is_undone { ended } else { last };
    records.iter().skip(from).any(|record| text(record, "hash").as_deref() == Some(hash))
}

/// The head a process printed when it said how the run ended.
#[must_use]
pub fn told_head(printed: &str) -> Option<String> {
    let last: Value = serde_json::from_str(printed.lines().next_back()?).ok()?;
    text(&last, "ending").and_then(|_| text(&last, "head"))
}

/// The questions that nobody has answered, in the order they were asked.
#[must_use]
pub fn questions(events: &[(u64, Value)]) -> Vec<Question> {
    let mut open: Vec<Question> = Vec::new();
    for (_, event) in events {
        let subject = |kind: &str| event.get(kind).and_then(|body| body.get("subject")).map(subject_word);
        let action = |kind: &str| text(event.get(kind)?, "action");
        if let Some(subject) = subject("approval_requested") {
            open.push(Question::Approve { subject });
        } else if let Some(subject) = subject("approval_settled") {
            open.retain(|question| *question != Question::Approve { subject: subject.clone() });
        } else if let Some(action) = action("call_settled") {
            open.retain(|question| *question != Question::Settle { action: action.clone() });
        } else if let Some(body) = event.get("call_in_doubt")
            && text(body, "ask").as_deref() == Some("person")
        {
            open.extend(text(body, "action").map(|action| Question::Settle { action }));
        }
    }
    open
}

/// How many calls in doubt a tool's own probe settled.
#[must_use]
pub fn probed(events: &[(u64, Value)]) -> u64 {
    let by_probe = |event: &Value| {
        event.get("call_settled").and_then(|body| text(body, "by")).as_deref() == Some("probe")
    };
    events.iter().filter(|(_, event)| by_probe(event)).count() as u64
}

/// The run that a process of `run --json` or `resume --json` worked on.
#[must_use]
pub fn run_of(printed: &str) -> Option<String> {
    printed.lines().find_map(|line| text(&serde_json::from_str(line).ok()?, "run"))
}

/// How many events a process showed.
#[must_use]
pub fn shown(printed: &str) -> u64 {
    let is_event =
        |line: &&str| serde_json::from_str::<Value>(line).is_ok_and(|line| line.get("event").is_some());
    printed.lines().filter(is_event).count() as u64
}

/// The states a process told of: after which event, and their hash. A line that
/// was cut by the kill was told to nobody.
#[must_use]
pub fn states(printed: &str) -> Vec<(u64, String)> {
    let whole = printed.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = whole.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line.get("seq").and_then(Value::as_u64).zip(text(&line, "state"))).collect()
}

/// The hash of the state that `replay --json` came to.
#[must_use]
pub fn replayed(printed: &str) -> Option<String> {
    let last: Value = serde_json::from_str(printed.lines().next_back()?).ok()?;
    text(last.get("state")?, "digest")
}

/// What a process showed and the journal does not have: each is a line.
///
/// The last line may be cut by the kill; a whole line was shown to somebody.
#[must_use]
pub fn shown_and_lost(printed: &str, events: &[(u64, Value)]) -> Vec<String> {
    let kept: BTreeMap<u64, &Value> = events.iter().map(|(seq, event)| (*seq, event)).collect();
    let mut lost = Vec::new();
    for line in printed.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let Ok(shown) = serde_json::from_str::<Value>(line) else { continue };
        let Some((seq, event)) = shown.get("seq").and_then(Value::as_u64).zip(shown.get("event")) else {
            continue;
        };
        match kept.get(&seq) {
            Some(there) if *there == event => {}
            Some(there) => {
                lost.push(format!("event {seq} was shown as {} and is {}", kind(event), kind(there)))
            }
            None => lost.push(format!("event {seq} ({}) was shown and is not in the journal", kind(event))),
        }
    }
    lost
}

fn kind(event: &Value) -> &str {
    event.as_object().and_then(|fields| fields.keys().next()).map_or("nothing", String::as_str)
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn subject_word(subject: &Value) -> String {
    text(subject, "action").or_else(|| subject.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn numbered(list: &[Value]) -> Vec<(u64, Value)> {
        (1..).zip(list.iter().cloned()).collect()
    }

    #[test]
    fn what_was_asked_and_not_answered_is_open() {
        let list = [
            json!({"approval_requested": {"subject": {"action": "a1.0"}, "binds": "x"}}),
            json!({"call_in_doubt": {"action": "a2.0", "ask": "probe"}}),
            json!({"call_in_doubt": {"action": "a2.0", "ask": "person"}}),
            json!({"approval_settled": {"subject": {"action": "a1.0"}}}),
            json!({"approval_requested": {"subject": "output"}}),
        ];
        let open =
            [Question::Settle { action: "a2.0".into() }, Question::Approve { subject: "output".into() }];
        assert_eq!(questions(&numbered(&list)), open);
        let settled =
            json!({"call_settled": {"action": "a2.0", "settlement": "did_not_happen", "by": "probe"}});
        let all: Vec<_> = list.into_iter().chain([settled]).collect();
        assert_eq!(questions(&numbered(&all)), open[1..]);
        assert_eq!(probed(&numbered(&all)), 1);
    }

    #[test]
    fn an_event_that_was_shown_must_be_in_the_journal_as_it_was_shown() {
        let journal =
            "{\"seq\":1,\"events\":[{\"a\":{}},{\"b\":{\"x\":1}}]}\n{\"seq\":3,\"events\":[{\"c\":{}}]}\n";
        let kept = events(journal);
        assert_eq!(kept.len(), 3);
        let shown = |line: &str| shown_and_lost(line, &kept);
        assert!(shown("{\"run\":\"r\",\"seq\":2,\"event\":{\"b\":{\"x\":1}}}\n").is_empty());
        assert_eq!(shown("{\"seq\":3,\"event\":{\"b\":{}}}\n"), ["event 3 was shown as b and is c"]);
        let missing = "{\"seq\":4,\"event\":{\"d\":{}}}";
        assert_eq!(shown(&format!("{missing}\n")), ["event 4 (d) was shown and is not in the journal"]);
        assert!(shown(missing).is_empty(), "a line without its end was not shown");
    }

    #[test]
    fn the_head_counts_only_where_an_ending_was_told() {
        let records =
            "{\"hash\":\"aa\",\"events\":[{\"ended\":{}}]}\n{\"hash\":\"bb\",\"events\":[{\"EVENT\":{}}]}\n";
        let undone = records.replace("EVENT", "undo_started");
        assert!(is_head(records, "bb") && !is_head(records, "aa"));
        assert!(is_head(&undone, "bb") && is_head(&undone, "aa") && !is_head(&undone, "cc"));
        let told =
            |ending: &str| told_head(&format!("{{\"seq\":1}}\n{{\"ending\":{ending},\"head\":\"bb\"}}\n"));
        assert_eq!((told("\"failed\""), told("null")), (Some("bb".into()), None));
    }

    #[test]
    fn a_state_counts_if_its_line_is_whole_and_a_replay_tells_its_own_at_the_end() {
        let printed =
            "{\"seq\":1,\"event\":{\"a\":{}}}\n{\"seq\":3,\"state\":\"aa\"}\n{\"seq\":4,\"state\":\"bb\"}";
        assert_eq!(states(printed), [(3, "aa".into())]);
        assert_eq!(states(&format!("{printed}\n")), [(3, "aa".into()), (4, "bb".into())]);
        let replay = "{\"seq\":1,\"event\":{}}\n{\"seq\":1,\"state\":{\"digest\":\"cc\"}}\n";
        assert_eq!((replayed(replay), states(replay)), (Some("cc".into()), vec![]));
        assert_eq!(replayed("{\"seq\":1,\"event\":{}}\n"), None);
    }

    #[test]
    fn what_a_run_was_at_is_read_from_what_came_before() {
        let list = ["rollback_started", "restored", "ended", "undo_started", "undo_finished"];
        let list: Vec<Value> = list.iter().map(|kind| json!({ *kind: {} })).collect();
        let at = |before| inside(&numbered(&list), before);
        assert_eq!((at(1), at(2), at(3)), (Inside::Work, Inside::Rollback, Inside::Rollback));
        assert_eq!((at(4), at(5), at(6)), (Inside::Work, Inside::Undo, Inside::Work));
        assert_eq!(count(&numbered(&list), "restored", |_| true), 1);
        let printed = "{\"seq\":2,\"state\":\"aa\"}\n{\"seq\":3,\"event\":{}}\n{\"seq\":4,\"event\":{}}\n";
        assert_eq!(first_shown(printed), Some(3));
    }

    #[test]
    fn the_run_is_known_from_the_first_whole_line_that_names_it() {
        assert_eq!(run_of("hello\n{\"run\":\"r7\",\"seq\":1}\n{\"run\":\"r8\"}\n"), Some("r7".into()));
        assert_eq!(run_of("{\"run\":\"r"), None);
    }
}
