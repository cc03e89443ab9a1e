//! What a task allows, in words, for a person who did not write it.
//!
//! Read from the validated task, so it says what is enforced. Texts of the task stand in it as
//! they are: whoever prints the lines escapes them.

use super::{Sandbox, Task, ToolChoice, WorkspaceMode};
use crate::tool::Consent;
use crate::undo::How;

/// Lines for a person: where it works, what its programs may do, which commands it brings,
/// what it does without asking.
#[must_use]
pub fn explain(task: &Task) -> Vec<String> {
    let mode = match task.workspace.mode {
        WorkspaceMode::InPlace => "the folder itself",
        WorkspaceMode::Copy => "a copy of it",
        WorkspaceMode::Isolated => "a copy of it, whose changes are brought to the folder at the end",
    };
    let mut lines = vec![format!("works in   {}: {mode}", task.workspace.path)];
    lines.push(format!("programs   {}", walls(&task.sandbox)));
    let hosts = &task.network.hosts;
    let reached = if hosts.is_empty() { "nothing".to_owned() } else { hosts.join(", ") };
    lines.push(format!("reaches    {reached}"));
    lines.extend(
        commands(task).into_iter().map(|(what, argv)| format!("command    {what}: {}", argv.join(" "))),
    );
    let unasked: Vec<&str> =
        task.tools.iter().filter(|tool| is_unasked(tool)).map(|tool| tool.name.as_str()).collect();
    if !unasked.is_empty() {
        lines.push(format!("not asked  {}", unasked.join(", ")));
    }
    if let Some(agent) = &task.agent {
        lines.push(format!("agent      {}", agent.name));
        lines.extend(agent.secrets.keys().map(|name| format!("secret     {name}")));
        lines.extend(agent.servers.iter().map(|server| format!("server     {}", server.name)));
    }
    lines
}

fn walls(sandbox: &Sandbox) -> String {
    let also = |verb: &str, paths: &[String]| match paths {
        [] => String::new(),
        paths => format!(", may also {verb} {}", paths.join(", ")),
    };
    match sandbox {
        Sandbox::Cage { read, write } => {
            format!("in a cage around the workspace{}{}", also("read", read), also("write", write))
        }
        Sandbox::IfAvailable => {
            "WITHOUT A SANDBOX where the machine has none: they may do what you may do".into()
        }
        Sandbox::None => "WITHOUT A SANDBOX: they may do what you may do".into(),
    }
}

/// It writes or runs something, and the task says that nobody is asked.
fn is_unasked(tool: &ToolChoice) -> bool {
    tool.consent == Some(Consent::NotNeeded)
}

/// Every program the task brings, with what it is for.
fn commands(task: &Task) -> Vec<(String, &[String])> {
    let mut found: Vec<(String, &[String])> = Vec::new();
    for tool in &task.tools {
        if let Some(command) = &tool.command {
            found.push((format!("tool {}", tool.name), &command.argv));
            found.extend(command.probe.as_deref().map(|argv| (format!("probe of {}", tool.name), argv)));
        }
        if let Some(How::Command { argv, probe, .. }) = tool.undo.as_deref().map(|undo| &undo.how) {
            found.push((format!("undo of {}", tool.name), argv));
            found.extend(probe.as_deref().map(|argv| (format!("probe of the undo of {}", tool.name), argv)));
        }
    }
    for check in &task.checks {
        found.extend(check.how.program().map(|argv| (format!("check {}", check.name), argv)));
    }
    found.extend(task.on_alert.as_deref().map(|argv| ("on an alert".to_owned(), argv)));
    found.extend(
        task.memory.as_ref().map(|memory| ("takes what is committed".to_owned(), memory.promote.as_slice())),
    );
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::parse;

    #[test]
    fn everything_that_is_run_reached_or_not_asked_about_is_told() {
        let task = parse(&json!({
            "goal": "x", "model": "scripted:m.yaml", "sandbox": "none", "on_alert": ["./page"],
            "workspace": { "path": "/" }, "network": { "hosts": ["example.com"] },
            "memory": { "promote": ["./keep"] },
            "tools": ["read_file"],
            "tool": [
                { "name": "run_command", "consent": "not-needed" },
                { "name": "pay", "command": ["./pay"], "description": "pays", "schema": {}, "probe": ["./paid"],
                  "undo": { "command": ["./refund"], "probe": ["./refunded"] } },
            ],
            "check": [{ "name": "tests", "command": ["make", "test"] }],
        }))
        .unwrap();
        let lines = explain(&task).join("\n");
        for line in [
            "works in   /: the folder itself",
            "programs   WITHOUT A SANDBOX: they may do what you may do",
            "reaches    example.com",
            "command    tool pay: ./pay",
            "command    probe of pay: ./paid",
            "command    undo of pay: ./refund",
            "command    probe of the undo of pay: ./refunded",
            "command    check tests: make test",
            "command    on an alert: ./page",
            "command    takes what is committed: ./keep",
            "not asked  run_command",
        ] {
            assert!(lines.contains(line), "no {line:?} in\n{lines}");
        }
    }

    #[test]
    fn a_careful_task_says_so() {
        let task = parse(&json!({
            "goal": "x", "model": "scripted:m.yaml",
            "sandbox": { "read": ["/opt/tools"], "write": ["/var/build"] },
        }))
        .unwrap();
        let lines = explain(&task);
        assert!(lines.contains(&"reaches    nothing".to_owned()), "{lines:?}");
        let walls =
            "programs   in a cage around the workspace, may also read /opt/tools, may also write /var/build";
        assert!(lines.contains(&walls.to_owned()), "{lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("not asked")), "{lines:?}");
    }
}
