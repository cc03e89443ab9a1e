//! Traces of each language as its tools print them, whole, cut and buried in prose.

use super::*;

fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = traces(text).iter().map(line).collect();
    assert_eq!(found, expected, "{text}");
}

/// `Language error|message: file:line function, …`.
fn line(trace: &Trace) -> String {
    let frames: Vec<String> = trace
        .frames
        .iter()
        .map(|frame| {
            let line = frame.line.map_or("?".to_owned(), |line| line.to_string());
            format!("{}:{line} {}", frame.file, frame.function.as_deref().unwrap_or("-"))
        })
        .collect();
    let error = trace.error.as_deref().unwrap_or("-");
    format!("{:?} {error}|{}: {}", trace.language, trace.message.as_deref().unwrap_or("-"), frames.join(", "))
}

#[test]
fn python_frames_are_turned_innermost_first_and_chains_are_two_traces() {
    check(
        "before\nTraceback (most recent call last):\n  File \"a.py\", line 3, in outer\n    inner()\n    ^^^^^\n  \
         File \"/lib/b.py\", line 9, in inner\n    return {}[\"x\"]\nKeyError: 'x'\n\nDuring handling of the above \
         exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 5, in \
         <module>\nmy.pkg.Broken: no: really\nafter\n",
        &[
            "Python KeyError|'x': /lib/b.py:9 inner, a.py:3 outer",
            "Python my.pkg.Broken|no: really: a.py:5 <module>",
        ],
    );
}

#[test]
fn a_python_syntax_error_names_its_line() {
    check(
        "Traceback (most recent call last):\n  File \"run.py\", line 1, in <module>\n    import half\n  File \
         \"half.py\", line 2\n    def x(:\n          ^\nSyntaxError: invalid syntax\n",
        &["Python SyntaxError|invalid syntax: half.py:2 -, run.py:1 <module>"],
    );
}

#[test]
fn rust_panics_new_and_old_with_and_without_backtrace() {
    check(
        "thread 'main' (77) panicked at src/main.rs:3:9:\nindex out of bounds: the len is 0\nbut the index is 1\nnote: \
         run with\n\nthread 'main' panicked at 'boom', src/lib.rs:7:1\nstack backtrace:\n   0: std::panicking::begin\n  \
                     at /rustc/abc/library/std/src/panicking.rs:6:5\n   1: shop::first\n             at \
         ./src/lib.rs:7:1\n   2: shop::main\n             at ./src/main.rs:2:5\n",
        &[
            "Rust panic|index out of bounds: the len is 0\nbut the index is 1: src/main.rs:3 -",
            "Rust panic|boom: src/lib.rs:7 shop::first, src/main.rs:2 shop::main",
        ],
    );
}

#[test]
fn a_go_panic_begins_at_the_function_that_panicked() {
    check(
        "panic: boom [recovered]\n\tpanic: boom\n\ngoroutine 19 [running]:\ntesting.tRunner.func1({0x5, \
         0x6})\n\t/go/testing.go:1396 +0x24e\npanic({0x51, 0xc0})\n\t/go/panic.go:884 +0x212\nexample.org/p.first(...)\n\
         \t/p/p_test.go:6\nexample.org/p.(*T).Test(0x1)\n\t/p/p_test.go:12 +0x18\ncreated by \
         testing.(*T).Run\n\t/go/testing.go:1493 +0x35f\nFAIL\tp\t0.0s\n",
        &["Go panic|boom: /p/p_test.go:6 example.org/p.first, /p/p_test.go:12 example.org/p.(*T).Test, \
           /go/testing.go:1493 testing.(*T).Run"],
    );
}

#[test]
fn node_java_and_dot_net_frames_begin_with_at() {
    check(
        "TypeError [ERR_X]: Cannot read 'a'\n    at first (file:///p/a.mjs:4:37)\n    at async Object.<anonymous> \
         (/p/b.js:1:2)\n    at new Promise (<anonymous>)\n    at node:internal/x:5:6\n\nException in thread \"main\" \
         java.lang.IllegalStateException: no\n\tat shop.Cart.total(Cart.java:12)\n\tat \
         java.base/jdk.Native.invoke0(Native Method)\n\t... 3 more\nCaused by: java.io.IOException: disk\n\tat \
         shop.Disk.read(Disk.kt:3)\nUnhandled exception. System.ArgumentException: bad (Parameter 'x')\n   at \
         Shop.Cart.Total(List`1 prices) in /src/Cart.cs:line 8\n",
        &[
            "Node TypeError|Cannot read 'a': /p/a.mjs:4 first, /p/b.js:1 Object.<anonymous>, node:internal/x:5 -",
            "Java java.lang.IllegalStateException|no: Cart.java:12 shop.Cart.total, Native Method:? jdk.Native.invoke0",
            "Java java.io.IOException|disk: Disk.kt:3 shop.Disk.read",
            "DotNet System.ArgumentException|bad (Parameter 'x'): /src/Cart.cs:8 Shop.Cart.Total",
        ],
    );
}

#[test]
fn prose_has_no_traces() {
    check("We met at noon: all was well.\nat last: 5\nError: none\nFile \"x\", line 3\n", &[]);
}

#[test]
fn long_traces_keep_the_innermost_frames_and_count_the_rest() {
    let mut text = String::from("Traceback (most recent call last):\n");
    for number in 1..=100 {
        text.push_str(&format!("  File \"a.py\", line {number}, in f\n    f()\n"));
    }
    text.push_str("RecursionError: too deep\n");
    let found = traces(&text);
    assert_eq!((found[0].frames.len(), found[0].left_out), (FRAMES_MAX, 76));
    assert_eq!(found[0].frames[0].line, Some(100));
}

#[test]
fn only_the_last_traces_are_kept() {
    let one = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: n\n";
    let found = traces(&one.repeat(100));
    assert_eq!(found.len(), TRACES_MAX);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(Traceback \\(most recent call last\\):|  File \"a\", line 1|thread 'x' panicked at |panic: |goroutine 1 \\[r\\]:|    at |a:1:2|Error: |\\PC|\n|\t| ){0,60}") {
        for trace in traces(&text) {
            proptest::prop_assert!(trace.frames.len() <= FRAMES_MAX);
        }
    }
}
