//! Where the sandbox is missing nothing runs, and the error says what to do.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bowline_cage::{Cage, Launcher, Missing, Outside};

use crate::launcher;

/// A machine whose `bwrap` is this script.
fn find(script: &str) -> Missing {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("bwrap");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Another thread that forks meanwhile may hold the script open for writing.
    loop {
        match Cage::find(launcher(), &Outside::on(place.path().as_os_str())).unwrap_err() {
            Missing::Unusable { source, .. } if source.raw_os_error() == Some(26) => {}
            missing => return missing,
        }
    }
}

const KNOWS_ALL: &str = "case $1 in --help) echo --disable-userns --bind-fd --ro-bind-fd --as-pid-1 --size --cap-drop; exit;; esac";

#[test]
fn no_bubblewrap_on_the_path() {
    let empty = tempfile::tempdir().unwrap();
    for path in [OsStr::new(""), empty.path().as_os_str(), OsStr::new("relative:.")] {
        let missing = Cage::find(launcher(), &Outside::on(path)).unwrap_err();
        assert!(matches!(missing, Missing::Bubblewrap(_)) && !missing.may_pass(), "{missing}");
        assert!(missing.to_string().starts_with("sandbox missing"));
        assert!(missing.remedy().contains("apt-get install bubblewrap"));
    }
}

#[test]
fn an_old_bubblewrap_is_named_with_what_it_lacks() {
    let missing = find("echo --size --cap-drop --as-pid-1");
    assert!(missing.to_string().ends_with("lacks --disable-userns --bind-fd --ro-bind-fd"), "{missing}");
}

#[test]
fn a_kernel_that_refuses_is_blamed_for_what_it_refuses() {
    let missing =
        find(&format!("{KNOWS_ALL}\necho 'bwrap: No permissions to create new namespace' >&2; exit 1"));
    assert!(matches!(missing, Missing::Namespaces { .. }), "{missing}");
    let missing = find(&format!("{KNOWS_ALL}\necho 'bwrap: prctl(PR_SET_SECCOMP): no' >&2; exit 1"));
    assert!(matches!(missing, Missing::Filter { .. }), "{missing}");
    let missing = find(&format!("{KNOWS_ALL}\necho 'bwrap: what?' >&2; exit 1"));
    assert!(matches!(missing, Missing::Trial { .. }), "{missing}");
}

#[test]
fn a_bubblewrap_that_only_pretends_is_found_out() {
    // It runs nothing and says that all is well: no report, no cage.
    let missing = find(&format!("{KNOWS_ALL}\nexit 0"));
    assert!(matches!(missing, Missing::Trial { .. }), "{missing}");
}

#[test]
fn a_launcher_that_is_none_is_found_out() {
    if crate::cage().is_none() {
        return;
    }
    let launcher = Launcher { program: Path::new("/bin/true").into(), args: Vec::new() };
    let missing = Cage::find(launcher, &Outside::here()).unwrap_err();
    assert!(matches!(missing, Missing::Trial { .. }), "{missing}");
}

#[test]
fn a_bubblewrap_where_an_agent_writes_is_not_started_even_once() {
    let place = tempfile::tempdir().unwrap();
    let (bin, mark) = (place.path().join("venv/bin"), place.path().join("was-started"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("bwrap"), format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    std::fs::set_permissions(bin.join("bwrap"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let outside = Outside::on(bin.as_os_str()).without(place.path());
    let missing = Cage::find(launcher(), &outside).unwrap_err();
    assert!(!mark.exists(), "{missing}");
    assert!(missing.to_string().contains("was passed over"), "{missing}");
    assert!(missing.remedy().contains("install it for the system"));
    assert!(missing.may_pass(), "nothing runs without a cage for the want of this one");
}
