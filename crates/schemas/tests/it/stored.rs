//! The schema of events against the reader and the writer of journals.

use bowline_core::event::{Change, Event};
use bowline_core::id::{Millis, RunId};
use bowline_core::journal::{BadRecord, FORMAT, Record};
use bowline_core::provenance::Digest;
use bowline_core::run::{Run, STATE};
use serde_json::{Value, json};

use crate::kept::folder;
use crate::samples;

fn schema(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(name)).unwrap()).unwrap()
}

fn record(body: &Value) -> Record {
    let (run, hash) = (RunId::parse("run-1").unwrap(), Digest::ZERO);
    Record { run, seq: 1, at: Millis(1), format: FORMAT, body: body.to_string(), hash }
}

/// What a plan, a library of methods or a pair of numbers must be beyond its form.
fn is_about_sense(message: &str) -> bool {
    let about = [
        "are called",
        "wait for each other",
        "waits for",
        "no JSON pointer",
        "twice",
        "method",
        "first step",
    ];
    about.iter().any(|word| message.contains(word))
}

#[test]
fn whatever_the_schema_allows_the_reader_takes_and_what_is_written_again_is_allowed() {
    let schema = schema("event.schema.json");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let samples = samples::of(&schema);
    let mut read = 0;
    for sample in &samples {
        assert!(validator.is_valid(sample), "the sample is none: {sample}");
        match serde_json::from_value::<Event>(sample.clone()) {
            Ok(event) => {
                read += 1;
                let again = serde_json::to_value(&event).unwrap();
                let flaws: Vec<String> = validator.iter_errors(&again).map(|flaw| flaw.to_string()).collect();
                assert!(flaws.is_empty(), "{again}\n{flaws:#?}");
            }
            Err(error) => assert!(is_about_sense(&error.to_string()), "{error}\n{sample}"),
        }
    }
    assert!(read > 500 && read * 10 > samples.len() * 9, "{read} of {}", samples.len());
}

/// Every way to say one thing more in one object of the value, by the place of the object.
fn with_one_more(value: &Value, at: &str, found: &mut Vec<(String, Value)>, whole: &Value) {
    match value {
        Value::Object(map) => {
            let mut more = whole.clone();
            more.pointer_mut(at).unwrap().as_object_mut().unwrap().insert("zz_new".into(), json!([null]));
            found.push((at.to_owned(), more));
            for (key, inner) in map {
                with_one_more(
                    inner,
                    &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                    whole,
                );
            }
        }
        Value::Array(items) => {
            for (place, inner) in items.iter().enumerate() {
                with_one_more(inner, &format!("{at}/{place}"), found, whole);
            }
        }
        _ => {}
    }
}

#[test]
fn a_key_of_a_newer_build_is_refused_in_every_object_of_every_event() {
    let schema = schema("event.schema.json");
    let (mut objects, mut named) = (0, 0);
    for sample in samples::of(&schema) {
        if serde_json::from_value::<Event>(sample.clone()).is_err() {
            continue;
        }
        let mut found = Vec::new();
        with_one_more(&sample, "", &mut found, &sample);
        for (at, more) in found.into_iter().filter(|(at, _)| !at.is_empty()) {
            objects += 1;
            match record(&json!([more])).events() {
                Err(BadRecord::Newer { what, .. }) if what == "a key \"zz_new\"" => named += 1,
                Err(_) => {}
                Ok(_) => panic!("{at} takes what it does not know\n{more}"),
            }
        }
    }
    assert!(objects > 2000 && named * 10 > objects * 8, "{named} of {objects} are named");
}

#[test]
fn every_event_with_a_contract_is_refused_when_the_contract_is_newer() {
    let schema = schema("event.schema.json");
    let mut names = std::collections::BTreeSet::new();
    for mut sample in samples::of(&schema) {
        let Some((name, fields)) = sample.as_object_mut().and_then(|map| map.iter_mut().next()) else {
            continue;
        };
        if fields.get("contract").is_some() {
            fields["contract"] = json!(2);
            let name = name.clone();
            let bad = record(&json!([sample])).events().unwrap_err();
            assert!(
                matches!(&bad, BadRecord::Contract { event, contract: 2, .. } if *event == name),
                "{bad}"
            );
            names.insert(name);
        }
    }
    assert!(names.len() >= 9, "{names:?}");
}

/// The records of a golden journal.
fn golden(name: &str) -> Vec<Record> {
    let text = std::fs::read_to_string(folder().join("../fixtures/journals").join(name)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records = lines.filter(|line| line.get("format").is_some()).map(|line| {
        let body = line["events"].to_string();
        let format = u16::try_from(line["format"].as_u64().unwrap()).unwrap();
        Record { format, body, at: Millis(line["at"].as_u64().unwrap()), ..record(&json!([])) }
    });
    records.collect()
}

#[test]
fn golden_journals_are_what_the_schema_says() {
    let validator = jsonschema::validator_for(&schema("event.schema.json")).unwrap();
    for name in ["format-1.jsonl", "format-2.jsonl"] {
        let events: Vec<Event> = golden(name).iter().flat_map(|record| record.events().unwrap()).collect();
        assert!(events.len() > 20, "{name}: {}", events.len());
        for event in events {
            let event = serde_json::to_value(&event).unwrap();
            let flaws: Vec<String> = validator.iter_errors(&event).map(|flaw| flaw.to_string()).collect();
            assert!(flaws.is_empty(), "{name}: {event}\n{flaws:#?}");
        }
    }
}

#[test]
fn a_checkpoint_with_a_key_of_a_newer_build_is_not_used_and_the_journal_is_folded() {
    let mut run: Option<Run> = None;
    let mut objects = 0;
    for record in golden("format-2.jsonl") {
        for event in record.events().unwrap() {
            match &mut run {
                None => run = Run::begin(&record.run, &event, record.at),
                Some(run) => run.apply(&event, record.at),
            }
        }
        let bytes = run.as_ref().unwrap().to_checkpoint();
        assert!(Run::from_checkpoint(STATE, &bytes).is_some());
        assert!(Run::from_checkpoint(STATE + 1, &bytes).is_none(), "another shape");
        let state: Value = serde_json::from_slice(&bytes).unwrap();
        let mut more = Vec::new();
        with_one_more(&state, "", &mut more, &state);
        // The schema of a tool's arguments is any JSON there is.
        more.retain(|(at, _)| !at.contains("/schema"));
        // Each object once in a while: what begins to be there with a record is there for many.
        for (at, more) in more.into_iter().skip(objects % 7).step_by(7) {
            objects += 1;
            let taken = Run::from_checkpoint(STATE, &serde_json::to_vec(&more).unwrap());
            assert!(taken.is_none(), "after record {}: {at} takes what it does not know", record.seq);
        }
    }
    assert!(objects > 300, "{objects}");
}

#[test]
fn changes_of_runs_that_work_apart_are_what_their_schema_says() {
    let schema = schema("change.schema.json");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let samples = samples::of(&schema);
    assert!(samples.len() > 4, "{samples:?}");
    for sample in samples {
        let change: Change =
            serde_json::from_value(sample.clone()).unwrap_or_else(|bad| panic!("{bad}: {sample}"));
        assert!(validator.is_valid(&serde_json::to_value(&change).unwrap()), "{sample}");
        let mut more = Vec::new();
        with_one_more(&sample, "", &mut more, &sample);
        for (at, more) in more {
            assert!(serde_json::from_value::<Change>(more).is_err(), "{at}");
        }
    }
}
