//! What a program does to the folder it works in does not open the walls of the next one.
//! Played as an ordinary user too, whom the modes of files hold.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::{Place, Ran, no_cage, ran};

/// An ordinary user, whatever the name.
const SOMEBODY: u32 = 65_534;

/// A run whose model gives these scripts to a shell, one call after the other.
fn playing(sandbox: &str, scripts: &[&str]) -> Place {
    let place = Place::new();
    let settings = format!(
        "{sandbox}\ngoal = \"Try\"\nreview = \"never\"\n[workspace]\npath = \"project\"\nmode = \"in-place\"\n\
         [[tool]]\nname = \"run_command\"\nconsent = \"not-needed\"\n"
    );
    let call = |script: &&str| {
        format!("    - calls: [{{tool: run_command, args: {{argv: [sh, -c, {script:?}]}}}}]\n")
    };
    let calls: String = scripts.iter().map(call).collect();
    place.task(&settings, &format!("  main:\n{calls}    - say: tried\n"));
    place.write("task/project/sub/deep/.env", "KEY=secret").write("task/project/sub/deep/.git/hooks/x", "");
    place
}

fn give(path: &Path, to: u32) {
    chown(path, Some(to), Some(to)).unwrap();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), to);
        }
    }
}

/// Plays as we are, and where we may, as somebody else.
fn everybody(sandbox: &str, scripts: &[&str], judge: impl Fn(&Place, Ran)) {
    let place = playing(sandbox, scripts);
    judge(&place, place.bowline(&["run", "task"]));
    if !rustix::process::geteuid().is_root() {
        println!("not played as a second user: only the superuser can become another");
        return;
    }
    let place = playing(sandbox, scripts);
    let program = place.path("bowline");
    std::fs::copy(env!("CARGO_BIN_EXE_bowline"), &program).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    give(&place.path(""), SOMEBODY);
    let mut command = Command::new(program);
    command.args(["run", "task"]).current_dir(place.path("")).env("HOME", place.path(""));
    command.env("BOWLINE_HOME", place.path("home")).env("USER", "somebody").env_remove("XDG_DATA_HOME");
    judge(
        &place,
        ran({
            command.uid(SOMEBODY).gid(SOMEBODY);
            command
        }),
    );
}

/// What programs managed to bring out.
fn loot(place: &Place) -> String {
    std::fs::read_to_string(place.path("task/project/loot")).unwrap_or_default()
}

const CAGE: &str = "sandbox = \"cage\"";

#[test]
fn what_cannot_be_looked_into_is_hidden_until_somebody_else_opens_it() {
    if no_cage() {
        return;
    }
    for mode in ["000", "444", "311"] {
        let close = format!("chmod {mode} sub");
        let open =
            "chmod 755 sub; cat sub/deep/.env >> loot; echo pwned > sub/deep/.git/hooks/pre-commit; true";
        let again = "find . -name .env -exec cat {} + >> loot; true";
        everybody(CAGE, &[&close, open, again], |place, ran| {
            ran.ends(0);
            let _ =
                std::fs::set_permissions(place.path("task/project/sub"), PermissionsExt::from_mode(0o755));
            assert_eq!(loot(place), "", "{mode}");
            assert!(!place.path("task/project/sub/deep/.git/hooks/pre-commit").exists(), "{mode}");
        });
    }
}

#[test]
fn a_secret_stays_hidden_wherever_its_folder_is_moved() {
    if no_cage() {
        return;
    }
    let tries = [
        "mkdir a; mv sub a/b; true",
        "find . -name .env -exec cat {} + >> loot; mkdir -p c/.git; mv a/b c/.git/b; true",
        "find . -name .env -exec cat {} + >> loot; true",
    ];
    everybody(CAGE, &tries, |place, ran| {
        ran.ends(0);
        assert_eq!(loot(place), "");
    });
    everybody("sandbox = \"none\"", &tries, |place, ran| {
        ran.ends(0);
        assert_ne!(loot(place), "", "the control finds it");
    });
}

#[test]
fn a_folder_of_our_name_that_a_program_makes_is_taken_away_and_told() {
    if no_cage() {
        return;
    }
    let makes = [
        "mkdir -p new/.bowline/runs; ln -s /etc deep.link; mkdir x; ln -s ../new x/.bowline; echo x > sub/.Bowline",
        "mkdir -p locked/.bowline; chmod 000 locked",
        "mkdir -p still/.bowline; chmod 555 still",
        "mkdir -p late/.bowline; kill -9 $$",
    ];
    everybody(CAGE, &makes, |place, ran| {
        ran.ends(0);
        for folder in ["locked", "still"] {
            let open = PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(place.path(&format!("task/project/{folder}")), open).unwrap();
        }
        for made in [
            "new/.bowline",
            "x/.bowline",
            "sub/.Bowline",
            "locked/.bowline",
            "still/.bowline",
            "late/.bowline",
        ] {
            let path = place.path(&format!("task/project/{made}"));
            assert!(path.symlink_metadata().is_err(), "{made} is still there");
        }
    });
    let place = playing(CAGE, &makes);
    place.bowline(&["run", "task"]).ends(0);
    let shown = place.bowline(&["export", &place.last(), "--json"]).good();
    assert!(shown.contains("which only Bowline may"), "{shown}");
}

#[test]
fn a_folder_of_our_name_that_was_there_stays_and_is_hidden() {
    if no_cage() {
        return;
    }
    let place = playing(CAGE, &["cat sub/.bowline/notes > loot; rm -rf sub/.bowline; mv sub gone; true"]);
    place.write("task/project/sub/.bowline/notes", "mine");
    place.bowline(&["run", "task"]).ends(0);
    assert_eq!(loot(&place), "");
    assert_eq!(place.read("task/project/sub/.bowline/notes"), "mine");
}

#[test]
fn a_program_that_makes_more_than_can_be_held_is_told_what_is_in_the_way() {
    if no_cage() {
        return;
    }
    let many = "for n in $(seq 200); do mkdir -p many/$n; echo x > many/$n/.env; done";
    let deep = "d=.; for n in $(seq 100); do d=$d/d; done; mkdir -p $d";
    for script in [many, deep] {
        let place = playing(CAGE, &[script, "echo again"]);
        place.bowline(&["run", "task"]).ends(0);
        let shown = place.bowline(&["export", &place.last(), "--json"]).good();
        assert!(shown.contains("name a smaller folder as the workspace"), "{shown}");
    }
}
