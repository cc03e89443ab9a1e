//! Whole evaluations: the report is a function of files and guards.

use std::path::PathBuf;

use bowline_core::guard::loops::Action;
use bowline_core::guard::preset::Preset;
use bowline_guard::detector::Bowline;
use bowline_guard::evaluate::{Part, Plan, Report, evaluate};
use bowline_guard::judge::Guard;
use bowline_guard::trajectory::ReadError;
use serde_json::{Value, json};

/// Runs of four sources, some of which repeat themselves.
fn recorded(folder: &tempfile::TempDir) -> Vec<PathBuf> {
    let mut lines = String::new();
    for number in 0..60_usize {
        let source = ["one", "two", "agentdojo"][number % 3];
        let success = match number % 5 {
            4 => Value::Null,
            other => json!(other < 2),
        };
        let mut events = vec![json!({"t": "user", "output": "go"})];
        for call in 0..number % 11 {
            let args = format!("{{\"path\":\"f{}\"}}", call % (1 + number % 4));
            events.push(json!({"t": "assistant", "output": "looking"}));
            events.push(json!({"t": "tool_call", "name": "read_file", "args": args}));
            events.push(json!({"t": "tool_result", "name": "read_file", "output": "text", "ok": true}));
        }
        let run =
            json!({"id": format!("run-{number}"), "source": source, "success": success, "events": events});
        lines.push_str(&format!("{run}\n"));
    }
    let path = folder.path().join("runs.jsonl");
    std::fs::write(&path, lines).unwrap();
    vec![path]
}

fn report(paths: &[PathBuf], threads: usize, part: Part) -> Result<Report, ReadError> {
    let mine = Bowline::default();
    let mut guards: Vec<&dyn Guard> = vec![&mine];
    guards.extend(Preset::ALL.iter().map(|preset| preset as &dyn Guard));
    let plan = Plan {
        guards: &guards,
        action: Action::Both,
        part,
        decisions_of: Some(1),
        threads,
        progress: &|progress| assert!(progress.read <= progress.bytes),
    };
    evaluate(paths, &plan)
}

#[test]
fn the_report_does_not_depend_on_how_many_threads_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let paths = recorded(&folder);
    let one = report(&paths, 1, Part::Whole).unwrap();
    assert!(!one.decisions.is_empty());
    for threads in [2, 3, 8] {
        assert_eq!(report(&paths, threads, Part::Whole).unwrap(), one);
    }
}

#[test]
fn the_pool_is_every_source_but_the_one_apart() {
    let folder = tempfile::tempdir().unwrap();
    let whole = report(&recorded(&folder), 2, Part::Whole).unwrap();
    assert_eq!(whole.runs.keys().collect::<Vec<_>>(), ["agentdojo", "one", "two"]);
    let by_source = &whole.scores[1];
    let pool = whole.pooled(1);
    let sum = by_source["one"].stop.calls + by_source["two"].stop.calls;
    assert_eq!(pool.stop.calls, sum);
    assert!(by_source["agentdojo"].stop.calls > 0);
    assert_eq!(whole.runs.values().sum::<u64>() + whole.left_out, 60);
}

#[test]
fn every_run_is_either_held_out_or_tuned_on() {
    let folder = tempfile::tempdir().unwrap();
    let paths = recorded(&folder);
    let count = |part| {
        let report = report(&paths, 2, part).unwrap();
        report.runs.values().sum::<u64>() + report.left_out
    };
    let (tuning, held_out) = (count(Part::Tuning), count(Part::HeldOut));
    assert_eq!(tuning + held_out, 60);
    assert!(tuning > held_out && held_out > 0, "{tuning} {held_out}");
    // The hash of the first id begins with 0x2c, that of the second with 0xba.
    assert!(Part::Tuning.holds("hello") && !Part::HeldOut.holds("hello"));
    assert!(Part::HeldOut.holds("abc") && !Part::Tuning.holds("abc"));
}

#[test]
fn the_first_bad_line_is_reported_however_many_threads_read() {
    let folder = tempfile::tempdir().unwrap();
    let paths = recorded(&folder);
    let mut text = std::fs::read_to_string(&paths[0]).unwrap();
    let at = text.match_indices('\n').nth(20).unwrap().0;
    text.insert_str(at + 1, "{\"id\":1}\nnot json\n{}\n");
    std::fs::write(&paths[0], text).unwrap();
    for threads in [1, 2, 8] {
        let error = report(&paths, threads, Part::Whole).unwrap_err();
        assert!(error.to_string().contains("line 22: not a recorded run: invalid type"), "{error}");
    }
}
