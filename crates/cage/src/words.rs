//! May this line of shell run without asking? Only if every command in it is a
//! plain one that was allowed by name.
//!
//! This is a convenience in front of the cage, never a wall: the cage holds
//! whatever the words say. So the rule is short: what is not plainly understood
//! is asked about. There is no limit at which the reading gives up and lets the
//! rest pass.

use std::fmt;

/// Longer lines are asked about unread.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Why a line needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// It is too long to be read.
    TooLong,
    /// It holds no command.
    Empty,
    /// It holds a character that terminals or shells give a meaning.
    Special(char),
    /// A quotation is not closed.
    OpenQuote,
    /// This command was not allowed.
    NotAllowed(String),
    /// This command runs others.
    RunsOthers(String),
    /// This argument makes its command run others, write or change its rules.
    Argument(String),
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the line is longer than {LINE_BYTES_MAX} bytes"),
            Self::Empty => f.write_str("there is no command"),
            Self::Special(character) => write!(f, "{character:?} has a meaning to the shell or the terminal"),
            Self::OpenQuote => f.write_str("a quotation is not closed"),
            Self::NotAllowed(command) => write!(f, "{command:?} is not an allowed command"),
            Self::RunsOthers(command) => write!(f, "{command:?} runs other commands"),
            Self::Argument(argument) => {
                write!(f, "{argument:?} makes the command do more than its name says")
            }
        }
    }
}

/// Commands whose arguments are commands.
const RUNNERS: &[&str] = &[
    ".", "bash", "builtin", "busybox", "chroot", "chrt", "command", "dash", "doas", "env", "eval", "exec",
    "expect", "fish", "flock", "ionice", "ksh", "ltrace", "nice", "nohup", "nsenter", "parallel", "runuser",
    "script", "setpriv", "setsid", "sh", "source", "ssh", "stdbuf", "strace", "su", "sudo", "taskset",
    "time", "timeout", "toybox", "trap", "unshare", "watch", "xargs", "zsh",
];

/// Arguments with which a command does more than its name says. One that ends in
/// `*` is meant with anything behind it.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("find", &["-exec*", "-ok*", "-delete", "-fprint*", "-fls*", "-files0-from*"]),
    (
        "tar",
        &[
            "--to-c*",
            "--checkpoint-a*",
            "-I*",
            "--use-*",
            "--rsh*",
            "--rmt*",
            "-F*",
            "--info-s*",
            "--new-volume*",
            "-P*",
            "--absolute*",
            "--remove-f*",
            "-T*",
            "--files-f*",
        ],
    ),
    (
        "git",
        &[
            "-c*",
            "-C*",
            "--exec-path*",
            "--config-env*",
            "--git-dir*",
            "--work-tree*",
            "--upload-pack*",
            "--receive-pack*",
            "--upload-archive*",
            "--exec*",
            "-O*",
            "--open-files*",
            "--ext-diff*",
            "--textconv*",
            "-p",
            "--paginate",
            "--output*",
            "--template*",
            "--config*",
            "--separate-git-dir*",
            "ext::*",
            "!*",
            "config",
            "bisect",
            "rebase",
            "submodule",
            "filter-branch",
            "difftool",
            "mergetool",
            "daemon",
            "hook",
            "for-each-repo",
            "credential*",
            "remote-*",
            "send-email",
            "instaweb",
            "gui",
            "citool",
            "maintenance",
            "fast-import",
            "push",
            "fetch",
            "pull",
            "clone",
        ],
    ),
    ("awk", &["*"]),
    ("sed", &["*"]),
    ("rg", &["--pre*", "--hostname-bin*"]),
    ("sort", &["-o*", "--output*", "--compress-program*", "-T*"]),
    ("make", &["*"]),
    ("vi", &["*"]),
    ("vim", &["*"]),
    ("less", &["*"]),
    ("more", &["*"]),
    ("man", &["*"]),
    ("python", &["*"]),
    ("python3", &["*"]),
    ("perl", &["*"]),
    ("ruby", &["*"]),
    ("node", &["*"]),
];

/// Judges a line against the commands allowed by name.
pub fn judge<S: AsRef<str>>(line: &str, allowed: &[S]) -> Result<(), Ask> {
    if line.len() > LINE_BYTES_MAX {
        return Err(Ask::TooLong);
    }
    for command in commands(line)? {
        judge_one(&command, allowed)?;
    }
    Ok(())
}

fn judge_one<S: AsRef<str>>(words: &[Word], allowed: &[S]) -> Result<(), Ask> {
    let (command, arguments) = words.split_first().ok_or(Ask::Empty)?;
    let name = command.text.as_str();
    if command.quoted || !allowed.iter().any(|allowed| allowed.as_ref() == name) {
        return Err(Ask::NotAllowed(name.to_owned()));
    }
    // By its last part, so that a path to it is the same command.
    let known = name.rsplit('/').next().unwrap_or(name);
    if RUNNERS.contains(&known) && !arguments.is_empty() {
        return Err(Ask::RunsOthers(name.to_owned()));
    }
    let risky = ARGUMENTS.iter().filter(|(command, _)| *command == known).flat_map(|(_, risky)| *risky);
    for risk in risky {
        if let Some(found) = arguments.iter().find(|argument| matches(risk, &argument.text)) {
            return Err(Ask::Argument(found.text.clone()));
        }
    }
    match arguments
        .iter()
        .enumerate()
        .find(|(at, argument)| known == "tar" && is_risky_bundle(*at, &argument.text))
    {
        Some((_, bundle)) => Err(Ask::Argument(bundle.text.clone())),
        None => Ok(()),
    }
}

/// Short options of tar that run others or leave the folder, bundled with others:
/// `-xIf`, or without a dash if they come first.
fn is_risky_bundle(at: usize, argument: &str) -> bool {
    let bundle = match argument.strip_prefix('-') {
        Some(long) if long.starts_with('-') => return false,
        Some(bundle) => bundle,
        None if at == 0 => argument,
        None => return false,
    };
    bundle.contains(['I', 'F', 'P', 'T'])
}

fn matches(pattern: &str, argument: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => argument.starts_with(start),
        None => argument == pattern,
    }
}

/// A word of a command.
#[derive(Default)]
struct Word {
    text: String,
    /// Any part of it stood in quotes.
    quoted: bool,
}

/// Splits a line into its commands and their words, or says what it does not
/// understand.
fn commands(line: &str) -> Result<Vec<Vec<Word>>, Ask> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<Word> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => finish(&mut commands, word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                word.quoted = true;
                quotation(letter, &mut letters, &mut word.text)?;
            }
            ';' | '|' | '&' => {
                finish(&mut commands, word.take());
                // `&&` and `||` wait for each other; a single `&` does not.
                let doubled = letter != ';' && letters.next_if_eq(&letter).is_some();
                if letter == '&' && !doubled {
                    return Err(Ask::Special('&'));
                }
                commands.push(Vec::new());
            }
            plain if is_plain(plain) => word.get_or_insert_default().text.push(plain),
            special => return Err(Ask::Special(special)),
        }
    }
    finish(&mut commands, word);
    // `a;` is whole; `a &&` or `;` alone are not.
    if commands.len() > 1 && commands.last().is_some_and(Vec::is_empty) && line.trim_end().ends_with(';') {
        commands.pop();
    }
    if commands.iter().any(Vec::is_empty) { Err(Ask::Empty) } else { Ok(commands) }
}

fn finish(commands: &mut [Vec<Word>], word: Option<Word>) {
    if let (Some(command), Some(word)) = (commands.last_mut(), word) {
        command.push(word);
    }
}

fn quotation(mark: char, letters: &mut impl Iterator<Item = char>, text: &mut String) -> Result<(), Ask> {
    for letter in letters {
        match letter {
            end if end == mark => return Ok(()),
            '$' | '`' | '\\' | '!' if mark == '"' => return Err(Ask::Special(letter)),
            inner if inner == ' ' || is_quotable(inner) => text.push(inner),
            special => return Err(Ask::Special(special)),
        }
    }
    Err(Ask::OpenQuote)
}

/// Letters, digits and marks no shell gives a meaning. A `=` makes a variable of
/// the first word, which then is no allowed command.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || "_./=:,@%+-".contains(letter)
        || (!letter.is_ascii() && letter.is_alphanumeric())
}

/// What may stand in quotes: everything that shows as itself.
fn is_quotable(letter: char) -> bool {
    letter.is_ascii_graphic() || (!letter.is_ascii() && letter.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALLOWED: [&str; 6] = ["ls", "git", "find", "tar", "env", "sort"];

    fn check(line: &str, expected: Result<(), Ask>) {
        assert_eq!(judge(line, &ALLOWED), expected, "{line:?}");
    }

    #[test]
    fn plain_allowed_commands_pass() {
        for line in [
            "ls",
            "ls -la src",
            "  git status  ",
            "git log --oneline -n 5",
            "git grep 'fn main()' -- src",
            "git commit -m \"say what changed\"",
            "find . -name '*.rs' -type f",
            "tar tf a.tar && ls; ls | sort",
            "env",
            "ls ünïcode",
            "ls;",
        ] {
            check(line, Ok(()));
        }
    }

    #[test]
    fn what_the_shell_gives_a_meaning_is_asked_about() {
        for (line, special) in [
            ("ls & ls", '&'),
            ("ls &", '&'),
            ("ls > out", '>'),
            ("ls < in", '<'),
            ("ls `id`", '`'),
            ("ls $HOME", '$'),
            ("ls ${IFS}", '$'),
            ("ls \"$(id)\"", '$'),
            ("ls \\\n-l", '\\'),
            ("ls\nid", '\n'),
            ("ls\tx", '\t'),
            ("ls *", '*'),
            ("ls ~", '~'),
            ("ls {a,b}", '{'),
            ("(ls)", '('),
            ("ls # x", '#'),
            ("!ls", '!'),
            ("ls \u{1b}[8mhidden", '\u{1b}'),
            ("ls '\u{1b}[8m'", '\u{1b}'),
            ("ls \u{202e}x", '\u{202e}'),
            ("ls \u{a0}x", '\u{a0}'),
            ("ls\0", '\0'),
        ] {
            check(line, Err(Ask::Special(special)));
        }
    }

    #[test]
    fn a_name_written_to_look_like_another_is_no_allowed_name() {
        for line in ["l''s", "'ls'", "\"l\"s", "./ls", "/bin/ls", "LS", "ls=x", "A=1 ls", "ｌｓ"] {
            assert!(matches!(judge(line, &ALLOWED), Err(Ask::NotAllowed(_))), "{line}");
        }
    }

    #[test]
    fn commands_that_run_others_are_asked_about() {
        check("env ls", Err(Ask::RunsOthers("env".into())));
        for line in [
            "find . -exec sh -c id",
            "find . -execdir id",
            "find . -delete",
            "find . '-exec' id",
            "tar --to-command=id xf a",
            "tar --to-com=id xf a",
            "tar xIf id a",
            "tar -xIid -f a",
            "tar --checkpoint=1 --checkpoint-action=exec=id",
            "git -c core.pager=id log",
            "git --exec-path=. status",
            "git grep -Oid x",
            "git clone ext::id",
            "sort --compress-program=id x",
        ] {
            assert!(matches!(judge(line, &ALLOWED), Err(Ask::Argument(_))), "{line}");
        }
    }

    #[test]
    fn the_last_of_many_commands_counts_as_much_as_the_first() {
        let line = format!("{}curl x", "ls; ".repeat(5_000));
        check(&line, Err(Ask::NotAllowed("curl".into())));
        check(&"ls; ".repeat(5_000), Ok(()));
        check(&"ls; ".repeat(50_000), Err(Ask::TooLong));
    }

    #[test]
    fn half_a_line_is_asked_about() {
        for line in ["", "   ", ";", "ls &&", "&& ls", "ls ||| ls", "ls ;; ls", "| ls"] {
            check(line, Err(Ask::Empty));
        }
        check("ls 'x", Err(Ask::OpenQuote));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "\\PC*|[ -~\\n\\t]*") {
            let _ = judge(&line, &ALLOWED);
        }

        #[test]
        fn nothing_runs_that_was_not_allowed(line in "[a-z';&| \"]{0,24}") {
            if judge(&line, &["ls"]).is_ok() {
                let mut left = line;
                for mark in [";", "&&", "||", "|"] {
                    left = left.replace(mark, "\n");
                }
                for command in left.split('\n').filter(|command| !command.trim().is_empty()) {
                    let first = command.split_whitespace().next().unwrap_or_default();
                    prop_assert!(first == "ls" || command.contains(['\'', '"']), "{}", command);
                }
            }
        }
    }
}
