//! Paths as a backup writes them, and which of them are let in.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

/// Longest path, in bytes, and most folders above each other.
const PATH_MAX: usize = 4096;
const DEPTH_MAX: usize = 256;
/// What a home has of its own, and must not come from elsewhere.
const OWN: [&str; 4] = ["store.db-wal", "store.db-shm", "worker.lock", "home-id"];

/// A path as text: what is no plain character is written as `%` and two digits.
pub(super) fn written(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '%' => text.push_str("%25"),
                letter if letter.is_control() => {
                    let mut bytes = [0; 4];
                    letter.encode_utf8(&mut bytes).bytes().for_each(|byte| push(&mut text, byte));
                }
                letter => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&mut text, *byte));
    }
    text
}

fn push(text: &mut String, byte: u8) {
    text.push_str(&format!("%{byte:02x}"));
}

/// The bytes that were meant; `None` where that is no such text.
fn meant(text: &str) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let byte = digit()?.checked_mul(16)?.checked_add(digit()?)?;
        bytes.push(u8::try_from(byte).ok()?);
    }
    Some(OsString::from_vec(bytes))
}

/// A path inside a home, if it is one: relative, plain, and nothing of the home's own.
pub(super) fn inside(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(meant(text)?);
    let bytes = path.as_os_str().as_bytes();
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    // What is written otherwise than it is understood would be a second name for the same.
    let again: PathBuf = path.components().collect();
    let is_fit = !bytes.is_empty() && bytes.len() <= PATH_MAX && !bytes.contains(&0);
    let is_exact = again.as_os_str() == path.as_os_str() && path.components().count() <= DEPTH_MAX;
    (is_plain && is_fit && is_exact && !is_own(&path)).then_some(path)
}

/// Whether a path is what a home makes for itself, or a copy of its store.
pub(super) fn is_own(path: &Path) -> bool {
    let mut parts = path.components();
    let (Some(Component::Normal(first)), below) = (parts.next(), parts.next()) else { return false };
    let Some(first) = first.to_str() else { return false };
    let is_copy = first.starts_with("store.v") && first.contains(".backup-");
    // The user's data folder holds which homes are theirs, besides a home.
    OWN.contains(&first) || is_copy || first == ".bowline" || (first == "store.db" && below.is_some())
}

/// What a link in the copy of a workspace leads to, if that is inside the same copy.
pub(super) fn link(path: &Path, to: &str) -> Option<PathBuf> {
    let target = PathBuf::from(meant(to)?);
    let mut parts = path.components();
    let is_copy = parts.next() == Some(Component::Normal("workspaces".as_ref()));
    // Run, and what is in it.
    let above = parts.count().checked_sub(2)?;
    let mut depth = above;
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth = depth.checked_sub(1)?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let bytes = target.as_os_str().as_bytes();
    (is_copy && !bytes.is_empty() && bytes.len() <= PATH_MAX && !bytes.contains(&0)).then_some(target)
}
