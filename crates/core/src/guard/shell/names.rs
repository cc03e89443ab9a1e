//! What a program does when its flags do not matter, by its name.

use super::Act;

/// What a program does; one that is not known runs code.
pub(super) fn act(name: &str) -> Act {
    match name {
        "ls" | "cat" | "head" | "less" | "more" | "wc" | "file" | "stat" | "du" | "df" | "tree" | "grep"
        | "egrep" | "fgrep" | "rg" | "ag" | "ack" | "which" | "whereis" | "type" | "echo" | "printf"
        | "pwd" | "date" | "whoami" | "id" | "uname" | "printenv" | "nl" | "cut" | "uniq" | "tr" | "comm"
        | "diff" | "cmp" | "jq" | "xxd" | "od" | "hexdump" | "strings" | "md5sum" | "sha1sum"
        | "sha256sum" | "sha512sum" | "cksum" | "b2sum" | "basename" | "dirname" | "realpath"
        | "readlink" | "test" | "[" | "[[" | "seq" | "expr" | "bc" | "column" | "paste" | "join" | "fold"
        | "fmt" | "rev" | "tac" | "pr" | "expand" | "unexpand" | "nproc" | "free" | "uptime" | "lscpu"
        | "history" | "man" | "help" | "locale" | "getconf" | "groups" | "zcat" | "zgrep" | "bzcat"
        | "xzcat" | "look" | "apropos" | "tput" | "nm" | "objdump" | "readelf" | "colordiff" | "bat"
        | "fd" | "locate" | "arch" | "dir" | "vdir" | "zless" => Act::Read,
        "true" | "false" | ":" | "if" | "then" | "else" | "elif" | "fi" | "while" | "until" | "do"
        | "done" | "{" | "}" | "!" | "in" | "exit" | "return" | "break" | "continue" | "clear" | "esac" => {
            Act::Nothing
        }
        "cd" | "pushd" | "popd" | "export" | "unset" | "source" | "." | "alias" | "unalias" | "set"
        | "shopt" | "ulimit" | "umask" | "declare" | "local" | "typeset" | "readonly" | "trap" | "hash"
        | "read" => Act::Shell,
        "cp" | "mv" | "rm" | "mkdir" | "rmdir" | "touch" | "ln" | "chmod" | "chown" | "chgrp" | "tee"
        | "truncate" | "dd" | "install" | "patch" | "unzip" | "tar" | "zip" | "gzip" | "gunzip" | "bzip2"
        | "xz" | "rsync" | "split" | "csplit" | "apt" | "apt-get" | "yum" | "dnf" | "apk" | "brew"
        | "dos2unix" | "unix2dos" | "kill" | "pkill" | "killall" | "shred" | "mktemp" | "mkfifo"
        | "useradd" | "crontab" | "systemctl" | "service" | "scp" | "sponge" | "ed" | "ex" => Act::Write,
        "sleep" | "wait" | "watch" | "ps" | "pgrep" | "top" | "htop" | "jobs" | "lsof" | "netstat" | "ss"
        | "fg" => Act::Poll,
        _ => Act::Run,
    }
}

/// Whether a program only runs another one.
pub(super) fn is_wrapper(name: &str) -> bool {
    matches!(
        name,
        "sudo"
            | "env"
            | "time"
            | "timeout"
            | "nohup"
            | "nice"
            | "ionice"
            | "command"
            | "builtin"
            | "stdbuf"
            | "setsid"
            | "doas"
            | "unbuffer"
    )
}

/// Whether a word only opens a compound command.
pub(super) fn is_opener(word: &str) -> bool {
    matches!(word, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "{" | "!")
}

/// Whether a program runs scripts given to it as text.
pub(super) fn is_interpreter(name: &str) -> bool {
    name.starts_with("python")
        || matches!(name, "ipython" | "node" | "ruby" | "perl" | "php" | "deno" | "bun" | "pypy" | "pypy3")
}

/// Whether this verb of `git` only looks.
pub(super) fn is_git_look(verb: &str) -> bool {
    matches!(
        verb,
        "status"
            | "diff"
            | "log"
            | "show"
            | "blame"
            | "grep"
            | "ls-files"
            | "ls-tree"
            | "ls-remote"
            | "rev-parse"
            | "rev-list"
            | "describe"
            | "shortlog"
            | "cat-file"
            | "reflog"
            | "merge-base"
            | "name-rev"
            | "for-each-ref"
            | "show-ref"
            | "diff-tree"
            | "diff-index"
            | "diff-files"
            | "whatchanged"
            | "count-objects"
            | "check-ignore"
            | "version"
            | "help"
            | "annotate"
            | "cherry"
            | "var"
            | "range-diff"
            | "show-branch"
    )
}

/// Whether a script changes files for sure.
pub(super) fn writes_files(script: &str) -> bool {
    const CALLS: &str = ".write( .writelines( write_text( write_bytes( writeFile os.remove( os.rename( os.replace( .unlink( shutil. rmtree( makedirs( .mkdir( os.mkdir( fs.rm File.write savetxt( .to_csv(";
    CALLS.split(' ').any(|call| script.contains(call)) || opens_for_writing(script)
}

/// `open(path, "w")` and its kin, in any of the scripting languages.
fn opens_for_writing(script: &str) -> bool {
    let mut rest = script;
    while let Some(at) = rest.find("open(") {
        rest = rest.get(at + 5..).unwrap_or("");
        let call = rest.split(')').next().unwrap_or("");
        let modes = ["'w", "\"w", "'a", "\"a", "'r+", "\"r+", "'x", "\"x"];
        if call.split(',').skip(1).any(|part| modes.iter().any(|mode| part.contains(mode))) {
            return true;
        }
    }
    false
}
