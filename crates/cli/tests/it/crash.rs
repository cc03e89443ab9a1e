//! The program dies in the middle, and nothing is done twice.

use crate::Place;

const SETTINGS: &str = r#"
goal = "Book three payments"
[workspace]
path = "project"
mode = "copy"
[[tool]]
name = "book"
command = ["sh", "./book.sh"]
description = "Books a payment."
schema = { type = "object" }
consent = "not-needed"
repeat = "with-same-key"
[[check]]
name = "three lines"
command = ["sh", "-c", "test $(wc -l < ledger.txt) = 3"]
"#;

/// A call that was out when the program died may still be at work when it is
/// made again, so looking and booking are one.
const BOOK: &str = r#"
args=$(cat)
exec 9> lock
flock 9
grep -qs "$BOWLINE_KEY" ledger.txt && { echo booked before; exit 0; }
echo "$BOWLINE_KEY $args" >> ledger.txt
if [ "$BOWLINE_ACTION" = "$(cat die-in 2>/dev/null)" ]; then rm die-in; kill -9 $PPID; sleep 1; fi
echo booked
"#;

const REPLIES: &str = "  main:
    - calls: [{tool: book, args: {n: 1}}]
    - calls: [{tool: book, args: {n: 2}}]
    - calls: [{tool: book, args: {n: 3}}]
    - say: booked
";

fn place() -> Place {
    let place = Place::new();
    place.task(SETTINGS, REPLIES).write("task/book.sh", BOOK).write("task/project/x", "");
    place
}

#[track_caller]
fn each_once(place: &Place) {
    let ledger = place.in_copy("ledger.txt");
    let booked: Vec<&str> = ledger.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(booked, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    place.bowline(&["audit", "verify"]).ends(0);
}

#[test]
fn killed_at_any_event_a_run_goes_on_and_books_each_payment_once() {
    for event in [1, 2, 6, 8, 9, 10, 12, 14, 17, 19, 20] {
        let place = place();
        let mut running = place.start(&["run", "task", "--json"]);
        running.until_event(event);
        running.kill();
        place.bowline(&["resume", "last"]).ends(0);
        each_once(&place);
    }
}

#[test]
fn killed_between_a_booking_and_its_outcome_a_run_asks_again_with_the_same_key() {
    let place = place();
    place.write("task/project/die-in", "a2.0\n");
    assert_eq!(place.bowline(&["run", "task"]).code, -1);
    place.bowline(&["resume"]).ends(0).says("a2.0: book, attempt 2");
    each_once(&place);
}

#[test]
fn a_tool_dies_with_the_program_that_started_it() {
    let place = Place::new();
    let settings = r#"
goal = "Work for a while"
review = "never"
[[tool]]
name = "work"
command = ["python3", "./work.py"]
description = "Works."
schema = { type = "object" }
consent = "not-needed"
"#;
    let work = "
import time
line = open('lifeline', 'w')
line.write('begun ')
line.flush()
time.sleep(5)
line.write('outlived')
";
    place.task(settings, "  main:\n    - calls: [{tool: work, args: {}}]\n").write("task/work.py", work);
    let made = std::process::Command::new("mkfifo").arg(place.path("task/lifeline")).status().unwrap();
    assert!(made.success());
    let running = place.start(&["run", "task"]);
    let mut line = std::fs::File::open(place.path("task/lifeline")).unwrap();
    let mut begun = [0; 6];
    std::io::Read::read_exact(&mut line, &mut begun).unwrap();
    running.kill();
    let rest = std::io::read_to_string(line).unwrap();
    assert_eq!(rest, "", "the tool went on after its program was gone");
}
