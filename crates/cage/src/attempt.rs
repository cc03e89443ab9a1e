//! What a prisoner would try, one harmless try each: run inside to see that it
//! fails, and outside to see that it would have worked.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, test_kill_process};

const CONNECT_MAX: Duration = Duration::from_secs(2);

const EXIT_WORKED: i32 = 0;
const EXIT_FAILED: i32 = 1;
const EXIT_NOT_UNDERSTOOD: i32 = 2;

/// Tries what the words say; the exit code says whether it worked.
pub(crate) fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    let words: Vec<String> = words.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match attempt(&words) {
        None => EXIT_NOT_UNDERSTOOD,
        Some(Ok(())) => EXIT_WORKED,
        Some(Err(error)) => {
            let _ = writeln!(io::stderr(), "{}: {error}", words.join(" "));
            EXIT_FAILED
        }
    }
}

fn attempt(words: &[&str]) -> Option<io::Result<()>> {
    Some(match words {
        ["nothing"] => Ok(()),
        ["read", path] => fs::read(path).map(drop),
        ["write", path] => write(path),
        ["connect", address] => connect(address),
        ["connect-unix", path] => UnixStream::connect(path).map(drop),
        ["signal", pid] => signal(pid),
        ["set-id", path] => set_id(path),
        ["netlink"] => socket(AddressFamily::NETLINK, SocketType::RAW, None).map(drop).map_err(Into::into),
        ["io-uring"] => reaches(libc::SYS_io_uring_setup, 0),
        ["user-namespace"] => reaches(libc::SYS_unshare, libc::CLONE_NEWUSER.into()),
        // Request 0 asks to be traced by the parent: it needs no other process.
        ["trace"] => reaches(libc::SYS_ptrace, 0),
        // Request 0 asks for the number of one's own keyring (-3: the session's).
        ["keyring"] => reaches(libc::SYS_keyctl, 0),
        _ => return None,
    })
}

fn write(path: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(b"x")
}

fn connect(address: &str) -> io::Result<()> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    TcpStream::connect_timeout(&address, CONNECT_MAX).map(drop)
}

/// Asks whether a signal could be sent, without sending one.
fn signal(pid: &str) -> io::Result<()> {
    let pid = pid.parse().ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(test_kill_process(pid)?)
}

fn set_id(path: &str) -> io::Result<()> {
    fs::write(path, "")?;
    let outcome = fs::set_permissions(path, fs::Permissions::from_mode(0o4755));
    fs::remove_file(path)?;
    outcome
}

/// Whether a call gets past every filter to the kernel's own checks. All further
/// arguments are zero, so that it can do nothing there.
#[expect(unsafe_code, reason = "these calls are tried because no library should make them")]
fn reaches(call: libc::c_long, first: libc::c_long) -> io::Result<()> {
    // SAFETY: the kernel checks what it is given: null pointers are refused with an
    // error, and no call tried here changes memory of ours when it succeeds.
    let outcome = unsafe { libc::syscall(call, first, 0, 0, 0, 0) };
    if outcome >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => Err(error),
        // It was looked at and found wanting: it was reached.
        _ => Ok(()),
    }
}
