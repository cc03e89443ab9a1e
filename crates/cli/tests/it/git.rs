//! Branches and commits that runs make in a repository, and how they are taken back.

use std::process::Command;

use crate::Place;

const SETTINGS: &str = r#"
goal = "Note it"
review = "never"
tools = ["write_file", "git_branch", "git_commit"]
[workspace]
path = "project"
mode = "in-place"
"#;

const REPLIES: &str = "  main:
    - calls: [{tool: write_file, args: {path: note.txt, content: noted}}]
    - calls: [{tool: git_branch, args: {name: before}}]
    - calls: [{tool: git_commit, args: {message: Note it}}]
    - say: noted
";

/// A task about a repository with one commit; nothing where there is no git.
fn place(more: &str) -> Option<Place> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: git is not installed");
        return None;
    }
    let place = Place::new();
    place.task(&format!("{SETTINGS}{more}"), REPLIES).write("task/project/kept.txt", "kept\n");
    git(&place, &["init", "-q", "-b", "main"]);
    git(&place, &["config", "user.name", "Ann"]);
    git(&place, &["config", "user.email", "ann@example.org"]);
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "first"]);
    Some(place)
}

#[track_caller]
fn git(place: &Place, words: &[&str]) -> String {
    let ran = Command::new("git").args(words).current_dir(place.path("task/project")).output().unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
}

/// Branches with their commits, and what differs from them.
fn state(place: &Place) -> (String, String) {
    (git(place, &["for-each-ref", "--format=%(refname) %(subject)"]), git(place, &["status", "--porcelain"]))
}

fn before() -> (String, String) {
    ("refs/heads/main first".into(), String::new())
}

#[test]
fn a_run_that_fails_leaves_neither_its_commit_nor_its_branch_nor_its_file() {
    let Some(place) = place("[limits]\nrepairs = 0\n[[check]]\nname = \"never\"\ncommand = [\"false\"]\n")
    else {
        return;
    };
    place
        .bowline(&["run", "task"])
        .ends(1)
        .says("a3.0: git_commit")
        .says("a3.0: undone")
        .says("a2.0: undone");
    assert_eq!(state(&place), before());
    assert!(!place.path("task/project/note.txt").exists());
}

#[test]
fn a_committed_run_is_undone_by_a_person_and_what_others_built_on_it_stays() {
    let Some(place) = place("") else { return };
    place.bowline(&["run", "task"]).ends(0);
    let made = "refs/heads/before first\nrefs/heads/main Note it";
    assert_eq!(state(&place), (made.to_owned(), String::new()));
    place.bowline(&["undo", "last", "--dry-run"]).ends(0).says("a3.0  git_commit");
    git(&place, &["commit", "-q", "--allow-empty", "-m", "theirs"]);
    place.bowline(&["undo", "last", "--yes"]).ends(5).says("so it stays").says("git revert");
    assert_eq!(git(&place, &["log", "--format=%s"]), "theirs\nNote it\nfirst");
    git(&place, &["reset", "-q", "--soft", "HEAD~1"]);
    place.bowline(&["undo", "last", "--yes"]).ends(0);
    assert_eq!(state(&place), before());
}

#[test]
fn killed_at_any_event_a_run_makes_each_branch_and_commit_once() {
    for event in [7, 9, 12, 13, 14, 15, 17, 18, 19, 20, 21] {
        let Some(place) = place("") else { return };
        let mut running = place.start(&["run", "task", "--json"]);
        running.until_event(event);
        running.kill();
        place.bowline(&["resume", "last"]).ends(0);
        let made = "refs/heads/before first\nrefs/heads/main Note it";
        assert_eq!(state(&place), (made.to_owned(), String::new()), "killed at {event}");
        place.bowline(&["undo", "last", "--yes"]).ends(0);
        assert_eq!(state(&place), before(), "killed at {event}");
    }
}

/// What somebody else's settings name as programs: each leaves its mark when it runs.
fn traps(place: &Place) {
    let mark = |name: &str| format!("sh -c 'touch {}; cat'", place.path(&format!("ran-{name}")).display());
    for (key, name) in [
        ("filter.trap.clean", "clean"),
        ("filter.trap.smudge", "smudge"),
        ("filter.other.process", "process"),
        ("diff.trap.textconv", "textconv"),
        ("diff.trap.command", "diff"),
        ("merge.trap.driver", "merge"),
        ("core.fsmonitor", "fsmonitor"),
        ("gpg.program", "gpg"),
        ("gpg.ssh.program", "gpg-ssh"),
        ("gpg.ssh.defaultKeyCommand", "gpg-key"),
        ("core.sshCommand", "ssh"),
        ("core.pager", "pager"),
        ("core.editor", "editor"),
        ("core.alternateRefsCommand", "alternates"),
        ("uploadpack.packObjectsHook", "pack"),
        ("credential.helper", "credential"),
        ("trailer.x.command", "trailer"),
        ("hook.x.command", "hook-command"),
    ] {
        git(
            place,
            &["config", "--file", &place.path("home/.gitconfig").display().to_string(), key, &mark(name)],
        );
    }
    let hooks = place.path("hooks");
    let user = place.path("home/.gitconfig").display().to_string();
    for (key, value) in [
        ("filter.trap.required", "true"),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("core.hooksPath", &hooks.display().to_string()),
        ("hook.x.event", "reference-transaction"),
    ] {
        git(place, &["config", "--file", &user, key, value]);
    }
    for hook in ["reference-transaction", "post-index-change", "pre-commit", "post-commit"] {
        place.write(
            &format!("hooks/{hook}"),
            &format!("#!/bin/sh\ntouch {}\n", place.path("ran-hook").display()),
        );
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path(&format!("hooks/{hook}")), runs).unwrap();
    }
}

/// The names of the traps that were sprung.
fn sprung(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("ran-")).collect()
}

/// A run whose model writes attributes and files, and commits one of them, with the user's
/// settings full of traps.
fn trapped(sandbox: &str, attributes: &str, commit: &str) -> Option<(Place, crate::Ran)> {
    let place = place("")?;
    let settings = place.read("task/task.toml").replace("sandbox = \"none\"\n", "");
    place.write("task/task.toml", &format!("{sandbox}\n{settings}"));
    place.write("home/.keep", "").write("task/project/tracked.bin", "one\n");
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "second"]);
    traps(&place);
    place.write(
        "task/model.yaml",
        &format!(
            "script: 1\nconversations:\n  main:\n    - calls: [{{tool: write_file, args: {{path: .gitattributes, content: \"{attributes}\"}}}}]\n    \
             - calls: [{{tool: write_file, args: {{path: new.bin, content: two}}}}]\n    \
             - calls: [{{tool: write_file, args: {{path: tracked.bin, content: \"two\\n\"}}}}]\n    \
             - calls: [{{tool: write_file, args: {{path: note.txt, content: noted}}}}]\n    \
             - calls: [{{tool: git_commit, args: {commit}}}]\n    - say: noted\n"
        ),
    );
    let mut command = place.command(&["run", "task"]);
    command.env("HOME", place.path("home"));
    let ran = crate::ran(command);
    Some((place, ran))
}

const SANDBOXES: [&str; 2] = ["sandbox = \"none\"", "sandbox = \"cage\""];

#[test]
fn a_commit_runs_no_program_that_settings_name_for_files_it_was_not_asked_about() {
    for sandbox in SANDBOXES {
        let attributes = "*.bin filter=trap diff=trap merge=trap\\n";
        let Some((place, ran)) = trapped(sandbox, attributes, "{message: Note, paths: [note.txt]}") else {
            return;
        };
        assert_eq!(sprung(&place), [""; 0], "{sandbox}");
        ran.ends(0);
        assert_eq!(
            git(&place, &["log", "-1", "--format=%s", "--name-only"]),
            "Note\n\nnote.txt",
            "{sandbox}"
        );
    }
}

#[test]
fn a_file_with_a_filter_is_refused_without_running_it() {
    for sandbox in SANDBOXES {
        for filter in ["trap", "other", "nobody-has-it"] {
            let attributes = format!("*.bin filter={filter}\\n");
            let Some((place, ran)) = trapped(sandbox, &attributes, "{message: Note}") else { return };
            assert_eq!(sprung(&place), [""; 0], "{sandbox} {filter}");
            ran.ends(0);
            assert_eq!(git(&place, &["log", "-1", "--format=%s"]), "second", "{sandbox} {filter}");
        }
    }
}

#[test]
fn a_filter_that_the_agent_takes_out_of_the_attributes_still_counts() {
    let Some(place) = place("") else { return };
    place.write("task/project/.gitattributes", "*.key filter=crypt\n");
    git(&place, &["config", "filter.crypt.clean", "rev"]);
    place.write("task/project/my.key", "abc\n");
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "second"]);
    place.write(
        "task/model.yaml",
        "script: 1\nconversations:\n  main:\n    - calls: [{tool: write_file, args: {path: .gitattributes, content: none}}]\n    \
         - calls: [{tool: write_file, args: {path: my.key, content: changed}}]\n    \
         - calls: [{tool: git_commit, args: {message: Plain}}]\n    - say: noted\n",
    );
    place.bowline(&["run", "task"]).ends(0);
    assert_eq!(git(&place, &["log", "-1", "--format=%s"]), "second");
}

#[test]
fn a_commit_in_a_cage_knows_who_you_are_and_what_you_ignore_also_in_a_worktree() {
    if crate::no_cage() {
        return;
    }
    let Some(place) = place("") else { return };
    let other = place.path("other").display().to_string();
    git(&place, &["worktree", "add", "-q", "-b", "side", &other]);
    git(&place, &["config", "--unset", "user.name"]);
    place.write("home/.gitconfig", "[user]\nname = Zoe\n[core]\nexcludesFile = ~/ignored\n");
    place.write("home/ignored", "*.log\n").write("other/x.log", "").write("task/project/x.log", "");
    let settings = place.read("task/task.toml").replace("sandbox = \"none\"\n", "");
    for folder in ["project", "../other"] {
        place.write("task/task.toml", &settings.replace("\"project\"", &format!("{folder:?}")));
        let replies = REPLIES.replace("{name: before}", &format!("{{name: {}}}", folder.len()));
        place.write("task/model.yaml", &format!("script: 1\nconversations:\n{replies}"));
        let mut command = place.command(&["run", "task"]);
        command.env("HOME", place.path("home"));
        crate::ran(command).ends(0);
    }
    for branch in ["main", "side"] {
        let words = ["log", "-1", "--format=%an %s", "--name-only", branch];
        assert_eq!(git(&place, &words), "Zoe Note it\n\nnote.txt", "{branch}");
    }
}

#[test]
fn settings_that_the_agent_can_write_are_not_used() {
    for sandbox in SANDBOXES {
        let Some(place) = place("") else { return };
        git(&place, &["config", "include.path", "../shared.conf"]);
        let settings = place.read("task/task.toml").replace("sandbox = \"none\"\n", "");
        place.write("task/task.toml", &format!("{sandbox}\n{settings}"));
        let trap = format!("[filter \"x\"]\nclean = touch {}\n", place.path("ran-clean").display());
        place.write("task/project/shared.conf", &trap);
        place.bowline(&["run", "task"]).ends(0);
        assert_eq!(git(&place, &["log", "-1", "--format=%s"]), "first", "{sandbox}");
        assert_eq!(sprung(&place), [""; 0], "{sandbox}");
    }
}
