//! The Python adapters on recorded output of the real tools.

use std::path::Path;

use super::*;

fn rows(log: &str) -> Vec<(String, String, Option<String>)> {
    let found = failures(log, Path::new("/w"));
    found.into_iter().map(|failure| (failure.name, failure.message, failure.place)).collect()
}

fn row(name: &str, message: &str, place: &str) -> (String, String, Option<String>) {
    let place = if place.is_empty() { None } else { Some(place.to_owned()) };
    (name.to_owned(), message.to_owned(), place)
}

const UNITTEST: &str = r#"FEFFu
======================================================================
ERROR: test_error (test_calc.TestCalc.test_error)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/w/test_calc.py", line 11, in test_error
    add(1, "x")
  File "/w/calc.py", line 2, in add
    return a - b
           ~~^~~
TypeError: unsupported operand type(s) for -: 'int' and 'str'

======================================================================
FAIL: test_add (test_calc.TestCalc.test_add)
Adding adds.
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/w/test_calc.py", line 7, in test_add
    self.assertEqual(add(1, 2), 3)
AssertionError: -1 != 3

======================================================================
FAIL: test_list (test_calc.TestCalc.test_list)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/w/test_calc.py", line 9, in test_list
    self.assertEqual([add(1, 2), 4], [3, 4])
AssertionError: Lists differ: [-1, 4] != [3, 4]

First differing element 0:
-1
3

- [-1, 4]
?  ^^

+ [3, 4]
?  ^


======================================================================
FAIL: test_ok (test_calc.TestCalc.test_ok) (i=0)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/w/test_calc.py", line 15, in test_ok
    self.assertEqual(add(i, 0), 1)
AssertionError: 0 != 1

======================================================================
UNEXPECTED SUCCESS: test_unexpected (test_calc.TestCalc.test_unexpected)
----------------------------------------------------------------------
Ran 5 tests in 0.006s

FAILED (failures=3, errors=1, unexpected successes=1)"#;

const PYTEST: &str = r#"============================= test session starts ==============================
rootdir: /w
collected 6 items

test_calc.py FFF.FF                                                     [100%]

=================================== FAILURES ===================================
______________________________ TestCalc.test_add _______________________________

self = <test_calc.TestCalc testMethod=test_add>

    def test_add(self):
        """Adding adds."""
>       self.assertEqual(add(1, 2), 3)
E       AssertionError: -1 != 3

test_calc.py:7: AssertionError
_____________________________ TestCalc.test_error ______________________________

self = <test_calc.TestCalc testMethod=test_error>

    def test_error(self):
>       add(1, "x")

test_calc.py:11:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

a = 1, b = 'x'

    def add(a, b):
>       return a - b
               ^^^^^
E       TypeError: unsupported operand type(s) for -: 'int' and 'str'

calc.py:2: TypeError
______________________________ TestCalc.test_list ______________________________

self = <test_calc.TestCalc testMethod=test_list>

    def test_list(self):
>       self.assertEqual([add(1, 2), 4], [3, 4])
E       AssertionError: Lists differ: [-1, 4] != [3, 4]
E
E       First differing element 0:
E       -1
E       3
E
E       - [-1, 4]
E       ?  ^^
E
E       + [3, 4]
E       ?  ^

test_calc.py:9: AssertionError
____________________________ TestCalc.test_ok (i=0) ____________________________

self = <test_calc.TestCalc testMethod=test_ok>

    def test_ok(self):
        for i in range(2):
            with self.subTest(i=i):
>               self.assertEqual(add(i, 0), 1)
E               AssertionError: 0 != 1

test_calc.py:15: AssertionError
___________________________ TestCalc.test_unexpected ___________________________
Unexpected success
__________________________________ test_plain __________________________________

    def test_plain():
>       assert add(2, 2) == 4
E       assert 0 == 4
E        +  where 0 = add(2, 2)

test_calc.py:20: AssertionError
=========================== short test summary info ============================
FAILED test_calc.py::TestCalc::test_add - AssertionError: -1 != 3
FAILED test_calc.py::TestCalc::test_error - TypeError: unsupported operand ty...
FAILED test_calc.py::TestCalc::test_list - AssertionError: Lists differ: [-1,...
SUBFAILED(i=0) test_calc.py::TestCalc::test_ok - AssertionError: 0 != 1
FAILED test_calc.py::TestCalc::test_unexpected - Failed: Unexpected success
FAILED test_calc.py::test_plain - assert 0 == 4
========================= 6 failed, 1 passed in 0.17s =========================="#;

const PYTEST_SHORT: &str = r#"FF                                                                       [100%]
=================================== FAILURES ===================================
______________________________ TestCalc.test_add _______________________________
test_calc.py:7: in test_add
    self.assertEqual(add(1, 2), 3)
E   AssertionError: -1 != 3
_____________________________ TestCalc.test_error ______________________________
test_calc.py:11: in test_error
    add(1, "x")
calc.py:2: in add
    return a - b
           ^^^^^
E   TypeError: unsupported operand type(s) for -: 'int' and 'str'
=========================== short test summary info ============================
FAILED test_calc.py::TestCalc::test_add - AssertionError: -1 != 3
FAILED test_calc.py::TestCalc::test_error - TypeError: unsupported operand ty...
2 failed, 4 deselected in 0.10s"#;

const PYTEST_COLLECT: &str = r#"
==================================== ERRORS ====================================
______________________ ERROR collecting broken/test_b.py _______________________
ImportError while importing test module '/w/broken/test_b.py'.
Hint: make sure your test modules/packages have valid Python names.
Traceback:
/usr/lib/python3.11/importlib/__init__.py:126: in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
broken/test_b.py:1: in <module>
    import nosuch
E   ModuleNotFoundError: No module named 'nosuch'
=========================== short test summary info ============================
ERROR broken/test_b.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
1 error in 0.30s"#;

const UNITTEST_IMPORT: &str = r#"E
======================================================================
ERROR: test_b (unittest.loader._FailedTest.test_b)
----------------------------------------------------------------------
ImportError: Failed to import test module: test_b
Traceback (most recent call last):
  File "/usr/lib/python3.11/unittest/loader.py", line 419, in _find_test_path
    module = self._get_module_from_name(name)
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/unittest/loader.py", line 362, in _get_module_from_name
    __import__(name)
  File "/w/broken/test_b.py", line 1, in <module>
    import nosuch
ModuleNotFoundError: No module named 'nosuch'


----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED (errors=1)"#;

#[test]
fn every_pattern_compiles() {
    for pattern in [
        &UNITTEST_HEADER,
        &UNITTEST_FRAME,
        &UNITTEST_RAN,
        &UNITTEST_SKIPPED,
        &PYTEST_HEADER,
        &PYTEST_BAR,
        &PYTEST_PLACE,
        &PYTEST_SUMMARY,
        &PYTEST_END,
    ] {
        assert!(pattern.is_some());
    }
}

#[test]
fn unittest_failures_have_name_message_and_place_in_the_workspace() {
    let lists = "AssertionError: Lists differ: [-1, 4] != [3, 4]\n\nFirst differing element 0:\n-1\n3\n\n\
                 - [-1, 4]\n?  ^^\n\n+ [3, 4]\n?  ^";
    assert_eq!(
        rows(UNITTEST),
        [
            row(
                "test_error (test_calc.TestCalc.test_error)",
                "TypeError: unsupported operand type(s) for -: 'int' and 'str'",
                "calc.py:2"
            ),
            row("test_add (test_calc.TestCalc.test_add)", "AssertionError: -1 != 3", "test_calc.py:7"),
            row("test_list (test_calc.TestCalc.test_list)", lists, "test_calc.py:9"),
            row("test_ok (test_calc.TestCalc.test_ok) (i=0)", "AssertionError: 0 != 1", "test_calc.py:15"),
            row(
                "test_unexpected (test_calc.TestCalc.test_unexpected)",
                "passed, but was expected to fail",
                ""
            ),
        ]
    );
}

#[test]
fn a_unittest_module_that_cannot_be_imported_is_placed_in_the_workspace() {
    assert_eq!(
        rows(UNITTEST_IMPORT),
        [row(
            "test_b (unittest.loader._FailedTest.test_b)",
            "ModuleNotFoundError: No module named 'nosuch'",
            "broken/test_b.py:1"
        )]
    );
}

#[test]
fn pytest_failures_have_the_name_to_run_them_by() {
    let found = rows(PYTEST);
    let names: Vec<_> = found.iter().map(|(name, _, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "test_calc.py::TestCalc::test_add",
            "test_calc.py::TestCalc::test_error",
            "test_calc.py::TestCalc::test_list",
            "test_calc.py::TestCalc::test_ok (i=0)",
            "test_calc.py::TestCalc::test_unexpected",
            "test_calc.py::test_plain"
        ]
    );
    assert_eq!(found[0], row(names[0], "AssertionError: -1 != 3", "test_calc.py:7"));
    assert_eq!(found[1].2.as_deref(), Some("calc.py:2"));
    assert_eq!(found[4], row(names[4], "Unexpected success", ""));
    assert_eq!(found[5], row(names[5], "assert 0 == 4\n+  where 0 = add(2, 2)", "test_calc.py:20"));
}

#[test]
fn short_pytest_tracebacks_and_collection_errors_are_read_too() {
    assert_eq!(
        rows(PYTEST_SHORT),
        [
            row("test_calc.py::TestCalc::test_add", "AssertionError: -1 != 3", "test_calc.py:7"),
            row(
                "test_calc.py::TestCalc::test_error",
                "TypeError: unsupported operand type(s) for -: 'int' and 'str'",
                "calc.py:2"
            ),
        ]
    );
    assert_eq!(
        rows(PYTEST_COLLECT),
        [row(
            "ERROR collecting broken/test_b.py",
            "ModuleNotFoundError: No module named 'nosuch'",
            "broken/test_b.py:1"
        )]
    );
}

#[test]
fn the_summary_alone_will_do() {
    let log = "F\n= short test summary info =\nFAILED a.py::test_x - assert 1 == 2\nERROR b.py\n1 failed in 0.01s\n";
    assert_eq!(rows(log), [row("a.py::test_x", "assert 1 == 2", ""), row("b.py", "failed", "")]);
}

#[test]
fn other_text_names_no_failure() {
    assert!(rows("error: it went wrong\n===\n--- a\n+++ b\n").is_empty());
}

#[test]
fn a_run_without_a_single_test_is_seen_and_a_run_with_one_is_not() {
    for (log, code, seen) in [
        ("\nRan 0 tests in 0.000s\n\nOK\n", 0, true),
        ("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", 5, true),
        ("\nRan 2 tests in 0.000s\n\nOK (skipped=2)\n", 0, true),
        ("\nRan 3 tests in 0.000s\n\nOK (skipped=2)\n", 0, false),
        ("\nRan 1 test in 0.000s\n\nOK\n", 0, false),
        ("Ran 0 tests in 0.000s\nOK\nRan 4 tests in 0.1s\nOK\n", 0, false),
        ("===== no tests ran in 0.00s =====\n", 5, true),
        ("===== 1 skipped in 0.01s =====\n", 0, true),
        ("===== 2 deselected in 0.01s =====\n", 5, true),
        ("2 skipped, 1 warning in 0.01s\n", 0, true),
        ("===== 1 passed, 2 skipped in 0.01s =====\n", 0, false),
        ("all good\n", 0, false),
        ("", 5, false),
    ] {
        assert_eq!(nothing_tested(log, code).is_some(), seen, "{log}");
    }
}
