//! Good files are read whole; bad ones are named by file and line.

use std::io::Write as _;

use bowline_core::guard::Origin;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

const RUN: &str = r#"{"id":"r1","source":"s","model":"m","success":true,"meta":{"x":1},"events":[
{"t":"user","name":null,"output":"do it","turn":1},
{"t":"assistant","output":"both","tokens":12},
{"t":"tool_call","name":"ls","args":"{}"},
{"t":"tool_call","name":"cat","args":"{\"p\":1}"},
{"t":"tool_result","name":"cat","output":"text","ok":true},
{"t":"tool_result","name":"ls","output":"a b","ok":null},
{"t":"user","name":"auto","output":"go on"},
{"t":"assistant","output":"done","tokens":null}]}"#;

fn one_line(json: &str) -> String {
    json.replace('\n', "")
}

fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn all(path: &std::path::Path) -> Result<Vec<Trajectory>, ReadError> {
    let mut collection = Collection::of(&[path.into()])?;
    let mut runs = Vec::new();
    while let Some(line) = collection.next_line()? {
        runs.push(line.parse()?);
    }
    Ok(runs)
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    let (_folder, path) = file("bad.jsonl", bytes);
    let error = all(&path).unwrap_err();
    let said = error.to_string();
    assert!(said.contains(words) && said.contains("bad.jsonl"), "{said}");
    assert!(!error.remedy().is_empty());
}

#[test]
fn a_run_is_read_with_results_at_the_calls_they_belong_to() {
    let (_folder, path) = file("a.jsonl", one_line(RUN).as_bytes());
    let runs = all(&path).unwrap();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((run.id.as_str(), run.source.as_str(), run.success), ("r1", "s", Some(true)));
    let call = |tool: &str, args: &str, text: &str, ok| Call {
        tool: tool.into(),
        args: args.into(),
        output: Some(Output { text: text.into(), ok }),
    };
    assert_eq!(run.calls, [call("ls", "{}", "a b", None), call("cat", "{\"p\":1}", "text", Some(true))]);
    let both = Reply { text: "both".into(), calls: 2, tokens: Some(12) };
    let done = Reply { text: "done".into(), calls: 0, tokens: None };
    let user = |text: &str, origin| Moment::User { text: text.into(), origin };
    let expected = [
        user("do it", Origin::Person),
        Moment::Reply(both),
        Moment::Asked(0),
        Moment::Asked(1),
        Moment::Answered(1),
        Moment::Answered(0),
        user("go on", Origin::Harness),
        Moment::Reply(done),
    ];
    assert_eq!(run.moments, expected);
}

#[test]
fn compression_is_recognised_whatever_the_file_is_called() {
    let text = format!("{}\n\n{}\n", one_line(RUN), one_line(RUN).replace("r1", "r2"));
    let (_folder, path) = file("strange.name", &packed(&text));
    let ids: Vec<String> = all(&path).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["r1", "r2"]);
    let mut members = packed(&text);
    members.extend(packed(&text));
    let (_folder, path) = file("members.jsonl.gz", &members);
    assert_eq!(all(&path).unwrap().len(), 4, "files that were joined are read to the end");
}

#[test]
fn a_folder_stands_for_its_files_by_name() {
    let (folder, _) = file("b.jsonl", one_line(RUN).replace("r1", "second").as_bytes());
    std::fs::write(folder.path().join("a.jsonl.gz"), packed(&one_line(RUN).replace("r1", "first"))).unwrap();
    std::fs::write(folder.path().join("README.md"), "no run").unwrap();
    let ids: Vec<String> = all(folder.path()).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["first", "second"]);
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(all(empty.path()), Err(ReadError::Empty { .. })));
    assert!(matches!(all(&empty.path().join("none")), Err(ReadError::Io { .. })));
}

#[test]
fn what_is_no_run_is_named_by_line() {
    let good = one_line(RUN);
    refused(format!("{good}\n{{\"id\": \n").as_bytes(), "line 2: not JSON: EOF while parsing a value");
    refused(b"\n\n[1]", "line 3: not a recorded run: invalid");
    refused(b"{\"id\":\"x\"}", "line 1: not a recorded run: missing field `source`");
    let event = |event: &str| format!(r#"{{"id":"x","source":"s","success":null,"events":[{event}]}}"#);
    refused(event(r#"{"t":"shout"}"#).as_bytes(), "unknown variant `shout`, expected one of `user`");
    refused(event(r#"{"t":"tool_call","args":"{}"}"#).as_bytes(), "event 1: a tool_call without a name");
    refused(event(r#"{"t":"tool_call","name":"a"}"#).as_bytes(), "event 1: a tool_call without args");
    let orphan = r#"{"t":"tool_call","name":"a","args":""},{"t":"tool_result","name":"b","output":""}"#;
    refused(event(orphan).as_bytes(), "event 2: a result of \"b\", which was not called");
}

#[test]
fn a_file_that_was_cut_short_says_so() {
    let whole = packed(&format!("{}\n", one_line(RUN).repeat(50)));
    refused(&whole[..whole.len() / 2], "line 1: the file cannot be read on from here");
}
