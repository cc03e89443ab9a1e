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
