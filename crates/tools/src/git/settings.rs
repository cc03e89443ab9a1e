//! The settings git finds for a repository, and what is taken out of them: whatever names a
//! program.
//!
//! A setting stays as it is unless git would run it. What somebody keeps in their own
//! settings (who they are, what they ignore, how lines end) is carried into a cage, where
//! their home is not. Settings that the agent could write are no settings: then nothing
//! is done.

use std::path::{Path, PathBuf};

use super::NotDone;

/// Most settings that are taken out.
const TAKEN_MAX: usize = 1_000;

/// Settings of `core` that are carried into a cage.
const CORE: [&str; 9] = [
    "autocrlf",
    "eol",
    "safecrlf",
    "ignorecase",
    "filemode",
    "symlinks",
    "sharedrepository",
    "precomposeunicode",
    "bigfilethreshold",
];

/// Files that settings name and git reads, with where they are if nothing names them.
const READ: [(&str, &str); 2] =
    [("core.excludesfile", ".config/git/ignore"), ("core.attributesfile", ".config/git/attributes")];

/// For everybody on the machine.
const FOR_ALL: &str = "/etc/gitattributes";

/// What is known of the settings.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// Put before every question: what takes programs out.
    pub(super) taken_out: Vec<String>,
    /// Put before every question in a cage, besides.
    pub(super) carried: Vec<String>,
    /// Files of the user that git reads.
    pub(super) files: Vec<PathBuf>,
}

/// One setting, as git lists it.
struct Setting {
    is_own: bool,
    file: Option<PathBuf>,
    name: String,
    value: String,
}

impl Settings {
    /// From what `git config --list -z --show-scope --show-origin` printed. `writable` are the
    /// folders the agent may write.
    pub(super) fn of(listed: &[u8], folder: &Path, writable: &[PathBuf]) -> Result<Self, NotDone> {
        let listed = parsed(listed, folder)?;
        let mut settings = Self::default();
        for setting in &listed {
            if let Some(file) = setting.file.as_ref().filter(|file| is_the_agents(file, writable)) {
                return Err(NotDone::refused(
                    format!("git takes settings from {}, which the agent can write", file.display()),
                    "keep git's settings out of the workspace (`git config --unset-all include.path`)",
                ));
            }
            if let Some(neutral) = neutral(&setting.name) {
                settings.take_out(&setting.name, neutral)?;
            }
        }
        settings.carry(&listed);
        Ok(settings)
    }

    fn take_out(&mut self, name: &str, neutral: &str) -> Result<(), NotDone> {
        let word = format!("{name}={neutral}");
        if self.taken_out.contains(&word) {
            return Ok(());
        }
        if name.contains('=') || self.taken_out.len() >= TAKEN_MAX {
            return Err(NotDone::refused(
                format!("the setting {name:?} names a program and cannot be switched off"),
                "take it out of git's settings",
            ));
        }
        self.taken_out.push(word);
        Ok(())
    }

    fn carry(&mut self, listed: &[Setting]) {
        let is_own = |name: &str| listed.iter().any(|setting| setting.is_own && setting.name == name);
        for setting in listed.iter().filter(|setting| !setting.is_own && is_carried(&setting.name)) {
            if setting.name == "safe.directory" || !is_own(&setting.name) {
                self.carried.push(format!("{}={}", setting.name, setting.value));
            }
        }
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        for (name, otherwise) in READ {
            let named = listed.iter().rfind(|setting| setting.name == name).map(|setting| &setting.value);
            let below = |path: &str| home.as_ref().map(|home| home.join(path));
            let file = match named {
                Some(named) => named.strip_prefix("~/").map_or_else(|| Some(named.into()), below),
                None => below(otherwise),
            };
            let file = file.and_then(|file| file.canonicalize().ok()).filter(|file| file.is_file());
            if let Some(file) = file {
                self.carried.push(format!("{name}={}", file.display()));
                self.files.push(file);
            }
        }
        self.files.extend(Path::new(FOR_ALL).canonicalize());
    }
}

fn parsed(listed: &[u8], folder: &Path) -> Result<Vec<Setting>, NotDone> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fields: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let mut settings = Vec::new();
    for row in fields.chunks(3) {
        let [scope, origin, setting] = row else { continue };
        // A name that is no text could not be switched off by it.
        let name = setting.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| {
            NotDone::refused("git has a setting whose name is no text", "take it out of git's settings")
        })?;
        let value = setting.get(name.len() + 1..).map(text).unwrap_or_default();
        let file = text(origin).strip_prefix("file:").map(|file| folder.join(file));
        let is_own = matches!(*scope, b"local" | b"worktree");
        settings.push(Setting { is_own, file, name: name.to_owned(), value });
    }
    Ok(settings)
}

/// Whether a file lies where the agent may write, and not in what is kept from it.
fn is_the_agents(file: &Path, writable: &[PathBuf]) -> bool {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut below = writable.iter().filter_map(|root| real.strip_prefix(root).ok());
    below.any(|below| {
        let mut parts = below.components();
        // What climbs could not be found, and may be anywhere.
        parts.clone().any(|part| part.as_os_str() == "..") || !parts.any(|part| part.as_os_str() == ".git")
    })
}

/// Section and last part of a name, and what stands between.
fn parts(name: &str) -> (&str, &str) {
    let section = name.split('.').next().unwrap_or_default();
    let key = name.rsplit('.').next().unwrap_or_default();
    (section, key)
}

/// What a setting that names a program, or makes git run one, is replaced by.
fn neutral(name: &str) -> Option<&'static str> {
    let (section, key) = parts(name);
    Some(match (section, key) {
        ("filter", "required") => "false",
        ("filter", _)
        | ("diff", "textconv" | "command" | "external")
        | ("merge", "driver")
        | ("gpg", "program" | "defaultkeycommand")
        | ("core", "sshcommand" | "pager" | "editor" | "askpass" | "gitproxy" | "alternaterefscommand")
        | ("credential", "helper")
        | ("uploadpack", "packobjectshook")
        | ("trailer", "command" | "cmd")
        | ("interactive", "difffilter")
        | ("sequence", "editor")
        | ("difftool" | "mergetool" | "man" | "browser" | "guitool", "cmd" | "path")
        | ("remote", "uploadpack" | "receivepack" | "vcs")
        | ("hook", "event") => "",
        ("hook", "command") => "true",
        ("hook", "enabled") | ("pager", _) => "false",
        ("protocol", "allow") => "never",
        ("submodule", "update") => "none",
        _ => return None,
    })
}

fn is_carried(name: &str) -> bool {
    let (section, key) = parts(name);
    match section {
        "user" | "author" | "committer" => matches!(key, "name" | "email"),
        "i18n" => true,
        "core" => CORE.contains(&key),
        "safe" => key == "directory",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(&str, &str, &str)]) -> Result<Settings, NotDone> {
        let text: String =
            rows.iter().map(|(scope, origin, set)| format!("{scope}\0file:{origin}\0{set}\0")).collect();
        Settings::of(text.as_bytes(), Path::new("/work"), &["/work".into()])
    }

    #[test]
    fn whatever_names_a_program_is_taken_out_and_nothing_else() {
        let names = [
            "filter.x.clean\nrun",
            "filter.x.process\nrun",
            "filter.x.required\ntrue",
            "filter.with.dots.smudge\nrun",
            "diff.x.textconv\nrun",
            "diff.external\nrun",
            "merge.x.driver\nrun",
            "credential.https://x.helper\nrun",
            "gpg.ssh.program\nrun",
            "hook.x.event\npre-commit",
            "user.name\nAnn",
            "core.autocrlf\ninput",
            "diff.x.binary\ntrue",
        ];
        let rows: Vec<_> = names.iter().map(|set| ("local", ".git/config", *set)).collect();
        let settings = of(&rows).unwrap();
        assert_eq!(settings.taken_out.len(), 10, "{:?}", settings.taken_out);
        assert!(settings.taken_out.contains(&"filter.x.required=false".to_owned()));
        assert!(settings.taken_out.contains(&"filter.with.dots.smudge=".to_owned()));
    }

    #[test]
    fn who_somebody_is_comes_along_unless_the_repository_says_otherwise() {
        let theirs = [("global", "/u/.gitconfig", "user.name\nAnn"), ("global", "/h", "alias.x\n!run")];
        assert!(of(&theirs).unwrap().carried.contains(&"user.name=Ann".to_owned()));
        let both = [theirs[0], ("local", ".git/config", "user.name\nBob")];
        assert!(!of(&both).unwrap().carried.iter().any(|word| word.contains("user.name")));
    }

    #[test]
    fn settings_that_the_agent_can_write_are_refused() {
        let row = |file| of(&[("local", file, "user.name\nAnn")]);
        assert!(row(".git/config").is_ok());
        assert!(row("/u/.gitconfig").is_ok());
        assert!(row(".git/../.gitconfig").is_err());
        let why = row("shared.conf").unwrap_err().to_string();
        assert!(why.contains("which the agent can write"), "{why}");
    }

    #[test]
    fn a_name_that_cannot_be_switched_off_is_refused() {
        assert!(of(&[("local", ".git/config", "filter.a=b.clean\nrun")]).is_err());
    }
}
