//! Programs planted in every way we know are passed over, and honest ones are found.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A made-up machine: `home/` is the user's, `system/` the system's, `desk/` a workspace.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        this.program("system/bin/git");
        fs::create_dir_all(this.at("desk/bin")).unwrap();
        this
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn program(&self, path: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn outside(&self, folders: &[&str]) -> Outside {
        let path = std::env::join_paths(folders.iter().map(|folder| self.at(folder))).unwrap();
        let home = Some(self.at("home"));
        Outside { home, ..Outside::on(&path) }.without(&self.at("desk"))
    }

    /// Looks in a folder, and then in that of the system.
    fn is_passed_over(&self, folder: &str) -> String {
        let found = self.outside(&[folder, "system/bin"]).find("git").unwrap();
        assert_eq!(found, self.at("system/bin/git"), "{folder}");
        let kept: Vec<_> = std::env::split_paths(&self.outside(&[folder, "system/bin"]).path()).collect();
        assert!(kept.contains(&self.at("system/bin")));
        self.outside(&[folder]).find("git").unwrap_err().to_string()
    }
}

#[test]
fn a_program_where_an_agent_writes_is_passed_over_and_named() {
    let machine = Machine::new();
    let planted = machine.program("desk/venv/bin/git");
    let why = machine.is_passed_over("desk/venv/bin");
    assert!(why.contains(&format!("{} was passed over: it lies in", planted.display())), "{why}");
    let kept = machine.outside(&["desk/venv/bin", "system/bin"]).path();
    assert_eq!(kept, machine.at("system/bin"), "what is started starts nothing from there either");
}

#[test]
fn a_link_out_of_the_workspace_or_into_it_is_no_way_around() {
    let machine = Machine::new();
    machine.program("desk/bin/git");
    // A link on the search path to a folder of the workspace.
    symlink(machine.at("desk/bin"), machine.at("tools")).unwrap();
    machine.is_passed_over("tools");
    // A link in a good folder to a program of the workspace.
    fs::create_dir_all(machine.at("home/.local/bin")).unwrap();
    symlink(machine.at("desk/bin/git"), machine.at("home/.local/bin/git")).unwrap();
    machine.is_passed_over("home/.local/bin");
    // A link in the workspace, which the agent can turn: where it leads now does not count.
    fs::create_dir_all(machine.at("desk/linked")).unwrap();
    symlink(machine.at("system/bin/git"), machine.at("desk/linked/git")).unwrap();
    machine.is_passed_over("desk/linked");
    // The same two links further on, by way of a folder.
    symlink(machine.at("system"), machine.at("desk/around")).unwrap();
    fs::create_dir_all(machine.at("home/deep")).unwrap();
    symlink(machine.at("desk/around/bin/git"), machine.at("home/deep/git")).unwrap();
    machine.is_passed_over("home/deep");
    // Up and down again.
    machine.is_passed_over("system/../desk/bin");
}

#[test]
fn links_that_lead_in_circles_end() {
    let machine = Machine::new();
    fs::create_dir_all(machine.at("home/round")).unwrap();
    symlink(machine.at("home/round/git"), machine.at("home/round/git")).unwrap();
    assert!(steps(&machine.at("home/round/git")).is_err());
    assert!(!machine.outside(&["home/round"]).find("git").unwrap_err().has_passed_over());
}

#[test]
fn a_relative_or_empty_part_of_the_search_path_is_passed_over() {
    let outside = Outside::on(OsStr::new("src:.::"));
    assert_eq!(outside.path(), "");
    assert!(!outside.find("git").unwrap_err().has_passed_over());
    // Tests run in the folder of the crate.
    assert_eq!(Outside::on(OsStr::new("src")).judge(Path::new("src/lib.rs")), Err(Why::Relative));
}

#[test]
fn what_others_may_write_is_passed_over() {
    let machine = Machine::new();
    let opened = |path: &str, mode: u32| fs::set_permissions(machine.at(path), Permissions::from_mode(mode));
    for (path, opens, mode) in [
        ("a/bin/git", "a/bin/git", 0o757),
        ("b/bin/git", "b/bin", 0o777),
        ("c/bin/git", "c", 0o777),
        ("d/bin/git", "d/bin", 0o1777),
    ] {
        machine.program(path);
        opened(opens, mode).unwrap();
        let why = machine.is_passed_over(path.trim_end_matches("/git"));
        assert!(why.contains("others than its owner may write"), "{path}: {why}");
    }
    // A sticky folder further up, as /tmp is, lets nobody replace what is another's.
    machine.program("e/bin/git");
    opened("e", 0o1777).unwrap();
    assert!(machine.outside(&["e/bin"]).find("git").is_ok());
}

#[test]
fn only_a_group_of_strangers_makes_a_folder_open() {
    let found = Path::new("/").metadata().unwrap();
    assert!(!strangers_write(&found), "the top folder is the system's");
    let machine = Machine::new();
    let bin = machine.at("system/bin");
    fs::set_permissions(&bin, Permissions::from_mode(0o775)).unwrap();
    let (owner, group) = (bin.metadata().unwrap().uid(), bin.metadata().unwrap().gid());
    let is_private = owner == group || group == 0 || (owner == 0 && group < SYSTEM_GROUPS);
    assert_eq!(strangers_write(&bin.metadata().unwrap()), !is_private);
    // Only the superuser can give a folder to another group.
    if std::os::unix::fs::chown(&bin, Some(1234), Some(5678)).is_ok() {
        assert!(strangers_write(&bin.metadata().unwrap()), "a group of several people");
        std::os::unix::fs::chown(&bin, Some(1234), Some(1234)).unwrap();
        assert!(!strangers_write(&bin.metadata().unwrap()), "the private group of a user");
        std::os::unix::fs::chown(&bin, Some(0), Some(50)).unwrap();
        assert!(!strangers_write(&bin.metadata().unwrap()), "staff, as Debian has /usr/local");
    }
}

#[test]
fn a_project_that_bowline_worked_in_is_passed_over_wherever_it_lies() {
    let machine = Machine::new();
    machine.program("home/other/venv/bin/git");
    assert!(machine.outside(&["home/other/venv/bin"]).find("git").is_ok(), "nobody worked there");
    fs::create_dir_all(machine.at("home/other/.bowline")).unwrap();
    machine.is_passed_over("home/other/venv/bin");
    // The user's home is no project for having one in it.
    let honest = machine.program("home/.local/bin/git");
    fs::create_dir_all(machine.at("home/.bowline")).unwrap();
    let outside = machine.outside(&["home/.local/bin"]).without_home(&machine.at("home/.bowline"));
    assert_eq!(outside.find("git").unwrap(), honest);
    // A home elsewhere closes the project around it.
    let at = |home: &str| machine.outside(&["home/mine/tools"]).without_home(&machine.at(home)).find("git");
    machine.program("home/mine/tools/git");
    assert!(at("home/mine/runs").unwrap_err().has_passed_over());
    fs::create_dir_all(machine.at("home/mine/.git")).unwrap();
    assert!(at("home/mine/deep/runs").unwrap_err().has_passed_over(), "the whole project");
    assert!(at("elsewhere/runs").is_ok());
}

#[test]
fn the_project_of_the_working_directory_is_passed_over() {
    let machine = Machine::new();
    machine.program("home/mine/tools/git");
    fs::create_dir_all(machine.at("home/mine/src/deep")).unwrap();
    let from =
        |folder: &str| machine.outside(&["home/mine/tools"]).without_project(&machine.at(folder)).find("git");
    assert!(from("home/mine").is_err() && from("home/mine/src").is_ok());
    fs::create_dir_all(machine.at("home/mine/.git")).unwrap();
    assert!(from("home/mine/src/deep").is_err(), "a folder of the project");
    // Where the user's settings are a repository, not everything is one project.
    fs::remove_dir(machine.at("home/mine/.git")).unwrap();
    fs::create_dir_all(machine.at("home/.git")).unwrap();
    assert!(from("home/mine/src/deep").is_ok());
    // From the top folder the system is no project either.
    let top = Outside::on(OsStr::new("/usr/bin")).without_project(Path::new("/"));
    assert!(top.find("env").is_ok());
}

#[test]
fn honest_places_of_programs_are_found_by_the_name_that_was_asked_for() {
    let machine = Machine::new();
    // As nix and brew have it: links from a profile into a store.
    let stored = machine.program("store/abc-git/bin/git");
    fs::create_dir_all(machine.at("store/env/bin")).unwrap();
    symlink(&stored, machine.at("store/env/bin/git")).unwrap();
    symlink("store/env", machine.at("profile")).unwrap();
    let found = machine.outside(&["profile/bin"]).find("git").unwrap();
    assert_eq!(found, machine.at("store/env/bin/git"));
    for folder in ["home/.local/bin", "opt/brew/bin"] {
        let file = machine.program(&format!("{folder}/git"));
        assert_eq!(machine.outside(&[folder]).find("git").unwrap(), file);
    }
    assert!(Outside::here().find("sh").is_ok());
}
