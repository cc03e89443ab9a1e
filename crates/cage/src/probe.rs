//! Does the cage hold, here and now? Each wall is tried once from inside; that
//! something is blocked counts only if the same try works outside.

use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::cage::Cage;
use crate::grant::Grant;
use crate::run::{Bounds, Ended};

const PROBE_MAX: Duration = Duration::from_secs(20);
const OUTPUT_MAX: usize = 16 * 1024;

/// What one probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What should hold, in words.
    pub claim: &'static str,
    /// Whether it does.
    pub verdict: Verdict,
    /// What was seen, in words.
    pub seen: String,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Broken,
    /// It fails outside too, so that it fails inside proves nothing.
    NoControl,
}

#[derive(Clone, Copy)]
enum Expect {
    Works,
    Blocked,
}

/// Something to try.
struct Try {
    claim: &'static str,
    expect: Expect,
    words: Vec<String>,
}

/// Tries every wall.
pub fn probes(cage: &Cage) -> io::Result<Vec<Finding>> {
    let scene = Scene::make()?;
    let grant = scene.grant();
    scene.tries().iter().map(|one| judge(cage, &grant, &scene, one)).collect()
}

fn judge(cage: &Cage, grant: &Grant, scene: &Scene, one: &Try) -> io::Result<Finding> {
    let words: Vec<&str> = ["attempt"].into_iter().chain(one.words.iter().map(String::as_str)).collect();
    let caged = cage.command(grant, &cage.attempt(&words), &scene.inside).map_err(io::Error::other)?;
    let ran = caged.run(Bounds { deadline: PROBE_MAX, output_bytes: OUTPUT_MAX })?;
    let said = String::from_utf8_lossy(&ran.errors).trim().to_owned();
    let worked = ran.ended == Ended::Exited(0);
    let (verdict, seen) = match (one.expect, worked) {
        (Expect::Works, true) => (Verdict::Holds, "it worked".to_owned()),
        (Expect::Works, false) => (Verdict::Broken, said),
        (Expect::Blocked, true) => (Verdict::Broken, "it worked inside".to_owned()),
        (Expect::Blocked, false) if ran.ended != Ended::Exited(1) => {
            (Verdict::Broken, format!("{:?}: {said}", ran.ended))
        }
        (Expect::Blocked, false) if works_outside(cage, &words)? => (Verdict::Holds, said),
        (Expect::Blocked, false) => (Verdict::NoControl, format!("blocked, but outside too: {said}")),
    };
    Ok(Finding { claim: one.claim, verdict, seen })
}

fn works_outside(cage: &Cage, words: &[&str]) -> io::Result<bool> {
    let mut command = cage.attempt_outside(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status()?.success())
}

/// Things to reach for, made for the occasion and removed after it.
struct Scene {
    place: PathBuf,
    inside: PathBuf,
    outside: PathBuf,
    listener: TcpListener,
    _socket: UnixListener,
}

impl Scene {
    fn make() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("bowline-probe-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let place = std::env::temp_dir().canonicalize()?.join(name);
        let (inside, outside) = (place.join("granted"), place.join("outside"));
        // Not "create all": a place that exists already is somebody else's.
        std::fs::create_dir(&place)?;
        let made = Self::fill(&place, &inside, &outside);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&place);
        }
        let (listener, socket) = made?;
        Ok(Self { place, inside, outside, listener, _socket: socket })
    }

    fn fill(place: &Path, inside: &Path, outside: &Path) -> io::Result<(TcpListener, UnixListener)> {
        std::fs::create_dir(inside)?;
        std::fs::create_dir(outside)?;
        std::fs::create_dir(inside.join("guarded"))?;
        std::fs::write(inside.join("hidden"), "hidden")?;
        std::fs::write(outside.join("secret"), "secret")?;
        Ok((TcpListener::bind("127.0.0.1:0")?, UnixListener::bind(place.join("outside/socket"))?))
    }

    fn grant(&self) -> Grant {
        Grant {
            write: vec![self.inside.clone()],
            protected: vec!["guarded".into(), "unmade".into()],
            hidden: vec!["hidden".into()],
            ..Grant::default()
        }
    }

    fn tries(&self) -> Vec<Try> {
        let inside = |name: &str| self.inside.join(name).display().to_string();
        let outside = |name: &str| self.outside.join(name).display().to_string();
        let address = self.listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        let us = std::process::id().to_string();
        let works = |claim, words: &[&str]| Try::new(claim, Expect::Works, words);
        let blocked = |claim, words: &[&str]| Try::new(claim, Expect::Blocked, words);
        vec![
            works("a program runs", &["nothing"]),
            works("a granted folder can be written", &["write", &inside("new")]),
            works("there is a private /tmp", &["write", "/tmp/new"]),
            works("there is a private home", &["write", "/tmp/home/new"]),
            blocked("a file outside the grant cannot be read", &["read", &outside("secret")]),
            blocked("a file outside the grant cannot be written", &["write", &outside("secret")]),
            blocked("a protected folder cannot be written", &["write", &inside("guarded/new")]),
            blocked("a protected path cannot be made", &["write", &inside("unmade")]),
            blocked("a hidden file cannot be read", &["read", &inside("hidden")]),
            blocked("the network cannot be reached", &["connect", &address]),
            blocked("a socket outside the grant cannot be reached", &["connect-unix", &outside("socket")]),
            blocked("processes outside cannot be signalled", &["signal", &us]),
            blocked("processes outside cannot be looked into", &["read", &format!("/proc/{us}/environ")]),
            blocked("no file becomes set-user-id", &["set-id", &inside("set-id")]),
            blocked("the kernel's network configuration cannot be asked", &["netlink"]),
            blocked("work cannot be queued around the filter", &["io-uring"]),
            blocked("no new user namespace can be made", &["user-namespace"]),
            blocked("processes cannot be traced", &["trace"]),
            blocked("the keys of the session cannot be asked for", &["keyring"]),
        ]
    }
}

impl Try {
    fn new(claim: &'static str, expect: Expect, words: &[&str]) -> Self {
        Self { claim, expect, words: words.iter().map(|word| (*word).to_owned()).collect() }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}
