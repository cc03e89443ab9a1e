//! What the book keeps, refuses and cuts.

use std::fs;

use serde_json::json;

use super::*;

fn caller(action: &str) -> Caller {
    Caller { run: "r1".into(), action: action.into(), key: format!("key-{action}"), epoch: 1, attempt: 1 }
}

fn kinds(book: &Book) -> Vec<(Operation, EntryKind, Option<u64>)> {
    book.entries().iter().map(|entry| (entry.op, entry.kind, entry.of)).collect()
}

fn receipt(reply: &Reply) -> u64 {
    match reply {
        Reply::Done { result } | Reply::Found { result } => result["receipt"].as_u64().unwrap(),
        Reply::NotFound | Reply::Refused { .. } | Reply::Entries(_) | Reply::Held => {
            panic!("no receipt in {reply:?}")
        }
    }
}

#[test]
fn every_payment_counts_and_a_put_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = Book::open(&folder.path().join("l")).unwrap();
    for operation in [Operation::Pay, Operation::Put] {
        for _ in 0..2 {
            book.act(operation, &caller("a1.0"), &json!({"amount": 3}), 7).unwrap();
        }
    }
    let effect = EntryKind::Effect;
    assert_eq!(
        kinds(&book),
        [
            (Operation::Pay, effect, None),
            (Operation::Pay, effect, None),
            (Operation::Put, effect, None),
            (Operation::Put, EntryKind::Duplicate, Some(3)),
        ]
    );
}

#[test]
fn a_removed_duplicate_gets_the_first_result_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let mut book = Book::open(&path).unwrap();
    let first = book.act(Operation::Put, &caller("a1.0"), &json!({}), 1).unwrap();
    drop(book);
    let mut book = Book::open(&path).unwrap();
    assert_eq!(book.act(Operation::Put, &caller("a1.0"), &json!({}), 2).unwrap(), first);
    assert_eq!(receipt(&book.look(Operation::Put, &caller("a1.0"), None, 3).unwrap()), receipt(&first));
    assert_eq!(book.look(Operation::Pay, &caller("a1.0"), None, 3).unwrap(), Reply::NotFound);
}

#[test]
fn a_reservation_is_released_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let mut book = Book::open(&path).unwrap();
    let held = receipt(&book.act(Operation::Reserve, &caller("a1.0"), &json!({"amount": 4}), 1).unwrap());
    let args = json!({ "receipt": held });
    book.act(Operation::Release, &caller("a1.1"), &args, 2).unwrap();
    book.act(Operation::Release, &caller("a1.1"), &args, 3).unwrap();
    assert_eq!(book.entries()[1].amount, 4);
    assert_eq!(book.entries()[2].kind, EntryKind::Duplicate);
    drop(book);
    let mut book = Book::open(&path).unwrap();
    let again = book.act(Operation::Release, &caller("a2.0"), &args, 4).unwrap();
    assert_eq!(again, Reply::Refused { why: format!("no reservation {held} is held") });
    assert_eq!(book.entries().len(), 3);
}

#[test]
fn what_names_nothing_is_refused_and_leaves_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = Book::open(&folder.path().join("l")).unwrap();
    for (operation, args) in [
        (Operation::Pay, json!({})),
        (Operation::Pay, json!({"amount": 0})),
        (Operation::Pay, json!({"amount": 1, "rate": 1.5})),
        (Operation::SlowPay, json!({"amount": -1})),
        (Operation::Reserve, json!({"amount": "3"})),
        (Operation::Release, json!({})),
        (Operation::Release, json!({"receipt": 1})),
    ] {
        let reply = book.act(operation, &caller("a1.0"), &args, 1).unwrap();
        assert!(matches!(reply, Reply::Refused { .. }), "{operation:?} {args}");
    }
    assert!(book.entries().is_empty());
}

#[test]
fn a_torn_tail_of_any_length_is_cut_and_the_book_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let mut book = Book::open(&path).unwrap();
    book.act(Operation::Pay, &caller("a1.0"), &json!({"amount": 1}), 1).unwrap();
    drop(book);
    let one = fs::read(&path).unwrap();
    let mut book = Book::open(&path).unwrap();
    book.act(Operation::Pay, &caller("a2.0"), &json!({"amount": 2}), 2).unwrap();
    drop(book);
    let two = fs::read(&path).unwrap();
    for cut in one.len()..two.len() {
        fs::write(&path, &two[..cut]).unwrap();
        let mut book = Book::open(&path).unwrap();
        assert_eq!(book.entries().len(), 1, "cut at {cut}");
        book.act(Operation::Pay, &caller("a2.0"), &json!({"amount": 2}), 2).unwrap();
        drop(book);
        assert_eq!(fs::read(&path).unwrap(), two, "cut at {cut}");
    }
}

#[test]
fn damage_before_the_tail_is_reported_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let mut book = Book::open(&path).unwrap();
    for action in ["a1.0", "a2.0"] {
        book.act(Operation::Pay, &caller(action), &json!({"amount": 1}), 1).unwrap();
    }
    drop(book);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] = b'x';
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(Book::open(&path), Err(BookError::Damaged { line: 1, .. })));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_second_ledger_on_the_same_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let _first = Book::open(&path).unwrap();
    assert!(matches!(Book::open(&path), Err(BookError::InUse { .. })));
}
