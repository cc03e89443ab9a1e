//! What a task and its caged programs reach over the network; parts that need a
//! cage are skipped, with the reason, where there is none.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::{Place, no_cage};

/// A server on this machine that says hello to everyone and tells what it was asked.
struct Server {
    port: u16,
    asked: Receiver<String>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, asked) = sync_channel(64);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap_or(0);
                let _ = tell.send(String::from_utf8_lossy(&head[..read]).into_owned());
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello");
            }
        });
        Self { port, asked }
    }
}

/// A task whose program is this script, with these settings above its tables.
fn trying(settings: &str, tables: &str, script: &str) -> Place {
    let place = Place::new();
    let settings = format!(
        "{settings}\ngoal = \"Try\"\nreview = \"never\"\n[workspace]\npath = \"project\"\n{tables}\n[[tool]]\nname = \"try\"\n\
         command = [\"bash\", \"./try.sh\"]\ndescription = \"Tries.\"\nschema = {{ type = \"object\" }}\nconsent = \"not-needed\"\n"
    );
    let replies = "  main:\n    - calls: [{tool: try, args: {}}]\n    - say: tried\n";
    place.task(&settings, replies).write("task/try.sh", script).write("task/project/x", "text");
    place
}

const CAGE: &str = "sandbox = \"cage\"";

#[test]
fn a_caged_program_reaches_what_was_granted_through_the_proxy_and_nothing_else() {
    if no_cage() {
        return;
    }
    if !Path::new("/usr/bin/curl").exists() {
        println!("skipped: there is no curl in /usr/bin");
        return;
    }
    let (granted, other) = (Server::start(), Server::start());
    let (port, elsewhere) = (granted.port, other.port);
    let script = format!(
        "curl -s --max-time 20 http://127.0.0.1:{port}/path > got\n\
         curl -s --max-time 20 http://127.0.0.1:{elsewhere}/ > port\n\
         curl -s --max-time 20 http://evil.test/ > name\n\
         curl -s --max-time 5 --noproxy '*' http://127.0.0.1:{port}/ > direct || echo failed > direct\n\
         (echo x > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo x > socket\n\
         env | grep -i _proxy | sort > variables\ntrue\n"
    );
    let place = trying(CAGE, &format!("[network]\nhosts = [\"127.0.0.1:{port}\"]"), &script);
    place.bowline(&["run", "task"]).ends(0);
    assert_eq!(place.read("task/project/got"), "hello");
    assert!(granted.asked.recv().unwrap().starts_with("GET /path HTTP/1.1\r\n"));
    assert!(
        place.read("task/project/port").contains("is not allowed"),
        "{}",
        place.read("task/project/port")
    );
    assert!(place.read("task/project/name").contains("evil.test is not in allowed_hosts"));
    assert_eq!(place.read("task/project/direct"), "failed\n");
    assert!(!place.path("task/project/socket").exists(), "a socket reached the machine");
    let variables = place.read("task/project/variables");
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
    ] {
        assert!(variables.lines().any(|line| line.starts_with(&format!("{name}="))), "{name}: {variables}");
    }
    assert!(
        granted.asked.try_recv().is_err() && other.asked.try_recv().is_err(),
        "asked behind the gate's back"
    );
}

#[test]
fn without_hosts_and_in_a_sovereign_task_programs_have_no_way_out() {
    if no_cage() {
        return;
    }
    let server = Server::start();
    let port = server.port;
    let script = format!(
        "env > variables\n(echo x > /dev/tcp/127.0.0.1/3128) && echo x > socket\n(echo x > /dev/tcp/127.0.0.1/{port}) && echo x > socket\ntrue\n"
    );
    let sovereign = (
        format!("{CAGE}\nprivacy = \"sovereign\""),
        format!("[network]\nhosts = [\"127.0.0.1:{port}\", \"*\"]"),
    );
    for (settings, tables) in [(CAGE.to_owned(), String::new()), sovereign] {
        let place = trying(&settings, &tables, &script);
        place.bowline(&["run", "task"]).ends(0);
        let variables = place.read("task/project/variables");
        assert!(!variables.to_lowercase().contains("_proxy="), "{variables}");
        assert!(!place.path("task/project/socket").exists());
    }
    assert!(server.asked.try_recv().is_err());
}

#[test]
fn a_granted_host_is_fetched_by_the_tool_and_the_journal_says_in_what_programs_ran() {
    let server = Server::start();
    let place = Place::new();
    let settings = format!(
        "goal = \"Fetch\"\nreview = \"never\"\ntools = [\"fetch\"]\n[network]\nhosts = [\"127.0.0.1:{}\"]\n",
        server.port
    );
    let replies = format!(
        "  main:\n    - calls: [{{tool: fetch, args: {{url: \"http://127.0.0.1:{}/page\"}}}}]\n    - say: done\n",
        server.port
    );
    place.task(&settings, &replies).bowline(&["run", "task"]).ends(0);
    assert!(server.asked.recv().unwrap().starts_with("GET /page "));

    let place = trying("sandbox = \"none\"", "", "true");
    let ran = place.bowline(&["run", "task", "--json"]).ends(0);
    assert!(ran.out.contains("\"programs\":\"uncaged\""), "{}", ran.out);
}

#[test]
fn promises_that_nothing_would_hold_are_refused() {
    let refused = |settings: &str, tables: &str, words: &str| {
        let place = trying(settings, tables, "echo x > made");
        place.bowline(&["run", "task"]).ends(2).complains(words);
        assert!(!place.path("task/project/made").exists());
    };
    refused("sandbox = \"none\"\nprivacy = \"sovereign\"", "", "privacy is \"sovereign\"");
    refused("sandbox = \"none\"\nprivacy = \"private\"", "", "privacy is \"private\"");
    refused("sandbox = \"none\"", "[network]\nhosts = [\"a..b\"]", "a..b");
    refused("sandbox = \"none\"\nprivacy = \"private\"", "[network]\nhosts = [\"*\"]", "network.hosts[0]");
}

#[test]
fn what_belongs_to_others_is_kept_from_programs_wherever_it_lies() {
    if no_cage() {
        return;
    }
    let tries = [
        "cat a/.env",
        "cat config/prod.env",
        "cat .env",
        "echo x > a/b/.git/hooks/post-checkout",
        "mv a/b/.git a/b/git",
        "mv a/b a/c",
        "echo x > sub/.git",
        "echo x >> me/.bashrc",
        "echo x > me/.zshrc",
        "mkdir me/.ssh",
        "ls store/*",
        "echo x > store/new",
        "mv store other",
    ];
    let script: String =
        tries.iter().map(|line| format!("({line}) >/dev/null && echo \"{line}\" >> worked\n")).collect();
    // Without a cage every one of them works, so it is the cage that holds them.
    for (settings, expected) in [(CAGE, 0), ("sandbox = \"none\"", tries.len())] {
        let place = trying(settings, "", &format!("{script}echo own > sub/.env\ntrue\n"));
        for (path, text) in [
            ("a/.env", "KEY=1"),
            ("config/prod.env", "KEY=1"),
            ("a/b/.git/hooks/x", ""),
            ("sub/.git", "gitdir: elsewhere"),
            ("me/.bashrc", ""),
        ] {
            place.write(&format!("task/project/{path}"), text);
        }
        std::os::unix::fs::symlink("config/prod.env", place.path("task/project/.env")).unwrap();
        let mut command = place.command(&["run", "task"]);
        command.env("BOWLINE_HOME", place.path("task/project/store"));
        command.env("HOME", place.path("task/project/me"));
        let ran = crate::ran(command);
        let worked = std::fs::read_to_string(place.path("task/project/worked")).unwrap_or_default();
        assert_eq!(worked.lines().count(), expected, "{settings}: these worked:\n{worked}");
        // What is not there is the program's own to make.
        assert_eq!(place.read("task/project/sub/.env"), "own\n");
        if expected == 0 {
            ran.ends(0);
        }
    }
}

#[test]
fn a_machine_that_is_busy_is_not_taken_for_one_without_a_cage() {
    let place = trying("sandbox = \"if-available\"", "", "echo x > made");
    // A bubblewrap that is one, and whose trial ends in a way nobody foresaw. It lies in no project.
    let programs = tempfile::tempdir().unwrap();
    let bwrap = programs.path().join("bwrap");
    std::fs::write(
        &bwrap,
        "#!/bin/sh\ncase \"$1\" in --help) echo '--disable-userns --bind-fd --ro-bind-fd --as-pid-1 --size --cap-drop';; *) echo 'fork: resources' >&2; exit 1;; esac\n",
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&bwrap, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("/bin/sh", programs.path().join("sh")).unwrap();
    let mut command = place.command(&["run", "task"]);
    command.env("PATH", programs.path());
    crate::ran(command).ends(2).complains("the trial run ended otherwise");
    assert!(!place.path("task/project/made").exists(), "it ran without a cage");
}
