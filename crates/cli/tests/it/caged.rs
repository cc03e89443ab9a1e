//! Programs of a task run in a cage; skipped, with the reason, where there is none.

use std::path::Path;

use crate::{Place, no_cage};

/// A task whose program does what `project/try.sh` says, in the sandbox of these settings.
fn trying(sandbox: &str, script: &str) -> Place {
    let place = Place::new();
    let settings = format!(
        "{sandbox}\ngoal = \"Try\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n[[tool]]\nname = \"try\"\n\
         command = [\"sh\", \"./try.sh\"]\ndescription = \"Tries.\"\nschema = {{ type = \"object\" }}\nconsent = \"not-needed\"\n"
    );
    let replies = "  main:\n    - calls: [{tool: try, args: {n: 1}}]\n    - say: tried\n";
    place.task(&settings, replies).write("task/try.sh", script).write("task/project/x", "text");
    place
        .write("secret", "secret")
        .write("task/project/.env", "KEY=1")
        .write("task/project/.git/config", "git");
    place
}

const CAGE: &str = "sandbox = \"cage\"";

#[test]
fn a_program_of_the_task_works_in_the_workspace_and_knows_its_call() {
    if no_cage() {
        return;
    }
    let place = trying(CAGE, "cat x - > made; echo $BOWLINE_ACTION >> made");
    let ran = place.bowline(&["run", "task"]);
    assert!(!ran.err.contains("not sandboxed"), "{}", ran.err);
    ran.ends(0);
    assert_eq!(place.read("task/project/made"), "text{\"n\":1}a1.0\n");
}

#[test]
fn what_is_not_granted_cannot_be_read_written_or_reached() {
    if no_cage() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = Place::new();
    let (secret, new) = (place.path("secret"), place.path("new"));
    let tries = [
        format!("cat {}", secret.display()),
        format!("echo x > {}", new.display()),
        "cat .env".to_owned(),
        "echo x > .git/config".to_owned(),
        "mkdir .agent/x".to_owned(),
        format!("bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'"),
    ];
    let script: String =
        tries.iter().map(|line| format!("({line}) && echo \"{line}\" >> worked\n")).collect();
    for (sandbox, worked) in [(CAGE, 0), ("sandbox = \"none\"", 5)] {
        let tried = trying(sandbox, &format!("mkdir -p .agent 2>/dev/null\n{script}true\n"));
        std::fs::write(&secret, "secret").unwrap();
        tried.bowline(&["run", "task"]).ends(0);
        let found = std::fs::read_to_string(tried.path("task/project/worked")).unwrap_or_default();
        assert!(found.lines().count() >= worked && (worked > 0 || found.is_empty()), "{sandbox}: {found}");
    }
}

#[test]
fn what_the_task_grants_can_be_used() {
    if no_cage() {
        return;
    }
    let place = trying("", "cat ../../granted/a > ../../out/b");
    let settings = place.read("task/task.toml").replace("sandbox = \"none\"\n", "");
    place.write(
        "task/task.toml",
        &format!("{settings}[sandbox]\nread = [\"../granted\"]\nwrite = [\"../out\"]\n"),
    );
    place.write("granted/a", "granted").write("out/x", "");
    place.bowline(&["run", "task"]).ends(0);
    assert_eq!(place.read("out/b"), "granted");
}

#[test]
fn without_bubblewrap_a_task_with_programs_is_refused_and_says_what_to_install() {
    let place = trying(CAGE, "true");
    let mut command = place.command(&["run", "task"]);
    command.env("PATH", place.path("nothing"));
    let ran = crate::ran(command);
    ran.ends(2).complains("sandbox missing").complains("install bubblewrap").complains("sandbox = \"none\"");
    assert!(!Path::new(&place.path("task/project/made")).exists());
}

#[test]
fn a_task_that_can_do_without_a_cage_runs_without_one_and_says_so() {
    let place = trying("sandbox = \"if-available\"", ": > made");
    std::fs::create_dir(place.path("programs")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", place.path("programs/sh")).unwrap();
    let mut command = place.command(&["run", "task"]);
    command.env("PATH", place.path("programs"));
    let ran = crate::ran(command);
    assert!(ran.err.contains("not sandboxed"), "{}", ran.err);
    ran.ends(0);
    assert!(Path::new(&place.path("task/project/made")).exists());
}

#[test]
fn a_doctor_tries_every_wall() {
    if no_cage() {
        return;
    }
    let doctor = Place::new().bowline(&["doctor"]);
    doctor.ends(0).says("a granted folder can be written").says("the network cannot be reached");
}
