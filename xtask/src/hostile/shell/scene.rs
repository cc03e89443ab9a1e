//! Where a case plays: a workspace, things outside it, somebody listening, and
//! the two ways to run a command there.

use std::cell::RefCell;
use std::fmt;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// The ordinary user we become: it exists everywhere and owns nothing.
const NOBODY: u32 = 65_534;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A program the cases name and no machine has: asks for the kernel's queue, then
/// connects. That it gets the queue is what must not happen.
const IO_URING_PROBE: &str = r#"#!/usr/bin/env python3
import ctypes, socket, sys
if ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(120)) < 0: sys.exit("no io_uring")
host, port = sys.argv[-1].rsplit(":", 1)
socket.create_connection((host, int(port)))
"#;

/// Who runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Whoever runs this.
    Ourselves,
    /// A user without rights.
    Nobody,
}

impl Who {
    /// Everybody we can be.
    pub(super) fn all() -> Vec<Self> {
        if is_superuser() { vec![Self::Ourselves, Self::Nobody] } else { vec![Self::Ourselves] }
    }

    fn becomes(self, command: &mut Command) {
        if self == Self::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    fn owns(self, path: &Path) -> Result<()> {
        if self == Self::Nobody {
            chown(path, Some(NOBODY), Some(NOBODY))
                .with_context(|| format!("cannot give {} away", path.display()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ourselves if is_superuser() => "the superuser",
            Self::Ourselves => "this user",
            Self::Nobody => "an ordinary user",
        })
    }
}

fn is_superuser() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}

/// Builds the program under test and says where it is.
pub(super) fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in no workspace")?;
    let us = std::env::current_exe().context("we cannot find ourselves")?;
    let target = us.ancestors().nth(3).context("we lie in no target folder")?;
    let mut command = Command::new(cargo);
    command
        .current_dir(root)
        .args(["build", "--quiet", "--locked", "-p", "bowline-cage", "--target-dir"])
        .arg(target);
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "bowline-cage cannot be built");
    Ok(target.join("debug/bowline-cage"))
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Its exit code, if it had one.
    pub(super) code: Option<i32>,
    /// Killed by the signal that cannot be refused.
    pub(super) killed: bool,
    pub(super) output: String,
    pub(super) errors: String,
}

/// A process made to be ended.
pub(super) struct Victim(RefCell<Child>);

impl Victim {
    pub(super) fn number(&self) -> u32 {
        self.0.borrow().id()
    }

    /// Whether it has ended, at latest after this time.
    pub(super) fn is_gone_within(&self, wait: Duration) -> bool {
        let nap = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        loop {
            if self.0.borrow_mut().try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            if waited >= wait {
                return false;
            }
            std::thread::sleep(nap);
            waited += nap;
        }
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let child = self.0.get_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// The place.
pub(super) struct Scene {
    pub(super) who: Who,
    place: tempfile::TempDir,
    program: PathBuf,
    mark: String,
    listener: Listener,
    datagrams: UdpSocket,
    victims: RefCell<Vec<Victim>>,
    before: Vec<(PathBuf, Vec<u8>)>,
}

impl Scene {
    /// A fresh one for a case.
    pub(super) fn make(program: &Path, who: Who, input: &str) -> Result<Self> {
        let place = tempfile::Builder::new().prefix("hostile-").tempdir()?;
        let at = |name: &str| place.path().join(name);
        for folder in ["", "ws", "ws/src", "ws/.git", "bin", "outside", "home"] {
            fs::create_dir_all(at(folder))?;
            fs::set_permissions(at(folder), fs::Permissions::from_mode(0o755))?;
            who.owns(&at(folder))?;
        }
        // Some cases try to make what others try to move.
        if !input.contains("mkdir -p .agent") {
            fs::create_dir(at("ws/.agent"))?;
            fs::write(at("ws/.agent/manifest.toml"), "caps = []\n")?;
            who.owns(&at("ws/.agent"))?;
        }
        for (name, text) in [
            ("ws/src/main.rs", "fn main() {}\n"),
            ("ws/.git/config", "[core]\n"),
            ("outside/secret.txt", "secret-outside\n"),
            ("outside/private.txt", "secret-private\n"),
            ("home/.bashrc", "# mine\n"),
            ("bin/io_uring_probe", IO_URING_PROBE),
        ] {
            fs::write(at(name), text)?;
            who.owns(&at(name))?;
        }
        fs::set_permissions(at("outside/private.txt"), fs::Permissions::from_mode(0o600))?;
        fs::copy(program, at("bin/bowline-cage"))?;
        for name in ["bin/io_uring_probe", "bin/bowline-cage"] {
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755))?;
        }
        let listener = Listener::start(&at("outside/d.sock"))?;
        let datagrams = UdpSocket::bind("127.0.0.1:0")?;
        datagrams.set_nonblocking(true)?;
        let mark = format!("hostile-case-{}", place.path().file_name().unwrap_or_default().display());
        let (program, victims) = (at("bin/bowline-cage"), RefCell::new(Vec::new()));
        let mut scene = Self { who, place, program, mark, listener, datagrams, victims, before: Vec::new() };
        scene.before = scene.guarded()?;
        Ok(scene)
    }

    /// The input with the names of this place.
    pub(super) fn fill_in(&self, input: &str) -> String {
        let address = self.listener.address;
        input
            .replace("{OUT}", &self.at("outside"))
            .replace("{LISTEN_HOST}", &address.ip().to_string())
            .replace("{LISTEN_PORT}", &address.port().to_string())
            .replace("{LISTEN}", &address.to_string())
    }

    /// Runs a line of shell without a cage, below a process made for it: what it
    /// does to its parent it does to that.
    pub(super) fn outside(&self, line: &str) -> Result<Outcome> {
        let mut command = Command::new("sh");
        command.args(["-c", "\"$@\"; exit $?", "parent", "timeout", "10", "bash", "-c", line]);
        // `timeout` would be the parent otherwise.
        if line.contains("$PPID") {
            command = Command::new("sh");
            command.args(["-c", "\"$@\"; exit $?", "parent", "bash", "-c", line]);
        }
        command.current_dir(self.at("ws")).env_clear();
        command.env("PATH", format!("{PATH}:{}", self.at("bin"))).env("HOME", self.at("home"));
        self.finish(command)
    }

    /// Runs it in the cage.
    pub(super) fn inside(&self, line: &str, bound: Duration) -> Result<Outcome> {
        let mut command = Command::new(&self.program);
        command.current_dir(self.place.path()).env_clear().env("PATH", PATH).arg("run");
        let (ws, bin, home) = (self.at("ws"), self.at("bin"), self.at("home"));
        let path = format!("PATH={PATH}:{bin}");
        let (mark, bound) = (format!("HOSTILE_CASE={}", self.mark), bound.as_millis().to_string());
        let (output, file) = (super::OUTPUT_BYTES.to_string(), super::FILE_BYTES.to_string());
        for (option, value) in [
            ("--write", ws.as_str()),
            ("--read", &bin),
            ("--protect", ".git"),
            ("--protect", ".agent"),
            ("--protect", ".mcp.json"),
            ("--hide", ".env"),
            ("--home", &home),
            ("--folder", &ws),
            ("--env", &path),
            ("--env", &mark),
            ("--timeout-ms", &bound),
            ("--output-bytes", &output),
            ("--file-bytes", &file),
        ] {
            command.args([option, value]);
        }
        command.args(["--", "bash", "-c", line]);
        self.finish(command)
    }

    /// May this line run without asking?
    pub(super) fn words(&self, allowed: &str, line: &str) -> Result<bool> {
        let mut command = Command::new(&self.program);
        command.args(["words", allowed, line]);
        match self.finish(command)?.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            other => anyhow::bail!("the guard ended with {other:?}"),
        }
    }

    fn finish(&self, mut command: Command) -> Result<Outcome> {
        self.who.becomes(&mut command);
        let output = command.stdin(Stdio::null()).output().context("cannot run a command")?;
        Ok(Outcome {
            code: output.status.code(),
            killed: output.status.signal() == Some(9),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// A process of this user that only waits.
    pub(super) fn victim(&self) -> Result<Victim> {
        let mut command = Command::new("sleep");
        command.arg("600").env_clear().env("PATH", PATH).env("SECRET", "of-a-process");
        self.who.becomes(&mut command);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("cannot start a process")?;
        Ok(Victim(RefCell::new(child)))
    }

    /// Lets it live as long as the scene.
    pub(super) fn keep(&self, victim: Victim) {
        self.victims.borrow_mut().push(victim);
    }

    /// A file outside the grant that this user alone can read.
    pub(super) fn private_file(&self) -> String {
        self.at("outside/private.txt")
    }

    /// A device outside the grant, where we may make one.
    pub(super) fn device(&self) -> Result<Option<String>> {
        let node = self.at("outside/device");
        let made =
            Command::new("mknod").args(["-m", "666", &node, "c", "1", "3"]).stderr(Stdio::null()).status();
        Ok(made.is_ok_and(|status| status.success()).then_some(node))
    }

    /// Where datagrams are listened for.
    pub(super) fn datagram_address(&self) -> (String, u16) {
        let address = self.datagrams.local_addr();
        address.map_or_else(|_| Default::default(), |address| (address.ip().to_string(), address.port()))
    }

    /// How often somebody outside was reached, waiting this long for the first.
    pub(super) fn hits_within(&self, wait: Duration) -> usize {
        let nap = Duration::from_millis(10);
        let mut waited = Duration::ZERO;
        loop {
            let datagrams = usize::from(self.datagrams.recv(&mut [0; 64]).is_ok());
            let hits = datagrams + self.listener.hits.load(Ordering::SeqCst);
            if hits > 0 || waited >= wait {
                return hits;
            }
            std::thread::sleep(nap);
            waited += nap;
        }
    }

    /// Everything outside the grant is as it was, and so is what is protected in it.
    pub(super) fn is_untouched(&self) -> Result<()> {
        let now = self.guarded()?;
        let gone = self.before.iter().find(|file| !now.contains(file)).map(|(path, _)| path);
        let new = now.iter().find(|file| !self.before.contains(file)).map(|(path, _)| path);
        ensure!(gone.is_none() && new.is_none(), "changed outside the grant: {gone:?} {new:?}");
        let set_id = walk(&self.place.path().join("ws"))?
            .into_iter()
            .find(|path| path.symlink_metadata().is_ok_and(|found| found.mode() & 0o6000 != 0));
        ensure!(set_id.is_none(), "{set_id:?} is set-user-id");
        Ok(())
    }

    /// The size of the largest file in the workspace.
    pub(super) fn largest_file(&self) -> Result<u64> {
        let files = walk(&self.place.path().join("ws"))?;
        Ok(files
            .iter()
            .filter_map(|path| path.symlink_metadata().ok())
            .map(|found| found.len())
            .max()
            .unwrap_or(0))
    }

    /// Nothing that ran inside for this scene is left, at latest in a few seconds.
    pub(super) fn survivors_are_gone(&self) -> bool {
        let mark = format!("HOSTILE_CASE={}", self.mark);
        let is_ours = |path: PathBuf| {
            fs::read(path.join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&mark))
        };
        (0..300).any(|_| {
            let alive =
                fs::read_dir("/proc").is_ok_and(|all| all.flatten().any(|entry| is_ours(entry.path())));
            if alive {
                std::thread::sleep(Duration::from_millis(10));
            }
            !alive
        })
    }

    fn at(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    /// Every file no command may change, with what is in it.
    fn guarded(&self) -> Result<Vec<(PathBuf, Vec<u8>)>> {
        let mut files = Vec::new();
        for folder in ["outside", "home", "ws/.git", "ws/.agent"] {
            let folder = self.place.path().join(folder);
            if !folder.exists() {
                continue;
            }
            for path in walk(&folder)? {
                let found = path.symlink_metadata()?;
                // The stand-in for a device is made on the way.
                if found.is_file() {
                    files.push((path.clone(), fs::read(&path)?));
                }
            }
            files.push((folder, Vec::new()));
        }
        Ok(files)
    }
}

/// Longest path that is looked into: a command may have made folders deeper than any path.
const PATH_BYTES_MAX: usize = 2048;

/// Everything below a folder, as far as paths lead.
fn walk(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let entry = entry?;
            let is_short = entry.path().as_os_str().len() < PATH_BYTES_MAX;
            if is_short && entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Somebody who counts who comes, by network and by path.
struct Listener {
    address: SocketAddr,
    socket: PathBuf,
    hits: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Listener {
    fn start(socket: &Path) -> Result<Self> {
        let (hits, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let network = TcpListener::bind("127.0.0.1:0")?;
        let path = UnixListener::bind(socket)?;
        fs::set_permissions(socket, fs::Permissions::from_mode(0o777))?;
        let address = network.local_addr()?;
        let (count, end) = (Arc::clone(&hits), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in network.incoming().flatten().take_while(|_| !end.load(Ordering::SeqCst)) {
                count.fetch_add(1, Ordering::SeqCst);
                answer(stream);
            }
        });
        let (count, end) = (Arc::clone(&hits), Arc::clone(&over));
        std::thread::spawn(move || {
            for _ in path.incoming().flatten().take_while(|_| !end.load(Ordering::SeqCst)) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Self { address, socket: socket.to_owned(), hits, over })
    }
}

/// Enough for a client to be content and go.
fn answer(mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
    let _ = stream.read(&mut [0; 1024]);
    let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi");
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Each thread waits for one more visitor.
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = UnixStream::connect(&self.socket);
    }
}
