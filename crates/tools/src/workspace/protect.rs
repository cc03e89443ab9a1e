//! Names that the path guard keeps from the tools, wherever they stand.
//!
//! A name is compared as the most forgiving file system would: without case,
//! without characters that some disks ignore, without what some cut off its end.
//! A name that only looks like a protected one is refused with it; nobody needs one.

/// Never written: what is in them runs, grants rights, or is ours.
const GUARDED: [&str; 4] = [".git", ".bowline", ".agent", ".mcp.json"];

/// Neither read nor written: secrets.
const PRIVATE: [&str; 1] = [".env"];

/// Whether a name must not be written, nor anything below it.
pub(crate) fn is_guarded(name: &str) -> bool {
    let plain = plain(name);
    GUARDED.contains(&plain.as_str()) || is_short_git(&plain) || PRIVATE.contains(&plain.as_str())
}

/// Whether a name must not even be read.
pub(crate) fn is_private(name: &str) -> bool {
    PRIVATE.contains(&plain(name).as_str())
}

/// Whether a name would show people something else than what it is: a second
/// line, text in another order, a command for a terminal.
pub(super) fn deceives(name: &str) -> bool {
    name.chars().any(|c| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    })
}

/// The name as a forgiving disk reads it.
fn plain(name: &str) -> String {
    // Windows keeps streams of a file behind a colon.
    let name = name.split(':').next().unwrap_or_default();
    let seen: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    seen.to_uppercase().to_lowercase().trim_end_matches(['.', ' ']).to_owned()
}

/// `.git` under the short name that Windows gives it.
fn is_short_git(plain: &str) -> bool {
    plain.strip_prefix("git~").is_some_and(|number| number.parse::<u8>().is_ok())
}

/// Characters that are not seen and that some disks leave out of a comparison.
fn is_ignored(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_a_guarded_name_are_guarded() {
        for name in [
            ".git",
            ".GIT",
            ".g\u{200c}it",
            ".git.",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            "GIT~1",
            ".Agent",
            ".mcp.j\u{17f}on",
            ".BOWLINE",
            ".env",
            ".ENV",
        ] {
            assert!(is_guarded(name), "{name:?}");
        }
        for name in
            [".gitignore", "git", ".github", "git~x", "agent", "mcp.json", ".envrc", ".env.example", "..."]
        {
            assert!(!is_guarded(name), "{name:?}");
        }
    }

    #[test]
    fn only_secrets_are_private() {
        assert!(is_private(".env") && is_private(".E\u{feff}nv"));
        assert!(!is_private(".git") && !is_private(".env.example"));
    }

    #[test]
    fn a_name_that_shows_as_another_deceives() {
        for name in ["a\nb", "\u{1b}[2J", "a\u{202e}txt", "a\u{2028}b", "\u{7f}", "\u{9b}m"] {
            assert!(deceives(name), "{name:?}");
        }
        for name in ["ünïcode", "👩\u{200d}💻", "نام", "a b", "-rf"] {
            assert!(!deceives(name), "{name:?}");
        }
    }
}
