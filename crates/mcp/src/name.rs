//! What a model calls a tool of a server: `server.tool`, in the characters a
//! tool's name may have.
//!
//! A name that had to be changed or cut carries a hash of what it was, so that
//! two names never become one and the same name is made everywhere.

use bowline_core::agent::server::ServerName;
use bowline_core::id::{BadName, ToolName};
use bowline_core::provenance::Digest;

/// Longest name of a tool.
const LEN_MAX: usize = 64;
/// Digits of the hash.
const HASH_LEN: usize = 8;

/// The name a model is told.
pub(crate) fn tool_name(server: &ServerName, raw: &str) -> Result<ToolName, BadName> {
    let clean: String = raw.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let full = format!("{server}.{clean}");
    if clean == raw && full.len() <= LEN_MAX && !raw.is_empty() {
        return ToolName::parse(&full);
    }
    let hash = Digest::of_parts(&[server.as_str().as_bytes(), raw.as_bytes()]).to_string();
    let hash: String = hash.chars().take(HASH_LEN).collect();
    let kept: String = full.chars().take(LEN_MAX - HASH_LEN - 1).collect();
    ToolName::parse(&format!("{kept}-{hash}"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(raw: &str) -> String {
        tool_name(&ServerName::parse("git").unwrap(), raw).unwrap().to_string()
    }

    #[test]
    fn a_plain_name_is_kept() {
        assert_eq!(named("git_log"), "git.git_log");
        assert_eq!(named("a.b-c_D"), "git.a.b-c_D");
    }

    #[test]
    fn what_is_changed_or_cut_carries_a_hash_and_stays_apart() {
        let odd =
            ["read file", "read/file", "read\u{200b}file", "réad_file", "", &"x".repeat(61), &"x".repeat(62)];
        let names: Vec<String> = odd.iter().map(|raw| named(raw)).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(name.len() <= 64 && !names[..at].contains(name), "{name}");
            assert_eq!(&named(odd[at]), name);
        }
        assert_eq!(named(&"x".repeat(60)).len(), 64);
    }
}
