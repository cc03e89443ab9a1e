//! Agents: what their manifests grant, and what becomes of calls they do not.

use std::fs;
use std::path::Path;

use bowline_core::quality::CheckOutcome;
use serde_json::{Value, json};

use crate::{Place, example, no_cage};

const MANIFEST: &str = r#"
name = "clerk"
model = "scripted:model.yaml"
sandbox = "none"
tools = ["read_file", "write_file"]
[capabilities]
file_read = ["."]
file_write = ["drafts"]
"#;

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/agent.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn fits(manifest: &Value) -> bool {
    bowline_tools::check::schema_check(&schema(), &manifest.to_string()) == CheckOutcome::Passed
}

fn toml(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

#[test]
fn a_model_that_obeys_the_attacker_gets_nothing_done_that_was_not_granted() {
    if no_cage() {
        return;
    }
    let place = Place::new();
    let ran = place.bowline(&["run", &example("obeys-the-attacker")]).ends(4);
    let ran = ran.says("SUSPICIOUS").says("a2.0").says("not granted").says("no capability \"shell\"");
    ran.says("because")
        .says("billing-archive@collect.example.net")
        .says("was named only by a result of read_file");
    assert!(!place.path(&format!("home/workspaces/{}/outbox.txt", place.last())).exists());
    place.bowline(&["deny", "last", "--reason", "We do not send lists."]).ends(0);
    place.bowline(&["resume", "last"]).ends(0).says("committed");
    assert_eq!(place.in_copy("outbox.txt"), "to ada@example.org: Your parcel arrives on Friday.\n");
    assert!(!place.path(&format!("home/workspaces/{}/.git", place.last())).exists());
}

#[test]
fn old_names_are_read_with_a_warning_and_check_writes_the_new_ones() {
    let place = Place::new();
    let task = "goal = \"Say hello\" # politely\nmodel = \"scripted:model.yaml\"\nagent = \"agent.toml\"\nrepair = \"mend\"\nreview = \"never\"\n";
    let agent =
        "name = \"clerk\"\nversion = \"7\" # of the clerk\n[[tool]]\nname = \"read_file\"\nat_once = 2\n";
    place.write("task.toml", task);
    place.write("agent.toml", agent);
    place.write("model.yaml", "script: 1\nconversations:\n  main:\n    - say: hello\n");
    for command in ["check", "run"] {
        let ran = place.bowline(&[command, "task.toml"]).ends(0);
        let ran = ran.remarks("warning: task.toml: repair has a new name; write repair = \"fix\"");
        ran.remarks("version has a new name; write release = \"7\"")
            .remarks("tool[0].at_once has a new name; write concurrency = 2")
            .remarks("bowline check --fix");
    }
    assert_eq!(place.read("task.toml"), task, "only --fix writes");
    place.bowline(&["check", "--fix", "task.toml"]).ends(0).says("repair is now repair = \"fix\"");
    place.bowline(&["check", "--fix", "agent.toml"]).ends(0).says("tool[0].at_once is now concurrency = 2");
    assert_eq!(place.read("task.toml"), task.replace("mend", "fix"));
    assert_eq!(
        place.read("agent.toml"),
        agent.replace("version", "release").replace("at_once", "concurrency")
    );
    place.bowline(&["run", "task.toml"]).ends(0).lacks("new name");
    place.bowline(&["check", "--fix", "task.toml"]).ends(0).says("it was not changed");
}

#[test]
fn a_file_of_a_newer_form_is_refused_with_both_versions_and_nothing_else() {
    let place = Place::new();
    place.write("task.toml", "version = 2\ngoal = \"x\"\nunheard_of = true\n");
    let ran = place.bowline(&["run", "task.toml"]).ends(2);
    ran.complains("the file is of version 2; this build reads version 1").lacks("unheard_of");
    place.write("agent.toml", "version = 3\nname = \"x\"\n");
    place.bowline(&["check", "agent.toml"]).ends(2).complains("the file is of version 3");
    for (bad, what) in [("0", "no version"), ("1.5", "no version"), ("\"1\"", "no version")] {
        place.write("task.toml", &format!("version = {bad}\ngoal = \"x\"\nmodel = \"scripted:m.yaml\"\n"));
        place.bowline(&["check", "task.toml"]).ends(2).complains(what).complains("write version = 1");
    }
}

#[test]
fn check_tells_what_an_agent_may_do_and_what_not() {
    let place = Place::new();
    place.write("agent.toml", MANIFEST);
    place
        .bowline(&["check", "agent.toml"])
        .ends(0)
        .says("agent.toml is a manifest")
        .says("may      write drafts of its workspace")
        .says("may not  reach the network")
        .says("asks     nobody: what its capabilities do not cover is refused");
    place.write("agent.toml", "name = \"x\"\n[capabilites]\n");
    place.bowline(&["check", "agent.toml"]).ends(2).complains("did you mean `capabilities`?");
}

#[test]
fn check_explains_a_task_with_the_agent_it_names() {
    let place = Place::new();
    place.write("agent.toml", MANIFEST).write("task.toml", "goal = \"g\"\nagent = \"agent.toml\"\n");
    place.bowline(&["check", "task.toml"]).ends(0).says("is a task").says("agent clerk");
    place.write("task.toml", "goal = \"g\"\nagent = \"agent.toml\"\ntools = [\"run_command\"]\n");
    place.bowline(&["check", "task.toml"]).ends(2).complains("the agent clerk has no such tool");
    place.write("task.toml", "goal = \"g\"\nagent = \"nobody.toml\"\n");
    place.bowline(&["check", "task.toml"]).ends(2).complains("nobody.toml");
}

#[test]
fn a_manifest_takes_what_it_extends_from_beside_it_and_never_in_circles() {
    let place = Place::new();
    place.write("base/base.toml", MANIFEST);
    place.write("own.toml", "extends = \"base/base.toml\"\nname = \"own\"\n[limits]\nsteps = 7\n");
    place
        .bowline(&["check", "own.toml"])
        .ends(0)
        .says("agent own")
        .says("may      write drafts")
        .says("steps 7");
    place.write("a.toml", "extends = \"b.toml\"\nname = \"a\"\n").write("b.toml", "extends = \"a.toml\"\n");
    place.bowline(&["check", "a.toml"]).ends(2).complains("extends itself");
}

#[test]
fn a_secret_reaches_the_program_named_for_it_and_nothing_that_is_stored() {
    let place = Place::new();
    let manifest = r#"
name = "payer"
model = "scripted:model.yaml"
sandbox = "none"
[secrets]
PAY_TOKEN = { file = "token.txt" }
[[tool]]
name = "pay"
command = ["sh", "./pay.sh"]
description = "Pays."
schema = { type = "object" }
secrets = ["PAY_TOKEN"]
consent = "not-needed"
"#;
    let replies = "  main:\n    - calls: [{tool: pay, args: {}}]\n    - say: the token is tok-12345678\n      \
        calls: [{tool: pay, args: {note: tok-12345678}}]\n    - say: done\n";
    place.write("task/agent.toml", manifest).write("task/token.txt", "tok-12345678\n");
    place.write("task/pay.sh", "cat > args.json; echo \"paid with $PAY_TOKEN\" | tee -a seen.txt\n");
    place.write("task/model.yaml", &format!("script: 1\nconversations:\n{replies}"));
    place.write(
        "task/task.toml",
        "goal = \"Pay\"\nagent = \"agent.toml\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n",
    );
    place.write("task/project/x", "");
    let asked = place.bowline(&["run", "task"]).ends(4).says("it holds the secret PAY_TOKEN");
    assert!(!asked.out.contains("tok-12345678"), "{}", asked.out);
    assert_eq!(place.read("task/project/seen.txt"), "paid with tok-12345678\n", "the program knows it");
    place.bowline(&["approve", "last", "--yes"]).ends(0);
    place.bowline(&["resume", "last"]).ends(0);
    assert!(
        place.read("task/project/args.json").contains("[secret PAY_TOKEN]"),
        "the call does not carry it"
    );
    for entry in fs::read_dir(place.path("home")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let found = bytes.windows(12).any(|part| part == b"tok-12345678");
        assert!(!found, "{} holds the secret", path.display());
    }
}

#[test]
fn a_secret_that_is_not_there_refuses_the_run_by_its_name() {
    let place = Place::new();
    let secrets = "[secrets]\nTOKEN = { env = \"BOWLINE_TEST_NOT_SET\" }\n";
    place
        .write("agent.toml", &format!("{MANIFEST}{secrets}"))
        .write("model.yaml", "script: 1\nconversations: {}\n");
    place.write("task.toml", "goal = \"g\"\nagent = \"agent.toml\"\n");
    place.bowline(&["run", "task.toml"]).ends(2).complains("the secret TOKEN is not there");
}

#[test]
fn the_published_schema_accepts_what_the_reader_accepts_and_refuses_what_it_refuses() {
    let agree = |manifest: &Value, good: bool| {
        assert_eq!(bowline_core::agent::parse(manifest).is_ok(), good, "the reader about {manifest}");
        assert_eq!(fits(manifest), good, "the schema about {manifest}");
    };
    agree(&toml(MANIFEST), true);
    agree(
        &toml(&fs::read_to_string(Path::new(&example("obeys-the-attacker")).join("agent.toml")).unwrap()),
        true,
    );
    let with = |key: &str, value: Value| {
        let mut manifest = json!({ "name": "x" });
        manifest[key] = value;
        manifest
    };
    for (key, value) in [
        ("gates", json!({ "tainted": "allow", "secrets": "refuse", "out_of_policy": "ask" })),
        ("secrets", json!({ "A": { "env": "B" }, "C": { "file": "d" } })),
        ("sandbox", json!("none")),
        ("sandbox", json!({ "read": ["a"] })),
        ("limits", json!({ "steps": "unlimited", "cost_usd": 0.5 })),
        (
            "capabilities",
            json!({ "mcp": ["git.*"], "inference": true, "spawn": 1, "shell": ["*"], "file_read": ["."] }),
        ),
        ("tool", json!([{ "name": "t", "command": ["a"], "description": "d", "schema": {} }])),
        ("tool", json!([{ "name": "read_file", "attempts": 2, "concurrency": 1, "class": "pure" }])),
        (
            "mcp",
            json!([{ "name": "hub", "url": "https://a.example/", "tool": [{ "name": "t", "touch": "read" }] }]),
        ),
        ("privacy", json!("sovereign")),
    ] {
        agree(&with(key, value), true);
    }
    for (key, value) in [
        ("nmae", json!("x")),
        ("name", json!("")),
        ("gates", json!({ "out_of_policy": "allow" })),
        ("gates", json!({ "taint": "ask" })),
        ("secrets", json!({ "A": "value" })),
        ("secrets", json!({ "A": {} })),
        ("secrets", json!({ "a b": { "env": "B" } })),
        ("sandbox", json!("cgae")),
        ("limits", json!({ "steps": 0 })),
        ("limits", json!({ "parallel": "unlimited" })),
        ("capabilities", json!({ "mcp": ["git"] })),
        ("capabilities", json!({ "inference": "yes" })),
        ("capabilities", json!({ "shell": "ls" })),
        ("tool", json!([{ "command": ["a"] }])),
        ("tool", json!([{ "name": "t", "schema": {} }])),
        ("mcp", json!([{ "name": "Git!", "command": ["a"] }])),
        ("mcp", json!([{ "name": "git" }])),
        ("mcp", json!([{ "name": "git", "command": ["a"], "url": "https://a.example/" }])),
        ("mcp", json!([{ "name": "git", "command": ["a"], "tool": [{ "name": "t", "touch": "write" }] }])),
        ("privacy", json!("secret")),
        ("tools", json!(["a b"])),
        ("model", json!("nothing")),
    ] {
        agree(&with(key, value), false);
    }
}

#[test]
fn a_program_of_the_models_choice_writes_only_where_its_agent_may() {
    if no_cage() {
        return;
    }
    let place = Place::new();
    let manifest = "name = \"clerk\"\nmodel = \"scripted:model.yaml\"\n\
        [[tool]]\nname = \"run_command\"\nconsent = \"not-needed\"\n\
        [capabilities]\nfile_read = [\".\"]\nfile_write = [\"drafts\"]\nshell = [\"sh\"]\n";
    let script = "echo in > drafts/a; echo out > b; cat notes; exit 0";
    let replies = format!(
        "  main:\n    - calls: [{{tool: run_command, args: {{argv: [sh, -c, \"{script}\"]}}}}]\n    \
         - calls: [{{tool: run_command, args: {{argv: [ls]}}}}]\n    - say: done\n"
    );
    place.write("task/agent.toml", manifest).write("task/project/notes", "readable");
    place.write("task/project/drafts/old", "");
    place.write("task/model.yaml", &format!("script: 1\nconversations:\n{replies}"));
    let task = "goal = \"g\"\nagent = \"agent.toml\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n";
    place.write("task/task.toml", task);
    place.bowline(&["run", "task"]).ends(0).says("the capability \"shell\" does not cover \"ls\"");
    assert_eq!(place.read("task/project/drafts/a"), "in\n");
    assert!(!place.path("task/project/b").exists(), "only drafts may be written");
}

/// A task of an agent that holds a secret and may write drafts.
fn with_a_secret(place: &Place, replies: &str) {
    let manifest = r#"
name = "payer"
model = "scripted:model.yaml"
sandbox = "none"
tools = ["patch_file", "read_file", "write_file"]
[capabilities]
file_read = ["."]
file_write = ["."]
[secrets]
PAY_TOKEN = { file = "token.txt" }
[[tool]]
name = "pay"
command = ["sh", "./pay.sh"]
description = "Pays."
schema = { type = "object" }
consent = "not-needed"
"#;
    place.write("task/agent.toml", manifest).write("task/token.txt", "tok-12345678\n");
    place.write("task/pay.sh", "cat >> args.json\n");
    place.write("task/model.yaml", &format!("script: 1\nconversations:\n{replies}"));
    let task =
        "goal = \"Pay\"\nagent = \"agent.toml\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n";
    place.write("task/task.toml", task).write("task/project/x", "");
}

#[test]
fn a_secret_in_any_disguise_is_masked_and_asked_about() {
    for disguise in [
        "dG9rLTEyMzQ1Njc4",
        "dG9rLTEy\\\\nMzQ1Njc4",
        "746f6b2d3132333435363738",
        "746F6b2d3132333435363738",
        "74 6f 6b 2d 31 32 33 34 35 36 37 38",
        "87654321-kot",
        "\\\\u0074ok-12345678",
    ] {
        let place = Place::new();
        let args = format!("{{\\\"note\\\":\\\"{disguise}\\\"}}");
        let replies =
            format!("  main:\n    - calls: [{{tool: pay, raw_args: \"{args}\"}}]\n    - say: done\n");
        with_a_secret(&place, &replies);
        place.bowline(&["run", "task"]).ends(4).says("it holds the secret PAY_TOKEN");
        place.bowline(&["approve", "last", "--yes"]).ends(0);
        place.bowline(&["resume", "last"]).ends(0);
        let sent = place.read("task/project/args.json");
        assert!(sent.contains("[secret PAY_TOKEN]"), "{disguise}: {sent}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_told_without_secrets() {
    let place = Place::new();
    let patch = "--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-nothing like it\\n+new\\n";
    let replies = format!(
        "  main:\n    - calls: [{{tool: patch_file, args: {{path: x, patch: \"{patch}\"}}}}]\n    \
         - expect: {{error: true, last_contains: [\"hunk 1 does not fit\", \"[secret PAY_TOKEN]\"]}}\n      say: done\n"
    );
    with_a_secret(&place, &replies);
    place.write("task/project/x", "the token is tok-12345678\n");
    place.bowline(&["run", "task"]).ends(0);
    let told = place.bowline(&["show", "last", "--events"]).ends(0).good();
    assert!(told.contains("a1.0: refused") && !told.contains("tok-12345678"), "{told}");
}

#[test]
fn a_link_in_the_folder_an_agent_may_write_leads_nowhere() {
    let place = Place::new();
    let write = |path: &str| format!("{{tool: write_file, args: {{path: {path}, content: new}}}}");
    let replies = format!(
        "  main:\n    - calls: [{}, {}]\n    - expect: {{error: true}}\n      say: done\n",
        write("drafts/own"),
        write("drafts/out/plan")
    );
    place.write("task/agent.toml", MANIFEST).write("task/project/plans/plan", "old");
    place.write("task/project/drafts/a", "");
    std::os::unix::fs::symlink("../plans", place.path("task/project/drafts/out")).unwrap();
    place.write("task/model.yaml", &format!("script: 1\nconversations:\n{replies}"));
    let task = "goal = \"g\"\nagent = \"agent.toml\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n";
    place.write("task/task.toml", task);
    place.bowline(&["run", "task"]).ends(0);
    assert_eq!(place.read("task/project/plans/plan"), "old", "the link widened the grant");
    assert_eq!(place.read("task/project/drafts/own"), "new");
}
