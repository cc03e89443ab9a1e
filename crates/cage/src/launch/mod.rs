//! The inside of the cage: the first process of its pid namespace.
//!
//! It starts with the namespaces, mounts and system call filter in place and all
//! capabilities gone. It puts Landlock and the resource limits on the command,
//! starts it, reaps what is orphaned, watches what no resource limit holds, and
//! ends with the command's exit code. The kernel then kills everything left.
//!
//! The command cannot reach this process: signals from inside do not kill a
//! first process, its memory and environment are closed to others, and it stays
//! outside the command's Landlock domain.
//!
//! Nothing here runs outside a cage, except the tries of [`crate::probes`]
//! that serve as controls.

mod forward;
mod limits;
mod wall;
mod watch;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Mutex;
use std::thread::Builder;

use rustix::process::{DumpableBehavior, Pid, WaitOptions, set_dumpable_behavior, wait};

use crate::order::Order;
use crate::report::Report;

/// The launcher would not go on.
const EXIT_REFUSED: i32 = 125;
/// The program is there and cannot be run.
const EXIT_CANNOT_RUN: i32 = 126;
/// There is no such program.
const EXIT_NOT_FOUND: i32 = 127;

/// What a launcher program does with its further arguments; the result is its
/// exit code.
pub fn main(words: impl IntoIterator<Item = OsString>) -> i32 {
    let mut words = words.into_iter().peekable();
    if words.next_if(|word| word == "attempt").is_some() {
        return crate::attempt::main(words);
    }
    let order = match Order::parse(words) {
        Ok(order) => order,
        Err(why) => {
            complain(&format!("this program starts commands inside a cage and is not for people ({why})"));
            return EXIT_REFUSED;
        }
    };
    let reporter = Reporter::new(order.report);
    match start(&order, &reporter) {
        Ok(child) => {
            reporter.say(&Report::Started);
            supervise(&order, child, &reporter)
        }
        Err((report, code)) => {
            complain(match &report {
                Report::Refused(why) | Report::NoProgram(why) => why,
                Report::NoCage | Report::Starting | Report::Started | Report::Exceeded(_) => "",
            });
            reporter.say(&report);
            code
        }
    }
}

/// The first child, and the port that is carried to the proxy.
struct Started {
    child: Pid,
    forward: Option<forward::Forward>,
}

fn start(order: &Order, reporter: &Reporter) -> Result<Started, (Report, i32)> {
    let refused = |what: &str, error: &dyn std::fmt::Display| {
        (Report::Refused(format!("{what}: {error}")), EXIT_REFUSED)
    };
    // Other processes of the same user may not look into this one.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| refused("cannot close up", &error))?;
    let forward = match &order.forward {
        None => None,
        Some((port, socket)) => Some(
            forward::Forward::listen(*port, socket)
                .map_err(|error| refused("no way to the proxy", &error))?,
        ),
    };
    let wall = wall::build(&order.rules).map_err(|error| refused("no Landlock", &error))?;
    let (program, arguments) = order.argv.split_first().ok_or((Report::NoCage, EXIT_REFUSED))?;
    let mut command = Command::new(program);
    command.args(arguments);
    confine(&mut command, wall, limits::Held::from(&order.bounds));
    // First: whoever reads nothing more must not take the command for one that never ran.
    reporter.say(&Report::Starting);
    let child = command.spawn().map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_CANNOT_RUN };
        (Report::NoProgram(format!("{}: {error}", program.display())), code)
    })?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    Ok(Started { child: child.ok_or((Report::NoCage, EXIT_REFUSED))?, forward })
}

#[expect(unsafe_code, reason = "limits and Landlock are put on the child between fork and exec")]
fn confine(command: &mut Command, wall: wall::Wall, held: limits::Held) {
    let mut wall = Some(wall);
    let confine = move || {
        crate::cage::close_all_on_exec()?;
        held.hold()?;
        wall.take().ok_or(io::ErrorKind::Other)?.stand()
    };
    // SAFETY: this process has no other thread yet, so the child may allocate and
    // take locks; nothing here depends on memory another thread could have held.
    unsafe {
        command.pre_exec(confine);
    }
}

/// Waits for the command, reaping whatever else ends meanwhile.
fn supervise(order: &Order, started: Started, reporter: &Reporter) -> i32 {
    let alive = handed(order.alive);
    std::thread::scope(|scope| {
        let watching = Builder::new().spawn_scoped(scope, || watch::watch(order, reporter));
        let waiting = Builder::new().spawn_scoped(scope, move || outlive(alive));
        if watching.is_err() || waiting.is_err() {
            // Without the watch some limits would not hold.
            end(EXIT_REFUSED);
        }
        if let Some(forward) = started.forward {
            forward.serve();
        }
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == started.child => {
                    let code = status.exit_status();
                    end(code.unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or_default()));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => end(EXIT_REFUSED),
            }
        }
    })
}

/// Ends the first process and with it the namespace, whatever its threads do.
fn end(code: i32) -> ! {
    std::process::exit(code)
}

/// Where the launcher says how far things got.
struct Reporter(Mutex<Option<File>>);

impl Reporter {
    fn new(number: i32) -> Self {
        Self(Mutex::new(handed(number)))
    }

    fn say(&self, report: &Report) {
        if let Ok(mut file) = self.0.lock()
            && let Some(file) = file.as_mut()
        {
            let _ = file.write_all(report.line().as_bytes());
        }
    }
}

/// Ends with whoever waits for us: the pipe closes when they let go or die, also
/// if that happened before bubblewrap asked the kernel to tell.
fn outlive(alive: Option<File>) {
    if let Some(mut alive) = alive {
        // Nobody ever writes to it.
        let _ = alive.read(&mut [0]);
    }
    end(128 + 9)
}

/// Takes over an open file that was handed to us by number.
#[expect(unsafe_code, reason = "the number of an open file came over the command line")]
fn handed(number: i32) -> Option<File> {
    if number <= 2 {
        return None;
    }
    // SAFETY: the number names a file that was left open for this process alone,
    // and each is taken once. If it names nothing, using it fails, and a report
    // that cannot be written means "no cage".
    Some(File::from(unsafe { OwnedFd::from_raw_fd(number) }))
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "bowline cage: {text}");
}
