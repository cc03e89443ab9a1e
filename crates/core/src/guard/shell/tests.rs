//! What shell commands do to the world, one line each.

use super::{Change, Effect, classify};

fn check(lines: &[&str], effect: Effect, change: Change) {
    for line in lines {
        let guess = classify(line);
        assert_eq!((guess.effect, guess.change), (effect, change), "{line}");
    }
}

#[test]
fn looking_is_a_read() {
    check(
        &[
            "ls -la",
            "cd /x && ls",
            "cat a.py | head -20 | nl",
            "grep -rn 'a > b; rm -rf /' src 2>/dev/null",
            "find . -name '*.py' -exec grep -l foo {} +",
            "find . -type f | xargs -n 1 wc -l",
            "sed -n '1,20p' file.rs",
            "sed 's/i/j/' file.rs",
            "git status && git --no-pager diff HEAD~1 -- a.rs",
            "git log --oneline | head",
            "git stash list",
            "git branch -a",
            "awk '{ if ($1 > 5) print $2 }' table",
            "pip list | grep torch",
            "python3 --version",
            "echo $(cat name) `wc -l f`",
            "FOO=1 env BAR=2 sudo -u me timeout 5s ls",
            "for f in *.rs; do head -1 $f; done",
            "if test -f x; then cat x; fi",
            "command -v cargo",
            "cat <<EOF\nrm -rf / > x\nEOF",
            "diff <(sort a) <(sort b)",
            "tail -n 5 log # rm x",
            "bash -c 'ls | wc -l'",
            "ls 2>&1",
        ],
        Effect::Read,
        Change::Never,
    );
}

#[test]
fn changing_files_is_a_write() {
    check(
        &[
            "sed -i 's/a/b/' f",
            "sed -i.bak -e 's/a/b/' f",
            "sed -ni p f",
            "cat > f <<'EOF'\nls\nEOF",
            "echo x >> log",
            "ls &> out.txt",
            "ls | tee out.txt",
            "rm -rf build",
            "cd sub && mkdir -p a/b",
            "find . -name '*.pyc' -delete",
            "find . -exec rm {} \\;",
            "git checkout -- f",
            "git stash",
            "git -C sub commit -am 'x'",
            "git branch new-name",
            "pip install -e .",
            "python -m pip install x",
            "awk '{ print $1 > \"out\" }' f",
            "sort -o f f",
            "perl -pi -e 's/a/b/' f",
            "if grep -q x f; then rm f; fi",
            "for f in *; do mv $f $f.bak; done",
            "uniq a b",
        ],
        Effect::Write,
        Change::Surely,
    );
}

#[test]
fn running_code_perhaps_changes_something() {
    check(
        &[
            "python test.py",
            "cd /x && python -m pytest -q",
            "./run.sh",
            "make test",
            "python -c 'print(1)'",
            "python - <<'EOF'\nprint(1)\nEOF",
            "cargo test 2>&1 | tail -20",
            "$CMD --flag",
            "ls $(make name)",
            "xargs python < list",
            "ls 'unclosed",
            "curl http://localhost:8000",
            "awk 'BEGIN { system(\"x\") }'",
            "case $x in a) ls b;; esac",
            "sleep 5 &",
        ],
        Effect::Exec,
        Change::Perhaps,
    );
}

#[test]
fn code_that_writes_for_sure_is_known() {
    check(
        &[
            "cat > t.py <<EOF\nprint(1)\nEOF\npython t.py",
            "python -c \"open('f', 'w').write('x')\"",
            "python3 <<'EOF'\nfrom pathlib import Path\nPath('a').write_text('b')\nEOF",
            "python setup.py install",
            "sed -i s/a/b/ f && pytest",
            "pytest > log.txt",
        ],
        Effect::Exec,
        Change::Surely,
    );
}

#[test]
fn waiting_is_a_poll_and_moving_the_shell_a_write() {
    check(
        &["sleep 10", "tail -f log", "ps aux | grep server", "", "sleep 1; cat log"],
        Effect::Poll,
        Change::Never,
    );
    check(&["cd /tmp", "export A=1", "A=1", "source venv/bin/activate"], Effect::Write, Change::Surely);
}

#[test]
fn a_file_filled_by_redirection_is_the_target_only_when_its_path_is_absolute_and_nothing_else_changes() {
    let target = |line: &str| classify(line).target;
    assert!(target("cat > /w/a.py <<EOF\nx\nEOF").is_some());
    assert_eq!(target("echo x > /w/a.py"), target("printf y >> /w/a.py"));
    for line in [
        "echo x > a.py",
        "echo x > /w/a.py && rm b",
        "echo x > /w/dir",
        "cat a > /w/a.py > /w/b.py",
        "rm /w/a.py",
    ] {
        assert_eq!(target(line), None, "{line}");
    }
}

#[test]
fn substitutions_nested_too_deep_are_code() {
    let mut line = String::from("ls");
    for _ in 0..12 {
        line = format!("echo $({line})");
    }
    assert_eq!(classify(&line).effect, Effect::Exec);
}

proptest::proptest! {
    #[test]
    fn no_line_panics(line in "[a-z $()`'\"<>|&;\\\\\n{}=#é-]{0,60}") {
        let guess = classify(&line);
        proptest::prop_assert!(guess.effect != Effect::Read || guess.change == Change::Never);
    }

    #[test]
    fn what_removes_a_file_is_never_a_read(before in "[a-z ]{0,12}", after in "[a-z ]{0,12}") {
        let line = format!("echo {before}; rm {after}");
        proptest::prop_assert!(classify(&line).effect != Effect::Read);
    }
}

#[test]
fn a_program_looks_as_long_as_no_flag_says_otherwise() {
    let looks = [
        "tail -n 5 f",
        "sort -k 2 f",
        "tree -L 2",
        "uniq -c f",
        "xxd f",
        "date +%s",
        "hostname",
        "hostname -f",
        "history",
        "fd -e rs",
        "rg -n pat src",
        "file -b x",
        "yq .a f",
        "tar -tf a.tar",
        "unzip -l a.zip",
        "unzip -p a.zip x",
        "crontab -l",
        "python3 -m pip list",
        "pip",
        "npm ls",
        "yarn info x",
        "git",
        "git -C dir --git-dir x --work-tree y -P status",
        "git reflog",
        "git branch -a",
        "git tag -l",
        "git remote -v",
        "git config --list",
        "git config --get user.name",
        "git stash show",
        "git stash list",
        "find . -type f",
        "find . -exec cat {} \\;",
        "find . -execdir cat {} +",
        "xargs",
        "xargs -0 -n 1 -P 2 cat",
        "xargs -I {} head {}",
        "awk '{print $1}' f",
        "gawk '{ x = 1 }' f",
        "sed -n p f",
        "sed -e 's/i/j/' f",
        "sed -f i.sed f",
        "timeout -k 5 10 ls",
        "timeout -s KILL 3.5m ls",
        "nice -n 5 ls",
        "sudo -u me -g us ls",
        "env -u X ls",
        "nohup ls",
        "command -V ls",
        "command -v ls",
        "node --version",
        "python3 -V",
        "ruby -v",
        "perl -h",
        "bash -c 'ls'",
        "sh -ec 'cat x'",
        "eval ls -l",
        "bash <<EOF\nls\nEOF",
        "ls > /dev/null",
        "ls > /dev/stdout",
        "ls 2> /dev/stderr",
        "ls > /dev/tty",
        "true",
        "! ls",
        "{ ls; }",
    ];
    check(&looks, Effect::Read, Change::Never);
}

#[test]
fn a_flag_a_second_file_or_a_verb_makes_it_a_write() {
    let writes = [
        "sort -o out f",
        "sort --output=o f",
        "tree -o out",
        "uniq a b",
        "xxd a b",
        "date -s now",
        "date --set=now",
        "history -c",
        "history -d 5",
        "file -C -m x",
        "yq -i .a f",
        "yq --inplace .a f",
        "tar -xf a.tar",
        "unzip a.zip",
        "crontab f",
        "systemctl restart x",
        "perl -i -pe s/a/b/ f",
        "ruby -i -e x f",
        "sed -i s/a/b/ f",
        "sed -i.bak s/a/b/ f",
        "sed -ni p f",
        "sed --in-place=.b p f",
        "awk -i inplace '{print}' f",
        "awk '{print > \"out\"}' f",
        "find . -delete",
        "find . -fls x",
        "find . -fprintf x y",
        "find . -exec rm {} +",
        "find . -ok rm {} \\;",
        "find . -exec cat {} \\; -okdir rm {} \\;",
        "xargs rm",
        "xargs -I {} mv {} x",
        "xargs -d , -L 1 -a f rm",
        "git commit -m x",
        "git reflog expire --all",
        "git reflog delete x",
        "git branch new",
        "git diff --output=x",
        "git stash",
        "git stash pop",
        "git config user.name x",
        "git tag v1",
        "git config -e",
        "git branch list",
        "pip install x",
        "npm ci",
        "uv sync",
        "conda create -n x",
        "poetry add x",
        "python3 -m pip install x",
        "cd x",
        "X=1",
        "export X=1",
        "echo a > f",
        "echo a >> f",
        "bash -c 'rm x'",
        "eval rm x",
    ];
    check(&writes, Effect::Write, Change::Surely);
}

#[test]
fn what_runs_other_code_may_change_anything_and_says_so_when_it_surely_does() {
    let runs = [
        "hostname box",
        "fd -x rm",
        "fd -X rm",
        "fd --exec rm",
        "rg --pre cat x",
        "git -c core.pager=x log",
        "git bisect run x",
        "awk -f prog f",
        "awk 'BEGIN { system(\"ls\") }'",
        "awk '{ \"ls\" | getline }'",
        "awk '{ print | \"sort\" }' f",
        "sed 's/a/b/e' f",
        "sed 's/a/b/w out' f",
        "sed 'w /x' f",
        "sed -n 's/a/b/w' f",
        "npm test",
        "$CMD x",
        "python3 a.py",
        "perl -e 1",
        "perl -i f",
        "cargo test",
        "find . -exec sh -c 'ls' \\;",
        "xargs sh -c ls",
        "ls &",
        "python3 -c \"open('f')\"",
        "python3 -c \"open('w')\"",
        "python3 -m http.server",
        "python3 other.py install",
        "bash x.sh",
        "bash --norc",
        "bash x.sh <<EOF\nls\nEOF",
    ];
    check(&runs, Effect::Exec, Change::Perhaps);
    let surely = [
        "python3 setup.py install",
        "python3 manage.py migrate",
        "python3 -m build",
        "python3 -c \"open('f','w')\"",
        "python3 -c \"open('a'); open('f', mode='a')\"",
        "python3 -c \"open('f', \\\"r+\\\")\"",
        "python3 <<EOF\nopen('f','x')\nEOF",
        "node -e \"fs.writeFileSync('a')\"",
        "python3 -c 'import os; os.remove(\"x\")'",
        "cargo test > log",
        "rm x; cargo test",
        "python3 a.py | tee log",
    ];
    check(&surely, Effect::Exec, Change::Surely);
}

#[test]
fn what_waits_or_follows_asks_again() {
    let polls = [
        "tail -f log",
        "tail -F log",
        "tail --follow=name log",
        "systemctl status x",
        "service x status",
        "systemctl is-active x",
        "systemctl list-units",
        "sleep 1",
        "ps aux",
        "",
        "   ",
    ];
    check(&polls, Effect::Poll, Change::Never);
}

#[test]
fn quotes_and_escapes_are_read_as_the_shell_reads_them() {
    check(
        &["echo $(echo '\\')", "echo \"\\\"; rm x\"", "echo \\; rm x", "ls \\\n -l", "echo $(ls \\( )"],
        Effect::Read,
        Change::Never,
    );
    check(
        &["\\rm x", "r\\m x", "\"r\\\nm\" x", "r\\\nm x", "\\\n rm x", "'rm' x", "\"rm\" x"],
        Effect::Write,
        Change::Surely,
    );
    check(
        &["echo $(echo ')' ; rm x)", "echo \"$(rm x)\"", "echo `rm x`", "cat <(rm x)"],
        Effect::Write,
        Change::Surely,
    );
    check(&["echo 'open", "echo $(ls", "echo `ls", "echo $((1"], Effect::Exec, Change::Perhaps);
}

#[test]
fn only_a_single_redirection_into_one_absolute_file_has_a_target() {
    let target = |line: &str| classify(line).target;
    assert!(target("echo a > /srv/f.txt").is_some());
    assert_eq!(target("echo a > /srv/f.txt"), target("printf b >> /srv/f.txt"));
    assert_ne!(target("echo a > /srv/f.txt"), target("echo a > /srv/g.txt"));
    for line in [
        "echo a > f.txt",
        "echo a > x/f.txt",
        "echo a > /srv/f",
        "echo a > /srv/.txt",
        "echo a > /srv/f.",
        "echo a > /srv/../f.txt",
        "echo a > /srv/$X.txt",
        "echo a > /srv/f.txt; echo b > /srv/g.txt",
        "rm x > /srv/f.txt",
        "cargo test > /srv/f.txt",
        "cat /srv/f.txt",
    ] {
        assert_eq!(target(line), None, "{line}");
    }
}

#[test]
fn arithmetic_variables_and_comments_run_nothing() {
    let looks = [
        "echo $((1+2))",
        "echo $((x|2))",
        "uniq a 2>/dev/null",
        "echo $'it\\'s; rm x'",
        "echo \"$((1+2))\"",
        "echo \"$HOME\"",
        "ls # all; rm x",
        "# rm x; rm y\nls",
        "MY_VAR=1 ls",
        "ls >&2",
        "ls 2>&-",
        "cat<in",
        "ls>/dev/null",
    ];
    check(&looks, Effect::Read, Change::Never);
    check(
        &["ls>out.txt", "ls >& out.txt", "MY_VAR=1", "echo $((1+2)); rm x", "command rm x"],
        Effect::Write,
        Change::Surely,
    );
    let runs = ["./x=1", "=1", "bash tools.inc ls", "bash -x ls", "bash --src ls"];
    check(&runs, Effect::Exec, Change::Perhaps);
}

#[test]
fn a_here_document_ends_at_its_mark_which_only_a_dash_lets_be_indented() {
    check(&["cat <<EOF\n\tEOF\nrm x\nEOF", "cat <<-EOF\nrm x\n\tEOF\nls"], Effect::Read, Change::Never);
    check(&["cat <<-EOF\nls\n\tEOF\nrm x"], Effect::Write, Change::Surely);
}

#[test]
fn substitutions_and_scripts_are_followed_four_deep() {
    let nested = |times: usize| (0..times).fold(String::from("ls"), |line, _| format!("echo $({line})"));
    assert_eq!(classify(&nested(4)).effect, Effect::Read);
    assert_eq!(classify(&nested(5)).effect, Effect::Exec);
    let evaluated = |times: usize| format!("{}ls", "eval ".repeat(times));
    assert_eq!(classify(&evaluated(4)).effect, Effect::Read);
    assert_eq!(classify(&evaluated(5)).effect, Effect::Exec);
}
