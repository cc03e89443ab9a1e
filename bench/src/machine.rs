//! What the numbers were made on. Never who or where.

use std::path::Path;

/// The facts, as a Markdown list.
pub(crate) fn facts(date: &str, scratch: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let facts = [
        ("date", date.to_owned()),
        ("Bowline", env!("CARGO_PKG_VERSION").to_owned()),
        ("SQLite", rusqlite::version().to_owned()),
        ("processor", processor()),
        ("cores", cores.to_string()),
        ("kernel", first_word("/proc/sys/kernel/osrelease")),
        ("file system", file_system(scratch)),
    ];
    facts.iter().map(|(name, value)| format!("- {name}: {value}\n")).collect()
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    named.map_or_else(unknown, |(_, name)| name.trim().to_owned())
}

fn first_word(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().next().map_or_else(unknown, str::to_owned)
}

/// The kind of file system below the longest mount point above `path`.
fn file_system(path: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let above = mounts.lines().filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        path.starts_with(place).then_some((place.len(), kind))
    });
    above.max_by_key(|(length, _)| *length).map_or_else(unknown, |(_, kind)| kind.to_owned())
}

fn unknown() -> String {
    "unknown".to_owned()
}
