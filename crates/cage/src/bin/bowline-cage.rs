//! `bowline-cage`: the cage by itself, for trying a grant and for the proofs.
//! Reads its words, calls the library, and exits as the command did.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bowline_cage::{
    Bounds, Cage, Ended, Grant, Launcher, Network, Outside, Report, Verdict, judge, launch, probes,
};

const USAGE: &str = "usage: bowline-cage run [OPTION VALUE]... -- PROGRAM [ARGUMENT]...
       bowline-cage probe
       bowline-cage measure COUNT
       bowline-cage words ALLOWED,ALLOWED... LINE

run: the program sees the system's programs, what is granted, and nothing else
  --read PATH      may be read          --write PATH    may be changed
  --protect PATH   stays as it is       --hide PATH     cannot be seen
  --home PATH      where its home is    --folder PATH   where it starts
  --env NAME=VALUE a variable           --proxy SOCKET  a way out
  --processes N    --memory-bytes N     --cpu-seconds N --file-bytes N
  --open-files N   --scratch-bytes N    --timeout-ms N  --output-bytes N
probe: tries every wall and says which holds
measure: how long a cage takes to run `true`, beside bubblewrap alone
words: exits with 0 if the line may run without asking, otherwise says why";

const EXIT_BOUND: u8 = 124;
const EXIT_NO_CAGE: u8 = 125;
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let outcome = match words.next().as_ref().and_then(|word| word.to_str()) {
        Some("launch") => std::process::exit(launch::main(words)),
        Some("run") => run(words),
        Some("probe") => probe(),
        Some("measure") => measure(words),
        Some("words") => may_run(words),
        _ => Err(Failure::Usage),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Usage) => say(USAGE, EXIT_USAGE),
        Err(Failure::Words(text)) => say(&format!("bowline-cage: {text}"), EXIT_NO_CAGE),
    }
}

enum Failure {
    Usage,
    Words(String),
}

fn say(text: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(code)
}

fn find() -> Result<Cage, Failure> {
    let launcher = Launcher::this_program(["launch"]).map_err(|error| Failure::Words(error.to_string()))?;
    Cage::find(launcher, &Outside::here())
        .map_err(|missing| Failure::Words(format!("{missing}; {}", missing.remedy())))
}

struct Wish {
    grant: Grant,
    folder: Option<PathBuf>,
    bounds: Bounds,
    argv: Vec<OsString>,
}

fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let wish = parse(words)?;
    let folder = wish.folder.as_deref().or(wish.grant.write.first().map(PathBuf::as_path));
    let folder = folder.unwrap_or(Path::new("/tmp"));
    let caged = find()?.command(&wish.grant, &wish.argv, folder);
    let caged = caged.map_err(|refused| Failure::Words(format!("{refused}; {}", refused.remedy())))?;
    let ran = caged.run(wish.bounds).map_err(|error| Failure::Words(error.to_string()))?;
    let _ = io::stdout().write_all(&ran.output);
    let _ = io::stderr().write_all(&ran.errors);
    match (ran.ended, ran.report) {
        (_, Report::NoCage | Report::Refused(_)) => {
            Err(Failure::Words("the cage did not come up".to_owned()))
        }
        (Ended::Exited(code), _) => Ok(u8::try_from(code).unwrap_or(u8::MAX)),
        (ended, _) => {
            let _ = writeln!(io::stderr(), "bowline-cage: {ended:?}");
            Ok(EXIT_BOUND)
        }
    }
}

fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Wish, Failure> {
    let bounds = Bounds { deadline: Duration::from_secs(30), output_bytes: 1024 * 1024 };
    let mut wish = Wish { grant: Grant::default(), folder: None, bounds, argv: Vec::new() };
    while let Some(name) = words.next() {
        if name == "--" {
            wish.argv = words.collect();
            break;
        }
        let value = words.next().ok_or(Failure::Usage)?;
        set(&mut wish, name.to_str().unwrap_or_default(), value)?;
    }
    if wish.argv.is_empty() { Err(Failure::Usage) } else { Ok(wish) }
}

fn set(wish: &mut Wish, name: &str, value: OsString) -> Result<(), Failure> {
    let number = || value.to_str().and_then(|value| value.parse::<u64>().ok()).ok_or(Failure::Usage);
    let grant = &mut wish.grant;
    let limits = &mut grant.limits;
    match name {
        "--read" => grant.read.push(value.into()),
        "--write" => grant.write.push(value.into()),
        "--protect" => grant.protected.push(value.into()),
        "--hide" => grant.hidden.push(value.into()),
        "--home" => grant.home = value.into(),
        "--folder" => wish.folder = Some(value.into()),
        "--proxy" => grant.network = Network::Proxy(value.into()),
        "--env" => {
            let (name, value) = value.to_str().and_then(|pair| pair.split_once('=')).ok_or(Failure::Usage)?;
            grant.env.push((name.into(), value.into()));
        }
        "--processes" => limits.processes = u32::try_from(number()?).map_err(|_| Failure::Usage)?,
        "--memory-bytes" => limits.memory_bytes = number()?,
        "--cpu-seconds" => limits.cpu_seconds = number()?,
        "--file-bytes" => limits.file_bytes = number()?,
        "--open-files" => limits.open_files = number()?,
        "--scratch-bytes" => limits.scratch_bytes = number()?,
        "--timeout-ms" => wish.bounds.deadline = Duration::from_millis(number()?),
        "--output-bytes" => {
            wish.bounds.output_bytes = usize::try_from(number()?).map_err(|_| Failure::Usage)?;
        }
        _ => return Err(Failure::Usage),
    }
    Ok(())
}

fn probe() -> Result<u8, Failure> {
    let findings = probes(&find()?).map_err(|error| Failure::Words(error.to_string()))?;
    for finding in &findings {
        let mark = match finding.verdict {
            Verdict::Holds => "holds",
            Verdict::Broken => "BROKEN",
            Verdict::NoControl => "unproved",
        };
        let _ = writeln!(io::stdout(), "{mark:>8}  {} ({})", finding.claim, finding.seen);
    }
    Ok(u8::from(findings.iter().any(|finding| finding.verdict == Verdict::Broken)))
}

/// Runs both by turns, so that a busy machine slows both down.
fn measure(mut words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let count = words.next().and_then(|word| word.to_str()?.parse::<u16>().ok()).ok_or(Failure::Usage)?;
    let cage = find()?;
    let failed = |error: io::Error| Failure::Words(error.to_string());
    let bounds = Bounds { deadline: Duration::from_secs(30), output_bytes: 4096 };
    let mut times: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..count.max(1) {
        let (plain, took) = timed(|| Command::new(cage.bubblewrap()).args(PLAIN).status());
        let (caged, took_caged) = timed(|| {
            let caged = cage.command(&Grant::default(), &["true"], Path::new("/tmp"));
            caged.map_err(io::Error::other).and_then(|caged| caged.run(bounds))
        });
        if !plain.map_err(failed)?.success() || caged.map_err(failed)?.ended != Ended::Exited(0) {
            return Err(Failure::Words("`true` failed".to_owned()));
        }
        let [first, second] = &mut times;
        first.push(took);
        second.push(took_caged);
    }
    let middle = times.iter().map(|times| times.len() / 2).min().unwrap_or_default();
    for (name, at) in [("best", 0), ("median", middle)] {
        let [plain, caged] = times.each_mut().map(|times| {
            times.sort_unstable();
            times.get(at).copied().unwrap_or_default().as_secs_f64() * 1e3
        });
        let ratio = caged / plain;
        let _ = writeln!(
            io::stdout(),
            "{name:>6} of {count}: bubblewrap {plain:.1} ms, cage {caged:.1} ms, ratio {ratio:.2}"
        );
    }
    Ok(0)
}

/// Bubblewrap with the namespaces a cage has, and nothing else.
const PLAIN: [&str; 7] =
    ["--ro-bind", "/", "/", "--unshare-user", "--unshare-all", "--die-with-parent", "true"];

#[expect(clippy::disallowed_methods, reason = "how long something took is no decision of a run")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn may_run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let [allowed, line] = words.as_slice() else { return Err(Failure::Usage) };
    let allowed: Vec<&str> = allowed.split(',').collect();
    match judge(line, &allowed) {
        Ok(()) => Ok(0),
        Err(ask) => {
            let _ = writeln!(io::stdout(), "ask: {ask}");
            Ok(1)
        }
    }
}
