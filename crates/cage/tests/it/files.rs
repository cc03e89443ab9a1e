//! What a command sees of the files, and what it can do to them.

use std::os::unix::fs::symlink;
use std::time::Duration;

use bowline_cage::{Ended, Refused};

use crate::{Workspace, cage};

#[test]
fn only_what_is_granted_is_there() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    assert_eq!(ws.works(cage, "cat file"), "text");
    ws.works(cage, "echo new > made && mkdir -p a/b && mv made a/b/moved && rm file");
    assert_eq!(ws.read("a/b/moved").as_deref(), Some("new\n"));
    assert_eq!(ws.read("file"), None);
    ws.fails(cage, "cat ../out/secret");
    ws.fails(cage, "cat /etc/shadow");
    ws.fails(cage, "ls /sys");
    ws.fails(cage, "ls /run/user");
    ws.fails(cage, "touch /usr/x || touch /x || touch /etc/x || touch /dev/x");
}

#[test]
fn links_out_of_the_workspace_lead_nowhere() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    symlink(ws.place.path().join("out"), ws.root().join("link")).unwrap();
    ws.fails(cage, "cat link/secret");
    ws.fails(cage, "echo x > link/new");
    assert!(!ws.place.path().join("out/new").exists());
}

#[test]
fn the_narrower_entry_decides() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.write("lib/a", "a");
    ws.write("lib/own/b", "b");
    ws.grant.read.push(ws.root().join("lib"));
    ws.grant.write.push(ws.root().join("lib/own"));
    assert!(ws.fails(cage, "echo x > lib/a").contains("Read-only"));
    ws.works(cage, "cat lib/a && echo x > lib/own/b && echo x > file");
    assert_eq!(ws.read("lib/a").as_deref(), Some("a"));
}

#[test]
fn a_protected_path_can_be_read_and_neither_written_moved_nor_removed() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.write(".git/hooks/pre-commit", "hook");
    ws.write("settings", "kept");
    ws.grant.protected = vec![".git".into(), "settings".into()];
    ws.works(cage, "cat .git/hooks/pre-commit settings");
    for line in [
        "echo x > .git/hooks/pre-commit",
        "mv .git g2",
        "rm -rf .git",
        "echo x > settings",
        "rm -f settings",
        "mv settings s2",
        "mv file settings",
        "ln -f file settings",
        "chmod 777 settings",
    ] {
        ws.fails(cage, line);
        assert_eq!(ws.read(".git/hooks/pre-commit").as_deref(), Some("hook"), "{line}");
        assert_eq!(ws.read("settings").as_deref(), Some("kept"), "{line}");
    }
}

#[test]
fn a_protected_path_below_a_writable_folder_keeps_its_place() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.write("a/b/hooks/x", "hook");
    ws.grant.protected = vec!["a/b/hooks".into()];
    ws.works(cage, "echo x > a/b/free");
    ws.fails(cage, "mv a a2");
    ws.fails(cage, "mv a/b a/b2");
    assert_eq!(ws.read("a/b/hooks/x").as_deref(), Some("hook"));
}

#[test]
fn a_protected_path_that_does_not_exist_cannot_be_made() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.protected = vec![".agent".into(), "deep/er/file".into()];
    for line in [
        "mkdir -p .agent && echo x > .agent/hooks",
        "echo x > .agent",
        "mkdir d && echo x > d/hooks && mv -T d .agent",
        "ln -sfn /tmp .agent && echo x > .agent/hooks",
        "rmdir .agent && mkdir .agent",
        "mkdir -p deep/er && echo x > deep/er/file",
    ] {
        ws.fails(cage, line);
        assert!(!ws.root().join(".agent").exists(), "{line}: nothing may be left");
        assert!(!ws.root().join("deep").exists(), "{line}: nothing may be left");
    }
}

#[test]
fn commands_beside_each_other_share_what_stands_in_for_a_missing_path() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.grant.protected = vec![".agent".into()];
    std::thread::scope(|scope| {
        let longer = scope.spawn(|| {
            ws.fails(
                cage,
                "touch started; while ! test -e ended; do sleep 0.01; done; sleep 0.05; echo x > .agent/y",
            )
        });
        while !ws.root().join("started").exists() {
            std::thread::yield_now();
        }
        ws.works(cage, "true");
        assert!(ws.root().join(".agent").is_dir(), "the other command still leans on it");
        ws.works(cage, "touch ended");
        longer.join().unwrap();
    });
    assert!(!ws.root().join(".agent").exists());
}

#[test]
fn a_protected_link_is_refused_because_it_could_be_replaced() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    symlink("file", ws.root().join("link")).unwrap();
    symlink(".", ws.root().join("loop")).unwrap();
    for name in ["link", "loop/file"] {
        ws.grant.protected = vec![name.into()];
        let refused = cage.command(&ws.grant, &["true"], &ws.root()).unwrap_err();
        assert!(matches!(refused, Refused::ProtectedLink { .. }), "{refused}");
    }
}

#[test]
fn what_is_hidden_is_there_and_cannot_be_looked_into() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.write(".env", "KEY=1");
    ws.write("keys/private", "KEY=2");
    ws.write("other", "KEY=3");
    symlink("other", ws.root().join("linked")).unwrap();
    ws.grant.hidden = vec![".env".into(), "keys".into(), "linked".into(), "absent".into()];
    for line in ["cat .env", "cat keys/private", "cat other", "cat linked", "echo x > keys/new", "mv .env e"]
    {
        let said = ws.fails(cage, line);
        assert!(!said.contains("KEY"), "{line}: {said}");
    }
    ws.works(cage, "echo x > absent");
    assert_eq!(ws.read(".env").as_deref(), Some("KEY=1"));
    assert_eq!(ws.read("keys/private").as_deref(), Some("KEY=2"));
}

#[test]
fn the_folders_of_what_is_hidden_keep_their_names_and_what_is_read_only_stays_so() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.write("a/b/.env", "KEY=1");
    ws.write("c/.git/x/.env", "KEY=2");
    ws.grant.protected = vec!["c/.git".into()];
    ws.grant.hidden = vec![ws.root().join("a/b/.env"), ws.root().join("c/.git/x/.env")];
    for line in ["mv a z", "mv a/b z", "mv c z", "rm -r a", "echo x > c/.git/x/new", "cat a/b/.env"] {
        let said = ws.fails(cage, line);
        assert!(!said.contains("KEY"), "{line}: {said}");
    }
    ws.works(cage, "echo x > a/b/new && mv a/b/new a/b/newer && mkdir a/d && mv a/d a/e");
    assert_eq!(ws.read("a/b/.env").as_deref(), Some("KEY=1"));
}

#[test]
fn the_home_is_private_and_its_login_files_cannot_be_written() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    assert_eq!(ws.works(cage, "echo x > ~/note && cat ~/note"), "x\n");
    ws.fails(cage, "cat ~/note");
    for name in [".bashrc", ".profile", ".ssh/authorized_keys"] {
        ws.fails(cage, &format!("echo x >> ~/{name}"));
    }
    // The same where the real home is granted.
    ws.write(".profile", "mine");
    ws.grant.home = ws.root();
    ws.works(cage, "echo x > ~/note");
    for name in [".bashrc", ".profile", ".ssh/authorized_keys"] {
        ws.fails(cage, &format!("echo x >> ~/{name}"));
    }
    assert_eq!(ws.read(".profile").as_deref(), Some("mine"));
    assert_eq!(ws.read("note").as_deref(), Some("x\n"));
    assert!(!ws.root().join(".bashrc").exists());
}

#[test]
fn no_file_becomes_set_user_id_and_no_device_is_made() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    ws.works(cage, "chmod 1755 file; chmod 755 file");
    for line in [
        "chmod u+s file",
        "chmod 2755 file",
        "install -m 4755 file new",
        "mknod disk b 8 0",
        "mknod null c 1 3",
    ] {
        ws.fails(cage, line);
    }
}

#[test]
fn a_workspace_swapped_for_a_link_is_not_followed() {
    let Some(cage) = cage() else { return };
    let mut ws = Workspace::new();
    ws.write("sub/x", "x");
    ws.grant.write = vec![ws.root().join("sub")];
    ws.grant.read = vec![ws.root()];
    let caged = cage.command(&ws.grant, &["sh", "-c", "cat sub/secret sub/x"], &ws.root()).unwrap();
    std::fs::rename(ws.root().join("sub"), ws.root().join("old")).unwrap();
    symlink(ws.place.path().join("out"), ws.root().join("sub")).unwrap();
    let bounds = bowline_cage::Bounds { deadline: Duration::from_secs(20), output_bytes: 4096 };
    let ran = caged.run(bounds).unwrap();
    assert_ne!(ran.ended, Ended::Exited(0));
    assert!(!String::from_utf8_lossy(&ran.output).contains("secret"), "{ran:?}");
}

#[test]
fn grants_that_give_too_much_or_make_no_sense_are_refused() {
    let Some(cage) = cage() else { return };
    let ws = Workspace::new();
    let refused = |change: &dyn Fn(&mut bowline_cage::Grant)| {
        let mut grant = ws.grant.clone();
        change(&mut grant);
        cage.command(&grant, &["true"], &ws.root()).unwrap_err()
    };
    for wide in ["/", "/proc", "/proc/self", "/dev", "/sys", "/tmp", "/etc"] {
        assert!(matches!(refused(&|grant| grant.read.push(wide.into())), Refused::TooWide { .. }), "{wide}");
    }
    assert!(matches!(refused(&|grant| grant.read.push("ws".into())), Refused::NotPlain { .. }));
    assert!(matches!(refused(&|grant| grant.write.push("/usr/../etc".into())), Refused::NotPlain { .. }));
    assert!(matches!(refused(&|grant| grant.protected.push("../x".into())), Refused::NotPlain { .. }));
    assert!(matches!(refused(&|grant| grant.write.push("/nowhere".into())), Refused::Unreadable { .. }));
    assert!(matches!(
        refused(&|grant| grant.env.push(("A=B".into(), "".into()))),
        Refused::BadVariable { .. }
    ));
    assert!(matches!(refused(&|grant| grant.write.clear()), Refused::FolderOutside { .. }));
    assert!(matches!(refused(&|grant| grant.read = vec!["/usr".into(); 513]), Refused::TooMany { .. }));
    let socket = |grant: &mut bowline_cage::Grant| {
        grant.network = bowline_cage::Network::Proxy(ws.root().join("file"))
    };
    assert!(matches!(refused(&socket), Refused::NoSocket { .. }));
    let nul = cage.command(&ws.grant, &["a\0b"], &ws.root()).unwrap_err();
    assert!(matches!(nul, Refused::NulByte));
}
