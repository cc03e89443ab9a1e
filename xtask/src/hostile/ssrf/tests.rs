//! The runner itself: it must be able to fail.

use super::*;

fn outcome(case: serde_json::Value) -> Result<()> {
    let mut case = case;
    for (name, value) in [("id", "x"), ("class", "x"), ("why", "x")] {
        case[name] = value.into();
    }
    serde_json::from_value(case.clone()).map_err(Into::into).and_then(|read: Case| check(&read, &case))
}

fn said(case: serde_json::Value) -> String {
    format!("{:#}", outcome(case).unwrap_err())
}

#[test]
fn a_right_verdict_passes_and_a_wrong_one_fails() {
    let url = "https://api.example.com/";
    outcome(serde_json::json!({"policy": "P1-list", "input": url, "expect": "allow"})).unwrap();
    assert_eq!(said(serde_json::json!({"policy": "P1-list", "input": url, "expect": "deny"})), "let through");
    let refused = said(serde_json::json!({"policy": "P3-sovereign", "input": url, "expect": "allow"}));
    assert!(refused.contains("sovereign"), "{refused}");
}

#[test]
fn what_a_case_forbids_is_looked_at() {
    let case = |field: &str, value: serde_json::Value| {
        let mut case =
            serde_json::json!({"policy": "P1-list", "input": "https://api.example.com/", "expect": "allow"});
        case[field] = value;
        case
    };
    assert!(said(case("assert_no_dns", true.into())).contains("was looked up"));
    assert!(said(case("assert_no_socket", true.into())).contains("was dialled"));
    assert!(said(case("max_lookups", 0.into())).contains("1 look-ups"));
    assert!(said(case("connect_to", "10.0.0.1".into())).contains("was dialled"));
    assert!(said(case("assert_no_header", serde_json::json!(["cookie"]))).contains("went elsewhere"));
    assert!(said(case("unheard_of", true.into())).contains("unheard_of"));
    assert!(said(case("server", serde_json::json!({"unheard_of": 1}))).contains("unheard_of"));
    assert!(said(case("then", "dance".into())).contains("dance"));
}

#[test]
fn a_header_that_crosses_to_another_origin_would_be_seen() {
    // Same origin: the header stays, so the assertion must fail.
    let case = serde_json::json!({"policy": "P1-list", "input": "https://api.example.com/", "expect": "allow",
        "redirects": ["/next"], "assert_no_header": ["authorization"]});
    assert!(said(case).contains("went elsewhere"));
}

/// A folder of recorded cases, from `BOWLINE_HOSTILE`.
fn recorded() -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("BOWLINE_HOSTILE").map(std::path::PathBuf::from);
    let file = folder.map(|folder| folder.join("ssrf.jsonl")).filter(|file| file.exists());
    if file.is_none() {
        println!("skipped: BOWLINE_HOSTILE names no folder with ssrf.jsonl");
    }
    file
}

#[test]
fn recorded_cases_are_refused_for_the_reason_they_name() {
    let Some(file) = recorded() else { return };
    let mut wrong = Vec::new();
    for (id, value) in cases(&file).unwrap() {
        let case: Case = serde_json::from_value(value).unwrap();
        if case.expect == Verdict::Allow {
            continue;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let world = World::of(&case).unwrap();
        let asked = runtime.unwrap().block_on(async { world.ask(&case, world.client(&case).as_ref()).await });
        let found = asked.map_or_else(|(reason, _)| reason, |()| "ok");
        if found != case.reason {
            wrong.push(format!("{id}: {found} instead of {}", case.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
