//! Manifests: what is read, what is refused, what is laid over what.

use serde_json::{Value, json};

use super::{
    Capabilities, Gate, Manifest, McpGrant, Paths, Privacy, Programs, covers, explain, outfit, overlay, parse,
};

fn manifest(raw: &Value) -> Manifest {
    parse(raw).unwrap_or_else(|bad| panic!("it is refused: {bad}"))
}

fn refused(raw: &Value) -> String {
    parse(raw).expect_err("it is read").to_string()
}

fn reviewer() -> Value {
    json!({
        "name": "reviewer",
        "model": "scripted:model.yaml",
        "tools": ["read_file", "write_file"],
        "tool": [{ "name": "run_command", "consent": "not-needed" }],
        "capabilities": { "file_read": ["."], "file_write": ["out"], "shell": ["python3"] },
        "limits": { "steps": 20 },
    })
}

#[test]
fn a_manifest_that_grants_nothing_grants_nothing() {
    let agent = manifest(&json!({ "name": "nobody" })).agent;
    assert_eq!(agent.capabilities, Capabilities::default());
    assert_eq!((agent.gates.tainted, agent.gates.out_of_policy), (Gate::Ask, Gate::Refuse));
}

#[test]
fn unknown_and_misplaced_keys_are_refused_with_what_was_meant() {
    let problems =
        refused(&json!({ "name": "x", "capabilites": {}, "file_read": ["."], "gates": { "taint": "ask" } }));
    assert!(problems.contains("did you mean `capabilities`?"), "{problems}");
    assert!(problems.contains("`file_read` belongs in `[capabilities]` of an agent manifest"), "{problems}");
    assert!(problems.contains("did you mean `tainted`?"), "{problems}");
}

#[test]
fn a_secret_that_is_written_down_is_refused_and_not_repeated() {
    let problems = refused(&json!({ "name": "x", "secrets": { "TOKEN": "hunter2hunter2" } }));
    assert!(problems.contains("never written into a manifest"), "{problems}");
    assert!(!problems.contains("hunter2"), "{problems}");
    let both = refused(&json!({ "name": "x", "secrets": { "TOKEN": { "env": "A", "file": "b" } } }));
    assert!(both.contains("in one place"), "{both}");
}

#[test]
fn grants_that_leave_the_workspace_or_name_no_tool_are_refused() {
    let problems = refused(&json!({ "name": "x", "capabilities": {
        "file_read": ["../other"], "file_write": ["/etc"], "mcp": ["git"], "spawn": 99, "inference": "yes",
    } }));
    for part in
        ["\"../other\" leaves", "\"/etc\" leaves", "names no tool of a server", "spawn", "true or false"]
    {
        assert!(problems.contains(part), "{part} is not in {problems}");
    }
}

#[test]
fn what_leaves_a_grant_cannot_be_allowed_by_a_gate() {
    let problems =
        refused(&json!({ "name": "x", "gates": { "out_of_policy": "allow", "secrets": "allow" } }));
    assert_eq!(problems.matches("none of \"ask\" or \"refuse\"").count(), 2, "{problems}");
}

#[test]
fn a_manifest_laid_over_another_keeps_what_it_does_not_say() {
    let own = json!({ "name": "strict", "extends": "base.toml", "limits": { "tokens": 5 },
        "tool": [{ "name": "run_command", "consent": "ask" }, { "name": "list_files" }] });
    let laid = overlay(reviewer(), own);
    assert_eq!(laid["name"], "strict");
    assert_eq!(laid["limits"], json!({ "steps": 20, "tokens": 5 }));
    assert_eq!(laid["tool"], json!([{ "name": "run_command", "consent": "ask" }, { "name": "list_files" }]));
    assert_eq!(laid["capabilities"], reviewer()["capabilities"]);
    assert!(laid.get("extends").is_none(), "it was followed");
    manifest(&laid);
}

#[test]
fn a_manifest_whose_base_was_not_read_is_refused() {
    assert!(
        refused(&json!({ "name": "x", "extends": "base.toml" })).contains("what it extends was not read")
    );
}

#[test]
fn a_task_takes_from_its_agent_what_it_does_not_say() {
    let task = outfit(&json!({ "goal": "g", "agent": "a.toml" }), &manifest(&reviewer())).unwrap();
    assert_eq!(task.model, "scripted:model.yaml");
    assert_eq!(task.tools.len(), 3);
    assert_eq!(task.limits.steps, 20);
    assert_eq!(task.agent.unwrap().name, "reviewer");
}

#[test]
fn a_task_that_names_a_tool_means_it_with_its_agents_settings() {
    let task = outfit(&json!({ "goal": "g", "tools": ["run_command"] }), &manifest(&reviewer())).unwrap();
    assert_eq!(task.tools, manifest(&reviewer()).tools[2..]);
}

#[test]
fn a_task_cannot_ask_for_more_than_its_agent_has() {
    let raw = json!({ "goal": "g", "tools": ["read_file", "list_files"], "limits": { "steps": 21 },
        "tool": [{ "name": "run_command", "timeout_seconds": 9 }] });
    let problems = outfit(&raw, &manifest(&reviewer())).expect_err("it is read").to_string();
    assert!(problems.contains("\"list_files\", and the agent reviewer has no such tool"), "{problems}");
    assert!(problems.contains("\"run_command\", and the agent reviewer has other settings"), "{problems}");
    assert!(
        problems.contains("limits.steps: the task asks for more than its agent has: 21 of 20"),
        "{problems}"
    );
}

#[test]
fn a_task_whose_agent_was_not_read_is_refused() {
    let bad = crate::task::parse(&json!({ "goal": "g", "model": "a:b", "agent": "a.toml" })).unwrap_err();
    assert!(bad.to_string().contains("the manifest of the agent was not read"), "{bad}");
}

#[test]
fn a_granted_path_covers_itself_and_what_lies_below_and_nothing_else() {
    for (grant, path) in [(".", "a/b"), ("a", "a"), ("a", "a/b"), ("./a/", "a//b"), ("a/b", "./a/b/c")] {
        assert!(covers(grant, path), "{grant} covers {path}");
    }
    for (grant, path) in
        [("a", "b"), ("a", "ab"), ("a/b", "a"), ("a", "a/../b"), (".", ".."), (".", "/etc"), ("a", "/a")]
    {
        assert!(!covers(grant, path), "{grant} does not cover {path}");
    }
}

#[test]
fn a_childs_capabilities_are_a_subset_of_its_parents() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mcp = |tool: Option<&str>| McpGrant { server: "git".into(), tool: tool.map(str::to_owned) };
    let parent = Capabilities {
        file_read: Paths(words(&["."])),
        file_write: Paths(words(&["out"])),
        shell: Programs::Named(words(&["ls"])),
        network: words(&["a.example"]),
        mcp: vec![mcp(None)],
        inference: false,
        spawn: 2,
    };
    let fine = Capabilities {
        file_read: Paths(words(&["src"])),
        file_write: Paths(words(&["out/log"])),
        shell: Programs::Named(words(&["ls"])),
        network: words(&["a.example"]),
        mcp: vec![mcp(Some("log"))],
        inference: false,
        spawn: 1,
    };
    assert_eq!(fine.within(&parent), Ok(()));
    let beyond = |change: &dyn Fn(&mut Capabilities)| {
        let mut child = fine.clone();
        change(&mut child);
        child.within(&parent).expect_err("it is within").capability
    };
    assert_eq!(beyond(&|child| child.file_read = Paths(words(&[".."]))), "file_read");
    assert_eq!(beyond(&|child| child.file_write = Paths(words(&["."]))), "file_write");
    assert_eq!(beyond(&|child| child.shell = Programs::Any), "shell");
    assert_eq!(beyond(&|child| child.shell = Programs::Named(words(&["rm"]))), "shell");
    assert_eq!(beyond(&|child| child.network = words(&["*"])), "network");
    assert_eq!(beyond(&|child| child.mcp = vec![McpGrant { server: "pay".into(), tool: None }]), "mcp");
    assert_eq!(beyond(&|child| child.inference = true), "inference");
    assert_eq!(beyond(&|child| child.spawn = 2), "spawn");
    let nobody = Capabilities::default();
    assert_eq!(nobody.within(&nobody), Ok(()), "who starts nobody asks for nothing");
    let narrow = Capabilities { mcp: vec![mcp(Some("log"))], ..parent.clone() };
    assert_eq!(
        Capabilities { mcp: vec![mcp(None)], spawn: 0, ..fine }.within(&narrow).unwrap_err().capability,
        "mcp"
    );
}

#[test]
fn a_workspace_is_whole_only_for_who_reads_and_writes_all_of_it() {
    let whole = |read: &[&str], write: &[&str]| {
        let paths = |paths: &[&str]| Paths(paths.iter().map(|path| (*path).to_owned()).collect());
        Capabilities { file_read: paths(read), file_write: paths(write), ..Capabilities::default() }
            .has_whole_workspace()
    };
    assert!(whole(&["."], &["."]) && whole(&["src", "./"], &[".//."]));
    assert!(!whole(&["."], &[]) && !whole(&[], &["."]) && !whole(&[], &[]));
    assert!(!whole(&["."], &["src", "docs"]) && !whole(&["src"], &["."]) && !whole(&["/"], &[".."]));
}

#[test]
fn an_explanation_names_what_is_granted_what_is_not_and_who_is_asked() {
    let text = explain(&manifest(&reviewer())).join("\n");
    for part in [
        "agent reviewer",
        "may      read every file of its workspace",
        "may      write out of its workspace",
        "may      run python3",
        "sandbox  a cage around the workspace",
        "may not  reach the network",
        "may not  start other agents",
        "tools    read_file, write_file, run_command",
        "asks     a person about a value that only untrusted text has named",
        "asks     nobody: what its capabilities do not cover is refused",
        "steps 20",
        "policy   sha256 ",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn the_policy_hash_changes_with_everything_that_is_granted() {
    let policy = |raw: &Value| manifest(raw).agent.policy();
    let mut other = reviewer();
    assert_eq!(policy(&reviewer()), policy(&other));
    other["capabilities"]["shell"] = json!(["python3", "rm"]);
    assert_ne!(policy(&reviewer()), policy(&other));
}

#[test]
fn a_task_reaches_no_host_and_is_no_laxer_than_its_agent() {
    let mut raw = reviewer();
    raw["privacy"] = json!("private");
    raw["capabilities"]["network"] = json!(["a.example", "b.example"]);
    let agent = manifest(&raw);
    let task = outfit(&json!({ "goal": "g" }), &agent).unwrap();
    assert_eq!(task.network.hosts, ["a.example", "b.example"]);
    assert_eq!(task.privacy, Privacy::Private);
    let less = json!({ "goal": "g", "network": { "hosts": ["a.example"] }, "privacy": "sovereign" });
    assert_eq!(outfit(&less, &agent).unwrap().network.hosts, ["a.example"]);
    let more = json!({ "goal": "g", "network": { "hosts": ["c.example"] }, "privacy": "standard" });
    let problems = outfit(&more, &agent).expect_err("it is read").to_string();
    assert!(problems.contains("reaches \"c.example\""), "{problems}");
    assert!(problems.contains("says standard, and the agent reviewer is private"), "{problems}");
}

#[test]
fn an_agent_with_programs_reads_its_whole_workspace() {
    let problems =
        refused(&json!({ "name": "x", "capabilities": { "file_read": ["src"], "shell": ["python3"] } }));
    assert!(problems.contains("capabilities.shell: a program reads every file"), "{problems}");
}

#[test]
fn a_task_does_not_loosen_what_its_agent_runs_in() {
    let agent = manifest(&reviewer());
    let refused = |raw: Value| outfit(&raw, &agent).expect_err("it is read").to_string();
    for sandbox in [json!("none"), json!("if-available"), json!({ "write": ["/srv"] })] {
        let problems = refused(json!({ "goal": "g", "sandbox": sandbox }));
        assert!(
            problems.contains("sandbox: the agent reviewer runs programs in a stricter one"),
            "{problems}"
        );
    }
    let problems = refused(json!({ "goal": "g", "network": { "hosts": [], "ports": [22] } }));
    assert!(problems.contains("network.ports"), "{problems}");
    outfit(&json!({ "goal": "g", "sandbox": "cage" }), &agent).unwrap();
    let mut watched = reviewer();
    watched["guard"] = json!({ "read_repeats": 3 });
    let watched = manifest(&watched);
    let problems =
        outfit(&json!({ "goal": "g", "guard": { "read_repeats": 9 } }), &watched).unwrap_err().to_string();
    assert!(problems.contains("guard: the agent reviewer has settings of its own"), "{problems}");
    outfit(&json!({ "goal": "g", "guard": { "read_repeats": 3 } }), &watched).unwrap();
    outfit(&json!({ "goal": "g" }), &watched).unwrap();
}

#[test]
fn a_task_does_not_change_the_guard_its_agent_has() {
    let agent = manifest(&json!({ "name": "x", "model": "a:b", "guard": { "blocks": 2 } }));
    let outfitted = |raw: Value| outfit(&raw, &agent).map(|task| task.guard.blocks);
    let problems = outfitted(json!({ "goal": "g", "guard": { "blocks": 9 } })).expect_err("it is laxer");
    assert!(problems.to_string().contains("guard: the agent x has settings of its own"), "{problems}");
    assert_eq!(outfitted(json!({ "goal": "g" })).unwrap(), 2);
    assert_eq!(outfitted(json!({ "goal": "g", "guard": { "blocks": 2 } })).unwrap(), 2);
    let silent = manifest(&json!({ "name": "y", "model": "a:b" }));
    let own = outfit(&json!({ "goal": "g", "guard": { "blocks": 9 } }), &silent).unwrap();
    assert_eq!(own.guard.blocks, 9, "an agent that says nothing leaves it to the task");
}

#[test]
fn what_an_agent_may_not_read_comes_in_by_no_other_way() {
    let narrow = json!({ "name": "x", "model": "a:b", "capabilities": { "file_read": ["src"], "file_write": ["src"] } });
    let agent = manifest(&narrow);
    let refused_task = |raw: Value| outfit(&raw, &agent).expect_err("it is read").to_string();
    assert!(refused_task(json!({ "goal": "g", "evidence": ["private/key"] })).contains("\"private/key\""));
    let check = json!([{ "name": "tests", "command": ["python3"] }]);
    assert!(
        refused_task(json!({ "goal": "g", "check": check })).contains("reads every file of the workspace")
    );
    let wider = json!({ "name": "x", "capabilities": { "file_read": ["src"], "file_write": ["."] } });
    assert!(refused(&wider).contains("may be written and not read"), "{}", refused(&wider));
    let server = json!({ "name": "x", "mcp": [{ "name": "git", "command": ["git-server"] }] });
    assert!(refused(&server).contains("a server that is started reads every file"), "{}", refused(&server));
}
