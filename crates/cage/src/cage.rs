//! Finding what the machine offers, and turning a grant into a command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::setpriority_process;

use crate::error::{Missing, Refused};
use crate::filter;
use crate::grant::{Grant, Network};
use crate::mounts::{LAUNCHER, Layout, PROXY};
use crate::order::{Bounds, Order};
use crate::outside::Outside;
use crate::report::Report;
use crate::run;

/// Options without which bubblewrap is of no use to us.
const OPTIONS: [&str; 6] =
    ["--disable-userns", "--bind-fd", "--ro-bind-fd", "--as-pid-1", "--size", "--cap-drop"];

/// Where the proxy is reached on the command's own loopback.
const PROXY_PORT: u16 = 3128;

/// Before every ordinary process.
const FOREMOST: i32 = -20;

/// Bubblewrap tells its options in no time.
const HELP_MAX: Duration = Duration::from_secs(10);

/// A trial run that takes longer has failed.
const TRIAL_MAX: Duration = Duration::from_secs(20);

/// The program that runs inside before the command: any program that hands its
/// further arguments to [`crate::launch::main`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program; it is made visible inside.
    pub program: PathBuf,
    /// Arguments before the launcher's own.
    pub args: Vec<OsString>,
}

impl Launcher {
    /// The running program itself, which answers to these arguments.
    pub fn this_program<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { program, args: args.into_iter().map(Into::into).collect() })
    }
}

/// A cage that was tried and holds.
#[derive(Clone, Debug)]
pub struct Cage {
    bubblewrap: PathBuf,
    filter: Vec<u8>,
    launcher: Launcher,
}

/// A command, caged and not started yet.
#[derive(Debug)]
pub struct Caged {
    /// Starts it, in a process group of its own. Standard input is empty unless the
    /// caller says otherwise. The thread that starts it must live as long as it
    /// does. To end it, [`Hold::end`], and kill the group if it does not end then.
    pub command: Command,
    /// To be kept until it has ended.
    pub hold: Hold,
}

/// What a running command leans on outside. Dropping it ends the command.
#[derive(Debug)]
pub struct Hold {
    /// Closes with us, however we end; the launcher inside waits for that.
    alive: Option<OwnedFd>,
    report: File,
    placeholders: Vec<crate::placeholder::Placeholder>,
    gone: bool,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.gone {
            self.placeholders.iter_mut().for_each(crate::placeholder::Placeholder::leave);
        }
    }
}

impl Hold {
    /// How far it got; final once it has ended.
    #[must_use]
    pub fn report(&self) -> Report {
        Report::read(&self.report)
    }

    /// Ends the command, once its launcher runs; before, nothing inside listens. Then
    /// bubblewrap ends by itself, after everything inside.
    pub fn end(&mut self) {
        self.alive = None;
    }

    /// Nothing of the command is left: it was never started, or bubblewrap has ended
    /// by itself. Only then may its stand-ins for protected paths go. A command that
    /// is still being killed would put something of its own in their place.
    pub fn gone(&mut self) {
        self.gone = true;
    }
}

impl Cage {
    /// Looks for bubblewrap where no agent can have put it, and tries what it finds.
    pub fn find(launcher: Launcher, outside: &Outside) -> Result<Self, Missing> {
        let bubblewrap = Self::look(outside)?;
        Self::tried(launcher, bubblewrap)
    }

    /// Where bubblewrap is; nothing is started.
    pub fn look(outside: &Outside) -> Result<PathBuf, Missing> {
        outside.find("bwrap").map_err(Missing::Bubblewrap)
    }

    /// Tries a bubblewrap that was found by [`Self::look`].
    pub fn tried(launcher: Launcher, bubblewrap: PathBuf) -> Result<Self, Missing> {
        let filter = filter::program().ok_or(Missing::Processor)?;
        let lacks = lacking(&bubblewrap, HELP_MAX)?;
        if !lacks.is_empty() {
            return Err(Missing::Outdated { path: bubblewrap, lacks });
        }
        let cage = Self { bubblewrap, filter, launcher };
        cage.trial()?;
        Ok(cage)
    }

    /// The bubblewrap that was found.
    #[must_use]
    pub fn bubblewrap(&self) -> &Path {
        &self.bubblewrap
    }

    /// The command that runs `argv` in `folder` within the grant.
    pub fn command<S: AsRef<OsStr>>(
        &self,
        grant: &Grant,
        argv: &[S],
        folder: &Path,
    ) -> Result<Caged, Refused> {
        let launcher = self.launcher.program.canonicalize();
        let launcher =
            launcher.map_err(|source| Refused::Unreadable { path: self.launcher.program.clone(), source })?;
        let mut layout = Layout::plan(grant, &launcher)?;
        let report = memory("bowline-report")?;
        let (alive, ours_alive) = pipe_with(PipeFlags::CLOEXEC)
            .map_err(|error| Refused::System { what: "make a pipe", source: error.into() })?;
        let order = Order {
            report: report.as_raw_fd(),
            alive: alive.as_raw_fd(),
            rules: layout.rules(),
            disks: layout.disks(),
            scratch: layout.scratch(),
            bounds: bounds(grant),
            forward: match grant.network {
                Network::None => None,
                Network::Proxy(_) => Some((PROXY_PORT, PROXY.into())),
            },
            argv: argv.iter().map(|word| word.as_ref().to_owned()).collect(),
        };
        let mut tail: Vec<OsString> = vec!["--".into(), LAUNCHER.into()];
        tail.extend(self.launcher.args.iter().cloned());
        tail.extend(order.words());
        if tail.iter().any(|word| word.as_bytes().contains(&0)) {
            return Err(Refused::NulByte);
        }

        let mut words = walls();
        words.extend(["--chdir".into(), layout.folder(folder)?.into()]);
        words.extend(environment(grant)?);
        words.extend(layout.words());
        let filter = filled("bowline-filter", &self.filter)?;
        words.extend(["--seccomp".into(), filter.as_raw_fd().to_string().into()]);
        let words = filled("bowline-words", &join(&words)?)?;

        let mut command = Command::new(&self.bubblewrap);
        command.arg("--args").arg(words.as_raw_fd().to_string()).args(tail);
        command.env_clear().stdin(Stdio::null()).process_group(0);
        let kept = std::mem::take(&mut layout.files);
        let ours = report.try_clone().map_err(system("duplicate a file"))?;
        hand_over(&mut command, Handed { rewound: vec![filter, words], kept, ends: [report.into(), alive] });
        let hold =
            Hold { alive: Some(ours_alive), report: ours, placeholders: layout.placeholders, gone: false };
        Ok(Caged { command, hold })
    }

    /// The launcher's own attempts, for trials and probes.
    pub(crate) fn attempt(&self, words: &[&str]) -> Vec<OsString> {
        let mut argv: Vec<OsString> = vec![LAUNCHER.into()];
        argv.extend(self.launcher.args.iter().cloned());
        argv.extend(words.iter().map(OsString::from));
        argv
    }

    /// The same without a cage.
    pub(crate) fn attempt_outside(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.launcher.program);
        command.args(&self.launcher.args).args(words);
        command
    }

    /// Every wall once, around a program that does nothing.
    fn trial(&self) -> Result<(), Missing> {
        let grant = Grant::default();
        let caged = self.command(&grant, &self.attempt(&["attempt", "nothing"]), &grant.home);
        let ran = caged
            .map_err(|error| error.to_string())
            .and_then(|caged| {
                let bounds = run::Bounds { deadline: TRIAL_MAX, output_bytes: 64 * 1024 };
                caged.run(bounds).map_err(|error| error.to_string())
            })
            .map_err(|said| Missing::Trial { said })?;
        let said = || String::from_utf8_lossy(&ran.errors).trim().to_owned();
        match (&ran.report, ran.ended) {
            (Report::Started, run::Ended::Exited(0)) => Ok(()),
            (Report::Refused(why), _) if why.contains("Landlock") => {
                Err(Missing::Landlock { said: why.clone() })
            }
            (Report::NoCage, _) => Err(blame(said())),
            (report, ended) => Err(Missing::Trial { said: format!("{report:?}, {ended:?}, {:?}", said()) }),
        }
    }
}

/// What bubblewrap could not do, from what it said. A word we do not know is a
/// failed trial all the same.
fn blame(said: String) -> Missing {
    let speaks_of = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if speaks_of(&["SECCOMP", "seccomp"]) {
        Missing::Filter { said }
    } else if speaks_of(&[
        "namespace",
        "uid map",
        "gid map",
        "setgroups",
        "loopback",
        "Operation not permitted",
    ]) {
        Missing::Namespaces { said }
    } else {
        Missing::Trial { said }
    }
}

fn lacking(bubblewrap: &Path, within: Duration) -> Result<Vec<&'static str>, Missing> {
    let mut help = Command::new(bubblewrap);
    help.arg("--help").env_clear().process_group(0);
    let said = run::said_within(help, within);
    let said = said.map_err(|source| Missing::Unusable { path: bubblewrap.to_owned(), source })?;
    let help = String::from_utf8_lossy(&said);
    let knows = |option: &str| help.split_whitespace().any(|word| word == option);
    Ok(OPTIONS.into_iter().filter(|option| !knows(option)).collect())
}

/// What every cage has, whatever is granted.
fn walls() -> Vec<OsString> {
    let words = [
        "--unshare-user",
        "--unshare-all",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        "--cap-drop",
        "ALL",
        "--hostname",
        "cage",
        "--clearenv",
    ];
    words.map(OsString::from).to_vec()
}

fn environment(grant: &Grant) -> Result<Vec<OsString>, Refused> {
    let mut variables: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin".into()),
        ("HOME".into(), grant.home.clone().into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("TMPDIR".into(), "/tmp".into()),
        ("TERM".into(), "dumb".into()),
    ];
    if let Network::Proxy(_) = grant.network {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            variables.push((name.into(), proxy.clone().into()));
        }
        for name in ["no_proxy", "NO_PROXY"] {
            variables.push((name.into(), "localhost,127.0.0.1,::1".into()));
        }
    }
    let mut words = Vec::new();
    for (name, value) in variables.iter().chain(&grant.env) {
        let bad = name.is_empty() || name.as_bytes().iter().any(|byte| b"=\0".contains(byte));
        if bad || value.as_bytes().contains(&0) {
            return Err(Refused::BadVariable { name: name.to_string_lossy().into_owned() });
        }
        words.extend(["--setenv".into(), name.clone(), value.clone()]);
    }
    Ok(words)
}

fn bounds(grant: &Grant) -> Bounds {
    let limits = grant.limits;
    Bounds {
        processes: limits.processes.into(),
        memory_bytes: limits.memory_bytes,
        cpu_seconds: limits.cpu_seconds,
        file_bytes: limits.file_bytes,
        open_files: limits.open_files,
        disk_left_bytes: limits.disk_left_bytes,
    }
}

fn system(what: &'static str) -> impl Fn(io::Error) -> Refused {
    move |source| Refused::System { what, source }
}

/// A file in memory, closed in every other program we start.
fn memory(name: &str) -> Result<File, Refused> {
    let made = memfd_create(name, MemfdFlags::CLOEXEC).map_err(io::Error::from);
    made.map(File::from).map_err(system("make a file in memory"))
}

fn filled(name: &str, bytes: &[u8]) -> Result<OwnedFd, Refused> {
    let mut file = memory(name)?;
    file.write_all(bytes).map_err(system("fill a file in memory"))?;
    Ok(file.into())
}

fn join(words: &[OsString]) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    for word in words {
        if word.as_bytes().contains(&0) {
            return Err(Refused::NulByte);
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}

/// Open files the child gets.
struct Handed {
    /// Read from their start, each time the command is started.
    rewound: Vec<OwnedFd>,
    kept: Vec<OwnedFd>,
    /// The report, and the pipe that says we are still there.
    ends: [OwnedFd; 2],
}

/// Lets the child keep these open files and no other.
#[expect(unsafe_code, reason = "which files a child keeps is settled between fork and exec")]
fn hand_over(command: &mut Command, handed: Handed) {
    let settle = move || {
        close_all_on_exec()?;
        // Where we may, the watch inside comes before all it watches. Where we may
        // not, we are not the superuser, and the kernel counts the processes.
        let _ = setpriority_process(None, FOREMOST);
        for file in handed.rewound.iter().chain(&handed.kept).chain(&handed.ends) {
            fcntl_setfd(file.as_fd(), FdFlags::empty())?;
        }
        for file in &handed.rewound {
            seek(file.as_fd(), SeekFrom::Start(0))?;
        }
        Ok(())
    };
    // SAFETY: the closure runs in the child between fork and exec, where only
    // async-signal-safe calls are allowed. It makes system calls directly,
    // allocates nothing, takes no lock and touches no memory of other threads.
    unsafe {
        command.pre_exec(settle);
    }
}

/// Marks every open file but the standard three to be closed by exec.
#[expect(unsafe_code, reason = "no safe wrapper for this call is in our dependencies")]
pub(crate) fn close_all_on_exec() -> io::Result<()> {
    // SAFETY: no pointer is passed, and nothing is closed: the flag only takes
    // effect on exec, after which none of our code runs.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("bwrap");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_bubblewrap_that_never_answers_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let silent = script(folder.path(), "#!/bin/sh\nsleep 600\n");
        let missing = lacking(&silent, Duration::from_millis(200)).unwrap_err();
        assert!(
            matches!(&missing, Missing::Unusable { source, .. } if source.kind() == io::ErrorKind::TimedOut)
        );
        assert!(missing.may_pass(), "a busy machine is no machine without a cage");
    }

    #[test]
    fn an_old_bubblewrap_is_told_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let old = script(folder.path(), "#!/bin/sh\necho '--size --cap-drop'\n");
        let lacks = lacking(&old, Duration::from_secs(20)).unwrap();
        assert_eq!(lacks, ["--disable-userns", "--bind-fd", "--ro-bind-fd", "--as-pid-1"]);
    }
}
