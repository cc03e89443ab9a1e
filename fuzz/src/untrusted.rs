//! Text of strangers: what a model sees of it, what is suspicious about it, where
//! arguments came from, and tools that describe themselves.

use bowline_core::tool::Touch;
use bowline_core::untrusted::description::{Described, Standing, standing};
use bowline_core::untrusted::outgoing::{Secret, chosen_keys, leaks};
use bowline_core::untrusted::suspicion::{FINDINGS_MAX, suspicion};
use bowline_core::untrusted::taint::{Index, TAINTED_MAX, Trust};
use bowline_core::untrusted::{Mark, SANITIZED, escape_line, escape_page, neutralise, render};

use crate::bytes::Bytes;

const MARK: &str = "f3a9c1d27b604e58";

/// Any text. What is shown is neutral and fenced by a mark it does not hold; what was
/// not taken out is byte for byte what was stored.
pub fn text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mark = Mark::parse(MARK).expect("a good mark");
    let rendered = render(&text, &mark);
    assert_eq!(rendered.text.matches(MARK).count(), 2, "{text:?}");
    let mut rebuilt = String::new();
    let mut from = 0;
    for span in &rendered.taken_out {
        assert!(from <= span.start && span.start < span.end, "in order and apart: {text:?}");
        rebuilt.push_str(&text[from..span.start]);
        rebuilt.push_str(SANITIZED);
        from = span.end;
    }
    rebuilt.push_str(&text[from..]);
    assert_eq!(rebuilt, rendered.body());
    let once = neutralise(&text);
    assert!(neutralise(&once.text).taken_out.is_empty(), "{text:?} left {:?}", once.text);
    let report = suspicion(&text);
    assert!(report.findings.len() <= FINDINGS_MAX);
    assert!(report.findings.iter().all(|finding| text.get(finding.span.clone()).is_some()), "{text:?}");
    assert!(!escape_line(&text).chars().any(char::is_control));
    assert_eq!(escape_page(&escape_page(&text)), escape_page(&text));
    taint(&text);
}

/// Where only trusted text was seen, nothing is tainted, whatever the arguments are.
fn taint(text: &str) {
    let mut index = Index::new();
    index.saw("task", Trust::Trusted, text);
    assert!(index.judge(Touch::Exec, text).is_empty(), "{text:?}");
    let mut strange = Index::new();
    strange.saw("page", Trust::Untrusted, text);
    let tainted = strange.judge(Touch::Write, text);
    assert!(tainted.len() <= TAINTED_MAX);
    assert!(tainted.iter().all(|tainted| tainted.source == "page"));
    let _leaks = leaks(text, &[Secret { name: "key", value: "hunter2hunter2" }]);
    let _keys = chosen_keys(text);
}

/// Tools in their servers' words. What is not approved does not run, and one changed
/// byte asks again.
pub fn description(input: &[u8]) {
    let mut input = Bytes::new(input);
    let (name, schema, annotations) = (input.text(), input.text(), input.text());
    let description = input.rest();
    let tool =
        Described { name: &name, description: &description, schema: &schema, annotations: &annotations };
    let others = ["add", "read_file", "send_email"];
    let now = standing(&tool, None, &others);
    assert!(!now.may_run(), "nobody has read it: {now:?}");
    assert_eq!(standing(&tool, Some(tool.digest()), &others), Standing::Approved);
    let other = format!("{description} ");
    let changed = Described { description: &other, ..tool };
    let again = standing(&changed, Some(tool.digest()), &others);
    assert!(matches!(again, Standing::Reapprove { .. }) && !again.may_run(), "{again:?}");
}
