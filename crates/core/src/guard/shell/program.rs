//! What a command does: its program and the flags that matter.

use super::lexer::{Command, Redirect, Word};
use super::{Act, names};

/// The words from the program's name on: assignments, keywords and wrappers gone.
pub(super) fn strip(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let name = base_name(&first.text);
        if is_assignment(&first.text) || (!first.quoted && names::is_opener(&first.text)) {
            rest = after;
        } else if names::is_wrapper(name) && !asks_where(name, after) {
            rest = strip_wrapper(name, after);
        } else {
            break;
        }
    }
    rest
}

/// `command -v name` only asks where a program is.
fn asks_where(name: &str, args: &[Word]) -> bool {
    name == "command" && args.first().is_some_and(|word| word.text.eq_ignore_ascii_case("-v"))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Skips a wrapper's own flags, their values, and the duration of `timeout`.
fn strip_wrapper<'a>(name: &str, words: &'a [Word]) -> &'a [Word] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        let takes_value = matches!(
            (name, text),
            ("sudo", "-u" | "-g") | ("nice", "-n") | ("timeout", "-s" | "-k") | ("env", "-u")
        );
        if takes_value {
            rest = after.get(1..).unwrap_or(&[]);
        } else if text.starts_with('-') || (name == "timeout" && is_duration(text)) {
            rest = after;
        } else {
            break;
        }
    }
    rest
}

fn is_duration(text: &str) -> bool {
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn texts(words: &[Word]) -> impl Iterator<Item = &str> {
    words.iter().map(|word| word.text.as_str())
}

/// Words that are not flags.
fn operands(words: &[Word]) -> impl Iterator<Item = &str> {
    texts(words).filter(|text| !text.starts_with('-'))
}

/// Whether a short flag such as `-i` stands among the words, alone or in a bundle.
fn has_flag(words: &[Word], flag: char) -> bool {
    texts(words).any(|text| {
        text.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(flag))
    })
}

fn has_word(words: &[Word], wanted: &[&str]) -> bool {
    texts(words).any(|text| wanted.contains(&text))
}

fn has_prefix(words: &[Word], prefix: &str) -> bool {
    texts(words).any(|text| text.starts_with(prefix))
}

/// The shell text a command runs: `bash -c '…'`, `eval …`, `bash <<EOF`.
pub(super) fn script_of(words: &[Word], command: &Command) -> Option<String> {
    let (first, args) = words.split_first()?;
    match base_name(&first.text) {
        "bash" | "sh" | "zsh" | "dash" => {
            let is_command =
                |text: &str| text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
            match args.iter().position(|word| is_command(&word.text)) {
                Some(at) => args.get(at + 1).map(|script| script.text.clone()),
                None => here_text(command).filter(|_| args.is_empty()).map(str::to_owned),
            }
        }
        "eval" => Some(texts(args).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

fn here_text(command: &Command) -> Option<&str> {
    command.redirects.iter().find_map(|redirect| match redirect {
        Redirect::Here(text) => Some(text.as_str()),
        Redirect::Into(_) | Redirect::Harmless => None,
    })
}

/// What a command does. `words` starts with the program's name.
pub(super) fn act(words: &[Word], command: &Command) -> Act {
    let Some((first, args)) = words.split_first() else {
        // Only assignments are left: they set up the shell.
        let assigns = command.words.iter().any(|word| is_assignment(&word.text));
        return if assigns { Act::Shell } else { Act::Nothing };
    };
    let name = base_name(&first.text);
    if name.contains('$') {
        return Act::Run;
    }
    by_flags(name, args, command).unwrap_or_else(|| names::act(name))
}

/// Programs whose flags decide; `None` for the others.
fn by_flags(name: &str, args: &[Word], command: &Command) -> Option<Act> {
    let act = match name {
        "sed" => sed(args),
        "awk" | "gawk" | "mawk" => awk(args),
        "find" => find(args),
        "xargs" => xargs(args),
        "git" => git(args),
        "pip" | "pip3" | "conda" | "mamba" | "npm" | "yarn" | "pnpm" | "uv" | "poetry" | "gem" => {
            package(args)
        }
        "perl" | "ruby" if has_flag(args, 'i') && has_flag(args, 'e') => Act::Write,
        "command" | "select" => Act::Nothing,
        "for" => Act::Nothing,
        "case" | "function" => Act::Run,
        _ if names::is_interpreter(name) => interpreter(args, command),
        _ => return flagged_reader(name, args),
    };
    Some(act)
}

/// Programs that only look unless a flag or a second file says otherwise, and
/// the other way round.
fn flagged_reader(name: &str, args: &[Word]) -> Option<Act> {
    let act = match name {
        "tail" if has_flag(args, 'f') || has_flag(args, 'F') || has_prefix(args, "--follow") => Act::Poll,
        "tail" => Act::Read,
        "sort" if has_flag(args, 'o') || has_prefix(args, "--output") => Act::Write,
        "sort" => Act::Read,
        "tree" if has_flag(args, 'o') => Act::Write,
        "uniq" | "xxd" if operands(args).count() > 1 => Act::Write,
        "date" if has_flag(args, 's') || has_prefix(args, "--set") => Act::Write,
        "history" if has_flag(args, 'c') || has_flag(args, 'd') => Act::Write,
        "hostname" if operands(args).count() == 0 => Act::Read,
        "fd" if has_flag(args, 'x') || has_flag(args, 'X') || has_prefix(args, "--exec") => Act::Run,
        "rg" if has_prefix(args, "--pre") => Act::Run,
        "file" if has_flag(args, 'C') => Act::Write,
        "yq" if has_flag(args, 'i') || has_prefix(args, "--inplace") => Act::Write,
        "yq" => Act::Read,
        "tar" if has_flag(args, 't') => Act::Read,
        "unzip" if has_flag(args, 'l') || has_flag(args, 'p') => Act::Read,
        "crontab" if has_flag(args, 'l') => Act::Read,
        "systemctl" | "service" if has_word(args, &["status", "is-active", "list-units"]) => Act::Poll,
        _ => return None,
    };
    Some(act)
}

fn interpreter(args: &[Word], command: &Command) -> Act {
    match args {
        [only] if matches!(only.text.as_str(), "--version" | "-V" | "-v" | "--help" | "-h") => {
            return Act::Read;
        }
        [module, name, rest @ ..] if module.text == "-m" && matches!(name.text.as_str(), "pip" | "pip3") => {
            return package(rest);
        }
        _ => {}
    }
    let mut scripts = texts(args).chain(here_text(command));
    if builds(args) || scripts.any(names::writes_files) { Act::RunAndWrite } else { Act::Run }
}

/// `setup.py install`, `manage.py migrate`: code whose purpose is to change files.
fn builds(args: &[Word]) -> bool {
    const PURPOSES: &str =
        "install develop build build_ext bdist_wheel sdist migrate makemigrations startapp startproject";
    let [script, rest @ ..] = args else { return false };
    matches!(base_name(&script.text), "setup.py" | "manage.py" | "-m")
        && texts(rest).any(|text| PURPOSES.split(' ').any(|purpose| purpose == text))
}

fn sed(args: &[Word]) -> Act {
    if has_prefix(args, "--in-place") || has_sed_in_place(args) {
        return Act::Write;
    }
    // `w file` writes, `e` runs; both are rare, so any suspicion is enough.
    let suspicious = |text: &str| {
        text.contains("w /") || text.ends_with("/w") || text.ends_with("/e") || text.contains("/w ")
    };
    if operands(args).any(suspicious) { Act::Run } else { Act::Read }
}

/// `-i`, `-i.bak`, `-ni`, `-Ei`; not the `i` inside an expression.
fn has_sed_in_place(args: &[Word]) -> bool {
    texts(args).any(|text| {
        let Some(letters) = text.strip_prefix('-') else { return false };
        let flags = letters.split(['.', '\'', '"']).next().unwrap_or("");
        !letters.starts_with('-') && !flags.starts_with(['e', 'f']) && flags.contains('i')
    })
}

fn awk(args: &[Word]) -> Act {
    if has_word(args, &["inplace"]) {
        return Act::Write;
    }
    let program = texts(args).collect::<Vec<_>>().join(" ");
    if program.contains("system(") || program.contains("getline") || has_flag(args, 'f') {
        return Act::Run;
    }
    let mut printed =
        program.split("print").skip(1).map(|rest| rest.split([';', '}', '\n']).next().unwrap_or(""));
    if printed.clone().any(|statement| statement.contains('|')) {
        Act::Run
    } else if printed.any(|statement| statement.contains('>')) {
        Act::Write
    } else {
        Act::Read
    }
}

fn find(args: &[Word]) -> Act {
    if has_word(args, &["-delete", "-fls"]) || has_prefix(args, "-fprint") {
        return Act::Write;
    }
    let mut strongest = Act::Read;
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        if matches!(first.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            let end =
                after.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(after.len());
            strongest = strongest.max(nested(after.get(..end).unwrap_or(after)));
        }
        rest = after;
    }
    strongest
}

/// A command given to another as its arguments.
fn nested(words: &[Word]) -> Act {
    let inner = strip(words);
    let empty = Command::default();
    match script_of(inner, &empty) {
        Some(_) => Act::Run,
        None => act(inner, &empty),
    }
}

fn xargs(args: &[Word]) -> Act {
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if matches!(text, "-I" | "-n" | "-P" | "-d" | "-L" | "-a" | "-E" | "-s") {
            rest = after.get(1..).unwrap_or(&[]);
        } else if text.starts_with('-') {
            rest = after;
        } else {
            return nested(rest);
        }
    }
    Act::Read
}

fn git(args: &[Word]) -> Act {
    let mut rest = args;
    while let Some((first, after)) = rest.split_first() {
        match first.text.as_str() {
            "-C" | "--git-dir" | "--work-tree" => rest = after.get(1..).unwrap_or(&[]),
            // A setting can name a program to run.
            "-c" => return Act::Run,
            text if text.starts_with('-') => rest = after,
            _ => break,
        }
    }
    let Some((verb, args)) = rest.split_first() else { return Act::Read };
    let first = args.first().map_or("", |word| word.text.as_str());
    let only_flags = operands(args).count() == 0;
    let lists = matches!(first, "" | "list" | "show" | "-l" | "--list" | "-v" | "-vv" | "-a" | "-r");
    match verb.text.as_str() {
        "reflog" if matches!(first, "expire" | "delete") => Act::Write,
        text if names::is_git_look(text) && !has_prefix(args, "--output") => Act::Read,
        "branch" | "tag" | "remote" | "config" | "worktree" | "notes" if only_flags && lists => Act::Read,
        "config" if has_prefix(args, "--get") || has_prefix(args, "--list") => Act::Read,
        "stash" if matches!(first, "list" | "show") => Act::Read,
        "bisect" => Act::Run,
        _ => Act::Write,
    }
}

fn package(args: &[Word]) -> Act {
    match operands(args).next() {
        None
        | Some("list" | "show" | "freeze" | "check" | "ls" | "view" | "info" | "search" | "outdated") => {
            Act::Read
        }
        Some(
            "install" | "uninstall" | "add" | "remove" | "update" | "upgrade" | "ci" | "sync" | "create",
        ) => Act::Write,
        Some(_) => Act::Run,
    }
}
