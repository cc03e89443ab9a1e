//! `bowline guard` and `bowline guard eval` as other programs meet them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{Place, Ran, example, ran};

/// Filters these lines.
fn filter(place: &Place, options: &[&str], lines: &[Value]) -> Ran {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    filter_text(place, options, &text)
}

fn filter_text(place: &Place, options: &[&str], text: &str) -> Ran {
    let mut command = place.command(&[&["guard"], options].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A filter that refuses its options does not read: that is no failure of ours.
    let _refused = child.stdin.take().unwrap().write_all(text.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn verdicts(ran: Ran) -> Vec<String> {
    let ran = ran.ends(0);
    ran.objects().iter().map(|answer| answer["verdict"].as_str().unwrap().to_owned()).collect()
}

fn ask(path: &str) -> Value {
    json!({"event": "tool_call", "tool": "read_file", "args": {"path": path}})
}

fn came(output: &str) -> Value {
    json!({"event": "tool_result", "tool": "read_file", "output": output, "ok": true})
}

#[test]
fn every_line_is_answered_and_mistakes_are_too() {
    let place = Place::new();
    let lines =
        [ask("a"), came("text"), ask("a"), json!({"event": "tool_call", "tol": "x"}), json!([]), ask("b")];
    let ran = filter(&place, &[], &lines).ends(0);
    let answers = ran.objects();
    let found: Vec<&str> = answers.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(found, ["continue", "continue", "block", "error", "error", "continue"]);
    assert_eq!(answers[3]["error"], "tool_call has no key \"tol\", did you mean \"tool\"?");
    assert_eq!(answers[5]["line"], 6);
    assert_eq!(filter_text(&place, &[], "\n\u{fffd}\n{\"event\":\"step\"}").ends(0).objects().len(), 3);
}

#[test]
fn an_answer_comes_before_the_next_event_is_written() {
    let place = Place::new();
    let mut command = place.command(&["guard"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut answers = std::io::BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        writeln!(input, "{}", json!({"event": "step"})).unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut answers, &mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["line"], number);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn limits_hold_and_no_limit_must_be_written() {
    let place = Place::new();
    let steps = vec![json!({"event": "step"}); 4];
    assert_eq!(
        verdicts(filter(&place, &["--max-steps", "3"], &steps)),
        ["continue", "continue", "warn", "stop"]
    );
    let many = vec![json!({"event": "step"}); 60];
    assert_eq!(verdicts(filter(&place, &[], &many)).last().unwrap(), "stop", "finite without a word");
    assert_eq!(verdicts(filter(&place, &["--max-steps", "unlimited"], &many)).last().unwrap(), "continue");
    let tokens = [json!({"event": "tokens", "input": 2_000_000})];
    assert_eq!(verdicts(filter(&place, &["--max-tokens", "2000"], &tokens)), ["stop"]);
    let cost = [json!({"event": "cost", "usd": 0.3}), json!({"event": "cost", "usd": 0.3})];
    assert_eq!(verdicts(filter(&place, &["--max-cost-usd", "0.5"], &cost)), ["continue", "stop"]);
    let zero = ["--preset", "agent-loop-v1", "--max-cost-usd", "0"];
    assert_eq!(verdicts(filter(&place, &zero, &cost)), ["continue", "continue"], "its source means no limit");
    assert_eq!(
        verdicts(filter(&place, &["--max-cost-usd", "0"], &cost)),
        ["stop", "stop"],
        "we mean nothing"
    );
    let reads = [ask("a"), came("a"), ask("b")];
    let one = ["--max-tool", "read_file=1"];
    assert_eq!(verdicts(filter(&place, &one, &reads)), ["continue", "continue", "block"]);
    for bad in
        [["--max-steps", "-1"], ["--max-cost-usd", "NaN"], ["--max-tool", "x"], ["--preset", "name-strek"]]
    {
        filter(&place, &bad, &[]).ends(2);
    }
    filter(&place, &["--preset", "agent-loop-v1", "--max-steps", "0"], &[]).ends(2).complains("0 steps");
}

#[test]
fn presets_and_acts_are_chosen_by_word() {
    let place = Place::new();
    let streak: Vec<Value> = (0..5).flat_map(|n| [ask(&n.to_string()), came("x")]).take(9).collect();
    let last = |options: &[&str]| verdicts(filter(&place, options, &streak)).pop().unwrap();
    assert_eq!(last(&["--preset", "name-streak"]), "stop");
    assert_eq!(last(&["--preset", "name-streak", "--act", "block"]), "block");
    assert_eq!(last(&["--preset", "cross-batch"]), "continue");
    let again = [ask("a"), came("x"), ask("a")];
    assert_eq!(verdicts(filter(&place, &["--act", "stop"], &again)).last().unwrap(), "continue");
}

#[test]
fn a_state_file_goes_on_after_the_filter_ended() {
    let place = Place::new();
    let options = ["--state", "guard.json", "--max-steps", "3"];
    let steps = vec![json!({"event": "step"}); 2];
    assert_eq!(verdicts(filter(&place, &options, &steps)), ["continue", "continue"]);
    filter(&place, &options, &[ask("a"), came("text")]).ends(0);
    let lines = [ask("a"), json!({"event": "step"}), json!({"event": "step"})];
    assert_eq!(verdicts(filter(&place, &options, &lines)), ["block", "warn", "stop"]);
    let raised = ["--state", "guard.json", "--max-steps", "30"];
    assert_eq!(verdicts(filter(&place, &raised, &lines[1..])), ["continue", "continue"]);
    filter(&place, &["--state", "guard.json", "--preset", "name-streak"], &[])
        .ends(2)
        .complains("kept by a guard of another kind");
    place.write("other.json", "{\"version\": 7}");
    filter(&place, &["--state", "other.json"], &[]).ends(2).complains("holds no state of a guard");
    assert_eq!(place.read("other.json"), "{\"version\": 7}", "what is not ours is left alone");
    let nowhere = filter(&place, &["--state", "no/such/folder/guard.json"], &steps).ends(2);
    assert_eq!(nowhere.complains("cannot replace").out, "", "no answer without a state that was kept");
}

#[test]
fn what_users_corrected_goes_from_one_filter_to_another() {
    let place = Place::new();
    let corrects = |text: &str| json!({"event": "user", "text": text});
    let two = [
        corrects("No, use tabs for indentation."),
        corrects("That's wrong, indentation is with tabs."),
        json!({"event": "cost", "usd": 0.5}),
        json!({"event": "export"}),
    ];
    let export = filter(&place, &["--max-cost-usd", "0.6"], &two).ends(0).objects()[3]["export"].clone();
    let lines = [
        json!({"event": "import", "export": export}),
        corrects("I told you: tabs for indentation, not spaces!"),
        json!({"event": "cost", "usd": 0.2}),
    ];
    let answers = filter(&place, &[], &lines).ends(0).objects();
    assert_eq!((&answers[0]["verdict"], &answers[0]["rule"]), (&json!("warn"), &json!("cap")));
    let reasons: Vec<&Value> =
        answers[1]["fired"].as_array().unwrap().iter().map(|fired| &fired["reason"]).collect();
    assert_eq!(reasons, ["money", "corrected_before"]);
    assert_eq!(answers[2]["verdict"], "stop", "spend and limit came along");
}

#[test]
fn the_example_in_python_runs() {
    let program = Path::new(env!("CARGO_BIN_EXE_bowline")).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    let mut python = Command::new("python3");
    python.arg(format!("{}/guarded_loop.py", example("guard-python"))).env("PATH", path);
    let out = ran(python).good();
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    assert_eq!((lines[0], lines[1], lines[3]), ("a.py continue", "b.py continue", "c.py continue"), "{out}");
    assert!(lines[2].starts_with("a.py block "), "{out}");
}

/// Two runs: one succeeds and looks twice, one fails and asks seven times.
fn recorded(place: &Place) {
    let run = |id: &str, success: bool, source: &str, calls: usize| {
        let mut events = vec![json!({"t": "user", "output": "go"})];
        for _ in 0..calls {
            events.push(json!({"t": "tool_call", "name": "read_file", "args": "{\"path\":\"a\"}"}));
            events.push(json!({"t": "tool_result", "name": "read_file", "output": "text", "ok": true}));
        }
        json!({"id": id, "source": source, "success": success, "events": events})
    };
    let runs =
        [run("good", true, "lab", 2), run("bad", false, "lab", 7), run("apart", false, "agentdojo", 3)];
    place.write("runs.jsonl", &runs.map(|run| format!("{run}\n")).concat());
}

#[test]
fn guards_are_scored_side_by_side() {
    let place = Place::new();
    recorded(&place);
    let ran = place.bowline(&["guard", "eval", "runs.jsonl"]).ends(0);
    let ran = ["BLOCK", "STOP", "agentdojo", "bowline", "name-streak", "1 succeeded, 1 failed"]
        .iter()
        .fold(ran, |ran, words| ran.says(words));
    assert_eq!(ran.err, "", "no bar where nobody looks");
    let told = place.bowline(&["guard", "eval", "runs.jsonl", "--json", "--preset", "agent-loop-v1"]).ends(0);
    let guard = &told.objects()[0]["guards"][0];
    assert_eq!(guard["pool"]["block"]["redundant_blocked"], json!(5.0 / 6.0));
    assert_eq!(guard["pool"]["stop"]["counts"]["calls_saved"], 5);
    assert_eq!(guard["sources"]["agentdojo"]["block"]["counts"]["redundant_blocked"], 1);
    let again = place.bowline(&["guard", "eval", "runs.jsonl"]).good();
    assert_eq!(again, ran.out);
    let blocks = place.bowline(&["guard", "eval", "runs.jsonl", "--act", "block"]).good();
    assert!(blocks.contains("BLOCK") && !blocks.contains("STOP"), "{blocks}");
}

#[test]
fn decisions_are_written_as_they_fell() {
    let place = Place::new();
    recorded(&place);
    let decisions = |act: &str| -> Vec<(String, u64, String)> {
        let words = [
            "guard",
            "eval",
            "runs.jsonl",
            "--preset",
            "agent-loop-v1",
            "--act",
            act,
            "--decisions",
            "out.jsonl",
        ];
        place.bowline(&words).ends(0);
        let line = |line: &str| {
            let told: Value = serde_json::from_str(line).unwrap();
            assert!(!told["reason"].as_str().unwrap().is_empty() && told["evidence"].is_array(), "{told}");
            let word = |key: &str| told[key].as_str().unwrap().to_owned();
            (word("id"), told["call"].as_u64().unwrap(), word("verdict"))
        };
        place.read("out.jsonl").lines().map(line).collect()
    };
    let expected = |id: &str, calls: std::ops::RangeInclusive<u64>, verdict: &str| -> Vec<_> {
        calls.map(|call| (id.to_owned(), call, verdict.to_owned())).collect()
    };
    assert_eq!(
        decisions("block"),
        [expected("bad", 3..=7, "block"), expected("apart", 3..=3, "block")].concat()
    );
    assert_eq!(
        decisions("stop"),
        [expected("bad", 3..=3, "stop"), expected("apart", 3..=3, "stop")].concat()
    );
}

#[test]
fn files_that_cannot_be_scored_are_refused_with_their_place() {
    let place = Place::new();
    recorded(&place);
    let good = place.read("runs.jsonl");
    place.write("bad.jsonl", &format!("{good}{{\"id\":\"x\"}}\n"));
    place.bowline(&["guard", "eval", "bad.jsonl"]).ends(2).complains("bad.jsonl, line 4: not a recorded run");
    place.write("worse.jsonl", "{\"id\":");
    place.bowline(&["guard", "eval", "worse.jsonl"]).ends(2).complains("line 1: not JSON");
    place.bowline(&["guard", "eval", "none.jsonl"]).ends(2).complains("cannot read none.jsonl");
    place.write("empty/README", "");
    place.bowline(&["guard", "eval", "empty"]).ends(2).complains("there are no recorded runs in empty");
    place.bowline(&["guard", "eval"]).ends(2);
    place.bowline(&["guard", "eval", "runs.jsonl", "--held-out", "--tuning"]).ends(2);
    place
        .bowline(&["guard", "eval", "runs.jsonl", "--decisions", "no/out"])
        .ends(2)
        .complains("cannot write no/out");
}
