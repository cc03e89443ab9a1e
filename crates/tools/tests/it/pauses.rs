//! `wait`, `wait_for` a file, and `note`. Time is wound forward.

use std::time::Duration;

use bowline_core::guard::Effect;
use bowline_core::tool::{Consent, Repeat, Touch};
use bowline_tools::{CallContext, Registry};
use serde_json::json;
use tokio::time::Instant;

use crate::{ERROR, OK, Yard, choice};

#[tokio::test(start_paused = true)]
async fn a_wait_takes_as_long_as_it_says_and_no_longer_than_its_call() {
    let yard = Yard::new();
    let ctx = CallContext { timeout: Duration::from_secs(310), ..yard.ctx() };
    let started = Instant::now();
    assert_eq!(yard.call_in(&ctx, "wait", json!({"seconds": 300})).await.text, "waited 300 s");
    assert_eq!(started.elapsed(), Duration::from_secs(300));
    let ctx = CallContext { timeout: Duration::from_secs(10), ..yard.ctx() };
    let started = Instant::now();
    let output = yard.call_in(&ctx, "wait", json!({"seconds": 100})).await;
    assert!(output.how == OK && output.text.contains("as long as a call may take"), "{}", output.text);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_wait_is_bounded_and_a_declared_poll() {
    let registry = Registry::new(&[
        choice("wait"),
        choice("wait_for"),
        choice("note"),
        choice("fetch"),
        choice("http_request"),
    ])
    .unwrap();
    for args in [json!({"seconds": 301}), json!({"seconds": 0}), json!({"seconds": -1}), json!({})] {
        assert!(registry.examine("wait", &args.to_string()).is_err(), "{args}");
    }
    for args in
        [json!({}), json!({"file": "a", "url": "http://a/"}), json!({"file": "a", "every_seconds": 0.1})]
    {
        assert!(registry.examine("wait_for", &args.to_string()).is_err(), "{args}");
    }
    let rules: Vec<_> =
        registry.specs().iter().map(|spec| (spec.touch, spec.repeat, spec.consent, spec.effect)).collect();
    let looks = (Touch::Read, Repeat::Freely, Consent::NotNeeded);
    assert_eq!(rules[0], (looks.0, looks.1, looks.2, Some(Effect::Poll)));
    assert_eq!(rules[1], rules[0]);
    assert_eq!(rules[2], (looks.0, looks.1, looks.2, None));
    assert_eq!(rules[3], rules[2]);
    assert_eq!(rules[4], (Touch::Exec, Repeat::Never, Consent::Ask, Some(Effect::Exec)));
}

#[tokio::test]
async fn a_file_is_waited_for_until_it_is_there_changes_or_goes() {
    let yard = Yard::new();
    let wait = |args| yard.call("wait_for", args);
    let late = wait(json!({"file": "a", "max_seconds": 0.1})).await;
    assert!(late.how == ERROR && late.text.contains("a is not there"), "{}", late.text);
    yard.write("a", "one two");
    assert!(wait(json!({"file": "a", "contains": "two"})).await.text.starts_with("a exists, after"));
    let late = wait(json!({"file": "a", "until": "changes", "max_seconds": 0.1})).await;
    assert!(late.how == ERROR && late.text.contains("has not changed"), "{}", late.text);
    // It changes all the time, so it differs at any two looks.
    let changing = async {
        for number in 0.. {
            yard.write("a", format!("{number}"));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let changed = tokio::select! {
        changed = wait(json!({"file": "a", "until": "changes", "every_seconds": 0.5, "max_seconds": 60})) => changed,
        () = changing => panic!("it never ends"),
    };
    assert_eq!(changed.how, OK, "{}", changed.text);
    assert_eq!(wait(json!({"file": "b/c", "until": "gone"})).await.how, OK);
    for (args, said) in [
        (json!({"file": "../secret"}), "outside"),
        (json!({"file": ".env"}), ".env"),
        (json!({"file": "a", "status": 200}), "`status` is for a `url`"),
        (json!({"url": "http://a/", "until": "gone"}), "`until` is for a `file`"),
    ] {
        yard.write(".env", "secret");
        let output = wait(args.clone()).await;
        assert!(output.how == ERROR && output.text.contains(said), "{args}: {}", output.text);
    }
}

#[tokio::test]
async fn a_note_changes_nothing() {
    let yard = Yard::new();
    let output = yard.call("note", json!({"text": "äb"})).await;
    assert_eq!((output.how, output.text.as_str()), (OK, "noted, 2 characters"));
    assert_eq!(std::fs::read_dir(yard.root()).unwrap().count(), 0);
}
